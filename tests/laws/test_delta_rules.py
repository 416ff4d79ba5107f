"""The law of maintained results for each operator's rules. Each rule has a planted bug, which the
law finds with a few times as many examples as it tries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fixtures.maintaining import Bench, dense_histories
from fixtures.plans import aggregate, call, desc_of, get
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, TEXT, array
from reclock.compute import delta, distinct_arguments, maintenance, step_writer
from reclock.compute.engines.group_states import GroupStep
from reclock.compute.operators import groups, join, reduce, rules, topk
from reclock.compute.operators.partial_aggregates import PartialAggregates
from reclock.compute.operators.rules import columns, select_list
from reclock.compute.step_writer import StepWriter
from reclock.plan.relational import (
    Distinct,
    Except,
    Filter,
    FlatMap,
    Frame,
    Get,
    Intersect,
    Join,
    JoinKind,
    Map,
    Ordering,
    Plan,
    Project,
    Reduce,
    TopK,
    Union,
    Window,
    WindowFunction,
    inputs,
)
from reclock.plan.scalars import Aggregate, ColumnRef, Literal

EXAMPLES = 40
LEFT, RIGHT = (StorageCollectionId(GlobalId(id)) for id in ("u1", "u2"))
DESC = desc_of(TEXT, BIGINT)
ONE, OTHER = get(LEFT, DESC), get(RIGHT, DESC)
KEY, NUMBER = ColumnRef(0, TEXT), ColumnRef(1, BIGINT)
TWICE = desc_of(TEXT, BIGINT, TEXT, BIGINT)
NUMBERED = desc_of(TEXT, BIGINT, BIGINT)
ORDER = (Ordering(1, is_descending=True),)

ROWS = [(key, number) for key in ("a", "b", None) for number in (0, 1)] + [("a", None)]
both = dense_histories(ROWS)
both_add = dense_histories(ROWS, ["adds"])
"""So few different rows that they meet soon."""

side = st.sampled_from([ONE, OTHER])
with_or_without = st.booleans()
some = st.one_of(side, st.builds(lambda one: Filter(one, (call(">", NUMBER, 0),)), side))
all_or_key = st.sampled_from([(), (0,)])


def _first(
    plan: Plan, group_by: tuple[int, ...] = (), limit: int | None = 1, offset: int = 0
) -> Plan:
    return TopK(plan, group_by, ORDER, limit, offset)


def _joined(
    one: Plan,
    other: Plan,
    kind: JoinKind,
    keys: tuple[tuple[int, int], ...],
    residual: tuple[Any, ...] = (),
) -> Plan:
    return Join(
        one, other, kind, keys, residual, DESC if kind in (JoinKind.SEMI, JoinKind.ANTI) else TWICE
    )


def _reduced(plan: Plan, group_by: tuple[int, ...], aggregates: list[Aggregate]) -> Plan:
    types = (*(plan.desc.types[place] for place in group_by), *(each.type for each in aggregates))
    return Reduce(plan, group_by, tuple(aggregates), desc_of(*types))


def _summed(plan: Plan) -> Plan:
    """How many rows ``plan`` has, and the sum of its last column."""
    return _reduced(
        plan, (), [aggregate("count"), aggregate("sum", ColumnRef(len(plan.desc) - 1, BIGINT))]
    )


def _beside(one: Plan, other: Plan, kind: JoinKind) -> Plan:
    """Rows of ``one`` whose number is the first column of ``other``."""
    return Join(one, other, kind, ((1, 0),), (), desc_of(*one.desc.types, *other.desc.types))


def _window(plan: Plan, group_by: tuple[int, ...], function: Any) -> Plan:
    return Window(plan, group_by, ORDER, function, NUMBERED, Frame(None, None))


def _counted_by_number(plan: Plan) -> Plan:
    """As many rows as ``plan`` has for each number."""
    return Reduce(plan, (1,), (aggregate("count"),), desc_of(BIGINT, BIGINT))


PAIRING = [JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL]
keys = st.sampled_from([((0, 0),), ((0, 0), (1, 1)), ((1, 1),)])
MERGED = [
    aggregate("count"),
    aggregate("sum", NUMBER),
    aggregate("min", NUMBER),
    aggregate("max", NUMBER),
    aggregate("count", filter=call("=", NUMBER, 0)),
]
ADDITIVE = [
    aggregate("sum", NUMBER),
    aggregate("avg", NUMBER),
    aggregate("count", NUMBER, filter=call("=", NUMBER, 0)),
]
EXTREMES = [
    aggregate("max", NUMBER),
    aggregate("min", KEY, filter=call("=", NUMBER, 0)),
    aggregate("count", KEY, is_distinct=True),
]
aggregates = st.sampled_from(
    [MERGED, [aggregate("count"), aggregate("count", NUMBER, is_distinct=True)]]
)
FAILS_ON_ZERO = call(">=", call("/", 2, NUMBER), 0)
joins = st.builds(_joined, some, some, st.just(JoinKind.INNER), keys)
outer = st.builds(
    _joined, some, some, st.sampled_from([JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL]), keys
)
halves = st.builds(_joined, some, some, st.sampled_from([JoinKind.SEMI, JoinKind.ANTI]), keys)
residuals = {
    "joins with a residual": call("<>", NUMBER, ColumnRef(3, BIGINT)),
    "joins whose residual could fail": call(">", call("+", NUMBER, 1), ColumnRef(3, BIGINT)),
}
sets = st.builds(
    lambda kind, one, other: kind(one, other), st.sampled_from([Except, Intersect]), some, some
)
unions = st.builds(lambda one, other: Union((one, other), DESC), some, some)
first_rows = st.builds(
    _first, some, all_or_key, st.sampled_from([1, 2]), st.sampled_from([0, 0, 1])
)
windows = st.builds(
    _window,
    some,
    st.just((0,)),
    st.sampled_from([WindowFunction("row_number"), aggregate("count")]),
)
in_groups = [
    st.builds(_first, some, st.just((0,)), st.just(1)),
    windows.map(lambda plan: Project(plan, (0, 2), desc_of(TEXT, BIGINT))),
    st.builds(_joined, some, some, st.just(JoinKind.LEFT), st.just(((0, 0),))).map(
        lambda plan: Project(plan, (0, 3), DESC)
    ),
]
can_lose = {
    "except": st.builds(Except, some, some),
    "joins": st.one_of(halves, outer),
    "groups": st.builds(_counted_by_number, some),
    "first rows": st.builds(_first, some, st.just((0,)), st.just(1)),
    "window": windows,
    "distinct": st.builds(Distinct, side),
}

LAWS: dict[str, st.SearchStrategy[Plan]] = {
    "a row at a time": st.one_of(
        st.builds(lambda one: Filter(Project(one, (0, 1), DESC), (call(">", NUMBER, 0),)), side),
        st.builds(lambda one: Map(one, (call("+", NUMBER, 1),), NUMBERED), some),
        st.builds(lambda one: Project(one, (1,), desc_of(BIGINT)), some),
        st.builds(lambda one: FlatMap(one, (Literal((1, 2), array(BIGINT)),), NUMBERED), some),
    ),
    "union": unions,
    "inner join": joins,
    "outer join": outer,
    "semi and anti join": halves,
    **{
        name: st.builds(
            _joined,
            some,
            some,
            st.sampled_from([kind for kind in JoinKind if kind is not JoinKind.INNER]),
            st.just(((0, 0),)),
            st.just((residual,)),
        )
        for name, residual in residuals.items()
    },
    "distinct": st.builds(Distinct, some),
    "except and intersect": sets,
    "aggregates": st.builds(_reduced, some, all_or_key, aggregates),
    "extremes of groups": st.builds(
        _reduced, some, all_or_key, st.just([aggregate("min", NUMBER), aggregate("max", KEY)])
    ),
    "first rows": first_rows,
    "window": windows,
    "groups of first rows": in_groups[0].map(_counted_by_number),
    "groups of a window": in_groups[1].map(_counted_by_number),
    "groups of an outer join": in_groups[2].map(_counted_by_number),
    "groups of both sides": st.builds(
        _joined, some, some, st.sampled_from(PAIRING), st.just(((0, 0),))
    ).map(
        lambda plan: Reduce(plan, (1, 3), (aggregate("count"),), desc_of(BIGINT, BIGINT, BIGINT))
    ),
    "additive aggregates": st.one_of(
        st.builds(_reduced, some, all_or_key, st.just(ADDITIVE)),
        st.builds(
            _counted_by_number,
            st.builds(_reduced, some, st.just((0,)), st.just([aggregate("sum", NUMBER)])),
        ),
        st.builds(
            _joined,
            st.builds(_reduced, some, st.just((0,)), st.just(ADDITIVE[:1])),
            some,
            st.just(JoinKind.INNER),
            keys,
        ),
    ),
    "extremes and distinct values": st.builds(
        _beside,
        some,
        st.builds(
            _reduced, some, st.just(()), st.sampled_from([MERGED, EXTREMES, [*EXTREMES, *ADDITIVE]])
        ),
        st.sampled_from([JoinKind.INNER, JoinKind.LEFT]),
    ),
    **{f"merged over {name}": st.builds(_summed, plans) for name, plans in can_lose.items()},
    "errors": st.one_of(
        st.builds(
            _joined, some, some, st.sampled_from(list(JoinKind)), keys, st.just((FAILS_ON_ZERO,))
        ),
        st.builds(lambda one: Filter(one, (FAILS_ON_ZERO,)), some),
        st.builds(lambda one: Map(one, (call("/", 2, NUMBER),), NUMBERED), some),
        st.builds(
            lambda one: _reduced(Filter(one, (FAILS_ON_ZERO,)), (), [aggregate("count")]), some
        ),
    ),
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.on_duckdb(tmp_path_factory.mktemp("rules"))


def _law(
    bench: Bench, name: str, keeps_groups: st.SearchStrategy[bool] = with_or_without
) -> Callable[[], None]:
    """Counts over what can lose rows are merged only while the inputs gain rows."""

    @given(
        plan=LAWS[name],
        updates=both_add if name.startswith("merged") else both,
        skipped=st.sets(st.integers(0, 4), max_size=2),
        keeps_groups=keeps_groups,
    )
    def law(plan: Plan, updates: Any, skipped: set[int], keeps_groups: bool) -> None:
        sides = {LEFT: (DESC, updates[0]), RIGHT: (DESC, updates[1])}
        bench.check(plan, sides, skipped, keeps_groups=keeps_groups)

    return law


@pytest.mark.parametrize("name", LAWS)
def test_what_an_operator_maintains_is_what_it_computes(name: str, bench: Bench) -> None:
    settings(max_examples=EXAMPLES)(_law(bench, name))()


# --- planted bugs ---

SEARCH = settings(
    max_examples=4 * EXAMPLES,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)
Plant = Callable[[pytest.MonkeyPatch], None]


def _instead(rule: str, kinds: Any, planted: Callable[..., Any]) -> Plant:
    """``planted`` is what the rule of these nodes is; it is given the right one first."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        module = delta if rule == "has_delta" else step_writer
        right = getattr(module, rule)
        monkeypatch.setattr(
            module,
            rule,
            lambda node, *given: (
                planted(right, node, *given) if isinstance(node, kinds) else right(node, *given)
            ),
        )

    return plant


class _Seen:
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
        f"SELECT * FROM {next(changed for each in node.inputs if (changed := step.changes(each)))}"
    )


def _partners(state: rules.InputVersion) -> Callable[..., str]:
    return lambda right, node, step: right(
        node, _Seen(step, rows=lambda part, _, keys=None: step.rows(part, state, keys))
    )


def _blind(place: int) -> Callable[..., str]:
    """What changes in that input touches no group."""

    def planted(right: Any, node: Plan, step: Any) -> str:
        def changes(part: Plan) -> str | None:
            changed = step.changes(part)
            is_hidden = part is inputs(node)[place] and changed is not None
            return step.define(f"SELECT * FROM {changed} WHERE FALSE") if is_hidden else changed

        return right(node, _Seen(step, changes=changes))

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

    _instead("delta", TopK, planted)(monkeypatch)
    _instead("has_delta", TopK, lambda right, node, is_shown: bool(node.group_by) or is_shown)(
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

    def planted(*given: Any) -> str:
        if given[-1] is not None:
            given = (*given[:-1], lambda rows: "FALSE")
        return regrouped(*given)

    monkeypatch.setattr(reduce, "regrouped", planted)
    monkeypatch.setattr(topk, "regrouped", planted)


def _null_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    known = rules.KeyFilter.condition
    monkeypatch.setattr(
        rules.KeyFilter,
        "condition",
        lambda *given: known(*given).replace("IS NOT DISTINCT FROM", "="),
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
                node, aggregates=tuple(replace(each, is_distinct=False) for each in node.aggregates)
            )
        ),
    )


def _loses_are_gains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepWriter, "only_adds", lambda self, node: True)


def _is_monotone(*kinds: Any) -> Plant:
    return _instead("is_monotone", kinds, lambda right, node: True)


def _raw_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepWriter, "net_changes", StepWriter.changes)


def _errors_leave_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step after an error begins at the error."""
    changed, last = maintenance._changed, []

    def planted(
        maintainer: Any, engine: Any, given: Any, before: Any, time: Any, previous_result: Any
    ) -> Any:
        begun = last[-1] if before is not None else None
        last.append(time)
        return changed(maintainer, engine, given, begun, time, previous_result)

    monkeypatch.setattr(maintenance, "_changed", planted)


def _sums_ignore_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct_arguments, "_IGNORES_COPIES", ("min", "max", "sum"))


PLANTED: dict[str, tuple[str, Plant]] = {
    "sums ignore copies": ("extremes and distinct values", _sums_ignore_copies),
    **{
        f"one copy of each change of {kind.__name__}": (
            "a row at a time",
            _instead("delta", kind, _one_copy),
        )
        for kind in (Get, Filter, Map, Project, FlatMap)
    },
    "a filter lets all changes pass": ("a row at a time", _instead("delta", Filter, _passed_on)),
    "a union has one input": ("union", _instead("delta", Union, _of_one_input)),
    "a join has one copy of a pair": ("inner join", _instead("delta", Join, _one_copy)),
    "partners as they were": (
        "inner join",
        _instead("delta", Join, _partners(rules.InputVersion.BEFORE)),
    ),
    "partners as they are": (
        "inner join",
        _instead("delta", Join, _partners(rules.InputVersion.NOW)),
    ),
    "an outer join overlooks its left side": ("outer join", _instead("delta", Join, _blind(0))),
    "an outer join overlooks its right side": ("outer join", _instead("delta", Join, _blind(1))),
    "an outer join shows its left keys": ("joins whose residual could fail", _shown_left),
    "groups of NULL are not found": ("window", _null_is_no_key),
    "a row's matches are those from before": (
        "joins with a residual",
        _instead("delta", Join, _partners(rules.InputVersion.BEFORE)),
    ),
    "a row's matches are those of now": (
        "joins with a residual",
        _instead("delta", Join, _partners(rules.InputVersion.NOW)),
    ),
    "no lost row was the largest": ("extremes of groups", _no_row_decides),
    "no lost row was among the first": ("first rows", _no_row_decides),
    "a semi join overlooks its left side": (
        "semi and anti join",
        _instead("delta", Join, _blind(0)),
    ),
    "a semi join overlooks its right side": (
        "semi and anti join",
        _instead("delta", Join, _blind(1)),
    ),
    "distinct passes changes on": ("distinct", _instead("delta", Distinct, _passed_on)),
    "distinct merges rows that went": ("distinct", _loses_are_gains),
    "an operation of sets overlooks its first input": (
        "except and intersect",
        _instead("delta", (Except, Intersect), _blind(0)),
    ),
    "an operation of sets overlooks its second input": (
        "except and intersect",
        _instead("delta", (Except, Intersect), _blind(1)),
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
        _instead("delta", TopK, _only_of_changes),
    ),
    "a window is that of the changes": ("window", _instead("delta", Window, _only_of_changes)),
    "any column parts first rows": ("groups of first rows", _instead("origin", TopK, _any_column)),
    "any column parts a window": ("groups of a window", _instead("origin", Window, _any_column)),
    "an outer join's rows are those of its right side": (
        "groups of an outer join",
        _instead("origin", Join, _right_side),
    ),
    "keys of one side are looked for on the other": (
        "groups of both sides",
        _instead("origin", Join, _other_side),
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


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name: str, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    law, plant = PLANTED[name]
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        SEARCH(_law(bench, law, st.just(False)))()


def _deleted_rows_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PartialAggregates.of_changes
    monkeypatch.setattr(
        PartialAggregates, "of_changes", lambda *given: right(*given).replace("THEN - ", "THEN ")
    )


def _groups_without_rows_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PartialAggregates.summed
    monkeypatch.setattr(
        PartialAggregates,
        "summed",
        lambda *given, **named: right(*given, **{**named, "keep_empty": True}),
    )


def _sums_of_nothing_are_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PartialAggregates._value
    monkeypatch.setattr(PartialAggregates, "_value", lambda *given: f"coalesce({right(*given)}, 0)")


def _lost_refreshes_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a refresh has added whose updates were lost is not taken away again."""
    monkeypatch.setattr(GroupStep, "_restore", lambda *given: True)


def _seen_matches(select: str) -> Plant:
    """The matches of a key are a SELECT from the right ones."""

    def planted(right: Any, node: Plan, step: Any) -> str:
        def matches(join: Join, side: int, keys: str) -> str | None:
            known = step.matches(join, side, keys)
            return (
                None if known is None else step.define(f"SELECT {select} FROM {known}", is_few=True)
            )

        return right(node, _Seen(step, matches=matches))

    return _instead("delta", Join, planted)


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
}
"""In the partial aggregates that an engine keeps."""


@pytest.mark.parametrize("name", PLANTED_IN_GROUPS)
def test_a_bug_planted_in_groups_is_found(
    name: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    law, plant = PLANTED_IN_GROUPS[name]
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        SEARCH(_law(bench, law, st.just(True)))()
