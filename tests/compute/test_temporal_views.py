"""Views with conditions on ``mz_now()``: their rows come and go as time passes, without any input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from reclock import failpoints
from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import Timestamp
from reclock.collections.delta_log import DeltaLog
from reclock.errors import ErrorAtTime, UnsupportedSql
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

START = 1_700_000_000_000
LIVE = "SELECT a, ms FROM t WHERE mz_now() <= ms + 1000"


@dataclass
class World:
    """An environment whose clock the test sets."""

    home: Path
    now: int = START
    environment: Environment = field(init=False)

    def open(self) -> Environment:
        return Environment.open(self.home, clock=lambda: Timestamp(self.now))

    def sql(self, text: str) -> list[tuple]:
        return [row for result in Session(self.environment).execute(text) for row in result.rows()]

    def tick(self, after_ms: int) -> None:
        self.now = max(self.now, START + after_ms)
        tick.run(self.environment, owner="tick")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "home")
    clock = lambda: Timestamp(world.now)  # noqa: E731
    with Environment.initialise(world.home, clock=clock) as world.environment:
        world.sql("CREATE TABLE t (a int, ms bigint); CREATE TABLE u (a int, name text)")
        values = f"(1, {START + 500}), (2, {START + 1500}), (3, NULL)"
        world.sql(f"INSERT INTO t VALUES {values}")
        world.sql("INSERT INTO u VALUES (1, 'one'), (2, 'two')")
        world.sql(f"CREATE VIEW live AS {LIVE}")
        yield world


def test_rows_expire_without_input_and_no_others_are_touched(world: World) -> None:
    world.sql(
        "CREATE MATERIALIZED VIEW m AS SELECT name, count(*) AS n FROM live JOIN u USING (a) "
        "GROUP BY name"
    )
    last = "SELECT time, how, updates FROM mz_internal.mz_compute_last_refreshes"
    world.tick(1000)
    assert world.sql("SELECT * FROM m ORDER BY name") == [("one", 1), ("two", 1)]
    [built] = world.sql(last)
    world.tick(1200)
    assert world.sql(last) == [built]  # nothing was due
    world.tick(2000)
    assert world.sql("SELECT * FROM m") == [("two", 1)]
    assert world.sql(last) == [(START + 1501, "maintained from changes", 1)]
    world.sql(f"INSERT INTO t VALUES (1, {START + 2500})")
    world.tick(5000)
    assert world.sql("SELECT * FROM m") == []
    for at, rows in ((1500, 2), (1501, 1), (2501, 1), (3500, 1), (3501, 0)):
        assert len(world.sql(f"SELECT * FROM m AS OF {START + at}")) == rows, at


def test_a_view_is_right_at_each_time_after_a_restart(world: World) -> None:
    world.sql("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM live")
    world.tick(1000)
    with world.open() as world.environment:
        assert world.sql("SELECT n FROM m") == [(2,)]
        world.tick(2600)
        assert world.sql("SELECT n FROM m") == [(0,)]
        assert world.sql(f"SELECT n FROM m AS OF {START + 2500}") == [(1,)]


DUE_AT = range(1000, 1060)


@pytest.fixture
def many_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Rows that go at sixty times, each in a view that counts them, with a limit of three."""
    monkeypatch.setenv("RECLOCK_REFRESH_TIMES_LIMIT", "3")
    world = World(tmp_path / "home")
    clock = lambda: Timestamp(world.now)  # noqa: E731
    with Environment.initialise(world.home, clock=clock) as world.environment:
        world.sql("CREATE TABLE t (ms bigint)")
        world.sql(f"INSERT INTO t SELECT {START} + n FROM generate_series(1000, 1059) AS n")
        world.sql("CREATE VIEW live AS SELECT ms FROM t WHERE mz_now() < ms")
        yield world


def test_many_due_times_are_one_step_and_rows_keep_theirs(
    many_due: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_due.sql("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM live")
    many_due.tick(500)
    assert many_due.sql("SELECT n FROM m") == [(60,)]
    commits: list[str] = []
    real = DeltaLog.commit

    def counted(log: DeltaLog, *arguments: Any, **options: Any) -> bool:
        commits.append(log._folder.uri)
        return real(log, *arguments, **options)

    with monkeypatch.context() as patching:
        patching.setattr(DeltaLog, "commit", counted)
        many_due.tick(3000)
    assert max(Counter(commits).values()) == 1
    assert many_due.sql("SELECT n FROM m") == [(0,)]
    for at in (1000, 1001, 1030, 1058, 1059):
        left = sum(due > at for due in DUE_AT)
        assert many_due.sql(f"SELECT n FROM m AS OF {START + at}") == [(left,)], at
    [(updates,)] = many_due.sql("SELECT updates FROM mz_internal.mz_compute_last_refreshes")
    assert updates == 120  # one row goes and one comes at each time


def test_whoever_takes_over_a_step_of_many_times_finishes_all_of_them(
    many_due: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_due.sql("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM live")
    many_due.tick(500)
    last = "SELECT time, updates FROM mz_internal.mz_compute_last_refreshes"
    built = many_due.sql(last)

    def die(name: str) -> None:
        if name == "refresh.after_claim":
            raise SystemExit

    with monkeypatch.context() as dying, suppress(SystemExit):
        dying.setattr(failpoints, "on_reach", die)
        many_due.tick(3000)
    assert many_due.sql(last) == built  # the step is claimed, and not taken
    many_due.tick(3500)
    for at in (1000, 1030, 1059):
        left = sum(due > at for due in DUE_AT)
        assert many_due.sql(f"SELECT n FROM m AS OF {START + at}") == [(left,)], at


def test_a_failing_time_among_many_has_its_error_and_the_others_their_rows(
    many_due: World,
) -> None:
    many_due.sql("CREATE MATERIALIZED VIEW m AS SELECT 1 / (count(*) - 30) AS n FROM live")
    many_due.tick(500)
    many_due.tick(3000)
    assert many_due.sql(f"SELECT n FROM m AS OF {START + 1028}") == [(1,)]
    with pytest.raises(ErrorAtTime, match="division by zero"):
        many_due.sql(f"SELECT n FROM m AS OF {START + 1029}")
    assert many_due.sql(f"SELECT n FROM m AS OF {START + 1030}") == [(-1,)]


def test_beyond_the_limit_what_cannot_be_one_step_has_the_last_time(many_due: World) -> None:
    many_due.sql("CREATE MATERIALIZED VIEW m AS SELECT min(ms) AS first FROM live")
    many_due.tick(500)
    many_due.tick(1030)
    [(at,)] = many_due.sql("SELECT mz_now()")
    assert many_due.sql("SELECT first FROM m") == [(at + 1,)]
    many_due.tick(3000)
    assert many_due.sql("SELECT first FROM m") == [(None,)]


def test_a_subscription_and_a_sink_have_the_times_of_the_rows(world: World, tmp_path: Path) -> None:
    world.sql("CREATE SINK k FROM live INTO DELTA 'rows'")
    world.tick(1000)
    world.tick(2000)
    world.sql(f"INSERT INTO t VALUES (4, {START + 2100})")
    world.tick(6000)
    query = f"SUBSCRIBE (SELECT a FROM live) AS OF {START + 1000} UP TO {START + 5000}"
    received = world.sql(query)
    assert [(diff, a) for _, diff, a in received] == [
        (1, 1),
        (1, 2),
        (-1, 1),
        (1, 4),
        (-1, 2),
        (-1, 4),
    ]
    times = [at - START for at, *_ in received]
    assert (times[2], times[4], times[5]) == (1501, 2501, 3101)
    assert DeltaTable(str(next(world.home.rglob("rows")))).to_pyarrow_table().num_rows == 0


def test_a_query_answers_at_its_own_time(world: World) -> None:
    world.now = START + 3000
    world.sql("INSERT INTO u VALUES (9, 'now')")
    assert world.sql("SELECT mz_now()") == [(START + 3000,)]
    world.now = START + 4000
    world.sql("INSERT INTO u VALUES (9, 'later')")
    assert world.sql("SELECT mz_now()") == [(START + 4000,)]
    at = START + 1000
    assert world.sql(f"SELECT DISTINCT mz_now() - ms FROM t WHERE a = 1 AS OF {at}") == [(500,)]
    assert world.sql(f"SELECT a FROM t WHERE mz_now() > ms OR a = 3 AS OF {at}") == [(1,), (3,)]
    assert world.sql(f"SELECT count(*) FILTER (WHERE mz_now() < ms) FROM t AS OF {at}") == [(1,)]


def test_an_index_by_the_time_is_refused(world: World) -> None:
    with pytest.raises(UnsupportedSql, match="mz_now is not supported here"):
        world.sql("CREATE INDEX i ON t (mz_now())")


def test_moments_are_compared_in_milliseconds(world: World) -> None:
    world.sql("CREATE TABLE e (a int, ts timestamp, tz timestamptz, d date)")
    world.sql(
        "INSERT INTO e VALUES (1, '2023-11-14 22:13:20.5', '2023-11-14 22:13:22+00', '2023-11-15')"
    )
    world.sql(
        "CREATE MATERIALIZED VIEW m AS SELECT a FROM e WHERE mz_now() BETWEEN ts AND "
        "tz + INTERVAL '1 second' AND d > mz_now()"
    )
    for after_ms, rows in ((400, []), (1000, [(1,)]), (3100, [])):
        world.tick(after_ms)
        assert world.sql("SELECT * FROM m") == rows
    assert world.sql(f"SELECT * FROM m AS OF {START + 3000}") == [(1,)]


@pytest.mark.parametrize(
    ("condition", "shown_at"),
    [
        ("mz_now() < n", range(500, 1001)),
        ("mz_now() <= n", range(500, 1001)),
        ("n > mz_now()", range(500, 1001)),
        ("mz_now() >= n", range(1001, 1500)),
        ("mz_now() > n", range(1001, 1500)),
        ("n <= mz_now()", range(1001, 1500)),
        ("mz_now() = n", ()),
        ("mz_now() = n + 0.5", (1001,)),
        ("mz_now() BETWEEN n - 100 AND n + 100", range(901, 1101)),
        ("mz_now() <= n::double precision", range(500, 1001)),
        ("mz_now() < n * 1000000000", range(500, 1500)),
        ("mz_now() > -n * 1000000000", range(500, 1500)),
        ("mz_now() < 'NaN'::double precision * n", range(500, 1500)),
    ],
)
def test_numbers_with_fractions_are_compared_as_they_are(
    world: World, condition: str, shown_at: Sequence[int]
) -> None:
    world.sql("CREATE TABLE e (n numeric(38, 1))")
    world.sql(f"INSERT INTO e VALUES ({START + 1000}.5), (NULL)")
    world.sql(f"CREATE MATERIALIZED VIEW m AS SELECT n FROM e WHERE {condition}")
    for after_ms in (500, 900, 901, 1000, 1001, 1002, 1100, 1101, 1499):
        world.tick(after_ms)
        for relation in ("m", f"e WHERE {condition}"):
            [(shown,)] = world.sql(f"SELECT count(*) FROM {relation} AS OF {START + after_ms}")
            assert shown == (after_ms in shown_at), (relation, after_ms)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t WHERE mz_now() <= ms OR a = 1",
        "SELECT a FROM t WHERE NOT mz_now() <= ms",
        "SELECT a FROM t WHERE mz_now() <> ms",
        "SELECT a FROM t WHERE mz_now() - 1000 <= ms",
        "SELECT a, mz_now() FROM t",
        "SELECT count(*) FILTER (WHERE mz_now() <= ms) FROM t",
        "SELECT t.a FROM t LEFT JOIN u ON t.a = u.a AND mz_now() <= ms",
        "SELECT a, mz_now() <= ms AS is_live FROM live",
    ],
)
def test_other_uses_are_refused_where_they_would_be_maintained(world: World, query: str) -> None:
    world.sql(f"CREATE VIEW v AS {query}")
    world.sql("SELECT * FROM v")
    for statement in (
        f"CREATE MATERIALIZED VIEW m AS {query}",
        "CREATE DEFAULT INDEX ON v",
        "CREATE SINK k FROM v INTO DELTA 'rows'",
        f"SUBSCRIBE ({query})",
    ):
        with pytest.raises(UnsupportedSql, match="mz_now") as refused:
            world.sql(statement)
        assert "other side" in str(refused.value.hint)
