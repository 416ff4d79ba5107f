"""How much WAL the replication slots of sources retain upstream, measured in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import structlog

from reclock.algebra.ids import GlobalId
from reclock.connectors.factory import ConnectionContext, open_connector
from reclock.controllers.implied import source_spec
from reclock.definitions.sources import PostgresConnector
from reclock.errors import ReclockError
from reclock.sql.catalog.planner_catalog import PlannerCatalog

if TYPE_CHECKING:
    from reclock.connectors.postgres.connector import Postgres

INTERVAL_S = 30.0
"""The least time between two measurements of a process."""

_logger = structlog.get_logger(__name__)


class RetainedWal:
    """The bytes of WAL that the slot of each source from PostgreSQL retains, as they were measured
    last. Sources whose upstream did not answer then, or has no slot yet, are missing."""

    def __init__(
        self, context: ConnectionContext, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._context, self._clock = context, clock
        self._bytes: Mapping[GlobalId, int] = {}
        self._began_at: float | None = None
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()

    def newest(self, catalog: PlannerCatalog) -> Mapping[GlobalId, int]:
        """The last measurement, by source. Begins another one if ``INTERVAL_S`` have passed since
        the last began and it has ended. Never waits for an upstream."""
        with self._guard:
            is_running = self._thread is not None and self._thread.is_alive()
            is_due = self._began_at is None or self._clock() - self._began_at >= INTERVAL_S
            if is_due and not is_running:
                self._began_at = self._clock()
                # the thread has no use for the stores, which may be closed before it ends
                connectors = _postgres_connectors(catalog, self._context)
                self._thread = threading.Thread(
                    target=self._measure, args=(connectors,), name="retained-wal", daemon=True
                )
                self._thread.start()
            return self._bytes

    def _measure(self, connectors: Mapping[GlobalId, Postgres]) -> None:
        retained = {id: _retained_bytes(id, connector) for id, connector in connectors.items()}
        self._bytes = {id: size for id, size in retained.items() if size is not None}


def _postgres_connectors(
    catalog: PlannerCatalog, context: ConnectionContext
) -> dict[GlobalId, Postgres]:
    """The connectors of the sources from PostgreSQL. A source whose secret cannot be read has
    none."""
    from reclock.connectors.postgres.connector import Postgres  # only these load its library

    connectors = {}
    for entry in catalog.relations():
        if entry.source is None or entry.source.host is not None:
            continue
        spec = source_spec(catalog, entry)
        if not isinstance(spec.connector, PostgresConnector):
            continue
        try:
            connector = open_connector(spec, context)
        except ReclockError as error:
            _logger.warning("retained WAL not measured", source=spec.name, error=error.message)
            continue
        assert isinstance(connector, Postgres)
        connectors[spec.id] = connector
    return connectors


def _retained_bytes(id: GlobalId, connector: Postgres) -> int | None:
    try:
        return connector.retained_bytes()
    except Exception as failure:  # the edge of a thread
        _logger.warning("retained WAL not measured", source=id, error=str(failure))
        return None
