"""What executing a statement answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.sql import statements

SHOW_ALL = RelationDesc((Column("name", TEXT), Column("setting", TEXT), Column("description", TEXT)))


def text_desc(name: str) -> RelationDesc:
    """Lines of text."""
    return RelationDesc((Column(name, TEXT, is_nullable=False),))


def result_desc(statement: statements.Statement) -> RelationDesc | None:
    """The columns of what executing the statement answers; None if it answers no rows."""
    match statement:
        case statements.Select() | statements.Subscribe():
            return statement.desc
        case statements.Modify():
            return statement.returning
        case statements.Explain():
            return text_desc("Timestamp" if statement.is_timestamp else "Plan")
        case statements.ShowVariable():
            return SHOW_ALL if statement.name is None else text_desc(statement.name.lower())
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Result:
    """A command tag, or rows: ``desc`` says their columns and ``batches`` holds them, to be gone through once."""

    tag: str
    desc: RelationDesc | None = None
    batches: Iterable[pa.RecordBatch] = ()
    is_live: bool = False
    """Whether rows come as they become known: a batch without any says that nothing more is known yet."""

    def close(self) -> None:
        """The rows that are left are not wanted."""
        close = getattr(self.batches, "close", None)
        if close is not None:
            close()

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as Python values."""
        for batch in self.batches:
            columns = [column.to_pylist() for column in batch.columns]
            yield from zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)


def text_of(value: Any) -> str:
    """A value as PostgreSQL's text output prints it."""
    match value:
        case bool():
            return "t" if value else "f"
        case float():
            return _float_text(value)
        case Decimal():
            return format(value, "f")
        case datetime():
            text = value.isoformat(" ").removesuffix("+00:00")
            text = text.rstrip("0") if "." in text else text
            return f"{text}+00" if value.tzinfo else text
        case timedelta():
            return _interval_text(value)
        case bytes():
            return "\\x" + value.hex()
        case list() | tuple():
            return "{" + ",".join("NULL" if each is None else _element(text_of(each)) for each in value) + "}"
        case _:
            return str(value)


def _element(text: str) -> str:
    """As it stands in an array, quoted where it would not read back as it is."""
    if text and text.upper() != "NULL" and not any(character in '{}",\\' or character.isspace() for character in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _float_text(value: float) -> str:
    """The shortest digits that read back as the same, as a power of ten from 1e15 on."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    text = repr(value).removesuffix(".0")
    if "e" not in text and abs(value) >= 1e15:
        digits = text.lstrip("-")
        mantissa = f"{digits[0]}.{digits[1:]}".rstrip("0").rstrip(".")
        return f"{'-' if value < 0 else ''}{mantissa}e+{len(digits) - 1}"
    return text


def _interval_text(value: timedelta) -> str:
    sign, size = ("-", -value) if value < timedelta(0) else ("", value)
    days = f"{sign}{size.days} day{'s' if sign or size.days != 1 else ''}" if size.days else ""
    minutes, seconds = divmod(size.seconds, 60)
    fraction = f".{size.microseconds:06d}".rstrip("0") if size.microseconds else ""
    clock = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{fraction}"
    return days if days and clock.lstrip("-") == "00:00:00" else " ".join(part for part in (days, clock) if part)
