"""The differences between SQLite and PostgreSQL: how a transaction begins, which clock counts, and
which errors mean a lost race."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from reclock.algebra.timestamps import Timestamp, system_clock
from reclock.consensus.database.changes import PostgresWatch, SqliteWatch, Watch
from reclock.consensus.database.compiled import Parameters, execute_text, send
from reclock.consensus.database.connections import InterruptibleConnection, require_durable
from reclock.consensus.database.waiting import CHECK_INTERVAL_S, check
from reclock.errors import ConfigurationError

BUSY_TIMEOUT_S = 10
"""How long one attempt to write waits for the previous writer, unless it is interrupted."""

CONNECT_TIMEOUT_S = 10

WRITER_LOCK = "reclock_writer"
"""A table without rows. On PostgreSQL each writer locks it, as SQLite locks its file."""

_BEGIN = "reclock_begin"
_CREATION_LOCK = 0x5EC10C  # any number that no other program locks in this database


@dataclass(frozen=True, slots=True)
class ConsensusDatabase:
    """One database with four kinds of access, which share a pool of connections.

    Transactions of ``writer`` run one after another, and each sees all earlier commits: on SQLite
    by BEGIN IMMEDIATE; on PostgreSQL by SERIALIZABLE after LOCK TABLE, which takes no snapshot, so
    that waiting for the lock never causes a serialization failure. A transaction of ``reader`` sees
    one state, with every commit that was acknowledged before it began; it neither waits for writers
    nor delays them. ``looker`` has no transactions: each of its statements sees such a state, in
    one round trip. ``creator`` has exclusive access, to create tables.
    """

    writer: sa.Engine
    reader: sa.Engine
    looker: sa.Engine
    creator: sa.Engine
    now: Callable[[sa.Connection], Timestamp]
    is_lost_race: Callable[[sa.exc.DBAPIError], bool]
    is_outage: Callable[[sa.exc.DBAPIError], bool]
    is_full: Callable[[sa.exc.DBAPIError], bool]
    outage_hint: str
    watch: Callable[[], Watch]
    bare: BareConnections
    """For ``fetch``."""

    def fetch(self, query: str, parameters: Parameters) -> list[tuple[Any, ...]]:
        """The rows of a SELECT, as ``looker`` sees them, by the driver alone: SQLAlchemy's work for
        an execution costs many times as much as a small read. Raises the driver's errors."""
        return self.bare.fetch(query, parameters)

    def dispose(self, *, close: bool = True) -> None:
        self.bare.dispose(close=close)
        self.creator.dispose(close=close)  # the four share one pool


class BareConnections:
    """Connections of the driver that never return to SQLAlchemy's pool, for small reads: one for
    each thread that reads at the same time."""

    def __init__(self, engine: sa.Engine, prepare: Callable[[Any], object]) -> None:
        """``prepare`` is called with each new connection."""
        self._engine, self._prepare = engine, prepare
        self._idle: deque[Any] = deque()

    def fetch(self, query: str, parameters: Parameters) -> list[tuple[Any, ...]]:
        """The rows of a SELECT. Raises the driver's errors."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._open()
        try:
            rows = send(connection, query, parameters).fetchall()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return rows

    def dispose(self, *, close: bool) -> None:
        """Forget the idle connections; those of a parent process are not closed."""
        idle, self._idle = self._idle, deque()
        for connection in idle if close else ():
            connection.close()

    def _open(self) -> Any:
        pooled = self._engine.raw_connection()
        connection = pooled.driver_connection
        pooled.detach()
        self._prepare(connection)
        return connection


def open_database(url_text: str) -> ConsensusDatabase:
    """The database of a SQLAlchemy URL. It does not connect yet. Raises ``ConfigurationError``,
    whose message has no secrets."""
    try:
        url = sa.make_url(url_text)
    except (sa.exc.ArgumentError, ValueError):
        raise ConfigurationError("the consensus URL is not a URL", hint=_URL_HINT) from None
    match url.drivername:
        case "sqlite" | "sqlite+pysqlite":
            return _sqlite(url)
        case "postgres" | "postgresql" | "postgresql+psycopg":
            return _postgresql(url.set(drivername="postgresql+psycopg"))
        case other:
            raise ConfigurationError(f'consensus cannot be kept in "{other}"', hint=_URL_HINT)


_URL_HINT = "use sqlite:////absolute/path.db or postgresql+psycopg://user:password@host/database"


def _sqlite(url: sa.URL) -> ConsensusDatabase:
    if url.query or not url.database or url.database == ":memory:":
        raise ConfigurationError("consensus on SQLite must be a file", hint=_URL_HINT)
    path = Path(url.database).absolute()
    _create_private(path)
    engine = _engine(url.set(database=str(path)), connect_args={"timeout": CHECK_INTERVAL_S})
    sa.event.listen(engine, "connect", _configure_sqlite)
    immediate = engine.execution_options(**{_BEGIN: _begin_immediate})
    return ConsensusDatabase(
        writer=immediate,
        reader=engine.execution_options(**{_BEGIN: "BEGIN"}),
        looker=engine,
        creator=immediate,
        # an embedded database has no clock but the machine's
        now=lambda connection: system_clock(),
        is_lost_race=lambda error: (
            _sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        ),
        # the driver calls a statement that is wrong in itself operational too
        is_outage=lambda error: (
            isinstance(error, sa.exc.OperationalError)
            and _sqlite_code(error) != sqlite3.SQLITE_ERROR
        ),
        is_full=lambda error: _sqlite_code(error) == sqlite3.SQLITE_FULL,
        outage_hint=(
            "check the database's file and its disk: locks of other programs (`fuser` names them), "
            "permissions, quotas, limits of file sizes"
        ),
        watch=partial(SqliteWatch, str(path)),
        bare=BareConnections(engine, lambda connection: None),
    )


def _create_private(path: Path) -> None:
    """Create an empty file that only its owner may read, if there is none. It is created under
    another name and linked into place, because closing a descriptor of an open SQLite file would
    release this process's locks on it."""
    if path.exists():
        return
    try:
        descriptor, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}."
        )  # mode 0600
        os.close(descriptor)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass  # another process was faster
        finally:
            os.unlink(temporary)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise ConfigurationError(
            f'cannot create the consensus database "{path}"', detail=error.strerror
        ) from error


def _configure_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # transactions begin where _begin says, not where the driver guesses
    connection.isolation_level = None
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise ConfigurationError(
            "consensus on SQLite needs write-ahead logging", detail=f'the journal mode is "{mode}"'
        )
    connection.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut


def _sqlite_code(error: sa.exc.DBAPIError) -> int:
    extended: int = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return extended & 0xFF


def _postgresql(url: sa.URL) -> ConsensusDatabase:
    engine = _engine(url, creator=partial(_connect, url))
    sa.event.listen(engine, "connect", lambda connection, _record: require_durable(connection))
    lock = (
        # a pooler may have given this transaction another session
        "SET LOCAL synchronous_commit = on; "
        f"SET LOCAL lock_timeout = '{BUSY_TIMEOUT_S}s'; "
        # a writer that fell asleep inside a transaction must not stop all others
        f"SET LOCAL idle_in_transaction_session_timeout = '{BUSY_TIMEOUT_S}s'; "
        f"LOCK TABLE {WRITER_LOCK} IN EXCLUSIVE MODE"
    )
    return ConsensusDatabase(
        writer=engine.execution_options(**{"isolation_level": "SERIALIZABLE", _BEGIN: lock}),
        reader=engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        ),
        looker=engine.execution_options(isolation_level="AUTOCOMMIT"),
        creator=engine.execution_options(
            **{_BEGIN: f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})"}
        ),
        now=_postgresql_now,
        is_lost_race=_postgresql_is_lost_race,
        is_outage=lambda error: isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError),
        is_full=lambda error: getattr(error.orig, "sqlstate", None) == "53100",
        outage_hint="check consensus_url and that the database is up",
        watch=lambda: PostgresWatch(_connect(url, **_KEEPALIVES)),
        bare=BareConnections(engine, _set_autocommit),
    )


def _set_autocommit(connection: InterruptibleConnection) -> None:
    connection.autocommit = True  # no BEGIN and ROLLBACK around a read


def _postgresql_now(connection: sa.Connection) -> Timestamp:
    # clock_timestamp, not now: a transaction may have waited for the lock since it began
    milliseconds = sa.func.floor(sa.extract("epoch", sa.func.clock_timestamp()) * 1000)
    return Timestamp(
        connection.execute(sa.select(sa.cast(milliseconds, sa.BigInteger))).scalar_one()
    )


def _postgresql_is_lost_race(error: sa.exc.DBAPIError) -> bool:
    # serialization failure, deadlock, lock not available in time
    return getattr(error.orig, "sqlstate", None) in ("40001", "40P01", "55P03")


_KEEPALIVES = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""For a connection that only listens: it learns within half a minute that the server is gone."""


def _connect(url: sa.URL, **defaults: int) -> InterruptibleConnection:
    arguments, options = url.get_dialect()().create_connect_args(url)
    options = {"connect_timeout": CONNECT_TIMEOUT_S, **defaults, **options}
    return InterruptibleConnection.connect(*arguments, **options)


def _engine(url: sa.URL, **options: Any) -> sa.Engine:
    engine = sa.create_engine(url, hide_parameters=True, **options)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: sa.Connection) -> None:
    match connection.get_execution_options().get(_BEGIN):
        case str(statement):
            execute_text(connection, statement)
        case None:
            pass
        case begin:
            begin(connection)


def _begin_immediate(connection: sa.Connection) -> None:
    """Begin a transaction, waiting for the previous writer in short steps, because a wait inside of
    SQLite cannot be interrupted."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            execute_text(connection, "BEGIN IMMEDIATE")
            return
        except sa.exc.OperationalError as error:
            if _sqlite_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
        check("waiting for the consensus database")
