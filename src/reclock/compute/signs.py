"""Which nodes of a plan an engine need not sum up before it aggregates them.

A collection's row is the sum of its updates, so that a query of a collection with many retractions
spends its time on summing up. Counts and exact sums are linear: they follow from the updates as
well, each with its sign. Between a collection and such an aggregate, the rows of *signed* nodes are
updates: of filters, computed columns, and joins that pair a row with at most one other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from reclock.compute.operators.partial_aggregates import partial_aggregates
from reclock.compute.operators.rules import EngineRelation
from reclock.plan.properties import could_fail, unique_key
from reclock.plan.relational import (
    Distinct,
    Filter,
    Get,
    Join,
    JoinKind,
    Map,
    Plan,
    Project,
    RecursiveUnion,
    Reduce,
    Union,
    inputs,
)
from reclock.plan.scalar_trees import is_random

_FILTERS_LEFT = (JoinKind.SEMI, JoinKind.ANTI)


def signed_nodes(
    nodes: Mapping[int, Plan],
    relations: Mapping[str, EngineRelation],
    computed_again: Collection[int] = (),
) -> frozenset[int]:
    """The nodes, by ``id``, that are rendered as signed rows: those from the input of an aggregate
    down to a collection whose updates are all 1 or -1. ``relations`` are by collection id as text;
    ``computed_again`` are the nodes of recursive steps, which are not among them.

    An expression is then evaluated on rows that are deleted, too, and may raise an error for one.
    The statement must then be rendered without signs. So that it has returned no rows by then, no
    other branch of a union may return some before.
    """
    may_fail = not any(isinstance(node, Union | RecursiveUnion) for node in nodes.values())
    readers = Counter(id(child) for node in nodes.values() for child in inputs(node))

    def path(node: Plan) -> list[int] | None:
        """From the node down to the collection; None if there is none."""
        if readers[id(node)] != 1 or id(node) in computed_again or _is_random(node):
            return None
        if not may_fail and could_fail(node):
            return None
        below = path_below(node)
        return None if below is None else [id(node), *below]

    def path_below(node: Plan) -> list[int] | None:
        match node:
            case Get():
                is_signed = relations[str(node.collection)].is_signed and not node.may_be_negative
                return [] if is_signed else None
            case Filter() | Map() | Project():
                return path(node.input)
            case Join():
                for side in (0, 1):
                    if _keeps_signs(node, side) and (below := path(inputs(node)[side])) is not None:
                        return below
        return None

    return frozenset(
        key
        for node in nodes.values()
        if isinstance(node, Reduce | Distinct)
        and id(node) not in computed_again
        and not _is_random(node)
        and (may_fail or not could_fail(node))
        and partial_aggregates(node) is not None
        for key in path(inputs(node)[0]) or ()
    )


def _keeps_signs(join: Join, side: int) -> bool:
    """Whether each row of the input ``side`` gives at most one row, whatever the others are. (With
    more, the updates of a row that changes often would each meet all its partners.)"""
    if join.kind in _FILTERS_LEFT:
        return side == 0
    if join.kind is not JoinKind.INNER and (side, join.kind) != (0, JoinKind.LEFT):
        return False
    other = inputs(join)[1 - side]
    key, compared = unique_key(other, of_now=True), {pair[1 - side] for pair in join.keys}
    return key is not None and set(key) <= compared


def _is_random(node: Plan) -> bool:
    """Whether it computes values that differ between an update and the one that takes it back."""
    match node:
        case Map(scalars=scalars) | Filter(predicates=scalars) | Join(residual=scalars):
            return any(map(is_random, scalars))
        case Reduce(aggregates=aggregates):
            return any(
                is_random(part)
                for aggregate in aggregates
                for part in (*aggregate.arguments, aggregate.filter)
                if part is not None
            )
        case _:
            return False
