"""What upstreams keep for sources that were dropped: the replication slots of publications, which hold the server's log.

It is written down before the catalog says that the source is gone, tried at once after, and again by ticks and maintenance until
the upstream was told. See ``mz_source_leftovers``.
"""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from reclock.algebra.ids import GlobalId
from reclock.connectors.clients import postgres_parameters
from reclock.consensus.objects.pending_cleanup import Leftover
from reclock.controllers.implied import is_dropped
from reclock.definitions.connections import Connection, SecretReference
from reclock.definitions.sources import PostgresConnector
from reclock.errors import ReclockError
from reclock.protocol import wire
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog

AGAIN_AFTER_MS = 600_000
"""How long ticks leave an upstream alone that could not be told."""

_log = structlog.get_logger(__name__)


def of(catalog: PlannerCatalog, ids: Iterable[GlobalId], environment: Environment) -> list[Leftover]:
    """What the upstreams keep for those of ``ids`` that are sources of ``catalog``."""
    now, found = environment.stores.clock(), []
    for entry in map(catalog.entry, ids):
        connector = entry.source.connector if isinstance(entry, RelationEntry) and entry.source is not None else None
        if entry is not None and isinstance(connector, PostgresConnector):
            what = f'replication slot "{connector.slot}" of publication "{connector.publication}"'
            found.append(Leftover(entry.id, str(entry.name), what, wire.encode(connector).decode(), now))
    return found


def settle(environment: Environment, leftovers: Iterable[Leftover]) -> list[Leftover]:
    """Have the upstreams let go of what they keep for sources that are dropped. Answers what is left, and why."""
    left = []
    for leftover in leftovers:
        try:
            _let_go(environment, _upstream(leftover))
        except ReclockError as error:
            failed = leftover.failed(error.message, error.detail, environment.stores.clock())
            environment.stores.pending_cleanup.failed(failed)
            left.append(failed)
        else:
            environment.stores.pending_cleanup.forget(leftover.source_id)
    return left


def settle_all(environment: Environment, *, is_patient: bool = False) -> int:
    """Try what is left of sources that are dropped; answers how many could not be told. With ``is_patient`` it asks one upstream
    at most, and none that was asked a short while ago.
    """
    known = environment.stores.pending_cleanup.get_all()
    if not known:
        return 0
    snapshot = environment.stores.catalog.sync()
    due = [own for own in known if is_dropped(snapshot, own.source_id)]
    if is_patient:
        due = [own for own in due if own.at + AGAIN_AFTER_MS <= environment.stores.clock()][:1]
    left = settle(environment, due)
    for own in left:
        _log.warning("the upstream of a dropped source was not told", source=own.name, error=own.error, detail=own.detail)
    return len(left)


def secrets_of(leftovers: Iterable[Leftover]) -> set[str]:
    """The references of the secrets that it takes to reach the upstreams."""
    connections = (_upstream(own).connection for own in leftovers)
    options = (value for own in connections if isinstance(own, Connection) for _, value in own.options)
    return {value.reference for value in options if isinstance(value, SecretReference)}


def _upstream(leftover: Leftover) -> PostgresConnector:
    return wire.decode(leftover.upstream.encode(), PostgresConnector)


def _let_go(environment: Environment, upstream: PostgresConnector) -> None:
    from reclock.connectors.postgres.connector import Postgres  # psycopg is a library that others need not load

    Postgres(
        upstream, {}, postgres_parameters(upstream.connection, environment.runtime.connection_context.resolve_secret)
    ).dismiss()
