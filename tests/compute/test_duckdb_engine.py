"""DuckDB as an engine of plans: it reads nothing but the lake, spills, stops when told, and stands
several threads."""

import os
import re
import resource
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from fixtures.lakes import DESC, FLIGHTS, put, update, updates_table
from fixtures.planning import World
from fixtures.plans import aggregate, counted, crossed, desc_of, get, rows

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, TEXT, Column, RelationDesc, array
from reclock.algebra.timestamps import Timestamp
from reclock.collections.lake import Lake
from reclock.compute import rendering
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import CollectionInput, TableInput
from reclock.compute.engines.spill import SpillFolder
from reclock.compute.expressions.json_functions import JSON_FUNCTIONS
from reclock.compute.expressions.python_functions import PythonFunction
from reclock.compute.operators.rules import EngineRelation
from reclock.errors import InternalError, OutOfMemory, QueryCanceled
from reclock.plan.functions.json_calls import PREFIX
from reclock.plan.relational import Finishing, Get, Join, JoinKind, Ordering, Project, Reduce
from reclock.plan.scalars import ColumnRef
from reclock.sql.statements.query.values import Select

AT = Timestamp(10)


@pytest.fixture
def flights(tmp_path: Path) -> CollectionInput:
    collection = Lake(str(tmp_path / "lake")).create(FLIGHTS, DESC)
    put(collection, *(update(f"f{number}", number, 5) for number in range(2000)), to=6)
    return CollectionInput(collection.pin())


def source() -> Get:
    return get(FLIGHTS, DESC)


def test_it_reads_no_file_outside_its_roots(flights: CollectionInput, tmp_path: Path) -> None:
    elsewhere = DuckDbEngine([str(tmp_path / "another")])
    with pytest.raises(InternalError):
        rows(elsewhere.run(counted(source()), Finishing(), {FLIGHTS: flights}, AT))
    engine = DuckDbEngine([str(tmp_path / "lake")])
    assert rows(engine.run(counted(source()), Finishing(), {FLIGHTS: flights}, AT)) == [(2000,)]


def test_an_interrupted_query_stops_and_says_so(flights: CollectionInput, tmp_path: Path) -> None:
    engine = DuckDbEngine([str(tmp_path)])
    answer = engine.run(crossed(source(), 2), Finishing(), {FLIGHTS: flights}, AT)
    answer.batches.read_next_batch()
    answer.interrupt()
    with pytest.raises(QueryCanceled):
        answer.batches.read_all()


def test_rows_come_in_batches_while_they_are_computed(
    flights: CollectionInput, tmp_path: Path
) -> None:
    engine = DuckDbEngine([str(tmp_path)])
    answer = engine.run(crossed(source(), 2), Finishing(), {FLIGHTS: flights}, AT)
    assert 0 < answer.batches.read_next_batch().num_rows < 2000**2
    answer.batches.close()


def test_what_still_computes_when_the_engine_is_closed_is_interrupted(
    flights: CollectionInput, tmp_path: Path
) -> None:
    engine = DuckDbEngine([str(tmp_path)])
    unread_answer = engine.run(crossed(source(), 2), Finishing(), {FLIGHTS: flights}, AT)
    unread_answer.batches.read_next_batch()
    counting = engine.run(counted(crossed(source(), 3)), Finishing(), {FLIGHTS: flights}, AT)
    with ThreadPoolExecutor(1) as pool:
        computing = pool.submit(rows, counting)
        time.sleep(0.2)
        engine.close()
        with pytest.raises(QueryCanceled):
            computing.result()
    for answer in (unread_answer, counting):
        answer.interrupt()
    assert rows(engine.run(counted(source()), Finishing(), {FLIGHTS: flights}, AT)) == [(2000,)]


def test_several_threads_use_one_engine(flights: CollectionInput, tmp_path: Path) -> None:
    engine = DuckDbEngine([str(tmp_path)])

    def count(_: int) -> int:
        ((found,),) = rows(engine.run(counted(source()), Finishing(), {FLIGHTS: flights}, AT))
        return int(found)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(count, range(20))) == {2000}


def test_what_does_not_fit_is_spilled_and_what_cannot_be_fails_while_others_go_on(
    flights: CollectionInput, tmp_path: Path
) -> None:
    spill = tmp_path / "spill"
    engine = DuckDbEngine([str(tmp_path)], memory_limit="96MB", threads=2, spill=spill)
    many = crossed(source(), 1)
    inputs = {FLIGHTS: flights}
    ordered = engine.run(many, Finishing((Ordering(1), Ordering(0))), inputs, AT)
    first = ordered.batches.read_next_batch()
    assert first.column("e1")[0].as_py() == 0
    assert [file for file in spill.rglob("*") if file.is_file()]
    arrays = Reduce(many, (), (aggregate("array_agg", ColumnRef(0, TEXT)),), desc_of(array(TEXT)))
    gathered = engine.run(arrays, Finishing(), inputs, AT)
    with pytest.raises(OutOfMemory) as refused:
        rows(gathered)
    assert refused.value.sqlstate == "53200"
    assert rows(engine.run(counted(source()), Finishing(), inputs, AT)) == [(2000,)]
    assert first.num_rows + ordered.batches.read_all().num_rows == 2000**2
    engine.close()
    assert list(spill.iterdir()) == []


def test_a_statement_fails_before_it_fills_the_disk(
    flights: CollectionInput, tmp_path: Path
) -> None:
    spill = tmp_path / "spill"
    engine = DuckDbEngine(
        [str(tmp_path)], memory_limit="96MB", threads=2, spill=spill, spill_limit="8MB"
    )
    inputs, ordered = {FLIGHTS: flights}, Finishing((Ordering(1), Ordering(0)))
    with pytest.raises(OutOfMemory) as refused:
        rows(engine.run(crossed(source(), 1), ordered, inputs, AT))
    assert "query_spill" in str(refused.value.hint)
    assert sum(file.stat().st_size for file in spill.rglob("*")) <= 8 << 20
    assert rows(engine.run(counted(source()), Finishing(), inputs, AT)) == [(2000,)]
    engine.close()


def test_a_series_of_constants_takes_no_memory() -> None:
    statement = World().plan(
        "SELECT count(*), min(x), max(x) FROM generate_series(1, 30000000, 3) x"
    )
    plan = cast(Select, statement).plan
    engine = DuckDbEngine(memory_limit="48MB", threads=1)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert rows(engine.run(plan, Finishing(), {}, AT)) == [(10_000_000, 1, 29_999_998)]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 64 << 10


def test_what_a_killed_process_has_spilled_is_removed_by_the_next(tmp_path: Path) -> None:
    lives, dies = SpillFolder(tmp_path), os.fork()
    if not dies:
        try:
            folder = SpillFolder(tmp_path)
            (folder.path / "block").touch()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(dies, 0)
    (left,) = set(tmp_path.iterdir()) - {lives.path}
    assert (left / "block").exists()
    following = SpillFolder(tmp_path)
    assert set(tmp_path.iterdir()) == {lives.path, following.path}
    following.close()
    lives.close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_known_of_diffs_spares_counting_and_changes_no_answer(tmp_path: Path) -> None:
    """Once, twice, and once less: from when on rows must be counted is seen from the statistics of
    the files at that time."""
    collection = Lake(str(tmp_path / "lake")).create(FLIGHTS, DESC)
    put(collection, update("once", 1, 1), update("once", 1, 2), to=3)
    put(collection, update("twice", 2, 4, 2), to=5)
    put(collection, update("once", 1, 6, -1), to=7)
    engine, read = DuckDbEngine([str(tmp_path)]), CollectionInput(collection.pin())
    relation_at = {at: read.relation("x", Timestamp(at)) for at in (2, 4, 6)}
    assert [(relation.is_single, relation.is_monotonic) for relation in relation_at.values()] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    counts = {
        at: rows(engine.run(counted(source()), Finishing(), {FLIGHTS: read}, Timestamp(at)))
        for at in relation_at
    }
    assert counts == {2: [(2,)], 4: [(4,)], 6: [(3,)]}
    tail = updates_table([update("once", 1, 3, -1)])
    assert not CollectionInput(collection.pin(), tail).relation("x", Timestamp(2)).is_monotonic


def test_few_other_diffs_than_one_are_seen_from_statistics(tmp_path: Path) -> None:
    collection = Lake(str(tmp_path / "lake")).create(FLIGHTS, DESC)
    put(collection, *(update("row", number, 1) for number in range(8)), to=2)
    put(collection, update("row", 0, 2, -1), to=3)
    put(collection, update("row", 1, 3, -1), update("row", 9, 3), to=4)
    read = CollectionInput(collection.pin())
    relations = [read.relation("x", Timestamp(at)) for at in (1, 2, 3)]
    assert [relation.is_mostly_single for relation in relations] == [True, True, False]
    tail = updates_table([update("row", 2, 2, -1)] * 3)
    assert not CollectionInput(collection.pin(), tail).relation("x", Timestamp(2)).is_mostly_single


def test_a_query_sends_only_the_columns_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog query joins relations of 30 columns: with all of them in each step, the engine
    takes longer to plan the statement than to answer it."""
    wide = RelationDesc(tuple(Column(f"wide{number}", BIGINT) for number in range(30)))
    ids = [StorageCollectionId(GlobalId(name)) for name in ("s1", "s2")]
    left, right = (Get(id, str(id), wide) for id in ids)
    joined = Join(
        left,
        right,
        JoinKind.INNER,
        ((3, 4),),
        (),
        RelationDesc(wide.columns * 2),
    )
    rows = TableInput(pa.table({name: [number] for number, name in enumerate(wide.names)}))
    shifted = TableInput(pa.table({name: [number - 1] for number, name in enumerate(wide.names)}))
    statements: list[str] = []
    select = rendering.select

    def noted(*arguments: Any) -> rendering.EngineStatement:
        statements.append(select(*arguments).sql)
        return select(*arguments)

    monkeypatch.setattr(rendering, "select", noted)
    plan = Project(joined, (7,), RelationDesc(wide.columns[7:8]))
    answer = DuckDbEngine().run(plan, Finishing(), dict(zip(ids, (rows, shifted), strict=True)), AT)
    assert [batch.to_pylist() for batch in answer.batches] == [[{"wide7": 7}]]
    [statement] = statements
    assert set(re.findall(r"wide\d+", statement)) == {"wide3", "wide4", "wide7"}
    assert "NULL" not in statement


def operands_of_quotients(sql: str) -> list[str]:
    """What stands between the parentheses of each."""
    operands = []
    for call in re.finditer(r"reclock_quotient\(", sql):
        depth, end = 1, call.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(sql[end], 0)
            end += 1
        operands.append(sql[call.end() : end - 1])
    return operands


@pytest.mark.parametrize(
    ("query", "quotients"),
    [
        ("SELECT a / b / b FROM t", 4),
        ("SELECT sum(a / b), max(a / b) FROM t", 1),
        ("SELECT avg(a), avg(a * b) FROM t", 2),
    ],
)
def test_operands_of_quotients_are_written_few_times(query: str, quotients: int) -> None:
    """The macro writes its operands many times. If one is a quotient or an aggregate, DuckDB plans
    for seconds."""
    world = World()
    world.execute("CREATE TABLE t (a numeric(15,2), b numeric(15,2))")
    select = world.select(query)
    table = world.catalog.relation(world.item("t").id)
    relations = {str(table.collection): EngineRelation("r", is_counted=False)}
    written = rendering.select(select.plan, select.finishing, "duckdb", relations, AT).sql
    operands = operands_of_quotients(written)
    assert 1 <= len(operands) <= quotients
    assert not re.search(r"reclock_quotient|sum\(", " ".join(operands))


def test_a_number_that_is_rounded_to_a_column_of_digits_is_written_once() -> None:
    """Every number of digits is a branch of its own."""
    world = World()
    world.execute("CREATE TABLE t (a numeric(15,2), digits int)")
    select = world.select("SELECT round(a * 7, digits + 1), trunc(a * 7, digits + 1) FROM t")
    table = world.catalog.relation(world.item("t").id)
    relations = {str(table.collection): EngineRelation("r", is_counted=False)}
    written = rendering.select(select.plan, select.finishing, "duckdb", relations, AT).sql
    assert len(re.findall(r"\* CAST\('7'", written)) == 2, written


@pytest.mark.parametrize("raised", [KeyError("planted"), KeyboardInterrupt()])
def test_an_exception_in_a_python_function_is_no_error_of_data(
    raised: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view would show an error of data until its rows change."""

    def fail(*_: str) -> str:
        raise raised

    failing = PythonFunction(fail, (pa.string(), pa.string()), pa.string())
    monkeypatch.setitem(
        cast(dict[str, PythonFunction], JSON_FUNCTIONS), f"{PREFIX}normalized", failing
    )
    plan = World().select("SELECT normalize(x) FROM (VALUES ('ä'), ('ö')) AS v (x)").plan
    with pytest.raises(InternalError):
        rows(DuckDbEngine().run(plan, Finishing(), {}, AT))
