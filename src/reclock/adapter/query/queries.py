"""Queries: choose a time, choose between a view's definition and its index, and peek."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.context.variable_values import is_strict
from reclock.adapter.context.variables import LAST_COMPLETE
from reclock.adapter.query.peek_rows import PeekRows
from reclock.adapter.statement_context import StatementContext
from reclock.adapter.timestamps import read_time, readiness
from reclock.adapter.timestamps.read_time import NO_TIME, ReadTime
from reclock.adapter.transaction.transaction import StatementStart, Transaction
from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.controllers.active_peeks import ActivePeek
from reclock.controllers.compute import ClusterController
from reclock.errors import (
    CollectionDamaged,
    ForeignCollection,
    InternalError,
    NotBackfilled,
    NotReadable,
    OutputFailed,
    ReadHoldLost,
    ResultTooLarge,
    UnknownCollection,
    VersionGone,
    quoted_name,
    unquoted_name,
)
from reclock.plan.relational import Plan, collections
from reclock.plan.temporal import reads_now
from reclock.protocol.compute import CancelPeek, Changes, Peek
from reclock.runtime.control_plane import SYSTEM_CLUSTER_ID
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import IndexEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.views import Definition
from reclock.sql.statements.query.values import Select
from reclock.tracing import span

_ATTEMPTS = 3
"""How often a query starts when maintenance removes what it reads."""


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """A query that is ready to run: its time, its plan over existing collections, and the indexes
    it uses."""

    time: ReadTime
    plan: Plan
    indexes: tuple[IndexEntry, ...]
    reads: frozenset[StorageCollectionId]
    groups: frozenset[str]
    """The frontier groups it reads. System relations, and tables that the transaction creates,
    belong to none."""


@dataclass(slots=True)
class QueryExecution:
    """The execution of one SELECT."""

    context: StatementContext
    select: Select
    transaction: Transaction | None = None
    """It reads at the time of this transaction and sees its writes. None for a query on its own."""
    changes: Changes | None = None
    """The changes to compute instead of the rows."""
    read_ts: Timestamp | None = None
    """The oracle's read timestamp at the moment of the catalog."""
    is_subscription: bool = False
    """Whether it is the first query of a subscription."""
    is_export: bool = False
    """Whether the rows go into files, so that the session's limit of a result does not hold."""
    provided: Mapping[StorageCollectionId, pa.Table] = field(default_factory=dict)
    """The rows of transient collections that the caller knows."""
    start: StatementStart | None = None
    """If it is given, the query sees of the transaction's writes those before it alone."""
    known_definition: Definition | None = None
    """The query's definition, if it is known already."""
    _broken: set[GlobalId] = field(default_factory=set)
    """Indexes that could not be read."""
    _known_cluster_id: int | None = None

    def run(self) -> Result:
        """The rows, computed lazily. The read hold lasts until the last row, or for its lease.

        If compaction or vacuum removes what the query reads before its first rows, the query starts
        again, at a new time unless ``AS OF`` names it; after the first rows it raises
        ``VersionGone``. Raises ``DroppedMeanwhile`` if a relation was dropped before the first
        rows, and ``CollectionUnready``, ``CollectionDamaged`` or ``ForeignCollection`` with the
        relation's name.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._begin()
            except VersionGone:
                if attempt == _ATTEMPTS:
                    raise
            except readiness.Unavailable as broken:
                if not self._can_do_without(broken) or attempt == _ATTEMPTS:
                    raise readiness.named(broken, self.environment, self.catalog) from broken
            except OutputFailed as failed:
                raise readiness.about_source_of(failed, self.catalog) from failed
            except NotBackfilled:
                raise
            except NotReadable as error:
                if self.transaction is not None and self.transaction.has_lost(error):
                    raise ReadHoldLost(self.environment.stores.actor, at=error.at) from error
                if attempt == _ATTEMPTS or error.at >= error.since:
                    raise NotReadable(
                        self.name_of(error.name), at=error.at, since=error.since, upper=error.upper
                    ) from error
        raise InternalError("a query neither began nor failed")

    def _can_do_without(
        self, broken: UnknownCollection | CollectionDamaged | ForeignCollection
    ) -> bool:
        """Whether another attempt may succeed: without the broken index, or after the collection
        was created or dropped."""
        index = self.catalog.entry(readiness.object_of(broken.name))
        if not isinstance(index, IndexEntry):
            readiness.retry_unready(self.environment)
            return isinstance(broken, UnknownCollection)
        self._broken.add(index.id)
        return True

    def _begin(self) -> Result:
        with ExitStack() as scope:
            ready = self.prepare()
            scope.enter_context(
                read_time.held_readable(
                    self.environment,
                    ready.time.at,
                    ready.groups,
                    cancellation=self.context.cancellation,
                    notice=self.context.notice,
                    name_of=self.name_of,
                )
            )
            peek, controller = self.peek(ready), self.controller()

            def cancel() -> None:
                controller.cancel(CancelPeek(peek.id))

            cluster_id, cluster = self._cluster_id(), self.context.variables.get("cluster")
            active_peek = scope.enter_context(
                self.environment.control_plane.active_peeks.tracking(cluster_id, cluster, cancel)
            )
            replica = (
                ""
                if cluster_id == SYSTEM_CLUSTER_ID
                else self.context.variables.get("cluster_replica")
            )
            cancellation = self.context.cancellation
            with span("peek", cluster=cluster, at=peek.as_of):
                with cancellation.in_planning():  # the engine's statement is written here
                    answer = controller.peek(peek, cancellation.pause, replica=replica)
                batches = cancellation.checked(answer.batches, cancel)
                first = list(islice(batches, 1))
            return Result(
                self.select.tag,
                self.select.desc,
                self._delivered(chain(first, batches), active_peek, scope.pop_all()),
                at=None if ready.time is NO_TIME else ready.time.at,
            )

    def _delivered(
        self, batches: Iterator[pa.RecordBatch], active_peek: ActivePeek, scope: ExitStack
    ) -> Iterator[pa.RecordBatch]:
        """The batches, up to the session's limit; ``scope`` ends with them. Raises
        ``ResultTooLarge``, ``ClusterDropped``."""
        is_limited = self.changes is None and not self.is_export
        limit_bytes = self.context.variables.max_result_bytes if is_limited else 0
        size = 0
        with scope:
            for batch in batches:
                size += batch.nbytes
                if 0 < limit_bytes < size:
                    raise ResultTooLarge(limit_bytes)
                active_peek.check()
                yield batch

    @property
    def definition(self) -> Definition:
        if self.known_definition is None:
            self.known_definition = self.context.definition_of(self.select.plan)
        return self.known_definition

    def time_of(self) -> ReadTime:
        """The time that the query reads at. The collections that it reads exist afterwards."""
        definition = self.definition
        self._await_controllers(definition.reads)
        read = self._groups(definition.reads)

        def choose(groups: frozenset[str]) -> ReadTime:
            return self._last_complete(self._choose(groups), read)

        if self.transaction is not None:
            return self.transaction.time_of(definition.plan, self.select, self.catalog, choose)
        return choose(read)

    def prepare(self) -> ReadPlan:
        """Choose the time and the plan. A view is read from an index of the active cluster if one
        is readable at that time."""
        time = self.time_of()
        after = self.changes.after if self.changes is not None else None
        usable = self._usable_indexes(time.at if after is None else after, time.at)
        if not usable:
            reads = self.definition.reads
            return ReadPlan(time, self.definition.plan, (), reads, self._groups(reads))
        with self.context.cancellation.in_planning():
            plan, chosen = self.context.arranged(self.select.plan, usable)
        reads = collections(plan)
        return ReadPlan(time, plan, chosen, reads, self._groups(reads))

    def _choose(self, groups: frozenset[str]) -> ReadTime:
        as_of = self.select.as_of
        is_serializable = not is_strict(self.context.variables.get("transaction_isolation"))
        if not groups and as_of is None and not reads_now(self.definition.plan):
            return NO_TIME
        relevant = (
            groups
            if read_time.needs_frontiers(as_of, is_serializable=is_serializable)
            else frozenset[str]()
        )
        frontiers = read_time.frontiers_of(self.environment, relevant)
        return read_time.choose(
            frontiers,
            self._oracle_ts(),
            as_of,
            is_serializable=is_serializable,
            is_first=self.is_subscription,
        )

    def _last_complete(self, time: ReadTime, read: frozenset[str]) -> ReadTime:
        """``time``, or, if a source is stalled and the session allows it, the newest time at which
        all of ``read`` is complete."""
        if (
            self.context.variables.get("stalled_reads") != LAST_COMPLETE
            or self._is_as_of
            or not read
        ):
            return time
        stall = read_time.last_complete(self.environment, time.at, read)
        if stall is None:
            return time
        at, name = Timestamp(stall.upper - 1), self.name_of(stall.status.name)
        self.context.notice(
            f"{quoted_name(name)} is stalled: read as of {at}, "
            f"{(self.environment.stores.clock() - at) / 1000:g} s ago"
        )
        return ReadTime(
            at,
            f"stalled_reads = last_complete: {quoted_name(name)} is complete up to there",
            time.oracle_read_ts,
        )

    def _oracle_ts(self) -> Timestamp:
        """The oracle's read timestamp: at the first attempt the one that the catalog was read
        with."""
        known, self.read_ts = self.read_ts, None
        return known if known is not None else self.environment.stores.oracle.read_ts(EPOCH_MS)

    def name_of(self, group: str) -> str:
        """A frontier group in the user's terms: the relation it belongs to, or its relations that
        the query reads."""
        entry = self.catalog.entry(GlobalId(group))
        if isinstance(entry, IndexEntry):
            entry = self.catalog.entry(entry.on)
        if entry is not None:
            return str(entry.name)
        read = (self.catalog.kept_in(id) for id in self.definition.reads if id.group == group)
        return (
            '", "'.join(
                sorted(unquoted_name(relation.name) for relation in read if relation is not None)
            )
            or group
        )

    def _usable_indexes(self, first: Timestamp, last: Timestamp) -> Mapping[GlobalId, IndexEntry]:
        """The indexes on what the query reads that are readable from ``first`` to ``last``, by what
        they are on."""
        if self.transaction is not None and self.transaction.writes:
            return {}  # indexes hold committed rows only
        maintained = self.indexes()
        return {
            index.on: index
            for index, frontier in maintained
            if frontier.is_readable_at(first) and frontier.is_readable_at(last)
        }

    def indexes(self) -> list[tuple[IndexEntry, GroupFrontier]]:
        """The indexes on what the query reads that the active cluster maintains, each with its
        frontier."""
        running = self.controller().maintained()
        indexes = [
            index
            for relation in self.definition.relations
            for index in self.catalog.indexes_on(relation)
            if index.id in running and index.id not in self._broken
        ]
        frontiers = (
            self.environment.stores.frontiers.get_all([index.id for index in indexes])
            if indexes
            else {}
        )
        return [(index, frontiers[index.id]) for index in indexes if index.id in frontiers]

    def controller(self) -> ClusterController:
        id = self._cluster_id()
        return (
            self.environment.control_plane.system_controller
            if id == SYSTEM_CLUSTER_ID
            else self.environment.control_plane.compute_controller(id)
        )

    def _cluster_id(self) -> int:
        if self._known_cluster_id is None:
            self._known_cluster_id = self._choose_cluster()
        return self._known_cluster_id

    def _choose_cluster(self) -> int:
        """The cluster that runs the query: the active cluster, or the system cluster for queries
        over system relations alone.

        Those therefore work without any cluster. A query of constants requires that the active
        cluster exists. Raises ``UnknownObject``.
        """
        definition, plan = self.definition, self.select.plan
        reads = definition.reads if definition.plan is plan else collections(plan)
        is_about_system = all(id.is_system for id in reads)
        if is_about_system and (reads or self.select.tag == "SHOW"):
            return SYSTEM_CLUSTER_ID
        active = self.context.active_cluster()
        return SYSTEM_CLUSTER_ID if is_about_system else active

    def _await_controllers(self, reads: frozenset[StorageCollectionId]) -> None:
        """Wait until the controllers have created these collections, which the query reads."""
        if groups_of(reads, self.created):
            self.context.await_storage()
        self.controller().await_frontier(self.context.catalog_ts, self.context.cancellation.pause)

    @property
    def environment(self) -> Environment:
        return self.context.environment

    @property
    def catalog(self) -> PlannerCatalog:
        return self.context.catalog

    @property
    def created(self) -> Set[GlobalId]:
        return self.transaction.created if self.transaction is not None else frozenset()

    def _groups(self, reads: frozenset[StorageCollectionId]) -> frozenset[str]:
        """The frontier groups of these collections; with ``AS OF`` also those of the system
        relations that storage manages."""
        return groups_of(reads, self.created, is_as_of=self._is_as_of)

    @property
    def _is_as_of(self) -> bool:
        return self.select.as_of is not None

    def peek(self, ready: ReadPlan) -> Peek:
        """The peek, with the rows of system relations in it; the replica reads the other
        collections."""
        read, at = ready.reads, ready.time.at
        peek_rows = PeekRows(
            self.context, self.transaction, self.provided, self._is_as_of, self.start
        )
        rows, changes = peek_rows.at(read, at), self.changes
        if changes is not None and changes.after is not None:
            changes = replace(changes, rows=peek_rows.at(read, changes.after))
        own_writes = (
            self.transaction.own_updates(at, self.start) if self.transaction is not None else {}
        )
        dataflows = frozenset(index.id for index in ready.indexes)
        return Peek(
            secrets.token_hex(16),
            self.context.catalog_ts,
            at,
            ready.plan,
            self.select.finishing,
            dataflows,
            rows,
            own_writes,
            changes,
        )


def groups_of(
    reads: Set[StorageCollectionId],
    created: Set[GlobalId] = frozenset(),
    *,
    is_as_of: bool = False,
) -> frozenset[str]:
    """The frontier groups of the collections that a plan reads.

    System relations belong to none, since they are read as they are now; with ``AS OF``, those that
    storage manages are read as of that time. The tables that the transaction has ``created``, and
    temporary tables, belong to none.
    """
    return frozenset(
        id.group
        for id in reads
        if (id.has_times or (is_as_of and id.is_system and id.collection is CollectionType.TABLE))
        and id.source_id not in created
    )


def run_query(context: StatementContext, select: Select, transaction: Transaction | None) -> Result:
    """The rows of ``select``, with what ``transaction`` has written so far."""
    return QueryExecution(context, select, transaction).run()
