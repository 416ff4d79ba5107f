"""Queries: choose a time, choose between a view's definition and its index, peek."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice

import pyarrow as pa

from reclock.adapter import read_time
from reclock.adapter.interruption import Interruption
from reclock.adapter.read_time import ReadTime
from reclock.adapter.results import Result
from reclock.adapter.system import progress_rows, system_rows
from reclock.adapter.transaction import Transaction
from reclock.adapter.variables import SERIALIZABLE, SessionVariables
from reclock.algebra.ids import TABLES, CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import EPOCH_MS, MINIMUM, Timestamp
from reclock.catalog.objects import ItemType
from reclock.collections.tables import table_id
from reclock.compute.engines.engine import CollectionInput, Input, TableInput
from reclock.compute.peek import is_large, peek
from reclock.compute.plan import Plan, collections
from reclock.environment import Environment
from reclock.errors import InternalError, NotReadable, VersionGone
from reclock.sql import statements
from reclock.sql.catalog import IndexEntry, PlannerCatalog
from reclock.sql.explain import explain
from reclock.sql.planner.views import expand

_ATTEMPTS = 3
"""How often a query begins that maintenance overtakes."""


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """A query made ready: its time, the plan over collections that are there, and the indexes it uses."""

    time: ReadTime
    plan: Plan
    indexes: tuple[IndexEntry, ...]

    @property
    def groups(self) -> frozenset[str]:
        """The frontier groups it reads; system relations are of none."""
        return groups_of(self.plan)


@dataclass(slots=True)
class Query:
    """One SELECT of one session."""

    environment: Environment
    catalog: PlannerCatalog
    variables: SessionVariables
    select: statements.Select
    notice: Callable[[str], None]
    interruption: Interruption = field(default_factory=Interruption)
    transaction: Transaction | None = None
    """Whose time it reads at, and whose own writes it sees. Without one it is alone."""

    def run(self) -> Result:
        """The rows, computed as they are taken. The read hold lasts until then, or for its lease.

        A read that maintenance overtakes before its first rows begins again, at a new time unless ``AS OF`` names it; one that is
        overtaken after them raises ``VersionGone``.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._begin()
            except VersionGone as gone:
                if attempt == _ATTEMPTS:
                    raise
                self._forget(StorageCollectionId.parse(gone.name))
            except NotReadable as error:
                if attempt == _ATTEMPTS or error.at >= error.since:
                    raise NotReadable(self._name_of(error.name), at=error.at, since=error.since, upper=error.upper) from error
        raise InternalError("a query neither began nor failed")

    def _begin(self) -> Result:
        with ExitStack() as scope:
            ready = self.prepare()
            scope.enter_context(
                read_time.held_readable(
                    self.environment,
                    ready.time.at,
                    ready.groups,
                    interruption=self.interruption,
                    notice=self.notice,
                    name_of=self._name_of,
                )
            )
            inputs = self._inputs(ready)
            for given in inputs.values():
                if isinstance(given, CollectionInput):
                    scope.enter_context(given.version.reading())
            answer = peek(
                ready.plan,
                self.select.finishing,
                inputs,
                ready.time.at,
                small=self.environment.small_engine,
                large=self.environment.large_engine,
                threshold_bytes=self.environment.settings.spark_threshold_bytes,
            )
            batches = self.interruption.guarded(answer.batches, answer.interrupt)
            first = list(islice(batches, 1))
            return Result(self.select.tag, self.select.desc, _closing(chain(first, batches), scope.pop_all()))

    def prepare(self) -> ReadPlan:
        """The time, and the plan at that time. A view is read from an index of the active cluster that is readable then."""
        self.catalog.cluster_id(self.variables.get("cluster"))
        definition = expand(self.select.plan, self.catalog)
        if self.transaction is not None:
            time = self.transaction.time_of(definition, self.select, self.catalog, self._choose)
        else:
            time = self._choose(groups_of(definition))
        usable = self._usable_indexes(time.at)
        chosen: dict[GlobalId, IndexEntry] = {}

        def arranged(collection: StorageCollectionId) -> StorageCollectionId | None:
            item = self.catalog.kept_in(collection)
            index = usable.get(item.id) if item is not None else None
            if index is None or collection.collection is CollectionType.REMAPPING:
                return None
            chosen[index.on] = index
            return StorageCollectionId(index.id)

        plan = expand(self.select.plan, self.catalog, arranged)
        return ReadPlan(time, plan, tuple(chosen.values()))

    def explain_plan(self) -> list[str]:
        ready = self.prepare()
        lines = explain(ready.plan, self.select.finishing).splitlines()
        large = is_large(self._inputs(ready), ready.time.at, self.environment.settings.spark_threshold_bytes)
        used = ", ".join(f"{index.name} (in cluster {self.catalog.cluster_name(index.cluster_id)})" for index in ready.indexes)
        return [*lines, "", f"engine: {'spark' if large else 'duckdb'}", f"indexes: {used or 'none'}"]

    def explain_timestamp(self) -> list[str]:
        """The time and why; of each input its frontiers, and the Delta table and version whose rows up to then are the read."""
        ready = self.prepare()
        lines = [
            f"query timestamp: {ready.time.at}",
            f"reason: {ready.time.reason}",
            f"oracle read timestamp: {ready.time.oracle_read_ts}",
        ]
        frontiers = read_time.known(self.environment, ready.groups)
        if TABLES in ready.groups:
            self.environment.tables.apply(through=ready.time.at)  # so that the Delta tables are all there is
        for collection in sorted(collections(ready.plan)):
            frontier = frontiers.get(collection.group)
            if frontier is None:
                continue
            version = self.environment.lake.open(collection).pin()
            name = self.catalog.kept_in(collection)
            lines.append(f"input {name.name if name else collection} ({collection}):")
            is_readable = "yes" if frontier.is_readable_at(ready.time.at) else "not yet"
            lines.append(f"  since: {frontier.since}, upper: {frontier.upper}, readable: {is_readable}")
            lines.append(f"  table: {version.uri}, version: {version.number}")
        return lines

    def _choose(self, groups: frozenset[str]) -> ReadTime:
        as_of, is_serializable = self.select.as_of, self.variables.get("transaction_isolation") == SERIALIZABLE
        looked_at = groups if read_time.needs_frontiers(as_of, is_serializable=is_serializable) else frozenset[str]()
        frontiers = read_time.known(self.environment, looked_at)
        return read_time.choose(frontiers, self.environment.oracle.read_ts(EPOCH_MS), as_of, is_serializable=is_serializable)

    def _name_of(self, group: str) -> str:
        entry = self.catalog.entry(GlobalId(group))
        return str(entry.name) if entry else group

    def _usable_indexes(self, at: Timestamp) -> Mapping[GlobalId, IndexEntry]:
        if self.transaction is not None and self.transaction.writes:
            return {}  # they hold nothing of what is not committed
        cluster = self.catalog.cluster_id(self.variables.get("cluster"))
        indexes = [index for index in self.catalog.indexes() if index.cluster_id == cluster]
        frontiers = self.environment.frontiers.get_all([index.id for index in indexes]) if indexes else {}
        return {index.on: index for index in indexes if index.id in frontiers and frontiers[index.id].is_readable_at(at)}

    def _inputs(self, ready: ReadPlan) -> dict[StorageCollectionId, Input]:
        """Each collection pinned to one version; system relations and progress as the rows they are now, or then."""
        inputs: dict[StorageCollectionId, Input] = {}
        for collection in collections(ready.plan):
            entry = self.catalog.entry(collection.source_id)
            if collection.source_id.startswith("s"):
                inputs[collection] = TableInput(system_rows(self.environment, self.catalog, collection.source_id))
            elif collection.collection is CollectionType.TABLE:
                continue
            elif collection.collection is CollectionType.REMAPPING:
                inputs[collection] = TableInput(progress_rows(self.environment, self.catalog, collection.source_id, ready.time.at))
            else:
                assert entry is not None
                assert entry.type in (ItemType.SOURCE, ItemType.INDEX)
                upper = self.environment.published.get(collection.group, MINIMUM)
                inputs[collection] = CollectionInput(self.environment.lake.open(collection).pin_at(ready.time.at, upper))
        return inputs | self._tables([id for id in collections(ready.plan) if id.collection is CollectionType.TABLE], ready.time.at)

    def _forget(self, collection: StorageCollectionId) -> None:
        """No query takes the version of it that this process knew."""
        if collection.collection is CollectionType.TABLE:
            self.environment.tables.forget(collection.source_id)
        else:
            self.environment.lake.open(collection).pin()

    def _tables(self, ids: list[StorageCollectionId], at: Timestamp) -> dict[StorageCollectionId, Input]:
        """Tables as the log and Delta have them together, with what the transaction itself wrote."""
        inputs: dict[StorageCollectionId, Input] = {}
        for id, table in self.environment.tables.pin([id.source_id for id in ids], at).items():
            own = self.transaction.own_updates(id, at) if self.transaction is not None else None
            tail = table.tail if own is None else pa.concat_tables([table.tail, own])
            inputs[table_id(id)] = CollectionInput(table.version, tail)
        return inputs


def groups_of(plan: Plan) -> frozenset[str]:
    """The frontier groups a plan reads; system relations are of none."""
    return frozenset(id.group for id in collections(plan) if not id.source_id.startswith("s"))


def text_result(tag: str, desc: RelationDesc | None, lines: list[str]) -> Result:
    """Lines as rows of the one column of ``desc``."""
    assert desc is not None
    return Result(tag, desc, [pa.record_batch({desc.names[0]: pa.array(lines, pa.string())})])


def _closing(batches: Iterator[pa.RecordBatch], scope: ExitStack) -> Iterator[pa.RecordBatch]:
    with scope:
        yield from batches
