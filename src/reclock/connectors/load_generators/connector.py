"""Load generators: sources without an upstream, for trying things out. An offset is a tick.

The rows of an offset are a pure function of the offset, so any range can be read again at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.connectors.connector import Bound, Evidence, Increment, Skip, remaining_ranges
from reclock.connectors.load_generators.noise import Numbers, noise
from reclock.connectors.load_generators.tpch import Tpch
from reclock.definitions.sources import LoadGenerator
from reclock.reclocking.remap import BoundRange

TASK_OFFSETS = 250_000
"""How many ticks one task generates."""

ORGANIZATIONS, USERS_EACH, BIDS_EACH = 4, 4, 10
_USERS = ORGANIZATIONS * USERS_EACH
_ITEMS = ("Signed Memorabilia", "City Bar Crawl", "Best Pizza in Town", "Gift Basket", "Custom Art")
_AUCTION_MS = 10_000
_TICK_BYTES = {"COUNTER": 16, "AUCTION": 64 + BIDS_EACH * 40, "TPCH": 2_048}
"""About how many bytes a tick generates after the first."""


@dataclass(frozen=True, slots=True)
class Generator:
    """A load generator, as a ``reclock.connectors.connector.Connector``. It ticks from ``start`` to
    ``now``, in one partition."""

    upstream: LoadGenerator
    outputs: Mapping[str, RelationDesc]
    start: Timestamp
    now: Timestamp

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        return self.probe_until(bound, Timestamp(self.now + 1), skips)

    def probe_until(
        self, bound: Bound, moment: Timestamp, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        lower = bound[()][0] if () in bound else 0
        every_ms, since_start = self.upstream.tick_interval_ms, moment - 1 - self.start
        upper = since_start // every_ms + 1 if every_ms else int(since_start >= 0)
        return [Increment((), lower, upper, upper - lower)] if upper > lower else []

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment:
        return claimed

    def recall(
        self, ranges: Sequence[BoundRange], bound: Bound, skips: Sequence[Skip] = ()
    ) -> list[Increment]:
        return [
            Increment((), bound_range.lower, bound_range.upper, bound_range.size)
            for bound_range in ranges
        ]

    def tasks(
        self, increments: Sequence[Increment], skips: Sequence[Skip]
    ) -> list[tuple[int, int]]:
        ranges = [
            remaining
            for increment in increments
            for remaining in remaining_ranges((), increment.lower, increment.upper, skips)
        ]
        return [
            (at, min(at + TASK_OFFSETS, upper))
            for lower, upper in ranges
            for at in range(lower, upper, TASK_OFFSETS)
        ]

    def read(self, task: tuple[int, int]) -> Iterator[tuple[str, pa.Table]]:
        if self.upstream.kind == "TPCH":
            yield from Tpch(self.upstream.scale_factor).read(*task, self.outputs)
            return
        make = _COUNTER if self.upstream.kind == "COUNTER" else _AUCTION
        ticks = np.arange(*task, dtype=np.int64)
        for output, desc in self.outputs.items():
            columns = make[output](self, ticks)
            fields = [*arrow_schema(desc, with_updates=False), pa.field(DIFF_COLUMN, pa.int64())][
                : len(columns)
            ]
            arrays = [
                pa.array(column).cast(field.type)
                for column, field in zip(columns, fields, strict=True)
            ]
            yield output, pa.table(arrays, [field.name for field in fields])

    def size_bytes(self, task: tuple[int, int]) -> int:
        lower, upper = task
        size_bytes = (upper - lower) * _TICK_BYTES[self.upstream.kind]
        if self.upstream.kind == "TPCH" and lower == 0:
            size_bytes += int(self.upstream.scale_factor * (1 << 30))
        return size_bytes

    def acknowledge(self, published: Sequence[Increment]) -> None:
        """There is no upstream to notify."""

    def _moments(self, ticks: Numbers, after_ms: int | Numbers = 0) -> pa.Array:
        return pa.array(
            (self.start + ticks * self.upstream.tick_interval_ms + after_ms) * 1000
        ).cast(pa.timestamp("us", "UTC"))


def _counter(generator: Generator, ticks: Numbers) -> Sequence[object]:
    """Tick ``t`` inserts ``t + 1``; with a cardinality ``n`` it deletes the number from ``n`` ticks
    ago."""
    inserted, limit = ticks + 1, generator.upstream.max_cardinality
    if limit is None:
        return [inserted]
    deleted = inserted[inserted > limit] - limit
    return [np.concatenate([inserted, deleted]), np.repeat([1, -1], [len(inserted), len(deleted)])]


def _organizations(generator: Generator, ticks: Numbers) -> Sequence[object]:
    ids = np.arange(ORGANIZATIONS if 0 in ticks else 0)
    return [ids, [f"organization {id}" for id in ids] or pa.array([], pa.string())]


def _users(generator: Generator, ticks: Numbers) -> Sequence[object]:
    ids = np.arange(_USERS if 0 in ticks else 0)
    return [ids, ids // USERS_EACH, [f"user {id}" for id in ids] or pa.array([], pa.string())]


def _accounts(generator: Generator, ticks: Numbers) -> Sequence[object]:
    ids = np.arange(_USERS if 0 in ticks else 0)
    return [ids, ids // USERS_EACH, noise(ids, 1) % 10_000]


def _auctions(generator: Generator, ticks: Numbers) -> Sequence[object]:
    ids = ticks[ticks > 0]
    items = pa.array(_ITEMS).take(pa.array(noise(ids, 2) % len(_ITEMS)))
    return [ids, noise(ids, 3) % _USERS, items, generator._moments(ids, _AUCTION_MS)]


def _bids(generator: Generator, ticks: Numbers) -> Sequence[object]:
    auctions = np.repeat(ticks[ticks > 0], BIDS_EACH)
    nth = np.tile(np.arange(BIDS_EACH), len(auctions) // BIDS_EACH)
    ids = (auctions - 1) * BIDS_EACH + nth
    times = generator._moments(auctions, nth * (_AUCTION_MS // BIDS_EACH))
    return [ids, noise(ids, 4) % _USERS, auctions, noise(ids, 5) % 100 + 1, times]


_Make = Callable[[Generator, Numbers], Sequence[object]]
_COUNTER: Mapping[str, _Make] = {"": _counter}
_AUCTION: Mapping[str, _Make] = {
    "organizations": _organizations,
    "users": _users,
    "accounts": _accounts,
    "auctions": _auctions,
    "bids": _bids,
}
