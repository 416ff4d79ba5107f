"""Commands to the replicas of a cluster, and their responses."""

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
from reclock.errors import ReclockError
from reclock.plan.relational import Finishing, Plan
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.introspection import CancelSubscribe, LogName, LogResponse, Row, Subscribe

# --- deterministic ---


@dataclass(frozen=True, slots=True)
class Dataflow:
    """An index with all names resolved: ``plan`` reads collections only, ``desc`` is the relation
    that it holds, ``name`` is for reports."""

    id: GlobalId
    name: str
    plan: Plan
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class CreateDataflow:
    """Maintain this dataflow from now on, in place of an earlier one with its id."""

    dataflow: Dataflow


@dataclass(frozen=True, slots=True)
class DropDataflow:
    """Stop maintaining the dataflow, and refuse peeks that read it."""

    id: GlobalId


# --- ephemeral ---


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference between a plan's rows and those at the earlier time ``after``; None means that
    all rows are new.

    ``rows`` are the relations without collections, as they were then.
    """

    after: Timestamp | None = None
    rows: Mapping[StorageCollectionId, pa.Table] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Peek:
    """A request for the rows of ``plan`` at ``as_of``, finished. The requester has made its inputs
    readable there, and holds them.

    The plan was made at ``catalog_ts``, and reads ``dataflows``. ``rows`` are relations without
    collections. ``uncommitted`` are updates at ``as_of`` that only the requesting transaction sees.
    With ``changes``, the response has the changes instead, no row twice, with ``mz_diff`` as the
    last column; then the inputs are readable and held at both times, and nothing is finished.
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
    """End the peek with ``QueryCanceled`` at its next batch. Does nothing if it has ended, or is
    unknown."""

    id: str


@dataclass(frozen=True, slots=True)
class Refresh:
    """Bring the dataflows up to ``at``, or as far as their inputs are complete, under claims of
    ``owner``. Each comes after those that it reads. It was decided at ``catalog_ts``."""

    ids: tuple[GlobalId, ...]
    at: Timestamp
    owner: str
    catalog_ts: Timestamp = MINIMUM


@dataclass(frozen=True, slots=True)
class Emit:
    """Bring the target of ``sink`` up to ``at``, or as far as its inputs are complete, under a
    claim of ``owner``.

    The sink is described as of ``catalog_ts``. The command has only references to secrets.
    """

    sink: SinkSpec
    at: Timestamp
    owner: str
    catalog_ts: Timestamp = MINIMUM


ComputeCommand = (
    CreateDataflow
    | DropDataflow
    | AdvanceCatalogFrontier
    | CancelPeek
    | Subscribe
    | CancelSubscribe
)


# --- responses ---


@dataclass(frozen=True, slots=True)
class PeekResponse:
    """The rows of a peek. They may be computed while ``batches`` is read, which must be closed.
    ``engine`` names the engine."""

    engine: str
    schema: pa.Schema
    batches: Generator[pa.RecordBatch, None, None]


@dataclass(frozen=True, slots=True)
class RefreshDetails:
    """What a replica estimated before a refresh for each of the two ways, and what the newest
    refresh of each way took that tells what others take. None where nothing is known.

    ``delta_error`` is the error for which a refresh from changes recomputed the index instead."""

    delta_estimate_ns: int | None = None
    recompute_estimate_ns: int | None = None
    delta_took_ns: int | None = None
    recompute_took_ns: int | None = None
    delta_error: str | None = None


NO_DETAILS = RefreshDetails()


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The index's ``upper`` (exclusive) after a refresh, the times at which it was refreshed, the
    number of updates, and ``how`` the last refresh was made (None without one). ``error`` is the
    query's error at the newest times, if it has one. ``duration_ns`` is the time spent on this
    index alone. ``details`` are those of the last refresh."""

    index: str
    upper: Timestamp
    times: tuple[Timestamp, ...]
    updates: int
    how: str | None = None
    error: ErrorInterval | None = None
    duration_ns: int = 0
    details: RefreshDetails = NO_DETAILS


@dataclass(frozen=True, slots=True)
class RefreshFailed:
    """The index could not be refreshed."""

    index: str
    error: ReclockError


RefreshResponse = tuple[Refreshed | RefreshFailed, ...]
"""How each dataflow fared, in the order of the request."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """The sink's target has everything below ``upper``, and how many commits, messages (or changed
    rows) and bytes were new."""

    sink: str
    upper: Timestamp
    commits: int = 0
    changes: int = 0
    bytes: int = 0


class Replica(Protocol):
    """Carries out the commands of its cluster. All replicas of a cluster do the same work; by
    compare-and-append the first one wins."""

    def running(self) -> Mapping[GlobalId, Dataflow]:
        """The dataflows that it maintains, with which a new controller reconciles."""
        ...

    def carry_out(self, command: ComputeCommand) -> None: ...

    def peek(self, peek: Peek) -> PeekResponse:
        """Answer a peek. Raises ``ReplicaBehind`` if the replica was not commanded up to the peek's
        time in the catalog, ``UnknownCollection`` for dropped inputs, ``NotReadable``,
        ``VersionGone``, and errors of its engines."""
        ...

    def engine_of(self, peek: Peek) -> str:
        """The engine that would answer the peek."""
        ...

    def refresh(self, refresh: Refresh) -> RefreshResponse:
        """Refresh dataflows. One fails with ``ClaimConflict`` while another replica refreshes it,
        with ``UnknownCollection`` if it was dropped. Raises ``ReplicaBehind``."""
        ...

    def emit(self, emit: Emit) -> Emitted:
        """Emit a sink. Raises ``ReplicaBehind``, ``UnknownCollection`` for a dropped sink,
        ``SinkError``, and ``ClaimConflict`` while another process emits it."""
        ...

    def take_changes(self, subscribes: Collection[str]) -> list[LogResponse]:
        """The changes since the last call in the logs of these subscribes. If a response is lost,
        subscribe again."""
        ...

    def log(self, name: LogName) -> list[Row]:
        """The current rows of one log."""
        ...
