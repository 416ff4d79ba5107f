"""A backup that is taken beside writers is both stores at one time, and a restore brings them back
under a new epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.forks import command, die_at
from fixtures.sessions import sql
from fixtures.sunk import delta_rows

from reclock import failpoints
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.errors import (
    CatalogUninitialized,
    ConfigurationError,
    ErrorAtTime,
    Fenced,
    InputStalled,
    ReclockError,
)
from reclock.pipeline import maintenance, tick
from reclock.pipeline.backup import back_up
from reclock.pipeline.restore import restore
from reclock.runtime.environment import Environment

RESTORE_POINTS = [
    "restore.consensus_cleared",
    "restore.lake_cleared",
    "restore.lake_copied",
    "restore.consensus_copied",
    "restore.led",
]


class Writers:
    """Each moves one unit between two accounts in a transaction, and notes it in its own row of a
    third table: any consistent state has a sum of zero, and as many moves as the notes say."""

    def __init__(self, environment: Environment, count: int) -> None:
        sql(
            environment,
            (
                "CREATE TABLE a (n int); CREATE TABLE b (n int); CREATE TABLE notes (writer "
                "int, n int)"
            ),
        )
        self.acknowledged = [0] * count
        self._environment, self._stopping = environment, threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(writer,)) for writer in range(count)
        ]

    def _write(self, writer: int) -> None:
        for number in range(1, 10_000):
            if self._stopping.is_set():
                return
            sql(
                self._environment,
                f"BEGIN; INSERT INTO a VALUES ({number}); INSERT INTO b VALUES ({-number});"
                f" INSERT INTO notes VALUES ({writer}, {number}); COMMIT",
            )
            self.acknowledged[writer] = number

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()


def check_consistent(environment: Environment, acknowledged_before: list[int]) -> None:
    [(total,)] = sql(
        environment, "SELECT sum(n) FROM (SELECT n FROM a UNION ALL SELECT n FROM b) x"
    )
    assert total in (0, None)
    notes = dict.fromkeys(range(len(acknowledged_before)), 0)
    for writer, count, last in sql(
        environment, "SELECT writer, count(*), max(n) FROM notes GROUP BY writer"
    ):
        assert count == last, f"writer {writer} has gaps"
        notes[writer] = count
    assert sql(environment, "SELECT count(*) FROM a") == [(sum(notes.values()),)]
    assert all(notes[writer] >= number for writer, number in enumerate(acknowledged_before))


@pytest.fixture(params=["stash", "persist"])
def catalog(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RECLOCK_CATALOG", request.param)
    return str(request.param)


def wait_for(condition: Callable[[], bool]) -> None:
    patience = threading.Event()
    for _ in range(3000):
        if condition():
            return
        patience.wait(0.02)
    raise AssertionError("the writers do not get on")


def test_a_backup_beside_writers_is_one_consistent_time(
    tmp_path: Path, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the second backup is of a catalog that was compacted
    monkeypatch.setenv("RECLOCK_CATALOG_RETENTION_MS", "0")
    with Environment.initialise(tmp_path / "home") as environment:
        writers, before = Writers(environment, 3), []
        with writers:
            for number in range(2):
                seen = list(writers.acknowledged)
                wait_for(
                    lambda seen=seen: all(
                        a > b + 2 for a, b in zip(writers.acknowledged, seen, strict=True)
                    )
                )
                before.append(list(writers.acknowledged))
                back_up(environment.stores, tmp_path / f"backup{number}")
                maintenance.run(environment)
    for number in range(2):
        restore(tmp_path / f"backup{number}", tmp_path / f"home{number}", may_replace=False)
        with Environment.open(tmp_path / f"home{number}") as restored:
            check_consistent(restored, before[number])
            assert (restored.stores.catalog.since > 0) == bool(number)
            sql(
                restored,
                (
                    "INSERT INTO a VALUES (5); INSERT INTO b VALUES (-5); INSERT INTO notes "
                    "VALUES (9, 1)"
                ),
            )
            restored.stores.tables.apply()
            assert sql(
                restored, "SELECT sum(n) FROM (SELECT n FROM a UNION ALL SELECT n FROM b) x"
            ) == [(0,)]


def test_definitions_of_the_moment_come_back(tmp_path: Path, catalog: str) -> None:
    home, saved = tmp_path / "home", tmp_path / "saved"
    with Environment.initialise(home) as environment:
        sql(
            environment,
            (
                "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT a "
                "FROM t; CREATE DEFAULT INDEX ON v"
            ),
        )
        sql(
            environment,
            (
                "CREATE TABLE filled AS SELECT a + 1 AS b FROM t; CREATE ROLE pam LOGIN "
                "PASSWORD 'pencil'"
            ),
        )
        back_up(environment.stores, saved)
        sql(
            environment,
            (
                "INSERT INTO t VALUES (2); CREATE TABLE later (a int); INSERT INTO later "
                "VALUES (42); DROP TABLE filled"
            ),
        )
        environment.stores.tables.apply()
    restore(saved, home, may_replace=True)
    with Environment.open(home) as environment:
        assert sql(environment, "SELECT a FROM v") == [(1,)]
        assert sql(environment, "SELECT b FROM filled") == [(2,)]
        assert len(environment.stores.passwords.get_all()) == 1
        sql(environment, "CREATE TABLE later (a int)")
        assert sql(environment, "SELECT * FROM later") == []
        assert sql(environment, "INSERT INTO later VALUES (1); SELECT * FROM later") == [(1,)]


def test_a_source_with_a_claim_and_its_sink_come_back(
    tmp_path: Path, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim stands as it stood, with its error; the sink goes on after what its target has."""
    home, saved = tmp_path / "home", tmp_path / "saved"

    def failures(environment: Environment) -> list[str]:
        return [
            f"{failure.name}: {failure.message}"
            for failure in tick.run(environment, owner="test").failed
        ]

    with Environment.initialise(home) as environment:
        data = home / "buckets" / "b" / "a.csv"
        data.parent.mkdir(parents=True)
        data.write_text("ab,1\n")
        sql(
            environment,
            """CREATE SOURCE words (word text, number integer) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b'
            FORMAT CSV WITH 2 COLUMNS; CREATE SINK k FROM words INTO DELTA 'k';
            CREATE MATERIALIZED VIEW last AS SELECT max(number) AS n FROM words""",
        )
        assert failures(environment) == []
        data.write_text("ab,1\ncd,x\n")
        assert len(failures(environment)) == 1
        [(sink,)] = sql(environment, "SELECT id FROM mz_sinks")
        were_held: list[bool] = []
        with monkeypatch.context() as patch:
            patch.setattr(
                failpoints,
                "on_reach",
                lambda killed_at: were_held.append(sink in environment.stores.holds.earliest()),
            )
            back_up(environment.stores, saved)
        assert were_held
        assert not any(were_held)  # the sink goes on beside the backup
        sql(environment, "DROP SOURCE words CASCADE")
    restore(saved, home, may_replace=True)
    with Environment.open(home) as environment:
        with pytest.raises(InputStalled, match="words"):
            sql(environment, "SELECT * FROM words")
        data.write_text("ab,1\ncd,2\n")
        sql(environment, "ALTER SOURCE words RETRY")
        assert failures(environment) == []
        assert sql(environment, "SELECT word FROM words ORDER BY 1") == [("ab",), ("cd",)]
        assert sql(environment, "SELECT n FROM last") == [(2,)]
        assert delta_rows(home / "sinks" / "k") == {("ab", 1): 1, ("cd", 2): 1}


def test_the_errors_of_a_view_come_back(tmp_path: Path) -> None:
    home, saved = tmp_path / "home", tmp_path / "saved"
    with Environment.initialise(home) as environment:
        sql(
            environment,
            (
                "CREATE TABLE t (a int); CREATE MATERIALIZED VIEW m AS SELECT 1 / a AS x "
                "FROM t; INSERT INTO t VALUES (0)"
            ),
        )
        assert len(tick.run(environment, owner="test").failed) == 1
        back_up(environment.stores, saved)
    restore(saved, home, may_replace=True)
    with Environment.open(home) as environment:
        index = environment.stores.lake.open(StorageCollectionId(GlobalId("u3"))).pin()
        with pytest.raises(ErrorAtTime, match="division by zero"):
            index.snapshot(Timestamp(index.upper - 1))
        sql(environment, "UPDATE t SET a = 1")
        assert tick.run(environment, owner="test").failed == ()
        assert sql(environment, "SELECT x FROM m") == [(1,)]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A backup of an environment whose table has one row; it has another one now, and a higher
    epoch."""
    home = tmp_path / "home"
    with Environment.initialise(home) as environment:
        sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        back_up(environment.stores, tmp_path / "saved")
        sql(environment, "INSERT INTO t VALUES (2)")
    return tmp_path / "saved"


def test_a_restore_fences_every_process_that_was_there(tmp_path: Path, saved: Path) -> None:
    home = tmp_path / "home"
    with Environment.open(home) as same_epoch:
        sql(same_epoch, "INSERT INTO t VALUES (3)")
        restored = restore(saved, home, may_replace=True)
        assert restored.epoch > same_epoch.stores.leadership.epoch
        with pytest.raises(Fenced):
            sql(same_epoch, "INSERT INTO t VALUES (4)")
    with Environment.open(home) as environment:
        assert sql(environment, "SELECT a FROM t") == [(1,)]
        # over an epoch that the backup knows nothing of
        newer = restore(saved, home, may_replace=True)
        assert newer.epoch > environment.stores.leadership.epoch
        with pytest.raises(Fenced):
            sql(environment, "INSERT INTO t VALUES (4)")


@pytest.mark.parametrize("killed_at", RESTORE_POINTS)
def test_a_restore_that_died_is_begun_again(tmp_path: Path, saved: Path, killed_at: str) -> None:
    home = tmp_path / "home"
    die_at(killed_at, _restore, saved, home)
    with pytest.raises(CatalogUninitialized):
        Environment.open(home)
    restore(saved, home, may_replace=True)
    with Environment.open(home) as environment:
        assert sql(environment, "SELECT a FROM t") == [(1,)]


def _restore(saved: Path, home: Path) -> None:
    restore(saved, home, may_replace=True)


def test_what_is_there_is_not_replaced_unasked(tmp_path: Path, saved: Path) -> None:
    with pytest.raises(ConfigurationError):
        restore(saved, tmp_path / "home", may_replace=False)
    with Environment.open(tmp_path / "home") as environment:
        assert sql(environment, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]
        with pytest.raises(ConfigurationError):
            back_up(environment.stores, saved)


@pytest.mark.parametrize(
    "killed_at", ["backup.before_consensus", "backup.after_consensus", "backup.collection_copied"]
)
def test_a_backup_that_died_is_none(tmp_path: Path, saved: Path, killed_at: str) -> None:
    home, unfinished = tmp_path / "home", tmp_path / "unfinished"
    die_at(killed_at, _back_up, home, unfinished)
    with pytest.raises(ConfigurationError, match="no complete backup"):
        restore(unfinished, home, may_replace=True)


def _back_up(home: Path, to: Path) -> None:
    with Environment.open(home) as environment:
        back_up(environment.stores, to)


def test_consensus_may_move_to_another_database(
    tmp_path: Path, saved: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_CONSENSUS_URL", postgres_url)
    restore(saved, tmp_path / "elsewhere", may_replace=False)
    with Environment.open(tmp_path / "elsewhere") as environment:
        assert sql(environment, "INSERT INTO t VALUES (7); SELECT a FROM t ORDER BY a") == [
            (1,),
            (7,),
        ]
        back_up(environment.stores, tmp_path / "second")
    monkeypatch.delenv("RECLOCK_CONSENSUS_URL")
    restore(tmp_path / "second", tmp_path / "back", may_replace=False)
    with Environment.open(tmp_path / "back") as environment:
        assert sql(environment, "SELECT a FROM t ORDER BY a") == [(1,), (7,)]


def test_the_commands(tmp_path: Path, saved: Path) -> None:
    home = str(tmp_path / "home")
    assert command("backup", str(tmp_path / "new"), "--home", home) == 0
    assert command("restore", str(tmp_path / "new"), "--home", home) == 1
    assert command("restore", str(tmp_path / "new"), "--home", home, "--replace") == 0
    with Environment.open(tmp_path / "home") as environment:
        assert sql(environment, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]
        with pytest.raises(ReclockError):
            sql(environment, "SELECT * FROM nothing")
