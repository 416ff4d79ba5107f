"""The messages of Arrow's readers about records that do not decode, in the words of SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reclock.algebra.relations import RelationDesc, TypeName

INVALID = "invalid value "
"""What our sentence about a value begins with as long as no column is named."""

TOO_PRECISE = "a value has too many digits after the point"

_TOO_MANY_DIGITS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"[Ee]rror converting '(.*)' to decimal\d+\(.*\): (?:precision|scale) not supported",
        r"Failed to convert JSON to decimal\d+\(.*\): (.*) requires (?:precision|scale)",
    )
)
_UNREADABLE = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"The string '(.*)' is not a valid decimal\d+ number",
        r"Failed to convert JSON to [^:]*, couldn't parse:(.*)",
    )
)
"""Arrow's messages about a value that a type does not have."""


def reason_of(message: str, desc: RelationDesc, header: Sequence[str] | None) -> str:
    """Arrow's message, with the name and type of the column instead of its number."""
    types = dict(zip(desc.names, desc.types, strict=True))
    names = header if header is not None else desc.names
    if matched := re.match(r"In CSV column #(\d+): (.*)", message, re.DOTALL):
        name = names[int(matched[1])]
        text = re.sub(r"^Row #\d+: |CSV conversion error to [^:]*: ", "", matched[2])
        return f'column "{name}" of type {types[name]}: {(invalid_value(text) or text)[:200]}'
    if matched := re.match(
        r"JSON parse error: Column\(/(.*?)\) changed from (\w+) to (\w+)", message
    ):
        name = matched[1]
        if name not in types:
            return message[:200]
        is_document = types[name].name is TypeName.TEXT and matched[3] in ("object", "array")
        way_out = "; a column of type jsonb keeps it" if is_document else ""
        return f'column "{name}" of type {types[name]}: found {matched[3]}{way_out}'
    if matched := re.search(
        r"CSV parse error: (?:Row #\d+: )?(Expected \d+ columns, got \d+)", message
    ):
        return matched[1].lower().replace("columns", "fields")
    text = re.sub(r" in row \d+|^JSON parse error: ", "", message)
    if matched := re.match(r"Column\(/(.*)\) was specified twice", text, re.DOTALL):
        return f'the object has the field "{matched[1]}" twice'
    if text.startswith("Number too big to be stored in double"):
        return "a number is beyond the range of double precision"
    return (invalid_value(text) or text)[:200]


def invalid_value(message: str) -> str | None:
    """Arrow's message about a value in our words; None if it is about something else."""
    for pattern in _TOO_MANY_DIGITS:
        if matched := pattern.match(message):
            return f"{INVALID}'{matched[1]}', which has too many digits"
    for pattern in _UNREADABLE:
        if matched := pattern.match(message):
            return f"{INVALID}'{matched[1]}'"
    if message.startswith("Rescaling Decimal value"):  # which Arrow does not name
        return TOO_PRECISE
    return None
