"""Projections of projections become one."""

from __future__ import annotations

from reclock.plan.build import project
from reclock.plan.relational import Plan, Project
from reclock.plan.traversal import rewritten


def merge_projections(plan: Plan) -> Plan:
    """Replace nested projections by one, and drop a projection that changes neither columns nor
    names."""
    return rewritten(plan, _merged)


def _merged(node: Plan) -> Plan:
    return project(node.input, node.indexes, node.desc.names) if isinstance(node, Project) else node
