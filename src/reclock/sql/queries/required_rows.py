"""Which rows of a subquery the query around asks for.

A subquery that is joined is computed for all of its rows. PostgreSQL computes it only for the rows
around that ask for it, so an expression that could raise an error must meet no others.
"""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import BOOLEAN
from reclock.plan.build import compute, join, join_key
from reclock.plan.properties import could_fail
from reclock.plan.relational import (
    Distinct,
    Filter,
    Join,
    JoinKind,
    Map,
    Plan,
    Project,
    Reduce,
    TopK,
    Union,
    with_inputs,
)
from reclock.plan.scalars import Call, Case, ColumnRef, Literal, Scalar
from reclock.plan.traversal import nodes_of
from reclock.sql.queries.coercion import equal
from reclock.sql.queries.overloads import is_null, negated
from reclock.sql.queries.planned import TypedExpr, is_scalar, scalars_of

_TRUE, _FALSE = Literal(True, BOOLEAN), Literal(False, BOOLEAN)


def could_fail_anywhere(plan: Plan) -> bool:
    """Whether any expression of the plan could raise an error."""
    return any(map(could_fail, nodes_of(plan)))


def required_rows(plan: Plan, conditions: Sequence[Scalar], rows: Plan, width: int) -> Plan:
    """``plan``, of a subquery, such that what could raise an error in it is evaluated only for rows
    that are equal, as ``conditions`` say, to one of ``rows`` of the query around.

    ``conditions`` are those of the join of the two: the columns of the subquery begin at ``width``.
    Only equalities with columns of the subquery count. A row that is equal to none may be missing.
    """
    equalities = [join_key(condition, width) for condition in conditions]
    pairs = [
        (outer, inner.index)
        for outer, inner in filter(None, equalities)
        if isinstance(inner, ColumnRef)
    ]
    if not pairs or not could_fail_anywhere(plan):
        return plan
    keys = compute(rows, [outer for outer, _ in pairs])
    return _restricted(plan, [index for _, index in pairs], keys)


def _restricted(plan: Plan, columns: Sequence[int], keys: Plan) -> Plan:
    """The rows of ``plan`` whose ``columns`` are a row of ``keys``: by a semi-join below
    everything that could fail, if the columns come from there."""
    if could_fail_anywhere(plan):
        match plan:
            case Filter(input=input) | Distinct(input=input):
                return with_inputs(plan, [_restricted(input, columns, keys)])
            case Map(input=input) if max(columns) < len(input.desc):
                return with_inputs(plan, [_restricted(input, columns, keys)])
            case Project(input=input, indexes=indexes):
                below = [indexes[column] for column in columns]
                return with_inputs(plan, [_restricted(input, below, keys)])
            case Reduce(input=input, group_by=group_by) if max(columns) < len(group_by):
                below = [group_by[column] for column in columns]
                return with_inputs(plan, [_restricted(input, below, keys)])
            case TopK(input=input, group_by=group_by) if set(columns) <= set(group_by):
                return with_inputs(plan, [_restricted(input, columns, keys)])
            case Union(inputs=parts):
                return with_inputs(plan, [_restricted(part, columns, keys) for part in parts])
            case Join(left=left, right=right, kind=kind):
                width = len(left.desc)
                if max(columns) < width and kind not in (JoinKind.RIGHT, JoinKind.FULL):
                    return with_inputs(plan, [_restricted(left, columns, keys), right])
                if min(columns) >= width and kind in (JoinKind.INNER, JoinKind.RIGHT):
                    below = [column - width for column in columns]
                    return with_inputs(plan, [left, _restricted(right, below, keys)])
    width, types = len(plan.desc), plan.desc.types
    pairs = [
        equal(ColumnRef(column, types[column]), ColumnRef(width + place, types[column]))
        for place, column in enumerate(columns)
    ]
    return join(plan, keys, JoinKind.SEMI, pairs)


# --- expressions that pass over a subquery ---


def passes_over(expression: TypedExpr) -> bool:
    """Whether SQL evaluates some children only as those before say."""
    return isinstance(expression, Case) or (
        isinstance(expression, Call) and expression.function in ("and", "or", "coalesce")
    )


def guard_of_next(expression: TypedExpr, before: Sequence[TypedExpr]) -> Scalar | None:
    """The condition under which SQL evaluates the next of the ``children`` of ``expression``, where
    those ``before`` are planned; None if it always does, or if the condition is not known yet."""
    ending: list[TypedExpr] = []
    is_result = False
    match expression:
        case Case():
            is_result = len(before) % 2 == 1
            ending = list(before[::2])
        case Call("and"):
            ending = [Call("is_false", (part,), BOOLEAN) for part in before]
        case Call("or"):
            ending = [Call("is_true", (part,), BOOLEAN) for part in before]
        case Call("coalesce"):
            ending = [negated(is_null(part)) for part in before]
    if not ending or not all(map(is_scalar, ending)):
        return None
    conditions = scalars_of(ending)
    last = [(conditions.pop(), _TRUE)] if is_result else []
    branches = [*((condition, _FALSE) for condition in conditions), *last]
    return Case(tuple(branches), _FALSE if is_result else _TRUE, BOOLEAN)
