"""SUBSCRIBE: the rows at one time and then exactly what changes, at the times at which it
changes."""

import threading
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa
import pytest

from reclock.adapter.query import envelopes, subscription
from reclock.adapter.query.queries import QueryExecution
from reclock.adapter.session.session import Session
from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.compute.engines import duckdb
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.errors import (
    DroppedMeanwhile,
    EvaluationError,
    InvalidColumnReference,
    InvalidOption,
    NotReadable,
    QueryCanceled,
    StatementTimeout,
    TransactionActive,
    UnknownColumn,
    UnsupportedSql,
)
from reclock.protocol.compute import Refresh, Refreshed
from reclock.protocol.introspection import IntrospectionType, Row
from reclock.runtime.environment import Environment
from reclock.sql.names import SessionNames

QUERIES = (
    "SELECT * FROM a",
    "SELECT n, count(*) AS c FROM a GROUP BY n",
    "SELECT a.id, b.id FROM a JOIN b ON a.n = b.n",
    "SELECT max(n) FROM a",
    "SELECT id FROM a ORDER BY n DESC LIMIT 1",
)


@pytest.fixture
def ada(environment: Environment) -> Session:
    session = Session(environment)
    run(
        session,
        (
            "CREATE TABLE a (id int, n int); CREATE TABLE b (id int, n int); INSERT INTO a "
            "VALUES (1, 10), (2, 20), (2, 20)"
        ),
    )
    return session


@pytest.fixture
def bob(ada: Session) -> Session:
    return Session(ada.environment)


def run(session: Session, text: str) -> list[tuple[object, ...]]:
    """The rows of the last statement."""
    return [list(result.rows()) for result in session.execute(text)][-1]


def everything(session: Session, cursor: str) -> list[tuple[object, ...]]:
    """What a subscription's cursor has, until nothing more comes."""
    found: list[tuple[object, ...]] = []
    while rows := run(session, f"FETCH ALL FROM {cursor} WITH (TIMEOUT = '500ms')"):
        found += rows
    return found


def test_what_was_sent_sums_to_what_is_there_at_every_time(ada: Session, bob: Session) -> None:
    run(ada, "BEGIN")
    for number, query in enumerate(QUERIES):
        run(ada, f"DECLARE c{number} CURSOR FOR SUBSCRIBE TO ({query})")
    run(
        bob,
        (
            "INSERT INTO b VALUES (7, 10), (8, 11); UPDATE a SET n = n + 1; UPDATE a SET n = "
            "n; DELETE FROM a WHERE n = 21"
        ),
    )
    run(
        bob, "BEGIN; INSERT INTO a VALUES (4, 11); INSERT INTO b VALUES (9, 11); COMMIT; TRUNCATE b"
    )
    for number, query in enumerate(QUERIES):
        updates = everything(ada, f"c{number}")
        times = sorted({row[0] for row in updates})
        assert [row[0] for row in updates] == sorted(row[0] for row in updates)
        assert len(times) > 1
        for at in times:
            summed: Counter[tuple[object, ...]] = Counter()
            for time, diff, *row in updates:
                if time <= at:
                    summed[tuple(row)] += diff
            assert {row: count for row, count in summed.items() if count} == Counter(
                run(bob, f"{query} AS OF {at}")
            )
    run(ada, "COMMIT")


def test_changes_of_a_table_are_read_from_its_log_and_nothing_is_computed(
    ada: Session, bob: Session, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(bob, "CREATE VIEW same AS SELECT * FROM a")
    run(ada, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a; DECLARE v CURSOR FOR SUBSCRIBE same")
    for cursor in ("c", "v"):
        assert sorted(row[1:] for row in everything(ada, cursor)) == [(1, 1, 10), (2, 2, 20)]
    run(bob, "UPDATE a SET n = n + 1 WHERE id = 2")
    environment.stores.tables.apply()
    run(
        bob,
        (
            "INSERT INTO a VALUES (1, 10), (NULL, NULL); UPDATE a SET n = n; DELETE FROM a "
            "WHERE id = 1"
        ),
    )
    monkeypatch.setattr(QueryExecution, "run", None)
    for cursor in ("c", "v"):
        changed = everything(ada, cursor)
        assert [
            sorted((row[1:] for row in rows), key=str)
            for _, rows in groupby(changed, key=lambda row: row[0])
        ] == [
            [(-2, 2, 20), (2, 2, 21)],
            [(1, 1, 10), (1, None, None)],
            [(-2, 1, 10)],
        ]


def refresh(environment: Environment) -> None:
    """What a tick does to the indexes of the default cluster."""
    at, snapshot = environment.stores.oracle.read_ts(EPOCH_MS), environment.stores.catalog.sync()
    controller = environment.control_plane.compute_controller(
        environment.stores.planner_catalog().cluster_id("default")
    )
    ids = tuple(dataflow.id for dataflow in controller.dataflows())
    assert all(
        isinstance(done, Refreshed)
        for done in controller.refresh(Refresh(ids, at, "test", snapshot.content_upper))
    )


def test_changes_of_a_view_are_read_from_its_index_and_nothing_is_computed(
    ada: Session, bob: Session, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(
        bob,
        (
            "CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS c FROM a GROUP BY n; CREATE "
            "VIEW w AS SELECT c, n FROM v"
        ),
    )
    run(bob, "SELECT * FROM v")  # now the index is there
    environment.stores.tables.apply()
    refresh(environment)
    run(ada, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE v; DECLARE w CURSOR FOR SUBSCRIBE w")
    assert [row[1:] for row in everything(ada, "c")] == [(1, 10, 1), (1, 20, 2)]
    assert [row[1:] for row in everything(ada, "w")] == [(1, 1, 10), (1, 2, 20)]
    computed = []
    monkeypatch.setattr(
        DuckDbEngine,
        "compare",
        lambda engine, plan, *_: computed.append(plan) or engine.run(plan, *_),
    )
    run(bob, "UPDATE a SET n = 20 WHERE id = 1")
    environment.stores.tables.apply()
    assert everything(ada, "c") == []  # it is as new as the index
    refresh(environment)
    assert [row[1:] for row in everything(ada, "c")] == [(-1, 10, 1), (-1, 20, 2), (1, 20, 3)]
    assert computed == []
    monkeypatch.undo()
    assert [row[1:] for row in everything(ada, "w")] == [(-1, 1, 10), (-1, 2, 20), (1, 3, 20)]
    monkeypatch.setattr(subscription, "INDEX_PATIENCE_S", 0.0)
    run(bob, "DELETE FROM a WHERE id = 1")
    assert [row[1:] for row in everything(ada, "c")] == [(1, 20, 2), (-1, 20, 3)]
    run(bob, "DROP INDEX v_primary_idx CASCADE; TRUNCATE a")
    assert [row[1:] for row in everything(ada, "c")] == [(-1, 20, 2)]


def test_changes_of_a_query_are_made_of_those_of_what_it_reads(
    ada: Session, bob: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every operator has a rule; the others are computed twice and compared."""
    rendered: list[bool] = []
    for name, is_by_rule in (("delta.render", True), ("rendering.comparison", False)):
        module, function = name.split(".")
        original = getattr(getattr(duckdb, module), function)
        spied = lambda *given, original=original, way=is_by_rule: (  # noqa: E731
            rendered.append(way) or original(*given)
        )
        monkeypatch.setattr(f"reclock.compute.{name}", spied)
    run(ada, "BEGIN")
    for number, query in enumerate(QUERIES[1:]):
        run(ada, f"DECLARE c{number} CURSOR FOR SUBSCRIBE TO ({query}) WITH (SNAPSHOT = false)")
    run(bob, "BEGIN; UPDATE a SET n = n + 1; INSERT INTO b VALUES (7, 11); COMMIT")
    assert [[row[1:] for row in everything(ada, f"c{number}")] for number in range(4)] == [
        [(-1, 10, 1), (1, 11, 1), (-1, 20, 2), (1, 21, 2)],
        [(1, 1, 7)],
        [(-1, 20), (1, 21)],
        [],
    ]
    assert rendered == [True, True, True, False]


def test_what_has_one_time_comes_in_the_order_of_its_rows(ada: Session, bob: Session) -> None:
    run(bob, "CREATE TABLE t (x text, d double precision, i int)")
    run(ada, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE t")
    some = (
        "('b', 1, 2), ('a', 2, 2), (NULL, 1, 1), ('a', NULL, 1), ('B', 0, 0), ('a', 'NaN', "
        "1), ('a', -0.0, 5), ('a', 0, 5)"
    )
    run(bob, f"INSERT INTO t VALUES {some}; DELETE FROM t WHERE i = 1")
    run(bob, "INSERT INTO t SELECT 'c', i, i FROM generate_series(1, 9) g (i) ORDER BY i DESC")
    updates = everything(ada, "c")
    assert [row[1:] for row in updates[:7]] == [
        (1, "B", 0.0, 0),
        (2, "a", 0.0, 5),
        (1, "a", 2.0, 2),
        *((1, "a", nan, 1) for nan in [updates[3][3]]),
        (1, "a", None, 1),
        (1, "b", 1.0, 2),
        (1, None, 1.0, 1),
    ]
    assert [row[2:] for row in updates[7:10]] == [
        ("a", updates[7][3], 1),
        ("a", None, 1),
        (None, 1.0, 1),
    ]
    assert [row[1:] for row in updates[10:]] == [(1, "c", float(i), i) for i in range(1, 10)]


def test_what_has_one_time_comes_in_the_order_that_is_asked_for(ada: Session, bob: Session) -> None:
    run(
        ada,
        (
            "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a WITH (SNAPSHOT = false) WITHIN "
            "TIMESTAMP ORDER BY mz_diff DESC, n DESC"
        ),
    )
    run(bob, "UPDATE a SET n = n + 1; INSERT INTO a VALUES (9, NULL), (9, 90), (9, 80)")
    assert [row[1:] for row in everything(ada, "c")] == [
        *((2, 2, 21), (1, 1, 11), (-1, 1, 10), (-2, 2, 20)),
        *((1, 9, None), (1, 9, 90), (1, 9, 80)),
    ]
    run(ada, "ROLLBACK")
    with pytest.raises(UnknownColumn):
        run(ada, "SUBSCRIBE a WITHIN TIMESTAMP ORDER BY x")
    with pytest.raises(InvalidColumnReference):
        run(ada, "SUBSCRIBE a WITHIN TIMESTAMP ORDER BY n + 1")


def test_what_fails_in_a_query_is_said_as_elsewhere(ada: Session, bob: Session) -> None:
    run(ada, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE (SELECT 100 / n FROM a)")
    assert [row[1:] for row in everything(ada, "c")] == [(2, 5), (1, 10)]
    run(bob, "INSERT INTO a VALUES (5, 0)")
    with pytest.raises(EvaluationError, match="division by zero"):
        everything(ada, "c")


def test_one_that_is_canceled_while_it_computes_says_so(
    ada: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = envelopes.cast_to

    def canceling(*arguments: Any) -> Any:
        ada.cancellation.cancel()
        return original(*arguments)

    monkeypatch.setattr(envelopes, "cast_to", canceling)
    run(ada, "BEGIN")
    with pytest.raises(QueryCanceled):
        run(ada, "DECLARE c CURSOR FOR SUBSCRIBE a")


def test_envelopes_say_what_became_of_each_key(ada: Session, bob: Session) -> None:
    run(ada, "CREATE TABLE k (v text, id int, w int)")
    run(ada, "INSERT INTO k VALUES ('one', 1, 1), ('two', 2, NULL), ('two', 3, 3), ('too', 3, 3)")
    run(ada, "BEGIN; DECLARE u CURSOR FOR SUBSCRIBE k ENVELOPE UPSERT (KEY (id))")
    run(ada, "DECLARE d CURSOR FOR SUBSCRIBE k WITH (PROGRESS) ENVELOPE DEBEZIUM (KEY (id))")
    run(
        bob,
        (
            "BEGIN; UPDATE k SET v = NULL WHERE id = 1; DELETE FROM k WHERE id >= 2; INSERT "
            "INTO k VALUES ('four', 4, 4); COMMIT"
        ),
    )
    upserts = everything(ada, "u")
    assert [row[1:] for row in upserts] == [
        ("upsert", 1, "one", 1),
        ("upsert", 2, "two", None),
        ("key_violation", 3, None, None),
        ("upsert", 1, None, 1),
        ("delete", 2, None, None),
        ("key_violation", 3, None, None),
        ("upsert", 4, "four", 4),
    ]
    assert len({row[0] for row in upserts}) == 2
    changes = everything(ada, "d")
    assert {row[2:] for row in changes if row[1]} == {(None,) * 6}
    assert [row[2:] for row in changes if not row[1]] == [
        ("insert", 1, None, None, "one", 1),
        ("insert", 2, None, None, "two", None),
        ("key_violation", 3, None, None, None, None),
        ("upsert", 1, "one", 1, None, 1),
        ("delete", 2, "two", None, None, None),
        ("key_violation", 3, None, None, None, None),
        ("insert", 4, None, None, "four", 4),
    ]
    [described] = ada.execute("FETCH 0 FROM d")
    assert described.desc is not None
    assert described.desc.names[2:] == (
        "mz_state",
        "id",
        "before_v",
        "before_w",
        "after_v",
        "after_w",
    )
    run(ada, "ROLLBACK")
    with pytest.raises(UnknownColumn):
        run(ada, "SUBSCRIBE k ENVELOPE UPSERT (KEY (x))")


def test_a_snapshot_is_sent_no_faster_than_it_is_taken(
    ada: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(ada, "CREATE TABLE big (i int); INSERT INTO big SELECT * FROM generate_series(1, 300000)")
    sent: list[int] = []
    original = envelopes.messages

    def counted(*given: object) -> Iterator[pa.RecordBatch]:
        for batch in original(*given):  # type: ignore[arg-type]
            sent.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(envelopes, "messages", counted)
    run(ada, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE big")
    assert [row[1:] for row in run(ada, "FETCH 3 FROM c")] == [(1, 1), (1, 2), (1, 3)]
    assert len(sent) == 1
    assert len(run(ada, "FETCH 299997 FROM c")) == 299997
    assert len(sent) > 1


def test_progress_says_up_to_where_everything_was_sent(ada: Session, bob: Session) -> None:
    run(ada, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a WITH (PROGRESS, SNAPSHOT = false)")
    run(bob, "INSERT INTO a VALUES (3, 30)")
    updates = everything(ada, "c")
    [(at, *_)] = [row for row in updates if not row[1]]
    told = [row[0] for row in updates if row[1]]
    assert [row for row in updates if not row[1]] == [(at, False, 1, 3, 30)]
    assert told == sorted(told)
    assert told[-1] > at
    assert all(
        row[0] <= at or updates.index(row) > updates.index((at, False, 1, 3, 30))
        for row in updates
        if row[1]
    )


def test_a_subscription_ends_where_it_is_told(ada: Session, bob: Session) -> None:
    run(ada, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a")
    run(bob, "INSERT INTO a VALUES (3, 30); INSERT INTO a VALUES (4, 40)")
    first, *_, third, fourth = everything(ada, "c")
    run(ada, "COMMIT")
    assert run(ada, f"TAIL a WITHOUT SNAPSHOT AS OF {first[0]} UP TO {fourth[0]}") == [third]
    assert run(ada, "SUBSCRIBE (VALUES (1), (1), (2))") == [(0, 2, 1), (0, 1, 2)]
    with pytest.raises(InvalidOption):
        run(ada, "SUBSCRIBE a UP TO 5")


def test_a_subscription_goes_on_past_the_statement_timeout_and_can_be_canceled(
    ada: Session, bob: Session
) -> None:
    run(ada, "SET statement_timeout = 1")
    [result] = ada.execute("SUBSCRIBE a")
    rows = result.rows()
    assert sorted(next(rows)[1:] for _ in range(2)) == [(1, 1, 10), (2, 2, 20)]
    threading.Timer(0.5, ada.cancellation.cancel).start()
    with pytest.raises(QueryCanceled):
        next(rows)
    run(ada, "SET statement_timeout = 500; BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a")
    assert len(run(ada, "FETCH 1 FROM c")) == 1
    assert len(run(ada, "FETCH 5 FROM c")) == 1
    with pytest.raises(StatementTimeout):  # that of FETCH
        run(ada, "FETCH 5 FROM c")


def test_a_subscription_holds_what_it_reads_until_it_ends(
    ada: Session, environment: Environment
) -> None:
    run(ada, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a")
    environment.stores.shared_holds.release_idle(["tables"])
    assert environment.stores.holds.earliest_read("tables") is not None
    run(ada, "CLOSE c")
    environment.stores.shared_holds.release_idle(["tables"])
    assert environment.stores.holds.earliest_read("tables") is None


def test_it_ends_when_what_it_reads_is_dropped(ada: Session, bob: Session) -> None:
    run(ada, "CREATE VIEW v AS SELECT n FROM a; BEGIN; DECLARE c CURSOR FOR SUBSCRIBE v")
    run(ada, "FETCH 5 FROM c")
    run(bob, "DROP VIEW v")
    with pytest.raises(DroppedMeanwhile):
        everything(ada, "c")


@pytest.mark.parametrize(
    "before", ["INSERT INTO a VALUES (1, 1)", "CREATE VIEW w AS SELECT 1 AS x"]
)
def test_it_sees_nothing_of_a_block_and_so_is_not_begun_in_one_that_changes_something(
    ada: Session, before: str
) -> None:
    with pytest.raises(TransactionActive):
        run(ada, f"BEGIN; {before}; DECLARE c CURSOR FOR SUBSCRIBE a")


def test_what_is_kept_of_replicas_is_followed_and_other_system_relations_have_no_times(
    ada: Session, bob: Session, environment: Environment
) -> None:
    def report(row: Row, diff: int) -> None:
        changes = {IntrospectionType.ERROR_COUNTS: {row: diff}}
        environment.stores.managed.commit(changes, tokens=set(), unchanged=set(), since=None)

    with pytest.raises(UnsupportedSql, match="yet"):
        run(ada, f"SUBSCRIBE mz_internal.{IntrospectionType.ERROR_COUNTS.value}")
    with pytest.raises(UnsupportedSql) as refused:
        run(ada, "SUBSCRIBE mz_tables")
    assert refused.value.hint is not None
    assert IntrospectionType.ERROR_COUNTS.value in refused.value.hint
    report((1, "u1", 2), 1)
    run(
        ada,
        f"BEGIN; DECLARE c CURSOR FOR SUBSCRIBE mz_internal.{IntrospectionType.ERROR_COUNTS.value}",
    )
    query = (
        f"SELECT a.id, count FROM a JOIN mz_internal.{IntrospectionType.ERROR_COUNTS.value} "
        "ON a.id = replica_id"
    )
    run(ada, f"DECLARE joined CURSOR FOR SUBSCRIBE ({query})")
    assert [row[1:] for row in everything(ada, "c")] == [(1, 1, "u1", 2)]
    report((1, "u1", 2), -1)
    report((1, "u1", 3), 1)
    report((2, "u1", 1), 1)
    run(bob, "INSERT INTO b VALUES (1, 1)")
    assert [row[1:] for row in everything(ada, "c")] == [
        (-1, 1, "u1", 2),
        (1, 1, "u1", 3),
        (1, 2, "u1", 1),
    ]
    summed: Counter[tuple[object, ...]] = Counter()
    for _, diff, *row in everything(ada, "joined"):
        summed[tuple(row)] += diff  # type: ignore[operator]
    assert {row: count for row, count in summed.items() if count} == {(1, 3): 1, (2, 1): 2}


def bind(
    environment: Environment, id: GlobalId, at: int, key: str, size: int, rows: list[int]
) -> None:
    """What a step of ingestion makes durable: ``size`` bytes more of the object, and its rows, at
    ``at``."""
    time = Timestamp(at)
    claim = environment.stores.frontiers.claim(
        id, at=time, payload={}, owner="test", lease_ms=60_000
    )
    for kind, columns, diffs in (
        (CollectionType.REMAPPING, [pa.array([key])], [size]),
        (CollectionType.RECLOCKED, [pa.array(rows, pa.int32())], [1] * len(rows)),
    ):
        collection = environment.stores.lake.open(StorageCollectionId(id, kind))
        names = [*collection.desc.names, TIME_COLUMN, DIFF_COLUMN]
        updates = pa.table([*columns, pa.array([at] * len(diffs)), pa.array(diffs)], names=names)
        collection.append(updates, expected_upper=collection.upper(), new_upper=Timestamp(at + 1))
    environment.stores.frontiers.publish({id: claim}, Timestamp(at + 1))
    environment.stores.oracle.apply_write(EPOCH_MS, time)


def test_a_source_and_its_progress_are_followed_in_the_same_times(
    ada: Session, environment: Environment
) -> None:
    run(
        ada,
        (
            "CREATE SOURCE s (x int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT "
            "JSON; SELECT * FROM s"
        ),
    )
    source = environment.stores.planner_catalog().resolve(("s",), SessionNames())
    start = environment.stores.frontiers.get(source.id).upper + 10
    run(
        ada, "BEGIN; DECLARE rows CURSOR FOR SUBSCRIBE s; DECLARE places CURSOR FOR TAIL s_progress"
    )
    bind(environment, source.id, start, "a", 10, [1, 2])
    bind(environment, source.id, start + 5, "a", 7, [2])
    bind(environment, source.id, start + 9, "b", 3, [])
    assert sorted(everything(ada, "rows")) == [(start, 1, 1), (start, 1, 2), (start + 5, 1, 2)]
    placed = everything(ada, "places")
    assert Counter(placed) == Counter(
        [
            (start, 1, start, "a", 10),
            (start + 5, -1, start, "a", 10),  # the partition's row is replaced
            (start + 5, 1, start + 5, "a", 17),
            (start + 9, 1, start + 9, "b", 3),
        ]
    )
    assert [row[0] for row in placed] == sorted(row[0] for row in placed)


def test_a_time_before_since_is_refused_with_the_name_of_the_relation(ada: Session) -> None:
    with pytest.raises(NotReadable, match=r'"reclock.public.a" cannot be read at 1$'):
        run(ada, "SUBSCRIBE a AS OF 1")
