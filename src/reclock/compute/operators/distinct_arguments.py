"""Aggregates over the different values of their arguments, where equal values change nothing.

A least or largest value and what counts only different values do not follow from changes alone: if
a row goes, the others decide. But ``DISTINCT`` can be maintained from changes, and has each value
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reclock.algebra.relations import ScalarType, TypeName
from reclock.plan.build import compute, project
from reclock.plan.relational import (
    Arrangement,
    Distinct,
    Join,
    JoinKind,
    Plan,
    Reduce,
)
from reclock.plan.scalars import Aggregate, ColumnRef, Literal, Scalar
from reclock.plan.totality import could_error
from reclock.plan.traversal import rewritten

_IGNORES_COPIES = ("min", "max", "bool_and", "bool_or")


def over_distinct_arguments(plan: Plan) -> Plan:
    """An equal plan in which such aggregates without ``GROUP BY`` read the different values of
    their arguments.

    Other aggregates beside them are computed apart. A node that several nodes read stays one node.
    """
    return rewritten(plan, _split)


def over_arguments(
    node: Reduce, rows_of: Callable[[Plan], Distinct | Arrangement]
) -> Reduce | None:
    """The aggregates of a node without ``GROUP BY`` over ``rows_of`` their arguments; None if that
    could raise an error where a filter leaves a row out."""
    return _over_values(node, rows_of) if all(map(_is_safe, node.aggregates)) else None


def ignores_copies(aggregate: Aggregate) -> bool:
    """Whether further rows with values that it has seen change nothing."""
    return bool(aggregate.arguments) and (
        aggregate.is_distinct or aggregate.function in _IGNORES_COPIES
    )


def _split(node: Plan) -> Plan:
    """The node with those of its aggregates apart that can be computed from different values."""
    if not isinstance(node, Reduce) or node.group_by or isinstance(node.input, Distinct):
        return node
    places = [place for place, aggregate in enumerate(node.aggregates) if _is_movable(aggregate)]
    remaining_places = [place for place in range(len(node.aggregates)) if place not in places]
    if not places:
        return node
    over_values = _over_values(_only(node, places), Distinct)
    if not remaining_places:
        return over_values
    remaining = _only(node, remaining_places)
    columns = tuple(node.desc.columns[place] for place in (*places, *remaining_places))
    # one row each
    joined = Join(
        over_values,
        remaining,
        JoinKind.INNER,
        (),
        (),
        replace(node.desc, columns=columns, key=None),
    )
    order = [(*places, *remaining_places).index(place) for place in range(len(node.aggregates))]
    return project(joined, order)


def _only(node: Reduce, places: list[int]) -> Reduce:
    desc = replace(node.desc, columns=tuple(node.desc.columns[place] for place in places), key=None)
    return replace(node, aggregates=tuple(node.aggregates[place] for place in places), desc=desc)


def _over_values(node: Reduce, rows_of: Callable[[Plan], Distinct | Arrangement]) -> Reduce:
    scalars = [
        scalar
        for aggregate in node.aggregates
        for scalar in (*aggregate.arguments, aggregate.filter)
        if scalar is not None
    ]
    # Functions such as string_agg require constants where they are given some.
    varying = [scalar for scalar in scalars if not isinstance(scalar, Literal)]
    arguments = list(dict.fromkeys(varying or scalars))
    names = [f"argument{place}" for place in range(len(arguments))]

    def column(scalar: Scalar) -> Scalar:
        if isinstance(scalar, Literal):
            return scalar
        return ColumnRef(arguments.index(scalar), scalar.type)

    aggregates = tuple(
        replace(
            aggregate,
            arguments=tuple(map(column, aggregate.arguments)),
            filter=None if aggregate.filter is None else column(aggregate.filter),
        )
        for aggregate in node.aggregates
    )
    return replace(
        node, input=rows_of(compute(node.input, arguments, names)), aggregates=aggregates
    )


def _is_movable(aggregate: Aggregate) -> bool:
    return (
        ignores_copies(aggregate)
        and _is_safe(aggregate)
        and all(_is_plain(argument.type) for argument in aggregate.arguments)
    )


def _is_safe(aggregate: Aggregate) -> bool:
    """Arguments are then computed for all rows, which must not raise an error where a filter leaves
    the row out."""
    return aggregate.filter is None or not any(map(could_error, aggregate.arguments))


def _is_plain(type: ScalarType) -> bool:
    """Whether equal values cannot be told apart. Equal intervals can: 24 hours are one day."""
    return not type.is_nested and type.name not in (TypeName.INTERVAL, TypeName.JSONB)
