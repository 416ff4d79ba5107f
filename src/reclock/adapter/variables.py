"""Session variables: their names, defaults and allowed values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from reclock.catalog.objects import Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import InvalidOption, UnknownObject
from reclock.sql.catalog import nearest
from reclock.sql.names import DEFAULT_DATABASE, DEFAULT_SCHEMA, SessionNames

ROLE = "role"
STRICT_SERIALIZABLE = "strict serializable"
SERIALIZABLE = "serializable"


@dataclass(frozen=True, slots=True)
class Variable:
    """``check`` answers the value to keep, or raises ``ValueError`` with what would be right."""

    name: str
    default: str
    description: str
    check: Callable[[str], str] = str


def _one_of(*values: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        folded = value.lower()
        if folded not in values:
            raise ValueError(f"one of {', '.join(values)}")
        return folded

    return check


def _milliseconds(value: str) -> str:
    if not value.isdigit():
        raise ValueError("milliseconds, as a whole number")
    return str(int(value))


VARIABLES = {
    variable.name: variable
    for variable in (
        Variable("cluster", "default", "whose indexes queries use, and where indexes are made"),
        Variable("database", DEFAULT_DATABASE, "where unqualified names are looked up"),
        Variable(ROLE, "none", "whose privileges statements have, by SET ROLE; none is the role the session began with"),
        Variable("search_path", DEFAULT_SCHEMA, "schemas where unqualified names are looked up, separated by commas"),
        Variable("statement_timeout", "", "milliseconds a statement may take; the environment's setting unless set", _milliseconds),
        Variable(
            "transaction_isolation",
            STRICT_SERIALIZABLE,
            "strict serializable reads wait for what is applied, serializable ones never wait",
            _one_of(STRICT_SERIALIZABLE, SERIALIZABLE),
        ),
    )
}


def checked(name: str, value: str | None) -> tuple[str, str | None]:
    """The variable and its value as defaults are kept. Raises ``UnknownObject``, ``InvalidOption``."""
    variable = _known(name)
    if variable.name == ROLE:
        raise InvalidOption(f'parameter "{ROLE}" has no default that could be changed', hint="SET ROLE is for a session")
    return variable.name, None if value is None else _allowed(variable, value)


def configured(snapshot: CatalogSnapshot, role_id: str) -> dict[str, str]:
    """The defaults of a role's sessions: what ALTER SYSTEM SET says, and over it what ALTER ROLE … SET says.

    What is no variable any more, or no value of one, is passed over.
    """
    system = {each.name: each.value for each in snapshot.all(Kind.SYSTEM_CONFIGURATION).values()}
    found = {}
    for name, value in {**system, **snapshot.roles[role_id].configuration}.items():
        with suppress(UnknownObject, InvalidOption):
            found[name] = checked(name, value)[1] or ""
    return found


class SessionVariables:
    """The values of one session."""

    def __init__(self, defaults: dict[str, str]) -> None:
        self._defaults = {name: variable.default for name, variable in VARIABLES.items()} | defaults
        self._values: dict[str, str] = {}
        self._before: dict[str, str] = {}
        self._local: dict[str, str] = {}

    def begin(self) -> None:
        """A transaction begins."""
        self._before = dict(self._values)

    def end(self, *, is_committed: bool) -> None:
        """It has ended: what was set locally is gone, and after a rollback all that was set meanwhile."""
        self._local.clear()
        if not is_committed:
            self._values = dict(self._before)

    def get(self, name: str) -> str:
        """Raises ``UnknownObject``."""
        known = _known(name)
        return self._local.get(known.name) or self._values.get(known.name, self._defaults[known.name])

    def set(self, name: str, value: str | None, *, is_local: bool = False) -> None:
        """None is the default; ``is_local`` lasts until the end of the transaction. Raises ``UnknownObject``, ``InvalidOption``."""
        variable = _known(name)
        allowed = None if value is None else _allowed(variable, value)
        if is_local:
            self._local[variable.name] = self._defaults[variable.name] if allowed is None else allowed
            return
        self._local.pop(variable.name, None)
        if allowed is None:
            self._values.pop(variable.name, None)
        else:
            self._values[variable.name] = allowed

    def reset(self) -> None:
        self._values.clear()
        self._local.clear()

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        """Name, value and description of each, by name."""
        return ((name, self.get(name), variable.description) for name, variable in sorted(VARIABLES.items()))

    @property
    def names(self) -> SessionNames:
        path = tuple(part.strip() for part in self.get("search_path").split(",") if part.strip())
        return SessionNames(self.get("database"), path, self.get("cluster"))

    @property
    def statement_timeout_ms(self) -> int:
        return int(self.get("statement_timeout"))


def _allowed(variable: Variable, value: str) -> str:
    try:
        return variable.check(value)
    except ValueError as allowed:
        raise InvalidOption(f'invalid value for parameter "{variable.name}": "{value}"', hint=str(allowed)) from None


def _known(name: str) -> Variable:
    folded = name.lower()
    if folded not in VARIABLES:
        raise UnknownObject("configuration parameter", name, hint=nearest(folded, VARIABLES))
    return VARIABLES[folded]
