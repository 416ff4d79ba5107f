"""The CPU and memory use of a replica, if it can be separated from other work of its process."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from reclock.algebra.timestamps import MINIMUM, Clock, Timestamp
from reclock.clusters.sizes import ReplicaSize
from reclock.protocol.introspection import Row


@dataclass(slots=True)
class Usage:
    """CPU and memory of one replica: one row for each sample, as percentages of its size.

    They are known for a replica that is one local process: those of the process and its children,
    such as Spark's JVM. They are NULL without a size, because the replicas of virtual clusters
    share a process with others and with the SQL port, and if the executors run elsewhere.
    """

    process: str
    clock: Clock
    sample_ms: int
    size: ReplicaSize | None
    _process: psutil.Process = field(default_factory=psutil.Process)
    _sampled_at: Timestamp = MINIMUM
    _sampled_s: float = 0
    _cpu_s: dict[int, float] = field(default_factory=dict)
    _row: Row = ()

    def row(self) -> Row:
        """The last sample: the process, percent of CPU, bytes of memory, percent of memory."""
        if self.size is None or not self.size.is_local:
            return self.process, None, None, None
        now = self.clock()
        if not self._row or now - self._sampled_at >= self.sample_ms:
            self._row, self._sampled_at = self._sample(self.size), now
        return self._row

    def _sample(self, size: ReplicaSize) -> Row:
        before_s, before = self._sampled_s or self._process.create_time(), self._cpu_s
        self._sampled_s, self._cpu_s = time.time(), {}
        memory_bytes = 0
        for process in (self._process, *self._process.children(recursive=True)):
            with suppress(psutil.Error):  # it ended meanwhile
                times = process.cpu_times()
                self._cpu_s[process.pid] = times.user + times.system
                memory_bytes += process.memory_info().rss
        used_s = sum(cpu_s - before.get(pid, 0) for pid, cpu_s in self._cpu_s.items())
        available_s = max(self._sampled_s - before_s, 0.001) * size.cores
        cpu_percent = 100 * used_s / available_s
        memory_percent = 100 * memory_bytes / size.memory_bytes
        return self.process, round(cpu_percent, 1), memory_bytes, round(memory_percent, 2)
