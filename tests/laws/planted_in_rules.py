"""Bugs planted into the rules of operators, and the law that finds each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from reclock.compute import maintenance
from reclock.compute.engines import continuing
from reclock.compute.engines.fixpoints import FixpointWork
from reclock.compute.operators import (
    distinct_arguments,
    groups,
    join,
    reduce,
    rules,
    topk,
    window_suffixes,
)
from reclock.compute.operators.rules import columns, select_list
from reclock.compute.steps import delta, writer
from reclock.compute.steps.writer import StepWriter
from reclock.plan.relational import (
    Arrangement,
    Distinct,
    Except,
    Filter,
    FlatMap,
    Get,
    Intersect,
    Join,
    Map,
    Plan,
    Project,
    Reduce,
    TopK,
    Union,
    Window,
    inputs,
)

Plant = Callable[[pytest.MonkeyPatch], None]

PLANTED_DELTA_RULES: set[type] = set()


def instead(rule: str, kinds: Any, planted: Callable[..., Any]) -> Plant:
    """``planted`` is what the rule of these nodes is; it is given the right one first."""
    if rule == "delta":
        PLANTED_DELTA_RULES.update(kinds if isinstance(kinds, tuple) else (kinds,))

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        module = delta if rule == "has_delta" else writer
        right = getattr(module, rule)
        monkeypatch.setattr(
            module,
            rule,
            lambda node, *arguments: (
                planted(right, node, *arguments)
                if isinstance(node, kinds)
                else right(node, *arguments)
            ),
        )

    return plant


class Seen:
    """A step in which some questions have other answers."""

    def __init__(self, step: Any, **answers: Any) -> None:
        self._step, self._answers = step, answers

    def __getattr__(self, name: str) -> Any:
        return self._answers.get(name) or getattr(self._step, name)


def _one_copy(right: Any, node: Plan, step: Any) -> str:
    return (
        f"SELECT {select_list(columns(node))}, CAST(sign(n) AS BIGINT) AS n FROM "
        f"({right(node, step)}) AS planted"
    )


def _passed_on(right: Any, node: Any, step: Any) -> str:
    return f"SELECT * FROM {step.changes(node.input)}"


def _of_one_input(right: Any, node: Any, step: Any) -> str:
    return (
        f"SELECT * FROM {next(changed for part in node.inputs if (changed := step.changes(part)))}"
    )


def _partners(state: rules.InputVersion) -> Callable[..., str]:
    return lambda right, node, step: right(
        node, Seen(step, rows=lambda part, _, keys=None: step.rows(part, state, keys))
    )


def _blind(place: int) -> Callable[..., str]:
    """What changes in that input touches no group."""

    def planted(right: Any, node: Plan, step: Any) -> str:
        def changes(part: Plan) -> str | None:
            changed = step.changes(part)
            is_hidden = part is inputs(node)[place] and changed is not None
            return step.define(f"SELECT * FROM {changed} WHERE FALSE") if is_hidden else changed

        return right(node, Seen(step, changes=changes))

    return planted


def _only_of_changes(right: Any, node: Plan, step: Any) -> str:
    """The operator itself over the changes."""
    [part] = inputs(node)
    found = rules.snapshot(node, step.rendering, [step.changes(part)])
    return f"SELECT *, CAST(1 AS BIGINT) AS n FROM ({found}) AS planted"


def _merges_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """An offset or not."""

    def planted(right: Any, node: TopK, step: Any) -> str:
        return groups.regrouped(
            node,
            step,
            [node.group_by],
            node.group_by,
            lambda rows: rules.snapshot(node, step.rendering, [rows]),
        )

    instead("delta", TopK, planted)(monkeypatch)
    instead("has_delta", TopK, lambda right, node, is_shown: bool(node.group_by) or is_shown)(
        monkeypatch
    )


def _any_column(right: Any, node: Any, column: int) -> Any:
    """Each is taken for one of the input."""
    return (min(column, 1),)  # the second one stands for what the node computes


def _right_side(right: Any, node: Any, column: int) -> Any:
    width = len(node.left.desc)
    return (None, column - width) if column >= width else right(node, column)


def _other_side(right: Any, node: Plan, column: int) -> Any:
    return right(node, column)[::-1]


def _shown_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        join,
        "regrouped",
        lambda node, step, keys, shown: groups.regrouped(node, step, keys, keys[0]),
    )


def _no_row_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    regrouped = groups.regrouped

    def planted(*arguments: Any) -> str:
        if arguments[-1] is not None:
            arguments = (*arguments[:-1], lambda rows: "FALSE")
        return regrouped(*arguments)

    monkeypatch.setattr(reduce, "regrouped", planted)
    monkeypatch.setattr(topk, "regrouped", planted)


def _null_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    condition = rules.KeyFilter.condition
    monkeypatch.setattr(
        rules.KeyFilter,
        "condition",
        lambda *arguments: condition(*arguments).replace("IS NOT DISTINCT FROM", "="),
    )


def _merged_by(function: str, planted: str) -> Plant:
    return lambda monkeypatch: monkeypatch.setitem(reduce._MERGED_BY, function, planted)


def _merges_distinct_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    can_merge = reduce._can_merge
    monkeypatch.setattr(
        reduce,
        "_can_merge",
        lambda node: can_merge(
            replace(
                node,
                aggregates=tuple(
                    replace(aggregate, is_distinct=False) for aggregate in node.aggregates
                ),
            )
        ),
    )


def _loses_are_gains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepWriter, "only_adds", lambda self, node: True)


def _is_monotone(*kinds: Any) -> Plant:
    return instead("is_monotone", kinds, lambda right, node: True)


def _raw_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepWriter, "net_changes", StepWriter.changes)


def _errors_leave_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step after an error begins at the error."""
    changed, last = maintenance._changed, []

    def planted(
        maintainer: Any, engine: Any, inputs: Any, before: Any, time: Any, previous_result: Any
    ) -> Any:
        begun = last[-1] if before is not None else None
        last.append(time)
        return changed(maintainer, engine, inputs, begun, time, previous_result)

    monkeypatch.setattr(maintenance, "_changed", planted)


def _sums_ignore_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct_arguments, "_IGNORES_COPIES", ("min", "max", "sum"))


def _lost_rows_are_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recursion goes on although its inputs lost rows."""
    monkeypatch.setattr(
        continuing,
        "_gained",
        lambda work, get, changes, before, as_of: work.table(
            work.engine.compare(get, changes, as_of, before, {})
        ),
    )


def _without_iterations(work: FixpointWork) -> Any:
    return Seen(work, iterate=lambda *more: 0)


def _one_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a recursion gains derives nothing more."""
    right = continuing._continue
    monkeypatch.setattr(
        continuing,
        "_continue",
        lambda work, *arguments: right(_without_iterations(work), *arguments),
    )


def _iterations_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    right = continuing._continue
    monkeypatch.setattr(continuing, "_continue", lambda *arguments: right(*arguments) * 0)


def _hidden(right: Any, node: Plan, step: Any) -> str:
    return f"SELECT * FROM ({right(node, step)}) AS planted WHERE FALSE"


def _earlier_rows_seen_as(**planted: Any) -> Plant:
    """What a window is told of the rows before the first change."""
    right = window_suffixes._earlier_rows

    def seen(*arguments: Any) -> Any:
        needed = right(*arguments)
        return None if needed is None else replace(needed, **planted)

    return lambda monkeypatch: monkeypatch.setattr(window_suffixes, "_earlier_rows", seen)


def _first_rows_are_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        window_suffixes,
        "_reversed_order",
        lambda node, engine: topk.order_by(node.order, node.input.desc.types, engine),
    )


PLANTED: dict[str, tuple[str, Plant]] = {
    "an arrangement hides its changes": (
        "a window of all rows",
        instead("delta", Arrangement, _hidden),
    ),
    "rows before the first change do not count": (
        "a window of all rows",
        _earlier_rows_seen_as(combined="{value}"),
    ),
    "no row before the first change is near": (
        "a window of all rows",
        _earlier_rows_seen_as(rows=0),
    ),
    "the first rows are the last before the first change": (
        "a window of all rows",
        _first_rows_are_the_last,
    ),
    "a recursion goes on without its rows that went": ("recursion", _lost_rows_are_gained),
    "a recursion goes on for one iteration": ("recursion", _one_iteration),
    "a recursion goes on beyond its limit": ("recursion", _iterations_are_not_counted),
    "sums ignore copies": ("extremes and distinct values", _sums_ignore_copies),
    **{
        f"one copy of each change of {kind.__name__}": (
            "a row at a time",
            instead("delta", kind, _one_copy),
        )
        for kind in (Get, Filter, Map, Project, FlatMap)
    },
    "a filter lets all changes pass": ("a row at a time", instead("delta", Filter, _passed_on)),
    "a union has one input": ("union", instead("delta", Union, _of_one_input)),
    "a join has one copy of a pair": ("inner join", instead("delta", Join, _one_copy)),
    "partners as they were": (
        "inner join",
        instead("delta", Join, _partners(rules.InputVersion.BEFORE)),
    ),
    "partners as they are": (
        "inner join",
        instead("delta", Join, _partners(rules.InputVersion.NOW)),
    ),
    "a join whose condition fails overlooks its left side": (
        "inner joins whose residual fails",
        instead("delta", Join, _blind(0)),
    ),
    "an outer join overlooks its left side": ("outer join", instead("delta", Join, _blind(0))),
    "an outer join overlooks its right side": ("outer join", instead("delta", Join, _blind(1))),
    "an outer join shows its left keys": ("joins whose residual could fail", _shown_left),
    "groups of NULL are not found": ("window", _null_is_no_key),
    "a row's matches are those from before": (
        "joins with a residual",
        instead("delta", Join, _partners(rules.InputVersion.BEFORE)),
    ),
    "a row's matches are those of now": (
        "joins with a residual",
        instead("delta", Join, _partners(rules.InputVersion.NOW)),
    ),
    "no lost row was the largest": ("extremes of groups", _no_row_decides),
    "no lost row was among the first": ("first rows", _no_row_decides),
    "a semi join overlooks its left side": (
        "semi and anti join",
        instead("delta", Join, _blind(0)),
    ),
    "a semi join overlooks its right side": (
        "semi and anti join",
        instead("delta", Join, _blind(1)),
    ),
    "a join without an equality overlooks its left side": (
        "joins without an equality",
        instead("delta", Join, _blind(0)),
    ),
    "a join without an equality has matches from before": (
        "joins without an equality",
        instead("delta", Join, _partners(rules.InputVersion.BEFORE)),
    ),
    "distinct passes changes on": ("distinct", instead("delta", Distinct, _passed_on)),
    "distinct merges rows that went": ("distinct", _loses_are_gains),
    "an operation of sets overlooks its first input": (
        "except and intersect",
        instead("delta", (Except, Intersect), _blind(0)),
    ),
    "an operation of sets overlooks its second input": (
        "except and intersect",
        instead("delta", (Except, Intersect), _blind(1)),
    ),
    "aggregates are those of the changes": (
        "aggregates",
        instead("delta", Reduce, _only_of_changes),
    ),
    "counts are counted": ("aggregates", _merged_by("count", "count")),
    "sums are not added": ("aggregates", _merged_by("sum", "max")),
    "the least is the largest": ("aggregates", _merged_by("min", "max")),
    "the largest is the least": ("aggregates", _merged_by("max", "min")),
    "distinct counts add up": ("aggregates", _merges_distinct_counts),
    "aggregates merge rows that went": ("aggregates", _loses_are_gains),
    "first rows merge rows that went": ("first rows", _loses_are_gains),
    "an offset is taken again": ("first rows", _merges_first_rows),
    "first rows are those of the changes": (
        "first rows",
        instead("delta", TopK, _only_of_changes),
    ),
    "a window is that of the changes": ("window", instead("delta", Window, _only_of_changes)),
    "any column parts first rows": ("groups of first rows", instead("origin", TopK, _any_column)),
    "any column parts a window": ("groups of a window", instead("origin", Window, _any_column)),
    "an outer join's rows are those of its right side": (
        "groups of an outer join",
        instead("origin", Join, _right_side),
    ),
    "keys of one side are looked for on the other": (
        "groups of both sides",
        instead("origin", Join, _other_side),
    ),
    "net changes are raw": ("merged over distinct", _raw_changes),
    "except is monotone": ("merged over except", _is_monotone(Except)),
    "every join is monotone": ("merged over joins", _is_monotone(Join)),
    "an aggregate is monotone": ("merged over groups", _is_monotone(Reduce)),
    "first rows are monotone": ("merged over first rows", _is_monotone(TopK)),
    "a window is monotone": ("merged over window", _is_monotone(Window)),
    "no gap at an error": ("errors", _errors_leave_no_gap),
}
"""The bug, and the law that finds it."""

IN_SUITE = {
    "no row before the first change is near",
    "rows before the first change do not count",
    "one copy of each change of Map",
    "a union has one input",
    "partners as they were",
    "an outer join overlooks its right side",
    "a row's matches are those from before",
    "no lost row was the largest",
    "no lost row was among the first",
    "groups of NULL are not found",
    "a semi join overlooks its left side",
    "distinct merges rows that went",
    "an operation of sets overlooks its second input",
    "counts are counted",
    "any column parts a window",
    "net changes are raw",
    "every join is monotone",
    "no gap at an error",
}
"""One of each kind of rule."""
