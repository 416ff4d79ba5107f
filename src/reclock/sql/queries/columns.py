"""Requirements on the columns of relations."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from reclock.algebra.relations import RESERVED_COLUMNS, TEXT, TIME_COLUMN, Column, TextLimit
from reclock.errors import DuplicateColumn, ReservedName, SqlSyntaxError, UnsupportedSql
from reclock.sql.queries.coercion import column_limit, scalar_type


def check_columns(names: Sequence[str], *, has_time: bool = False) -> None:
    """Raises ``DuplicateColumn`` or ``ReservedName``, or ``SqlSyntaxError`` if there are no
    columns. With ``has_time``, one may be called ``mz_timestamp``, as in progress relations."""
    if not names:
        raise SqlSyntaxError("a relation needs at least one column")
    for i, name in enumerate(names):
        if name in RESERVED_COLUMNS and not (has_time and name == TIME_COLUMN):
            raise ReservedName(
                name,
                hint=(
                    "every relation has these columns of its own; give the column another "
                    "name with AS"
                ),
            )
        if name in names[:i]:
            raise DuplicateColumn(name)


def declared_column(name: str, kind: exp.Expr, is_nullable: bool) -> Column:
    """A column of a definition. ``varchar(n)`` and ``char(n)`` are text with a length."""
    limit = column_limit(kind)
    type = TEXT if isinstance(limit, TextLimit) else scalar_type(kind)
    return Column(name, type, is_nullable, limit)


def check_flat(columns: Sequence[Column], what: str) -> None:
    """Raises ``UnsupportedSql`` unless ``what``, a source or a sink, can have the columns."""
    for column in columns:
        if not column.type.is_flat:
            raise UnsupportedSql(
                f'column "{column.name}" has type {column.type}, which {what} cannot have',
                hint="cast it to text",
            )


def check_stored(columns: Sequence[Column]) -> None:
    """Raises ``UnsupportedSql`` unless a collection can hold the columns."""
    for column in columns:
        if not column.type.is_stored:
            raise UnsupportedSql(
                f'column "{column.name}" has type {column.type}, which cannot be stored',
                hint="cast it to text",
            )
