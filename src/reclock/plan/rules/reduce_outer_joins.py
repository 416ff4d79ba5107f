"""Outer joins whose rows without a match a filter takes away."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from reclock.plan.relational import Filter, Join, JoinKind, Plan, Project, with_inputs
from reclock.plan.rules.push_filters import filtered
from reclock.plan.scalars import Call, Cast, ColumnRef, Literal, Scalar
from reclock.plan.traversal import rewritten_around

_NULL_OF_NULL = frozenset(
    ["+", "-", "*", "/", "%", "&", "=", "<>", "<", "<=", ">", ">=", "like", "ilike", "negate"]
)
"""Functions that are NULL if an argument is."""


def reduce_outer_joins(plan: Plan) -> Plan:
    """Make an outer join show no rows without a match that a filter above it rejects: such a row is
    NULL in all columns of one input, and the filter is never true for it.

    A comparison with a scalar subquery asks for a left join of which the comparison needs only the
    matches. Predicates then move below the join.
    """
    return rewritten_around(plan, _with_reduced_input)


def _with_reduced_input(plan: Plan, whole: Set[int]) -> Plan:
    if not isinstance(plan, Filter):
        return plan
    input = _reduced(plan.input, plan.predicates, lambda column: column)
    if input is plan.input or id(plan.input) in whole:
        return plan
    return reduce_outer_joins(filtered(input, plan.predicates, whole))


def _reduced(plan: Plan, predicates: Sequence[Scalar], origin: Callable[[int], int]) -> Plan:
    """``plan`` below a filter of ``predicates``, whose column ``i`` is ``origin(i)`` of the
    plan."""
    if isinstance(plan, Project):
        indexes = plan.indexes
        below = _reduced(plan.input, predicates, lambda column: indexes[origin(column)])
        return with_inputs(plan, [below])
    if not isinstance(plan, Join):
        return plan
    shows_left = plan.kind in (JoinKind.LEFT, JoinKind.FULL)
    shows_right = plan.kind in (JoinKind.RIGHT, JoinKind.FULL)
    if not shows_left and not shows_right:
        return plan
    width = len(plan.left.desc)

    def rejects(*, of_left: bool) -> bool:
        """Whether no row of this input without a match passes the filter."""
        return any(
            _is_never_true(predicate, lambda column: (origin(column) >= width) is of_left)
            for predicate in predicates
        )

    kind = _KINDS[
        shows_left and not rejects(of_left=True), shows_right and not rejects(of_left=False)
    ]
    return plan if kind is plan.kind else replace(plan, kind=kind)


_KINDS = {
    (True, True): JoinKind.FULL,
    (True, False): JoinKind.LEFT,
    (False, True): JoinKind.RIGHT,
    (False, False): JoinKind.INNER,
}
"""By whether left and right rows without a match are shown."""


def _is_never_true(condition: Scalar, is_null_column: Callable[[int], bool]) -> bool:
    """Whether the condition has no row with NULL in these columns for which it is true."""
    match condition:
        case Literal(value):
            return value is not True
        case Call("and", arguments):
            return any(_is_never_true(part, is_null_column) for part in arguments)
        case Call("or", arguments):
            return all(_is_never_true(part, is_null_column) for part in arguments)
        case Call("is_true", (operand,)):
            return _is_never_true(operand, is_null_column)
        case Call("not", (Call("is_null", (operand,)),)):
            return is_null_where(operand, is_null_column)
        case _:
            return is_null_where(condition, is_null_column)


def is_null_where(scalar: Scalar, is_null_column: Callable[[int], bool]) -> bool:
    """Whether the scalar is NULL wherever these columns are, or has no value at all there."""
    match scalar:
        case ColumnRef(index):
            return is_null_column(index)
        case Literal(value):
            return value is None
        case Cast(operand):
            return is_null_where(operand, is_null_column)
        case Call("not", (operand,)):
            return is_null_where(operand, is_null_column)
        case Call(function, arguments) if function in _NULL_OF_NULL:
            return any(is_null_where(part, is_null_column) for part in arguments)
        case _:
            return False
