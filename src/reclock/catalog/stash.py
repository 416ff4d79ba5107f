"""The stash: the catalog's changelog in two tables of consensus."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import sqlalchemy as sa

from reclock.algebra.timestamps import CATALOG, MINIMUM, Timestamp
from reclock.catalog.compaction import cancelling
from reclock.catalog.encoding import CatalogUpdate
from reclock.catalog.log import Beside
from reclock.catalog.objects import APPEND_ONLY
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    CatalogCorrupt,
    CatalogError,
    ConsensusOutcomeUnknown,
    NotReadable,
    UpperMismatch,
)
from reclock.failpoints import failpoint
from reclock.oracle.oracle import record_write

T = TypeVar("T")

_updates = sa.Table(
    "catalog_updates",
    metadata,
    sa.Column("ts", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("diff", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Text, nullable=False),
    sa.Index("catalog_updates_by_kind", "kind"),
)

_upper = sa.Table(
    "catalog_upper",
    metadata,
    sa.Column(
        "id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False
    ),
    sa.Column("upper", sa.BigInteger, nullable=False),
)

_since = sa.Table(
    "catalog_since",
    metadata,
    sa.Column(
        "id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False
    ),
    sa.Column("since", sa.BigInteger, nullable=False),
)

DELETED_AT_ONCE = 10_000
"""About how many updates one transaction of a compaction deletes, so that no commit waits long for
it."""

READ_AT_ONCE = 200_000
"""About how many updates to delete a compaction has in memory."""

_UPPER = sa.select(_upper.c.upper)


class StashLog:
    """A ``CatalogLog`` in consensus. Each write is one transaction that checks the fence. An
    unknown outcome is looked up."""

    def __init__(self, consensus: Consensus) -> None:
        self._consensus = consensus

    @property
    def is_in_consensus(self) -> bool:
        return True

    def upper(self) -> Timestamp:
        return self._consensus.read(_current_upper)

    def since(self) -> Timestamp:
        return self._consensus.read(_current_since)

    def leadership(self) -> Leadership | None:
        return self._consensus.read(fence.current)

    def snapshot(
        self, *, below: Timestamp | None = None, only: Collection[str] | None = None
    ) -> tuple[Timestamp, list[CatalogUpdate]]:
        columns = (_updates.c.kind, _updates.c.key, _updates.c.value)
        total = sa.func.sum(_updates.c.diff)

        def work(connection: sa.Connection) -> tuple[Timestamp, list[CatalogUpdate]]:
            upper = _current_upper(connection)
            bound = upper if below is None else below
            _check_readable(connection, bound)
            _check_complete(connection, upper)
            query = (
                sa.select(*columns, sa.func.max(_updates.c.ts), total)
                .where(_updates.c.ts < bound, _chosen(only))
                .group_by(*columns)
                .having(total != 0)
            )
            return upper, [_update(*row) for row in connection.execute(query)]

        return self._consensus.read(work)

    def updates(
        self, since: Timestamp, *, only: Collection[str] | None = None
    ) -> tuple[Timestamp, list[CatalogUpdate]]:
        upper = _first(self._consensus.look(_UPPER))
        if upper <= since:
            return upper, []

        def work(connection: sa.Connection) -> tuple[Timestamp, list[CatalogUpdate]]:
            upper = _current_upper(connection)
            _check_readable(connection, since)
            c = _updates.c
            query = sa.select(c.kind, c.key, c.value, c.ts, c.diff).where(
                c.ts >= since, c.ts < upper, _chosen(only)
            )
            return upper, [
                _update(*row) for row in connection.execute(query.order_by(c.ts, c.diff))
            ]

        return self._consensus.read(work)

    def compare_and_append(
        self,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        updates: Sequence[CatalogUpdate],
        leadership: Leadership,
        beside: Beside | None = None,
    ) -> None:
        def write(connection: sa.Connection) -> None:
            # before the upper: a fenced writer must hear of the fence
            fence.check(connection, leadership)
            _check_upper(connection, expected_upper)
            if beside is not None:
                beside(connection)
            _write(connection, new_upper, updates, "append")
            record_write(connection, CATALOG, new_upper)

        self._until_known(write, expected_upper, new_upper, updates)

    def lead(
        self,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        updates: Sequence[CatalogUpdate],
        leadership: Leadership,
    ) -> None:
        def write(connection: sa.Connection) -> None:
            # before the leadership: two that open at once race, neither is fenced
            _check_upper(connection, expected_upper)
            current = fence.current(connection)
            if current is not None and leadership.rank <= current.rank:
                raise fence.fenced(leadership, current)
            fence.advance(connection, leadership)
            _write(connection, new_upper, updates, "lead")

        self._until_known(write, expected_upper, new_upper, updates)

    def compact(self, below: Timestamp, leadership: Leadership) -> int:
        def raise_since(connection: sa.Connection) -> None:
            fence.check(connection, leadership)
            _raise_since(connection, below)

        self._repeat_until_known(raise_since)
        failpoint("catalog.stash.compact.since_raised")
        deleted = 0
        while batches := self._consensus.read(lambda connection: _cancelling(connection, below)):
            for batch in batches:
                deleted += self._repeat_until_known(
                    fence.guard(leadership, partial(_delete, batch))
                )
                failpoint("catalog.stash.compact.batch_deleted")
        return deleted

    def mirror(self, leadership: Leadership) -> None:
        """Does nothing unless consensus lost its row since ``lead``, which writes it: then it is
        restored from the catalog's."""

        def restore(connection: sa.Connection) -> None:
            if fence.current(connection) is None:
                fence.advance(connection, leadership)

        if self.leadership() is None:
            self._consensus.transact(restore)

    def close(self) -> None:
        """Does nothing: the connection is the environment's."""

    def _repeat_until_known(self, work: Callable[[sa.Connection], T]) -> T:
        """Commit ``work``, which may be done twice."""
        try:
            return self._consensus.transact(work)
        except ConsensusOutcomeUnknown:
            return self._consensus.transact(work)

    def _until_known(
        self,
        write: Callable[[sa.Connection], None],
        expected_upper: Timestamp,
        new_upper: Timestamp,
        updates: Sequence[CatalogUpdate],
    ) -> None:
        def write_unless_landed(connection: sa.Connection) -> None:
            if _current_since(connection) > expected_upper:
                raise ConsensusOutcomeUnknown(detail="the catalog was compacted meanwhile")
            if not _is_committed(connection, expected_upper, new_upper, updates):
                write(connection)

        try:
            self._consensus.transact(write)
        except ConsensusOutcomeUnknown:
            # waits for the first to end, so it sees its outcome
            self._consensus.transact(write_unless_landed)


def _current_upper(connection: sa.Connection) -> Timestamp:
    return _first(connection.execute(_UPPER).all())


def _current_since(connection: sa.Connection) -> Timestamp:
    return _first(connection.execute(sa.select(_since.c.since)).all())


def _first(times: Sequence[sa.Row[Any]]) -> Timestamp:
    return Timestamp(times[0][0]) if times else MINIMUM


def _check_readable(connection: sa.Connection, at: Timestamp) -> None:
    since = _current_since(connection)
    if at < since:
        raise NotReadable("catalog", at=at, since=since, upper=_current_upper(connection))


def _raise_since(connection: sa.Connection, to: Timestamp) -> None:
    upper = _current_upper(connection)
    if to > upper:
        raise CatalogError(
            f"the catalog cannot be compacted below {to}", detail=f"its upper is {upper}"
        )
    if to <= _current_since(connection):
        return
    if connection.execute(sa.update(_since).values(since=to)).rowcount == 0:
        connection.execute(sa.insert(_since).values(id=1, since=to))


def _cancelling(connection: sa.Connection, below: Timestamp) -> list[list[dict[str, object]]]:
    """The primary keys, in batches, of updates at times below ``below`` that cancel; none if there
    are no more.

    Updates that cancel each other are in one batch.
    """
    c = _updates.c
    row = (c.kind, c.key, c.value)
    retracted = sa.select(*row).where(c.ts < below, c.diff < 0)
    query = (
        sa.select(*row, c.ts, c.diff)
        .where(c.ts < below, sa.tuple_(*row).in_(retracted))
        .order_by(*row, c.ts)
    )
    updates = (
        _update(*stored)
        for stored in connection.execution_options(yield_per=DELETED_AT_ONCE).execute(query)
    )
    batches: list[list[dict[str, object]]] = []
    for _, group in groupby(updates, key=lambda update: (update.kind, update.key, update.value)):
        if not batches or len(batches[-1]) >= DELETED_AT_ONCE:
            if len(batches) * DELETED_AT_ONCE >= READ_AT_ONCE:
                break
            batches.append([])
        batches[-1] += [
            {f"p_{name}": getattr(u, name) for name in ("ts", "kind", "key", "diff")}
            for u in cancelling(group)
        ]
    return [batch for batch in batches if batch]


def _delete(batch: Sequence[Mapping[str, object]], connection: sa.Connection) -> int:
    """Delete the updates. Returns how many still existed."""
    is_in_batch = [column == sa.bindparam(f"p_{column.name}") for column in _updates.primary_key]
    deleted = connection.execute(sa.delete(_updates).where(*is_in_batch), batch).rowcount
    failpoint("catalog.stash.compact.before_commit")
    return deleted


def _check_upper(connection: sa.Connection, expected: Timestamp) -> None:
    upper = _current_upper(connection)
    if upper != expected:
        raise UpperMismatch(CATALOG, expected=expected, found=upper)


def _write(
    connection: sa.Connection, new_upper: Timestamp, updates: Sequence[CatalogUpdate], call: str
) -> None:
    if updates:
        connection.execute(sa.insert(_updates), [_row(update) for update in updates])
    failpoint(f"catalog.stash.{call}.updates_written")
    if connection.execute(sa.update(_upper).values(upper=new_upper)).rowcount == 0:
        connection.execute(sa.insert(_upper).values(id=1, upper=new_upper))
    failpoint(f"catalog.stash.{call}.before_commit")


def _chosen(only: Collection[str] | None) -> sa.ColumnElement[bool]:
    return (
        _updates.c.kind.not_in(sorted(APPEND_ONLY))
        if only is None
        else _updates.c.kind.in_(sorted(only))
    )


def _check_complete(connection: sa.Connection, upper: Timestamp) -> None:
    newest = connection.execute(sa.select(sa.func.max(_updates.c.ts))).scalar_one()
    if newest is not None and newest >= upper:
        raise CatalogCorrupt(
            "update",
            str(newest),
            detail=f"there are updates at this time, but the catalog's upper is {upper}",
        )


def _is_committed(
    connection: sa.Connection,
    expected_upper: Timestamp,
    new_upper: Timestamp,
    updates: Sequence[CatalogUpdate],
) -> bool:
    c = _updates.c
    query = sa.select(c.kind, c.key, c.value, c.ts, c.diff).where(
        c.ts >= expected_upper, c.ts < new_upper
    )
    return _current_upper(connection) >= new_upper and {
        _update(*row) for row in connection.execute(query)
    } == set(updates)


def _update(kind: str, key: str, value: str, ts: int, diff: int) -> CatalogUpdate:
    return CatalogUpdate(kind, key, value, Timestamp(ts), int(diff))


def _row(update: CatalogUpdate) -> dict[str, object]:
    return {
        "ts": update.ts,
        "kind": update.kind,
        "key": update.key,
        "value": update.value,
        "diff": update.diff,
    }
