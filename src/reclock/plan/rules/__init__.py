"""The optimizer: rules that rewrite a plan into an equal one, in the order in which they are
applied.

A rule is a pure function from plan to plan in a file of its own. For each there is a file of
examples in ``tests/plan/rules``, whose plans before and after are also executed and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reclock.plan.relational import Plan
from reclock.plan.rules.compute_after_joins import compute_after_joins
from reclock.plan.rules.connect_joins import connect_joins
from reclock.plan.rules.drop_empty_branches import drop_empty_branches
from reclock.plan.rules.guard_comparisons import guard_comparisons
from reclock.plan.rules.join_equalities import join_equalities
from reclock.plan.rules.merge_projections import merge_projections
from reclock.plan.rules.push_filters import push_filters
from reclock.plan.rules.reduce_outer_joins import reduce_outer_joins

Rule = Callable[[Plan], Plan]

RULES: tuple[Rule, ...] = (
    push_filters,
    drop_empty_branches,
    reduce_outer_joins,
    join_equalities,
    connect_joins,
    guard_comparisons,
    compute_after_joins,
    merge_projections,
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of planning by its name, and the plan after it."""

    name: str
    plan: Plan


def stages(plan: Plan) -> Iterator[Stage]:
    """``plan`` after each of the rules."""
    for rule in RULES:
        plan = rule(plan)
        yield Stage(rule.__name__, plan)


def optimize(plan: Plan) -> Plan:
    """``plan`` after all rules: an equal plan that reads and computes less."""
    *_, last = stages(plan)
    return last.plan
