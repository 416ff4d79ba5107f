"""Connections to a consensus database on PostgreSQL: their commits are durable, and every wait for
the server can be interrupted."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import psycopg
from psycopg import errors, waiting

from reclock.consensus.database.waiting import CHECK_INTERVAL_S, check
from reclock.errors import ConfigurationError

T = TypeVar("T")

_CANCEL_S = 1.0
_WAITING_FOR = "waiting for the consensus database"


class InterruptibleConnection(psycopg.Connection[Any]):
    """Checks repeatedly while it waits whether its statement should continue. If not, it asks the
    server to cancel the query, and closes the connection if the server does not answer in time."""

    @classmethod
    def _connect_gen(cls, conninfo: str = "") -> Generator[Any, Any, Self]:
        """Checks while it connects, too."""
        return _checked(super()._connect_gen(conninfo), [])

    def wait(
        self,
        gen: Generator[Any, Any, T],
        interval: float = CHECK_INTERVAL_S,
        timeout: float | None = None,
    ) -> T:
        interrupted: list[BaseException] = []

        try:
            return super().wait(
                _checked(gen, interrupted), min(interval, CHECK_INTERVAL_S), timeout
            )
        except BaseException:
            if interrupted:
                self._abandon(gen)
            raise

    def _abandon(self, gen: Generator[Any, Any, T]) -> None:
        """Cancel the query and read the rest of its response, so that the connection can be used
        again."""
        try:
            self.cancel_safe(timeout=_CANCEL_S)
            waiting.wait(gen, self.pgconn.socket, interval=CHECK_INTERVAL_S, timeout=_CANCEL_S)
        except errors.QueryCanceled:
            return
        except Exception:
            self.pgconn.finish()


def _checked(
    gen: Generator[Any, Any, T], interrupted: list[BaseException]
) -> Generator[Any, Any, T]:
    """``gen``, with a check each time that nothing has come. ``interrupted`` then has the error
    with which a check ended it."""
    step: object = next_of(gen.__next__)
    while not isinstance(step, _Done):
        ready = yield step
        if not ready:
            try:
                check(_WAITING_FOR)
            except BaseException as error:
                interrupted.append(error)
                raise
        step = next_of(lambda ready=ready: gen.send(ready))  # type: ignore[misc]
    result: T = step.result
    return result


@dataclass(frozen=True, slots=True)
class _Done:
    result: Any


def next_of(step: Callable[[], T]) -> T | _Done:
    """The generator's next item, or the value that it returned, as ``_Done``."""
    try:
        return step()
    except StopIteration as end:
        return _Done(end.value)


def require_durable(connection: psycopg.Connection[Any]) -> None:
    """Make every acknowledged commit of this session durable, whatever the server's default is.
    Raises ``ConfigurationError`` if the server does not allow the session to decide."""
    was_autocommit = connection.autocommit
    connection.autocommit = True
    try:
        if _synchronous_commit(connection) == "off":
            connection.execute("SET synchronous_commit = on")
        if (setting := _synchronous_commit(connection)) == "off":
            raise ConfigurationError(
                "the consensus database would lose acknowledged commits",
                detail=(
                    f'synchronous_commit is "{setting}" for this session although it was set '
                    'to "on"'
                ),
                hint="set synchronous_commit = on for the role or database that consensus uses",
            )
    finally:
        connection.autocommit = was_autocommit


def _synchronous_commit(connection: psycopg.Connection[Any]) -> str:
    row = connection.execute("SELECT current_setting('synchronous_commit')").fetchone()
    assert row is not None
    return str(row[0])
