"""Projections of projections become one."""

from __future__ import annotations

from reclock.plan.build import project
from reclock.plan.relational import Plan, Project, inputs, with_inputs


def merge_projections(plan: Plan) -> Plan:
    """Replace nested projections by one, and drop a projection that changes neither columns nor
    names."""
    plan = with_inputs(plan, [merge_projections(part) for part in inputs(plan)])
    return project(plan.input, plan.indexes, plan.desc.names) if isinstance(plan, Project) else plan
