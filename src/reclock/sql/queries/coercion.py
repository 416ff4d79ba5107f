"""Types of expressions: the types that SQL's names mean, the casts that exist, and the implicit
ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TypeGuard, overload

from sqlglot import exp

from reclock.algebra.array_shapes import check_dimensions
from reclock.algebra.moments import round_moment
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DATERANGE,
    DOUBLE,
    INT2VECTOR,
    INT4RANGE,
    INT8RANGE,
    INTEGER,
    INTERVAL,
    JSONB,
    LETTER,
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
    Column,
    MomentLimit,
    ScalarType,
    TextLimit,
    TypeName,
    array,
    cut_name,
    numeric,
)
from reclock.algebra.textual.times import round_time
from reclock.errors import (
    InvalidOption,
    ReclockError,
    TextTooLong,
    TypeMismatch,
    UnknownObject,
    UnsupportedSql,
)
from reclock.plan.functions import common_type as common_of
from reclock.plan.functions import is_implicit, resolve_cast
from reclock.plan.functions import operand_type as operand_of
from reclock.plan.functions.digits import FLOAT_SCALE
from reclock.plan.functions.intervals import SPAN, SPAN_TYPE, compared_type
from reclock.plan.functions.moments import ROUNDED
from reclock.plan.functions.typing import as_numeric
from reclock.plan.scalars import Call, Literal, Parameter, Scalar
from reclock.sql.names import fold
from reclock.sql.queries.literals import fit, natural, parse_number, parse_text, read_array
from reclock.sql.queries.local_times import zoned_cast
from reclock.sql.queries.planned import E, OpenParameter, Planned, TypedExpr, Untyped
from reclock.sql.session_zone import session_zone
from reclock.sql.syntax.dialect import to_sql

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
    exp.DType.TIME: TIME,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMPTZ,
    exp.DType.INTERVAL: INTERVAL,
    exp.DType.JSON: JSONB,
    exp.DType.JSONB: JSONB,
    exp.DType.NAME: TEXT,
    exp.DType.UUID: UUID,
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
        return _named_type(node.args.get("kind"))
    if node.this == exp.DType.ARRAY and len(sizes) == 1:
        return array(scalar_type(sizes[0]))
    if node.this == exp.DType.DECIMAL:
        return _numeric(
            [size.this.name if isinstance(size, exp.DataTypeParam) else size.name for size in sizes]
        )
    if node.this == exp.DType.DOUBLE and len(sizes) == 1:
        return _float(sizes[0])
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


def is_name_type(node: exp.Expr) -> bool:
    return (isinstance(node, exp.DataType) and node.this == exp.DType.NAME) or to_sql(
        node
    ).lower().removeprefix("pg_catalog.") == "name"


def _is_letter_type(node: exp.Expr) -> bool:
    """Whether it is ``"char"``, which without the quotes is another type."""
    if not isinstance(node, exp.DataType) or node.this != exp.DType.USERDEFINED:
        return False
    kind = node.args.get("kind")
    name = kind.expression if isinstance(kind, exp.Dot) else kind
    return isinstance(name, exp.Identifier) and fold(name) == "char"


def text_limit(node: exp.Expr) -> TextLimit | None:
    """The limit that ``varchar(n)``, ``char(n)``, ``char``, ``name`` or ``"char"`` sets; None of any
    other type. Raises ``InvalidOption``."""
    if is_name_type(node):
        return NAME
    if _is_letter_type(node):
        return LETTER
    if not isinstance(node, exp.DataType) or node.this not in _TYPES_WITH_LENGTH:
        return None
    is_char = node.this != exp.DType.VARCHAR
    sizes = [size.name for size in node.expressions]
    if node.this == exp.DType.CHAR and not sizes:
        sizes = ["1"]
    if not sizes:
        return None
    if len(sizes) > 1 or not sizes[0].isdigit() or not 1 <= int(sizes[0]) <= _MOST_CHARACTERS:
        raise InvalidOption(
            f"length for type {'char' if is_char else 'varchar'} must be from 1 to "
            f"{_MOST_CHARACTERS}"
        )
    return TextLimit(int(sizes[0]), ignores_blanks=is_char)


_TYPES_WITH_LENGTH = (exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.BPCHAR)


def moment_limit(node: exp.Expr) -> MomentLimit | None:
    """The limit that ``timestamp(p)``, ``timestamptz(p)`` or ``time(p)`` sets; None of any other
    type."""
    if not isinstance(node, exp.DataType) or len(node.expressions) != 1:
        return None
    if node.this not in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIME):
        return None
    return MomentLimit(min(int(node.expressions[0].name[:3]), 6), _TYPES[node.this])


def column_limit(node: exp.Expr) -> TextLimit | MomentLimit | None:
    """The limit that a type with a length or a precision sets."""
    return text_limit(node) or moment_limit(node)


_MOST_CHARACTERS = 10_485_760
"""PostgreSQL's limit."""


def limited(value: E, limit: TextLimit | MomentLimit) -> E:
    """A text with the column's limit. A longer text is an error, now or when it is computed, unless
    only blanks exceed the limit. A ``name`` and a ``"char"`` are cut, and a moment is rounded."""
    if isinstance(limit, MomentLimit):
        return _rounded(value, limit)
    if isinstance(value, Literal):
        return (
            value if value.value is None else Literal(within_limit(value.value, limit), value.type)
        )
    if limit.is_name:
        return Call("name", (value,), TEXT)
    if limit.is_letter:
        return Call("left", (value, Literal(1, INTEGER)), TEXT)
    arguments: tuple[E, ...] = (
        value,
        Literal(limit.characters, INTEGER),
        Literal(limit.ignores_blanks, BOOLEAN),
    )
    return Call("within_length", arguments, TEXT)


def _rounded(value: E, limit: MomentLimit) -> E:
    if limit.digits == 6:
        return value
    if isinstance(value, Literal):
        if value.value is None:
            return value
        round_value = round_time if value.type == TIME else round_moment
        return Literal(round_value(value.value, limit.digits), value.type)
    return Call(ROUNDED, (value, Literal(limit.digits, INTEGER)), value.type)


def within_limit(text: str, limit: TextLimit) -> str:
    """Raises ``TextTooLong``."""
    if limit.is_name:
        return cut_name(text)
    if limit.is_letter:
        return text[:1]
    stripped = text.rstrip(" ") if limit.ignores_blanks else text
    if len(stripped.rstrip(" ")) > limit.characters:
        raise TextTooLong(str(limit))
    return stripped[: limit.characters]


def _float(size: exp.Expr) -> ScalarType:
    """``float(n)`` by its binary digits."""
    digits = int((size.this if isinstance(size, exp.DataTypeParam) else size).name[:9])
    if not 1 <= digits <= 53:
        at_fault = "at least 1 bit" if digits < 1 else "less than 54 bits"
        raise InvalidOption(f"precision for type float must be {at_fault}")
    return REAL if digits <= 24 else DOUBLE


def _named_type(kind: object) -> ScalarType:
    """A type that is not a keyword of the grammar: one of the catalog's, which may have
    ``pg_catalog.`` before it."""
    if isinstance(kind, exp.Dot) and fold(kind.this) == "pg_catalog":
        kind = kind.expression
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
    """The common type of several results (PostgreSQL's rule for UNION, CASE and others); text if
    all are untyped."""
    common = common_of(types)
    if common is None:
        names = list(dict.fromkeys(str(type.name) for type in types if type is not None))
        raise TypeMismatch(
            f"{what} types {' and '.join(names)} cannot be matched", hint="cast them to one type"
        )
    return common


def with_own_digits(values: Sequence[Planned], types: Sequence[ScalarType | None]) -> list[Planned]:
    """``values``, where constants of open type that shall be numerics are numerics of the digits
    that they are written with.

    As in PostgreSQL, the number beside a constant says what kind of number it is, and not how many
    digits it keeps.
    """
    return [
        _number(value)
        if type is not None and type.name is TypeName.NUMERIC and isinstance(value, Untyped)
        else value
        for value, type in zip(values, types, strict=True)
    ]


def _number(value: Untyped) -> Planned:
    if isinstance(value, OpenParameter):
        return value.parameters.settle(value.number, numeric())
    return value if value.text is None else Literal(*natural(parse_number(value.text), numeric()))


def unified(values: Sequence[Planned], what: str) -> tuple[list[TypedExpr], ScalarType]:
    """``values`` in the type that all of them take, and that type. Raises as ``common_type``."""
    values = with_dimensions_of_others(values)
    values = with_own_digits(
        values, [common_type([value.type for value in values], what)] * len(values)
    )
    type = common_type([value.type for value in values], what)
    return [coerce(value, type) for value in values], type


def with_dimensions_of_others(values: Sequence[Planned]) -> Sequence[Planned]:
    """``values``, where array constants without elements have as many dimensions as the other
    arrays."""
    types = [value.type for value in values if not _is_shapeless(value)]
    dimensions = max((type.dimensions for type in types if type is not None), default=0)
    if not dimensions:
        return values
    return [
        value if isinstance(value, Untyped) else _with_dimensions(value, dimensions)
        for value in values
    ]


def _with_dimensions(value: TypedExpr, dimensions: int) -> TypedExpr:
    """``value`` as an array of so many dimensions, if it can have any number of them."""
    if not _is_shapeless(value):
        return value
    return replace(value, type=array(value.type.base, dimensions))


def _is_shapeless(value: Planned) -> TypeGuard[Literal | Parameter]:
    """Whether ``value`` is an array constant without elements, or a parameter whose value is not
    known yet."""
    if value.type is None or value.type.name is not TypeName.ARRAY:
        return False
    return isinstance(value, Parameter) or (isinstance(value, Literal) and not value.value)


@overload
def coerce(value: Scalar | Untyped, target: ScalarType) -> Scalar: ...
@overload
def coerce(value: Planned, target: ScalarType) -> TypedExpr: ...
def coerce(value: Planned, target: ScalarType) -> TypedExpr:
    """``value`` as ``target``: a constant is parsed, anything else is cast. The caller has checked
    that the cast is allowed."""
    if isinstance(value, OpenParameter):
        return coerce(value.parameters.settle(value.number, target), target)
    if isinstance(value, Untyped):
        text = value.text
        return Literal(None if text is None else parse_text(text, target, session_zone), target)
    if value.type.name is target.name is TypeName.ARRAY:
        value = _with_dimensions(value, target.dimensions)
        check_dimensions(value.type, target)
    if value.type == target:
        return value
    if isinstance(value, Literal):
        if value.value is None:
            return Literal(None, target)
        if value.type == TEXT and target.is_moment:
            return _moment(value, target)
        if (
            target.is_number
            and isinstance(value.value, int | float | Decimal)
            and not isinstance(value.value, bool)
        ):
            number = (
                natural(value.value, value.type)[0]
                if target.is_unconstrained and value.type.is_float
                else value.value
            )
            return Literal(fit(number, target), target)
    return zoned_cast(value, target)


def _moment(text: Literal, target: ScalarType) -> TypedExpr:
    """The moment that a constant spells. The error of another text is one of the row that it is
    computed for."""
    try:
        return Literal(parse_text(text.value, target, session_zone), target)
    except ReclockError:
        return zoned_cast(text, target)


def cast(value: Planned, target: ScalarType) -> TypedExpr:
    """``CAST(value AS target)``. Raises ``TypeMismatch``.

    As an unconstrained numeric, a value keeps the digits that it has, and as an array its
    dimensions.
    """
    if target.name in (TypeName.ARRAY, TypeName.VECTOR):
        value, target = _as_array(value, target)
    if target.is_unconstrained:
        natural_value = _natural(value)
        if natural_value is not None:
            return natural_value
        target = (
            numeric(scale=FLOAT_SCALE) if value.type is not None and value.type.is_float else target
        )
    return coerce(value, target if isinstance(value, Untyped) else resolve_cast(value.type, target))


def _as_array(value: Planned, target: ScalarType) -> tuple[Planned, ScalarType]:
    """``value``, to be cast to ``target`` with the dimensions that it has."""
    if isinstance(value, OpenParameter):
        value = value.parameters.settle(value.number, target)
    if isinstance(value, Literal) and value.type == TEXT:
        value = Untyped(value.value)
    if target.name is TypeName.VECTOR:
        return value, target
    if isinstance(value, Untyped):
        return value, target if value.text is None else read_array(value.text, target)[1]
    if value.type is None or value.type.name is not TypeName.ARRAY or _is_shapeless(value):
        return value, target
    return value, array(target.base, value.type.dimensions)


def _natural(value: Planned) -> TypedExpr | None:
    """A number, or a constant that spells one, as an unconstrained numeric; None if its digits are
    only known when it is computed."""
    if (
        isinstance(value, Untyped)
        and not isinstance(value, OpenParameter)
        and value.text is not None
    ):
        exact = parse_number(value.text)
        return Literal(*natural(exact, numeric()))
    if (
        value.type is None
        or not value.type.is_number
        or (isinstance(value, Literal) and value.value is None)
    ):
        return None
    if isinstance(value, Literal):
        return (
            Literal(*natural(value.value, value.type))
            if value.type.name is not TypeName.NUMERIC
            else value
        )
    return None if value.type.is_float else coerce(value, as_numeric(value.type))


def expect(value: Planned, target: ScalarType, what: str) -> TypedExpr:
    """``value`` as the required type ``target``. Raises ``TypeMismatch``."""
    if not isinstance(value, Untyped) and not is_implicit(value.type, target):
        raise TypeMismatch(f"{what} must be type {target.name}, not type {value.type.name}")
    return coerce(value, target)


@overload
def assign(value: Scalar | Untyped, column: Column) -> Scalar: ...
@overload
def assign(value: Planned, column: Column) -> TypedExpr: ...
def assign(value: Planned, column: Column) -> TypedExpr:
    """``value`` as it is stored in ``column``, with PostgreSQL's assignment casts. Raises
    ``TypeMismatch``, ``TextTooLong``."""
    target = column.type
    if target.name is TypeName.ARRAY and not isinstance(value, Untyped):
        value = _with_dimensions(value, target.dimensions)
    source = value.type
    if source is not None and not is_assignable(source, target):
        raise TypeMismatch(
            (
                f'column "{column.name}" is of type {target.name} but expression is of type '
                f"{source.name}"
            ),
            hint="you will need to rewrite or cast the expression",
        )
    assigned = coerce(value, target if source is None else resolve_cast(source, target))
    return assigned if column.limit is None else limited(assigned, column.limit)


def is_assignable(source: ScalarType, target: ScalarType) -> bool:
    """Whether PostgreSQL's assignment casts lead from the one type to the other."""
    if source.element is not None and target.name is TypeName.ARRAY:
        return is_assignable(source.base, target.base)
    return (
        is_implicit(source, target)
        or target == TEXT
        or (source.is_number and target.is_number)
        or (source.is_moment and target.is_moment)
        or (target == TIME and source in (TIMESTAMP, TIMESTAMPTZ, INTERVAL))
    )


@overload
def default_to_text(value: Scalar | Untyped) -> Scalar: ...
@overload
def default_to_text(value: Planned) -> TypedExpr: ...
def default_to_text(value: Planned) -> TypedExpr:
    """The scalar; a constant without a type becomes text."""
    return coerce(value, TEXT) if isinstance(value, Untyped) else value


def equal(a: E, b: E) -> E:
    """``a = b`` in their common type."""
    type = operand_of([a.type, b.type]) or common_type([a.type, b.type], "=")
    return Call("=", (comparable(coerce(a, type)), comparable(coerce(b, type))), BOOLEAN)


def comparable(value: E) -> E:
    """The expression that engines compare for ``value``: of an interval, its span."""
    if not value.type.has_intervals:
        return value
    if isinstance(value, Literal) and value.type == INTERVAL:
        return Literal(None if value.value is None else Decimal(value.value.span_us), SPAN_TYPE)
    return Call(SPAN, (value,), compared_type(value.type))
