"""Maintained views, step by step in SQL: after each statement and refresh a view holds what its
query answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from fixtures.maintained import World
from fixtures.sunk import delta_rows

from reclock.algebra.error_intervals import with_answer, with_error
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.collections.files import write_file
from reclock.collections.schema import arrow_schema
from reclock.consensus.frontiers.rounds import RefreshRounds
from reclock.errors import DependentObjects, ErrorAtTime, OutputFailed, ReclockError
from reclock.pipeline import cluster_steps
from reclock.runtime.environment import Environment


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.sql("CREATE TABLE t (a int, v int)")
    world.sql("CREATE TABLE n (a int, v numeric)")
    yield world
    world.close()


CHANGES_THAT_CANCEL = (
    "INSERT INTO t VALUES (200, 5)",
    "UPDATE t SET v = 6",
    "UPDATE t SET a = 7",
    "DELETE FROM t",
)
REPEATED_ROWS = (
    "INSERT INTO t VALUES (1, 1)",
    "INSERT INTO t VALUES (1, 2)",
    "INSERT INTO t VALUES (2, 2), (1, 3)",
)
LARGE_NUMBERS = (
    "INSERT INTO n VALUES (1, 9e28)",
    "UPDATE n SET v = 8e28",
    "INSERT INTO n VALUES (1, -8e28)",
    "DELETE FROM n",
)
EDGES = (
    "INSERT INTO t VALUES (1, 2), (3, 4)",
    "INSERT INTO t VALUES (2, 3), (NULL, 1)",
    "INSERT INTO t VALUES (4, 1), (2, 3), (6, 6), (5, NULL)",
    "DELETE FROM t WHERE v = 1",
    "INSERT INTO t VALUES (4, 5)",
    "UPDATE t SET v = 1 WHERE a = 1",
)
CLOSURE = "SELECT a, v FROM t UNION SELECT r.a, t.v FROM r JOIN t ON t.a = r.v"

VIEWS = {
    "a recursion": (f"WITH RECURSIVE r AS ({CLOSURE}) SELECT v, a, a + v AS both FROM r", EDGES),
    "a recursion that is not linear": (
        "WITH MUTUALLY RECURSIVE r (a int, v int) AS (SELECT a, v FROM t UNION "
        "SELECT r.a, s.v FROM r JOIN r AS s ON s.a = r.v) SELECT * FROM r",
        EDGES,
    ),
    "a recursion that reads a table twice": (
        "WITH MUTUALLY RECURSIVE r (a int) AS (SELECT 1 UNION SELECT t.v FROM r JOIN t USING (a) "
        "JOIN t AS u ON u.a = t.v) SELECT a FROM r",
        EDGES,
    ),
    "a recursion over rows that new rows take away": (
        "WITH RECURSIVE r AS (SELECT 1 AS a UNION SELECT t.v FROM r JOIN t USING (a) "
        "WHERE NOT EXISTS (SELECT 1 FROM t AS u WHERE u.a = t.v AND u.v = 5)) SELECT a FROM r",
        EDGES,
    ),
    "a recursion of which a column is hidden": (
        f"WITH RECURSIVE r AS ({CLOSURE}) SELECT v FROM r",
        EDGES,
    ),
    "a recursion below an aggregate": (
        f"WITH RECURSIVE r AS ({CLOSURE}) SELECT a, count(*) FROM r GROUP BY a",
        EDGES,
    ),
    "an aggregate without keys": ("SELECT count(*) AS c FROM t", CHANGES_THAT_CANCEL),
    "over a filter that hides each change": (
        "SELECT count(*) AS c, max(a) FROM t WHERE v > 100",
        CHANGES_THAT_CANCEL,
    ),
    "HAVING without aggregates": (
        "SELECT 1 AS c FROM t HAVING true",
        (*CHANGES_THAT_CANCEL, *REPEATED_ROWS),
    ),
    "HAVING with one that begins to hold": (
        "SELECT 1 AS c FROM t HAVING count(*) > 1",
        (*REPEATED_ROWS, "DELETE FROM t"),
    ),
    "over distinct rows": (
        "SELECT count(*) FROM (SELECT DISTINCT a FROM t) x",
        (*REPEATED_ROWS, "DELETE FROM t"),
    ),
    "groups over distinct rows": (
        "SELECT a, count(*), sum(a) FROM (SELECT DISTINCT a FROM t) x GROUP BY a",
        REPEATED_ROWS,
    ),
    "over a union": ("SELECT sum(a) FROM (SELECT a FROM t UNION SELECT v FROM t) x", REPEATED_ROWS),
    "over a join with distinct rows": (
        "SELECT count(*) FROM t JOIN (SELECT DISTINCT a FROM t) x USING (a)",
        (*REPEATED_ROWS, "DELETE FROM t WHERE v = 2"),
    ),
    "the first of distinct rows": (
        "SELECT a FROM (SELECT DISTINCT a FROM t) x ORDER BY a LIMIT 2",
        REPEATED_ROWS,
    ),
    "a sum near the largest number": ("SELECT sum(v) FROM n", LARGE_NUMBERS),
    "a group's sum near the largest number": ("SELECT a, sum(v) FROM n GROUP BY a", LARGE_NUMBERS),
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_holds_what_its_query_answers_after_each_statement(view: str, world: World) -> None:
    query, statements = VIEWS[view]
    world.sql(f"CREATE MATERIALIZED VIEW m AS {query}")
    for statement in statements:
        world.sql(statement)
        world.now += 1_000
        world.refresh()
        assert Counter(world.sql("SELECT * FROM m")) == Counter(world.sql(query)), statement


PROGRESS = (
    "SELECT count(*) FROM words_progress",
    "SELECT key, byte_offset FROM words_progress",
    "SELECT mz_timestamp AS at, byte_offset / 10 AS words FROM words_progress WHERE key = 'o'",
    "SELECT word, byte_offset FROM words JOIN words_progress ON number = mz_timestamp",
    "SELECT word FROM words WHERE number > (SELECT max(byte_offset) FROM words_progress)",
)


@pytest.mark.parametrize("query", PROGRESS)
def test_a_progress_relation_is_read_in_views_as_in_queries(query: str, world: World) -> None:
    group = world.create("words")
    world.sql(f"CREATE VIEW v AS {query}")
    world.sql("CREATE MATERIALIZED VIEW m AS SELECT * FROM v")
    world.sql("CREATE DEFAULT INDEX ON v")
    for at, words in ((1_010, "ab"), (1_020, "c"), (1_030, "def"), (1_040, "")):
        world.write(group, at, *words)
        world.refresh()
        expected = Counter(world.sql(query))
        assert (
            Counter(world.sql("SELECT * FROM m"))
            == Counter(world.sql("SELECT * FROM v"))
            == expected
        )
        assert Counter(world.sql("SELECT * FROM m AS OF 1010")) == Counter(
            world.sql(f"{query} AS OF 1010")
        )


def test_a_subscription_to_progress_sends_each_row_as_it_replaces_another(world: World) -> None:
    group = world.create("words")
    for at, words in ((1_010, "ab"), (1_020, "c")):
        world.write(group, at, *words)
    sent = world.sql("SUBSCRIBE words_progress AS OF 1010 UP TO 1021")
    assert sorted(sent) == [
        (1_010, 1, 1_010, "o", 20),
        (1_020, -1, 1_010, "o", 20),
        (1_020, 1, 1_020, "o", 30),
    ]


def test_a_sink_from_a_view_over_progress_writes_its_rows(world: World, tmp_path: Path) -> None:
    group = world.create("words")
    world.sql("CREATE VIEW done AS SELECT key, byte_offset FROM words_progress")
    world.sql("CREATE SINK k FROM done INTO DELTA 'rows'")
    for at, words in ((1_010, "ab"), (1_020, "c")):
        world.write(group, at, *words)
        cluster_steps.emit(world.environment, "k", at, owner="test")
    assert delta_rows(tmp_path / "sinks" / "rows") == Counter([("o", 30)])


@pytest.mark.parametrize(
    "definition", ["CREATE DEFAULT INDEX ON words_progress", "CREATE INDEX ON words_progress (key)"]
)
def test_an_index_on_a_progress_relation_is_maintained_and_read(
    definition: str, world: World
) -> None:
    group = world.create("words")
    world.sql(definition)
    world.sql("CREATE VIEW everything AS SELECT * FROM words_progress")
    world.sql("CREATE DEFAULT INDEX ON everything")
    rows = {1_010: (1_010, "o", 20), 1_020: (1_020, "o", 30), 1_030: (1_020, "o", 30)}
    for at, words in ((1_010, "ab"), (1_020, "c"), (1_030, "")):
        world.write(group, at, *words)
        world.refresh()
        for relation, index in (
            ("words_progress", "words_progress_"),
            ("everything", "everything_"),
        ):
            assert f"indexes: reclock.public.{index}" in explained(world, relation)
            assert "maintained from changes" in explained(world, relation)
            assert world.sql(f"SELECT * FROM {relation}") == [rows[at]]
            assert world.sql(f"SELECT * FROM {relation} AS OF 1010") == [rows[1_010]]
            assert world.sql(
                f"SELECT byte_offset FROM {relation} WHERE key = 'o' AND mz_timestamp = "
                f"{rows[at][0]}"
            ) == [rows[at][2:]]
        assert (
            world.sql(
                "SELECT mz_timestamp FROM words_progress JOIN words ON number = mz_timestamp - 1000"
            )
            == []
        )
    with pytest.raises(DependentObjects):
        world.sql("DROP SOURCE words")
    world.sql("DROP SOURCE words CASCADE")
    assert world.sql("SELECT name FROM mz_indexes") == []


def test_views_over_a_view_with_an_aggregate_share_its_groups(world: World) -> None:
    world.sql("CREATE VIEW totals AS SELECT a, sum(v) AS v, count(*) AS c FROM t GROUP BY a")
    queries = {
        "large": "SELECT a, v, c FROM totals WHERE v > 5",
        "first": "SELECT a, v, c FROM totals ORDER BY v DESC NULLS LAST, a LIMIT 2",
        "named": "SELECT n.v AS name, totals.v, c FROM totals JOIN n USING (a)",
        "others": "SELECT a, max(v) AS v FROM t GROUP BY a",
    }
    for name, query in queries.items():
        world.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    world.sql("INSERT INTO n VALUES (1, 10), (2, 20), (2, 21)")
    for statement in (*EDGES, *CHANGES_THAT_CANCEL):
        world.sql(statement)
        world.refresh()
        for name, query in queries.items():
            assert Counter(world.sql(f"SELECT * FROM {name}")) == Counter(world.sql(query))
    shared = ", shares partial aggregates with first_primary_idx, named_primary_idx)"
    assert shared in explained(world, "large")
    assert "shares" not in explained(world, "others")
    states = world.environment.runtime.engines.small._group_states
    assert states is not None
    assert len(states._names) == 3
    assert len(set(states._names.values())) == 1


def explained(world: World, relation: str) -> str:
    return "\n".join(line for (line,) in world.sql(f"EXPLAIN SELECT * FROM {relation}"))


@pytest.mark.parametrize("index", ["", "CREATE DEFAULT INDEX ON words_progress"])
def test_a_sink_from_a_progress_relation_writes_its_rows(
    index: str, world: World, tmp_path: Path
) -> None:
    group = world.create("words")
    if index:
        world.sql(index)
    world.sql("CREATE SINK k FROM words_progress INTO DELTA 'rows'")
    for at, words in ((1_010, "ab"), (1_020, "c"), (1_030, "")):
        world.write(group, at, *words)
        world.refresh()
        cluster_steps.emit(world.environment, "k", at, owner="test")
        assert delta_rows(tmp_path / "sinks" / "rows") == Counter(
            world.sql("SELECT * FROM words_progress")
        )


@pytest.mark.parametrize(
    "clause", ["RECURSIVE r", "MUTUALLY RECURSIVE r (a int, v int)"], ids=["one", "mutual"]
)
def test_a_recursion_goes_on_from_its_rows_while_its_inputs_only_gain_rows(
    world: World, clause: str
) -> None:
    """It computes only the new rows; where rows went, it says why it was recomputed."""
    query = f"WITH {clause} AS ({CLOSURE}) SELECT a, v FROM r"
    world.sql(f"CREATE MATERIALIZED VIEW m AS {query}")
    world.refresh()
    last = "SELECT how, updates, delta_error FROM mz_internal.mz_compute_last_refreshes"
    continued = "maintained from changes"
    for statement, expected in (
        (
            "INSERT INTO t SELECT i, i + 1 FROM generate_series(1, 20) AS i",
            (continued, 210, None),
        ),
        ("INSERT INTO t VALUES (21, 22)", (continued, 21, None)),
        ("INSERT INTO t VALUES (1, 22)", (continued, 0, None)),
        (
            "DELETE FROM t WHERE a = 21",
            ("recomputed", 20, "rows of t were removed or replaced"),
        ),
        ("INSERT INTO t VALUES (0, 1)", (continued, 22, None)),
    ):
        world.sql(statement)
        world.now += 1_000
        world.refresh()
        assert world.sql(last) == [expected], statement
        assert Counter(world.sql("SELECT * FROM m")) == Counter(world.sql(query))


def test_a_recursion_that_goes_on_has_the_error_of_its_limit(world: World) -> None:
    """Although no refresh needs as many iterations as the query."""
    query = (
        "WITH MUTUALLY RECURSIVE (ERROR AT RECURSION LIMIT 6) r (a int) AS (SELECT 0 UNION "
        "SELECT t.v FROM r JOIN t USING (a)) SELECT a FROM r"
    )
    world.sql(f"CREATE MATERIALIZED VIEW m AS {query}")
    for a in range(4):
        world.sql(f"INSERT INTO t VALUES ({a}, {a + 1})")
        world.now += 1_000
        world.refresh()
        assert len(world.sql("SELECT * FROM m")) == a + 2
    world.sql("INSERT INTO t VALUES (4, 5)")
    world.now += 1_000
    at = world.environment.stores.oracle.read_ts(EPOCH_MS)
    [failed] = cluster_steps.refresh(world.environment, "default", at, owner="test").failed
    assert failed.sqlstate == "54000"
    for failing in (query, "SELECT * FROM m"):
        with pytest.raises(ReclockError, match="did not end within 6 iterations"):
            world.sql(failing)


def test_what_another_process_has_refreshed_meanwhile_is_no_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql(
        "CREATE MATERIALIZED VIEW m AS SELECT sum(v) AS v FROM t; INSERT INTO t VALUES (1, 2)"
    )
    claim = RefreshRounds.claim

    def claim_too_late(rounds: RefreshRounds, *arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(RefreshRounds, "claim", claim)
        with Environment.open(world.home, clock=lambda: Timestamp(world.now)) as other:
            at = other.stores.oracle.read_ts(EPOCH_MS)
            assert not cluster_steps.refresh(other, "default", at, owner="other").failed
        return claim(rounds, *arguments, **options)

    monkeypatch.setattr(RefreshRounds, "claim", claim_too_late)
    world.refresh()
    assert world.sql("SELECT * FROM m") == [(2,)]


def test_a_view_over_progress_is_maintained_from_changes(world: World) -> None:
    group = world.create("words")
    world.sql(
        "CREATE MATERIALIZED VIEW m AS SELECT key, max(byte_offset) AS done FROM "
        "words_progress GROUP BY key"
    )
    for at, words in ((1_010, "ab"), (1_020, "c"), (1_030, "def")):
        world.write(group, at, *words)
        world.refresh()
    assert world.sql("SELECT how FROM mz_internal.mz_compute_last_refreshes") == [
        ("maintained from changes",)
    ]
    assert world.sql("SELECT * FROM m") == [("o", 60)]


def test_a_view_over_a_table_that_failed_and_came_back_goes_on(
    world: World, tmp_path: Path
) -> None:
    """While the table has failed, so has the view; then it holds what its query answers, and a sink
    the rows."""
    group = world.create("words")
    world.sql("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS c, max(word) AS last FROM words")
    world.sql("CREATE SINK k FROM words INTO DELTA 'words'; CREATE SINK j FROM m INTO DELTA 'm'")
    collection = world.collection(group)

    def step(at: int, act: Callable[[], None]) -> None:
        act()
        world.now = at
        world.environment.stores.frontiers.advance_idle([group], Timestamp(at + 1))
        world.environment.stores.oracle.apply_write(EPOCH_MS, Timestamp(at))

    def revive(at: int, *rows: tuple[str, int]) -> None:
        schema = arrow_schema(collection.desc, with_updates=True)
        updates = pa.Table.from_pylist(
            [{"word": w, "number": 1, "mz_timestamp": at, "mz_diff": n} for w, n in rows], schema
        )
        files = []
        if rows:
            folder = collection.folder
            files = [
                write_file(folder, f"data/append-{at}-{uuid4().hex}.parquet", [updates], schema)
            ]
        version = collection.pin()
        collection.append_files(
            files,
            expected_upper=version.upper,
            new_upper=Timestamp(at + 1),
            errors=with_answer(version.errors, Timestamp(at)),
        )

    def fail(at: int) -> None:
        version, error = collection.pin(), OutputFailed("it cannot be followed")
        collection.seal(
            expected_upper=version.upper,
            new_upper=Timestamp(at + 1),
            errors=with_error(version.errors, Timestamp(at), error, is_first=False),
        )

    def emit() -> list[str]:
        """What the sinks raise."""
        _, failures = cluster_steps.emit_all(
            world.environment, ["reclock.public.k", "reclock.public.j"], world.now, owner="test"
        )
        return [failure.message for failure in failures]

    world.write(group, 1_010, "a", "b")
    world.refresh()
    assert emit() == []
    for at, rows, expected in ((1_020, [("c", 1)], (3, "c")), (1_040, [], (3, "c"))):
        step(at, lambda at=at: fail(at))
        failed = cluster_steps.refresh(world.environment, "default", at, owner="test").failed
        assert [each.message for each in failed] == ["it cannot be followed"]
        for relation in ("words", "m"):
            with pytest.raises(ReclockError, match="it cannot be followed"):
                world.sql(f"SELECT * FROM {relation}")
        assert emit() == ["it cannot be followed"] * 2
        step(at + 10, lambda at=at, rows=rows: revive(at + 10, *rows))
        world.refresh()
        assert (
            world.sql("SELECT c, last FROM m")
            == world.sql("SELECT count(*), max(word) FROM words")
            == [expected]
        )
        with pytest.raises(ErrorAtTime, match="it cannot be followed"):
            world.sql(f"SELECT * FROM m AS OF {at + 5}")
        with pytest.raises(ErrorAtTime, match="it cannot be followed"):
            world.sql(f"SELECT * FROM words AS OF {at + 5}")
        assert world.sql("SELECT c FROM m AS OF 1015") == [(2,)]
        assert emit() == []
        assert delta_rows(tmp_path / "sinks" / "words") == Counter(world.sql("SELECT * FROM words"))
        assert delta_rows(tmp_path / "sinks" / "m") == Counter([expected])
