"""The formats of COPY: lines of text, or PostgreSQL's binary format."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LineFormat:
    """Rows are lines. ``null`` is the text of NULL. ``quote`` and ``escape`` are those of CSV."""

    is_csv: bool
    delimiter: str
    null: str
    has_header: bool
    quote: str
    escape: str


@dataclass(frozen=True, slots=True)
class BinaryFormat:
    """Rows are written as the wire's binary values. It has no options."""


CopyFormat = LineFormat | BinaryFormat
