"""Runs the work of a session in its thread, where it can be canceled and can time out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import structlog

from reclock.adapter.session.session import Session
from reclock.errors import known_failure

_log = structlog.get_logger(__name__)
T = TypeVar("T")
Run = Callable[..., Awaitable[Any]]
"""Runs a function of the session in a thread: ``await run(function, *arguments)``."""

_INTERRUPT_INTERVAL_S = 0.05


class StatementRunner:
    """Runs one piece of work after the other. ``cancel`` and ``terminate`` may be called while work
    runs."""

    def __init__(self, session: Session, run_in_thread: Run, peer: str) -> None:
        self.is_running = False
        self._session, self._run_in_thread, self._peer = session, run_in_thread, peer
        self._loop = asyncio.get_running_loop()
        self._is_terminated = False
        self._is_sending = False
        self._work = 0
        self._interrupts: asyncio.Task[None] | None = None

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """The result of ``work``. Raises ``CancelledError`` after ``terminate``."""
        timeout_ms = self._session.variables.statement_timeout_ms
        self.is_running = True
        self._work += 1
        timer = (
            self._loop.call_later(timeout_ms / 1000, self._expire, self._work)
            if timeout_ms
            else None
        )
        try:
            answer: T = await self._run_in_thread(work, *arguments)
            return answer
        except (OSError, ModuleNotFoundError) as error:  # from the work, not from the connection
            _log.error("a statement failed", peer=self._peer, error=str(error))
            raise known_failure(error) or error from error
        finally:
            self.is_running = False
            if timer is not None:
                timer.cancel()
            if self._is_terminated:
                raise asyncio.CancelledError

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Inside the block, ``cancel`` also takes effect while no work runs because the client has
        not read what was sent: the next work raises."""
        self._is_sending = True
        try:
            yield
        finally:
            self._is_sending = False

    def cancel(self) -> None:
        """End the running statement, if any, with 57014."""
        if self.is_running or self._is_sending:
            self._session.cancellation.cancel()
        if self.is_running:
            self._keep_interrupting()

    def terminate(self) -> None:
        """Cancel the running work. It, and all later work, ends with ``CancelledError``."""
        self._is_terminated = True
        self.cancel()

    def _expire(self, work: int) -> None:
        """Interrupt a statement that has timed out. A statement that waits notices by itself; one in
        an engine must be interrupted."""
        if self.is_running and self._work == work:
            if self._session.cancellation.is_late:
                self._keep_interrupting()
            else:  # the statement's own timer began a moment later
                self._loop.call_later(_INTERRUPT_INTERVAL_S, self._expire, work)

    def _keep_interrupting(self) -> None:
        work = self._work

        async def repeat() -> None:
            while self.is_running and self._work == work:  # never the next statement
                self._session.cancellation.interrupt()
                await asyncio.sleep(_INTERRUPT_INTERVAL_S)

        if self._interrupts is not None:
            self._interrupts.cancel()
        self._interrupts = self._loop.create_task(repeat())
