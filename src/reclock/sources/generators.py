"""Load generators: sources without an upstream, so that anyone can try things. An offset is a tick of their own clock.

What an offset holds is a pure function of the offset, so it can be read again at any time, in any pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.reclocking.frontiers import SourceFrontier
from reclock.sources.connector import Bound, Evidence, Increment, Skip, left
from reclock.sources.description import LoadGenerator

TASK_OFFSETS = 250_000
"""How many ticks one task makes."""

ORGANIZATIONS, USERS_EACH, BIDS_EACH = 4, 4, 10
_USERS = ORGANIZATIONS * USERS_EACH
_ITEMS = ("Signed Memorabilia", "City Bar Crawl", "Best Pizza in Town", "Gift Basket", "Custom Art")
_AUCTION_MS = 10_000

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Generator:
    """A load generator, as a ``reclock.sources.connector.Connector``: it ticks from ``start`` to ``now``, in one partition."""

    upstream: LoadGenerator
    outputs: Mapping[str, RelationDesc]
    start: Timestamp
    now: Timestamp

    def probe(self, bound: Bound, skips: Sequence[Skip] = ()) -> list[Increment]:
        return self.probe_until(bound, Timestamp(self.now + 1), skips)

    def probe_until(self, bound: Bound, moment: Timestamp, skips: Sequence[Skip] = ()) -> list[Increment]:
        lower = bound[()][0] if () in bound else 0
        upper = (moment - 1 - self.start) // self.upstream.tick_interval_ms + 1
        return [Increment((), lower, upper, upper - lower)] if upper > lower else []

    def reread(self, claimed: Increment, before: Evidence | None) -> Increment:
        return claimed

    def tasks(self, increments: Sequence[Increment], skips: Sequence[Skip]) -> list[tuple[int, int]]:
        ranges = [found for own in increments for found in left((), own.lower, own.upper, skips)]
        return [(at, min(at + TASK_OFFSETS, upper)) for lower, upper in ranges for at in range(lower, upper, TASK_OFFSETS)]

    def read(self, task: tuple[int, int]) -> Iterator[tuple[str, pa.Table]]:
        make = _COUNTER if self.upstream.kind == "COUNTER" else _AUCTION
        ticks = np.arange(*task, dtype=np.int64)
        for output, desc in self.outputs.items():
            columns = make[output](self, ticks)
            fields = [*arrow_schema(desc, with_updates=False), pa.field(DIFF_COLUMN, pa.int64())][: len(columns)]
            arrays = [pa.array(column).cast(field.type) for column, field in zip(columns, fields, strict=True)]
            yield output, pa.table(arrays, [field.name for field in fields])

    def acknowledge(self, frontier: SourceFrontier) -> None:
        """There is nobody to tell."""

    def dismiss(self) -> None:
        """Nothing is kept."""

    def _moments(self, ticks: Offsets, after_ms: int | Offsets = 0) -> pa.Array:
        return pa.array((self.start + ticks * self.upstream.tick_interval_ms + after_ms) * 1000).cast(pa.timestamp("us", "UTC"))


def _counter(generator: Generator, ticks: Offsets) -> Sequence[object]:
    """Tick ``t`` counts to ``t + 1``; with a cardinality ``n`` the number from ``n`` ticks ago goes."""
    counted, most = ticks + 1, generator.upstream.max_cardinality
    if most is None:
        return [counted]
    gone = counted[counted > most] - most
    return [np.concatenate([counted, gone]), np.repeat([1, -1], [len(counted), len(gone)])]


def _organizations(generator: Generator, ticks: Offsets) -> Sequence[object]:
    ids = np.arange(ORGANIZATIONS if 0 in ticks else 0)
    return [ids, [f"organization {id}" for id in ids] or pa.array([], pa.string())]


def _users(generator: Generator, ticks: Offsets) -> Sequence[object]:
    ids = np.arange(_USERS if 0 in ticks else 0)
    return [ids, ids // USERS_EACH, [f"user {id}" for id in ids] or pa.array([], pa.string())]


def _accounts(generator: Generator, ticks: Offsets) -> Sequence[object]:
    ids = np.arange(_USERS if 0 in ticks else 0)
    return [ids, ids // USERS_EACH, _random(ids, 1) % 10_000]


def _auctions(generator: Generator, ticks: Offsets) -> Sequence[object]:
    ids = ticks[ticks > 0]
    items = pa.array(_ITEMS).take(pa.array(_random(ids, 2) % len(_ITEMS)))
    return [ids, _random(ids, 3) % _USERS, items, generator._moments(ids, _AUCTION_MS)]


def _bids(generator: Generator, ticks: Offsets) -> Sequence[object]:
    auctions = np.repeat(ticks[ticks > 0], BIDS_EACH)
    nth = np.tile(np.arange(BIDS_EACH), len(auctions) // BIDS_EACH)
    ids = (auctions - 1) * BIDS_EACH + nth
    times = generator._moments(auctions, nth * (_AUCTION_MS // BIDS_EACH))
    return [ids, _random(ids, 4) % _USERS, auctions, _random(ids, 5) % 100 + 1, times]


_Make = Callable[[Generator, Offsets], Sequence[object]]
_COUNTER: Mapping[str, _Make] = {"": _counter}
_AUCTION: Mapping[str, _Make] = {
    "organizations": _organizations,
    "users": _users,
    "accounts": _accounts,
    "auctions": _auctions,
    "bids": _bids,
}


def _random(ids: Offsets, salt: int) -> Offsets:
    """A number from 0 on for each id, which looks random and is always the same (splitmix64)."""
    x = (ids.astype(np.uint64) + np.uint64(salt << 40)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)
