"""Errors and notices as the protocol reports them."""

from __future__ import annotations

from reclock.errors import (
    CheckViolation,
    ForeignKeyViolation,
    NotNullViolation,
    ReclockError,
    SqlWarning,
    UniqueViolation,
)
from reclock.server.messages import error_response, notice_response

_VIOLATIONS = (CheckViolation, ForeignKeyViolation, NotNullViolation, UniqueViolation)
"""Clients tell by the names of the table and the constraint what was wrong."""


def error(raised: BaseException, *, is_fatal: bool = False) -> bytes:
    """The error response. An unexpected error discloses nothing but its type."""
    severity = "FATAL" if is_fatal else "ERROR"
    if not isinstance(raised, ReclockError):
        return error_response(
            {
                "S": severity,
                "V": severity,
                "C": "XX000",
                "M": "internal error",
                "D": type(raised).__name__,
            }
        )
    fields = {
        "C": raised.sqlstate,
        "M": raised.message,
        "D": raised.detail,
        "H": raised.hint,
        "P": raised.position and str(raised.position),
        "R": getattr(raised, "routine", None),
    }
    if isinstance(raised, _VIOLATIONS):
        fields |= {"t": raised.table, "n": getattr(raised, "constraint", None)}
        fields |= {"c": getattr(raised, "column", None)}
    return error_response(
        {"S": severity, "V": severity} | {code: text for code, text in fields.items() if text}
    )


def notice(message: str) -> bytes:
    severity, sqlstate = "NOTICE", "00000"
    if isinstance(message, SqlWarning):
        severity, sqlstate = "WARNING", message.sqlstate
    return notice_response({"S": severity, "V": severity, "C": sqlstate, "M": message})
