"""A lookup finds in memory what a scan finds in the files, at every time, and takes no more memory
than it may."""

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fixtures.lakes import FLIGHTS, put, updates_table
from fixtures.plans import rows
from hypothesis import given, settings
from hypothesis import strategies as st

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    INTEGER,
    MAX_PRECISION,
    SMALLINT,
    TEXT,
    Column,
    RelationDesc,
    array,
    numeric,
)
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.collections import arrangements as module
from reclock.collections.arrangements import Arrangements
from reclock.collections.lake import Lake
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import Answer, CollectionInput, Engine
from reclock.compute.reads import lookups
from reclock.compute.reads.columns import compute_aggregate
from reclock.compute.reads.peeks import engine_of, peek
from reclock.errors import EvaluationError
from reclock.plan.relational import Filter, Finishing, Get, Map, Ordering, Plan, Project, Reduce
from reclock.plan.scalars import Aggregate, Call, Cast, ColumnRef, Literal, Scalar

DESC = RelationDesc(
    (Column("n", INTEGER), Column("name", TEXT), Column("bytes", BYTEA), Column("big", BIGINT))
)
GET = Get(FLIGHTS, "flights", DESC)
LAST = 12
LATE = Timestamp(LAST)
COMPUTED: list[Scalar] = [
    Literal("a", TEXT),
    Literal(None, BYTEA),
    Call("+", (ColumnRef(0, INTEGER), Literal(1, INTEGER)), INTEGER),
    Call("*", (Cast(ColumnRef(0, INTEGER), BIGINT), ColumnRef(3, BIGINT)), BIGINT),
    Cast(ColumnRef(3, BIGINT), INTEGER),
    Call("upper", (ColumnRef(1, TEXT),), TEXT),
]
"""Some fail on some rows; an engine computes the last."""

AGGREGATES: list[Aggregate[Scalar]] = [
    Aggregate("count", (), BIGINT),
    Aggregate("count", (ColumnRef(2, BYTEA),), BIGINT),
    Aggregate("sum", (ColumnRef(0, INTEGER),), BIGINT),
    Aggregate("sum", (ColumnRef(3, BIGINT),), numeric(MAX_PRECISION, 0)),
    Aggregate("sum", (COMPUTED[2],), BIGINT),
    Aggregate("min", (ColumnRef(3, BIGINT),), BIGINT),
    Aggregate("max", (ColumnRef(1, TEXT),), TEXT),
    Aggregate("count", (ColumnRef(1, TEXT),), BIGINT, is_distinct=True),
]
"""An engine computes the last."""

values = st.tuples(
    st.sampled_from([None, -1, 0, 1, 2**31 - 1]),
    st.sampled_from([None, "", "a", "ä", "\U0001f600", "\uffff"]),
    st.sampled_from([None, b"", b"\x00", b"\xff"]),
    st.sampled_from([None, 5, 2**62]),
)


@st.composite
def histories(draw: st.DrawFn) -> list[list[Update]]:
    """Updates of a few appends, of which each row's diffs sum to no less than zero at any time; the
    last is not in the lake."""
    rows: Counter[tuple[Any, ...]] = Counter()
    parts: list[list[Update]] = []
    for low in range(0, LAST, 4):
        parts.append([])
        for time in sorted(draw(st.lists(st.integers(low, low + 3), max_size=6))):
            is_known = bool(rows) and draw(st.booleans())
            row = draw(st.sampled_from(sorted(rows, key=repr)) if is_known else values)
            diff = draw(st.integers(-rows[row], 2).filter(bool))
            rows[row] += diff
            parts[-1].append(Update(row, Timestamp(time), diff))
    return parts


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Rows that have a value in some columns, with something else beside it now and then."""
    predicates: list[Scalar] = []
    for index in draw(st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True)):
        column: Scalar = ColumnRef(index, DESC.types[index])
        value = draw(values)[index]
        if index == 0 and draw(st.booleans()):
            column, value = Cast(column, BIGINT), draw(st.sampled_from([value, 2**40]))
        sides = (column, Literal(value, column.type))
        equal = Call("=", sides if draw(st.booleans()) else sides[::-1], BOOLEAN)
        if isinstance(column, ColumnRef) and draw(st.booleans()):
            among = tuple(row[index] for row in draw(st.lists(values, max_size=4)))
            equal = Call("= any", (column, Literal(among, array(column.type))), BOOLEAN)
        if draw(st.booleans()):
            other = draw(st.sampled_from([index, index, 3]))
            beside: Call[Scalar] = Call(
                "=",
                (
                    ColumnRef(other, DESC.types[other]),
                    Literal(draw(values)[other], DESC.types[other]),
                ),
                BOOLEAN,
            )
            equal = Call("or", (beside, equal), BOOLEAN)
        predicates.append(equal)
    if draw(st.booleans()):
        predicates.append(Call("is_null", (ColumnRef(1, TEXT),), BOOLEAN))
    plan: Plan = Filter(GET, tuple(predicates))
    for _ in range(draw(st.integers(0, 2))):
        computed = tuple(draw(st.lists(st.sampled_from(COMPUTED), max_size=2)))
        columns = [Column(f"computed{i}", scalar.type) for i, scalar in enumerate(computed)]
        plan = Map(plan, computed, RelationDesc((*plan.desc.columns, *columns)))
    if draw(st.booleans()):
        plan = reduced(
            plan, draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True))
        )
    indexes = st.integers(0, len(plan.desc) - 1)
    visible = draw(st.none() | st.lists(indexes, min_size=1, max_size=4).map(tuple))
    if visible is None:
        return plan
    types = [plan.desc.types[index] for index in visible]
    return Project(
        plan,
        visible,
        RelationDesc(tuple(Column(f"c{i}", type) for i, type in enumerate(types))),
    )


def reduced(plan: Plan, aggregates: Sequence[Aggregate[Scalar]]) -> Reduce:
    columns = (Column(f"a{i}", aggregate.type) for i, aggregate in enumerate(aggregates))
    return Reduce(plan, (), tuple(aggregates), RelationDesc(tuple(columns)))


finishings = st.sampled_from(
    [
        Finishing(),
        Finishing(visible=1),
        Finishing(order=(Ordering(0),), limit=1),
        Finishing(limit=2, offset=1),
    ]
)


def none() -> Engine:
    raise AssertionError("no engine for large reads is needed")


def ask(
    plan: Plan,
    finishing: Finishing,
    read: CollectionInput,
    at: int,
    arrangements: Arrangements,
    small: Engine,
) -> Answer:
    inputs, limit = {FLIGHTS: read}, 1 << 30
    return peek(
        plan,
        finishing,
        inputs,
        Timestamp(at),
        arrangements=arrangements,
        small=small,
        large=none,
        threshold_bytes=limit,
    )


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> tuple[DuckDbEngine, Path]:
    root = tmp_path_factory.mktemp("lookups")
    return DuckDbEngine([str(root)], threads=1), root


@given(
    histories(),
    st.lists(st.tuples(plans(), finishings, st.integers(0, LAST)), min_size=1, max_size=6),
)
@settings(max_examples=40)
def test_a_lookup_is_the_scan_at_every_time(
    engine: tuple[DuckDbEngine, Path],
    parts: list[list[Update]],
    questions: list[tuple[Plan, Finishing, int]],
) -> None:
    small, root = engine
    lake = Lake(str(root / str(len(list(root.iterdir())))))
    collection = lake.create(FLIGHTS, DESC)
    *stored, tail = parts
    for number, part in enumerate(stored):
        put(collection, *part, to=4 * number + 4)
    read = CollectionInput(collection.pin(), updates_table(tail, DESC))
    arrangements = Arrangements(1 << 20)
    for plan, finishing, at in questions * 2:
        try:
            scanned = rows(small.run(plan, finishing, {FLIGHTS: read}, Timestamp(at)))
        except EvaluationError:
            with pytest.raises(EvaluationError):
                rows(ask(plan, finishing, read, at, arrangements, small))
            continue
        answer = ask(plan, finishing, read, at, arrangements, small)
        if finishing.order or not (finishing.limit or finishing.offset):
            assert Counter(rows(answer)) == Counter(scanned)
        else:  # any of the rows
            assert len(rows(answer)) == len(scanned)
        assert tuple(answer.columns) == plan.desc.columns[: finishing.visible]


def test_simple_columns_of_a_row_need_no_engine(tmp_path: Path, read: CollectionInput) -> None:
    small, arrangements = DuckDbEngine([str(tmp_path)]), Arrangements(1 << 20)
    row = Filter(GET, (Call("=", (ColumnRef(3, BIGINT), Literal(7, BIGINT)), BOOLEAN),))
    engines = []
    for scalar in COMPUTED[:1] + COMPUTED:
        plan = Map(row, (scalar,), RelationDesc((*DESC.columns, Column("computed", scalar.type))))
        engines.append(ask(plan, Finishing(), read, 0, arrangements, small).engine)
    assert engines == ["duckdb", *[lookups.NAME] * 5, "duckdb"]
    matching = Filter(GET, row.predicates)
    for finishing in (Finishing(order=(Ordering(0),)), Finishing(limit=1), Finishing(offset=1)):
        assert ask(matching, finishing, read, 0, arrangements, small).engine == lookups.NAME
        assert ask(plan, finishing, read, 1, arrangements, small).engine == "duckdb"  # two rows


def test_simple_aggregates_of_rows_need_no_engine(tmp_path: Path, read: CollectionInput) -> None:
    small, arrangements = DuckDbEngine([str(tmp_path)]), Arrangements(1 << 20)
    matching = Filter(GET, (Call("=", (ColumnRef(3, BIGINT), Literal(7, BIGINT)), BOOLEAN),))
    plans: list[Plan] = [matching, *(reduced(matching, [each]) for each in AGGREGATES)]
    answers = [ask(plan, Finishing(), read, 1, arrangements, small) for plan in plans]
    assert [answer.engine for answer in answers] == ["duckdb", *[lookups.NAME] * 7, "duckdb"]
    assert [rows(answer)[0][0] for answer in answers[1:]] == [2, 2, 14, 14, 16, 7, "7", 1]
    no_aggregate = Map(reduced(matching, []), (COMPUTED[0],), RelationDesc((Column("a", TEXT),)))
    assert rows(ask(no_aggregate, Finishing(), read, 1, arrangements, small)) == [("a",)]


def lookup(value: int) -> Plan:
    return Project(
        Filter(GET, (Call("=", (ColumnRef(0, INTEGER), Literal(value, INTEGER)), BOOLEAN),)),
        (1,),
        RelationDesc((DESC.columns[1],)),
    )


def test_rows_without_columns_are_counted_by_an_engine(
    tmp_path: Path, read: CollectionInput
) -> None:
    small, arrangements = DuckDbEngine([str(tmp_path)]), Arrangements(1 << 20)
    plan = Project(lookup(7).input, (), RelationDesc(()))
    for _ in range(3):
        assert ask(plan, Finishing(), read, 5, arrangements, small).engine == "duckdb"


@pytest.fixture
def read(tmp_path: Path) -> CollectionInput:
    collection = Lake(str(tmp_path)).create(FLIGHTS, DESC)
    for part in range(2):
        put(
            collection,
            *(Update((n, str(n), b"", n), Timestamp(part), 1) for n in range(100)),
            to=part + 1,
        )
    return CollectionInput(collection.pin())


def test_a_column_is_arranged_when_it_is_looked_up_by_again(
    tmp_path: Path, read: CollectionInput
) -> None:
    small, arrangements = DuckDbEngine([str(tmp_path)]), Arrangements(1 << 20)
    engines = [ask(lookup(7), Finishing(), read, 5, arrangements, small).engine for _ in range(3)]
    assert engines == ["duckdb", lookups.NAME, lookups.NAME]

    def engine_name(plan: Plan) -> str:
        inputs = {FLIGHTS: read}
        return engine_of(
            plan, Finishing(), inputs, Timestamp(5), arrangements=arrangements, threshold_bytes=1
        )

    assert (engine_name(lookup(8)), engine_name(GET)) == (lookups.NAME, "spark")
    beyond = ask(lookup(2**40), Finishing(), read, 5, arrangements, small)
    assert (rows(beyond), beyond.engine) == ([], lookups.NAME)


@pytest.mark.parametrize(
    ("function", "column", "expected"),
    [
        ("min", ColumnRef(0, BIGINT), -2),
        ("max", ColumnRef(0, BIGINT), 3),
        ("min", ColumnRef(1, TEXT), "B"),
        ("max", ColumnRef(1, TEXT), "ä"),
        ("count", ColumnRef(1, TEXT), 3),
        ("sum", ColumnRef(0, BIGINT), 1),
    ],
)
def test_aggregates_of_rows_that_differ(function: str, column: ColumnRef, expected: object) -> None:
    """Texts are ordered by their bytes, and NULL does not count."""
    table = pa.table({"n": [3, -2, None, 0], "name": ["a", "ä", "B", None]})
    type = numeric(MAX_PRECISION, 0) if function == "sum" else column.type
    result = Aggregate(function, (column,), BIGINT if function == "count" else type)
    for rows_in_order in (table, table.take([3, 2, 1, 0])):
        assert compute_aggregate(result, rows_in_order).to_pylist() == [expected]


def test_files_are_read_once_however_many_ask(
    tmp_path: Path, read: CollectionInput, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, arrangements, opened = DuckDbEngine([str(tmp_path)]), Arrangements(1 << 20), []

    class Counted(pq.ParquetFile):
        def __init__(self, path: str, **others: Any) -> None:
            opened.append(path)
            super().__init__(path, **others)

    monkeypatch.setattr(module.pq, "ParquetFile", Counted)
    ask(lookup(1), Finishing(), read, 5, arrangements, small)
    threads = [
        threading.Thread(target=ask, args=(lookup(1), Finishing(), read, 5, arrangements, small))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(opened) == sorted(file.path for file in read.version.all_files)
    assert rows(ask(lookup(1), Finishing(), read, 5, arrangements, small)) == [("1",), ("1",)]


def test_a_row_that_was_updated_often_is_found_in_memory(tmp_path: Path) -> None:
    """At every time, but by its whole history only where a read is within it."""
    small, arrangements = DuckDbEngine([str(tmp_path)]), Arrangements(1 << 20)
    collection, often = Lake(str(tmp_path)).create(FLIGHTS, DESC), lookups._AT_ONCE
    updates = [Update((7, "0", None, 0), Timestamp(0), 1)]
    for n in range(1, often):
        updates.append(Update((7, str(n - 1), None, 0), Timestamp(n), -1))
        updates.append(Update((7, str(n), None, 0), Timestamp(n), 1))
    put(collection, *updates, to=often)
    read = CollectionInput(collection.pin())
    ask(lookup(7), Finishing(), read, 0, arrangements, small)
    answers = {
        at: ask(lookup(7), Finishing(), read, at, arrangements, small)
        for at in (0, often // 3, often - 2, often - 1, often + 9)
    }
    assert {at: rows(answer) for at, answer in answers.items()} == {
        at: [(str(min(at, often - 1)),)] for at in answers
    }
    assert [answer.engine for answer in answers.values()] == [*["duckdb"] * 3, *["memory"] * 2]


def test_what_is_in_use_is_not_thrown_out_for_something_else(
    read: CollectionInput, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, now = read.version.all_files, [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    arrangements = Arrangements(sum(file.size_bytes for file in files) * module._GROWTH)

    def asked(column: str, value: Any) -> int | None:
        """The number of updates that are found at the second lookup."""
        arrangements.having(read.version, files, column, frozenset({value}), LATE)
        found = arrangements.having(read.version, files, column, frozenset({value}), LATE)
        return sum(table.num_rows for table in found) if found is not None else None

    assert asked("n", 3) == 2
    assert asked("name", "3") is None
    now[0] = 2 * module._HOT_S
    assert asked("name", "3") == 2
    assert arrangements._bytes <= arrangements.limit_bytes
    assert asked("n", 3) is None


def test_nothing_is_kept_beyond_the_limit(read: CollectionInput) -> None:
    arrangements = Arrangements(1)
    assert [
        arrangements.having(read.version, read.version.all_files, "n", frozenset({3}), LATE)
        for _ in range(3)
    ] == [None] * 3


def test_a_row_with_a_negative_multiplicity_is_told_of(tmp_path: Path) -> None:
    broken = updates_table([Update((1, "a", None, None), Timestamp(0), -1)], DESC)
    collection = Lake(str(tmp_path)).create(FLIGHTS, DESC)
    answer = ask(
        lookup(1),
        Finishing(),
        CollectionInput(collection.pin(), broken),
        3,
        Arrangements(0),
        DuckDbEngine(),
    )
    with pytest.raises(Exception, match="negative multiplicity"):
        answer.batches.read_all()


def test_a_cast_that_fails_on_a_row_fails(tmp_path: Path) -> None:
    collection = Lake(str(tmp_path)).create(FLIGHTS, DESC)
    there = updates_table([Update((2**31 - 1, "a", None, None), Timestamp(0), 1)], DESC)
    narrow: Call[Scalar] = Call(
        "=", (Cast(ColumnRef(0, INTEGER), SMALLINT), Literal(5, SMALLINT)), BOOLEAN
    )
    named: Call[Scalar] = Call("=", (ColumnRef(1, TEXT), Literal("a", TEXT)), BOOLEAN)
    read = CollectionInput(collection.pin(), there)
    answer = ask(
        Filter(GET, (named, narrow)), Finishing(), read, 3, Arrangements(0), DuckDbEngine()
    )
    with pytest.raises(EvaluationError, match="out of range"):
        answer.batches.read_all()
