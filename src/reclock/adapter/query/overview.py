"""The overview of an environment, gathered from its stores: the catalog, consensus, and what
replicas report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from reclock.adapter.context.statuses import current_statuses, status_history
from reclock.adapter.query.ways_out import resnapshot_of, step_of, ways_out
from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.catalog.objects import ItemType
from reclock.consensus.frontiers.claims import SWITCH, Claim
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.consensus.objects.statuses import Status
from reclock.errors import UnknownRelation
from reclock.ingest.payload import Step
from reclock.ingest.source_collections import read_bindings
from reclock.introspection.delays import delaying_object, failing_input, with_derived
from reclock.introspection.overview import (
    INTERRUPTED,
    ITS_BACKFILL,
    LATE,
    PROBLEMS,
    ObjectDetail,
    ObjectOverview,
    Overview,
    WayOut,
    in_order,
    last_refreshes,
    newest_partitions,
    recent_errors,
    replica_overviews,
    staircase,
)
from reclock.introspection.relation import SUBSOURCE
from reclock.protocol.introspection import IntrospectionType, Row
from reclock.quality.docs_index import Entry as AuditEntry
from reclock.quality.docs_index import latest, read_index
from reclock.reclocking.remap import Remap
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import (
    ConnectionEntry,
    Entry,
    IndexEntry,
    QuarantinedEntry,
    RelationEntry,
    SecretEntry,
    SinkEntry,
)
from reclock.sql.catalog.planner_catalog import PlannerCatalog

_REPORTED = {
    IntrospectionType.REPLICA_STATUSES,
    IntrospectionType.REPLICA_METRICS,
    IntrospectionType.LAST_REFRESHES,
}

_ERRORS = 20
"""How many of the newest errors are shown."""

_HANDOVER_MS = 60_000
"""How long after the end of its lease a claim counts as being handed over: each task of a DAG's run
releases it for the next one."""

_RESUMES = "the next tick goes on with the claim: run reclock tick"


def overview_of(environment: Environment) -> Overview:
    """The environment as it is now."""
    gathered = _Gathered(environment)
    names = {str(id): gathered.name(id) for id in gathered.listed}
    names |= {str(index.id): names[on] for on, index in gathered.index_on.items() if on in names}
    errors = recent_errors(
        status_history(environment.stores, gathered.catalog), gathered.statuses, names
    )
    snapshot = gathered.catalog.snapshot
    assert snapshot is not None
    return Overview(
        gathered.now,
        in_order(gathered.objects.values()),
        tuple(cluster.name for _, cluster in sorted(snapshot.clusters.items())),
        replica_overviews(snapshot, gathered.reported),
        errors[:_ERRORS],
    )


def object_of(environment: Environment, id: str) -> ObjectDetail:
    """One object of the overview, with its staircase if it is a source. Raises
    ``UnknownRelation``."""
    gathered = _Gathered(environment)
    object = gathered.objects.get(GlobalId(id))
    if object is None:
        raise UnknownRelation(id)
    dependents = (by for by, on in gathered.depends_on.items() if object.id in on)
    detail = ObjectDetail(
        object,
        in_order(
            gathered.objects[on] for on in gathered.depends_on[object.id] if on in gathered.objects
        ),
        in_order(gathered.objects[by] for by in dependents if by in gathered.objects),
        tuple(reversed(status_history(environment.stores, gathered.catalog, id))),
    )
    entry = gathered.catalog.entry(object.id)
    if (
        not isinstance(entry, RelationEntry)
        or entry.type is not ItemType.SOURCE
        or object.upper is None
    ):
        return detail
    remap = _remap(environment, entry.collection.source_id, object.upper)
    return replace(
        detail,
        partition_count=len(remap.partitions),
        partitions=newest_partitions(remap),
        stairs=staircase(remap),
        audits=tuple(audit for audit in gathered.audits if audit.source == object.name),
    )


def docs_folder(environment: Environment) -> Path:
    """Where the data docs are."""
    return environment.stores.settings.home / "quality"


def _hint(status: Status | None, step: Step | None) -> str | None:
    """What the status proposes, unless the step that stalled has been decided about since."""
    if step is not None and step.error is None and not step.blocking:
        return "nothing is left to decide: the next tick goes on"
    return status.hint if status is not None else None


def _remap(environment: Environment, source: GlobalId, upper: Timestamp) -> Remap:
    id_ = StorageCollectionId(source, CollectionType.REMAPPING)
    if not environment.stores.lake.exists(id_):  # created a moment ago
        return Remap.of([])
    return Remap.of(read_bindings(environment.stores.lake.open(id_), Timestamp(0), upper))


@dataclass
class _Gathered:
    """The state of the stores, of which each part is read once."""

    environment: Environment

    def __post_init__(self) -> None:
        stores = self.environment.stores
        self.catalog: PlannerCatalog = stores.planner_catalog()
        self.now = stores.clock()
        self.frontiers: Mapping[GlobalId, GroupFrontier] = (
            self.environment.control_plane.frontiers_of(self.catalog)
        )
        self.backfilled = stores.frontiers.backfilled()
        self.statuses: Mapping[str, Status] = current_statuses(stores, self.catalog)
        self.totals = {total.object_id: total for total in stores.statistics.get_all()}
        self.reported: Mapping[IntrospectionType, Iterable[Row]] = stores.managed.read(
            _REPORTED
        ).rows
        self.audits: list[AuditEntry] = read_index(docs_folder(self.environment))
        self._latest_audits = latest(self.audits)
        self._refreshes = last_refreshes(self.reported)

    @cached_property
    def index_on(self) -> dict[GlobalId, IndexEntry]:
        """An index on each relation that has one."""
        return {index.on: index for index in self.catalog.indexes() if not index.is_system}

    @cached_property
    def listed(self) -> dict[GlobalId, Entry]:
        """The relations and sinks of users. An index is a part of its relation, and a subsource of
        its source, unless it has failed alone."""
        return {
            entry.id: entry
            for entry in self.catalog.entries()
            if not entry.is_system
            and not isinstance(entry, IndexEntry | SecretEntry | ConnectionEntry)
            and not (
                isinstance(entry, RelationEntry)
                and (entry.is_temporary or entry.type is ItemType.SOURCE_PROGRESS)
            )
            and not (self.catalog.is_subsource(entry.id) and not self._has_failed_alone(entry.id))
        }

    def _has_failed_alone(self, subsource: GlobalId) -> bool:
        """Whether the subsource stands still while its source may go on."""
        status = self.statuses.get(subsource)
        return status is not None and status.status in PROBLEMS

    @cached_property
    def depends_on(self) -> dict[GlobalId, list[GlobalId]]:
        """The dependencies of each listed object. A subsource that is not listed counts as its
        source."""
        return {
            id: [self._part_of(on) for on in sorted(entry.depends_on)]
            for id, entry in self.listed.items()
        }

    def _part_of(self, id: GlobalId) -> GlobalId:
        if id in self.listed:
            return id
        source = self.catalog.source_of_subsource(id)
        return source.id if source is not None else id

    @cached_property
    def uppers(self) -> dict[GlobalId, Timestamp]:
        own_uppers = {
            id: frontier.upper for id in self.listed if (frontier := self._frontier(id)) is not None
        }
        return with_derived(own_uppers, self.depends_on)

    @cached_property
    def objects(self) -> dict[GlobalId, ObjectOverview]:
        newest = max(self.uppers.values(), default=Timestamp(0))
        stalled = {id for id in self.listed if self._status(id) in PROBLEMS}
        return {id: self._object(id, entry, newest, stalled) for id, entry in self.listed.items()}

    def name(self, id: GlobalId) -> str:
        return str(self.listed[id].name)

    def _frontier(self, id: GlobalId) -> GroupFrontier | None:
        """The frontier of the object's group; of a view, that of its index."""
        if id in self.frontiers:
            return self.frontiers[id]
        index = self.index_on.get(id)
        return self.frontiers.get(index.id) if index is not None else None

    def _status_entry(self, id: GlobalId) -> Status | None:
        index = self.index_on.get(id)
        object_status = self.statuses.get(id)
        if object_status is None and index is not None:
            return self.statuses.get(index.id)
        return object_status

    def _status(self, id: GlobalId) -> str:
        if isinstance(self.listed[id], QuarantinedEntry):
            return "broken"
        status = self._status_entry(id)
        text = status.status if status is not None else "created"
        is_interrupted = text not in PROBLEMS and self._abandoned_claim(id) is not None
        return INTERRUPTED if is_interrupted else text

    def _abandoned_claim(self, id: GlobalId) -> Claim | None:
        """The claim of the object's group if its owner shows no sign of life."""
        frontier = self._frontier(id)
        claim = frontier.claim if frontier is not None else None
        if claim is None or claim.payload.get("kind") == SWITCH:  # which waits for its sink
            return None
        return claim if claim.lease_until + _HANDOVER_MS <= self.now else None

    def _object(
        self, id: GlobalId, entry: Entry, newest: Timestamp, stalled: set[GlobalId]
    ) -> ObjectOverview:
        frontier, status, text = self._frontier(id), self._status_entry(id), self._status(id)
        upper = self.uppers.get(id)
        culprit_id = self._failing_input(id) if text in PROBLEMS else None
        if culprit_id is None and upper is not None:
            culprit_id = delaying_object(
                id, self.uppers, lambda other: self.depends_on.get(other, ()), stalled
            )
            if upper == newest and culprit_id not in stalled:
                culprit_id = None  # nothing is later than the object
        if culprit_id is None and text in PROBLEMS:  # it may have the error of an input
            culprit_id = failing_input(id, lambda other: self.depends_on.get(other, ()), stalled)
        if text not in PROBLEMS and culprit_id in stalled:
            text = LATE
        claim = frontier.claim if frontier is not None else None
        step = None
        if claim is not None and text == "stalled" and not self.catalog.is_subsource(id):
            step = step_of(claim.payload)
        index = self.index_on.get(id)
        cluster_id = (
            entry.cluster_id
            if isinstance(entry, SinkEntry)
            else index.cluster_id
            if index is not None
            else None
        )
        error = status.error if status is not None else getattr(entry, "reason", None)
        hint = _hint(status, step)
        if text == INTERRUPTED and claim is not None:
            error, hint = f"{claim.owner} was interrupted at {claim.at}", _RESUMES
        return ObjectOverview(
            id,
            str(entry.name),
            self._type(entry),
            text,
            error,
            status.detail if status is not None else None,
            hint,
            frontier.since if frontier is not None else None,
            upper,
            None if upper is None else max(0, self.now + 1 - upper),
            self._culprit(id, culprit_id),
            None if cluster_id is None else self.catalog.cluster_name(cluster_id),
            claim.at if claim is not None else None,
            str(claim.payload.get("phase", "")) or None if claim is not None else None,
            claim.owner if claim is not None else None,
            self.totals.get(id),
            self._refreshes.get(index.id) if index is not None else None,
            self._latest_audits.get(str(entry.name)) if entry.type is ItemType.SOURCE else None,
            self._ways_out(entry, step),
        )

    def _failing_input(self, id: GlobalId) -> GlobalId | None:
        """The input from which the object has its error, if it has one of an input."""
        status = self._status_entry(id)
        if status is None or status.error is None:
            return None
        same = {
            other
            for other in self.listed
            if (entry := self._status_entry(other)) is not None and entry.error == status.error
        }
        return failing_input(id, lambda other: self.depends_on.get(other, ()), same)

    def _ways_out(self, entry: Entry, step: Step | None) -> tuple[WayOut, ...]:
        if (source := self.catalog.source_of_subsource(entry.id)) is not None:
            return (resnapshot_of(str(source.name), str(entry.name)),)
        return ways_out(str(entry.name), step) if step is not None else ()

    def _culprit(self, id: GlobalId, culprit_id: GlobalId | None) -> str | None:
        if id in self.backfilled:
            return ITS_BACKFILL
        return self.name(culprit_id) if culprit_id is not None else None

    def _type(self, entry: Entry) -> str:
        if self.catalog.is_subsource(entry.id):
            return SUBSOURCE
        is_maintained = entry.id in self.frontiers or entry.id in self.index_on
        if entry.type is ItemType.VIEW and is_maintained:
            return "maintained view"
        return str(entry.type.value).replace("-", " ")
