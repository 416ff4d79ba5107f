"""Builtin views: planned at their first use, once, and taken on by each session that reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reclock.plan.relational import Filter, FlatMap, Join, Map, Plan, Reduce, inputs, with_inputs
from reclock.plan.scalar_trees import rewrite, walk
from reclock.plan.scalars import Aggregate, Call, Scalar
from reclock.sql.queries.session_functions import is_about_session


def in_session(plan: Plan, answer: Callable[[Call], Scalar]) -> Plan:
    """``plan`` with the session's answers to questions about the session."""

    def ask(part: Scalar) -> Scalar | None:
        return answer(part) if isinstance(part, Call) and is_about_session(part.function) else None

    def scalars(parts: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        return tuple(rewrite(part, ask) for part in parts)

    below = [in_session(input, answer) for input in inputs(plan)]
    if any(new is not old for new, old in zip(below, inputs(plan), strict=True)):
        plan = with_inputs(plan, below)
    if not any(
        isinstance(part, Call) and is_about_session(part.function)
        for scalar in _scalars(plan)
        for part in walk(scalar)
    ):
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


def _scalars(plan: Plan) -> tuple[Scalar, ...]:
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
