"""Calls of functions: those of the registry, aggregates, and functions about the session, the
catalog or the rows; and casts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import (
    BOOLEAN,
    INTEGER,
    OID,
    REGCLASS,
    REGROLE,
    REGTYPE,
    TEXT,
    ScalarType,
)
from reclock.errors import (
    AggregateNotAllowed,
    InvalidColumnReference,
    SqlSyntaxError,
    TypeMismatch,
    UnknownFunction,
    UnknownObject,
    UnknownRelation,
    UnsupportedSql,
    WithinGroupRequired,
)
from reclock.plan.functions import AGGREGATES, resolve_aggregate
from reclock.plan.functions.collected import direction
from reclock.plan.scalars import Aggregate, Call, Case, Cast, ColumnRef, Literal, Parameter
from reclock.plan.totality import could_error
from reclock.sql.names import fold
from reclock.sql.queries import pairs
from reclock.sql.queries.catalog_functions import (
    CATALOG_FUNCTIONS,
    OF_CURRENT_USER,
    definition,
    expression,
    with_arguments,
)
from reclock.sql.queries.coercion import (
    NAME_LENGTH,
    cast,
    coerce,
    default_to_text,
    is_name_type,
    scalar_type,
    text_limit,
)
from reclock.sql.queries.expressions import (
    SESSION_WORDS,
    ExprContext,
    condition,
    function_name,
    reject_rows,
    reject_unsupported,
    scalar,
    typed,
)
from reclock.sql.queries.format_function import formatted
from reclock.sql.queries.overloads import call, check_unique, is_open, negated
from reclock.sql.queries.planned import (
    AggregateCall,
    Elements,
    GroupingCall,
    OuterRef,
    Planned,
    SubqueryValue,
    TypedExpr,
    Untyped,
    walk,
)
from reclock.sql.queries.row_functions import ROW_FUNCTIONS
from reclock.sql.queries.scope import Scope, ScopeColumn
from reclock.sql.queries.session_functions import SEQUENCE_FUNCTIONS, is_about_session, signature
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.dialect import to_sql


@scalar.register
def _cast(node: exp.Cast, context: ExprContext) -> TypedExpr:
    reject_unsupported(node, "this", "to")
    limit = text_limit(node.args["to"])
    if limit is not None:
        cut = call(
            "left",
            [
                _cast_to(scalar(node.this, context), TEXT, context),
                Literal(limit.characters, INTEGER),
            ],
        )
        return call("rtrim", [cut]) if limit.ignores_blanks else cut
    if is_name_type(node.args["to"]):
        text = _cast_to(scalar(node.this, context), TEXT, context)
        if isinstance(text, Literal):
            return Literal(text.value and text.value[:NAME_LENGTH], TEXT)
        return call("left", [text, Literal(NAME_LENGTH, INTEGER)])
    target = scalar_type(node.args["to"])
    if isinstance(node.this, exp.Array) and not node.this.expressions:
        return coerce(Untyped("{}"), target)
    return _cast_to(scalar(node.this, context), target, context)


def _cast_to(value: Planned, target: ScalarType, context: ExprContext) -> TypedExpr:
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


@scalar.register
def _function(node: exp.Anonymous, context: ExprContext) -> TypedExpr:
    name, arguments = function_name(node), node.expressions
    if name == "array" and len(arguments) == 1 and isinstance(arguments[0], exp.Query):
        return context.subqueries.array(arguments[0], context.scope)
    if name in ORDERED_SETS:
        raise WithinGroupRequired(name)
    if name in DOCUMENT_AGGREGATES:
        return _document_aggregate(name, arguments, None, context)
    if name in AGGREGATES:
        return _aggregate(name, arguments, None, context)
    if name == "grouping" and arguments:
        if not context.takes_aggregates:
            raise AggregateNotAllowed(f"grouping operations are not allowed in {context.clause}")
        return GroupingCall(
            tuple(
                default_to_text(scalar(argument, replace(context, takes_aggregates=False)))
                for argument in arguments
            )
        )
    for argument in arguments:
        if isinstance(argument, exp.Distinct | exp.Order | exp.Star):
            raise SqlSyntaxError(
                f"{to_sql(argument)[:80]} is not allowed: {name} is not an aggregate function"
            )
    values = [scalar(argument, context) for argument in arguments]
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
    if is_about_session(name):
        return _about_session(name, values, context)
    if name in CATALOG_FUNCTIONS:
        return catalog_call(name, values, context)
    if name == "format" and values:
        return _formatted(values, context)
    if name in ROW_FUNCTIONS:
        return _elements(name, values, context)
    if name == pairs.NAME and len(values) == 1:
        _check_answers_rows(name, context)
        return pairs.pairs(call, values)
    if name == "to_regtype" or name == "to_regclass":
        with suppress(UnknownObject, UnknownRelation):
            return context.subqueries.object_id(
                _only_text(values), REGTYPE if name == "to_regtype" else REGCLASS
            )
        return Literal(None, OID)
    if name == "pg_typeof" and len(values) == 1:
        if values[0].type is None:
            raise UnsupportedSql(
                "pg_typeof of a constant without a type is not supported", hint="cast it to a type"
            )
        return context.subqueries.object_id(
            Literal(str(replace(values[0].type, precision=None, scale=None)), TEXT), REGTYPE
        )
    if name in _OPERATOR_NAMES or not name.isidentifier():
        raise UnknownFunction(
            name, ["unknown" if value.type is None else str(value.type) for value in values]
        )
    return call(name, values)


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
        *("array", "elements", "series", "subscript", "within_length"),
    }
)
"""Names of operators in the registry, which SQL cannot call as functions."""


PERCENTILES = ("percentile_cont", "percentile_disc")
ORDERED_SETS = (*PERCENTILES, "mode")
"""Aggregates with WITHIN GROUP, after which their values follow."""
DOCUMENT_AGGREGATES = {"jsonb_agg": 1, "jsonb_object_agg": 2}
"""Aggregates that return a document, and their numbers of arguments."""
SORTED = {"array_agg": 1, "string_agg": 2}
"""Aggregates whose value depends on the order of the rows, and how many arguments they take."""


@scalar.register
def _within_group(node: exp.WithinGroup, context: ExprContext) -> TypedExpr:
    return _aggregate(*_ordered_set(node), None, context)


def _ordered_set(node: exp.WithinGroup) -> tuple[str, list[exp.Expr]]:
    """The name and the arguments, the values first."""
    name = function_name(node.this) if isinstance(node.this, exp.Anonymous) else ""
    if name not in ORDERED_SETS:
        raise UnsupportedSql(
            f"{to_sql(node)[:80]} is not supported", hint=f"there are {', '.join(ORDERED_SETS)}"
        )
    order = node.expression.expressions
    if (
        len(order) != 1
        or len(node.this.expressions) != (name != "mode")
        or order[0].args.get("desc")
    ):
        takes = (
            "one value in ascending order"
            if name == "mode"
            else "one fraction, and one value in ascending order"
        )
        raise UnsupportedSql(f"{name} takes {takes}")
    return name, [order[0].this, *node.this.expressions]


@scalar.register
def _filtered(node: exp.Filter, context: ExprContext) -> TypedExpr:
    function = node.this
    if isinstance(function, exp.WithinGroup):
        return _aggregate(*_ordered_set(function), node.expression.this, context)
    if isinstance(function, exp.Anonymous) and function_name(function) in DOCUMENT_AGGREGATES:
        return _document_aggregate(
            function_name(function), function.expressions, node.expression.this, context
        )
    if isinstance(function, exp.Anonymous) and function_name(function) in ORDERED_SETS:
        raise WithinGroupRequired(function_name(function))
    if not isinstance(function, exp.Anonymous) or function_name(function) not in AGGREGATES:
        raise SqlSyntaxError(
            f"FILTER is not allowed: {to_sql(function)[:80]} is not an aggregate function"
        )
    return _aggregate(function_name(function), function.expressions, node.expression.this, context)


@scalar.register
def _qualified_function(node: exp.Dot, context: ExprContext) -> Planned:
    """A function with its schema, or a part of a pair."""
    if isinstance(node.expression, exp.Anonymous):
        if fold(node.this) == (
            "information_schema" if function_name(node.expression) == pairs.NAME else "pg_catalog"
        ):
            return scalar(node.expression, context)
    elif isinstance(node.this, exp.Paren):
        field_value = pairs.part(call, scalar(node.this, context), fold(node.expression))
        if field_value is not None:
            return field_value
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
    if name in OF_CURRENT_USER and len(values) == 2:
        values = [
            context.subqueries.object_id(_about_session("current_user", [], context), REGROLE),
            *values,
        ]
    types, body = definition(name, values)
    return _over(
        types,
        body,
        [_argument(value, type, context) for value, type in zip(values, types, strict=False)],
        context,
    )


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
    """``value`` as text for a function of printed values: a boolean is one letter."""
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
    return _over([TEXT] * len(texts), expression(formatted(text.value, len(texts))), texts, context)


def _elements(name: str, values: Sequence[Planned], context: ExprContext) -> TypedExpr:
    _check_answers_rows(name, context)
    columns = ROW_FUNCTIONS[name](call, values)
    if len(columns) != 1:
        raise UnsupportedSql(f"{name} is supported in FROM only")
    return Elements(columns[0])


def _check_answers_rows(name: str, context: ExprContext) -> None:
    if not context.takes_aggregates or context.clause not in ("SELECT", "ORDER BY"):
        raise UnsupportedSql(f"{name}, which answers rows, is not supported in {context.clause}")


def _only_text(values: Sequence[Planned]) -> Planned:
    if len(values) != 1:
        raise UnsupportedSql("the name of an object is one text")
    return values[0]


def _aggregate(
    name: str, arguments: list[exp.Expr], filter: exp.Expr | None, context: ExprContext
) -> TypedExpr:
    if not context.takes_aggregates:
        raise AggregateNotAllowed(f"aggregate functions are not allowed in {context.clause}")
    within = replace(context, takes_aggregates=False, clause="an aggregate function")
    if name == "any_value" and len(arguments) == 1 and isinstance(arguments[0], exp.Order):
        return _first_value(arguments[0], filter, within)
    return AggregateCall(aggregate(name, arguments, filter, within))


def _first_value(ordered: exp.Order, filter: exp.Expr | None, within: ExprContext) -> TypedExpr:
    """Of ``any_value(x ORDER BY …)``: the first that is not NULL."""
    value = ordered.this
    if isinstance(value, exp.Distinct):
        raise UnsupportedSql(
            "any_value of DISTINCT values is not supported",
            hint="leave out DISTINCT: it changes nothing",
        )
    is_known = exp.Not(this=exp.Is(this=tracked_copy(value), expression=exp.Null()))
    kept = is_known if filter is None else exp.And(this=filter, expression=is_known)
    return call(
        "subscript",
        [AggregateCall(aggregate("array_agg", [ordered], kept, within)), Literal(1, INTEGER)],
    )


def _document_aggregate(
    name: str, arguments: list[exp.Expr], filter: exp.Expr | None, context: ExprContext
) -> TypedExpr:
    """An array or object of the values of a group: ``array_agg`` of documents, made one
    document."""
    if len(arguments) != DOCUMENT_AGGREGATES[name]:
        raise UnknownFunction(name, [])
    *keys, last = arguments
    value = last.this if isinstance(last, exp.Order) else last
    if isinstance(value, exp.Distinct):
        if keys or len(value.expressions) != 1:
            raise UnsupportedSql(f"{name} of DISTINCT pairs is not supported")
        document: exp.Expr = exp.Distinct(expressions=[_document("to_jsonb", value.expressions)])
    elif keys:
        document = _document(
            "jsonb_build_array", [exp.Cast(this=keys[0], to=exp.DataType.build("text")), value]
        )
    else:
        document = _document("to_jsonb", [value])
    collected = (
        exp.Order(this=document, expressions=last.expressions)
        if isinstance(last, exp.Order)
        else document
    )
    documents = _aggregate("array_agg", [collected], filter, context)
    return call("object of pairs" if keys else "to_jsonb", [documents])


def _document(function: str, arguments: list[exp.Expr]) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=arguments)


def aggregate(
    name: str, arguments: list[exp.Expr], filter: exp.Expr | None, within: ExprContext
) -> Aggregate[TypedExpr]:
    """The aggregate function ``name`` of ``arguments``, which are read as ``within``, over the rows
    that ``filter`` keeps."""
    orderings: list[exp.Ordered] = []
    if arguments and isinstance(arguments[-1], exp.Order):
        orderings, arguments = arguments[-1].expressions, [*arguments[:-1], arguments[-1].this]
    is_distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if is_distinct:
        arguments = arguments[0].expressions
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        if name != "count" or is_distinct:
            raise UnknownFunction(name, ["*"])
        arguments = []
    elif not arguments and name == "count":
        raise SqlSyntaxError("count(*) must be used to call a parameterless aggregate function")
    values = [scalar(argument, within) for argument in arguments]
    check_unique(name, values)
    if len(values) != SORTED.get(name, len(values)):
        raise UnknownFunction(
            name, ["unknown" if value.type is None else str(value.type) for value in values]
        )
    if name == "any_value" and len(values) == 1 and is_open(values[0]):
        raise TypeMismatch("could not determine polymorphic type because input has type unknown")
    keys = [typed(ordering.this, within) for ordering in orderings]
    if is_distinct and any(key not in [default_to_text(value) for value in values] for key in keys):
        raise InvalidColumnReference(
            "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list"
        )
    directions = [_direction(ordering) for ordering in orderings]
    if name in SORTED:  # every other aggregate has the same value in any order
        for key, word in zip(keys, directions, strict=True):
            values += [key, Literal(word, TEXT)]
    resolved = resolve_aggregate(name, [value.type for value in values])
    cast_values: tuple[TypedExpr, ...] = tuple(
        coerce(value, type) for value, type in zip(values, resolved.argument_types, strict=True)
    )
    kept = condition(filter, replace(within, clause="FILTER")) if filter is not None else None
    if kept is not None:
        cast_values = tuple(_only_where(kept, value) for value in cast_values)
    _check_level(name, [*cast_values, *keys, *([kept] if kept is not None else [])], within.scope)
    return Aggregate(resolved.function, cast_values, resolved.result, is_distinct, kept)


def _only_where(kept: TypedExpr, value: TypedExpr) -> TypedExpr:
    """``value``, which engines compute of every row, but not where FILTER leaves the row out and it
    could raise an error."""
    return (
        Case(((kept, value),), Literal(None, value.type), value.type)
        if could_error(value)
        else value
    )


def _check_level(name: str, parts: Sequence[TypedExpr], scope: Scope) -> None:
    """An aggregate is of the query that its columns come from, in SQL; one of the query around
    would need its groups."""
    columns = list(_columns_of(parts))
    if columns and all(
        isinstance(column, OuterRef) or scope.columns[column.index].is_around for column in columns
    ):
        raise UnsupportedSql(
            f"{name} of columns of the query around is not supported",
            hint="compute it in the query that has the columns",
        )


def _columns_of(parts: Sequence[TypedExpr]) -> Iterator[ColumnRef | OuterRef]:
    """The columns in ``parts``, and those that subqueries in them name of the query that these
    stand in."""
    for part in (part for value in parts for part in walk(value)):
        if isinstance(part, SubqueryValue):
            inner = (
                each
                for value in (part.result, *part.conditions, *part.domain)
                for each in walk(value)
            )
            yield from (
                ColumnRef(each.index, each.type) for each in inner if isinstance(each, OuterRef)
            )
        elif isinstance(part, ColumnRef | OuterRef):
            yield part


def _direction(ordering: exp.Ordered) -> str:
    reject_unsupported(ordering, "this", "desc", "nulls_first")
    return direction(
        is_descending=bool(ordering.args.get("desc")),
        nulls_first=bool(ordering.args.get("nulls_first")),
    )
