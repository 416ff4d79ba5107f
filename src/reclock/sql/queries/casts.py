"""Casts, also to ids of the catalog's objects, to types with lengths and to domains."""

from __future__ import annotations

from contextlib import nullcontext

from sqlglot import exp

from reclock.algebra.relations import (
    INTEGER,
    OID,
    TEXT,
    VARCHAR,
    MomentLimit,
    ScalarType,
    TypeName,
    array,
)
from reclock.errors import CannotCast, UnsupportedSql
from reclock.plan.scalars import Literal, Parameter
from reclock.sql.named_types import defined_domain
from reclock.sql.queries.assignment import limited
from reclock.sql.queries.catalog_functions import expression
from reclock.sql.queries.coercion import cast, coerce, with_type_name
from reclock.sql.queries.defined_calls import catalog_argument, catalog_call, with_body
from reclock.sql.queries.domains import in_domain
from reclock.sql.queries.expressions import ExprContext, reject_unsupported, scalar, typed
from reclock.sql.queries.list_calls import written_as
from reclock.sql.queries.overloads import call
from reclock.sql.queries.planned import Planned, TypedExpr, Untyped
from reclock.sql.queries.type_names import element_limit, moment_limit, scalar_type, text_limit
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.places import at, place_of_word


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
        text = cast_to(scalar(node.this, context), TEXT, context)
        if limit.is_name or limit.is_letter:
            return limited(text, limit)
        shortened = call("left", [text, Literal(limit.characters, INTEGER)])
        return with_type_name(shortened, VARCHAR)
    if (precision := moment_limit(node.args["to"])) is not None:
        return limited(cast_to(scalar(node.this, context), precision.type, context), precision)
    target = scalar_type(node.args["to"])
    if (of_elements := element_limit(node.args["to"])) is not None:
        items = cast_to(scalar(node.this, context), target, context)
        if isinstance(of_elements, MomentLimit):
            return limited(items, of_elements)
        return call("left_of_each", [items, Literal(of_elements.characters, INTEGER)])
    if (written := written_as(node.this, node.args["to"], target, context)) is not None:
        return written
    if isinstance(node.this, exp.Array) and target.name is TypeName.ARRAY:
        return _array_of(node.this, node.args["to"], target, context)
    operand = scalar(node.this, context)
    is_constant = isinstance(node.this, exp.Literal)
    with (
        at(node.this) if is_constant else nullcontext(),
        at(node, CannotCast, place=place_of_word),
    ):
        return cast_to(operand, target, context)


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
            return call("array", [cast_to(value, target, context) for value in values])
        while kind.this == exp.DType.ARRAY:
            [kind] = kind.expressions
    casts = [scalar(exp.Cast(this=item, to=kind), context) for item in items]
    return call("array", casts)


def _is_empty(node: exp.Expr) -> bool:
    """Whether an array that is written out has no elements, and no arrays with some."""
    return isinstance(node, exp.Array) and all(map(_is_empty, node.expressions))


def cast_to(value: Planned, target: ScalarType, context: ExprContext) -> TypedExpr:
    """``value`` as ``target``, where a text may be the name of an object of the catalog."""
    if isinstance(value, Untyped) and target.is_moment and value.text is not None:
        body = _WORDS_OF_TIME.get(value.text.strip().lower())
        if body is not None:
            return cast(typed(expression(body), context), target)
    if target.is_object_id and target != OID and (value.type is None or value.type == TEXT):
        is_constant = value.type is None or isinstance(value, Literal | Parameter)
        return (
            context.subqueries.object_id(value, target)
            if is_constant
            else catalog_argument(value, target, context)
        )
    if target == TEXT and value.type is not None and value.type.is_object_id and value.type != OID:
        return catalog_call(f"{value.type.name}_name", [value], context)
    if target == array(TEXT) and value.type is not None and _has_names(value.type):
        return with_body((value.type,), expression(_NAMES_OF_ELEMENTS), [value], context)
    result = cast(value, target)
    is_named = target.domain is None and result.type.domain is not None
    return with_type_name(result, target) if is_named else result


def _has_names(type: ScalarType) -> bool:
    """Whether it is a type of arrays of ids whose texts are the names of catalog objects."""
    element = type.element if type.name is TypeName.ARRAY else None
    return element is not None and element.is_object_id and element != OID


def reject_words_of_time(definition: exp.Expr) -> None:
    """Raises ``UnsupportedSql`` for ``'now'::timestamptz`` and the like. PostgreSQL stores the time
    of the definition for it, which is rarely what was meant."""
    for node in definition.find_all(exp.Cast):
        word = node.this.name.strip().lower() if isinstance(node.this, exp.Literal) else ""
        if word in _WORDS_OF_TIME and node.is_type(*exp.DataType.TEMPORAL_TYPES):
            raise UnsupportedSql(
                f"the constant '{word}' is not supported in a view",
                hint=f"write {_WORDS_OF_TIME[word]}",
            )


_NAMES_OF_ELEMENTS = """CASE WHEN argument1 IS NOT NULL THEN ARRAY(
    SELECT e.id::text FROM unnest(argument1) WITH ORDINALITY AS e (id, place) ORDER BY e.place) END"""

_WORDS_OF_TIME = {
    "now": "now()",
    "today": "current_date",
    "tomorrow": "current_date + 1",
    "yesterday": "current_date - 1",
}
"""Constants whose casts call functions, so that a DEFAULT with one means the time of each INSERT."""
