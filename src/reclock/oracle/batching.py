"""Reads of the oracle by many threads, in few calls."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.waiting import CHECK_INTERVAL_S, InterruptibleLock, check
from reclock.errors import UnknownTimeline
from reclock.interruption import INTERRUPTIONS
from reclock.oracle.oracle import TimestampOracle

_Batch = Future[Mapping[str, Timestamp]]


class BatchingOracle:
    """An oracle that answers reads in batches, with the guarantees of ``inner``.

    A read is answered only by a call of ``inner`` that began after the read arrived, so that no
    answer is older than its request: this is batching, not caching. At most one call, for all
    timelines, runs at a time; later reads wait for the next one.
    """

    def __init__(self, inner: TimestampOracle) -> None:
        self._inner = inner
        self._guard = threading.Lock()
        self._gathering: _Batch | None = None
        self._turn = InterruptibleLock("waiting for the timestamp oracle")

    def read_ts(self, timeline: str) -> Timestamp:
        """See `TimestampOracle`."""
        timestamps = self.read_all()
        if timeline not in timestamps:
            raise UnknownTimeline(timeline)
        return timestamps[timeline]

    def read_all(self) -> Mapping[str, Timestamp]:
        """See `TimestampOracle`. An error of the backing call is raised to every read in the
        batch."""
        while True:
            with self._guard:
                batch, leads = self._gathering, self._gathering is None
                if batch is None:
                    batch = self._gathering = Future()
            if leads:
                return self._serve(batch)
            try:
                return batch.result(CHECK_INTERVAL_S)
            except CancelledError:
                pass  # the thread that led the batch was interrupted: ask again
            except TimeoutError:
                check("waiting for the timestamp oracle")

    def write_ts(self, timeline: str) -> Timestamp:
        """See `TimestampOracle`."""
        return self._inner.write_ts(timeline)

    def apply_write(self, timeline: str, ts: Timestamp) -> None:
        """See `TimestampOracle`."""
        self._inner.apply_write(timeline, ts)

    def _serve(self, batch: _Batch) -> Mapping[str, Timestamp]:
        """Wait for the turn, close the batch, call ``inner``, and answer all reads of the batch."""
        try:
            with self._turn:
                with self._guard:
                    self._gathering = None  # a read that arrives from here on needs another call
                answer = self._inner.read_all()
        except BaseException as error:
            if isinstance(error, Exception) and not isinstance(error, INTERRUPTIONS):
                batch.set_exception(error)
                raise
            with self._guard:
                if self._gathering is batch:
                    self._gathering = None
            batch.cancel()
            raise
        batch.set_result(answer)
        return answer
