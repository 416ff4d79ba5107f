"""Pending cleanup: resources that upstreams still hold for dropped sources. A replication slot, for
example, retains the WAL of its server.

A task is durable before the catalog drops its source. It runs right after the drop; ticks and
maintenance retry it until the upstream has answered. See ``mz_source_leftovers``.
"""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from reclock.algebra.ids import GlobalId
from reclock.connectors.clients import postgres_parameters
from reclock.consensus.objects.pending_cleanup import PendingCleanup
from reclock.controllers.implied import is_dropped
from reclock.definitions.connections import Connection, SecretReference
from reclock.definitions.sources import PostgresConnector
from reclock.errors import ReclockError
from reclock.protocol import wire
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog

AGAIN_AFTER_MS = 600_000
"""How long ticks wait before they retry an upstream that failed."""

_log = structlog.get_logger(__name__)


def pending_of(
    catalog: PlannerCatalog, ids: Iterable[GlobalId], environment: Environment
) -> list[PendingCleanup]:
    """The resources that upstreams hold for the sources of ``catalog`` among ``ids``."""
    now, pending = environment.stores.clock(), []
    for entry in map(catalog.entry, ids):
        connector = (
            entry.source.connector
            if isinstance(entry, RelationEntry) and entry.source is not None
            else None
        )
        if entry is not None and isinstance(connector, PostgresConnector):
            resource = (
                f'replication slot "{connector.slot}" of publication "{connector.publication}"'
            )
            pending.append(
                PendingCleanup(
                    entry.id, str(entry.name), resource, wire.encode(connector).decode(), now
                )
            )
    return pending


def run(environment: Environment, pending: Iterable[PendingCleanup]) -> list[PendingCleanup]:
    """Have the upstreams drop what they hold for dropped sources. Returns the tasks that failed,
    with their errors."""
    failures = []
    for task in pending:
        try:
            _drop_slot(environment, _upstream(task))
        except ReclockError as error:
            failed = task.failed(error.message, error.detail, environment.stores.clock())
            environment.stores.pending_cleanup.failed(failed)
            failures.append(failed)
        else:
            environment.stores.pending_cleanup.forget(task.source_id)
    return failures


def run_all(environment: Environment, *, is_patient: bool = False) -> int:
    """Retry the pending cleanup of dropped sources; returns how many tasks failed.

    With ``is_patient`` it calls one upstream at most, and none that failed a short while ago.
    """
    pending = environment.stores.pending_cleanup.get_all()
    if not pending:
        return 0
    snapshot = environment.stores.catalog.sync()
    due = [task for task in pending if is_dropped(snapshot, task.source_id)]
    if is_patient:
        due = [task for task in due if task.at + AGAIN_AFTER_MS <= environment.stores.clock()][:1]
    failures = run(environment, due)
    for task in failures:
        _log.warning(
            "cleanup at the upstream of a dropped source failed",
            source=task.name,
            error=task.error,
            detail=task.detail,
        )
    return len(failures)


def secrets_of(pending: Iterable[PendingCleanup]) -> set[str]:
    """The references of the secrets that these tasks need to reach the upstreams."""
    connections = (_upstream(task).connection for task in pending)
    options = (
        value
        for connection in connections
        if isinstance(connection, Connection)
        for _, value in connection.options
    )
    return {value.reference for value in options if isinstance(value, SecretReference)}


def _upstream(task: PendingCleanup) -> PostgresConnector:
    return wire.decode(task.upstream.encode(), PostgresConnector)


def _drop_slot(environment: Environment, upstream: PostgresConnector) -> None:
    # psycopg is imported only where it is needed
    from reclock.connectors.postgres.connector import Postgres

    environment.stores.require_no_copy()
    Postgres(
        upstream,
        {},
        postgres_parameters(
            upstream.connection, environment.runtime.connection_context.resolve_secret
        ),
    ).dismiss()
