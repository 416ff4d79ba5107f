"""The consensus database: serializable transactions over tables that every process of an
environment shares."""

from __future__ import annotations

import copy
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
import stamina

from reclock.algebra.timestamps import Clock, Timestamp
from reclock.consensus import migrations
from reclock.consensus.database.changes import TimelineChanges
from reclock.consensus.database.clock import DatabaseClock
from reclock.consensus.database.compiled import CompiledStatement, Parameters
from reclock.consensus.database.databases import WRITER_LOCK, ConsensusDatabase, open_database
from reclock.consensus.database.waiting import check, interruptible
from reclock.errors import (
    ConsensusFull,
    ConsensusOutcomeUnknown,
    ConsensusUnavailable,
    InternalError,
)

T = TypeVar("T")

metadata = sa.MetaData()
"""The tables of consensus, from all modules that define one. Migrations create them
(`reclock.consensus.migrations`)."""

sa.Table(WRITER_LOCK, metadata, sa.Column("unused", sa.Integer))

PATIENCE_S = 30.0
"""How long a transaction that loses races is repeated."""


class RepeatedRead(Protocol):
    """Returns the rows of a query with these parameters."""

    def __call__(self, parameters: Parameters | None = None) -> Sequence[Sequence[Any]]: ...


class Consensus:
    """One environment's consensus, on SQLite or PostgreSQL. Thread-safe, also in a child after a
    fork.

    Any call raises ``ConsensusUnavailable`` while the database is unreachable or locked.
    """

    def __init__(self, database: ConsensusDatabase, *, clock: Clock | None = None) -> None:
        self.metadata = metadata
        self._database = database
        self._clock = clock
        self._database_clock = DatabaseClock(lambda: self._outside_transaction(database.now))
        self.timeline_changes = TimelineChanges(database.watch)
        self._has_tables = False
        self._check: Callable[[sa.Connection], object] | None = None
        self._inside = threading.local()
        _fresh_after_fork.add(self)

    @classmethod
    def connect(cls, url: str, *, clock: Clock | None = None) -> Consensus:
        """Open the database at a SQLAlchemy URL, and upgrade its tables to this release's version.
        Several processes may do so at once.

        ``clock`` replaces the database's clock, for tests. Raises ``ConfigurationError`` or
        ``ConsensusUnavailable``; neither contains the URL.
        """
        consensus = cls(open_database(url), clock=clock)
        try:
            consensus._ensure_tables()
        except BaseException:
            consensus.close()
            raise
        return consensus

    def transact(self, work: Callable[[sa.Connection], T]) -> T:
        """The result of ``work``, once everything that it wrote is durable. Transactions are
        serializable, in the order in which they return.

        ``work`` is repeated, within a bound, if it loses a race or the connection breaks before the
        commit, so it must have no other effects. If the connection breaks during the commit, this
        raises ``ConsensusOutcomeUnknown`` and repeats nothing. Transactions cannot be nested.
        """
        if getattr(self._inside, "transaction", False):
            raise InternalError("a consensus transaction was begun inside another")
        self._ensure_tables()
        self._inside.transaction = True
        try:
            return self._with_retries(lambda: _commit(self._database.writer, self._checked(work)))
        finally:
            self._inside.transaction = False

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """The result of ``work`` on one consistent state, which has every transaction that returned
        before. Writes are rolled back."""
        self._ensure_tables()
        return self._with_retries(lambda: _look(self._database.reader, work))

    def look(
        self, query: sa.Select[Any], parameters: Mapping[str, object] | None = None
    ) -> Sequence[sa.Row[Any]]:
        """The rows of one SELECT on one state, as with ``read``. Cheaper, for frequent reads."""
        self._ensure_tables()
        return self._with_retries(lambda: _rows(self._database.looker, query, parameters))

    def repeated(self, query: sa.Select[Any]) -> RepeatedRead:
        """A function that answers as ``look`` of the query with its parameters does, for a query
        that is asked many times a second (see ``CompiledStatement``)."""
        statement, dialect = CompiledStatement(query), self._database.looker.dialect

        def fetch(parameters: Parameters | None = None) -> Sequence[Sequence[Any]]:
            if self._has_tables:
                try:
                    return self._database.fetch(*statement.bound(dialect, parameters or {}))
                except dialect.loaded_dbapi.Error:
                    pass  # ``look`` repeats it, or explains the error
            return self.look(query, parameters)

        return fetch

    def guarded(self, check: Callable[[sa.Connection], object]) -> Consensus:
        """The same consensus for a writer that may lose its right to write: each of its
        transactions begins with ``check``."""
        guarded = copy.copy(self)
        guarded._check = check
        _fresh_after_fork.add(guarded)
        return guarded

    def now(self, connection: sa.Connection) -> Timestamp:
        """The present time by the clock that leases are measured on. It is the database's clock, so
        that the clocks of processes may differ."""
        if self._clock:
            return self._clock()
        return self._database_clock.observe(lambda: self._database.now(connection))

    @property
    def clock(self) -> Clock:
        """The same clock for use outside of transactions. After the first call it needs no round
        trip."""
        return self._clock or self._database_clock

    def close(self) -> None:
        """Close all connections. A later call opens new ones."""
        self._database.dispose()

    def __repr__(self) -> str:
        url = self._database.creator.url
        return f"Consensus({url.drivername}, {url.host or ''}/{url.database})"

    def _checked(self, work: Callable[[sa.Connection], T]) -> Callable[[sa.Connection], T]:
        if self._check is None:
            return work
        check = self._check

        def checked(connection: sa.Connection) -> T:
            check(connection)
            return work(connection)

        return checked

    def _ensure_tables(self) -> None:
        """Upgrade the tables to this release's version, unless they have it or a later one."""
        if self._has_tables:
            return
        if not self._with_retries(lambda: _look(self._database.reader, migrations.is_current)):
            self._with_retries(lambda: _commit(self._database.creator, migrations.upgrade))
        self._has_tables = True

    def _outside_transaction(self, work: Callable[[sa.Connection], T]) -> T:
        def attempt() -> T:
            with self._database.looker.connect() as connection:
                return work(connection)

        return self._with_retries(attempt)

    def _with_retries(self, attempt: Callable[[], T]) -> T:
        """Repeat ``attempt`` after a lost race, within a bound, and no longer than the statement
        may wait."""
        try:
            try:
                return attempt()  # stamina's work for an attempt is more than that of a small read
            except sa.exc.DBAPIError as error:
                if not self._is_retriable(error):
                    raise
            for retry in stamina.retry_context(
                on=self._is_retriable,
                attempts=None,
                timeout=PATIENCE_S,
                wait_initial=0.002,
                wait_max=0.2,
                wait_jitter=0.02,
            ):
                with retry:
                    check("waiting for the consensus database")
                    return attempt()
            raise InternalError("a retried consensus transaction neither returned nor raised")
        except sa.exc.DBAPIError as error:
            if self._database.is_full(error):
                raise ConsensusFull(detail=str(error.orig)) from error
            if self._database.is_outage(error):
                raise ConsensusUnavailable(
                    detail=str(error.orig), hint=self._database.outage_hint
                ) from error
            raise

    def _is_retriable(self, error: Exception) -> bool:
        if not isinstance(error, sa.exc.DBAPIError):
            return False
        return error.connection_invalidated or self._database.is_lost_race(error)


def _commit(engine: sa.Engine, work: Callable[[sa.Connection], T]) -> T:
    with engine.connect() as connection:
        with connection.begin() as transaction:
            result = work(connection)
            try:
                # a commit that is interrupted would have an unknown outcome
                with interruptible(None):
                    transaction.commit()
            except sa.exc.DBAPIError as error:
                if error.connection_invalidated:
                    raise ConsensusOutcomeUnknown(detail=str(error.orig)) from error
                raise
        return result


def _look(engine: sa.Engine, work: Callable[[sa.Connection], T]) -> T:
    with engine.connect() as connection, connection.begin() as transaction:
        result = work(connection)
        transaction.rollback()
        return result


def _rows(
    engine: sa.Engine, query: sa.Select[Any], parameters: Mapping[str, object] | None
) -> Sequence[sa.Row[Any]]:
    with engine.connect() as connection:
        return connection.execute(query, parameters).all()


_fresh_after_fork: weakref.WeakSet[Consensus] = weakref.WeakSet()


def _leave_the_parents_connections() -> None:
    for consensus in list(_fresh_after_fork):
        consensus._database.dispose(close=False)
        consensus._inside = threading.local()


os.register_at_fork(after_in_child=_leave_the_parents_connections)
