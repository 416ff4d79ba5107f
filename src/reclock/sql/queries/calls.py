"""Calls of functions: those of the registry, aggregates, and functions about the session, the
catalog or the rows; and casts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import (
    BOOLEAN,
    BYTEA,
    INTEGER,
    OID,
    REGCLASS,
    REGNAMESPACE,
    REGPROC,
    REGROLE,
    REGTYPE,
    TEXT,
    VARCHAR,
    ScalarType,
    TypeName,
    array,
)
from reclock.errors import (
    AggregateNotAllowed,
    NotComposite,
    SqlSyntaxError,
    UnknownFunction,
    UnknownObject,
    UnknownRelation,
    UnsupportedSql,
    WithinGroupRequired,
)
from reclock.plan.functions import AGGREGATES
from reclock.plan.functions.blanks import WITH_BLANKS
from reclock.plan.functions.byte_strings import OF_BYTES
from reclock.plan.functions.logic import IDENTIFIER
from reclock.plan.scalars import Call, Case, Cast, Literal, Parameter
from reclock.sql.named_types import defined_domain
from reclock.sql.names import fold
from reclock.sql.queries.aggregate_calls import (
    DOCUMENT_AGGREGATES,
    ORDERED_SETS,
    aggregate_call,
    document_aggregate,
)
from reclock.sql.queries.array_fill import filled
from reclock.sql.queries.call_forms import name_parts, positional
from reclock.sql.queries.catalog_functions import (
    CATALOG_FUNCTIONS,
    definition,
    expression,
    with_arguments,
)
from reclock.sql.queries.coercion import (
    cast,
    coerce,
    default_to_text,
    expect,
    limited,
    with_type_name,
)
from reclock.sql.queries.domains import in_domain
from reclock.sql.queries.enum_functions import ENUM_FUNCTIONS, enum_call
from reclock.sql.queries.expressions import (
    SESSION_WORDS,
    ExprContext,
    dotted_parts,
    function_name,
    reject_rows,
    reject_unsupported,
    row_values,
    scalar,
    typed,
    written_name,
)
from reclock.sql.queries.format_function import formatted
from reclock.sql.queries.named_zones import truncated_in_zone, zone_of_parts
from reclock.sql.queries.outer_aggregates import check_level
from reclock.sql.queries.overloads import (
    call,
    is_null,
    negated,
    unknown_function,
)
from reclock.sql.queries.planned import (
    AggregateCall,
    Elements,
    GroupingCall,
    OpenParameter,
    Planned,
    TypedExpr,
    Untyped,
    has,
)
from reclock.sql.queries.privilege_functions import PRIVILEGE_FUNCTIONS
from reclock.sql.queries.record_values import document, field, is_record, record_of
from reclock.sql.queries.row_functions import COLUMNS, PAIRS, ROW_FUNCTIONS
from reclock.sql.queries.scope import Scope, ScopeColumn
from reclock.sql.queries.session_functions import SEQUENCE_FUNCTIONS, is_about_session, signature
from reclock.sql.queries.sql_functions import overload
from reclock.sql.queries.type_names import full_name, moment_limit, scalar_type, text_limit
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.expressions import CALLED_TYPES


@scalar.register
def _cast(node: exp.Cast, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "to")
    domain = defined_domain(node.args["to"])
    if domain is not None:
        consume(node.args["to"])
        value = typed(exp.Cast(this=node.this, to=domain.value_type.copy()), context)
        return in_domain(value, domain)
    limit = text_limit(node.args["to"])
    if limit is not None:
        text = _cast_to(scalar(node.this, context), TEXT, context)
        if limit.is_name or limit.is_letter:
            return limited(text, limit)
        shortened = call("left", [text, Literal(limit.characters, INTEGER)])
        return with_type_name(shortened, VARCHAR)
    if (precision := moment_limit(node.args["to"])) is not None:
        return limited(_cast_to(scalar(node.this, context), precision.type, context), precision)
    target = scalar_type(node.args["to"])
    if isinstance(node.this, exp.Array) and target.name is TypeName.ARRAY:
        return _array_of(node.this, node.args["to"], target, context)
    return _cast_to(scalar(node.this, context), target, context)


def _array_of(
    node: exp.Array, kind: exp.Expr, target: ScalarType, context: ExprContext
) -> TypedExpr:
    """``ARRAY[…]::kind``: its items are cast, which may be arrays too."""
    if _is_empty(node):
        return coerce(Untyped("{}"), array(target.base))
    items = node.expressions
    if not any(isinstance(item, exp.Array) for item in items):
        values = [scalar(item, context) for item in items]
        if any(value.type is not None and value.type.dimensions for value in values):
            return call("array", [_cast_to(value, target, context) for value in values])
        while kind.this == exp.DType.ARRAY:
            [kind] = kind.expressions
    casts = [scalar(exp.Cast(this=item, to=kind), context) for item in items]
    return call("array", casts)


def _is_empty(node: exp.Expr) -> bool:
    """Whether an array that is written out has no elements, and no arrays with some."""
    return isinstance(node, exp.Array) and all(map(_is_empty, node.expressions))


def _cast_to(value: Planned, target: ScalarType, context: ExprContext) -> TypedExpr:
    if isinstance(value, Untyped) and target.is_moment and value.text is not None:
        body = _WORDS_OF_TIME.get(value.text.strip().lower())
        if body is not None:
            return cast(typed(expression(body), context), target)
    if target.is_object_id and target != OID and (value.type is None or value.type == TEXT):
        is_constant = value.type is None or isinstance(value, Literal | Parameter)
        return (
            context.subqueries.object_id(value, target)
            if is_constant
            else _argument(value, target, context)
        )
    if target == TEXT and value.type is not None and value.type.is_object_id and value.type != OID:
        return catalog_call(f"{value.type.name}_name", [value], context)
    return cast(value, target)


_WORDS_OF_TIME = {
    "now": "now()",
    "today": "current_date",
    "tomorrow": "current_date + 1",
    "yesterday": "current_date - 1",
}
"""Constants of dates and timestamps that mean something else each day."""


@scalar.register
def _function(node: exp.Anonymous, context: ExprContext) -> TypedExpr:
    name = function_name(node)
    if (value := _defined([written_name(node)], node, context)) is not None:
        return value
    arguments = positional(name, node.expressions)
    if name == "array" and len(arguments) == 1 and isinstance(arguments[0], exp.Query | exp.Values):
        return context.subqueries.array(arguments[0], context.scope)
    if name in ORDERED_SETS:
        raise WithinGroupRequired(name)
    if name in DOCUMENT_AGGREGATES:
        return document_aggregate(node, name, arguments, None, context)
    if name in AGGREGATES:
        return aggregate_call(node, name, arguments, None, context)
    if name == "grouping" and arguments:
        return _grouping(node, context)
    for argument in arguments:
        if isinstance(argument, exp.Distinct | exp.Order | exp.Star):
            raise SqlSyntaxError(
                f"{to_sql(argument)[:80]} is not allowed: {name} is not an aggregate function"
            )
    if name == "row":
        return record_of(list(map(default_to_text, row_values(arguments, context))))
    values = [scalar(argument, context) for argument in arguments]
    if name in ("to_jsonb", "jsonb_build_array"):
        values = list(map(document, values))
    if name == "jsonb_build_object":
        values[1::2] = map(document, values[1::2])
    if name in CALLED_TYPES and len(values) == 1:
        target = exp.DataType.build(name, dialect="postgres")
        return _cast_to(values[0], scalar_type(target), context)
    if name == "array_position" and len(values) == 3:
        return call("array_position from", values)
    if name == "string_to_array" and len(values) == 3:
        return call("string_to_array with null", [call(name, values[:2]), values[2]])
    if name == "array_to_string" and len(values) == 3:
        return call(name, [call("elements or", [values[0], values[2]]), values[1]])
    if name == "substring" and len(values) == 2 and values[1].type in (None, TEXT):
        return call("subscript", [call("regexp_match", values), Literal(1, INTEGER)])
    if name in ("quote_literal", "quote_nullable") and len(values) == 1:
        values = [cast(values[0], TEXT)]
    if name in ("lower", "upper") and values and values[0].type and values[0].type.is_range:
        return call(f"range {name}", values)
    if name in OF_BYTES and any(value.type == BYTEA for value in values):
        return call(OF_BYTES[name], values)
    if name == "array_fill" and len(values) in (2, 3):
        return filled(*values)
    if name == "coalesce":
        reject_rows(values, "COALESCE")
    if name == "mz_cluster_id":
        raise UnknownFunction(
            name, [], hint="it is mz_legacy_installation_id() now: clusters maintain indexes"
        )
    # as a function it passes NULLs over; the registry's "concat" is the operator
    if name == "concat" and values:
        return call("concat_ws", [Literal("", TEXT), *map(_printed, values)])
    if name == "concat_ws":
        return call(name, [*map(_printed, values)])
    if name in SEQUENCE_FUNCTIONS:
        raise UnsupportedSql(
            f"{name} is not supported here",
            hint="it may be a column of the select list of a statement of its own, and nextval "
            "also a value or a default of INSERT",
        )
    if name in ("current_timestamp", "localtimestamp") and len(values) == 1:
        precision = moment_limit(_precise_type(name, node.expressions[0]))
        if precision is not None:
            return limited(_about_session(name, [], context), precision)
    if is_about_session(name):
        return _about_session(name, values, context)
    if name in CATALOG_FUNCTIONS:
        return catalog_call(name, values, context)
    if name in PRIVILEGE_FUNCTIONS:
        return _privilege_call(name, values, context)
    if name == "make_timestamptz" and len(values) == 7:
        values = [*values[:6], zone_of_parts(values[6])]
    if (defined := overload(name, tuple(value.type for value in values))) is not None:
        types = defined.types
        given = [coerce(value, type) for value, type in zip(values, types, strict=True)]
        return _over(types, expression(defined.body), given, context)
    if name in ENUM_FUNCTIONS:
        return enum_call(name, values)
    if name == "format" and values:
        return _formatted(values, context)
    if name in ROW_FUNCTIONS:
        return _elements(name, values, context)
    if name == "date_trunc" and len(values) == 3:
        return truncated_in_zone(*values)
    if name in _OBJECT_IDS:
        with suppress(UnknownObject, UnknownRelation):
            return context.subqueries.object_id(_only_text(values), _OBJECT_IDS[name])
        return Literal(None, OID)
    if name == "parse_ident" and len(values) in (1, 2):
        return _parts_of_name(values[0], values[1] if len(values) == 2 else Literal(True, BOOLEAN))
    if name == "pg_typeof" and len(values) == 1:
        if values[0].type is None:
            raise UnsupportedSql(
                "pg_typeof of a constant without a type is not supported", hint="cast it to a type"
            )
        written = _written_type(arguments[0]) or full_name(values[0].type)
        type = context.subqueries.object_id(Literal(written, TEXT), REGTYPE)
        if not has(values[0], AggregateCall):
            return type
        return Case(((is_null(values[0]), type),), type, REGTYPE)  # it is still an aggregate
    if name in _OPERATOR_NAMES or not name.isidentifier():
        raise UnknownFunction(
            name, ["unknown" if value.type is None else str(value.type) for value in values]
        )
    return call(name, values)


def _written_type(node: exp.Expr) -> str | None:
    """The type that a cast to a type of text names."""
    cast_to = node.unnest().args.get("to") if isinstance(node.unnest(), exp.Cast) else None
    limit = None if cast_to is None else text_limit(cast_to)
    return None if limit is None else limit.type_name


def _defined(names: Sequence[str], node: exp.Anonymous, context: ExprContext) -> TypedExpr | None:
    """The value of a call of a function that a user defined; None if there is none of that
    name."""
    value = context.subqueries.defined(names, node, context)
    if isinstance(value, Elements):
        _check_answers_rows(names[-1], context)
    return value


_OBJECT_IDS = {
    f"to_{type.name.value}": type for type in (REGCLASS, REGNAMESPACE, REGPROC, REGROLE, REGTYPE)
}


def _parts_of_name(value: Planned, is_strict: Planned) -> TypedExpr:
    text, strict = default_to_text(value), expect(is_strict, BOOLEAN, "argument of parse_ident")
    if not isinstance(text, Literal) or not isinstance(strict, Literal):
        raise UnsupportedSql("parse_ident of what is no constant is not supported")
    if text.value is None or strict.value is None:
        return Literal(None, array(TEXT))
    return Literal(name_parts(str(text.value), is_strict=strict.value), array(TEXT))


def _precise_type(name: str, digits: exp.Expr) -> exp.DataType:
    kind = exp.DType.TIMESTAMP if name.startswith("local") else exp.DType.TIMESTAMPTZ
    return exp.DataType(this=kind, expressions=[digits])


def _grouping(node: exp.Anonymous, context: ExprContext) -> TypedExpr:
    within = replace(context, takes_aggregates=False)
    called = GroupingCall(tuple(typed(argument, within) for argument in node.expressions))
    check_level(node, called, context.scope)
    if not context.takes_aggregates:
        raise AggregateNotAllowed(f"grouping operations are not allowed in {context.clause}")
    return called


_OPERATOR_NAMES = frozenset(
    {
        *(
            "and",
            "or",
            "not",
            "is_null",
            "is_not_distinct",
            "is_true",
            "is_false",
            "negate",
            "like",
            "ilike",
        ),
        *("array", "elements", "series", "slice", "subscript", "within_length", "name"),
    }
)
"""Names of operators in the registry, which SQL cannot call as functions."""


@scalar.register
def _qualified_function(node: exp.Dot, context: ExprContext) -> Planned:
    """A function with its schema, or a field of a record."""
    if isinstance(node.expression, exp.Anonymous):
        schema = "information_schema" if function_name(node.expression) == PAIRS else "pg_catalog"
        if fold(node.this) == schema:
            return scalar(node.expression, context)
        names = [*map(fold, dotted_parts(node.this)), written_name(node.expression)]
        if (value := _defined(names, node.expression, context)) is not None:
            return value
        values = [scalar(argument, context) for argument in node.expression.expressions]
        raise unknown_function(names, values)
    if isinstance(node.expression, exp.Identifier):
        value = typed(node.this, context)
        if not is_record(value):
            raise NotComposite(str(value.type))
        return field(value, fold(node.expression))
    raise UnsupportedSql(f"expression {to_sql(node)[:80]} is not supported")


def _session_word(node: exp.Expr, context: ExprContext) -> TypedExpr:
    return _about_session(SESSION_WORDS[type(node)], [], context)


for _word in SESSION_WORDS:
    scalar.register(_word)(_session_word)


def _about_session(name: str, values: Sequence[Planned], context: ExprContext) -> TypedExpr:
    types, result = signature(name, values)
    arguments = tuple(coerce(value, type) for value, type in zip(values, types, strict=True))
    return context.subqueries.about_session(Call(name, arguments, result))


def catalog_call(name: str, values: Sequence[Planned], context: ExprContext) -> TypedExpr:
    """A call of a function that is defined in SQL over system relations: its definition with these
    arguments."""
    types, body = definition(name, values)
    return _over(
        types,
        body,
        [_argument(value, type, context) for value, type in zip(values, types, strict=False)],
        context,
    )


def _privilege_call(name: str, values: Sequence[Planned], context: ExprContext) -> TypedExpr:
    """A call of ``has_…_privilege``; without a role, it is about the current user."""
    function = PRIVILEGE_FUNCTIONS[name]
    types = function.types
    if len(values) == len(types) - 1:
        user = context.subqueries.object_id(_about_session("current_user", [], context), REGROLE)
        values = [user, *values]
    if len(values) != len(types):
        raise UnknownFunction(
            name, ["unknown" if value.type is None else str(value.type) for value in values]
        )
    if any(map(_is_null_constant, values)):
        return Literal(None, BOOLEAN)
    role, object, *columns_and_privilege = values
    if function.kind == "database":
        object = _database(object, context)
    arguments = [
        _argument(value, type, context)
        for value, type in zip([role, object, *columns_and_privilege], types, strict=True)
    ]
    privileges = arguments[-1].value if isinstance(arguments[-1], Literal) else None
    return _over(types, expression(function.body(privileges)), arguments, context)


def _is_null_constant(value: Planned) -> bool:
    if isinstance(value, Untyped):
        return value.text is None and not isinstance(value, OpenParameter)
    return isinstance(value, Literal) and value.value is None


def _database(value: Planned, context: ExprContext) -> Planned:
    """The id of the database that ``value`` names, or ``value`` if it is an id."""
    if value.type not in (None, TEXT):
        return value
    if isinstance(value, Untyped | Literal | Parameter):
        return context.subqueries.object_id(value, OID)
    return catalog_call("database_named", [value], context)


def _over(
    types: Sequence[ScalarType],
    body: exp.Expr,
    arguments: Sequence[TypedExpr],
    context: ExprContext,
) -> TypedExpr:
    """``body`` over ``argument1``, …; missing arguments are NULL."""
    scope = Scope(tuple(ScopeColumn(None, f"argument{i}", type) for i, type in enumerate(types, 1)))
    whole = [*arguments, *(Literal(None, type) for type in types[len(arguments) :])]
    return with_arguments(
        typed(body, ExprContext(scope, context.subqueries, context.clause)), whole
    )


def _argument(value: Planned, type: ScalarType, context: ExprContext) -> TypedExpr:
    """``value`` for a catalog function: a name of a relation or role becomes its id."""
    is_name = value.type is None or value.type == TEXT
    if (
        f"{type}_named" in CATALOG_FUNCTIONS
        and value.type == TEXT
        and not isinstance(value, Literal | Parameter)
    ):
        name = call("replace", [value, Literal('"', TEXT), Literal("", TEXT)])
        return Cast(catalog_call(f"{type}_named", [name], context), type)
    if (
        type.is_object_id
        and type != OID
        and is_name
        and not (isinstance(value, Untyped) and value.text is None)
    ):
        return context.subqueries.object_id(value, type)
    return coerce(value, type)


def _printed(value: Planned) -> Planned:
    """``value`` as its printed text: a boolean is one letter, and a ``char(n)`` has its blanks."""
    if value.type is not None and value.type.base.name is TypeName.BPCHAR:
        return call(WITH_BLANKS, [value])
    if isinstance(value, Untyped) or value.type != BOOLEAN:
        return value
    return Case(
        ((value, Literal("t", TEXT)), (negated(value), Literal("f", TEXT))),
        Literal(None, TEXT),
        TEXT,
    )


def _formatted(values: Sequence[Planned], context: ExprContext) -> TypedExpr:
    text = default_to_text(values[0])
    if not isinstance(text, Literal) or text.type != TEXT or text.value is None:
        raise UnsupportedSql("format of what is no constant text is not supported")
    texts = [_cast_to(_printed(value), TEXT, context) for value in values[1:]]
    body = expression(formatted(text.value, len(texts)))
    whole = [*texts, *(call(IDENTIFIER, [text]) for text in texts)]
    return _over([TEXT] * len(whole), body, whole, context)


def _elements(name: str, values: Sequence[Planned], context: ExprContext) -> TypedExpr:
    _check_answers_rows(name, context)
    columns = ROW_FUNCTIONS[name](call, values)
    elements: list[TypedExpr] = [Elements(column) for column in columns]
    if len(elements) == 1:
        return elements[0]
    return record_of(elements, COLUMNS.get(name, ()))


def _check_answers_rows(name: str, context: ExprContext) -> None:
    if not context.takes_aggregates or context.clause not in ("SELECT", "ORDER BY"):
        raise UnsupportedSql(f"{name}, which answers rows, is not supported in {context.clause}")


def _only_text(values: Sequence[Planned]) -> Planned:
    if len(values) != 1:
        raise UnsupportedSql("the name of an object is one text")
    return values[0]
