"""What the columns of any relation must be."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import RESERVED_COLUMNS, Column
from reclock.errors import DuplicateColumn, ReservedName, SqlSyntaxError, UnsupportedSql


def check_columns(names: Sequence[str]) -> None:
    """Raises ``DuplicateColumn`` or ``ReservedName``, or ``SqlSyntaxError`` if there is none at all."""
    if not names:
        raise SqlSyntaxError("a relation needs at least one column")
    for i, name in enumerate(names):
        if name in RESERVED_COLUMNS:
            raise ReservedName(name, hint="every relation has these columns of its own; give the column another name with AS")
        if name in names[:i]:
            raise DuplicateColumn(name)


def check_stored(columns: Sequence[Column]) -> None:
    """Raises ``UnsupportedSql`` unless a collection can hold the columns."""
    for column in columns:
        if not column.type.is_stored:
            raise UnsupportedSql(f'column "{column.name}" has type {column.type}, which cannot be stored', hint="cast it to text")
