"""The thread of one session, in which its statements wait and compute."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class SessionThread:
    """Runs the work of one session, one piece after the other, so that sessions do not wait for
    each other."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: SimpleQueue[
            tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]] | None
        ]
        self._queue = SimpleQueue()
        # a daemon, so that work that cannot be interrupted does not keep the process alive
        self._thread = threading.Thread(target=self._serve, name="statement", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run ``work`` in the thread, and return or raise its outcome. Work that has begun is not
        interrupted if the caller is canceled."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put((future, work, arguments))
        return await future

    def stop(self) -> None:
        """End the thread after the work that is waiting."""
        self._queue.put(None)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def join(self, timeout_s: float) -> None:
        """Wait until a stopped thread has ended, but no longer than ``timeout_s``."""
        self._thread.join(timeout_s)

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            future, work, arguments = item
            result, error = None, None
            try:
                result = work(*arguments)
            except BaseException as raised:  # raised again in the task that awaits it
                error = raised
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(_resolve, future, result, error)
            # release the memory while the session is idle
            del item, future, work, arguments, result, error


def _resolve(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return  # the task that waited was canceled
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
