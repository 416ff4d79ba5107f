"""The formats of COPY: lines of text, or PostgreSQL's binary format."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LineFormat:
    """Rows are lines. ``null`` is the text of NULL. ``quote`` and ``escape`` are those of CSV.

    The other three are positions among the columns that are copied, also of CSV only: columns
    whose values are always quoted, columns in which ``null`` is NULL even in quotes, and columns in
    which it never is.
    """

    is_csv: bool
    delimiter: str
    null: str
    has_header: bool
    quote: str
    escape: str
    always_quoted: frozenset[int] = frozenset()
    null_in_quotes: frozenset[int] = frozenset()
    never_null: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class BinaryFormat:
    """Rows are written as the wire's binary values. It has no options."""


CopyFormat = LineFormat | BinaryFormat
