"""Types of expressions: what SQL's type names mean, which casts there are, and which are made without being asked for."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INT2VECTOR,
    INTEGER,
    INTERVAL,
    OID,
    OIDVECTOR,
    REAL,
    REGCLASS,
    REGNAMESPACE,
    REGPROC,
    REGROLE,
    REGTYPE,
    SMALLINT,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    ScalarType,
    array,
    numeric,
)
from reclock.compute.functions import common_type as common_of
from reclock.compute.functions import is_implicit, resolve_cast
from reclock.compute.scalars import Cast, Literal
from reclock.errors import InvalidOption, TypeMismatch, UnknownObject, UnsupportedSql
from reclock.sql.dialect import to_sql
from reclock.sql.names import fold
from reclock.sql.planner.literals import fit, parse_text
from reclock.sql.planner.rewrite import OpenParameter, Untyped

_TYPES = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INTEGER,
    exp.DType.BIGINT: BIGINT,
    exp.DType.FLOAT: REAL,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: TEXT,
    exp.DType.VARCHAR: TEXT,
    exp.DType.VARBINARY: BYTEA,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMPTZ,
    exp.DType.INTERVAL: INTERVAL,
    exp.DType.NAME: TEXT,
}
_CATALOG_TYPES = {
    "oid": OID,
    "regclass": REGCLASS,
    "regnamespace": REGNAMESPACE,
    "regproc": REGPROC,
    "regprocedure": REGPROC,
    "regoper": OID,
    "regoperator": OID,
    "regrole": REGROLE,
    "regtype": REGTYPE,
    "char": TEXT,
    "name": TEXT,
    "int2vector": INT2VECTOR,
    "oidvector": OIDVECTOR,
}
"""Types of PostgreSQL's catalog that the grammar knows as names alone."""


def scalar_type(node: exp.Expr) -> ScalarType:
    """The type a type name in SQL stands for. Raises ``UnknownObject`` or ``UnsupportedSql``."""
    if isinstance(node, exp.ObjectIdentifier) and str(node.this).lower() in _CATALOG_TYPES:
        return _CATALOG_TYPES[str(node.this).lower()]
    if not isinstance(node, exp.DataType):
        raise UnknownObject("type", to_sql(node))
    sizes = node.args.get("expressions") or []
    if node.this == exp.DType.USERDEFINED:
        return _named_type(node.args.get("kind"))
    if node.this == exp.DType.ARRAY and len(sizes) == 1:
        element = scalar_type(sizes[0])
        if element.element is not None:
            raise UnsupportedSql("arrays of arrays are not supported")
        return array(element)
    if node.this == exp.DType.DECIMAL:
        return _numeric([size.this.name if isinstance(size, exp.DataTypeParam) else size.name for size in sizes])
    if node.this not in _TYPES:
        raise UnsupportedSql(f"type {to_sql(node).lower()} is not supported")
    if sizes or node.args.get("values"):
        name = _TYPES[node.this]
        raise UnsupportedSql(f"type {to_sql(node).lower()} is not supported", hint=f"use {name} without a length or precision")
    return _TYPES[node.this]


def _named_type(kind: object) -> ScalarType:
    """A type by a name that is no word of the grammar: of the catalog's own, or ``pg_catalog.`` before any."""
    if isinstance(kind, exp.Dot) and isinstance(kind.expression, exp.Identifier) and fold(kind.this) == "pg_catalog":
        name = fold(kind.expression)
        try:
            return _CATALOG_TYPES.get(name) or scalar_type(exp.DataType.build(name, dialect="postgres"))
        except ParseError:
            raise UnknownObject("type", name) from None
    name = fold(kind) if isinstance(kind, exp.Identifier) else str(kind)
    if name not in _CATALOG_TYPES:
        raise UnknownObject("type", name)
    return _CATALOG_TYPES[name]


def _numeric(sizes: list[str]) -> ScalarType:
    if not sizes:
        return numeric()
    if not all(size.isdigit() and len(size) < 5 for size in sizes) or len(sizes) > 2:
        raise InvalidOption("the precision and scale of numeric are whole numbers")
    precision, scale = int(sizes[0]), int(sizes[1]) if len(sizes) == 2 else 0
    if not (1 <= precision <= 38 and scale <= precision):
        raise InvalidOption(
            f"numeric({precision},{scale}) is not supported",
            detail="precision must be between 1 and 38, scale between 0 and the precision",
        )
    return numeric(precision, scale)


def common_type(types: Sequence[ScalarType | None], what: str) -> ScalarType:
    """The type that all of several results take (PostgreSQL's rule for UNION, CASE and the like): text if all are untyped."""
    common = common_of(types)
    if common is None:
        names = list(dict.fromkeys(str(type.name) for type in types if type is not None))
        raise TypeMismatch(f"{what} types {' and '.join(names)} cannot be matched", hint="cast them to one type")
    return common


def coerce(value: Any, target: ScalarType) -> Any:
    """``value`` as ``target``: a constant is read, anything else cast. The caller has made sure that the cast is allowed."""
    if isinstance(value, OpenParameter):
        return coerce(value.parameters.settle(value.number, target), target)
    if isinstance(value, Untyped):
        return Literal(None if value.text is None else parse_text(value.text, target), target)
    if value.type == target:
        return value
    if isinstance(value, Literal):
        if value.value is None:
            return Literal(None, target)
        if target.is_number and isinstance(value.value, int | float | Decimal) and not isinstance(value.value, bool):
            return Literal(fit(value.value, target), target)
    return Cast(value, target)


def cast(value: Any, target: ScalarType) -> Any:
    """``CAST(value AS target)``. Raises ``TypeMismatch``."""
    return coerce(value, target if isinstance(value, Untyped) else resolve_cast(value.type, target))


def expect(value: Any, target: ScalarType, what: str) -> Any:
    """``value`` in a place that wants ``target``. Raises ``TypeMismatch``."""
    if not isinstance(value, Untyped) and not is_implicit(value.type, target):
        raise TypeMismatch(f"{what} must be type {target.name}, not type {value.type.name}")
    return coerce(value, target)


def assign(value: Any, target: ScalarType, column: str) -> Any:
    """``value`` as it is kept in ``column``: what PostgreSQL casts on assignment. Raises ``TypeMismatch``."""
    source = value.type
    is_allowed = (
        is_implicit(source, target)
        or target == TEXT
        or (source.is_number and target.is_number)
        or (source.is_moment and target.is_moment)
    )
    if not is_allowed:
        raise TypeMismatch(
            f'column "{column}" is of type {target.name} but expression is of type {source.name}',
            hint="you will need to rewrite or cast the expression",
        )
    return coerce(value, target) if source is None else cast(value, target)


def settle(value: Any) -> Any:
    """A constant that nothing gave a type is text."""
    return coerce(value, TEXT) if isinstance(value, Untyped) else value
