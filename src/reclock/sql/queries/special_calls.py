"""Functions whose calls mean something else than a call of the registry's function of that name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlglot import exp

from reclock.algebra.relations import (
    BOOLEAN,
    BYTEA,
    INTEGER,
    REGCLASS,
    REGNAMESPACE,
    REGPROC,
    REGROLE,
    REGTYPE,
    TEXT,
    ScalarType,
    array,
)
from reclock.errors import (
    SqlSyntaxError,
    UnknownFunction,
    UnknownObject,
    UnknownRelation,
    UnsupportedSql,
)
from reclock.plan.functions.array_dimensions import FLATTENED
from reclock.plan.functions.byte_strings import OF_BYTES
from reclock.plan.functions.logic import IDENTIFIER
from reclock.plan.scalars import Case, Cast, Literal, Parameter
from reclock.sql.queries.array_fill import filled
from reclock.sql.queries.assignment import limited
from reclock.sql.queries.call_forms import name_parts
from reclock.sql.queries.casts import cast_to
from reclock.sql.queries.catalog_functions import expression
from reclock.sql.queries.coercion import cast, default_to_text, expect
from reclock.sql.queries.defined_calls import about_session, named_id, with_body
from reclock.sql.queries.enum_functions import ENUM_FUNCTIONS, enum_call
from reclock.sql.queries.expressions import ExprContext, reject_rows
from reclock.sql.queries.format_function import formatted
from reclock.sql.queries.list_calls import LIST_FUNCTIONS, list_call
from reclock.sql.queries.named_zones import truncated_in_zone, zone_of_parts
from reclock.sql.queries.overloads import call, flattened_array, is_null, printed
from reclock.sql.queries.planned import AggregateCall, Planned, TypedExpr, Untyped, has
from reclock.sql.queries.record_values import document
from reclock.sql.queries.records import populated_record
from reclock.sql.queries.session_functions import SEQUENCE_FUNCTIONS
from reclock.sql.queries.type_names import full_name, moment_limit, scalar_type, text_limit
from reclock.sql.syntax.expressions import CALLED_TYPES


@dataclass(frozen=True, slots=True)
class Called:
    """A call of ``name``, with its arguments as they are written and as they are planned."""

    name: str
    nodes: Sequence[exp.Expr]
    values: list[Planned]
    context: ExprContext


_Planner = Callable[[Called], TypedExpr | None]

_PLANNERS: dict[str, _Planner] = {}


def special_call(called: Called) -> TypedExpr | None:
    """What the call means; None if it is one like any other."""
    planner = _PLANNERS.get(called.name)
    return None if planner is None else planner(called)


def special_arguments(name: str, values: list[Planned]) -> list[Planned]:
    """The arguments as the function ``name`` takes them."""
    match name:
        case "to_jsonb" | "jsonb_build_array":
            return list(map(document, values))
        case "jsonb_build_object":
            return [document(value) if i % 2 else value for i, value in enumerate(values)]
        case "quote_literal" | "quote_nullable" if len(values) == 1:
            return [cast(values[0], TEXT)]
        case "make_timestamptz" if len(values) == 7:
            return [*values[:6], zone_of_parts(values[6])]
        case "coalesce":
            reject_rows(values, "COALESCE")
    return values


def _plans(*names: str) -> Callable[[_Planner], _Planner]:
    def register(planner: _Planner) -> _Planner:
        _PLANNERS.update(dict.fromkeys(names, planner))
        return planner

    return register


@_plans(*CALLED_TYPES)
def _type(called: Called) -> TypedExpr | None:
    if len(called.values) != 1:
        return None
    target = exp.DataType.build(called.name, dialect="postgres")
    return cast_to(called.values[0], scalar_type(target), called.context)


# --- arrays ---


@_plans("jsonb_populate_record")
def _populated(called: Called) -> TypedExpr:
    return populated_record(called.values[0], called.values[1:])


@_plans(FLATTENED)
def _all_elements(called: Called) -> TypedExpr | None:
    """The array of a call with VARIADIC, which means the elements of all dimensions."""
    if len(called.values) != 1:
        return None
    return default_to_text(flattened_array(called.values[0]))


@_plans("array_position")
def _array_position(called: Called) -> TypedExpr | None:
    return call("array_position from", called.values) if len(called.values) == 3 else None


@_plans("string_to_array")
def _string_to_array(called: Called) -> TypedExpr | None:
    if len(called.values) != 3:
        return None
    *parts, null = called.values
    return call("string_to_array with null", [call(called.name, parts), null])


@_plans("array_to_string")
def _array_to_string(called: Called) -> TypedExpr | None:
    if len(called.values) != 3:
        return None
    elements, separator, null = called.values
    return call(called.name, [call("elements or", [elements, null]), separator])


@_plans("array_fill")
def _array_fill(called: Called) -> TypedExpr | None:
    return filled(*called.values) if len(called.values) in (2, 3) else None


@_plans(*LIST_FUNCTIONS)
def _of_lists(called: Called) -> TypedExpr:
    return list_call(called.name, called.values)


# --- texts and bytes ---


@_plans(*OF_BYTES)
def _of_bytes(called: Called) -> TypedExpr | None:
    values = called.values
    if called.name == "substring" and len(values) == 2 and values[1].type in (None, TEXT):
        return call("subscript", [call("regexp_match", values), Literal(1, INTEGER)])
    is_of_bytes = any(value.type == BYTEA for value in values)
    return call(OF_BYTES[called.name], values) if is_of_bytes else None


@_plans("lower", "upper")
def _bound(called: Called) -> TypedExpr | None:
    is_of_range = any(value.type and value.type.is_range for value in called.values[:1])
    return call(f"range {called.name}", called.values) if is_of_range else None


@_plans("concat")
def _concat(called: Called) -> TypedExpr | None:
    """It passes NULLs over; the registry's function of that name is the operator."""
    texts = list(map(printed, called.values))
    return call("concat_ws", [Literal("", TEXT), *texts]) if texts else None


@_plans("concat_ws")
def _concat_ws(called: Called) -> TypedExpr:
    return call(called.name, list(map(printed, called.values)))


@_plans("format")
def _format(called: Called) -> TypedExpr | None:
    if not called.values:
        return None
    text = default_to_text(called.values[0])
    if not isinstance(text, Literal) or text.type != TEXT or text.value is None:
        raise UnsupportedSql("format of what is no constant text is not supported")
    texts = [cast_to(printed(value), TEXT, called.context) for value in called.values[1:]]
    body = expression(formatted(text.value, len(texts)))
    whole = [*texts, *(call(IDENTIFIER, [text]) for text in texts)]
    return with_body([TEXT] * len(whole), body, whole, called.context)


@_plans("parse_ident")
def _parse_ident(called: Called) -> TypedExpr | None:
    if len(called.values) not in (1, 2):
        return None
    value, is_strict = [*called.values, Literal(True, BOOLEAN)][:2]
    text, strict = default_to_text(value), expect(is_strict, BOOLEAN, "argument of parse_ident")
    if not isinstance(text, Literal) or not isinstance(strict, Literal):
        raise UnsupportedSql("parse_ident of what is no constant is not supported")
    if text.value is None or strict.value is None:
        return Literal(None, array(TEXT))
    return Literal(name_parts(str(text.value), is_strict=strict.value), array(TEXT))


# --- moments ---


@_plans("current_timestamp", "localtimestamp")
def _with_precision(called: Called) -> TypedExpr | None:
    if len(called.values) != 1:
        return None
    is_local = called.name == "localtimestamp"
    kind = exp.DType.TIMESTAMP if is_local else exp.DType.TIMESTAMPTZ
    if not called.nodes[0].name.isdigit() or called.nodes[0].args.get("is_string"):
        raise SqlSyntaxError(f"the precision of {called.name} is a whole number")
    precision = moment_limit(exp.DataType(this=kind, expressions=[called.nodes[0]]))
    if precision is None:
        return None
    return limited(about_session(called.name, [], called.context), precision)


@_plans("date_trunc")
def _date_trunc(called: Called) -> TypedExpr | None:
    return truncated_in_zone(*called.values) if len(called.values) == 3 else None


# --- types, objects and sequences ---


@_plans("pg_typeof")
def _pg_typeof(called: Called) -> TypedExpr | None:
    if len(called.values) != 1:
        return None
    [node], [value] = called.nodes, called.values
    if value.type is not None and value.type.is_list_or_map and value.type.domain is None:
        return Literal(str(value.type.unconstrained), TEXT)
    if value.type is None:
        return Literal("unknown", TEXT)
    is_aggregate = has(value, AggregateCall)
    column_type = None if is_aggregate else _varchar_name(value.type)
    written = _written_type(node) or column_type or full_name(value.type)
    type = called.context.subqueries.object_id(Literal(written, TEXT), REGTYPE)
    if not is_aggregate:
        return type
    return Case(((is_null(value), type),), type, REGTYPE)  # it is still an aggregate


def _written_type(node: exp.Expr) -> str | None:
    """The type that a cast to a type of text names."""
    cast_to = node.unnest().args.get("to") if isinstance(node.unnest(), exp.Cast) else None
    limit = None if cast_to is None else text_limit(cast_to)
    return None if limit is None else limit.type_name


def _varchar_name(type: ScalarType) -> str | None:
    """The name of ``varchar`` or of its arrays, if that is the type."""
    if not type.base.is_varchar or type.domain is not None:
        return None
    return "varchar[]" if type.dimensions else "varchar"


@_plans(*ENUM_FUNCTIONS)
def _of_enum(called: Called) -> TypedExpr:
    return enum_call(called.name, called.values)


_OBJECT_IDS = {
    f"to_{type.name.value}": type for type in (REGCLASS, REGNAMESPACE, REGPROC, REGROLE, REGTYPE)
}


@_plans(*_OBJECT_IDS)
def _object_id(called: Called) -> TypedExpr:
    if len(called.values) != 1:
        raise UnsupportedSql("the name of an object is one text")
    [name], type = called.values, _OBJECT_IDS[called.name]
    if name.type == TEXT and not isinstance(name, Literal | Parameter):
        return Cast(named_id(type.name.value, name, called.context, must_exist=False), type)
    with suppress(UnknownObject, UnknownRelation):
        return called.context.subqueries.object_id(
            Untyped(name.value) if isinstance(name, Literal) else name, type
        )
    return Literal(None, type)


@_plans(*SEQUENCE_FUNCTIONS)
def _of_sequence(called: Called) -> TypedExpr:
    raise UnsupportedSql(
        f"{called.name} is not supported here",
        hint="it may be a column of the select list of a statement of its own, and nextval "
        "also a value or a default of INSERT",
    )


@_plans("mz_cluster_id")
def _mz_cluster_id(called: Called) -> TypedExpr:
    raise UnknownFunction(
        called.name, [], hint="it is mz_legacy_installation_id() now: clusters maintain indexes"
    )
