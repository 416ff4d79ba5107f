"""SUBSCRIBE: the rows of a query at one time, then its changes at every later time, as these become complete.

The law: what was sent for times up to `t`, summed, is what the query answers `AS OF t`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter import read_time
from reclock.adapter.interruption import Interruption
from reclock.adapter.queries import Query, groups_of
from reclock.adapter.results import Result
from reclock.adapter.temporary import TemporaryObjects
from reclock.adapter.variables import SessionVariables
from reclock.algebra.ids import CollectionType, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, Column
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.collections.consolidate import consolidated_changes
from reclock.collections.version import Version
from reclock.compute.engines.engine import result_schema
from reclock.compute.index import change_times
from reclock.compute.plan import Finishing, Get, Plan, collections
from reclock.environment import Environment
from reclock.errors import DroppedMeanwhile, InvalidOption, UnsupportedSql, VersionGone
from reclock.sql import statements
from reclock.sql.catalog import PlannerCatalog
from reclock.sql.planner.views import expand

_POLL_S = 0.05

_Found = TypeVar("_Found")
_Read = Callable[[Version, pa.Table | None], _Found]


@dataclass(slots=True)
class Subscription:
    """One SUBSCRIBE of one session, at the catalog as it was when it began."""

    environment: Environment
    catalog: PlannerCatalog
    variables: SessionVariables
    statement: statements.Subscribe
    notice: Callable[[str], None]
    temporary: TemporaryObjects
    interruption: Interruption

    def run(self) -> Result:
        """The updates as they become known. Raises, beside what queries raise, ``DroppedMeanwhile``."""
        return Result(self.statement.tag, self.statement.desc, self._batches(), is_live=True)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        select, up_to = self.statement.select, self.statement.up_to
        definition = expand(select.plan, self.catalog)
        if any(id.is_transient for id in collections(definition)):
            raise UnsupportedSql("SUBSCRIBE to a temporary table is not supported", detail="it is as it is now, and has no times")
        if any(id.is_system for id in collections(definition)):
            raise UnsupportedSql("SUBSCRIBE to a system relation is not supported", detail="it is as it is now, and has no times")
        groups = groups_of(definition)
        at = self._query().time_of(definition).at
        if up_to is not None and up_to <= at:
            raise InvalidOption(f"UP TO {up_to} is not after {at}, the time it begins at", detail="the end is exclusive")
        held = self._held(groups, at)
        try:
            while groups and at > self._read_ts():  # AS OF names a time to come
                yield from self._nothing_yet()
            rows = self._rows_at(at)
            if self.statement.has_snapshot:
                yield from self._updates(self._difference(rows.slice(0, 0), rows, at))
            log = self._log(definition)
            if log is not None:
                del rows
            upper = Timestamp(at + 1)
            while groups and (up_to is None or upper < up_to):
                yield from self._progress(upper)
                complete = self._complete_below(groups, upper, up_to)
                while complete <= upper:
                    yield from self._nothing_yet()
                    complete = self._complete_below(groups, upper, up_to)
                for time in self._change_times(definition, upper, complete):
                    if log is not None:
                        yield from self._updates(self._logged(log, time))
                    else:
                        before, rows = rows, self._rows_at(time)
                        yield from self._updates(self._difference(before, rows, time))
                upper = complete
                newer = self._held(groups, Timestamp(upper - 1))
                held.close()
                held = newer
            yield from self._progress(upper)
        finally:
            held.close()

    # --- time ---

    def _held(self, groups: frozenset[str], at: Timestamp) -> ExitStack:
        scope = ExitStack()
        if groups:
            scope.enter_context(self.environment.shared_holds.held(groups, at))
        return scope

    def _read_ts(self) -> Timestamp:
        return self.environment.oracle.read_ts(EPOCH_MS)

    def _complete_below(self, groups: frozenset[str], upper: Timestamp, up_to: Timestamp | None) -> Timestamp:
        """Below which time everything is known of all groups; idle ones are as far as the oracle's read timestamp."""
        self._check_not_dropped()
        now = self._read_ts()
        frontiers = read_time.known(self.environment, groups)
        idle = [group for group, frontier in frontiers.items() if frontier.upper <= now and frontier.claim is None]
        advanced = self.environment.frontiers.advance_idle(idle, Timestamp(now + 1)) if idle else frozenset()
        uppers = [now + 1 if group in advanced else frontier.upper for group, frontier in frontiers.items()]
        complete = Timestamp(min(now + 1, *uppers))
        return complete if up_to is None else min(complete, up_to)

    def _check_not_dropped(self) -> None:
        items = self.environment.catalog.sync().items
        for id in sorted(self.statement.select.depends_on):
            if id not in items:
                raise DroppedMeanwhile(str(self.catalog.relation(id).name))

    def _change_times(self, definition: Plan, lower: Timestamp, upper: Timestamp) -> list[Timestamp]:
        """The times in ``[lower, upper)`` at which something that the query stands on changes."""

        def times(version: Version, tail: pa.Table | None) -> set[Timestamp]:
            in_files = change_times([version], lower, upper)
            in_tail = pc.unique(tail.column(TIME_COLUMN)).to_pylist() if tail is not None else []
            return {*in_files, *(Timestamp(time) for time in in_tail if lower <= time < upper)}

        found = [self._read(id, Timestamp(upper - 1), times) for id in collections(definition)]
        return sorted(set[Timestamp]().union(*found))

    def _read(
        self,
        id: StorageCollectionId,
        last: Timestamp,
        read: Callable[[Version, pa.Table | None], _Found],
        *,
        is_again: bool = False,
    ) -> _Found:
        """What ``read`` finds in a version that has all up to ``last``, and, of a table, in what is not in Delta yet.

        Compaction may replace the files of a version: the next one has what is looked for, since it is held.
        """
        try:
            if id.collection is CollectionType.TABLE:
                pinned = self.environment.tables.pin([id.source_id], last)[id.source_id]
                version, tail = pinned.version, pinned.tail
            else:
                version, tail = self.environment.lake.open(id).pin_at(last, Timestamp(last + 1)), None
            with version.reading():
                return read(version, tail)
        except VersionGone:
            if is_again:
                raise
            self.environment.tables.forget(id.source_id)
            self.environment.lake.open(id).pin()
            return self._read(id, last, read, is_again=True)

    # --- changes ---

    def _log(self, definition: Plan) -> StorageCollectionId | None:
        """The collection whose rows are what the query answers: its changelog has the changes, and nothing is computed."""
        if not isinstance(definition, Get) or self.statement.select.finishing != Finishing():
            return None
        kept = definition.collection
        return kept if kept.has_times and kept.collection in (CollectionType.TABLE, CollectionType.RECLOCKED) else None

    def _logged(self, id: StorageCollectionId, time: Timestamp) -> pa.Table:
        """As ``_difference``, of what the changelog has at ``time``."""

        def changes(version: Version, tail: pa.Table | None) -> pa.Table:
            if tail is None or time < version.upper:
                return version.changes(time, Timestamp(time + 1))
            return consolidated_changes(tail, tail.schema, time, Timestamp(time + 1))

        found = self._read(id, time, changes)
        fields = [*result_schema(self._numbered), pa.field(TIME_COLUMN, pa.int64()), pa.field(DIFF_COLUMN, pa.int64())]
        return found.rename_columns([field.name for field in fields]).cast(pa.schema(fields))

    # --- rows ---

    def _query(self, at: Timestamp | None = None) -> Query:
        select = self.statement.select if at is None else replace(self.statement.select, as_of=statements.AsOf(at))
        return Query(self.environment, self.catalog, self.variables, select, self.notice, self.temporary, self.interruption)

    def _rows_at(self, at: Timestamp) -> pa.Table:
        """The columns are called by their numbers: those of a query may have one name twice."""
        schema = result_schema(self._numbered)
        found = [pa.Table.from_batches([batch]) for batch in self._query(at).run().batches]
        return pa.concat_tables([schema.empty_table(), *(table.rename_columns(schema.names).cast(schema) for table in found)])

    @property
    def _numbered(self) -> tuple[Column, ...]:
        columns = self.statement.select.desc.columns
        return tuple(Column(f"c{number}", column.type) for number, column in enumerate(columns))

    def _difference(self, before: pa.Table, after: pa.Table, at: Timestamp) -> pa.Table:
        """Rows, time and diff: the updates at ``at`` that make ``after`` of ``before``."""
        both = pa.concat_tables([_with(before, at, -1), _with(after, at, 1)])
        return consolidated_changes(both, both.schema, at, Timestamp(at + 1))

    def _updates(self, changed: pa.Table) -> Iterator[pa.RecordBatch]:
        progressed = {"mz_progressed": pa.repeat(pa.scalar(False), changed.num_rows)} if self.statement.has_progress else {}
        for batch in self._shaped({name: changed.column(name) for name in changed.column_names} | progressed):
            if batch.num_rows:
                yield batch

    def _progress(self, upper: Timestamp) -> Iterator[pa.RecordBatch]:
        """Everything below ``upper`` was sent."""
        if self.statement.has_progress:
            nothing = {field.name: pa.nulls(1, field.type) for field in result_schema(self._numbered)}
            told = {"mz_progressed": pa.array([True]), DIFF_COLUMN: pa.nulls(1, pa.int64())}
            yield from self._shaped(nothing | told | {TIME_COLUMN: pa.array([upper], pa.int64())})

    def _shaped(self, found: Mapping[str, pa.ChunkedArray]) -> list[pa.RecordBatch]:
        first = [TIME_COLUMN, *(["mz_progressed"] if self.statement.has_progress else []), DIFF_COLUMN]
        names = [*first, *(column.name for column in self._numbered)]
        return pa.table([found[name] for name in names], names=names).to_batches()  # type: ignore[no-any-return]

    def _nothing_yet(self) -> Iterator[pa.RecordBatch]:
        """Whoever takes the rows comes first; then, if they come back, a while passes."""
        names = [str(number) for number in range(len(self.statement.desc))]
        yield pa.record_batch([pa.array([], field.type) for field in result_schema(self.statement.desc.columns)], names=names)
        self.interruption.pause(_POLL_S, "waiting for updates")


def _with(rows: pa.Table, at: Timestamp, diff: int) -> pa.Table:
    count = rows.num_rows
    timed = rows.append_column(TIME_COLUMN, pa.repeat(pa.scalar(at, pa.int64()), count))
    return timed.append_column(DIFF_COLUMN, pa.repeat(pa.scalar(diff, pa.int64()), count))
