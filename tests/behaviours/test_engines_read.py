"""What every engine promises of what it reads: collections at a time with their multiplicities,
tables, and nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fixtures.engines import ALL, ALSO_REMOTE, AT, answer, multiset, reduce, ref
from fixtures.lakes import updates_table
from fixtures.plans import (
    NAN,
    ROWS,
    VALUES,
    VALUES_DESC,
    aggregate,
    call,
    computed,
    desc_of,
    get,
    lit,
    row_text,
    rows,
    table,
)

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    TEXT,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    array,
    numeric,
)
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.collections import files
from reclock.collections.folder import Folder
from reclock.collections.lake import Lake
from reclock.compute.engines.engine import CollectionInput, Engine, TableInput
from reclock.errors import NegativeMultiplicity
from reclock.plan.relational import (
    Distinct,
    Except,
    Filter,
    Get,
    Intersect,
    Join,
    JoinKind,
    Map,
    Ordering,
    Plan,
    Project,
    TopK,
    Union,
)
from reclock.plan.scalars import Call, ColumnRef, Literal, Scalar

DESC = RelationDesc(
    (
        Column("c1", TEXT),
        Column('we"ird `n', DOUBLE),
        Column("n", BIGINT),
        Column("tz", TIMESTAMPTZ),
    )
)
NOON = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
U2 = StorageCollectionId(GlobalId("u2"))
U3 = StorageCollectionId(GlobalId("u3"))


def append(
    lake: Lake, id: StorageCollectionId, updates: list[Update], *, is_monotonic: bool = False
) -> CollectionInput:
    """The updates, one append for each time."""
    collection = lake.create(id, DESC, is_monotonic=is_monotonic)
    for time in sorted({update.time for update in updates}):
        part = updates_table([update for update in updates if update.time == time], DESC)
        collection.append(part, expected_upper=collection.upper(), new_upper=Timestamp(time + 1))
    return CollectionInput(collection.pin())


def change(name: str | None, value: float, time: int, diff: int = 1) -> Update:
    return Update((name, value, 7, NOON), Timestamp(time), diff)


@ALSO_REMOTE
def test_a_collection_is_read_at_a_time_with_its_multiplicities(engine: Engine, lake: Lake) -> None:
    inputs = append(
        lake,
        U2,
        [
            change("a", 1.5, 5, 2),
            change(None, NAN, 5),
            change("a", 1.5, 7, -1),
            change(None, NAN, 9, -1),
        ],
    )
    plan = get(U2, DESC)
    nothing = []
    first = [("a", 1.5, 7, NOON)] * 2
    second = [("a", 1.5, 7, NOON)]
    third = [("a", 1.5, 7, NOON)]
    null = [(None, NAN, 7, NOON)]
    for at, expected in (
        (4, nothing),
        (5, first + null),
        (6, first + null),
        (8, second + null),
        (9, third),
        (99, third),
    ):
        assert multiset(answer(engine, plan, {U2: inputs}, at=at)) == multiset(expected), at


def test_a_collection_that_never_had_an_update_is_empty(engine: Engine, lake: Lake) -> None:
    empty = CollectionInput(lake.create(U2, DESC).pin())
    assert answer(engine, get(U2, DESC), {U2: empty}) == []
    assert answer(engine, reduce(get(U2, DESC), (), aggregate("count")), {U2: empty}) == [(0,)]


@ALSO_REMOTE
def test_updates_that_are_not_in_the_table_yet_are_read_with_it(engine: Engine, lake: Lake) -> None:
    version = append(lake, U2, [change("a", 1.5, 5), change(None, NAN, 5)]).version
    input = CollectionInput(
        version,
        updates_table([change("a", 1.5, 6, -1), change(None, NAN, 6), change("b", 0.0, 9)], DESC),
    )
    nan, plan = (None, NAN, 7, NOON), get(U2, DESC)
    for at, expected in (
        (5, [("a", 1.5, 7, NOON), nan]),
        (6, [nan, nan]),
        (9, [nan, nan, ("b", 0.0, 7, NOON)]),
    ):
        assert multiset(answer(engine, plan, {U2: input}, at=at)) == multiset(expected), at
    unfilled = CollectionInput(
        lake.create(U3, DESC).pin(), updates_table([change("b", 0.0, 9)], DESC)
    )
    assert answer(engine, get(U3, DESC), {U3: unfilled}) == [("b", 0.0, 7, NOON)]


def test_a_monotonic_collection_is_read_with_its_multiplicities(engine: Engine, lake: Lake) -> None:
    inputs = append(
        lake,
        U2,
        [change("a", 1.5, 5, 3), change("b", 0.0, 5), change("b", 0.0, 6)],
        is_monotonic=True,
    )
    expected = [("a", 1.5, 7, NOON)] * 3 + [("b", 0.0, 7, NOON)]
    assert multiset(answer(engine, get(U2, DESC), {U2: inputs}, at=5)) == multiset(expected)
    assert multiset(answer(engine, get(U2, DESC), {U2: inputs}, at=6)) == multiset(
        [*expected, ("b", 0.0, 7, NOON)]
    )


def test_a_row_with_a_negative_multiplicity_is_an_error_with_a_way_out_and_never_an_answer(
    engine: Engine, lake: Lake
) -> None:
    collection = append(lake, U2, [change("a", 1.5, 5, -1)])
    with pytest.raises(NegativeMultiplicity) as raised:
        answer(engine, get(U2, DESC), {U2: collection})
    assert (raised.value.sqlstate, "snapshot" in str(raised.value.hint)) == ("XX001", True)


@ALSO_REMOTE
def test_rows_that_agree_in_what_is_read_do_not_hide_a_negative_multiplicity(
    engine: Engine, lake: Lake
) -> None:
    damaged = Get(U2, "damaged", DESC, may_be_negative=True)
    names = Project(damaged, (0,), desc_of(TEXT))
    plans: list[Plan] = [
        names,
        reduce(damaged, (), aggregate("count")),
        reduce(damaged, (0,), aggregate("sum", ref(damaged, 2))),
        Distinct(names),
        Join(names, get(U3, DESC), JoinKind.SEMI, ((0, 0),), (), desc_of(TEXT)),
    ]
    if engine.name == "spark":
        plans = plans[:2]
    first = [change("a", 1.0, 5, 2), *(change("b", float(i), 5) for i in range(9))]
    inputs = {
        U2: append(lake, U2, [*first, change("a", 1.0, 6, -1), change("a", 2.0, 7, -1)]),
        U3: append(lake, U3, [change("a", 1.0, 5)]),
    }
    for plan in plans:
        assert answer(engine, plan, inputs, at=6)
        rows(engine.compare(plan, inputs, Timestamp(6), Timestamp(5), {}))
        with pytest.raises(NegativeMultiplicity):
            answer(engine, plan, inputs, at=7)
        with pytest.raises(NegativeMultiplicity):
            rows(engine.compare(plan, inputs, Timestamp(7), Timestamp(6), {}))


def test_columns_that_nobody_reads_do_not_change_multiplicities(engine: Engine, lake: Lake) -> None:
    inputs = append(
        lake,
        U2,
        [change("a", 1.0, 5), change("a", 2.0, 5), change("b", 3.0, 5), change("b", 3.0, 6, -1)],
    )
    whole = get(U2, DESC)
    names = Project(whole, (0,), desc_of(TEXT))
    assert multiset(answer(engine, names, {U2: inputs})) == multiset([("a",), ("a",)])
    assert answer(engine, reduce(whole, (), aggregate("count")), {U2: inputs}) == [(2,)]
    assert multiset(
        answer(engine, reduce(whole, (0,), aggregate("sum", ref(whole, 1))), {U2: inputs})
    ) == [row_text(("a", 3.0))]


def test_a_column_has_the_same_values_whatever_else_is_read(engine: Engine, lake: Lake) -> None:
    changes = [change("ab"[i % 2], float(i % 3), 5) for i in range(9)] + [
        change("a", 0.0, 6, -1),
        change(None, 1.0, 6),
    ]
    inputs = {U2: append(lake, U2, changes), VALUES: append(lake, VALUES, changes[2:8])}
    texts, values = get(U2, DESC), get(VALUES, DESC)
    number, bigger = ref(texts, 1), (call(">", ref(texts, 1), 1.0),)
    both = desc_of(*DESC.types, *DESC.types)
    plans: list[Any] = [
        Map(texts, (call("+", number, 1.0),), desc_of(*DESC.types, DOUBLE)),
        Filter(texts, bigger),
        Project(texts, (1, 0, 1), desc_of(DOUBLE, TEXT, DOUBLE)),
        Join(
            texts,
            values,
            JoinKind.LEFT,
            ((0, 0), (1, 1)),
            (call("<=", ref(texts, 2), ColumnRef(6, BIGINT)),),
            both,
        ),
        Join(texts, values, JoinKind.ANTI, ((1, 1),), bigger, DESC),
        reduce(
            texts, (0, 1), aggregate("max", ref(texts, 3)), aggregate("count", filter=bigger[0])
        ),
        Distinct(texts),
        TopK(texts, (0,), (Ordering(1),), 1, 1),
        Union((texts, values), DESC),
        Except(texts, values),
        Intersect(texts, values),
    ]
    if engine.name == "spark":
        plans = plans[3:6]
    for plan in plans:
        whole = answer(engine, plan, inputs)
        assert whole
        for index, column_type in enumerate(plan.desc.types):
            alone = answer(engine, Project(plan, (index,), desc_of(column_type)), inputs)
            assert multiset(alone) == multiset((row[index],) for row in whole), (
                type(plan).__name__,
                index,
            )


def test_what_could_fail_is_evaluated_only_for_rows_that_are_there(
    engine: Engine, lake: Lake
) -> None:
    """Not for deleted rows, nor for rows that a semi-join leaves out, whatever an optimizer moves."""
    deleted = [change("a", 0.0, 5), change("a", 0.0, 6, -1), change("b", 2.0, 5)]
    inputs = {U2: append(lake, U2, [*deleted, change("c", 4.0, 6)])}
    inputs[VALUES] = append(lake, VALUES, [change("z", 0.0, 5), change("b", 2.0, 5)])
    texts, values = get(U2, DESC), get(VALUES, DESC)

    def half(plan: Any, index: int = 1) -> Scalar:
        return call("/", 1.0, ref(plan, index))

    def with_half(plan: Any) -> Map:
        return Map(plan, (half(plan),), desc_of(*plan.desc.types, DOUBLE))

    semi = Join(values, texts, JoinKind.SEMI, ((0, 0),), (), DESC)
    both = desc_of(*DESC.types, *DESC.types)
    plans: list[tuple[Any, int]] = [
        (Filter(texts, (call(">", half(texts), 0.3),)), 1),
        (Filter(with_half(texts), (call(">", ref(with_half(texts), 4), 0.3),)), 1),
        (Filter(semi, (call(">", half(semi), 0.3),)), 1),
        (Filter(with_half(semi), (call(">", ref(with_half(semi), 4), 0.3),)), 1),
        (Join(texts, texts, JoinKind.INNER, ((0, 0),), (call(">", half(texts), 0.3),), both), 1),
        (Join(texts, texts, JoinKind.LEFT, ((0, 0),), (call(">", half(texts, 1), 0.3),), both), 2),
        (Join(texts, texts, JoinKind.ANTI, ((0, 0),), (call(">", half(texts), 0.3),), DESC), 1),
    ]
    for plan, count in plans:
        assert len(answer(engine, plan, inputs)) == count, plan


def test_negative_zero_is_zero_for_every_operator(engine: Engine, lake: Lake) -> None:
    collection = append(lake, U2, [change("a", -0.0, 5), change("b", 0.0, 5)], is_monotonic=True)
    plan = Distinct(Project(get(U2, DESC), (1,), desc_of(DOUBLE)))
    assert multiset(answer(engine, plan, {U2: collection})) == [row_text((0.0,))]


@ALSO_REMOTE
def test_answers_have_the_types_and_names_of_the_plan(engine: Engine, lake: Lake) -> None:
    collection = append(lake, U2, [change("a", 1.5, 5)])
    answered = engine.run(get(U2, DESC), ALL, {U2: collection}, AT)
    assert answered.engine == engine.name
    assert answered.columns == DESC.columns
    assert answered.batches.schema == pa.schema(
        [
            ("c1", pa.string()),
            ('we"ird `n', pa.float64()),
            ("n", pa.int64()),
            ("tz", pa.timestamp("us", "UTC")),
        ]
    )
    assert answered.batches.read_all().num_rows == 1


@ALSO_REMOTE
def test_an_empty_table_is_read(engine: Engine) -> None:
    desc = desc_of(INTEGER, TEXT, TIMESTAMPTZ, numeric(10, 2), array(TEXT))
    empty = get(desc=desc)
    assert answer(
        engine, reduce(empty, (), aggregate("count")), {VALUES: TableInput(table(desc, []))}
    ) == [(0,)]


@ALSO_REMOTE
def test_a_table_in_many_pieces_is_read_whole(engine: Engine) -> None:
    piece = table(desc_of(INTEGER), [(1,), (2,)])
    pieces = pa.concat_tables(
        [piece.slice(0, 0), piece.slice(0, 0), piece, piece.slice(0, 0), piece]
    )
    assert multiset(
        answer(engine, get(desc=desc_of(INTEGER)), {VALUES: TableInput(pieces)})
    ) == multiset([(1,), (1,), (2,), (2,)])


@pytest.mark.parametrize(
    ("engine", "has_bounds"),
    [
        pytest.param("duckdb", False, id="duckdb-as written"),
        pytest.param("duckdb", True, id="duckdb-with bounds of floats, as older versions wrote"),
        pytest.param(
            "spark",
            True,
            id="spark-with bounds of floats, as older versions wrote",
            marks=pytest.mark.spark,
        ),
    ],
    indirect=["engine"],
)
def test_where_keeps_the_rows_for_which_its_condition_as_a_column_is_true(
    engine: Engine, lake: Lake, has_bounds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each collection is one file of two rows, so that the statistics of the file say as much as
    they can."""
    if has_bounds:
        monkeypatch.setattr(files, "parquet_writer", _writer_of_all_statistics)
    of_nan = next(
        row
        for row in ROWS
        if row[VALUES_DESC.names.index("x")] != row[VALUES_DESC.names.index("x")]
    )
    chosen = ROWS[:5:2] if engine.name == "duckdb" else ROWS[4:5]
    for number, row in enumerate(chosen):
        id = StorageCollectionId(GlobalId(f"u{100 + number}"))
        collection = lake.create(id, VALUES_DESC)
        updates = [Update(values, Timestamp(5), 1) for values in (row, of_nan)]
        collection.append(
            updates_table(updates, VALUES_DESC), expected_upper=Timestamp(0), new_upper=Timestamp(6)
        )
        inputs, plan = {id: CollectionInput(collection.pin())}, get(id, VALUES_DESC)
        conditions = _comparisons((row, of_nan, ROWS[0]), only_floats=engine.name == "spark")
        memory = {id: TableInput(table(VALUES_DESC, (row, of_nan)))}
        as_columns = answer(engine, computed(plan, *conditions), memory)
        assert multiset(answer(engine, computed(plan, *conditions), inputs)) == multiset(as_columns)
        counts = [
            reduce(
                computed(Filter(get(id, VALUES_DESC), (condition,)), lit(place)),
                (0,),
                aggregate("count"),
            )
            for place, condition in enumerate(conditions)
        ]
        passing = {}
        for first in range(0, len(counts), 20):
            some = Union(tuple(counts[first : first + 20]), counts[0].desc)
            passing |= dict(answer(engine, some, inputs))
        for place, condition in enumerate(conditions):
            assert passing.get(place, 0) == sum(values[place] is True for values in as_columns), (
                condition
            )


def _comparisons(rows: Sequence[Sequence[Any]], *, only_floats: bool) -> list[Call[Scalar]]:
    """Every column compared with its own values in every way."""
    compared: list[Call[Scalar]] = []
    for index, type in enumerate(VALUES_DESC.types):
        values = {repr(row[index]): row[index] for row in rows if row[index] is not None}
        for value in values.values() if type.is_float or not only_floats else ():
            sides: tuple[Scalar, Scalar] = (ColumnRef(index, type), Literal(value, type))
            compared += [Call(operator, sides, BOOLEAN) for operator in ("=", "<>", "<", ">=", ">")]
    return compared


def _writer_of_all_statistics(
    folder: Folder, path: str, schema: pa.Schema, **options: Any
) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, filesystem=folder.filesystem, **options)
