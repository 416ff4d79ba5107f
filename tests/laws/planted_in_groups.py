"""Bugs planted into the partial aggregates that an engine keeps, and the law that finds each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from laws.planted_in_rules import Plant, Seen, instead

from reclock.compute.engines.group_states import GroupStep
from reclock.compute.operators import partial_aggregates
from reclock.compute.operators.partial_aggregates import PartialAggregates
from reclock.compute.operators.rules import select_list
from reclock.compute.steps.writer import OpenedGroups
from reclock.plan.relational import Join, Plan


def _deleted_rows_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PartialAggregates.of_changes
    monkeypatch.setattr(
        PartialAggregates,
        "of_changes",
        lambda self, engine, changes, by=(): right(
            self, engine, f"(SELECT * REPLACE (abs(n) AS n) FROM {changes})", by
        ),
    )


def _groups_without_rows_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PartialAggregates.summed
    monkeypatch.setattr(
        PartialAggregates,
        "summed",
        lambda *arguments, **named: right(*arguments, **named).removesuffix(" HAVING sum(n) <> 0"),
    )


def _sums_of_nothing_are_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PartialAggregates._value
    monkeypatch.setattr(
        PartialAggregates, "_value", lambda *arguments: f"coalesce({right(*arguments)}, 0)"
    )


def _lost_refreshes_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a refresh has added whose updates were lost is not taken away again."""
    monkeypatch.setattr(GroupStep, "_restore", lambda *arguments: True)


def _equal_nodes_add_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a step of another index has added is added once more."""
    right = GroupStep.open

    def planted(step: GroupStep, *arguments: Any) -> OpenedGroups | None:
        opened = right(step, *arguments)
        return None if opened is None else replace(opened, has_step=False)

    monkeypatch.setattr(GroupStep, "open", planted)


def _seen_matches(select: str) -> Plant:
    """The matches of a key are a SELECT from the right ones."""

    def planted(right: Any, node: Plan, step: Any) -> str:
        def matches(join: Join, side: int, keys: str) -> str | None:
            known = step.matches(join, side, keys)
            return (
                None if known is None else step.define(f"SELECT {select} FROM {known}", is_few=True)
            )

        return right(node, Seen(step, matches=matches))

    return instead("delta", Join, planted)


def _arranged_rows_come_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        partial_aggregates,
        "repeated",
        lambda engine, counted, names: f"SELECT {select_list(names)} FROM ({counted}) AS planted",
    )


PLANTED_IN_GROUPS: dict[str, tuple[str, Plant]] = {
    "matches are those from before": (
        "semi and anti join",
        _seen_matches("* REPLACE (was AS now)"),
    ),
    "matches are those of now": ("semi and anti join", _seen_matches("* REPLACE (now AS was)")),
    "every changed key has a match": ("outer join", _seen_matches("* REPLACE (TRUE AS now)")),
    "keys without a match before had one": ("outer join", _seen_matches("* REPLACE (TRUE AS was)")),
    "deleted rows are added": ("additive aggregates", _deleted_rows_are_added),
    "groups without rows stay": ("distinct", _groups_without_rows_stay),
    "sums of nothing are zero": ("additive aggregates", _sums_of_nothing_are_zero),
    "lost refreshes count": ("additive aggregates", _lost_refreshes_count),
    "equal nodes add again": ("additive aggregates", _equal_nodes_add_again),
    "arranged rows come once": ("one group of all rows", _arranged_rows_come_once),
}
"""In the partial aggregates that an engine keeps."""

GROUPS_IN_SUITE = {
    "matches are those from before",
    "arranged rows come once",
    "deleted rows are added",
    "lost refreshes count",
}
