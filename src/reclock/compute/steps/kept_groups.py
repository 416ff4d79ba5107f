"""Of which nodes of a plan an engine keeps partial aggregates, from the plan alone."""

from __future__ import annotations

from reclock.compute.narrowing import narrowed
from reclock.compute.operators.join import matched_rows, sides_to_count
from reclock.compute.operators.partial_aggregates import partial_aggregates
from reclock.compute.steps.kept_rows import over_kept_rows
from reclock.plan.relational import Join, Plan
from reclock.plan.temporal import reads_now
from reclock.plan.traversal import nodes_of


def shares_groups(plan: Plan, other: Plan) -> bool:
    """Whether a step of one of the plans may find partial aggregates that a step of the other one
    has brought up to its time."""
    nodes = [node for node in _kept_nodes(plan) if not reads_now(node)]
    others = _kept_nodes(other) if nodes else []
    return any(node in others for node in nodes)


def _kept_nodes(plan: Plan) -> list[Plan]:
    nodes = nodes_of(narrowed(over_kept_rows(plan)))
    nodes_with_partials = [node for node in nodes if partial_aggregates(node) is not None]
    for node in nodes:
        if isinstance(node, Join):
            nodes_with_partials += [matched_rows(node, side) for side in sides_to_count(node)]
    return nodes_with_partials
