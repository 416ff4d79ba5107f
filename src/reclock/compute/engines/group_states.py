"""The partial aggregates of maintained indexes, as tables in a DuckDB engine's in-memory database.

A table has the state of each group when the table was created, and what each refresh has added
since, with its time. So a refresh that is repeated, or that another process has made, finds the
state that it needs, or notices that the table is stale. Indexes with equal nodes share a table, so
that the changes of an equal node are computed once for all of them. Correctness does not depend on
these tables: any of them can be dropped at any time.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import duckdb

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.database import NAME
from reclock.compute.operators.partial_aggregates import PartialAggregates, partial_aggregates
from reclock.compute.steps.writer import OpenedGroups
from reclock.errors import InternalError
from reclock.failpoints import failpoint
from reclock.plan.relational import Plan, collections
from reclock.plan.temporal import reads_now

_VALUE_BYTES = 16
"""The assumed size of a value. Most are numbers of at most this size."""

_FEW_ROWS = 1_000
"""Fewer added rows are not merged."""

_MOST_TIMES = 1_000
"""At how many times a table can be read at most."""


@dataclass(slots=True)
class _GroupTable:
    """The partial aggregates of the groups of ``node``, over collections that had been rewritten so
    often (``rewrites``) when the table was made."""

    name: str
    node: Plan
    rewrites: Rewrites
    rows: dict[Timestamp, int]
    """The times at which the table can be read. The number is that of the rows that the step to
    this time has added, which have the time; at the first time, of all rows until then."""
    used_by: GlobalId | None = None
    """The index whose step uses the table at the moment."""
    dirty_after: Timestamp | None = None
    """Later rows may be those of a step that has not succeeded."""

    @property
    def partials(self) -> PartialAggregates:
        partials = partial_aggregates(self.node)
        if partials is None:
            raise InternalError("a node without partial aggregates has a table of them")
        return partials

    @property
    def size_bytes(self) -> int:
        width = 2 + len(self.partials.keys) + len(self.partials.parts)
        return sum(self.rows.values()) * width * _VALUE_BYTES

    def added_after(self, time: Timestamp) -> int:
        """How many rows the steps to later times have added."""
        return sum(rows for at, rows in self.rows.items() if at > time)

    def has_step(self, before: Timestamp, as_of: Timestamp) -> bool:
        """Whether the table has what the step adds already. What a node gains and loses from one
        time to another is the same for every index."""
        return before in self.rows and as_of in self.rows and not reads_now(self.node)

    def can_take(self, before: Timestamp, as_of: Timestamp) -> bool:
        """Whether the table can serve a step without taking a later time from other indexes.

        Between two times without added rows the node may have changed and changed back, so nothing
        is added at a time before one at which the table can be read.
        """
        if before not in self.rows:
            return False
        is_last = not self.added_after(before) and max(self.rows) <= as_of
        return is_last or self.has_step(before, as_of)


Key = tuple[GlobalId, int]
"""An index, and the place of a node in its plan."""

Rewrites = Mapping[StorageCollectionId, int]
"""How often the files of each collection were rewritten. A rewrite may be a repair, after which the
collection's past differs."""


@dataclass(slots=True)
class GroupStates:
    """The tables of one engine, in about ``limit_bytes`` of memory together. Thread-safe.

    Indexes with equal nodes share a table: the first one whose step needs it adds to it, and the
    others find the rows there.
    """

    limit_bytes: int
    _tables: OrderedDict[str, _GroupTable] = field(default_factory=OrderedDict)
    """The tables by name, least recently used first."""
    _names: dict[Key, str] = field(default_factory=dict)
    """The table of each node that has one."""
    _too_large: set[Key] = field(default_factory=set)
    _builds: Counter[GlobalId] = field(default_factory=Counter)
    _busy: set[GlobalId] = field(default_factory=set)
    _guard: threading.RLock = field(default_factory=threading.RLock)
    _numbers: Iterator[int] = field(default_factory=count)

    @contextmanager
    def step(
        self,
        session: duckdb.DuckDBPyConnection,
        index: GlobalId,
        before: Timestamp,
        as_of: Timestamp,
        rewrites: Rewrites,
        *,
        by_time: bool = False,
    ) -> Iterator[GroupStep | None]:
        """One refresh of ``index``, whose whole computation is in the block; None while another one
        runs. Its additions count if the block ends without an error. ``rewrites`` are those of the
        index's inputs. ``by_time``: the additions have their own times, and need a table."""
        with self._guard:
            is_free = index not in self._busy
            if is_free:
                self._busy.add(index)
        if not is_free:
            yield None
            return
        step = GroupStep(self, session, index, before, as_of, rewrites, by_time)
        try:
            yield step
            step.commit()
        finally:
            with self._guard:
                self._busy.discard(index)
                for table in self._tables.values():
                    if table.used_by == index:
                        table.used_by = None

    def builds(self, index: GlobalId) -> int:
        """How often a table was created for the index."""
        with self._guard:
            return self._builds[index]

    def forget(self, index: GlobalId, session: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        """Drop the tables that only a dropped index uses. Tables that a refresh still uses are
        dropped when space is needed."""
        with self._guard:
            if index in self._busy:
                return
            for key in [key for key in self._names if key[0] == index]:
                self.release(key, session)
            self._too_large = {key for key in self._too_large if key[0] != index}
            del self._builds[index]

    def is_too_large(self, key: Key) -> bool:
        """Whether there was no room for the node's table."""
        with self._guard:
            return key in self._too_large

    def get(self, key: Key) -> _GroupTable | None:
        with self._guard:
            name = self._names.get(key)
            return None if name is None else self._tables[name]

    def new_name(self) -> str:
        with self._guard:
            return f"group_state_{next(self._numbers)}"

    def take(self, key: Key, node: Plan, step: GroupStep) -> _GroupTable | None:
        """The table for the node in this step, which no other index uses until the step ends: the
        one that the index has, or an equal one of others. None if none can serve the step."""
        with self._guard:
            table = self._usable(key, node, step)
            if table is None:
                self.release(key, lambda: step.session)
                return None
            if self._names.get(key) != table.name:
                self.release(key, lambda: step.session)
                self._names[key] = table.name
            self._tables.move_to_end(table.name)
            table.used_by = step.index
            return table

    def _usable(self, key: Key, node: Plan, step: GroupStep) -> _GroupTable | None:
        existing = self.get(key)
        if existing is not None and not (
            existing.node == node and existing.used_by in (None, step.index)
        ):
            existing = None
        equal = [] if reads_now(node) else self._equal(node, step)
        for table in equal:
            if table.has_step(step.before, step.as_of):
                return table
        if existing is not None and step.before in existing.rows:
            is_alone = {user[0] for user in self._users(existing)} == {step.index}
            if is_alone or existing.can_take(step.before, step.as_of):
                return existing
        return next((table for table in equal if table.can_take(step.before, step.as_of)), None)

    def _equal(self, node: Plan, step: GroupStep) -> list[_GroupTable]:
        """The tables of equal nodes that no other step uses."""
        rewrites = step.rewrites_of(node)
        return [
            table
            for table in self._tables.values()
            if table.node == node
            and table.rewrites == rewrites
            and table.used_by in (None, step.index)
        ]

    def put(self, session: duckdb.DuckDBPyConnection, key: Key, table: _GroupTable) -> bool:
        """Whether there is room for the table. Tables that were not used recently are dropped for
        it, except those of this index."""
        with self._guard:
            self._tables[table.name] = table
            self._names[key] = table.name
            self._builds[key[0]] += 1
            for other in list(self._tables.values()):
                if self.size_bytes() <= self.limit_bytes:
                    break
                if not self._busy & {user[0] for user in self._users(other)}:
                    self._drop(session, other)
            if self.size_bytes() > self.limit_bytes:
                self.drop(session, key, is_too_large=True)
            return table.name in self._tables

    def drop(
        self, session: duckdb.DuckDBPyConnection, key: Key, *, is_too_large: bool = False
    ) -> None:
        """Drop the node's table, also for other indexes that use it."""
        with self._guard:
            if (table := self.get(key)) is not None:
                self._drop(session, table)
            if is_too_large:
                self._too_large.add(key)

    def release(self, key: Key, session: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        """Leave the node's table to its other users, and drop it if there are none."""
        with self._guard:
            table = self.get(key)
            if table is None:
                return
            del self._names[key]
            if not self._users(table):
                self._drop(session(), table)

    def rename(self, table: _GroupTable, name: str) -> None:
        """Record that the table has another name."""
        with self._guard:
            for key in self._users(table):
                self._names[key] = name
            del self._tables[table.name]
            table.name = name
            self._tables[name] = table

    def size_bytes(self) -> int:
        """The assumed size of all tables in memory."""
        with self._guard:
            return sum(table.size_bytes for table in self._tables.values())

    def _users(self, table: _GroupTable) -> list[Key]:
        return [key for key, name in self._names.items() if name == table.name]

    def _drop(self, session: duckdb.DuckDBPyConnection, table: _GroupTable) -> None:
        for key in self._users(table):
            del self._names[key]
        del self._tables[table.name]
        session.execute(f"DROP TABLE IF EXISTS {table.name}")


@dataclass(slots=True)
class GroupStep:
    """One refresh's use of its index's tables."""

    states: GroupStates
    session: duckdb.DuckDBPyConnection
    index: GlobalId
    before: Timestamp
    as_of: Timestamp
    rewrites: Rewrites
    by_time: bool = False
    _opened: set[str] = field(default_factory=set)
    """The tables that the step uses, each brought to its state at ``before``."""
    _added: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """The number of added rows, by the place of a node; absent for nodes that do not change."""

    def rewrites_of(self, node: Plan) -> Rewrites:
        """The rewrites of the collections that the node reads."""
        read = collections(node)
        return {id: number for id, number in self.rewrites.items() if id in read}

    def open(self, place: int, node: Plan, partials: Callable[[], str]) -> OpenedGroups | None:
        """See ``StepReads.open_groups``."""
        key = self.index, place
        table = self.states.take(key, node, self)
        if table is not None and table.name in self._opened:  # for an equal node of this plan
            return OpenedGroups(table.name, has_step=True)
        if table is not None and not self._restore(table):
            self.states.drop(self.session, key)
            table = None
        if table is None:
            if self.states.is_too_large(key) and not self.by_time:
                return None
            table = self._make(key, node, partials)
        if table is None:
            return None
        self._opened.add(table.name)
        return OpenedGroups(table.name, table.has_step(self.before, self.as_of))

    def add(self, place: int, changes: str) -> None:
        """See ``StepReads.add_to_groups``."""
        table = self.states.get((self.index, place))
        assert table is not None
        table.dirty_after = self.before
        time = "" if self.by_time else f", {self.as_of:d} AS t"
        [(rows,)] = self.session.execute(
            f"INSERT INTO {table.name} BY NAME SELECT *{time} FROM ({changes})"
        ).fetchall()
        self._added[place] += rows

    def confirm(self, place: int) -> None:
        """See ``StepReads.confirm_groups``."""
        self._added[place] += 0

    def commit(self) -> None:
        """Record that the step has succeeded: the tables are complete at its time."""
        for place, rows in self._added.items():
            table = self.states.get((self.index, place))
            if table is not None and self.before in table.rows:
                table.rows[self.as_of] = table.rows.get(self.as_of, 0) + rows
                if table.used_by == self.index:
                    table.dirty_after = None
                while len(table.rows) > _MOST_TIMES:
                    rows_of_first = table.rows.pop(min(table.rows))
                    table.rows[min(table.rows)] += rows_of_first

    def _restore(self, table: _GroupTable) -> bool:
        """Take back what other steps have added after ``before``, unless that is what this step
        adds, and merge the table if much was added. Returns whether the table still exists."""
        takes_back = not table.can_take(self.before, self.as_of)
        wrong_after = [] if table.dirty_after is None else [table.dirty_after]
        if takes_back:
            wrong_after.append(self.before)
        try:
            if wrong_after:
                self.session.execute(f"DELETE FROM {table.name} WHERE t > {min(wrong_after):d}")
            else:
                self.session.table(table.name)
        except duckdb.CatalogException:  # the engine has opened another database since
            return False
        table.dirty_after = None
        if takes_back:
            table.rows = {at: rows for at, rows in table.rows.items() if at <= self.before}
        merged_rows = table.rows[min(table.rows)]
        added_rows = sum(table.rows.values()) - merged_rows
        is_newest = self.before == max(table.rows)
        if is_newest and added_rows > max(_FEW_ROWS, merged_rows // 4):
            self._merge(table)
        return True

    def _make(self, key: Key, node: Plan, partials: Callable[[], str]) -> _GroupTable | None:
        name = self.states.new_name()
        try:
            rows = self._create(name, partials())
        except duckdb.OutOfMemoryException:
            self.states.drop(self.session, key, is_too_large=True)
            return None
        table = _GroupTable(name, node, self.rewrites_of(node), {self.before: rows}, self.index)
        return table if self.states.put(self.session, key, table) else None

    def _merge(self, table: _GroupTable) -> None:
        """Merge the table to one row for each group."""
        former, name = table.name, self.states.new_name()
        summed = table.partials.summed(NAME, f"SELECT * FROM {former}")
        table.rows = {self.before: self._create(name, summed)}
        failpoint("refresh.merged")
        self.states.rename(table, name)
        self.session.execute(f"DROP TABLE {former}")

    def _create(self, name: str, partials: str) -> int:
        """Create a table of the partial aggregates that a SELECT answers. Returns their number."""
        [(rows,)] = self.session.execute(
            f"CREATE TABLE {name} AS SELECT *, {self.before:d}::BIGINT AS t FROM ({partials})"
        ).fetchall()
        return int(rows)
