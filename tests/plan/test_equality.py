"""Equal plans are found, each looked at once."""

from __future__ import annotations

import pytest
from fixtures.plans import call, column, get

from reclock.plan.equality import EqualPlans
from reclock.plan.relational import Filter, Plan, Union


def filtered(plan: Plan, least: int) -> Filter:
    return Filter(plan, (call(">", column("i"), least),))


def test_equal_plans_are_one_however_they_were_made() -> None:
    equal = EqualPlans()
    first = equal.first(filtered(filtered(get(), 1), 2))
    again = filtered(filtered(get(), 1), 2)
    assert again is not first
    assert equal.first(again) is first


def test_parts_of_a_plan_are_found_too() -> None:
    equal, inner = EqualPlans(), filtered(get(), 1)
    equal.first(filtered(inner, 2))
    assert equal.first(filtered(get(), 1)) is inner


def test_plans_that_differ_below_stay_apart() -> None:
    equal = EqualPlans()
    first = equal.first(filtered(filtered(get(), 1), 2))
    assert equal.first(filtered(filtered(get(), 3), 2)) is not first
    assert equal.first(filtered(filtered(get(), 1), 3)) is not first
    both = (first, filtered(get(), 2))
    union = equal.first(Union(both, first.desc))
    assert equal.first(Union(both[::-1], first.desc)) is not union


def test_each_operator_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Filter] = []
    of_fields = Filter.__hash__

    def counted(node: Filter) -> int:
        hashed.append(node)
        return of_fields(node)

    monkeypatch.setattr(Filter, "__hash__", counted)
    equal, depth = EqualPlans(), 100
    plan: Plan = get()
    for least in range(depth):
        plan = filtered(plan, least)
        equal.first(plan)
    assert len(hashed) == depth
