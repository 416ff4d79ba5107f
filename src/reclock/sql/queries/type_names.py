"""The types that SQL's names mean, and the limits that a length or a precision sets."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BPCHAR,
    BYTEA,
    CIDR,
    DATE,
    DATERANGE,
    DOUBLE,
    INET,
    INT2VECTOR,
    INT4RANGE,
    INT8RANGE,
    INTEGER,
    INTERVAL,
    JSONB,
    LETTER,
    MACADDR,
    MAX_PRECISION,
    NAME,
    NUMRANGE,
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
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TSRANGE,
    TSTZRANGE,
    UUID,
    VARCHAR,
    MomentLimit,
    ScalarType,
    TextLimit,
    TypeName,
    array,
    char,
    list_of,
    map_of,
    numeric,
)
from reclock.errors import (
    InvalidOption,
    TypeMismatch,
    UnknownObject,
    UnsupportedSql,
)
from reclock.sql.named_types import defined_domain, defined_type, set_parts, written_parts
from reclock.sql.names import fold
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.places import at

_TYPES = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INTEGER,
    exp.DType.BIGINT: BIGINT,
    exp.DType.FLOAT: REAL,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: TEXT,
    exp.DType.VARCHAR: VARCHAR,
    exp.DType.BPCHAR: BPCHAR,
    exp.DType.VARBINARY: BYTEA,
    exp.DType.DATE: DATE,
    exp.DType.TIME: TIME,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMPTZ,
    exp.DType.INTERVAL: INTERVAL,
    exp.DType.JSON: JSONB,
    exp.DType.JSONB: JSONB,
    exp.DType.NAME: TEXT,
    exp.DType.UUID: UUID,
    exp.DType.INET: INET,
    exp.DType.INT4RANGE: INT4RANGE,
    exp.DType.INT8RANGE: INT8RANGE,
    exp.DType.NUMRANGE: NUMRANGE,
    exp.DType.DATERANGE: DATERANGE,
    exp.DType.TSRANGE: TSRANGE,
    exp.DType.TSTZRANGE: TSTZRANGE,
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
    "jsonpath": TEXT,
    "cidr": CIDR,
    "macaddr": MACADDR,
    "int2vector": INT2VECTOR,
    "oidvector": OIDVECTOR,
}
"""Types of PostgreSQL's catalog that the grammar treats as names."""


def scalar_type(node: exp.Expr) -> ScalarType:
    """The type a type name in SQL stands for. Raises ``UnknownObject`` or ``UnsupportedSql``."""
    if isinstance(node, exp.ObjectIdentifier) and str(node.this).lower() in _CATALOG_TYPES:
        return _CATALOG_TYPES[str(node.this).lower()]
    if not isinstance(node, exp.DataType):
        raise UnknownObject("type", to_sql(node))
    sizes = node.args.get("expressions") or []
    if node.this == exp.DType.USERDEFINED:
        return _named_type(node)
    if node.this == exp.DType.ARRAY and len(sizes) == 1:
        return array(_element_type(sizes[0]))
    if node.this == exp.DType.LIST and len(sizes) == 1:
        return list_of(_part_type(sizes[0], "a list"))
    if node.this == exp.DType.MAP and len(sizes) == 2:
        key, value = sizes
        if scalar_type(key) != TEXT:
            raise TypeMismatch(f"map key type must be text, got {scalar_type(key)}")
        return map_of(_part_type(value, "a map"))
    if node.this == exp.DType.DECIMAL:
        return _numeric(
            [size.this.name if isinstance(size, exp.DataTypeParam) else size.name for size in sizes]
        )
    if node.this == exp.DType.DOUBLE and len(sizes) == 1:
        return _float(sizes[0])
    if node.this in _CHARACTERS and (node.this == exp.DType.CHAR or sizes):
        return char(_length(sizes, "char"))
    if node.this not in _TYPES:
        raise UnsupportedSql(f"type {to_sql(node).lower()} is not supported")
    if moment_limit(node) is not None:
        return _TYPES[node.this]
    if sizes or node.args.get("values"):
        name = _TYPES[node.this]
        raise UnsupportedSql(
            f"type {to_sql(node).lower()} is not supported",
            hint=f"use {name} without a length or precision",
        )
    return _TYPES[node.this]


def _element_type(node: exp.Expr) -> ScalarType:
    reject_domain(node, "an array")
    is_varchar = isinstance(node, exp.DataType) and node.this == exp.DType.VARCHAR
    return VARCHAR if is_varchar and text_limit(node) is not None else scalar_type(node)


def field_type(node: exp.Expr) -> ScalarType:
    """The type of a field of a composite type."""
    where = "a composite type"
    type = _type_without_limit(node, where)
    if type.base.name is TypeName.BPCHAR:
        raise UnsupportedSql(f"{type} is not supported in {where}", hint="use text")
    return type


def _part_type(node: exp.Expr, where: str) -> ScalarType:
    """The type of the elements of a list, or of the values of a map."""
    type = _type_without_limit(node, where)
    check_part(type, where)
    return type


def _type_without_limit(node: exp.Expr, where: str) -> ScalarType:
    """The type, whose values nothing would check there. Raises ``UnsupportedSql`` if it has a length
    or a precision, or is a domain with constraints."""
    limits = (text_limit(node), moment_limit(node), element_limit(node))
    if any(limit is not None for limit in limits):
        raise UnsupportedSql(
            f"type {to_sql(node).lower()} is not supported in {where}",
            hint="use the type without a length or precision",
        )
    domain = defined_domain(node)
    if domain is None or not domain.type.is_list_or_map or domain.is_constrained:
        reject_domain(node, where)
    return scalar_type(node).without_domain


def check_part(type: ScalarType, where: str) -> None:
    """Raises ``UnsupportedSql`` unless a list or a map can have parts of the type."""
    if type.is_array or type.name is TypeName.BPCHAR:
        raise UnsupportedSql(
            f"{type} is not supported in {where}",
            hint="cast it to a list" if type.is_array else "use text",
        )


def reject_domain(node: exp.Expr, where: str) -> None:
    """Raises ``UnsupportedSql`` if the type is a domain, whose values nothing would check there."""
    domain = defined_domain(node)
    if domain is not None:
        raise UnsupportedSql(
            f"the domain {domain.type.domain and domain.type.domain.name} is not supported in {where}",
            hint="use its base type",
        )


def full_name(type: ScalarType) -> str:
    """The name by which ``regtype`` finds the type, whatever the search path."""
    is_defined = _defined_name(type) is not None
    return to_sql(type_syntax(type)) if is_defined else str(type.unconstrained)


def _defined_name(type: ScalarType) -> tuple[str, ...] | None:
    """The parts of the full name of a type that a user defined, or that is an array of such."""
    defined = type.domain or type.base.enum or type.base.composite
    return None if defined is None else defined.qualified


def is_name_type(node: exp.Expr) -> bool:
    is_keyword = isinstance(node, exp.DataType) and node.this == exp.DType.NAME
    return is_keyword or _catalog_name(node) == "name"


def _is_letter_type(node: exp.Expr) -> bool:
    """Whether it is ``"char"``, which without the quotes is another type."""
    return _catalog_name(node) == "char"


def _catalog_name(node: exp.Expr) -> str | None:
    """The name of a type that is not a keyword of the grammar, if it is written without a schema or
    with ``pg_catalog``."""
    if not isinstance(node, exp.DataType) or node.this != exp.DType.USERDEFINED:
        return None
    kind = node.args.get("kind")
    if isinstance(kind, exp.Dot):
        schema, kind = kind.this, kind.expression
        if not isinstance(schema, exp.Identifier) or fold(schema) != "pg_catalog":
            return None
    return fold(kind) if isinstance(kind, exp.Identifier) else None


def text_limit(node: exp.Expr) -> TextLimit | None:
    """The limit that ``varchar(n)``, ``name`` or ``"char"`` sets; None of any other type. Raises
    ``InvalidOption``."""
    if is_name_type(node):
        return NAME
    if _is_letter_type(node):
        return LETTER
    if not isinstance(node, exp.DataType) or node.this != exp.DType.VARCHAR:
        return None
    return TextLimit(_length(node.expressions, "varchar")) if node.expressions else None


def _length(sizes: Sequence[exp.Expr], type_name: str) -> int:
    """The length in the parentheses after the type's name; 1 without them."""
    [text, *others] = [size.name for size in sizes] or ["1"]
    if others or not text.isdigit() or not 1 <= int(text) <= _MOST_CHARACTERS:
        raise InvalidOption(f"length for type {type_name} must be from 1 to {_MOST_CHARACTERS}")
    return int(text)


_CHARACTERS = (exp.DType.CHAR, exp.DType.BPCHAR)


def moment_limit(node: exp.Expr) -> MomentLimit | None:
    """The limit that ``timestamp(p)``, ``timestamptz(p)`` or ``time(p)`` sets; None of any other
    type."""
    if not isinstance(node, exp.DataType) or len(node.expressions) != 1:
        return None
    if node.this not in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIME):
        return None
    return MomentLimit(min(int(node.expressions[0].name[:3]), 6), _TYPES[node.this])


def column_limit(node: exp.Expr) -> TextLimit | MomentLimit | None:
    """The limit that a type with a length or a precision sets, or a domain or an array of one."""
    domain = defined_domain(node)
    if domain is not None:
        return domain.limit
    return text_limit(node) or moment_limit(node) or element_limit(node)


def element_limit(node: exp.Expr) -> TextLimit | MomentLimit | None:
    """The limit that an array of ``varchar(n)`` or of moments with a precision sets for its
    elements; None of any other type."""
    while isinstance(node, exp.DataType) and node.this == exp.DType.ARRAY:
        [node] = node.expressions or [None]
        if isinstance(node, exp.DataType) and node.this == exp.DType.VARCHAR:
            return text_limit(node)
        if (limit := moment_limit(node)) is not None:
            return limit
    return None


_MOST_CHARACTERS = 10_485_760
"""PostgreSQL's limit."""


def _float(size: exp.Expr) -> ScalarType:
    """``float(n)`` by its binary digits."""
    digits = int((size.this if isinstance(size, exp.DataTypeParam) else size).name[:9])
    if not 1 <= digits <= 53:
        at_fault = "at least 1 bit" if digits < 1 else "less than 54 bits"
        raise InvalidOption(f"precision for type float must be {at_fault}")
    return REAL if digits <= 24 else DOUBLE


def _named_type(node: exp.DataType) -> ScalarType:
    """A type that is not a keyword of the grammar: one of the catalog's, which may have
    ``pg_catalog.`` before it, or one that a user defined."""
    kind = node.args.get("kind")
    if isinstance(kind, exp.Dot) and fold(kind.this) == "pg_catalog":
        kind = kind.expression
    name = fold(kind) if isinstance(kind, exp.Identifier) else str(kind)
    if name in _CATALOG_TYPES:
        return _CATALOG_TYPES[name]
    defined = defined_type(written_parts(node))
    if defined is None:
        with at(node):
            raise UnknownObject("type", name)
    return defined


def type_syntax(type: ScalarType) -> exp.DataType:
    """The type as SQL writes it, by its full name."""
    qualified = _defined_name(type)
    if qualified is None and type.is_list_or_map and type.element is not None:
        parts = [field.type for field in type.element.fields] or [type.element]
        kind = exp.DType.LIST if type.name is TypeName.LIST else exp.DType.MAP
        return exp.DataType(this=kind, expressions=list(map(type_syntax, parts)), nested=True)
    if qualified is None:
        return exp.DataType.build(str(type), dialect="postgres")
    node = exp.DataType(this=exp.DType.USERDEFINED)
    set_parts(node, qualified)
    for _ in range(0 if type.domain is not None else type.dimensions):
        node = exp.DataType(this=exp.DType.ARRAY, expressions=[node], nested=True)
    return node


def _numeric(sizes: list[str]) -> ScalarType:
    if not sizes:
        return numeric()
    if not all(size.isdigit() and len(size) < 5 for size in sizes) or len(sizes) > 2:
        raise InvalidOption("the precision and scale of numeric are whole numbers")
    precision, scale = int(sizes[0]), int(sizes[1]) if len(sizes) == 2 else 0
    if not 1 <= precision <= _MOST_DIGITS:
        raise InvalidOption(f"NUMERIC precision {precision} must be between 1 and {_MOST_DIGITS}")
    if scale > min(precision, MAX_PRECISION):
        raise InvalidOption(
            f"numeric({precision},{scale}) is not supported",
            detail=f"the scale must be between 0 and the precision, and {MAX_PRECISION} at most",
        )
    return numeric(min(precision, MAX_PRECISION), scale)


_MOST_DIGITS = 1000
"""The precision that PostgreSQL allows. Values have ``MAX_PRECISION`` digits, those after the point
as declared: one that needs more before it is an error where it is written or computed."""
