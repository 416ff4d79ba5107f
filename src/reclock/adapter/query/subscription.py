"""SUBSCRIBE: the rows of a query at one time, then its changes at every later time, as these become complete.

The law: what was sent for times up to `t`, summed, is what the query answers `AS OF t`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.query import envelopes
from reclock.adapter.query.changelogs import Changelogs
from reclock.adapter.query.queries import QueryExecution, arranged, groups_of
from reclock.adapter.statement_context import StatementContext
from reclock.adapter.timestamps import read_time
from reclock.algebra.ids import INTROSPECTION, CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.errors import DroppedMeanwhile, InvalidOption, NotReadable, UnknownCollection, UnsupportedSql
from reclock.plan.relational import Get, Plan, collections
from reclock.protocol.compute import Changes
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import IndexEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.views import expand
from reclock.sql.statements.query.values import AsOf
from reclock.sql.statements.subscribe.plan import SubscribeQuery

_POLL_S = 0.05

_NO_TIMES = "it is as it is now, and has no times"

INDEX_PATIENCE_S = 10.0
"""For how long an index is waited for when something it stands on has changed."""


@dataclass(frozen=True, slots=True)
class Footing:
    """What changes are made of: ``plan`` over collections that are kept. ``upper`` is that of the indexes among them, if any."""

    plan: Plan
    upper: Timestamp | None = None

    @property
    def log(self) -> StorageCollectionId | None:
        """The collection whose rows are what the query answers: its changelog has the changes, and nothing is computed."""
        if not isinstance(self.plan, Get):
            return None
        kept = self.plan.collection
        return kept if kept.collection in (CollectionType.TABLE, CollectionType.RECLOCKED) else None

    @property
    def groups(self) -> frozenset[str]:
        """The frontier groups it reads, that of what storage keeps of replicas and processes among them."""
        return groups_of(self.plan, is_as_of=True)


@dataclass(slots=True)
class Subscription:
    """One SUBSCRIBE of one session, at the catalog as it was when it began."""

    context: StatementContext
    statement: SubscribeQuery
    _definition: Footing = field(init=False)
    """The query over tables and sources alone, which are held at the last time that was sent."""
    _read: frozenset[GlobalId] = field(init=False)
    """The relations and views that the query reads, and those that these do."""
    _held: ExitStack = field(init=False)
    _behind_since: float | None = None
    """Since when, on this process's clock, an index is waited for."""

    def run(self) -> Result:
        """The updates as they become known. Raises, beside what queries raise, ``DroppedMeanwhile``."""
        read: set[GlobalId] = set()

        def note(collection: StorageCollectionId) -> None:
            item = self._catalog.kept_in(collection)
            read.update([item.id] if item is not None else [])

        self._definition = Footing(expand(self.statement.select.plan, self._catalog, note))
        self._read, self._held = frozenset(read), ExitStack()
        return Result(self.statement.tag, self.statement.desc, self._batches(), is_live=True)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        self._check_times()
        up_to, has_times = self.statement.up_to, bool(self._definition.groups)
        at = self._begins_at()
        if up_to is not None and up_to <= at:
            raise InvalidOption(f"UP TO {up_to} is not after {at}, the time it begins at", detail="the end is exclusive")
        try:
            self._hold(self._definition, at)
            while has_times and not self._is_over(at):  # AS OF names a time to come
                yield from self._nothing_yet()
            if self.statement.has_snapshot:
                yield from self._computed(at, None)
            upper = Timestamp(at + 1)
            yield from self._progress(upper)
            while has_times and (up_to is None or upper < up_to):
                self._check_not_dropped()
                footing, complete = self._awaited(self._footing(upper), upper)
                if complete <= upper:
                    yield from self._nothing_yet()
                    continue
                yield from self._changes(footing, upper, complete)
                upper = complete
                yield from self._progress(upper)
        finally:
            self._held.close()

    @property
    def _environment(self) -> Environment:
        return self.context.environment

    @property
    def _catalog(self) -> PlannerCatalog:
        return self.context.catalog

    # --- what the changes are made of ---

    def _footing(self, upper: Timestamp) -> Footing:
        """That for times from ``upper`` on, held from the one before: indexes of the active cluster that have all that was sent."""
        last = Timestamp(upper - 1)
        level = {index.on: (index, has) for index, has in self._indexes() if has.since <= last and self._is_level(has.upper, upper)}
        plan, chosen = arranged(self.statement.select.plan, self._catalog, {on: index for on, (index, _) in level.items()})
        footing = Footing(plan, min((level[index.on][1].upper for index in chosen), default=None))
        try:
            self._hold(footing, last)
        except (NotReadable, UnknownCollection):  # of an index: what the query stands on is held already
            if footing.upper is None:
                raise
            footing = self._definition
            self._hold(footing, last)
        return footing

    def _is_level(self, has: Timestamp, upper: Timestamp) -> bool:
        """Whether what is complete below ``has`` is so below ``upper``: nothing that the query stands on changes between."""
        return has >= upper or not self._times(self._definition, has, upper)

    def _awaited(self, footing: Footing, upper: Timestamp) -> tuple[Footing, Timestamp]:
        """The footing to go on from ``upper``, and below which time all is known. An index that lags is waited for, if anything
        has changed, but not for ever."""
        complete = self._complete_below(self._definition)
        if footing.upper is None or footing.upper >= complete > upper:
            self._behind_since = None
            return footing, complete
        if footing.upper > upper:
            return footing, footing.upper
        if complete > upper and not self._times(self._definition, upper, complete):
            return self._definition, complete
        now = time.monotonic()
        self._behind_since = self._behind_since or now
        if complete > upper and now - self._behind_since > INDEX_PATIENCE_S:
            return self._definition, complete
        return footing, upper

    def _hold(self, footing: Footing, at: Timestamp) -> None:
        """What the query stands on, and the footing, are kept readable at ``at``, and what was held before is let go."""
        groups = self._definition.groups | footing.groups
        with ExitStack() as scope:
            if groups:
                scope.enter_context(self._environment.stores.shared_holds.held(groups, at))
            self._held.close()
            self._held = scope.pop_all()

    # --- time ---

    def _check_times(self) -> None:
        """Raises ``UnsupportedSql`` if something is only known as it is now."""
        for id in sorted(collections(self._definition.plan)):
            if id.is_transient:
                raise UnsupportedSql("SUBSCRIBE to a temporary table is not supported", detail=_NO_TIMES)
            if not id.is_system:
                continue
            name = self._catalog.relation(id.source_id).name
            if id.collection is not CollectionType.TABLE:
                system = [each for each in self._catalog.relations() if each.is_system]
                kept = sorted(each.name.item for each in system if each.collection.collection is CollectionType.TABLE)
                hint = f"in mz_internal, these have times: {', '.join(kept)}"
                raise UnsupportedSql(f'SUBSCRIBE to "{name}" is not supported', detail=_NO_TIMES, hint=hint)
            if not self._environment.stores.managed.is_known(id.source_id):
                raise UnsupportedSql(f'"{name}" cannot be subscribed to yet', detail="nothing was reported to it so far")

    def _begins_at(self) -> Timestamp:
        at, groups = self._query().time_of(self._definition.plan).at, self._definition.groups
        if self.statement.select.as_of is None and INTROSPECTION in groups:
            return max(self._now(), self._environment.stores.frontiers.get(INTROSPECTION).since)
        return at

    def _now(self) -> Timestamp:
        """The last time that can be over: the oracle's read timestamp, or that of what has nothing to do with it."""
        if self._definition.groups == {INTROSPECTION}:
            return self._environment.stores.managed.newest()
        return self._environment.stores.oracle.read_ts(EPOCH_MS)

    def _is_over(self, at: Timestamp) -> bool:
        return at <= self._now() or (self._definition.groups != {INTROSPECTION} and read_time.reached(self._environment, at))

    def _complete_below(self, footing: Footing) -> Timestamp:
        """Below which time everything is known of all groups; idle ones are as far as the oracle's read timestamp."""
        now = self._now()
        frontiers = read_time.known(self._environment, footing.groups)
        idle = [group for group, frontier in frontiers.items() if frontier.upper <= now and frontier.claim is None]
        advanced = self._environment.stores.frontiers.advance_idle(idle, Timestamp(now + 1)) if idle else frozenset()
        uppers = [now + 1 if group in advanced else frontier.upper for group, frontier in frontiers.items()]
        complete = Timestamp(min(now + 1, *uppers))
        up_to = self.statement.up_to
        return complete if up_to is None else min(complete, up_to)

    def _check_not_dropped(self) -> None:
        items = self._environment.stores.catalog.sync().items
        for id in sorted(self.statement.select.depends_on):
            if id not in items and not self._catalog.relation(id).is_system:
                raise DroppedMeanwhile(str(self._catalog.relation(id).name))

    def _times(self, footing: Footing, lower: Timestamp, upper: Timestamp) -> list[Timestamp]:
        """The times in ``[lower, upper)`` at which something that the footing stands on changes."""
        return Changelogs(self._environment).times(collections(footing.plan), lower, upper)

    # --- rows ---

    def _changes(self, footing: Footing, lower: Timestamp, upper: Timestamp) -> Iterator[pa.RecordBatch]:
        """What changes at times in ``[lower, upper)``, in order."""
        if footing.log is not None:
            yield from self._sent(Changelogs(self._environment).updates(footing.log, lower, upper))
            return
        for at in self._times(footing, lower, upper):
            yield from self._computed(at, Timestamp(at - 1))

    def _computed(self, at: Timestamp, after: Timestamp | None) -> Iterator[pa.RecordBatch]:
        """The query's changes at ``at`` since ``after``, or all of its rows, by the active cluster."""
        found = self._query(at, Changes(after)).run().batches
        return self._sent(_timed(batch, at) for batch in found)

    def _sent(self, updates: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (batch for batch in envelopes.messages(self.statement, updates) if batch.num_rows)

    def _query(self, at: Timestamp | None = None, changes: Changes | None = None) -> QueryExecution:
        select = self.statement.select if at is None else replace(self.statement.select, as_of=AsOf(at))
        return QueryExecution(self.context, select, changes=changes, is_subscription=True)

    def _indexes(self) -> list[tuple[IndexEntry, GroupFrontier]]:
        """Those of the active cluster on what the query reads."""
        on = {index.on for index in self._catalog.indexes()} & self._read
        return [(index, frontier) for index, frontier in self._query().indexes() if index.on in on] if on else []

    def _progress(self, upper: Timestamp) -> Iterator[pa.RecordBatch]:
        """Everything below ``upper`` was sent."""
        if self.statement.has_progress:
            yield envelopes.progress(self.statement, upper)

    def _nothing_yet(self) -> Iterator[pa.RecordBatch]:
        """Whoever takes the rows comes first; then, if they come back, a while passes."""
        yield envelopes.nothing(self.statement)
        self.context.cancellation.pause(_POLL_S, "waiting for updates")


def _timed(changed: pa.RecordBatch, at: Timestamp) -> pa.RecordBatch:
    """Columns and diffs as updates at ``at``."""
    *columns, diffs = changed.columns
    times = pa.repeat(pa.scalar(at, pa.int64()), changed.num_rows)
    return pa.RecordBatch.from_arrays([*columns, times, diffs], names=[str(number) for number in range(len(columns) + 2)])
