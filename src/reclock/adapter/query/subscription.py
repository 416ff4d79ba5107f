"""SUBSCRIBE: the rows of a query at one time, then its changes at every later time, as these times
become complete.

Invariant: the sum of what was sent for times up to ``t`` is what the query answers ``AS OF t``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.planning.index_plans import arranged
from reclock.adapter.query import envelopes
from reclock.adapter.query.changelogs import Changelogs
from reclock.adapter.query.queries import QueryExecution, groups_of
from reclock.adapter.statement_context import StatementContext
from reclock.adapter.timestamps import read_time
from reclock.algebra.ids import INTROSPECTION, CollectionType, StorageCollectionId
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.compute.due_times import DueTimes, due_answer, due_query, with_due_times
from reclock.consensus.frontiers.groups import GroupFrontier
from reclock.errors import (
    DroppedMeanwhile,
    InvalidOption,
    NotReadable,
    UnknownCollection,
    UnsupportedSql,
    quoted_name,
)
from reclock.plan.relational import Get, Plan, collections
from reclock.plan.temporal import check_maintainable, reads_now
from reclock.protocol.compute import Changes
from reclock.runtime.environment import Environment
from reclock.sql.catalog.entries import IndexEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.queries.session_views import check_shared
from reclock.sql.queries.views import Definition, definition_of
from reclock.sql.statements.query.values import AsOf
from reclock.sql.statements.subscribe.plan import SubscribeQuery

_POLL_S = 0.05

_NO_TIMES = "its rows are those of this moment, without times"

INDEX_PATIENCE_S = 10.0
"""How long to wait for an index after one of its inputs has changed."""


@dataclass(frozen=True, slots=True)
class ChangeInputs:
    """The inputs that changes are computed from: ``plan`` over collections. ``upper`` is that of
    its indexes, if it reads any."""

    plan: Plan
    upper: Timestamp | None = None

    @property
    def log(self) -> StorageCollectionId | None:
        """The collection whose rows the query answers unchanged. Its changelog has the changes, and
        nothing is computed."""
        if not isinstance(self.plan, Get):
            return None
        collection = self.plan.collection
        return (
            collection
            if collection.collection in (CollectionType.TABLE, CollectionType.RECLOCKED)
            else None
        )

    @property
    def groups(self) -> frozenset[str]:
        """The frontier groups it reads, including that of the introspection of replicas and
        processes."""
        return groups_of(collections(self.plan), is_as_of=True)


@dataclass(slots=True)
class Subscription:
    """One SUBSCRIBE, on the catalog at its start."""

    context: StatementContext
    statement: SubscribeQuery
    _defined: Definition = field(init=False)
    _definition: ChangeInputs = field(init=False)
    """The query over tables and sources alone, whose read hold is at the last time that was sent."""
    _hold_scope: ExitStack = field(init=False)
    _behind_since: float | None = None
    """When, on this process's monotonic clock, the wait for an index began."""

    def run(self) -> Result:
        """The updates, as times become complete. Raises what queries raise, and ``DroppedMeanwhile``."""
        self._defined = definition_of(self.statement.select.plan, self._catalog)
        self._definition = ChangeInputs(self._defined.plan)
        check_shared(self._definition.plan)
        check_maintainable(self._definition.plan)
        self._hold_scope = ExitStack()
        return Result(self.statement.tag, self.statement.desc, self._batches(), is_live=True)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._updates()
        except NotReadable as error:
            raise NotReadable(
                self._query().name_of(error.name), at=error.at, since=error.since, upper=error.upper
            ) from error

    def _updates(self) -> Iterator[pa.RecordBatch]:
        self._check_times()
        up_to, has_times = self.statement.up_to, bool(self._definition.groups)
        at = self._begins_at()
        if up_to is not None and up_to <= at:
            raise InvalidOption(
                f"UP TO {up_to} is not after {at}, the time it begins at",
                detail="the end is exclusive",
            )
        try:
            self._hold(self._definition, at)
            while has_times and not self._is_over(at):  # AS OF a future time
                yield from self._nothing_yet()
            if self.statement.has_snapshot:
                yield from self._computed(at, None)
            upper = Timestamp(at + 1)
            yield from self._progress(upper)
            while has_times and (up_to is None or upper < up_to):
                self._check_not_dropped()
                inputs, complete = self._awaited(self._choose_inputs(upper), upper)
                if complete <= upper:
                    yield from self._nothing_yet()
                    continue
                yield from self._changes(inputs, upper, complete)
                upper = complete
                yield from self._progress(upper)
        finally:
            self._hold_scope.close()

    @property
    def _environment(self) -> Environment:
        return self.context.environment

    @property
    def _catalog(self) -> PlannerCatalog:
        return self.context.catalog

    # --- inputs ---

    def _choose_inputs(self, upper: Timestamp) -> ChangeInputs:
        """The inputs for times from ``upper`` on, held at the time before: indexes of the active
        cluster if they are up to date."""
        last = Timestamp(upper - 1)
        level = {
            index.on: (index, frontier)
            for index, frontier in self._indexes()
            if frontier.since <= last and self._is_level(frontier.upper, upper)
        }
        plan, chosen = arranged(
            self.statement.select.plan,
            self._catalog,
            {on: index for on, (index, _) in level.items()},
        )
        inputs = ChangeInputs(
            plan, min((level[index.on][1].upper for index in chosen), default=None)
        )
        try:
            self._hold(inputs, last)
        except (NotReadable, UnknownCollection):
            # an index cannot be held; the definition's inputs are held already
            if inputs.upper is None:
                raise
            inputs = self._definition
            self._hold(inputs, last)
        return inputs

    def _is_level(self, index_upper: Timestamp, upper: Timestamp) -> bool:
        """Whether an index that is complete below ``index_upper`` is complete below ``upper``: no
        input of the query changes in between."""
        return index_upper >= upper or not self._times(self._definition, index_upper, upper)

    def _awaited(self, inputs: ChangeInputs, upper: Timestamp) -> tuple[ChangeInputs, Timestamp]:
        """The inputs to continue with from ``upper``, and the time below which they are complete.

        It waits for an index that lags behind a change, but no longer than ``INDEX_PATIENCE_S``.
        """
        complete = self._complete_below(self._definition)
        if inputs.upper is None or inputs.upper >= complete > upper:
            self._behind_since = None
            return inputs, complete
        if inputs.upper > upper:
            return inputs, inputs.upper
        if complete > upper and not self._times(self._definition, upper, complete):
            return self._definition, complete
        now = time.monotonic()
        self._behind_since = self._behind_since or now
        if complete > upper and now - self._behind_since > INDEX_PATIENCE_S:
            return self._definition, complete
        return inputs, upper

    def _hold(self, inputs: ChangeInputs, at: Timestamp) -> None:
        """Hold the definition's inputs and ``inputs`` at ``at``, then release the earlier holds."""
        groups = self._definition.groups | inputs.groups
        with ExitStack() as scope:
            if groups:
                scope.enter_context(self._environment.stores.shared_holds.held(groups, at))
            self._hold_scope.close()
            self._hold_scope = scope.pop_all()

    # --- time ---

    def _check_times(self) -> None:
        """Raises ``UnsupportedSql`` if the query reads a relation that has no times."""
        for id in sorted(collections(self._definition.plan)):
            if id.is_transient:
                raise UnsupportedSql(
                    "SUBSCRIBE to a temporary table is not supported", detail=_NO_TIMES
                )
            if not id.is_system:
                continue
            name = self._catalog.relation(id.source_id).name
            if id.collection is not CollectionType.TABLE:
                system = [relation for relation in self._catalog.relations() if relation.is_system]
                with_times = sorted(
                    r.name.item for r in system if r.collection.collection is CollectionType.TABLE
                )
                hint = f"in mz_internal, these have times: {', '.join(with_times)}"
                raise UnsupportedSql(
                    f"SUBSCRIBE to {quoted_name(name)} is not supported",
                    detail=_NO_TIMES,
                    hint=hint,
                )
            if not self._environment.stores.managed.is_known(id.source_id):
                raise UnsupportedSql(
                    f"{quoted_name(name)} cannot be subscribed to yet",
                    detail="nothing was reported to it so far",
                )

    def _begins_at(self) -> Timestamp:
        at, groups = self._query().time_of().at, self._definition.groups
        if self.statement.select.as_of is None and INTROSPECTION in groups:
            return max(self._now(), self._environment.stores.frontiers.get(INTROSPECTION).since)
        return at

    def _now(self) -> Timestamp:
        """The newest time that can be over: the oracle's read timestamp, or, for introspection
        alone, the newest time written."""
        if self._definition.groups == {INTROSPECTION}:
            return self._environment.stores.managed.newest()
        read_ts = self._environment.stores.oracle.read_ts(EPOCH_MS)
        if not reads_now(self._definition.plan):
            return read_ts
        return read_time.follow_clock(self._environment, read_ts)

    def _is_over(self, at: Timestamp) -> bool:
        return at <= self._now() or (
            self._definition.groups != {INTROSPECTION} and read_time.reached(self._environment, at)
        )

    def _complete_below(self, inputs: ChangeInputs) -> Timestamp:
        """The time below which all groups are complete. Idle groups are advanced to the oracle's
        read timestamp."""
        now = self._now()
        frontiers = read_time.frontiers_of(self._environment, inputs.groups)
        idle = [
            group
            for group, frontier in frontiers.items()
            if frontier.upper <= now and frontier.claim is None
        ]
        advanced = (
            self._environment.stores.frontiers.advance_idle(idle, Timestamp(now + 1))
            if idle
            else frozenset()
        )
        uppers = [
            now + 1 if group in advanced else frontier.upper
            for group, frontier in frontiers.items()
        ]
        complete = Timestamp(min(now + 1, *uppers))
        up_to = self.statement.up_to
        return complete if up_to is None else min(complete, up_to)

    def _check_not_dropped(self) -> None:
        items = self._environment.stores.catalog.sync().items
        for id in sorted(self.statement.select.depends_on):
            if id not in items and not self._catalog.relation(id).is_system:
                raise DroppedMeanwhile(str(self._catalog.relation(id).name))

    def _times(self, inputs: ChangeInputs, lower: Timestamp, upper: Timestamp) -> list[Timestamp]:
        """The times in ``[lower, upper)`` at which one of the inputs changes, or a condition on the
        time becomes true or false for a row."""
        changes = Changelogs(self._environment).times(collections(inputs.plan), lower, upper)
        if not reads_now(inputs.plan):
            return changes
        return with_due_times(
            inputs.plan,
            changes,
            since=Timestamp(lower - 1),
            through=Timestamp(upper - 1),
            due=lambda at: self._due_after(inputs.plan, at),
        ).times

    def _due_after(self, plan: Plan, at: Timestamp) -> DueTimes:
        query = due_query(plan, at)
        if query is None:
            return DueTimes(())
        select = replace(self.statement.select, plan=query[0], finishing=query[1], as_of=AsOf(at))
        return due_answer(QueryExecution(self.context, select, is_subscription=True).run().batches)

    # --- rows ---

    def _changes(
        self, inputs: ChangeInputs, lower: Timestamp, upper: Timestamp
    ) -> Iterator[pa.RecordBatch]:
        """The changes at times in ``[lower, upper)``, in order of time."""
        if inputs.log is not None:
            yield from self._sent(Changelogs(self._environment).updates(inputs.log, lower, upper))
            return
        for at in self._times(inputs, lower, upper):
            yield from self._computed(at, Timestamp(at - 1))

    def _computed(self, at: Timestamp, after: Timestamp | None) -> Iterator[pa.RecordBatch]:
        """The query's changes at ``at`` since ``after``, or all of its rows, by the active
        cluster."""
        batches = self._query(at, Changes(after)).run().batches
        return self._sent(_timed(batch, at) for batch in batches)

    def _sent(self, updates: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (batch for batch in envelopes.messages(self.statement, updates) if batch.num_rows)

    def _query(self, at: Timestamp | None = None, changes: Changes | None = None) -> QueryExecution:
        select = (
            self.statement.select if at is None else replace(self.statement.select, as_of=AsOf(at))
        )
        return QueryExecution(
            self.context,
            select,
            changes=changes,
            is_subscription=True,
            known_definition=self._defined,
        )

    def _indexes(self) -> list[tuple[IndexEntry, GroupFrontier]]:
        """The indexes of the active cluster on relations that the query reads."""
        return self._query().indexes()

    def _progress(self, upper: Timestamp) -> Iterator[pa.RecordBatch]:
        """The message that everything below ``upper`` was sent, if the client asked for
        progress."""
        if self.statement.has_progress:
            yield envelopes.progress(self.statement, upper)

    def _nothing_yet(self) -> Iterator[pa.RecordBatch]:
        """An empty batch, so that the client can act; after it asks again, a short pause."""
        yield envelopes.nothing(self.statement)
        self.context.cancellation.pause(_POLL_S, "waiting for updates")


def _timed(changed: pa.RecordBatch, at: Timestamp) -> pa.RecordBatch:
    """Columns and diffs, as updates at ``at``."""
    *columns, diffs = changed.columns
    times = pa.repeat(pa.scalar(at, pa.int64()), changed.num_rows)
    return pa.RecordBatch.from_arrays(
        [*columns, times, diffs], names=[str(number) for number in range(len(columns) + 2)]
    )
