"""Operators without groups, over rows that an engine can keep.

One group of all rows changes with every row. Where its new rows do not follow from the changes and
the previous result, they are computed again: from an arrangement of the rows, not from the inputs.
"""

from __future__ import annotations

from reclock.compute.operators import has_delta
from reclock.compute.operators.distinct_arguments import over_arguments, over_distinct_arguments
from reclock.compute.steps.writer import result_projections
from reclock.plan.relational import Arrangement, Plan, Reduce, TopK, Window, inputs, with_inputs
from reclock.plan.traversal import nodes_by_id


def over_kept_rows(plan: Plan, *, is_kept: bool = True) -> Plan:
    """An equal plan in which aggregates without ``GROUP BY`` read the different values of their
    arguments, where copies change nothing, and in which operators without groups that have no rule
    otherwise read an arrangement. ``is_kept`` says that the previous result can be read; otherwise
    nothing else is kept either.
    """
    plan = over_distinct_arguments(plan)
    if not is_kept:
        return plan
    shown = result_projections(plan, plan.desc)
    nodes = nodes_by_id(plan)
    arranged: dict[int, Plan] = {}
    for key, node in nodes.items():
        over_parts = with_inputs(node, [arranged[id(part)] for part in inputs(node)])
        arranged[key] = over_parts if has_delta(node, key in shown) else _arranged(over_parts)
    return arranged[id(plan)]


def operators_without_rule(plan: Plan, *, is_kept: bool = True) -> list[Plan]:
    """The operators of the plan for which it is recomputed at each refresh."""
    plan = over_kept_rows(plan, is_kept=is_kept)
    shown = result_projections(plan, plan.desc) if is_kept else {}
    nodes = nodes_by_id(plan)
    return [node for key, node in nodes.items() if not has_delta(node, key in shown)]


def _arranged(node: Plan) -> Plan:
    """The node, which has no rule, over an arrangement, if that gives it one."""
    match node:
        case Reduce(group_by=()):
            return over_arguments(node, Arrangement) or node
        case TopK(group_by=()) | Window(group_by=()) if len(node.input.desc):
            return with_inputs(node, [Arrangement(node.input)])
        case _:
            return node
