"""Hedged calls: the same request goes to several replicas, so that a replica that hangs delays
nobody."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from reclock.errors import ReclockError

T = TypeVar("T")

_LOOK_S = 0.02


class HedgedCall(Generic[T]):
    """The first of ``asks`` begins at once, each further one when those before have failed by one
    of ``passes``, or have not answered within ``hedge_s``. The first answer counts; later ones are
    given to ``dispose``."""

    def __init__(
        self,
        asks: Sequence[Callable[[], T]],
        *,
        hedge_s: float,
        passes: tuple[type[ReclockError], ...],
        dispose: Callable[[T], None],
    ) -> None:
        self._asks, self._hedge_s, self._passes, self._dispose = asks, hedge_s, passes, dispose
        self._done: queue.Queue[tuple[int, T | None, Exception | None]] = queue.Queue()
        self._lock = threading.Lock()
        self._is_over = False

    def run(self, look: Callable[[], None]) -> tuple[tuple[int, T] | None, list[ReclockError]]:
        """The answer with the number of the ask that gave it, or None if all have failed; and the
        errors of the asks before it.

        While it waits, it calls ``look`` again and again. Raises what that raises, and any error
        that is not in ``passes``.
        """
        errors: list[ReclockError] = []
        started = 0
        waited_s = 0.0
        try:
            while len(errors) < len(self._asks):
                if started < len(self._asks) and (
                    started == len(errors) or waited_s >= self._hedge_s
                ):
                    threading.Thread(
                        target=self._ask, args=(started,), name="race", daemon=True
                    ).start()
                    started, waited_s = started + 1, 0.0
                try:
                    number, answer, error = self._done.get(timeout=_LOOK_S)
                except queue.Empty:
                    waited_s += _LOOK_S
                    look()
                    continue
                if error is None:
                    assert answer is not None
                    return (number, answer), errors
                if not isinstance(error, self._passes):
                    raise error
                errors.append(error)
            return None, errors
        finally:
            self._end()

    def _ask(self, number: int) -> None:
        try:
            answer = self._asks[number]()
        except Exception as error:  # it is raised, or not, by whoever waits
            self._done.put((number, None, error))
            return
        with self._lock:
            if not self._is_over:
                self._done.put((number, answer, None))
                return
        self._dispose(answer)

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
        while not self._done.empty():
            _, answer, _ = self._done.get()
            if answer is not None:
                self._dispose(answer)
