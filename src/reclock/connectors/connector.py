"""The protocol between ingestion and connectors: the page to start from when you add a source type.

An upstream has partitions (objects, topic partitions, shards; or only one, named ``()``). Each
partition has growing offsets (bytes, message offsets, log positions). Ingestion durably stores up
to which offset each partition is bound, and calls:

    probe         which offsets are new             before each step; it changes nothing upstream
    tasks, read   the rows of the bound offsets     in threads or on Spark's executors, again after
                                                    a failure
    reread        the claimed offsets as of now     after a person asked for it (RETRY)
    acknowledge   these offsets are published       after each step; the upstream may forget them

A row's time follows from its offset alone. So a range of offsets must always give the same rows. If
the upstream's rows changed or are gone, the connector raises ``UpstreamChanged``; it notices by the
evidence, such as a checksum, that it stores with each binding.

An ability of only some upstreams is a protocol of its own below. A connector implements it by
having its methods. Register the connector in ``factory.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.errors import OutputFailed, SourceError, decision
from reclock.reclocking.frontiers import Partition
from reclock.reclocking.remap import BoundRange, without


class Connector(Protocol):
    """The upstream of one source: a value that is pickled and sent to executors. Every call returns
    within a bounded time."""

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        """The offsets beyond ``bound``, in order of partition. One step has all of an upstream
        transaction or nothing of it.

        An increment without a new offset renews the partition's evidence. ``skips`` are decisions
        about errors of earlier probes. Raises a ``SourceError``; of several, the first partition's.
        """

    def tasks(self, increments: Sequence[Increment], skips: Sequence[Skip]) -> Sequence[Any]:
        """The increments as tasks, without the skipped offsets. The result depends on the arguments
        alone."""

    def size_bytes(self, task: Any) -> int:
        """About how many bytes of the upstream ``read`` reads for the task. It decides whether
        Spark runs the step's tasks, so it must be known without asking the upstream."""

    def read(self, task: Any) -> Iterator[Read]:
        """Read one task, in order. Threads and processes read several tasks at once. Each item has
        the name of its output (``""`` if the source has only one), and one of:

        - a table of rows: the output's columns, and ``mz_diff`` if rows may also be deleted. If the
          output has a key, a table with the columns of ``PARTITION_COLUMN`` too replaces rows of
          the same key; a table without them has only new keys;
        - None: the output was truncated here. Only one task of a step may yield it;
        - an ``OutputFailed``: the output cannot be followed from this step on;
        - a ``ChangeCount``, if the number of rows does not follow from the number of offsets.

        Raises a ``SourceError``: the source stalls.
        """

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment | None:
        """The partition's offsets beyond ``before``, as the upstream has them now. They replace
        ``claimed``, which is not published.

        An upstream that never changes returns ``claimed``. If the upstream can be corrected, the
        upper may differ. None if no offset remains. Raises a ``SourceError``.
        """

    def acknowledge(self, published: Sequence[Increment]) -> None:
        """Tell the upstream that these increments, and all before them, are published. Ingestion
        does not depend on it. Raises a ``SourceError``."""


# --- values ---

Evidence = tuple[Any, ...]
"""A row of a source's evidence without its partition: the bound offset, then the connector's own
evidence."""

Bound = Mapping[Partition, Evidence]
"""The newest evidence of every partition that was ever bound."""

Skip = tuple[str, int, int]
"""A decision to give up the offsets ``[lower, upper)`` of a partition, by its name."""

BlockedReason = str | SourceError
"""What a source or a guest waits for, or the error that keeps it from beginning."""


@dataclass(frozen=True, slots=True)
class Increment:
    """The new offsets ``[lower, upper)`` of one partition, which are bound to one time.

    ``covered`` is how many offsets the reading accounts for; the audit compares it. ``evidence`` is
    stored beside ``upper``. The connector needs ``detail`` to read the range again. Both are plain
    JSON.
    """

    partition: Partition
    lower: int
    upper: int
    covered: int
    evidence: tuple[Any, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.upper - self.lower

    @property
    def name(self) -> str:
        """The partition's name in decisions and errors."""
        return format_partition(self.partition)


PARTITION_COLUMN, OFFSET_COLUMN, DELETED_COLUMN = "mz_partition", "mz_offset", "mz_is_deleted"
"""The extra columns of rows that replace each other by key: the row's partition and offset
upstream, and whether the upstream deleted it."""


@dataclass(frozen=True, slots=True)
class ChangeCount:
    """How many changes of an output were read at the bound offsets. The audit compares this with
    the staged rows."""

    changes: int


Read = tuple[str, pa.Table | OutputFailed | ChangeCount | None]
"""An item that ``Connector.read`` yields."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One requirement of a source on its upstream, whether it is met, and what was seen, without
    secrets."""

    name: str
    ok: bool
    detail: str


# --- abilities of some connectors ---


@runtime_checkable
class Checks(Connector, Protocol):
    """A connector that can check its requirements on the upstream, beyond what a probe shows."""

    def check(self, bound: Bound) -> Iterator[CheckResult]:
        """Yield the results for a source that is ``bound`` so far; each takes a bounded time.
        Raises a ``SourceError`` as soon as the rest cannot be checked."""


@runtime_checkable
class FailsByOutput(Connector, Protocol):
    """A connector whose outputs may fail one by one."""

    def without(self, outputs: Set[str]) -> Connector:
        """The same connector without these failed outputs."""


@runtime_checkable
class SupportsGuests(Connector, Protocol):
    """A connector whose guests add and remove outputs while the source exists.

    A guest's output begins with a step that has an increment named after the output, without
    offsets. That step reads all rows of the output that belong to the offsets bound before, and no
    others. A probe covers only the outputs that have begun.
    """

    def with_outputs(self, outputs: Mapping[str, RelationDesc]) -> Connector:
        """The same connector for these outputs."""

    def begin(
        self, bound: Bound, skips: Sequence[Skip] = ()
    ) -> tuple[list[Increment], Mapping[str, BlockedReason]]:
        """The increments of the step with which outputs begin, empty if none can, and by name the
        reason why each other output cannot begin yet. Raises a ``SourceError`` if it can decide
        about no output."""


def restart_hint(*partitions: str) -> str:
    """How partitions that were given up are read again."""
    them = (
        "it again from its beginning" if len(partitions) == 1 else "them again from the beginning"
    )
    return f"{decision('RESTART', *partitions)} reads {them}"


@dataclass(frozen=True, slots=True)
class UnendedRecord:
    """The last ``size`` bytes of a partition, from ``lower`` on, which wait for the end of their
    record. The partition was last written at ``written_at``."""

    partition: str
    lower: int
    size: int
    written_at: Timestamp


END_RECORD_HINT = "end the object with a newline, or close the quote of its last field"

UNENDED_MS = 60_000
"""How long a writer may leave a partition within a record before that is reported."""


@runtime_checkable
class HasUnendedRecords(Connector, Protocol):
    """A connector of partitions that may end within a record."""

    def unended_records(self, bound: Bound, probed: Sequence[Increment]) -> list[UnendedRecord]:
        """What neither ``bound`` nor ``probed`` has, because no record ends there, in order of
        partition."""

    def listed_unended_records(
        self, bound: Bound, probed: Sequence[Increment]
    ) -> list[UnendedRecord]:
        """Those of ``unended_records`` that the last probe has seen, without another question to the
        upstream. None if it has not seen all partitions."""


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Where a row was read: at the offsets ``[lower, upper)`` of a partition, which count in
    ``unit``."""

    partition: str
    lower: int
    upper: int
    unit: str

    @property
    def text(self) -> str:
        return f'{self.unit} {self.lower} of "{self.partition}"'

    @property
    def skip(self) -> Skip:
        """What gives the row up."""
        return self.partition, self.lower, self.upper


@runtime_checkable
class LocatesRows(Connector, Protocol):
    """A connector that knows where in its upstream a row was read, without decoding it again."""

    def locate(self, task: Any, rows: Sequence[int], count: int) -> list[RowPlace]:
        """The places of these of the ``count`` rows that ``read`` yields for the task; rows count
        from 0. Empty if they cannot be told apart. Raises a ``SourceError``."""


@runtime_checkable
class SupportsRestart(Connector, Protocol):
    """A connector that can read an abandoned partition again from its beginning."""

    def abandoned_partitions(self, bound: Bound) -> list[str]:
        """The names of the partitions that are no longer read, in order."""

    def next_reading(self, bound: Bound, name: str, stalled: Collection[str]) -> int:
        """The number of the reading that a restart begins. The ``stalled`` partitions are those that
        stall the source. Raises ``InvalidOption`` if there is nothing to restart."""

    def restarting(self, restarts: Mapping[str, int]) -> Connector:
        """The same connector, which begins these readings, by name, unless they have begun."""


@runtime_checkable
class FollowsReplacement(Connector, Protocol):
    """A connector whose upstream may be replaced by another one of the same name."""

    def is_replaced(self, bound: Bound) -> bool:
        """Whether the upstream is another one than what is bound, or lost a part of that. Raises a
        ``SourceError``."""

    def probe_anew(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        """``probe`` for RESNAPSHOT: of an upstream that is replaced, what it has from its beginning
        on, as offsets beyond ``bound``. Of any other the same as ``probe``, so that no row can be
        read twice."""


@runtime_checkable
class HasHistory(Connector, Protocol):
    """A connector that knows what its upstream had at an earlier moment, by the upstream's own
    clock."""

    def probe_until(
        self, bound: Bound, moment: Timestamp, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        """``probe`` for what the upstream had before ``moment``."""


@runtime_checkable
class SupportsRebuild(Connector, Protocol):
    """A connector that can read all bound offsets again, and verify that they are unchanged."""

    def recall(
        self, ranges: Sequence[BoundRange], bound: Bound, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        """The increment of each of ``ranges``, which are all that was ever bound, in order.
        ``bound`` is the newest evidence of each partition. Raises a ``SourceError`` if the upstream
        has lost or changed a range."""


@runtime_checkable
class ReadsOnce(Connector, Protocol):
    """A connector with readings that cannot be repeated: their rows are durable before their
    offsets are bound."""

    def must_read_once(self, bound: Bound) -> bool:
        """Whether the next step calls ``read_once`` in place of ``probe``."""

    def read_once(
        self,
        bound: Bound,
        skips: Sequence[Skip] = (),
        *,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> AbstractContextManager[tuple[Sequence[Increment], Sequence[Any]]]:
        """The step's increments, none if nothing is new, and its tasks, which can be read only
        inside the context. For RESNAPSHOT the tasks read everything that the upstream has now; the
        increments continue from ``bound``.

        ``skips`` are decisions about errors of earlier attempts. Before the connector creates
        anything upstream, it calls ``is_wanted``: a dropped source gets nothing. Raises a
        ``SourceError``.
        """


# --- partitions and skips ---


def format_partition(partition: Partition) -> str:
    """The partition's name in decisions and errors; the empty string for a source's only one."""
    return "" if partition == () else str(partition)


def skipped_ranges(partition: Partition, skips: Sequence[Skip]) -> tuple[tuple[int, int], ...]:
    """The offset ranges of ``partition`` that ``skips`` leave out."""
    return tuple(
        (lower, upper) for name, lower, upper in skips if name == format_partition(partition)
    )


def remaining_ranges(
    partition: Partition, lower: int, upper: int, skips: Sequence[Skip]
) -> list[tuple[int, int]]:
    """The parts of the offsets ``[lower, upper)`` that ``skips`` do not leave out."""
    bound = BoundRange(partition, lower, upper, MINIMUM)
    return [
        (range.lower, range.upper) for range in without(bound, skipped_ranges(partition, skips))
    ]


def removed_ranges(
    partition: Partition, lower: int, upper: int, skips: Sequence[Skip]
) -> list[tuple[int, int]]:
    """The parts of the offsets ``[lower, upper)`` that ``skips`` leave out."""
    name = format_partition(partition)
    remaining = remaining_ranges(partition, lower, upper, skips)
    return remaining_ranges(partition, lower, upper, [(name, *range) for range in remaining])
