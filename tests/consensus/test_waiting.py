"""A statement ends in time while consensus is waited for; a session's commits are durable whatever
the server's default is."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
import sqlalchemy as sa

from reclock.consensus.database.connections import InterruptibleConnection, require_durable
from reclock.consensus.database.store import Consensus
from reclock.consensus.database.waiting import interruptible
from reclock.errors import ConfigurationError, QueryCanceled

notes = sa.Table("test_waiting_note", sa.MetaData(), sa.Column("text", sa.Text, nullable=False))

SHOW = sa.text("SELECT current_setting('synchronous_commit')")


def note(text: str) -> Callable[[sa.Connection], object]:
    def write(connection: sa.Connection) -> None:
        notes.create(connection, checkfirst=True)
        connection.execute(sa.insert(notes).values(text=text))

    return write


def read_names(connection: sa.Connection) -> list[str]:
    return list(connection.scalars(sa.select(notes.c.text)))


@contextmanager
def busy(url: str) -> Iterator[None]:
    """Inside the block another process's transaction has the database to itself."""
    other, began, ended = Consensus.connect(url), threading.Event(), threading.Event()

    def hold(connection: sa.Connection) -> None:
        began.set()
        ended.wait(60)

    thread = threading.Thread(target=other.transact, args=(hold,))
    thread.start()
    began.wait(60)
    try:
        yield
    finally:
        ended.set()
        thread.join()
        other.close()


def test_a_transaction_that_waits_for_the_writer_can_be_cancelled(
    consensus: Consensus, consensus_url: str
) -> None:
    consensus.transact(note("before"))
    checks: list[str] = []

    def cancel(waiting_for: str) -> None:
        checks.append(waiting_for)
        if len(checks) > 3:
            raise QueryCanceled

    with busy(consensus_url):
        with interruptible(cancel), pytest.raises(QueryCanceled):
            consensus.transact(note("cancelled"))
        assert consensus.read(read_names) == ["before"]  # the connection can be used again
    consensus.transact(note("after"))
    assert consensus.read(read_names) == ["before", "after"]


def test_a_statement_that_waits_for_a_connection_can_be_cancelled() -> None:
    def cancel(waiting_for: str) -> None:
        raise QueryCanceled

    with socket.create_server(("127.0.0.1", 0)) as silent:  # as a host that is gone, or hangs
        where = {"host": "127.0.0.1", "port": silent.getsockname()[1], "connect_timeout": 60}
        with interruptible(cancel), pytest.raises(QueryCanceled):
            InterruptibleConnection.connect(**where)


def test_what_is_not_cancelled_waits_on(consensus: Consensus, consensus_url: str) -> None:
    finished = threading.Event()

    def work() -> None:
        with interruptible(lambda waiting_for: None):
            consensus.transact(note("late"))
        finished.set()

    with busy(consensus_url):
        thread = threading.Thread(target=work)
        thread.start()
        assert not finished.wait(0.3)
    thread.join()
    assert consensus.read(read_names) == ["late"]


@pytest.mark.parametrize("value", ["off", "local", "on"])
def test_commits_are_durable_where_the_database_is_set_up_to_lose_them(
    postgres_url: str, value: str
) -> None:
    database = postgres_url.rsplit("/", 1)[1]
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {database} SET synchronous_commit = {value}")
    consensus = Consensus.connect(postgres_url)
    try:
        assert consensus.transact(lambda connection: connection.scalar(SHOW)) == "on"
        assert consensus.read(lambda connection: connection.scalar(SHOW)) != "off"
    finally:
        consensus.close()


def test_a_server_that_does_not_let_the_session_decide_is_refused() -> None:
    class Pooler:
        """Forgets what a session sets."""

        autocommit = False

        def execute(self, statement: str) -> Pooler:
            return self

        def fetchone(self) -> tuple[str]:
            return ("off",)

    with pytest.raises(ConfigurationError, match="lose acknowledged commits"):
        require_durable(Pooler())  # type: ignore[arg-type]
