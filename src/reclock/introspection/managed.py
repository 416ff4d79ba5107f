"""Storage-managed collections in the lake: tables with a write-ahead log and a frontier group of
their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field

import pyarrow as pa
import sqlalchemy as sa

from reclock.algebra.ids import INTROSPECTION, GlobalId
from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, MINIMUM, Clock, Timestamp
from reclock.collections.consolidate import consolidate_rows
from reclock.collections.lake import Lake
from reclock.collections.schema import arrow_schema
from reclock.collections.table_wal import TableWal
from reclock.collections.tables import Tables, rows_schema
from reclock.collections.wal_ledger import OF_INTROSPECTION
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.leadership.fence import Leadership
from reclock.consensus.processes.reporters import Token, require
from reclock.introspection.collection_manager import Contents
from reclock.introspection.types import MANAGED
from reclock.oracle.oracle import MAX_CLOCK_JUMP_MS
from reclock.protocol.introspection import IntrospectionType, Row

Ids = Callable[[], Mapping[IntrospectionType, GlobalId]]
"""The ids that the catalog gives the collections."""


@dataclass(slots=True)
class LakeManagedCollections:
    """See `ManagedCollections`. A collection is made when it is first written; until then it is
    empty."""

    lake: Lake
    consensus: Consensus
    leadership: Leadership
    clock: Clock
    ids: Ids
    apply_delay_ms: int | None
    max_clock_jump_ms: int = MAX_CLOCK_JUMP_MS
    tables: Tables = field(init=False)
    _writing_as: Set[Token] = frozenset()
    _table_ids: frozenset[GlobalId] = frozenset()

    def __post_init__(self) -> None:
        consensus, bound_ms = self.consensus.guarded(self._check), self.max_clock_jump_ms
        log = TableWal(
            consensus, self.leadership, self.clock, OF_INTROSPECTION, max_clock_jump_ms=bound_ms
        )
        self.tables = Tables(self.lake, log, apply_delay_ms=self.apply_delay_ms)

    def rows(self, id: GlobalId, desc: RelationDesc, at: Timestamp | None = None) -> pa.Table:
        """The collection's rows at ``at``, or now; reading needs no hold and does not wait."""
        if at is None:
            at = self.newest()
        if not self.is_known(id):
            return arrow_schema(desc, with_updates=False).empty_table()
        counted = self._snapshot(id, desc, at)
        times = counted.column(DIFF_COLUMN).to_pylist()
        repeated = pa.array(
            [index for index, count in enumerate(times) for _ in range(count)], pa.int64()
        )
        return counted.select(list(desc.names)).take(repeated)

    def newest(self) -> Timestamp:
        """The latest time at which the collections can be read."""
        group = (
            Frontiers(self.consensus, self.leadership).get_all([INTROSPECTION]).get(INTROSPECTION)
        )
        return Timestamp(group.upper - 1) if group is not None else MINIMUM

    def read(self, collections: Set[IntrospectionType]) -> Contents:
        ids, at = self.ids(), self.newest()
        rows: dict[IntrospectionType, Mapping[Row, int]] = {}
        known_ids = self._known_among(ids[collection] for collection in collections)
        self.tables.pin(known_ids, at)  # all by one reading of the log
        for collection in collections:
            if ids[collection] in known_ids:
                columns = self._snapshot(ids[collection], MANAGED[collection].desc, at).to_pydict()
                diffs = columns.pop(DIFF_COLUMN)
                rows[collection] = dict(
                    zip(zip(*columns.values(), strict=True), diffs, strict=True)
                )
        return Contents(at, rows)

    def commit(
        self,
        changes: Mapping[IntrospectionType, Mapping[Row, int]],
        *,
        tokens: Set[Token],
        unchanged: Set[IntrospectionType],
        since: Timestamp | None,
    ) -> None:
        if not changes:
            return
        ids = self.ids()
        for collection in changes:
            if not self.is_known(ids[collection]):
                self._make(ids[collection], MANAGED[collection].desc)
        writes = {
            ids[collection]: _as_table(MANAGED[collection].desc, rows)
            for collection, rows in changes.items()
        }
        reads = frozenset(self._known_among(ids[collection] for collection in unchanged))
        self._writing_as = tokens
        try:
            self.tables.commit(writes, catalog_ts=MAXIMUM, reads=reads, read_at=since)
        finally:
            self._writing_as = frozenset()

    def drop_unknown(self) -> None:
        """Drop the collections of relations that this release does not have, or has with other
        columns."""
        for id in sorted(self.tables.log.table_ids() - set(self.ids().values())):
            self.tables.drop(id)

    def close(self) -> None:
        self.tables.close()

    def _check(self, connection: sa.Connection) -> None:
        if self._writing_as:
            require(connection, self._writing_as)

    def _make(self, id: GlobalId, desc: RelationDesc) -> None:
        now = self.clock()
        Frontiers(self.consensus, self.leadership).create(
            INTROSPECTION, since=now, upper=Timestamp(now + 1)
        )
        self.tables.create(id, desc, at=self.newest())
        self._table_ids |= {id}

    def is_known(self, id: GlobalId) -> bool:
        """Whether it was ever written."""
        return id in self._known_among([id])

    def _known_among(self, ids: Iterable[GlobalId]) -> Set[GlobalId]:
        """Those of ``ids`` that were ever written. Reads the log at most once."""
        id_set = frozenset(ids)
        if not id_set <= self._table_ids:
            self._table_ids = self.tables.log.table_ids()
        return id_set & self._table_ids

    def _snapshot(self, id: GlobalId, desc: RelationDesc, at: Timestamp) -> pa.Table:
        [pinned] = self.tables.pin([id], at).values()
        columns = arrow_schema(desc, with_updates=False)
        with pinned.version.reading():
            files = list(pinned.version.files(upper=Timestamp(at + 1)))
            updates = (
                pa.concat_tables([pinned.version.dataset(files).to_table(), pinned.tail])
                if files
                else pinned.tail
            )
        return consolidate_rows(updates, columns, at)


def _as_table(desc: RelationDesc, rows: Mapping[Row, int]) -> pa.Table:
    schema = rows_schema(desc)
    columns = zip(*((*row, diff) for row, diff in rows.items()), strict=True)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )
