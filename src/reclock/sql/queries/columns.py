"""Requirements on the columns of relations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from reclock.algebra.relations import (
    RESERVED_COLUMNS,
    TIME_COLUMN,
    Column,
    ScalarType,
)
from reclock.errors import (
    DuplicateColumn,
    PseudoTypeColumn,
    ReservedName,
    SqlSyntaxError,
    UnsupportedSql,
)
from reclock.sql.queries.type_names import column_limit, scalar_type, text_limit


def check_columns(names: Sequence[str], *, is_view: bool = False) -> None:
    """Raises ``DuplicateColumn`` or ``ReservedName``, or ``SqlSyntaxError`` if there are no
    columns.

    A column of a view may be called ``mz_timestamp``, as in progress relations, and the names of
    its columns may differ in case alone.
    """
    if not names:
        raise SqlSyntaxError("a relation needs at least one column")
    for i, name in enumerate(names):
        if name in RESERVED_COLUMNS and not (is_view and name == TIME_COLUMN):
            raise ReservedName(
                name,
                hint=(
                    "every relation has these columns of its own; give the column another "
                    "name with AS"
                ),
            )
        if name in names[:i]:
            raise DuplicateColumn(name)
    if not is_view:
        _check_distinct_in_lake(names)


def _check_distinct_in_lake(names: Iterable[str]) -> None:
    """Raises ``DuplicateColumn`` for names that the engines which read the lake take for one."""
    by_folded: dict[str, str] = {}
    for name in names:
        first = by_folded.setdefault(name.casefold(), name)
        if first is not name:
            raise DuplicateColumn(name, first=first)


def declared_column(name: str, kind: exp.Expr, is_nullable: bool) -> Column:
    """A column of a definition. ``varchar(n)`` is text with a length."""
    limit, text = column_limit(kind), text_limit(kind)
    type = text.type if text is not None else scalar_type(kind)
    return Column(name, type, is_nullable, limit)


def check_flat(columns: Sequence[Column], kind: str) -> None:
    """Raises ``UnsupportedSql`` unless ``kind``, which has flat types alone, can have the columns."""
    check_types(columns, kind, lambda type: type.is_flat)


def check_types(
    columns: Sequence[Column], kind: str, can_have: Callable[[ScalarType], bool]
) -> None:
    """Raises ``UnsupportedSql`` unless ``kind`` can have the type of every column."""
    for column in columns:
        if not can_have(column.type):
            raise UnsupportedSql(
                f'column "{column.name}" has type {column.type}, which {kind} cannot have',
                hint="cast it to text",
            )


def check_stored(columns: Sequence[Column]) -> None:
    """Raises ``UnsupportedSql``, ``PseudoTypeColumn`` or ``DuplicateColumn`` unless a collection can
    hold the columns."""
    _check_distinct_in_lake(column.name for column in columns)
    for column in columns:
        if column.type.is_of_records and column.type.base.composite is None:
            raise PseudoTypeColumn(column.name, str(column.type))
        if not column.type.is_stored:
            raise UnsupportedSql(
                f'column "{column.name}" has type {column.type}, which cannot be stored',
                hint="cast it to text",
            )
