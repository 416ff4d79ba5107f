"""The steps of a tick that clusters carry out: refreshing indexes and emitting sinks. Both are
idempotent, and any process may request them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import structlog

from reclock.adapter.statements.sinks import named_sink, settle, sinks
from reclock.adapter.timestamps import readiness
from reclock.algebra.ids import TABLES, GlobalId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.consensus.objects.statistics import Moved
from reclock.consensus.objects.statuses import Status
from reclock.controllers.compute import ClusterController
from reclock.controllers.implied import sink_spec
from reclock.errors import ClaimConflict, ReclockError, UpperMismatch, quoted_name
from reclock.pipeline.object_status import (
    about_read_source,
    error_of,
    error_status,
    record_running,
    record_stall,
    running_status,
)
from reclock.pipeline.source_steps import existing_sources
from reclock.pipeline.tick_reports import ClusterReport, RefreshReport, TickFailure
from reclock.plan.relational import Plan, collections
from reclock.protocol.compute import Emit, Emitted, Refresh, Refreshed
from reclock.runtime.environment import Environment
from reclock.runtime.stores import Stores
from reclock.tracing import span

T = TypeVar("T")

_logger = structlog.get_logger(__name__)

_POLL_S = 0.2


def cluster_names(stores: Stores) -> list[str]:
    """The clusters of the catalog, by id."""
    clusters = stores.catalog.sync().clusters.values()
    return [cluster.name for cluster in sorted(clusters, key=lambda cluster: cluster.id)]


def sink_names(
    environment: Environment, clusters: Sequence[str] | None = None, *, over: str | None = None
) -> list[str]:
    """The full names of all sinks, or of those in ``clusters``, or of those that read the frontier
    group ``over``."""
    catalog = environment.stores.planner_catalog()
    environment.control_plane.await_storage(catalog)
    cluster_ids = {
        id for name, id in catalog.clusters.items() if clusters is None or name in clusters
    }
    return [
        str(sink.name)
        for sink in sinks(catalog)
        if sink.cluster_id in cluster_ids
        and (over is None or _reads(sink_spec(catalog, sink.id).plan, over))
    ]


def refresh(
    environment: Environment,
    cluster: str,
    at: int,
    *,
    owner: str,
    over: str | None = None,
    is_patient: bool = False,
) -> RefreshReport:
    """Bring every index of ``cluster`` up to ``at``, or as far as its inputs are complete; or only
    those that read the frontier group ``over``. A cluster that was dropped has none.

    An index that another process refreshes is left to that process, and the report omits it. With
    ``is_patient`` it is first waited for, as long as a claim outlives a process that has died.
    """
    with span("refresh cluster", name=cluster, at=at):
        return _refresh(environment, cluster, at, owner, over, is_patient)


def _refresh(
    environment: Environment, cluster: str, at: int, owner: str, over: str | None, is_patient: bool
) -> RefreshReport:
    stores = environment.stores
    catalog = stores.planner_catalog()
    if cluster not in catalog.clusters:
        return RefreshReport(cluster, (), ())
    environment.control_plane.await_storage(catalog)
    readiness.retry_unready(environment)
    assert catalog.snapshot is not None
    controller = environment.control_plane.compute_controller(catalog.clusters[cluster])
    complete_tables(stores, Timestamp(at))
    names = {index.id: index.name for index in controller.dataflows() if _reads(index.plan, over)}
    command = Refresh(tuple(names), Timestamp(at), owner, catalog.snapshot.content_upper)
    reports: list[Refreshed] = []
    failures: list[TickFailure] = []
    statuses: list[Status] = []
    error: ReclockError
    for id, outcome in _refresh_while_claimed(
        stores, controller, command, is_patient=is_patient
    ).items():
        if isinstance(outcome, Refreshed):
            reports.append(outcome)
            if outcome.error is None:
                statuses.append(running_status(stores, id))
                continue
            status, error = "failing", outcome.error.error()
        elif isinstance(outcome, ClaimConflict | UpperMismatch):  # or it just has
            _logger.info(
                "another process refreshes the index", index=names[id], detail=outcome.detail
            )
            continue
        else:  # one index's trouble is not the others'
            status, error = "stalled", readiness.about_object(outcome, environment)
        statuses.append(error_status(stores, id, status=status, error=error))
        failures.append(TickFailure.of(names[id], about_read_source(catalog, id, error)))
    stores.statuses.record_all(statuses)
    return RefreshReport(cluster, tuple(reports), tuple(failures))


def _refresh_while_claimed(
    stores: Stores, controller: ClusterController, command: Refresh, *, is_patient: bool
) -> dict[GlobalId, Refreshed | ReclockError]:
    """What became of each index. With ``is_patient`` the refresh of those that other processes are
    at work on is repeated, as `_retry_while_claimed` does."""
    outcomes: dict[GlobalId, Refreshed | ReclockError] = {}

    def work() -> None:
        ids = tuple(id for id in command.ids if not isinstance(outcomes.get(id), Refreshed))
        try:
            response = controller.refresh(replace(command, ids=ids))
        except ReclockError as failure:  # no replica could be asked
            outcomes.update(dict.fromkeys(ids, failure))
            return
        for id, outcome in zip(ids, response, strict=True):
            outcomes[id] = outcome if isinstance(outcome, Refreshed) else outcome.error
        for error in outcomes.values():
            if isinstance(error, (ClaimConflict, UpperMismatch)):
                raise error

    if command.ids:
        with suppress(ClaimConflict, UpperMismatch):
            _retry_while_claimed(stores, work, is_patient=is_patient)
    return outcomes


def _reads(plan: Plan, over: str | None) -> bool:
    """Whether the plan reads this frontier group. True for None."""
    return over is None or any(id.group == over for id in collections(plan))


def _retry_while_claimed(stores: Stores, work: Callable[[], T], *, is_patient: bool) -> T:
    """The result of ``work``. With ``is_patient`` it is repeated while another process is at work,
    until a claim that was there at the beginning can be taken over if its process has died."""
    deadline = time.monotonic() + (stores.settings.claim_lease_ms / 1000 + 1 if is_patient else 0)
    while True:
        try:
            return work()
        except (ClaimConflict, UpperMismatch):
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_S)


def emit(
    environment: Environment, sink: str, at: int, *, owner: str, is_patient: bool = False
) -> Emitted:
    """Have the sink's cluster bring its target up to ``at``, or as far as its inputs are complete.
    The sink's status has the result.

    Raises ``SinkError`` if it stalls, and ``ClaimConflict`` if another process emits it; with
    ``is_patient``, only after the claim of a dead process would have ended. Any other exception
    becomes an ``InternalError`` of this sink.
    """
    stores = environment.stores
    catalog = stores.planner_catalog()
    environment.control_plane.await_storage(catalog)
    entry = named_sink(catalog, sink)
    complete_tables(stores, Timestamp(at))
    assert catalog.snapshot is not None
    catalog_ts = catalog.snapshot.content_upper
    controller = environment.control_plane.compute_controller(entry.cluster_id)
    try:
        controller.await_frontier(catalog_ts)
        command = Emit(sink_spec(catalog, entry.id), Timestamp(at), owner, catalog_ts)
        with span("emit to sink", name=sink, at=at):
            emitted = _retry_while_claimed(
                stores, partial(controller.emit, command), is_patient=is_patient
            )
    except ClaimConflict:
        raise  # another process emits: nothing is wrong with the sink
    except Exception as failure:  # the edge of the loop over sinks
        error = error_of(environment, failure, f"sink {quoted_name(entry.name)}")
        record_stall(stores, entry.id, error=error)
        raise about_read_source(catalog, entry.id, error) from failure
    record_running(stores, entry.id)
    if entry.previous is not None:
        settle(stores, entry)
    if emitted.commits:
        moved = Moved(Timestamp(emitted.upper - 1), 0, emitted.changes, emitted.bytes)
        stores.statistics.add({entry.id: moved})
    return emitted


def emit_all(
    environment: Environment, names: Sequence[str], at: int, *, owner: str, is_patient: bool = False
) -> tuple[tuple[Emitted, ...], tuple[TickFailure, ...]]:
    """`emit` for several sinks: the emitted ones, and the stalled ones. Sinks that another process
    emits are left out."""
    outcomes = [
        attempt_emit(environment, sink, at, owner=owner, is_patient=is_patient) for sink in names
    ]
    return (
        tuple(outcome for outcome in outcomes if isinstance(outcome, Emitted)),
        tuple(outcome for outcome in outcomes if isinstance(outcome, TickFailure)),
    )


def attempt_emit(
    environment: Environment, sink: str, at: int, *, owner: str, is_patient: bool = False
) -> Emitted | TickFailure | None:
    """`emit`, or its failure: one sink's trouble is not the others'. None if another process emits
    the sink."""
    try:
        return emit(environment, sink, at, owner=owner, is_patient=is_patient)
    except ClaimConflict as conflict:
        _logger.info("another process emits the sink", sink=sink, detail=conflict.detail)
        return None
    except ReclockError as error:
        return TickFailure.of(sink, error)


def complete_tables(stores: Stores, at: Timestamp) -> None:
    """Apply the table WAL up to ``at`` to the Delta tables of all tables."""
    if stores.tables.log.table_ids():
        stores.frontiers.advance_idle(
            [TABLES], Timestamp(min(at, stores.oracle.read_ts(EPOCH_MS)) + 1)
        )
        stores.tables.apply(through=at)


def work(environment: Environment, cluster: str, at: int, *, owner: str) -> ClusterReport:
    """Refresh the indexes of ``cluster``, then emit its sinks."""
    refreshed = refresh(environment, cluster, at, owner=owner)
    emitted, stalled = emit_all(environment, sink_names(environment, [cluster]), at, owner=owner)
    return ClusterReport(refreshed.indexes, emitted, refreshed.failed + stalled)


def refresh_dependents(
    environment: Environment, source: str, at: int, *, clusters: Sequence[str], owner: str
) -> tuple[ClusterReport, ...]:
    """Refresh the indexes of ``clusters`` that read this source, and emit their sinks that read it,
    up to ``at``, or as far as their other inputs are complete. One report for each cluster; none if
    the source was dropped."""
    reports = []
    for group in (spec.id for spec in existing_sources(environment.stores, [source])):
        for cluster in clusters:
            refreshed = refresh(environment, cluster, at, owner=owner, over=group, is_patient=True)
            names = sink_names(environment, [cluster], over=group)
            emitted, stalled = emit_all(environment, names, at, owner=owner, is_patient=True)
            reports.append(ClusterReport(refreshed.indexes, emitted, refreshed.failed + stalled))
    return tuple(reports)
