"""The function calls in a plan, and replacing them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reclock.plan.relational import Filter, FlatMap, Join, Map, Plan, Reduce
from reclock.plan.scalar_trees import rewrite, walk
from reclock.plan.scalars import Aggregate, Call, Scalar
from reclock.plan.traversal import rewritten


def has_call(scalar: Scalar, is_meant: Callable[[Call], bool]) -> bool:
    """Whether the scalar has such a call."""
    return any(isinstance(part, Call) and is_meant(part) for part in walk(scalar))


def replace_calls(
    plan: Plan, is_meant: Callable[[Call], bool], answer: Callable[[Call], Scalar]
) -> Plan:
    """``plan`` with ``answer`` in the place of each such call. A node that several nodes read stays
    one node, and the plan itself is returned if it has none."""
    return rewritten(plan, lambda node: _with_answers(node, is_meant, answer))


def _with_answers(
    plan: Plan, is_meant: Callable[[Call], bool], answer: Callable[[Call], Scalar]
) -> Plan:
    def ask(part: Scalar) -> Scalar | None:
        return answer(part) if isinstance(part, Call) and is_meant(part) else None

    def scalars(parts: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        return tuple(rewrite(part, ask) for part in parts)

    if not any(has_call(scalar, is_meant) for scalar in node_scalars(plan)):
        return plan
    match plan:
        case Map():
            return replace(plan, scalars=scalars(plan.scalars))
        case Filter():
            return replace(plan, predicates=scalars(plan.predicates))
        case Join():
            return replace(plan, residual=scalars(plan.residual))
        case FlatMap():
            return replace(plan, arrays=scalars(plan.arrays))
        case Reduce():
            return replace(
                plan,
                aggregates=tuple(_aggregate(aggregate, scalars) for aggregate in plan.aggregates),
            )
        case _:
            return plan


def _aggregate(
    aggregate: Aggregate, scalars: Callable[[tuple[Scalar, ...]], tuple[Scalar, ...]]
) -> Aggregate:
    filter = scalars((aggregate.filter,))[0] if aggregate.filter is not None else None
    return replace(aggregate, arguments=scalars(aggregate.arguments), filter=filter)


def node_scalars(plan: Plan) -> tuple[Scalar, ...]:
    """The scalars of the node itself."""
    match plan:
        case Map():
            return plan.scalars
        case Filter():
            return plan.predicates
        case Join():
            return plan.residual
        case FlatMap():
            return plan.arrays
        case Reduce():
            return tuple(
                part
                for aggregate in plan.aggregates
                for part in (*aggregate.arguments, aggregate.filter)
                if part is not None
            )
        case _:
            return ()
