"""Commands to the replicas of a cluster, and what these answer."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from reclock.algebra.error_intervals import ErrorInterval
from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.definitions.sinks import SinkSpec
from reclock.plan.relational import Finishing, Plan
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.introspection import CancelSubscribe, LogName, LogResponse, Row, Subscribe

# --- deterministic ---


@dataclass(frozen=True, slots=True)
class Dataflow:
    """An index, resolved: ``plan`` reads collections only, ``desc`` is what it holds, ``name`` is for reports."""

    id: GlobalId
    name: str
    plan: Plan
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class CreateDataflow:
    """The replica maintains this from now on, in the place of what it maintained under that id."""

    dataflow: Dataflow


@dataclass(frozen=True, slots=True)
class DropDataflow:
    """The replica does not maintain it any more, and refuses peeks that want it."""

    id: GlobalId


# --- ephemeral ---


@dataclass(frozen=True, slots=True)
class Changes:
    """By what the rows of a plan differ from those ``after`` an earlier time; all of them are new if it is None.

    ``rows`` are the relations that are no collections, as they were then.
    """

    after: Timestamp | None = None
    rows: Mapping[StorageCollectionId, pa.Table] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Peek:
    """The rows of ``plan`` at ``as_of``, finished. What it reads was made readable there, and is held by who asks.

    It was planned at ``catalog_ts``. ``dataflows`` are those it reads. ``rows`` are relations that are no collections, as they are;
    ``uncommitted`` are updates at ``as_of`` that the asking transaction alone sees. With ``changes``, these are answered instead,
    no row twice, with ``mz_diff`` as the last column; inputs are readable and held at both times, and nothing is finished.
    """

    id: str
    catalog_ts: Timestamp
    as_of: Timestamp
    plan: Plan
    finishing: Finishing
    dataflows: frozenset[GlobalId] = frozenset()
    rows: Mapping[StorageCollectionId, pa.Table] = field(default_factory=dict)
    uncommitted: Mapping[StorageCollectionId, pa.Table] = field(default_factory=dict)
    changes: Changes | None = None


@dataclass(frozen=True, slots=True)
class CancelPeek:
    """The peek ends with ``QueryCanceled`` at its next batch. One that has ended, or is not known, is no error."""

    id: str


@dataclass(frozen=True, slots=True)
class Refresh:
    """Bring the dataflow up to ``at``, or as far as its inputs are complete, under claims of ``owner``.

    It was decided on at ``catalog_ts``.
    """

    id: GlobalId
    at: Timestamp
    owner: str
    catalog_ts: Timestamp = MINIMUM


@dataclass(frozen=True, slots=True)
class Emit:
    """Bring the target of ``sink`` up to ``at``, or as far as its inputs are complete, under a claim of ``owner``.

    The sink is as the catalog described it at ``catalog_ts``; of secrets, the command carries references only.
    """

    sink: SinkSpec
    at: Timestamp
    owner: str
    catalog_ts: Timestamp = MINIMUM


ComputeCommand = CreateDataflow | DropDataflow | AdvanceCatalogFrontier | CancelPeek | Subscribe | CancelSubscribe


# --- responses ---


@dataclass(frozen=True, slots=True)
class PeekResponse:
    """Rows on their way out: they may be computed while ``batches`` is read, which must be closed. ``engine`` names who does."""

    engine: str
    schema: pa.Schema
    batches: Generator[pa.RecordBatch, None, None]


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How far the index is complete now (``upper``, exclusive), at which times it was refreshed, and how many updates that gave;
    and ``how`` the last of these was made, None without one. ``error`` is what the query raises at the newest times, if it does."""

    index: str
    upper: Timestamp
    times: tuple[Timestamp, ...]
    updates: int
    how: str | None = None
    error: ErrorInterval | None = None


@dataclass(frozen=True, slots=True)
class Emitted:
    """The sink's target holds everything below ``upper``; in how many commits, messages (or changes of rows, where there are none)
    and bytes, that was new."""

    sink: str
    upper: Timestamp
    commits: int = 0
    changes: int = 0
    bytes: int = 0


class Replica(Protocol):
    """Carries out the commands of its cluster. Replicas of one cluster do the same work; compare-and-append lets the first win."""

    def running(self) -> Mapping[GlobalId, Dataflow]:
        """What it maintains: what a controller that begins reconciles with."""
        ...

    def carry_out(self, command: ComputeCommand) -> None: ...

    def peek(self, peek: Peek) -> PeekResponse:
        """Raises ``ReplicaBehind`` before it was commanded up to the peek's time in the catalog, ``UnknownCollection`` for what is
        not there any more, ``NotReadable``, ``VersionGone``, what its engines do."""
        ...

    def engine_of(self, peek: Peek) -> str:
        """The engine that would answer."""
        ...

    def refresh(self, refresh: Refresh) -> Refreshed:
        """Raises ``ReplicaBehind``, ``UnknownCollection``, and ``ClaimConflict`` while another replica is at work."""
        ...

    def emit(self, emit: Emit) -> Emitted:
        """Raises ``ReplicaBehind``, ``UnknownCollection`` for a dropped sink, ``SinkError``, and ``ClaimConflict`` while another
        process emits."""
        ...

    def take_changes(self, subscribes: Collection[str]) -> list[LogResponse]:
        """What changed since the last call in the logs of these subscribes. What is lost on the way is lost: subscribe again."""
        ...

    def log(self, name: LogName) -> list[Row]:
        """One log as it is now."""
        ...
