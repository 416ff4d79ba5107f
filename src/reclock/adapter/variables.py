"""Session variables: their names, defaults and allowed values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reclock.errors import InvalidOption, UnknownObject
from reclock.sql.catalog import nearest
from reclock.sql.names import DEFAULT_DATABASE, DEFAULT_SCHEMA, SessionNames

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


class SessionVariables:
    """The values of one session."""

    def __init__(self, defaults: dict[str, str]) -> None:
        self._defaults = {name: variable.default for name, variable in VARIABLES.items()} | defaults
        self._values: dict[str, str] = {}

    def get(self, name: str) -> str:
        """Raises ``UnknownObject``."""
        known = _known(name)
        return self._values.get(known.name, self._defaults[known.name])

    def set(self, name: str, value: str | None) -> None:
        """None is the default. Raises ``UnknownObject``, ``InvalidOption``."""
        variable = _known(name)
        if value is None:
            self._values.pop(variable.name, None)
            return
        try:
            self._values[variable.name] = variable.check(value)
        except ValueError as allowed:
            raise InvalidOption(f'invalid value for parameter "{variable.name}": "{value}"', hint=str(allowed)) from None

    def reset(self) -> None:
        self._values.clear()

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


def _known(name: str) -> Variable:
    folded = name.lower()
    if folded not in VARIABLES:
        raise UnknownObject("configuration parameter", name, hint=nearest(folded, VARIABLES))
    return VARIABLES[folded]
