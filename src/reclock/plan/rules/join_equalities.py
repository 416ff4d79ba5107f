"""Equalities above an inner join become its keys."""

from __future__ import annotations

from reclock.algebra.relations import BOOLEAN
from reclock.plan.build import filter_rows, join
from reclock.plan.relational import Filter, Join, JoinKind, Plan
from reclock.plan.scalars import Call, ColumnRef
from reclock.plan.totality import could_error
from reclock.plan.traversal import rewritten


def join_equalities(plan: Plan) -> Plan:
    """Make the predicates of a filter over an inner join conditions of the join: keys where they
    equate its sides.

    A predicate that could raise an error stays above the join.
    """
    return rewritten(plan, _with_conditions)


def _with_conditions(plan: Plan) -> Plan:
    if not (
        isinstance(plan, Filter)
        and isinstance(plan.input, Join)
        and plan.input.kind is JoinKind.INNER
    ):
        return plan
    below = plan.input
    safe = [predicate for predicate in plan.predicates if not could_error(predicate)]
    if not safe:
        return plan
    width, types = len(below.left.desc), (*below.left.desc.types, *below.right.desc.types)
    keys = [
        Call("=", (ColumnRef(a, types[a]), ColumnRef(width + b, types[width + b])), BOOLEAN)
        for a, b in below.keys
    ]
    joined = join(below.left, below.right, JoinKind.INNER, [*keys, *below.residual, *safe])
    return filter_rows(
        joined, [predicate for predicate in plan.predicates if could_error(predicate)]
    )
