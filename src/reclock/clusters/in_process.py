"""The replica of a virtual cluster: in this process, with its engines."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.clusters.known_results import KnownResults
from reclock.clusters.measurements import Measurements
from reclock.clusters.refresh import Refresher
from reclock.collections.arrangements import Arrangements
from reclock.collections.lake import Lake
from reclock.collections.tables import Tables, table_id
from reclock.compute.costs import RefreshCosts
from reclock.compute.engines.engine import (
    Answer,
    CollectionInput,
    Engine,
    Input,
    Inputs,
    TableInput,
)
from reclock.compute.reads import peeks
from reclock.compute.reads.lookups import NAME as MEMORY
from reclock.compute.reads.lookups import Lookup, look_up_resident
from reclock.config import Settings
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.errors import NotReadable, ReplicaBehind, UnknownCollection, VersionGone
from reclock.ingest.progress import plan_input
from reclock.plan.relational import collections
from reclock.protocol.compute import (
    CancelPeek,
    ComputeCommand,
    CreateDataflow,
    Dataflow,
    DropDataflow,
    Emit,
    Emitted,
    Peek,
    PeekResponse,
    Refresh,
    RefreshFailed,
    RefreshResponse,
)
from reclock.protocol.frontier import AdvanceCatalogFrontier
from reclock.protocol.introspection import CancelSubscribe, LogName, LogResponse, Row, Subscribe
from reclock.sinks.changes import ChangeReader
from reclock.sinks.emitter import Emitter
from reclock.sinks.factory import SinkContext, open_writer


@dataclass(slots=True)
class InProcessReplica:
    """A `Replica` in this process. Thread-safe."""

    lake: Lake
    tables: Tables
    frontiers: Frontiers
    holds: ReadHolds
    settings: Settings
    arrangements: Arrangements
    small: Callable[[], Engine]
    large: Callable[[], Engine]
    published: Mapping[str, Timestamp]
    """The uppers that this process knows."""
    measurements: Measurements
    sink_context: SinkContext
    costs: RefreshCosts
    results: KnownResults = field(default_factory=KnownResults)
    catalog_frontier: Timestamp = MINIMUM
    _running: dict[GlobalId, Dataflow] = field(default_factory=dict)
    _peeks: dict[str, Callable[[], None]] = field(default_factory=dict)

    def running(self) -> Mapping[GlobalId, Dataflow]:
        return dict(self._running)

    def carry_out(self, command: ComputeCommand) -> None:
        match command:
            case CreateDataflow(dataflow):
                self._running[dataflow.id] = dataflow
                self.measurements.dataflow_created(dataflow.id)
            case DropDataflow(id):
                self._running.pop(id, None)
                self.measurements.dataflow_dropped(id)
                self.costs.forget(id)
                self.results.forget(id)
                self.small().forget_index(id)
            case AdvanceCatalogFrontier(to):
                self.catalog_frontier = max(self.catalog_frontier, to)
            case CancelPeek(id):
                if interrupt := self._peeks.get(id):
                    interrupt()
            case Subscribe():
                self.measurements.subscribe(command)
            case CancelSubscribe():
                self.measurements.cancel(command)

    def peek(self, peek: Peek) -> PeekResponse:
        inputs = self._inputs(peek)
        began_ns = time.monotonic_ns()
        with self._reading(inputs):
            answer = self._answer(peek, inputs)
        return PeekResponse(
            answer.engine, answer.batches.schema, self._batches(peek, answer, inputs, began_ns)
        )

    def look_up(self, lookup: Lookup, catalog_ts: Timestamp, as_of: Timestamp) -> pa.Table | None:
        """The rows of a lookup in a table, planned at ``catalog_ts``, if they are in memory: then
        they need no read hold. Raises as ``peek``."""
        self._require(catalog_ts)
        began_ns = time.monotonic_ns()
        id = lookup.get.collection.source_id
        table = self.tables.pin([id], as_of)[id]
        read = CollectionInput(table.version, table.tail)
        rows = look_up_resident(lookup, read, as_of, self.arrangements)
        if rows is not None:
            self.measurements.peek_answered(MEMORY, began_ns)
        return rows

    def _answer(self, peek: Peek, inputs: Inputs) -> Answer:
        threshold_bytes = self.settings.spark_threshold_bytes
        if peek.changes is not None:
            earlier = {id: TableInput(rows) for id, rows in peek.changes.rows.items()}
            return peeks.compare(
                peek.plan,
                inputs,
                peek.as_of,
                peek.changes.after,
                earlier,
                small=self.small(),
                large=self.large,
                threshold_bytes=threshold_bytes,
            )
        return peeks.peek(
            peek.plan,
            peek.finishing,
            inputs,
            peek.as_of,
            arrangements=self.arrangements,
            small=self.small(),
            large=self.large,
            threshold_bytes=threshold_bytes,
        )

    def engine_of(self, peek: Peek) -> str:
        return peeks.engine_of(
            peek.plan,
            peek.finishing,
            self._inputs(peek),
            peek.as_of,
            arrangements=self.arrangements,
            threshold_bytes=self.settings.spark_threshold_bytes,
        )

    def refresh(self, refresh: Refresh) -> RefreshResponse:
        self._require(refresh.catalog_ts)
        refresher = Refresher(
            self.frontiers,
            self.holds,
            self.lake,
            self.settings,
            refresh.owner,
            self.small(),
            self.large,
            self.costs,
            self.results,
        )
        known = [self._running[id] for id in refresh.ids if id in self._running]
        refreshed = dict(
            zip([index.id for index in known], refresher.refresh(known, refresh.at), strict=True)
        )
        for id, outcome in refreshed.items():
            self.measurements.dataflow_refreshed(id, outcome)
        return tuple(
            refreshed.get(id) or RefreshFailed(id, UnknownCollection(id)) for id in refresh.ids
        )

    def emit(self, emit: Emit) -> Emitted:
        self._require(emit.catalog_ts)
        reader = ChangeReader(self.lake, self.frontiers, self.settings, self.small(), self.large)
        opened = partial(open_writer, context=self.sink_context)
        emitter = Emitter(
            self.frontiers, self.holds, reader, opened, emit.owner, self.settings.claim_lease_ms
        )
        return emitter.emit(emit.sink, emit.at)

    def take_changes(self, subscribes: Collection[str]) -> list[LogResponse]:
        return self.measurements.take_changes(subscribes)

    def log(self, name: LogName) -> list[Row]:
        return self.measurements.rows(name)

    def _batches(
        self, peek: Peek, answer: Answer, inputs: Inputs, began_ns: int
    ) -> Generator[pa.RecordBatch, None, None]:
        """The peek's batches. It can be cancelled while this runs."""
        self._peeks[peek.id] = answer.interrupt
        self.measurements.peek_began(peek.id, answer.engine, peek.as_of, began_ns)
        try:
            with self._reading(inputs):
                yield from answer.batches
        finally:
            del self._peeks[peek.id]
            self.measurements.peek_ended(peek.id)
            answer.batches.close()

    @contextmanager
    def _reading(self, inputs: Inputs) -> Iterator[None]:
        try:
            with ExitStack() as scope:
                for collection_input in inputs.values():
                    if isinstance(collection_input, CollectionInput):
                        scope.enter_context(collection_input.version.reading())
                yield
        except VersionGone as unknown:
            self._forget(StorageCollectionId.parse(unknown.name))
            raise

    def _inputs(self, peek: Peek) -> dict[StorageCollectionId, Input]:
        """Each collection, pinned to one version. A table has its Delta version and its writes in
        the WAL."""
        self._require(peek.catalog_ts)
        for used in peek.dataflows:
            self._dataflow(used)
        inputs: dict[StorageCollectionId, Input] = {
            id: TableInput(rows) for id, rows in peek.rows.items()
        }
        collection_ids = [id for id in collections(peek.plan) if id not in inputs]
        for id in collection_ids:
            if id.collection is not CollectionType.TABLE:
                inputs[id] = self._input(id, peek.as_of)
        tables = [id.source_id for id in collection_ids if id.collection is CollectionType.TABLE]
        for source_id, table in self.tables.pin(tables, peek.as_of).items():
            uncommitted = peek.uncommitted.get(table_id(source_id))
            tail = (
                table.tail if uncommitted is None else pa.concat_tables([table.tail, uncommitted])
            )
            inputs[table_id(source_id)] = CollectionInput(table.version, tail)
        if peek.changes is not None and peek.changes.after is not None:
            _check_readable(inputs, peek.changes.after)
        return inputs

    def _input(self, id: StorageCollectionId, as_of: Timestamp) -> Input:
        version = self.lake.open(id).pin_at(as_of, self.published.get(id.group, MINIMUM))
        try:
            return plan_input(id, version)
        except VersionGone:
            self._forget(id)
            raise

    def _require(self, catalog_ts: Timestamp) -> None:
        if catalog_ts > self.catalog_frontier:
            raise ReplicaBehind(required=catalog_ts, reached=self.catalog_frontier)

    def _dataflow(self, id: GlobalId) -> Dataflow:
        if id not in self._running:
            raise UnknownCollection(id)
        return self._running[id]

    def _forget(self, collection: StorageCollectionId) -> None:
        """Forget the cached version of the collection, so that no peek uses it."""
        if collection.collection is CollectionType.TABLE:
            self.tables.forget(collection.source_id)
        else:
            self.lake.open(collection).pin()


def _check_readable(inputs: Inputs, at: Timestamp) -> None:
    """Raises ``NotReadable`` if a version was compacted beyond this time."""
    for id, collection_input in inputs.items():
        if isinstance(collection_input, CollectionInput) and at < collection_input.version.since:
            raise NotReadable(
                id.group,
                at=at,
                since=collection_input.version.since,
                upper=collection_input.version.upper,
            )
