"""The root of all errors, and those that belong to no area."""

from __future__ import annotations


class ReclockError(Exception):
    """The root. ``message`` is lowercase and names the object in double quotes; ``detail`` and
    ``hint`` stand apart. ``sqlstate`` is that of the class if none is given."""

    sqlstate = "XX000"

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        sqlstate: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        if sqlstate is not None:
            self.sqlstate = sqlstate


class InternalError(ReclockError):
    """An invariant did not hold. Always a bug in Reclock."""


class ConfigurationError(ReclockError):
    """A setting is missing, unknown or out of range."""

    sqlstate = "F0000"
