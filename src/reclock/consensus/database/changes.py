"""Wakes up callers when a timeline of the oracle advances: that of the catalog, or that of data. By
NOTIFY on PostgreSQL, by polling the file's version on SQLite."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Protocol

import psycopg
import sqlalchemy as sa
import structlog

from reclock.algebra.timestamps import CATALOG, EPOCH_MS
from reclock.consensus.database.compiled import execute_text

_logger = structlog.get_logger(__name__)

CHANNELS = {CATALOG: "reclock_catalog", EPOCH_MS: "reclock_data"}
"""The channel of each timeline."""

_SQLITE_POLL_S = 0.02
_CATALOG_TS = "SELECT read_ts FROM reclock_timeline WHERE timeline = ?"
_LOOK_S = 0.25
_AGAIN_S = 1.0


class Watch(Protocol):
    """Sees the changes since it was created."""

    def wait(self, timeout_s: float) -> frozenset[str]:
        """Wait for a change since the last call, for at most ``timeout_s``. Returns the timelines
        that may have advanced."""
        ...

    def close(self) -> None: ...


class PostgresWatch:
    """Listens on its own connection. While nothing changes, the server does nothing."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        connection.autocommit = True
        for channel in CHANNELS.values():
            connection.execute(f"LISTEN {channel}")

    def wait(self, timeout_s: float) -> frozenset[str]:
        notified = {
            notification.channel
            for notification in self._connection.notifies(timeout=timeout_s, stop_after=1)
        }
        return frozenset(timeline for timeline, channel in CHANNELS.items() if channel in notified)

    def close(self) -> None:
        self._connection.close()


class SqliteWatch:
    """Polls the version of the file, which any commit of another connection changes. A poll reads
    shared memory only, and the catalog's timestamp if there was a commit.

    Any commit may have published data, but most commits do not change the catalog.
    """

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._version = self._look()
        self._catalog_ts = self._read_catalog_ts()

    def wait(self, timeout_s: float) -> frozenset[str]:
        deadline = time.monotonic() + timeout_s
        while (version := self._look()) == self._version:
            if time.monotonic() >= deadline:
                return frozenset()
            time.sleep(_SQLITE_POLL_S)
        self._version = version
        before, self._catalog_ts = self._catalog_ts, self._read_catalog_ts()
        return frozenset(CHANNELS) if self._catalog_ts != before else frozenset([EPOCH_MS])

    def close(self) -> None:
        self._connection.close()

    def _look(self) -> int:
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def _read_catalog_ts(self) -> Sequence[tuple[int]]:
        return self._connection.execute(_CATALOG_TS, (CATALOG,)).fetchall()


def notify(connection: sa.Connection, timeline: str) -> None:
    """Wake up the watches of the timeline when this transaction has committed."""
    if connection.dialect.name == "postgresql" and timeline in CHANNELS:
        execute_text(connection, f"NOTIFY {CHANNELS[timeline]}")


class TimelineChanges:
    """Calls its callbacks soon after any process has advanced a timeline of the oracle, and
    sometimes without a change. Thread-safe.

    One thread watches for the whole process while there are callbacks. Changes are missed while the
    database is unreachable, so callers must also poll from time to time.
    """

    def __init__(self, open_watch: Callable[[], Watch]) -> None:
        self._open_watch = open_watch
        self._lock = threading.Lock()
        self._callbacks: list[tuple[str, Callable[[], object]]] = []
        self._thread: threading.Thread | None = None

    @contextmanager
    def calling(self, callback: Callable[[], object], timeline: str = CATALOG) -> Iterator[None]:
        """Within the block, ``callback`` is called at changes of the timeline. It must return at
        once."""
        entry = timeline, callback
        with self._lock:
            self._callbacks.append(entry)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="timeline-changes", daemon=True
                )
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.remove(entry)

    def _run(self) -> None:
        while True:
            try:
                with closing(self._open_watch()) as watch:
                    self._call(frozenset(CHANNELS))  # what changed before the watch began
                    while not self._is_over():
                        self._call(watch.wait(_LOOK_S))
                    return
            except Exception as error:
                # the edge of the loop: the database may be back at the next attempt
                _logger.warning("cannot watch consensus for changes; retrying", error=str(error))
                if self._is_over():
                    return
                time.sleep(_AGAIN_S)

    def _is_over(self) -> bool:
        """Whether there are no more callbacks; the next one starts another thread then."""
        with self._lock:
            if not self._callbacks:
                self._thread = None
            return not self._callbacks

    def _call(self, timelines: frozenset[str]) -> None:
        with self._lock:
            callbacks = [
                callback for timeline, callback in self._callbacks if timeline in timelines
            ]
        for callback in callbacks:
            callback()
