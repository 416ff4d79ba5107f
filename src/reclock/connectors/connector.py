"""What ingestion asks of a connector, and the values the two exchange. Whatever else a source type has is its own file's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.errors import OutputFailed, SourceError
from reclock.reclocking.frontiers import Partition, SourceFrontier
from reclock.reclocking.remap import BoundRange
from reclock.reclocking.stamp import without

Evidence = tuple[Any, ...]
"""A row of a source's evidence without its partition: the offset that is bound, and what the connector keeps beside it."""

Bound = Mapping[Partition, Evidence]
"""Of every partition that was ever bound, what was kept when it was bound last."""

BlockedReason = str | SourceError
"""What is waited for, or what is wrong."""

Skip = tuple[str, int, int]
"""A decision to give up the offsets ``[lower, upper)`` of a partition, by its name."""


@dataclass(frozen=True, slots=True)
class Increment:
    """What is new of one partition: its offsets ``[lower, upper)``, which are bound to one time.

    ``covered`` is how many offsets the reading accounts for, which the audit compares. ``evidence`` is kept beside ``upper``;
    ``detail`` is all that is needed to read the range again, the connector's own. Both are plain JSON.
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
        """The partition as people spell it."""
        return format_partition(self.partition)


PARTITION_COLUMN, OFFSET_COLUMN, DELETED_COLUMN = "mz_partition", "mz_offset", "mz_is_deleted"
"""What a reading adds to its rows if they replace each other by key: their place, and whether there is a row at all."""


@dataclass(frozen=True, slots=True)
class ChangeCount:
    """So many changes of an output were found at the bound offsets. The audit compares what was staged with it."""

    changes: int


Read = tuple[str, pa.Table | OutputFailed | ChangeCount | None]
"""What a connector reads of an output (see ``Connector.read``)."""


class Connector(Protocol):
    """A source's upstream, opened: a value that travels to executors. Its probes and readings are bounded in time.

    What it yields for a range of offsets is the same whenever and wherever it is asked, or it raises.
    """

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        """What of the upstream is beyond ``bound``, in order of partition, nothing of an upstream transaction without the rest.

        An increment without a new offset only renews evidence. ``skips`` are decisions about what an earlier probe raised.
        Raises a ``SourceError``; of several, that of the first partition.
        """

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment | None:
        """What of the partition is beyond ``before`` in the upstream as it is now, in place of ``claimed``, which is not published.

        Where an upstream never changes, that is ``claimed``; where it can be corrected, the upper may differ.
        None if nothing is left. Raises a ``SourceError``.
        """

    def tasks(self, increments: Sequence[Increment], skips: Sequence[Skip]) -> Sequence[Any]:
        """The ranges as pieces of work for executors, without what is given up whole. It follows from the arguments alone."""

    def read(self, task: Any) -> Iterator[Read]:
        """The rows of one task, by output (``""`` if the source has but one): the output's columns, and ``mz_diff`` where rows may
        also go; of an output with a key, rows with their place, which replace each other, or without, if it has none of their keys.
        None in place of rows: all that the output held until here is gone, which only one task of a step may say. An error: from
        this step on nothing is known of the output. A ``ChangeCount``: how many changes were read, which a connector tells if its
        offsets do not bound the number of rows. Raises a ``SourceError``."""

    def acknowledge(self, frontier: SourceFrontier) -> None:
        """Tell the upstream what is published; only ever for its own sake. Raises a ``SourceError``."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that a source needs of its upstream, whether it is there, and what was seen, without secrets."""

    name: str
    ok: bool
    detail: str


@runtime_checkable
class Checks(Connector, Protocol):
    """A connector that can say what it needs of its upstream, besides what a probe tells."""

    def check(self) -> Iterator[CheckResult]:
        """What was found, one thing after another; each asks within a bounded time. Raises a ``SourceError`` where nothing that
        follows can be found out."""


@runtime_checkable
class FailsByOutput(Connector, Protocol):
    """A connector whose outputs may fail one by one."""

    def without(self, outputs: Set[str]) -> Connector:
        """The same, but for outputs of which nothing is known any more."""


@runtime_checkable
class AssumesCompleteOutputs(Connector, Protocol):
    """A connector that may tell a row as one that comes, where it knows that the output has none of its key."""

    def with_gaps(self) -> Connector:
        """The same for outputs that lack what was given up."""


@runtime_checkable
class SupportsGuests(Connector, Protocol):
    """A connector to whose outputs others may come, and go.

    One whose collection has a guest comes late. It begins with a step that has an increment of its name, of no offsets: that holds
    all of it that belongs to what was bound before, and no more. A probe is of those that have begun.
    """

    def with_outputs(self, outputs: Mapping[str, RelationDesc]) -> Connector:
        """The same for these outputs."""

    def begin(self, bound: Bound, skips: Sequence[Skip] = ()) -> tuple[list[Increment], Mapping[str, BlockedReason]]:
        """The increments of a step with which outputs begin, if any can; and what keeps the others, by name, from it. Raises a
        ``SourceError`` if that cannot be told of any."""


RESTART_HINT = "ALTER SOURCE … RESTART '<name>' reads it again from its beginning"


@runtime_checkable
class SupportsRestart(Connector, Protocol):
    """A connector that can read a partition that was given up again, from its beginning."""

    def abandoned_partitions(self, bound: Bound) -> list[str]:
        """The names of what nothing more is read of, in order."""

    def next_reading(self, bound: Bound, name: str, stalled: str | None) -> int:
        """The number of the reading with which a restart begins; ``stalled`` is the partition that stalls the source, if any.

        Raises ``InvalidOption`` if there is nothing to restart.
        """

    def restarting(self, restarts: Mapping[str, int]) -> Connector:
        """The same connector, which begins these readings, by name, where they have not begun."""


@runtime_checkable
class HasHistory(Connector, Protocol):
    """A connector that can tell what its upstream had at an earlier moment, by the upstream's own clock."""

    def probe_until(self, bound: Bound, moment: Timestamp, skips: Sequence[Skip] = ()) -> list[Increment]:
        """``probe``, but only of what the upstream had before ``moment``."""


@runtime_checkable
class SupportsRebuild(Connector, Protocol):
    """A connector that can read again what was bound long ago, and tell that it is still the same."""

    def recall(self, ranges: Sequence[BoundRange], bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        """The increment of each of ``ranges``, all that was ever bound, in order; ``bound`` is what was kept with the last of each
        partition. Raises a ``SourceError`` if the upstream has it no more, or something else in its place."""


@runtime_checkable
class ReadsOnce(Connector, Protocol):
    """A connector some of whose readings cannot be repeated: what they find is written down before it is bound."""

    def must_read_once(self, bound: Bound) -> bool:
        """Whether the next step is such a reading, and no probe."""

    def read_once(
        self, bound: Bound, skips: Sequence[Skip] = (), *, is_wanted: Callable[[], bool] = lambda: True
    ) -> AbstractContextManager[tuple[Sequence[Increment], Sequence[Any]]]:
        """The increments of the step, and the tasks that read them inside the context, and only there; none, if nothing is new.
        Of a source that is copied anew, the tasks read all that the upstream has now; the increments go on from what is ``bound``.

        ``skips`` are decisions about what an earlier attempt raised. Nothing is made upstream for a source that
        is dropped: ``is_wanted`` is asked. Raises a ``SourceError``.
        """


def format_partition(partition: Partition) -> str:
    """The partition as decisions and errors name it; the empty string for the only partition of a source."""
    return "" if partition == () else str(partition)


def skipped_ranges(partition: Partition, skips: Sequence[Skip]) -> tuple[tuple[int, int], ...]:
    """The offset ranges of ``partition`` that ``skips`` give up."""
    return tuple((lower, upper) for name, lower, upper in skips if name == format_partition(partition))


def remaining_ranges(partition: Partition, lower: int, upper: int, skips: Sequence[Skip]) -> list[tuple[int, int]]:
    """The parts of the offsets ``[lower, upper)`` that ``skips`` do not give up."""
    whole = BoundRange(partition, lower, upper, MINIMUM)
    return [(range.lower, range.upper) for range in without(whole, skipped_ranges(partition, skips))]
