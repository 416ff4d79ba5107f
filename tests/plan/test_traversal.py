"""Each node of a plan is visited once, however many ways lead to it."""

from __future__ import annotations

from fixtures.plans import get

from reclock.plan.explain import explain
from reclock.plan.relational import Distinct, Get, Plan, Union, with_inputs
from reclock.plan.traversal import nodes_of, not_to_copy, parts_computed_once, rewritten


def doubled(times: int) -> Plan:
    """Unions, each of which reads the one before twice."""
    plan: Plan = get()
    for _ in range(times):
        plan = Union((plan, plan), plan.desc)
    return plan


def test_a_node_is_listed_after_its_inputs_and_once() -> None:
    plan = doubled(50)
    nodes = nodes_of(plan)
    assert len(nodes) == 51
    assert isinstance(nodes[0], Get)
    assert nodes[-1] is plan


def test_a_node_is_rewritten_once_and_stays_one() -> None:
    seen: list[Plan] = []

    def over_distinct(node: Plan) -> Plan:
        seen.append(node)
        return Distinct(node) if isinstance(node, Get) else node

    result = rewritten(doubled(50), over_distinct)
    assert len(seen) == 51
    assert len(nodes_of(result)) == 52


def test_what_is_not_changed_is_the_same_plan() -> None:
    plan = doubled(5)
    assert rewritten(plan, lambda node: node) is plan


def test_a_part_of_many_copies_is_computed_and_explained_once() -> None:
    plan = doubled(6)
    nodes = nodes_of(plan)
    assert parts_computed_once(plan) == not_to_copy(plan) == set(map(id, nodes[:2]))
    lines = explain(plan).splitlines()
    assert [line.strip() for line in lines if "part" in line.lower()] == [
        "Union [part 1]",
        *["Part 1, as above"] * 31,
    ]
    once = with_inputs(plan, [nodes[-2], get()])
    assert not_to_copy(once) == {id(nodes[0])}
