"""The variables of a shell: ``\\set`` gives them values, ``:name`` in a statement stands for one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reclock.errors import InvalidOption
from reclock.sql.names import quote

ON_ERROR_STOP = "ON_ERROR_STOP"

_NAME = re.compile(r"\w+")
_BOOLEANS = {
    **dict.fromkeys(("on", "true", "yes", "1"), True),
    **dict.fromkeys(("off", "false", "no", "0"), False),
}


def boolean(name: str, value: str) -> bool:
    """The value of a switch. Raises ``InvalidOption`` for what is none."""
    try:
        return _BOOLEANS[value.lower()]
    except KeyError:
        raise InvalidOption(
            f'unrecognized value "{value}" for "{name}": Boolean expected'
        ) from None


class Variables:
    """Texts by name."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(sorted(self._values.items()))

    def set(self, name: str, value: str) -> None:
        """Raises ``InvalidOption`` for a name that cannot stand after a colon, and for a value of
        ``ON_ERROR_STOP`` that is not a boolean."""
        if not _NAME.fullmatch(name):
            raise InvalidOption(f'invalid variable name: "{name}"')
        if name == ON_ERROR_STOP:
            boolean(name, value or "on")
        self._values[name] = value

    def unset(self, name: str) -> None:
        self._values.pop(name, None)

    @property
    def on_error_stop(self) -> bool | None:
        """Whether an error ends a script; None if the variable is not set."""
        value = self._values.get(ON_ERROR_STOP)
        return None if value is None else boolean(ON_ERROR_STOP, value or "on")

    def substitute(self, reference: str) -> str:
        """What ``:name``, ``:'name'`` (as a constant) or ``:"name"`` (as an identifier) stands for:
        itself, if there is no such variable."""
        value = self._values.get(reference[1:].strip("'\""))
        if value is None:
            return reference
        match reference[1]:
            case "'":
                return _constant(value)
            case '"':
                return quote(value)
            case _:
                return value


def _constant(value: str) -> str:
    """The text as a constant of SQL, whatever ``standard_conforming_strings`` is."""
    quoted = value.replace("'", "''")
    if "\\" not in quoted:
        return f"'{quoted}'"
    escaped = quoted.replace("\\", "\\\\")
    return f" E'{escaped}'"
