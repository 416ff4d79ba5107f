"""The root of all errors, and those that belong to no area."""

from __future__ import annotations


class ReclockError(Exception):
    """The root. ``message`` is lowercase and names the object in double quotes; ``detail`` and
    ``hint`` are separate, and are shown in tracebacks. ``sqlstate`` is that of the class if none is
    given. ``position`` says where the text of the statement is wrong, in characters from 1."""

    sqlstate = "XX000"
    position: int | None = None

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
        for name, text in (("detail", detail), ("hint", hint)):
            if text:
                self.add_note(f"{name}: {text}")


class InternalError(ReclockError):
    """An invariant did not hold. Always a bug in Reclock."""


class NegativeMultiplicity(InternalError):
    """A relation has a row fewer than zero times, so that it has no answer. A source got the end of
    a row without its beginning: the messages before are gone from the topic, or one came twice. Of
    other relations it is a bug in Reclock."""

    sqlstate = "XX001"

    def __init__(self) -> None:
        super().__init__(
            "a row of a collection has a negative multiplicity",
            detail="a change removed a row that is not there",
            hint=(
                "if a source with ENVELOPE DEBEZIUM is read, its topic lacks earlier events or has "
                "one twice: let the connector make a snapshot into a new topic, drop the source "
                "and create it again"
            ),
        )


class ConfigurationError(ReclockError):
    """A setting is missing, unknown or out of range."""

    sqlstate = "F0000"
