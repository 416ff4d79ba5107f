"""Many threads' reads of the oracle, served by few calls of it."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future

from reclock.algebra.timestamps import Timestamp
from reclock.oracle.oracle import TimestampOracle


class BatchingOracle:
    """An oracle that answers reads in batches, with the guarantees of ``inner``.

    A read is answered only by a call of ``inner`` that began after the read arrived, so an answer is never older than the request:
    this is batching, not caching. At most one such call a timeline is on its way; who arrives meanwhile waits for the next.
    """

    def __init__(self, inner: TimestampOracle) -> None:
        self._inner = inner
        self._guard = threading.Lock()
        self._timelines: dict[str, _Timeline] = {}

    def read_ts(self, timeline: str) -> Timestamp:
        """See `TimestampOracle`. An error of the backing call is raised to everyone it would have served."""
        with self._guard:
            line = self._timelines.setdefault(timeline, _Timeline())
        while True:
            with self._guard:
                batch, leads = line.gathering, line.gathering is None
                if batch is None:
                    batch = line.gathering = Future()
            if leads:
                return self._serve(timeline, line, batch)
            try:
                return batch.result()
            except CancelledError:
                pass  # the thread that led the batch was interrupted: ask again

    def write_ts(self, timeline: str) -> Timestamp:
        """See `TimestampOracle`."""
        return self._inner.write_ts(timeline)

    def apply_write(self, timeline: str, ts: Timestamp) -> None:
        """See `TimestampOracle`."""
        self._inner.apply_write(timeline, ts)

    def _serve(self, timeline: str, line: _Timeline, batch: Future[Timestamp]) -> Timestamp:
        """Waits for its turn, closes the batch, calls, answers."""
        try:
            with line.turn:
                with self._guard:
                    line.gathering = None  # who arrives from here on is not served by the call below
                answer = self._inner.read_ts(timeline)
        except Exception as error:
            batch.set_exception(error)
            raise
        except BaseException:
            with self._guard:
                if line.gathering is batch:
                    line.gathering = None
            batch.cancel()
            raise
        batch.set_result(answer)
        return answer


class _Timeline:
    """One timeline's batch that is still open, and whose turn it is to call."""

    def __init__(self) -> None:
        self.gathering: Future[Timestamp] | None = None
        self.turn = threading.Lock()
