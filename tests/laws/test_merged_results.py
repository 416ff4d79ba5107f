"""The law of maintained results where rows are merged: aggregates and first rows on top, whose
columns are all kept.

These are the plans whose delta rules rely on "rows only come". Each of the rules has a planted bug,
and the law finds it. ``--planted`` plants them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fixtures.examples import plant_some
from fixtures.maintaining import Bench, histories
from fixtures.plans import aggregate, call, desc_of, get
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, BOOLEAN, TEXT, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.compute.operators import groups, reduce
from reclock.compute.operators.rules import EMPTY_ROW
from reclock.compute.steps import writer
from reclock.compute.steps.writer import StepWriter
from reclock.errors import ReclockError
from reclock.plan.properties import could_fail
from reclock.plan.relational import (
    Distinct,
    Except,
    Filter,
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
    inputs,
)
from reclock.plan.scalars import Aggregate, ColumnRef, Literal

LEFT, RIGHT = (StorageCollectionId(GlobalId(id)) for id in ("u1", "u2"))
DESC = desc_of(TEXT, BIGINT, BIGINT)
"""A key, a number, and a number that few plans read: so that some changes are not seen."""
ONE, OTHER = get(LEFT, DESC), get(RIGHT, DESC)
KEY, NUMBER = ColumnRef(0, TEXT), ColumnRef(1, BIGINT)
BOTH = RelationDesc((*DESC.columns, *DESC.columns))
NARROW = desc_of(TEXT, BIGINT)

row = st.tuples(
    st.sampled_from(["a", "b", None]), st.sampled_from([0, 1, 2, None]), st.integers(0, 1)
)
histories_of_both = st.tuples(histories(row, last=3), histories(row, last=3))


def _narrow(plan: Plan) -> Plan:
    """Without the column that nobody reads."""
    return Project(plan, (0, 1), NARROW)


def _joined(one: Plan, other: Plan, kind: JoinKind, keys: tuple[tuple[int, int], ...]) -> Plan:
    """All columns of ``DESC``, some of them of the other side."""
    join = Join(
        one, other, kind, keys, (), DESC if kind in (JoinKind.SEMI, JoinKind.ANTI) else BOTH
    )
    return join if join.desc is DESC else Project(join, (0, 4, 2), DESC)


def _distinct(plan: Plan) -> Plan:
    """Distinct in the columns that are read, then as wide as before."""
    return Project(Map(Distinct(_narrow(plan)), (Literal(0, BIGINT),), DESC), (0, 1, 2), DESC)


def _is_total(plan: Plan) -> bool:
    """Whether no expression of the plan could raise an error."""
    return not could_fail(plan) and all(map(_is_total, inputs(plan)))


FAILS_ON_ZERO = call(">=", call("/", 2, NUMBER), 0)

flat = st.sampled_from([ONE, OTHER])
filtered = st.builds(
    Filter,
    flat,
    st.sampled_from(
        [
            (call(">", NUMBER, 0),),
            (call("=", NUMBER, 9),),
            (FAILS_ON_ZERO,),
            (call(">", ColumnRef(2, BIGINT), 0),),
        ]
    ),
)
leaf = st.one_of(flat, filtered, st.builds(_distinct, flat))


def _over(part: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    """One operator over ``part``."""
    return st.one_of(
        part,
        st.builds(_distinct, part),
        st.builds(lambda left, right: Union((left, right), DESC), part, part),
        st.builds(
            _joined,
            part,
            part,
            st.sampled_from(JoinKind),
            st.sampled_from([((0, 0),), ((1, 1),), ((0, 0), (1, 1))]),
        ),
        # where one side decides, DuckDB reads no other, and meets no error of it
        st.builds(
            lambda kind, left, right: kind(left, right),
            st.sampled_from([Except, Intersect]),
            part.filter(_is_total),
            part.filter(_is_total),
        ),
        st.builds(
            lambda left: Project(Map(left, (call("/", 6, NUMBER),), BOTH_AND), (0, 3, 2), DESC),
            part,
        ),
    )


BOTH_AND = RelationDesc((*DESC.columns, *desc_of(BIGINT).columns))
shallow = _over(_over(leaf))

AGGREGATES = (
    aggregate("count"),
    aggregate("count", NUMBER),
    aggregate("sum", NUMBER),
    aggregate("min", NUMBER),
    aggregate("max", KEY),
    aggregate("count", filter=call(">", NUMBER, 0)),
    aggregate("count", NUMBER, is_distinct=True),
)


def _reduced(plan: Plan, group_by: tuple[int, ...], aggregates: list[Aggregate]) -> Plan:
    columns = desc_of(
        *(plan.desc.types[index] for index in group_by),
        *(aggregate.type for aggregate in aggregates),
    )
    return Reduce(plan, group_by, tuple(aggregates), columns)


reduced = st.builds(
    _reduced,
    shallow,
    st.sampled_from([(), (0,), (0, 1)]),
    st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True),
)
first_rows = st.builds(
    lambda plan, group_by, limit: TopK(
        _narrow(plan), group_by, (Ordering(1, is_descending=True),), limit, 0
    ),
    shallow,
    st.sampled_from([(), (0,)]),
    st.integers(1, 2),
)


def _having(plan: Plan) -> Plan:
    """``SELECT true … HAVING``: nothing is left of the columns but the rows."""
    return Map(Project(plan, (), desc_of()), (Literal(True, BOOLEAN),), desc_of(BOOLEAN))


having = st.builds(lambda plan: _having(Reduce(plan, (), (), desc_of())), shallow)
with_or_without = st.booleans()
merged = st.one_of(reduced, reduced, first_rows, having)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.on_duckdb(tmp_path_factory.mktemp("merged"))


def _law(
    bench: Bench,
    plans: st.SearchStrategy[Plan] = merged,
    both: st.SearchStrategy[Any] = histories_of_both,
    keeps_groups: st.SearchStrategy[bool] = with_or_without,
) -> Callable[[], None]:
    @given(
        plan=plans,
        updates=both,
        skipped=st.sets(st.integers(0, 4), max_size=3),
        keeps_groups=keeps_groups,
    )
    def law(
        plan: Plan,
        updates: tuple[list[Update], list[Update]],
        skipped: set[int],
        keeps_groups: bool,
    ) -> None:
        sides = {LEFT: (DESC, updates[0]), RIGHT: (DESC, updates[1])}
        bench.check(plan, sides, skipped, keeps_groups=keeps_groups)

    return law


def test_what_is_merged_is_what_would_be_computed(
    bench: Bench, request: pytest.FixtureRequest
) -> None:
    """``--maintained-plans 5000`` tries more of them."""
    settings(max_examples=request.config.getoption("maintained_plans") * 2)(_law(bench))()


# --- planted bugs ---


def _counts_raw_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge counts rows that a delta rule only takes away and gives back."""
    monkeypatch.setattr(StepWriter, "net_changes", StepWriter.changes)


def _touches_nothing_without_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one group of an aggregate without keys exists only while rows change."""

    def rows_of(relation: str) -> str:
        return f"{EMPTY_ROW} FROM {relation} WHERE FALSE"

    monkeypatch.setattr(groups, "EMPTY_ROW", rows_of("(SELECT 1)"))


def _has_a_row_for_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without keys and aggregates a merge is no aggregation."""
    merged_rows = reduce._merged

    def planted(node: Reduce, engine: str, parts: str) -> str:
        return (
            merged_rows(node, engine, parts)
            if len(node.desc)
            else f"SELECT {EMPTY_ROW} FROM {parts}"
        )

    monkeypatch.setattr(reduce, "_merged", planted)


def _believes_that_steps_only_add(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that lost rows are merged too."""
    monkeypatch.setattr(StepWriter, "only_adds", lambda self, node: True)


def _believes_monotone(kind: type[Plan]) -> Callable[[pytest.MonkeyPatch], None]:
    """An operator that takes rows away as rows come says that it does not."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        proven = writer.is_monotone
        monkeypatch.setattr(
            writer, "is_monotone", lambda node: isinstance(node, kind) or proven(node)
        )

    return plant


def _aggregates_of(part: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    return st.builds(
        _reduced,
        part,
        st.sampled_from([(), (0,)]),
        st.lists(st.sampled_from(AGGREGATES), min_size=2, max_size=3),
    )


Bug = tuple[Callable[[pytest.MonkeyPatch], None], st.SearchStrategy[Plan]]
PLANTED: dict[str, Bug] = {
    "raw changes are counted": (_counts_raw_changes, _aggregates_of(st.builds(_distinct, flat))),
    "no changes, no group": (_touches_nothing_without_changes, _aggregates_of(flat)),
    "a row for each part": (_has_a_row_for_each_part, having),
    "every step only adds": (_believes_that_steps_only_add, _aggregates_of(flat)),
    "except is monotone": (_believes_monotone(Except), _aggregates_of(st.just(Except(ONE, OTHER)))),
}
"""The bug, and the plans whose rule it breaks."""

few = histories(st.tuples(st.just("a"), st.sampled_from([0, 1]), st.just(0)), last=3)
few_rows = st.tuples(few, few)
"""So few that they meet soon."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    plant_some(metafunc, "planted", PLANTED, {"no changes, no group", "a row for each part"})


def test_the_law_finds_a_planted_bug(
    planted: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, plans = PLANTED[planted]
    plant(monkeypatch)
    example = settings(
        max_examples=2000,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises((AssertionError, ReclockError)):
        example(_law(bench, plans, few_rows, keeps_groups=st.just(False)))()


def test_a_predicate_is_not_evaluated_on_rows_of_other_times(bench: Bench) -> None:
    plan = TopK(
        _narrow(_joined(ONE, Filter(ONE, (FAILS_ON_ZERO,)), JoinKind.INNER, ((0, 0),))),
        (0,),
        (Ordering(1, is_descending=True),),
        1,
        0,
    )
    updates = [Update(row=("a", 0, 0), time=Timestamp(1), diff=1)]
    bench.check(plan, {LEFT: (DESC, updates), RIGHT: (DESC, [])}, set())
