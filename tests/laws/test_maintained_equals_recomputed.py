"""The law of maintained results: at every readable time, what an index holds is what its plan
answers there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from fixtures.examples import examples
from fixtures.lakes import updates_table
from fixtures.plans import aggregate, call, desc_of, get, row_text, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, DIFF_COLUMN, DOUBLE, TEXT, RelationDesc, numeric
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Row, Update
from reclock.collections.lake import Lake
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import CollectionInput, Engine
from reclock.compute.maintenance import change_times, maintainer, refresh, refresh_times
from reclock.plan.relational import (
    Distinct,
    Except,
    Filter,
    Finishing,
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
)
from reclock.plan.scalars import ColumnRef, Literal

LEFT, RIGHT, INDEX = (StorageCollectionId(GlobalId(id)) for id in ("u1", "u2", "u3"))
DESC = desc_of(TEXT, BIGINT, DOUBLE)
ONE, OTHER = get(LEFT, DESC), get(RIGHT, DESC)
KEY, NUMBER, REAL = ColumnRef(0, TEXT), ColumnRef(1, BIGINT), ColumnRef(2, DOUBLE)
BOTH = RelationDesc((*DESC.columns, *desc_of(TEXT, BIGINT, DOUBLE).columns))

PLANS: dict[str, Plan] = {
    "filter": Filter(ONE, (call(">", NUMBER, 0),)),
    "map": Map(ONE, (call("+", NUMBER, 1),), desc_of(TEXT, BIGINT, DOUBLE, BIGINT)),
    "project": Project(ONE, (0,), desc_of(TEXT)),
    "sums": Reduce(
        ONE,
        (0,),
        (
            aggregate("count"),
            aggregate("sum", REAL),
            aggregate("avg", NUMBER),
            aggregate("max", NUMBER),
        ),
        desc_of(TEXT, BIGINT, DOUBLE, numeric(38, 18), BIGINT),
    ),
    "total": Reduce(
        ONE, (), (aggregate("count"), aggregate("sum", NUMBER)), desc_of(BIGINT, numeric(38, 0))
    ),
    "doubles": Reduce(ONE, (0,), (aggregate("sum", REAL),), desc_of(TEXT, DOUBLE)),
    "inner": Project(
        Join(ONE, OTHER, JoinKind.INNER, ((0, 0),), (), BOTH),
        (0, 1, 4),
        desc_of(TEXT, BIGINT, BIGINT),
    ),
    "left": Project(
        Join(ONE, OTHER, JoinKind.LEFT, ((0, 0), (1, 1)), (), BOTH), (0, 3), desc_of(TEXT, TEXT)
    ),
    "anti": Join(ONE, OTHER, JoinKind.ANTI, ((0, 0),), (), DESC),
    "distinct": Distinct(Project(ONE, (0, 2), desc_of(TEXT, DOUBLE))),
    "topk": TopK(ONE, (0,), (Ordering(1, is_descending=True),), 2, 0),
    "union": Union((ONE, OTHER, ONE), DESC),
    "except": Except(ONE, OTHER),
}

KEYS = (((0, 0),), ((0, 0), (1, 1)), ((1, 1),), ())
ORDER = (Ordering(1, is_descending=True), Ordering(2))


def _over(parts: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    """Every operator over ``parts``; all plans have the columns of ``DESC``."""

    def joined(left: Plan, right: Plan, kind: JoinKind, keys: Any, residual: bool) -> Plan:
        desc = DESC if kind in (JoinKind.SEMI, JoinKind.ANTI) else BOTH
        join = Join(
            left,
            right,
            kind,
            keys,
            (call("<=", NUMBER, ColumnRef(4, BIGINT)),) if residual else (),
            desc,
        )
        return join if desc is DESC else Project(join, (0, 4, 2), DESC)

    def reduced(left: Plan, groups: tuple[int, ...], function: str) -> Plan:
        aggregates = (aggregate("count"), aggregate("max", REAL), aggregate(function, NUMBER))
        reduce: Plan = Reduce(
            left,
            groups,
            aggregates,
            RelationDesc(
                (*(DESC.columns[i] for i in groups), *desc_of(BIGINT, DOUBLE, BIGINT).columns)
            ),
        )
        if not groups:
            reduce = Map(
                reduce,
                (Literal("all", TEXT),),
                RelationDesc((*reduce.desc.columns, DESC.columns[0])),
            )
            return Project(reduce, (3, 2, 1), DESC)
        width = len(groups)
        return Project(reduce, (0, width + 2 if width == 1 else width, width + 1), DESC)

    numbered = RelationDesc((*DESC.columns, *desc_of(BIGINT).columns))
    flags = st.booleans()
    return st.one_of(
        st.builds(lambda left: Filter(left, (call(">", NUMBER, 0),)), parts),
        st.builds(
            lambda left: Project(Map(left, (call("+", NUMBER, 1),), numbered), (0, 3, 2), DESC),
            parts,
        ),
        st.builds(joined, parts, parts, st.sampled_from(JoinKind), st.sampled_from(KEYS), flags),
        st.builds(
            reduced,
            parts,
            st.sampled_from([(0,), (0, 1), ()]),
            st.sampled_from(["max", "min", "count"]),
        ),
        st.builds(lambda left: Distinct(left), parts),
        st.builds(
            lambda left, groups, limit, by: TopK(left, groups, ORDER, limit, by),
            parts,
            st.sampled_from([(0,), (0, 1), ()]),
            st.integers(1, 2),
            st.integers(0, 1),
        ),
        st.builds(
            lambda left, groups, function, frame: Project(
                Window(left, groups, ORDER, function, numbered, frame), (0, 3, 2), DESC
            ),
            parts,
            st.sampled_from([(0,), ()]),
            st.one_of(
                st.builds(WindowFunction, st.sampled_from(["row_number", "rank", "dense_rank"])),
                st.sampled_from([aggregate("max", NUMBER), aggregate("count")]),
                st.builds(
                    WindowFunction,
                    st.sampled_from(["lag", "lead"]),
                    st.just(1),
                    st.integers(0, 2),
                    st.sampled_from([None, 1]),
                ),
                st.builds(
                    WindowFunction, st.sampled_from(["first_value", "last_value"]), st.just(1)
                ),
            ),
            st.sampled_from(
                [Frame(), Frame(None, None), Frame(-1, 0, is_range=False), Frame(0, None)]
            ),
        ),
        st.builds(lambda left, right: Union((left, right), DESC), parts, parts),
        st.builds(
            lambda kind, left, right: kind(left, right),
            st.sampled_from([Except, Intersect]),
            parts,
            parts,
        ),
    )


plans = st.recursive(st.sampled_from([ONE, OTHER]), _over, max_leaves=5).filter(
    lambda plan: not isinstance(plan, Get)
)

# Few values, so that rows meet, repeat and vanish.
row = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([0, 1, None]),
    st.sampled_from([0.0, -0.0, 0.1, 1e16, -1e16, float("nan"), None]),
)
change = st.tuples(st.integers(0, 1), row, st.integers(1, 4), st.integers(-2, 2))


def possible(changes: Sequence[tuple[int, Row, int, int]], side: int) -> list[Update]:
    """The changes of one input, less those that would leave a row there fewer than no times."""
    counts: Counter[str] = Counter()
    updates = []
    for _, values, time, diff in sorted((c for c in changes if c[0] == side), key=lambda c: c[2]):
        canonical = tuple(
            0.0 if value == 0 and isinstance(value, float) else value for value in values
        )
        if diff and counts[row_text(canonical)] + diff >= 0:
            counts[row_text(canonical)] += diff
            updates.append(Update(canonical, Timestamp(time), diff))
    return updates


def check(
    engine: Engine,
    folder: str,
    plan: Plan,
    sides: Sequence[list[Update]],
    pauses: Sequence[int],
    limit: int,
) -> None:
    """Refresh at each of ``pauses``; then compare at every time from the index's since to the
    end."""
    lake = Lake(folder)
    inputs = {}
    for id, updates in zip((LEFT, RIGHT), sides, strict=True):
        collection = lake.create(id, DESC)
        for time in sorted({update.time for update in updates}):
            part = updates_table([update for update in updates if update.time == time], DESC)
            collection.append(
                part, expected_upper=collection.upper(), new_upper=Timestamp(time + 1)
            )
        inputs[id] = CollectionInput(collection.pin())
    index = lake.create(INDEX, plan.desc)
    view = maintainer(plan, plan.desc)
    upper = since = Timestamp(0)
    for at in sorted(pauses):
        changes = change_times(
            [given.version for given in inputs.values()], upper, Timestamp(at + 1)
        )
        decided = refresh_times(
            upper=upper,
            at=Timestamp(at),
            changes=changes,
            is_new=upper == 0,
            readable_from=Timestamp(0),
            limit=limit,
        )
        previous = Timestamp(upper - 1) if upper else None
        updates = refresh(view, engine, inputs, index.pin(), previous, decided.times).updates
        upper, since = Timestamp(max(upper, at + 1)), Timestamp(max(since, decided.since or 0))
        if index.upper() < upper:
            index.append(updates, expected_upper=index.upper(), new_upper=upper)
    for time in map(Timestamp, range(since, upper)):
        answer = engine.run(plan, Finishing(), inputs, time)
        recomputed = Counter(map(row_text, rows(answer)))
        maintained = {
            row_text([record[name] for name in plan.desc.names]): record[DIFF_COLUMN]
            for record in index.pin().snapshot(time).to_pylist()
        }
        assert maintained == recomputed, f"at {time}"
    earlier, last = Timestamp(min(pauses) - 1), Timestamp(max(pauses))
    contents = Counter(map(row_text, rows(engine.run(plan, Finishing(), inputs, earlier))))
    for *values, diff in rows(engine.compare(plan, inputs, last, earlier, {})):
        contents[row_text(values)] += diff
    assert +contents == contents, "a row was taken away that was not there"
    assert +contents == Counter(map(row_text, rows(engine.run(plan, Finishing(), inputs, last))))


@pytest.fixture(scope="module")
def duckdb_engine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Path]:
    root = tmp_path_factory.mktemp("maintained")
    return DuckDbEngine([str(root)], threads=1), root


@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=examples(6, 60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(change, max_size=16),
    pauses=st.sets(st.integers(1, 5), min_size=1, max_size=3),
    limit=st.integers(1, 6),
)
def test_maintained_equals_recomputed(
    name: str, changes: list[Any], pauses: set[int], limit: int, duckdb_engine: tuple[Engine, Path]
) -> None:
    engine, root = duckdb_engine
    with TemporaryDirectory(dir=root) as folder:
        check(
            engine,
            folder,
            PLANS[name],
            [possible(changes, side) for side in (0, 1)],
            sorted(pauses),
            limit,
        )


def test_doubles_are_summed_in_their_order_however_they_come(
    duckdb_engine: tuple[Engine, Path],
) -> None:
    """One and one are lost when each is added to 1e16, and not when they are added to each other
    first."""
    engine, root = duckdb_engine
    coming = [
        Update(("a", 0, number), Timestamp(time), 1)
        for time, number in enumerate([1e16, 1.0, 1.0], start=1)
    ]
    with TemporaryDirectory(dir=root) as folder:
        check(engine, folder, PLANS["doubles"], [coming, []], [1, 2, 3], 4)


def test_any_plan_is_maintained(
    duckdb_engine: tuple[Engine, Path], request: pytest.FixtureRequest
) -> None:
    """``--maintained-plans 5000`` tries more of them."""
    engine, root = duckdb_engine

    @settings(
        max_examples=request.config.getoption("maintained_plans"),
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(
        plan=plans,
        changes=st.lists(change, max_size=16),
        pauses=st.sets(st.integers(1, 5), min_size=1, max_size=3),
        limit=st.integers(1, 6),
    )
    def law(plan: Plan, changes: list[Any], pauses: set[int], limit: int) -> None:
        with TemporaryDirectory(dir=root) as folder:
            check(
                engine,
                folder,
                plan,
                [possible(changes, side) for side in (0, 1)],
                sorted(pauses),
                limit,
            )

    law()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "engine"),
    [("sums", "spark"), ("left", "spark"), ("sums", "connect")],
    indirect=["engine"],
)
def test_maintained_equals_recomputed_on_spark(name: str, engine: Engine, tmp_path: Path) -> None:
    def some(by: int) -> list[Update]:
        appearing = [
            Update(("ab"[i % 2], i % 3, i / 7), Timestamp(1 + i * by % 4), 1) for i in range(8)
        ]
        return [*appearing, Update(("a", 0, 0.0), Timestamp(4), -1)]

    check(engine, str(tmp_path), PLANS[name], [some(1), some(3)], [2, 4], 4)
