"""Converts errors of engines: to a value's failure, with PostgreSQL's SQLSTATE and message, or to
an internal error."""

from __future__ import annotations

import re

from reclock.errors import (
    DIGITS_HINT,
    RECURSION_HINT,
    EvaluationError,
    InternalError,
    NegativeMultiplicity,
    ReclockError,
)

_RAISED = re.compile(r"reclock:([0-9A-Z]{5}):(.*?)(?: SQLSTATE: \w{5}|$)", re.MULTILINE)

_MOMENT = "date/time field value out of range"
# In order; the first that matches decides.
_PATTERNS: tuple[tuple[str, str, str], ...] = (
    (r"divi[ds]\w*[ _]by[ _]zero|remainder_by_zero|remainder by zero", "22012", "division by zero"),
    (
        (
            r"field value out of range|date out of range|invalid date|cannot be cast to "
            r"\"(date|timestamp)|2200[78]"
        ),
        "22008",
        _MOMENT,
    ),
    (
        r"like pattern must not end|esc_at_the_end",
        "22025",
        "LIKE pattern must not end with escape character",
    ),
    (
        (
            r"missing \)|missing \]|unexpected \)|repetition|bad escape|character "
            r"class|trailing \\|invalid_parameter_value\.pattern"
        ),
        "2201B",
        "invalid regular expression",
    ),
    (
        r"overflow|out of range|out_of_range|numeric_value|22003|could not cast value|does not fit",
        "22003",
        "value out of range",
    ),
    (
        r"conversion error|could not convert|cast_invalid_input|invalid input",
        "22P02",
        "invalid input syntax",
    ),
)


def failure(error: BaseException, text: str, *, is_of_data: bool) -> ReclockError:
    """The error to raise for an engine's error with this text. ``is_of_data`` says that it happened
    while rows were computed."""
    raised = _RAISED.search(text)
    if raised:
        if raised[1] == "XX000":
            return InternalError(raised[2])
        if raised[1] == NegativeMultiplicity.sqlstate:
            return NegativeMultiplicity()
        return EvaluationError(raised[2], sqlstate=raised[1], hint=_hint(raised[2]))
    first = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    if is_of_data:
        for pattern, sqlstate, message in _PATTERNS:
            if re.search(pattern, first, re.IGNORECASE):
                detail = _plain(first)
                is_more = detail.lower() != message
                return EvaluationError(
                    message, detail=detail if is_more else None, sqlstate=sqlstate
                )
    return InternalError("a plan failed in its engine", detail=first)


def _hint(message: str) -> str | None:
    """The hint of an error that a plan raised with this message."""
    if "digits after the decimal point" in message:
        return DIGITS_HINT
    return RECURSION_HINT if message.startswith("recursive query ") else None


def _plain(text: str) -> str:
    """The engine's message without its error class and its names of columns, and without advice
    about the engine's own functions and settings."""
    sentence = re.sub(r"^([A-Z][A-Za-z ]* Error: |\[[A-Z_.]+\] )", "", text)
    sentence = re.split(r" Use (?:TRY|`try_)", sentence)[0].rstrip(".")
    return re.sub(r" in expression \(.*\)$", "", sentence)
