"""SUBSCRIBE: the rows at one time and then exactly what changes, at the times at which it
changes."""

from collections import Counter
from itertools import groupby

import pyarrow as pa
import pytest
from fixtures.subscriptions import execute, fetch_all

from reclock.adapter.query import subscription
from reclock.adapter.query.queries import QueryExecution
from reclock.adapter.session.session import Session
from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.compute.engines import duckdb
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.errors import (
    InvalidColumnReference,
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


def test_the_updates_sum_to_the_rows_at_every_time(subscriber: Session, writer: Session) -> None:
    execute(subscriber, "BEGIN")
    for number, query in enumerate(QUERIES):
        execute(subscriber, f"DECLARE c{number} CURSOR FOR SUBSCRIBE TO ({query})")
    execute(
        writer,
        (
            "INSERT INTO b VALUES (7, 10), (8, 11); UPDATE a SET n = n + 1; UPDATE a SET n = "
            "n; DELETE FROM a WHERE n = 21"
        ),
    )
    execute(
        writer,
        "BEGIN; INSERT INTO a VALUES (4, 11); INSERT INTO b VALUES (9, 11); COMMIT; TRUNCATE b",
    )
    for number, query in enumerate(QUERIES):
        updates = fetch_all(subscriber, f"c{number}")
        times = sorted({row[0] for row in updates})
        assert [row[0] for row in updates] == sorted(row[0] for row in updates)
        assert len(times) > 1
        for at in times:
            summed: Counter[tuple[object, ...]] = Counter()
            for time, diff, *row in updates:
                if time <= at:
                    summed[tuple(row)] += diff
            assert {row: count for row, count in summed.items() if count} == Counter(
                execute(writer, f"{query} AS OF {at}")
            )
    execute(subscriber, "COMMIT")


def test_the_changes_of_a_table_are_read_from_its_log_without_computing(
    subscriber: Session, writer: Session, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(writer, "CREATE VIEW same AS SELECT * FROM a")
    execute(
        subscriber, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a; DECLARE v CURSOR FOR SUBSCRIBE same"
    )
    for cursor in ("c", "v"):
        assert sorted(row[1:] for row in fetch_all(subscriber, cursor)) == [(1, 1, 10), (2, 2, 20)]
    execute(writer, "UPDATE a SET n = n + 1 WHERE id = 2")
    environment.stores.tables.apply()
    execute(
        writer,
        (
            "INSERT INTO a VALUES (1, 10), (NULL, NULL); UPDATE a SET n = n; DELETE FROM a "
            "WHERE id = 1"
        ),
    )
    monkeypatch.setattr(QueryExecution, "run", None)
    for cursor in ("c", "v"):
        changed = fetch_all(subscriber, cursor)
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


def test_the_changes_of_a_view_are_read_from_its_index_without_computing(
    subscriber: Session, writer: Session, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(
        writer,
        (
            "CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS c FROM a GROUP BY n; CREATE "
            "VIEW w AS SELECT c, n FROM v"
        ),
    )
    execute(writer, "SELECT * FROM v")  # now the index is there
    environment.stores.tables.apply()
    refresh(environment)
    execute(subscriber, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE v; DECLARE w CURSOR FOR SUBSCRIBE w")
    assert [row[1:] for row in fetch_all(subscriber, "c")] == [(1, 10, 1), (1, 20, 2)]
    assert [row[1:] for row in fetch_all(subscriber, "w")] == [(1, 1, 10), (1, 2, 20)]
    computed = []
    monkeypatch.setattr(
        DuckDbEngine,
        "compare",
        lambda engine, plan, *_: computed.append(plan) or engine.execute(plan, *_),
    )
    execute(writer, "UPDATE a SET n = 20 WHERE id = 1")
    environment.stores.tables.apply()
    assert fetch_all(subscriber, "c") == []  # it is as new as the index
    refresh(environment)
    assert [row[1:] for row in fetch_all(subscriber, "c")] == [(-1, 10, 1), (-1, 20, 2), (1, 20, 3)]
    assert computed == []
    monkeypatch.undo()
    assert [row[1:] for row in fetch_all(subscriber, "w")] == [(-1, 1, 10), (-1, 2, 20), (1, 3, 20)]
    monkeypatch.setattr(subscription, "INDEX_PATIENCE_S", 0.0)
    execute(writer, "DELETE FROM a WHERE id = 1")
    assert [row[1:] for row in fetch_all(subscriber, "c")] == [(1, 20, 2), (-1, 20, 3)]
    execute(writer, "DROP INDEX v_primary_idx CASCADE; TRUNCATE a")
    assert [row[1:] for row in fetch_all(subscriber, "c")] == [(-1, 20, 2)]


def test_the_changes_of_a_query_are_computed_from_those_of_its_inputs(
    subscriber: Session, writer: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every operator has a rule; the others are computed twice and compared."""
    rendered: list[bool] = []
    for name, is_by_rule in (("steps.delta.render", True), ("rendering.comparison", False)):
        *_, module, function = name.split(".")
        original = getattr(getattr(duckdb, module), function)
        spied = lambda *arguments, original=original, way=is_by_rule: (  # noqa: E731
            rendered.append(way) or original(*arguments)
        )
        monkeypatch.setattr(f"reclock.compute.{name}", spied)
    execute(subscriber, "BEGIN")
    for number, query in enumerate(QUERIES[1:]):
        execute(
            subscriber,
            f"DECLARE c{number} CURSOR FOR SUBSCRIBE TO ({query}) WITH (SNAPSHOT = false)",
        )
    execute(writer, "BEGIN; UPDATE a SET n = n + 1; INSERT INTO b VALUES (7, 11); COMMIT")
    assert [[row[1:] for row in fetch_all(subscriber, f"c{number}")] for number in range(4)] == [
        [(-1, 10, 1), (1, 11, 1), (-1, 20, 2), (1, 21, 2)],
        [(1, 1, 7)],
        [(-1, 20), (1, 21)],
        [],
    ]
    assert rendered == [True, True, True, False]


def test_updates_of_one_time_are_sorted_by_their_rows(subscriber: Session, writer: Session) -> None:
    execute(writer, "CREATE TABLE t (x text, d double precision, i int)")
    execute(subscriber, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE t")
    query = (
        "('b', 1, 2), ('a', 2, 2), (NULL, 1, 1), ('a', NULL, 1), ('B', 0, 0), ('a', 'NaN', "
        "1), ('a', -0.0, 5), ('a', 0, 5)"
    )
    execute(writer, f"INSERT INTO t VALUES {query}; DELETE FROM t WHERE i = 1")
    execute(
        writer, "INSERT INTO t SELECT 'c', i, i FROM generate_series(1, 9) g (i) ORDER BY i DESC"
    )
    updates = fetch_all(subscriber, "c")
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


def test_within_timestamp_order_by_sorts_the_updates_of_one_time(
    subscriber: Session, writer: Session
) -> None:
    execute(
        subscriber,
        (
            "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a WITH (SNAPSHOT = false) WITHIN "
            "TIMESTAMP ORDER BY mz_diff DESC, n DESC"
        ),
    )
    execute(writer, "UPDATE a SET n = n + 1; INSERT INTO a VALUES (9, NULL), (9, 90), (9, 80)")
    assert [row[1:] for row in fetch_all(subscriber, "c")] == [
        *((2, 2, 21), (1, 1, 11), (-1, 1, 10), (-2, 2, 20)),
        *((1, 9, None), (1, 9, 90), (1, 9, 80)),
    ]
    execute(subscriber, "ROLLBACK")
    with pytest.raises(UnknownColumn):
        execute(subscriber, "SUBSCRIBE a WITHIN TIMESTAMP ORDER BY x")
    with pytest.raises(InvalidColumnReference):
        execute(subscriber, "SUBSCRIBE a WITHIN TIMESTAMP ORDER BY n + 1")


def test_envelopes_report_the_change_of_each_key(subscriber: Session, writer: Session) -> None:
    execute(subscriber, "CREATE TABLE k (v text, id int, w int)")
    execute(
        subscriber,
        "INSERT INTO k VALUES ('one', 1, 1), ('two', 2, NULL), ('two', 3, 3), ('too', 3, 3)",
    )
    execute(subscriber, "BEGIN; DECLARE u CURSOR FOR SUBSCRIBE k ENVELOPE UPSERT (KEY (id))")
    execute(
        subscriber, "DECLARE d CURSOR FOR SUBSCRIBE k WITH (PROGRESS) ENVELOPE DEBEZIUM (KEY (id))"
    )
    execute(
        writer,
        (
            "BEGIN; UPDATE k SET v = NULL WHERE id = 1; DELETE FROM k WHERE id >= 2; INSERT "
            "INTO k VALUES ('four', 4, 4); COMMIT"
        ),
    )
    upserts = fetch_all(subscriber, "u")
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
    changes = fetch_all(subscriber, "d")
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
    [described] = subscriber.execute("FETCH 0 FROM d")
    assert described.desc is not None
    assert described.desc.names[2:] == (
        "mz_state",
        "id",
        "before_v",
        "before_w",
        "after_v",
        "after_w",
    )
    execute(subscriber, "ROLLBACK")
    with pytest.raises(UnknownColumn):
        execute(subscriber, "SUBSCRIBE k ENVELOPE UPSERT (KEY (x))")


def test_progress_reports_the_time_below_which_everything_was_sent(
    subscriber: Session, writer: Session
) -> None:
    execute(subscriber, "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE a WITH (PROGRESS, SNAPSHOT = false)")
    execute(writer, "INSERT INTO a VALUES (3, 30)")
    updates = fetch_all(subscriber, "c")
    [(at, *_)] = [row for row in updates if not row[1]]
    progress = [row[0] for row in updates if row[1]]
    assert [row for row in updates if not row[1]] == [(at, False, 1, 3, 30)]
    assert progress == sorted(progress)
    assert progress[-1] > at
    assert all(
        row[0] <= at or updates.index(row) > updates.index((at, False, 1, 3, 30))
        for row in updates
        if row[1]
    )


def test_reports_of_replicas_can_be_subscribed_to_and_other_system_relations_cannot(
    subscriber: Session, writer: Session, environment: Environment
) -> None:
    def report(row: Row, diff: int) -> None:
        changes = {IntrospectionType.ERROR_COUNTS: {row: diff}}
        environment.stores.managed.commit(changes, tokens=set(), unchanged=set(), since=None)

    with pytest.raises(UnsupportedSql, match="yet"):
        execute(subscriber, f"SUBSCRIBE mz_internal.{IntrospectionType.ERROR_COUNTS.value}")
    with pytest.raises(UnsupportedSql) as refused:
        execute(subscriber, "SUBSCRIBE mz_tables")
    assert refused.value.hint is not None
    assert IntrospectionType.ERROR_COUNTS.value in refused.value.hint
    report((1, "u1", 2), 1)
    execute(
        subscriber,
        f"BEGIN; DECLARE c CURSOR FOR SUBSCRIBE mz_internal.{IntrospectionType.ERROR_COUNTS.value}",
    )
    query = (
        f"SELECT a.id, count FROM a JOIN mz_internal.{IntrospectionType.ERROR_COUNTS.value} "
        "ON a.id = replica_id"
    )
    execute(subscriber, f"DECLARE joined CURSOR FOR SUBSCRIBE ({query})")
    assert [row[1:] for row in fetch_all(subscriber, "c")] == [(1, 1, "u1", 2)]
    report((1, "u1", 2), -1)
    report((1, "u1", 3), 1)
    report((2, "u1", 1), 1)
    execute(writer, "INSERT INTO b VALUES (1, 1)")
    assert [row[1:] for row in fetch_all(subscriber, "c")] == [
        (-1, 1, "u1", 2),
        (1, 1, "u1", 3),
        (1, 2, "u1", 1),
    ]
    summed: Counter[tuple[object, ...]] = Counter()
    for _, diff, *row in fetch_all(subscriber, "joined"):
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


def test_a_source_and_its_progress_change_at_the_same_times(
    subscriber: Session, environment: Environment
) -> None:
    execute(
        subscriber,
        (
            "CREATE SOURCE s (x int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT "
            "JSON; SELECT * FROM s"
        ),
    )
    source = environment.stores.planner_catalog().resolve(("s",), SessionNames())
    start = environment.stores.frontiers.get(source.id).upper + 10
    execute(
        subscriber,
        "BEGIN; DECLARE rows CURSOR FOR SUBSCRIBE s; DECLARE places CURSOR FOR TAIL s_progress",
    )
    bind(environment, source.id, start, "a", 10, [1, 2])
    bind(environment, source.id, start + 5, "a", 7, [2])
    bind(environment, source.id, start + 9, "b", 3, [])
    assert sorted(fetch_all(subscriber, "rows")) == [
        (start, 1, 1),
        (start, 1, 2),
        (start + 5, 1, 2),
    ]
    placed = fetch_all(subscriber, "places")
    assert Counter(placed) == Counter(
        [
            (start, 1, start, "a", 10),
            (start + 5, -1, start, "a", 10),  # the partition's row is replaced
            (start + 5, 1, start + 5, "a", 17),
            (start + 9, 1, start + 9, "b", 3),
        ]
    )
    assert [row[0] for row in placed] == sorted(row[0] for row in placed)
