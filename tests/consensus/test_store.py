"""The store: serializable transactions, consistent reads, and errors that give nothing away, on
both databases."""

import contextlib
import os
import resource
import sqlite3
import stat
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reclock.algebra.timestamps import system_clock
from reclock.consensus.database import databases, store
from reclock.consensus.database.store import Consensus
from reclock.errors import (
    ConfigurationError,
    ConsensusFull,
    ConsensusOutcomeUnknown,
    ConsensusUnavailable,
    InternalError,
    ReclockError,
)

counter = sa.Table(
    "test_store_counter", sa.MetaData(), sa.Column("value", sa.Integer, nullable=False)
)


def value(connection: sa.Connection) -> int:
    return connection.execute(sa.select(counter.c.value)).scalar_one()


def increment(connection: sa.Connection) -> int:
    """Reads, then writes what it read and one more: loses updates unless transactions are
    serializable."""
    found = value(connection)
    connection.execute(sa.update(counter).values(value=found + 1))
    return found + 1


def start_at_zero(connection: sa.Connection) -> None:
    counter.create(connection, checkfirst=True)
    connection.execute(sa.insert(counter).values(value=0))


@pytest.fixture
def counting(consensus: Consensus) -> Consensus:
    consensus.transact(start_at_zero)
    return consensus


def test_no_update_is_lost_between_threads(counting: Consensus) -> None:
    def work() -> None:
        for _ in range(20):
            counting.transact(increment)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counting.read(value) == 120


def test_work_that_raises_leaves_nothing(counting: Consensus) -> None:
    def fail(connection: sa.Connection) -> None:
        increment(connection)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        counting.transact(fail)
    assert counting.read(value) == 0
    assert counting.transact(increment) == 1


def test_a_read_sees_one_state_though_others_commit_meanwhile(counting: Consensus) -> None:
    def look_twice(connection: sa.Connection) -> tuple[int, int]:
        before = value(connection)
        other = threading.Thread(target=counting.transact, args=(increment,))
        other.start()
        other.join()  # so a reader does not make a writer wait, either
        return before, value(connection)

    assert counting.read(look_twice) == (0, 0)
    assert counting.read(value) == 1


def test_a_repeated_read_sees_every_commit_before_it(counting: Consensus) -> None:
    read = counting.repeated(sa.select(counter.c.value))
    for number in range(1, 4):
        assert counting.transact(increment) == number
        assert [tuple(row) for row in read()] == [(number,)]
    counting.transact(counter.drop)
    with pytest.raises(sa.exc.DBAPIError, match="counter"):
        read()


def test_a_repeated_read_keeps_a_connection_of_its_own(counting: Consensus) -> None:
    checkouts: list[object] = []
    sa.event.listen(
        counting._database.looker.pool, "checkout", lambda *connection: checkouts.append(connection)
    )
    read = counting.repeated(sa.select(counter.c.value))
    for _ in range(3):
        assert [tuple(row) for row in read()] == [(0,)]
    assert len(checkouts) == 1
    counting.close()
    assert [tuple(row) for row in read()] == [(0,)]
    assert len(checkouts) == 2


def test_a_read_keeps_no_writes(counting: Consensus) -> None:
    with contextlib.suppress(sa.exc.InternalError):  # PostgreSQL refuses, SQLite forgets
        counting.read(increment)
    assert counting.read(value) == 0


def test_a_lost_race_runs_the_work_again_from_its_reads(counting: Consensus) -> None:
    reads: list[int] = []

    def lose_once(connection: sa.Connection) -> None:
        reads.append(value(connection))
        increment(connection)
        if len(reads) == 1:
            lost = sqlite3.OperationalError("database is locked")
            lost.sqlite_errorcode = sqlite3.SQLITE_BUSY  # type: ignore[attr-defined]
            lost.sqlstate = "40001"  # type: ignore[attr-defined]
            raise sa.exc.OperationalError("UPDATE", None, lost)

    counting.transact(lose_once)
    assert reads == [0, 0]
    assert counting.read(value) == 1


def test_transactions_do_not_nest(counting: Consensus) -> None:
    with pytest.raises(InternalError, match="inside another"):
        counting.transact(lambda connection: counting.transact(increment))
    assert counting.transact(increment) == 1


def test_a_fork_opens_connections_of_its_own(counting: Consensus) -> None:
    assert counting.transact(increment) == 1
    child = os.fork()
    if child == 0:
        try:
            pool: Any = counting._database.writer.pool
            inherited = pool.checkedin()
            os._exit(98 if inherited else counting.transact(increment))
        except BaseException:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 2
    assert counting.transact(increment) == 3


def test_the_clock_of_leases_is_the_databases_unless_one_is_given(consensus_url: str) -> None:
    consensus = Consensus.connect(consensus_url)
    before = system_clock()
    now = consensus.read(consensus.now)
    assert before <= now <= system_clock()  # the database runs on this machine
    consensus.close()


def test_a_writer_waits_in_vain_within_a_bound(
    counting: Consensus, consensus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "BUSY_TIMEOUT_S", 0.05)
    monkeypatch.setattr(store, "PATIENCE_S", 0.1)
    impatient = Consensus.connect(consensus_url)

    def wait_in_vain(connection: sa.Connection) -> None:
        with pytest.raises(ConsensusUnavailable):
            impatient.read(lambda _: impatient.transact(increment))

    def in_another_thread(connection: sa.Connection) -> None:
        failed: list[BaseException] = []

        def run() -> None:
            try:
                wait_in_vain(connection)
            except BaseException as error:
                failed.append(error)

        other = threading.Thread(target=run)
        other.start()
        other.join()
        assert not failed

    counting.transact(in_another_thread)
    assert impatient.transact(increment) == 1
    impatient.close()


def test_connections_the_server_closed_are_replaced(postgres_url: str) -> None:
    consensus = Consensus.connect(postgres_url)
    consensus.transact(start_at_zero)
    other_connections = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        "current_database() AND pid <> pg_backend_pid()"
    )
    killer = sa.create_engine(postgres_url)
    read = consensus.repeated(sa.select(counter.c.value))
    for step in range(2):
        with killer.connect() as connection:
            connection.exec_driver_sql(other_connections)
        assert consensus.transact(increment) == 2 * step + 1
        with killer.connect() as connection:
            connection.exec_driver_sql(other_connections)
        assert consensus.read(value) == 2 * step + 1
        with killer.connect() as connection:
            connection.exec_driver_sql(other_connections)
        assert [tuple(row) for row in read()] == [(2 * step + 1,)]
        assert consensus.transact(increment) == 2 * step + 2
    killer.dispose()
    consensus.close()


def test_a_full_disk_is_named(consensus_url: str) -> None:
    def fill(connection: sa.Connection) -> None:
        if consensus_url.startswith("sqlite"):
            connection.exec_driver_sql("PRAGMA max_page_count = 1")
            connection.exec_driver_sql("CREATE TABLE large AS SELECT zeroblob(1000000)")
        else:  # as the server reports it
            connection.exec_driver_sql("DO $$ BEGIN RAISE EXCEPTION SQLSTATE '53100'; END $$")

    consensus = Consensus.connect(consensus_url)
    consensus.transact(start_at_zero)
    with pytest.raises(ConsensusFull, match="no space is left") as raised:
        consensus.transact(fill)
    assert raised.value.sqlstate == "53100"
    assert consensus.read(value) == 0
    consensus.close()


def test_a_limit_of_file_sizes_is_not_blamed_on_the_url(tmp_path: Path) -> None:
    consensus = Consensus.connect(f"sqlite:///{tmp_path / 'consensus.db'}")
    consensus.transact(start_at_zero)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))
    try:
        with pytest.raises(ConsensusUnavailable, match="not available") as raised:
            consensus.transact(increment)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "limits of file sizes" in (raised.value.hint or "")
    assert consensus.transact(increment) == 1
    consensus.close()


def test_a_connection_that_breaks_during_the_commit_leaves_it_open_whether_it_happened(
    postgres_url: str,
) -> None:
    consensus = Consensus.connect(postgres_url)
    consensus.transact(start_at_zero)
    killer = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    runs: list[int] = []

    def lose_the_connection(connection: sa.Connection) -> None:
        runs.append(increment(connection))
        backend = {"pid": connection.scalar(sa.text("SELECT pg_backend_pid()"))}
        with killer.connect() as other:
            # waits until it is gone
            other.execute(sa.text("SELECT pg_terminate_backend(:pid, 10000)"), backend)

    with pytest.raises(ConsensusOutcomeUnknown):
        consensus.transact(lose_the_connection)
    assert runs == [1]
    assert consensus.read(value) == 0
    assert consensus.transact(increment) == 1
    killer.dispose()
    consensus.close()


def test_a_writer_asleep_inside_a_transaction_stops_nobody_for_ever(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "BUSY_TIMEOUT_S", 0.5)
    drowsy = Consensus.connect(postgres_url)
    drowsy.transact(start_at_zero)
    other = Consensus.connect(postgres_url)
    values: list[int] = []

    def sleep_on_it(connection: sa.Connection) -> int:
        values.append(value(connection))
        if len(values) == 1:
            waiting = threading.Thread(target=other.transact, args=(increment,))
            waiting.start()
            waiting.join()  # meanwhile this connection is idle in its transaction
        return increment(connection)

    assert drowsy.transact(sleep_on_it) == 2
    assert values == [0, 1]
    drowsy.close()
    other.close()


def test_the_sqlite_file_is_private_durable_and_logs_ahead(tmp_path: Path) -> None:
    path = tmp_path / "consensus.db"
    before = os.umask(0)
    try:
        consensus = Consensus.connect(f"sqlite:///{path}")
        consensus.transact(start_at_zero)
        assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {
            "consensus.db": 0o600,
            "consensus.db-wal": 0o600,
            "consensus.db-shm": 0o600,
        }
    finally:
        os.umask(before)
    assert consensus.read(lambda c: c.exec_driver_sql("PRAGMA journal_mode").scalar()) == "wal"
    assert consensus.read(lambda c: c.exec_driver_sql("PRAGMA synchronous").scalar()) == 2
    consensus.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "no url at all",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///x.db?mode=memory",
        "mysql://u:s3cret@h/d",
        "oracle://u:s3cret@h/d",
    ],
)
def test_a_url_that_cannot_be_consensus_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Consensus.connect(url)
    assert "s3cret" not in everything_said(refused.value)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent/consensus\.db"):
        Consensus.connect(f"sqlite:///{tmp_path}/absent/consensus.db")


def test_errors_and_repr_keep_the_password(postgres_url: str) -> None:
    url = sa.make_url(postgres_url)
    assert url.password
    consensus = Consensus.connect(postgres_url)
    assert url.password not in repr(consensus)
    consensus.close()
    hidden = url.set(query={"password": "s3cret-too"})
    for wrong in (
        url.set(password="s3cret"),
        url.set(password="s3cret", port=1),
        hidden.set(port=1),
    ):
        with pytest.raises(ConsensusUnavailable) as refused:
            Consensus.connect(wrong.render_as_string(hide_password=False))
        assert "s3cret" not in everything_said(refused.value)


def everything_said(error: ReclockError) -> str:
    return (
        "\n".join(traceback.format_exception(error))
        + f"{error.message} {error.detail} {error.hint} {error.args!r}"
    )
