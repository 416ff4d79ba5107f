"""The partial aggregates of maintained indexes, as tables in a DuckDB engine's in-memory database.

A table has the state of each group when the table was created, and what each refresh has added
since, with its time. So a refresh that is repeated, or that another process has made, finds the
state that it needs, or notices that the table is stale. Correctness does not depend on these
tables: any of them can be dropped at any time.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import duckdb

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.database import NAME
from reclock.compute.operators.partial_aggregates import PartialAggregates, partial_aggregates
from reclock.errors import InternalError
from reclock.failpoints import failpoint
from reclock.plan.relational import Plan

_VALUE_BYTES = 16
"""The assumed size of a value. Most are numbers of at most this size."""

_FEW_ROWS = 1_000
"""Fewer added rows are not merged."""


@dataclass(slots=True)
class _GroupTable:
    """``times`` are those at which the table can be read: that of its creation or last merge, and
    those of the refreshes since. Rows that were added since have the time of their refresh."""

    name: str
    node: Plan
    times: list[Timestamp]
    rows: int
    added: int = 0
    """How many of ``rows`` were added since its creation."""
    is_dirty: bool = False
    """Whether it may have rows of a step that has not succeeded."""

    @property
    def partials(self) -> PartialAggregates:
        partials = partial_aggregates(self.node)
        if partials is None:
            raise InternalError("a node without partial aggregates has a table of them")
        return partials

    @property
    def size_bytes(self) -> int:
        return self.rows * _VALUE_BYTES * (2 + len(self.partials.keys) + len(self.partials.parts))


Key = tuple[GlobalId, int]
"""An index, and the place of a node in its plan."""


@dataclass(slots=True)
class GroupStates:
    """The tables of one engine, in about ``limit_bytes`` of memory together. Thread-safe."""

    limit_bytes: int
    _tables: OrderedDict[Key, _GroupTable] = field(default_factory=OrderedDict)
    """The tables, least recently used first."""
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
        *,
        by_time: bool = False,
    ) -> Iterator[GroupStep | None]:
        """One refresh of ``index``, whose whole computation is in the block; None while another one
        runs. Its additions count if the block ends without an error. ``by_time``: they have their
        own times, and need a table."""
        with self._guard:
            is_free = index not in self._busy
            if is_free:
                self._busy.add(index)
        if not is_free:
            yield None
            return
        step = GroupStep(self, session, index, before, as_of, by_time)
        try:
            yield step
            step.commit()
        finally:
            with self._guard:
                self._busy.discard(index)

    def builds(self, index: GlobalId) -> int:
        """How often a table was created for the index."""
        with self._guard:
            return self._builds[index]

    def forget(self, index: GlobalId, session: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        """Drop the tables of a dropped index. Tables that a refresh still uses are dropped when
        space is needed."""
        with self._guard:
            if index in self._busy:
                return
            for key in [key for key in self._tables if key[0] == index]:
                self._drop(session(), key)
            self._too_large = {key for key in self._too_large if key[0] != index}
            del self._builds[index]

    def is_too_large(self, key: Key) -> bool:
        """Whether there was no room for the node's table."""
        with self._guard:
            return key in self._too_large

    def get(self, key: Key) -> _GroupTable | None:
        with self._guard:
            if key in self._tables:
                self._tables.move_to_end(key)
            return self._tables.get(key)

    def new_name(self) -> str:
        with self._guard:
            return f"group_state_{next(self._numbers)}"

    def put(self, session: duckdb.DuckDBPyConnection, key: Key, table: _GroupTable) -> bool:
        """Whether there is room for the table. Tables that were not used recently are dropped for
        it, except those of this index."""
        with self._guard:
            self._tables[key] = table
            self._tables.move_to_end(key)
            self._builds[key[0]] += 1
            for other in [other for other in self._tables if other[0] not in self._busy]:
                if self.size_bytes() <= self.limit_bytes:
                    break
                self._drop(session, other)
            if self.size_bytes() > self.limit_bytes:
                self._drop(session, key)
                self._too_large.add(key)
            return key in self._tables

    def drop(
        self, session: duckdb.DuckDBPyConnection, key: Key, *, is_too_large: bool = False
    ) -> None:
        with self._guard:
            self._drop(session, key)
            if is_too_large:
                self._too_large.add(key)

    def size_bytes(self) -> int:
        """The assumed size of all tables in memory."""
        with self._guard:
            return sum(table.size_bytes for table in self._tables.values())

    def _drop(self, session: duckdb.DuckDBPyConnection, key: Key) -> None:
        if table := self._tables.pop(key, None):
            session.execute(f"DROP TABLE IF EXISTS {table.name}")


@dataclass(slots=True)
class GroupStep:
    """One refresh's use of its index's tables."""

    states: GroupStates
    session: duckdb.DuckDBPyConnection
    index: GlobalId
    before: Timestamp
    as_of: Timestamp
    by_time: bool = False
    _added: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """The number of added rows, by the place of a node; absent for nodes that do not change."""

    def open(self, place: int, node: Plan, partials: Callable[[], str]) -> str | None:
        """See ``StepReads.open_groups``."""
        key = self.index, place
        table = self.states.get(key)
        if table is not None and not self._restore(key, table, node):
            self.states.drop(self.session, key)
            table = None
        if table is not None:
            return table.name
        if self.states.is_too_large(key) and not self.by_time:
            return None
        return self._make(key, node, partials)

    def add(self, place: int, changes: str) -> None:
        """See ``StepReads.add_to_groups``."""
        table = self.states.get((self.index, place))
        assert table is not None
        table.is_dirty = True
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
            if table is not None and table.times[-1] == self.before:
                table.times.append(self.as_of)
                table.is_dirty = False
                table.rows += rows
                table.added += rows

    def _restore(self, key: Key, table: _GroupTable, node: Plan) -> bool:
        """Restore the table's state at ``before``. Returns whether that is possible."""
        if table.node != node or self.before not in table.times:
            return False
        try:
            if table.is_dirty or self.before != table.times[-1]:
                self.session.execute(f"DELETE FROM {table.name} WHERE t > {self.before:d}")
                table.is_dirty = False
            else:
                self.session.table(table.name)
        except duckdb.CatalogException:  # the engine has opened another database since
            return False
        del table.times[table.times.index(self.before) + 1 :]
        if table.added > max(_FEW_ROWS, (table.rows - table.added) // 4):
            self._merge(table)
        return True

    def _make(self, key: Key, node: Plan, partials: Callable[[], str]) -> str | None:
        name = self.states.new_name()
        try:
            rows = self._create(name, partials())
        except duckdb.OutOfMemoryException:
            self.states.drop(self.session, key, is_too_large=True)
            return None
        table = _GroupTable(name, node, [self.before], rows)
        return name if self.states.put(self.session, key, table) else None

    def _merge(self, table: _GroupTable) -> None:
        """Merge the table to one row for each group."""
        name = self.states.new_name()
        summed = table.partials.summed(NAME, f"SELECT * FROM {table.name}")
        table.rows = self._create(name, summed)
        failpoint("refresh.merged")
        self.session.execute(f"DROP TABLE {table.name}")
        table.name, table.times, table.added = name, [self.before], 0

    def _create(self, name: str, partials: str) -> int:
        """Create a table of the partial aggregates that a SELECT answers. Returns their number."""
        [(rows,)] = self.session.execute(
            f"CREATE TABLE {name} AS SELECT *, {self.before:d}::BIGINT AS t FROM ({partials})"
        ).fetchall()
        return int(rows)
