"""Equal plans found in one pass: a plan is hashed over its own operator, not over all below it."""

from __future__ import annotations

from reclock.algebra.relations import RelationDesc
from reclock.plan.relational import Plan, WorkTable, inputs, with_inputs

_NO_COLUMNS = RelationDesc(())


class EqualPlans:
    """The first of equal plans, for each of many plans that share parts."""

    def __init__(self) -> None:
        self._firsts: list[Plan] = []
        """Of each plan, by its number. Equal plans have one number."""
        self._numbers: dict[Plan, int] = {}
        """By the plan with work tables in place of its inputs, which have their numbers as ids."""
        self._seen: dict[int, tuple[Plan, int]] = {}
        """By identity, which holds as long as the plan is kept."""

    def first(self, plan: Plan) -> Plan:
        """The plan equal to ``plan`` that was asked for first, or was a part of one that was."""
        return self._firsts[self._number(plan)]

    def _number(self, plan: Plan) -> int:
        if id(plan) in self._seen:
            return self._seen[id(plan)][1]
        parts = [WorkTable(self._number(part), "", _NO_COLUMNS) for part in inputs(plan)]
        number = self._numbers.setdefault(with_inputs(plan, parts), len(self._firsts))
        if number == len(self._firsts):
            self._firsts.append(plan)
        self._seen[id(plan)] = (plan, number)
        return number
