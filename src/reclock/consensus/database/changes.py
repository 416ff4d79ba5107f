"""Wakes up callers when the catalog changes: by NOTIFY on PostgreSQL, by polling the file's version
on SQLite."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Protocol

import psycopg
import sqlalchemy as sa
import structlog

_logger = structlog.get_logger(__name__)

CHANNEL = "reclock_catalog"

_SQLITE_POLL_S = 0.02
_LOOK_S = 0.25
_AGAIN_S = 1.0


class Watch(Protocol):
    """Sees the changes since it was created."""

    def wait(self, timeout_s: float) -> bool:
        """Wait for a change since the last call, for at most ``timeout_s``. Returns whether the
        catalog may have changed."""
        ...

    def close(self) -> None: ...


class PostgresWatch:
    """Listens on its own connection. While nothing changes, the server does nothing."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        connection.autocommit = True
        connection.execute(f"LISTEN {CHANNEL}")

    def wait(self, timeout_s: float) -> bool:
        return bool(list(self._connection.notifies(timeout=timeout_s, stop_after=1)))

    def close(self) -> None:
        self._connection.close()


class SqliteWatch:
    """Polls the version of the file, which any commit of another connection changes. A poll reads shared memory only."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._version = self._look()

    def wait(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while (version := self._look()) == self._version:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_SQLITE_POLL_S)
        self._version = version
        return True

    def close(self) -> None:
        self._connection.close()

    def _look(self) -> int:
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)


def notify(connection: sa.Connection) -> None:
    """Wake up all watches when this transaction has committed."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"NOTIFY {CHANNEL}")


class CatalogChanges:
    """Calls its callbacks soon after any process has changed the catalog, and sometimes without a
    change. Thread-safe.

    One thread watches for the whole process while there are callbacks. Changes are missed while the
    database is unreachable, so callers must also poll from time to time.
    """

    def __init__(self, open_watch: Callable[[], Watch]) -> None:
        self._open_watch = open_watch
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []
        self._thread: threading.Thread | None = None

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Within the block, ``callback`` is called. It must return at once."""
        with self._lock:
            self._callbacks.append(callback)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="catalog-changes", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)

    def _run(self) -> None:
        while True:
            try:
                with closing(self._open_watch()) as watch:
                    self._call()  # what changed before the watch began
                    while not self._is_over():
                        if watch.wait(_LOOK_S):
                            self._call()
                    return
            except Exception as error:  # the edge of the loop: the database may be back at the next attempt
                _logger.warning("cannot watch the catalog for changes; retrying", error=str(error))
                if self._is_over():
                    return
                time.sleep(_AGAIN_S)

    def _is_over(self) -> bool:
        """Whether there are no more callbacks; the next one starts another thread then."""
        with self._lock:
            if not self._callbacks:
                self._thread = None
            return not self._callbacks

    def _call(self) -> None:
        with self._lock:
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()
