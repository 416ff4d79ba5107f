"""Connections to a consensus database on PostgreSQL: durable, and interruptible wherever they wait for the server."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

import psycopg
from psycopg import errors, waiting

from reclock.consensus.database.waiting import CHECK_INTERVAL_S, check
from reclock.errors import ConfigurationError

T = TypeVar("T")

_CANCEL_S = 1.0
_WAITING_FOR = "waiting for the consensus database"


class InterruptibleConnection(psycopg.Connection[Any]):
    """While it waits, it checks whether the statement should go on; if not, it asks the server to cancel the query.

    If the server does not cancel the query in time, the connection is closed.
    """

    def wait(self, gen: Generator[Any, Any, T], interval: float = CHECK_INTERVAL_S, timeout: float | None = None) -> T:
        interrupted: list[BaseException] = []

        def checked() -> Generator[Any, Any, T]:
            awaited = next_of(gen.__next__)
            while not isinstance(awaited, _Done):
                ready = yield awaited
                if not ready:
                    try:
                        check(_WAITING_FOR)
                    except BaseException as error:
                        interrupted.append(error)
                        raise
                awaited = next_of(lambda ready=ready: gen.send(ready))  # type: ignore[misc]
            result: T = awaited.result
            return result

        try:
            return super().wait(checked(), min(interval, CHECK_INTERVAL_S), timeout)
        except BaseException:
            if interrupted:
                self._abandon(gen)
            raise

    def _abandon(self, gen: Generator[Any, Any, T]) -> None:
        """Cancel the query and read the rest of the server's answer, so that the connection can be used again."""
        try:
            self.cancel_safe(timeout=_CANCEL_S)
            waiting.wait(gen, self.pgconn.socket, interval=CHECK_INTERVAL_S, timeout=_CANCEL_S)
        except errors.QueryCanceled:
            return
        except Exception:
            self.pgconn.finish()


class _Done:
    def __init__(self, result: Any) -> None:
        self.result = result


def next_of(step: Callable[[], Any]) -> Any:
    """The next value that a generator yields, or its result as ``_Done``."""
    try:
        return step()
    except StopIteration as end:
        return _Done(end.value)


def require_durable(connection: psycopg.Connection[Any]) -> None:
    """Make every commit of this session durable when it is acknowledged, whatever the server's default is.

    Raises ``ConfigurationError`` if the server does not let the session decide.
    """
    was_autocommit = connection.autocommit
    connection.autocommit = True
    try:
        if _synchronous_commit(connection) == "off":
            connection.execute("SET synchronous_commit = on")
        if (setting := _synchronous_commit(connection)) == "off":
            raise ConfigurationError(
                "the consensus database would lose acknowledged commits",
                detail=f'synchronous_commit is "{setting}" for this session although it was set to "on"',
                hint="set synchronous_commit = on for the role or database that consensus uses",
            )
    finally:
        connection.autocommit = was_autocommit


def _synchronous_commit(connection: psycopg.Connection[Any]) -> str:
    row = connection.execute("SELECT current_setting('synchronous_commit')").fetchone()
    assert row is not None
    return str(row[0])
