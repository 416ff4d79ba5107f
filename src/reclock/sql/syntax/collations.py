"""``COLLATE``: every collation that there is compares texts by their bytes."""

from __future__ import annotations

from sqlglot import exp

from reclock.errors import TypeMismatch, UnknownObject
from reclock.sql.syntax.parser import StatementParser

_COLLATIONS = ("default", "c", "posix", "ucs_basic")
_WITH_COLLATION = (*exp.DataType.TEXT_TYPES, exp.DType.BPCHAR, exp.DType.USERDEFINED)


def check_collation(name: exp.Expr, schema: exp.Expr | None) -> None:
    """Raises ``UnknownObject`` if there is no such collation."""
    is_searched = schema is None or schema.name.lower() == "pg_catalog"
    if name.name.lower() not in _COLLATIONS or not is_searched:
        hint = f"collations are {', '.join(_COLLATIONS)}"
        raise UnknownObject("collation", name.name, hint=hint)


def collated_type(parser: StatementParser) -> exp.Expr | None:
    """A type, perhaps with a collation, which changes nothing; None if no type is next. Raises
    ``TypeMismatch`` if the type is none of texts."""
    kind = parser.data_type()
    if kind is None or not parser.accept("COLLATE"):
        return kind
    collation = parser.object_name()
    check_collation(collation.this, collation.args.get("db"))
    item = kind
    while item.this == exp.DType.ARRAY:
        [item] = item.expressions
    if isinstance(item, exp.DataType) and item.this not in _WITH_COLLATION:
        name = kind.sql("postgres").lower()
        raise TypeMismatch(f"collations are not supported by type {name}")
    return kind
