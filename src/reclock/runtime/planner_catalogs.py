"""The catalog as statements see it, resolved once for each version, and shared by all threads of a
process."""

from __future__ import annotations

from collections.abc import Callable

from reclock.algebra.timestamps import CATALOG, EPOCH_MS, Timestamp
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.objects import Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.oracle.oracle import TimestampOracle
from reclock.runtime.system_relations import system_entries
from reclock.sql.catalog.entries import PlannerSettings, RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.catalog_builder import build_catalog


class PlannerCatalogs:
    """The resolved catalogs of a process. Thread-safe."""

    def __init__(
        self,
        catalog: DurableCatalogState,
        oracle: TimestampOracle,
        settings: Callable[[], PlannerSettings],
        on_snapshot: Callable[[CatalogSnapshot], None],
    ) -> None:
        """``on_snapshot`` is called with each version that this process learns of."""
        self._catalog = catalog
        self._oracle = oracle
        self._settings = settings
        self._on_snapshot = on_snapshot
        self._newest: PlannerCatalog | None = None
        self._uncommitted: PlannerCatalog | None = None
        """The last one with changes that were not committed yet."""
        self._system: tuple[object, list[RelationEntry]] = (None, [])

    def current(self) -> PlannerCatalog:
        """The catalog with every change that was committed before the call."""
        return self._resolve_shared(self._catalog.sync())

    def current_with_read_ts(self) -> tuple[PlannerCatalog, Timestamp | None]:
        """The current catalog and the data's read timestamp, by one call of the oracle, if both are
        of the same moment.

        They are, unless the catalog has just changed: a catalog newer than the timestamp may have a
        table that was not filled yet.
        """
        now = self._oracle.read_all()
        snapshot = self._catalog.snapshot()
        if snapshot.upper != now[CATALOG]:
            snapshot = self._catalog.sync()
        return self._resolve_shared(snapshot), now[EPOCH_MS] if snapshot.upper == now[
            CATALOG
        ] else None

    def resolve(self, snapshot: CatalogSnapshot, previous: PlannerCatalog | None) -> PlannerCatalog:
        """The catalog of ``snapshot``, which has uncommitted changes. Reuses what ``previous``
        resolved."""
        self._uncommitted = build_catalog(
            snapshot, self._system_entries(), previous, self._settings()
        )
        return self._uncommitted

    def _system_entries(self) -> list[RelationEntry]:
        """The entries of the system relations, made again when an upgrade has added some."""
        snapshot = self._catalog.snapshot()
        mappings = snapshot.all(Kind.SYSTEM_OBJECT_MAPPING)
        known, entries = self._system
        if known is not mappings:
            entries = system_entries(snapshot)
            self._system = mappings, entries
        return entries

    def _resolve_shared(self, snapshot: CatalogSnapshot) -> PlannerCatalog:
        newest = self._newest
        if newest is None or newest.snapshot is not snapshot:
            newest = build_catalog(
                snapshot, self._system_entries(), newest, self._settings(), self._uncommitted
            )
            self._on_snapshot(snapshot)
            # another thread may put an older one there, but is not answered from it
            self._newest = newest
        return newest
