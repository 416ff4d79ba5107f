"""Sources that share the transactions of one connector: at every time each of them holds exactly
its part of what is bound then.

Guests come and go, the connector begins again, two drivers meet, and each may be stopped at any
point between two durable steps.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from fixtures.debezium import Connector, event
from fixtures.memory_topics import Topics
from fixtures.objects import World, no_spark
from hypothesis import given, settings
from hypothesis import strategies as st

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import INTEGER, Column, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.definitions.connections import broker
from reclock.definitions.formats import JsonFormat
from reclock.definitions.sources import DebeziumConnector, SourceSpec
from reclock.errors import ClaimConflict, NotBegun, NotReadable, UnknownCollection, UpperMismatch

TABLES = ("a", "b", "c")
DESC = RelationDesc((Column("id", INTEGER, is_nullable=False),))
UPSTREAM = DebeziumConnector(broker("nowhere:1"), "shop.transaction")
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""A folder whose fsync costs nothing, where there is one."""
HOST = SourceSpec(
    GlobalId("u4"), "bank", UPSTREAM, JsonFormat(), RelationDesc(()), {"public.a": DESC}
)
POINTS = [
    "ingest.after_probe",
    "ingest.after_claim",
    "ingest.after_claimed",
    "ingest.after_bind",
    "ingest.after_bound",
    "ingest.after_stage",
    "ingest.after_staged",
    "ingest.before_commit",
    "collections.commit.landed",
    "ingest.after_commit",
    "ingest.after_publish",
]


class Killed(BaseException):
    """The process is gone."""


@contextmanager
def at_point(point: str, nth: int, happens: Callable[[], None]) -> Iterator[None]:
    """The ``nth`` time that ``point`` is reached, something happens."""
    places = [point] * nth

    def reach(name: str) -> None:
        if name == point and places:
            places.pop()
            if not places:
                happens()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reclock.failpoints.on_reach", reach)
        yield


@dataclass
class Shop:
    """A connector, its readers, and everything that was ever told."""

    home: Path
    topics: Topics = field(default_factory=Topics)
    transactions: list[list[str]] = field(default_factory=list)
    written: int = 0
    guests: dict[GlobalId, tuple[str, ...]] = field(default_factory=dict)
    clock: Iterator[int] = field(default_factory=lambda: count(10, 10))
    ids: Iterator[int] = field(default_factory=lambda: count(5))

    def __post_init__(self) -> None:
        self.connector = Connector(self.topics, "shop")  # type: ignore[arg-type]
        for name in ("transaction", *(f"public.{table}" for table in TABLES)):
            self.topics.create(f"shop.{name}")
        self.world = self.opened()

    def opened(self) -> World:
        return World(self.home, no_spark, (HOST,))

    # --- upstream ---

    def write(self, tables: list[str], upto: int | None = None) -> None:
        self.transactions.append(tables)
        self.tell(len(self.transactions) - 1, upto)

    def tell(self, number: int, upto: int | None = None) -> None:
        """One transaction, or the beginning of it."""
        changes = [
            (table, event("c", None, {"id": number * 100 + place}))
            for place, table in enumerate(self.transactions[number])
        ]
        self.connector.transaction(number, changes, upto)
        self.written = number if upto is not None else number + 1

    def begin_again(self, back: int) -> None:
        """It sends what it has sent before, from some transaction on."""
        for number in range(max(0, self.written - back), len(self.transactions)):
            self.tell(number)

    # --- guests ---

    def welcome(self, tables: tuple[str, ...]) -> None:
        guest = GlobalId(f"u{next(self.ids)}")
        self.guests[guest] = tables
        for table in tables:
            self.world.lake.create(
                StorageCollectionId.of_guest(HOST.id, guest, f"public.{table}"), DESC
            )

    def dismiss(self, which: int) -> None:
        if self.guests:
            guest = sorted(self.guests)[which % len(self.guests)]
            del self.guests[guest]
            for id in self.world.lake.of_guests([guest]):
                self.world.lake.drop(id)

    # --- drivers ---

    def tick(self, owner: str = "driver") -> None:
        self.now = next(self.clock)
        self.world.tick(self.now, owner)

    def meet(self, tables: tuple[str, ...]) -> None:
        """Another driver, with a time from before, and with a guest that the first has not seen."""
        self.welcome(tables)
        self.world.tick(self.now - 5, "rival")

    def disturbed(self, point: str, nth: int, happens: Callable[[], None]) -> None:
        """A tick in the middle of which something happens: whoever lost a race or its life is
        followed by another."""
        with (
            at_point(point, nth, happens),
            suppress(Killed, ClaimConflict, UpperMismatch, UnknownCollection),
        ):
            self.tick("first")
        self.world.close()
        self.world = self.opened()
        claim = self.world.frontiers.get(HOST.id).claim
        if claim is not None:
            # as if the lease had run out
            self.world.frontiers.amend(HOST.id, claim, claim.payload, lease_ms=0)
        self.tick("second")

    # --- the law ---

    def outputs(self) -> dict[str, str]:
        """Table by output."""
        late = {
            f"public.{table}@{guest}": table
            for guest, tables in self.guests.items()
            for table in tables
        }
        return {"public.a": "a"} | late

    def check(self) -> None:
        upper = self.world.frontiers.get(HOST.id).upper
        collections = self.world.source_collections(HOST)
        bound = self.world.mapping(HOST)
        begins = {name: collections.outputs[name].pin().begins for name in self.outputs()}
        times = {time for _, time, _ in bound} | {
            time for time in begins.values() if time < MAXIMUM
        }
        for time in sorted(times | {upper - 1}):
            if time >= upper:
                continue
            end = sum(
                size
                for partition, at, size in bound
                if partition == "shop.transaction/0" and at <= time
            )
            log = self.topics.kept["shop.transaction"][:end]
            known_tables = {
                number
                for number in range(len(self.transactions))
                if any(f'"{number}:200"'.encode() in (m or b"") for m in log)
            }
            for name, table in self.outputs().items():
                version = collections.outputs[name].pin()
                if time < begins[name]:
                    with pytest.raises((NotBegun, NotReadable)):
                        version.snapshot(Timestamp(time))
                    continue
                rows = {
                    row["id"]: row["mz_diff"]
                    for row in version.snapshot(Timestamp(time)).to_pylist()
                }
                part = {
                    n * 100 + i: 1
                    for n in known_tables
                    for i, t in enumerate(self.transactions[n])
                    if t == table
                }
                assert rows == part, (name, time)


places = st.lists(st.sampled_from([*TABLES, "unread"]), min_size=1, max_size=4)
tables = st.sampled_from([("b",), ("a", "c"), ("c",), ("a", "b")])
steps = st.one_of(
    st.tuples(st.just("write"), places),
    st.tuples(st.just("interrupted"), places, st.integers(0, 2)),
    st.tuples(st.just("deliver"), st.randoms(use_true_random=False)),
    st.tuples(st.just("welcome"), tables),
    st.tuples(st.just("dismiss"), st.integers(0, 3)),
    st.tuples(st.just("tick")),
    st.tuples(st.just("killed"), st.sampled_from(POINTS), st.integers(1, 3)),
    st.tuples(st.just("met"), st.sampled_from(POINTS[:1]), tables),
    st.tuples(st.just("left"), st.sampled_from(POINTS), st.integers(0, 3)),
)


def killed() -> None:
    raise Killed


@given(st.lists(steps, min_size=4, max_size=14))
@settings(max_examples=6, deadline=None)
def test_at_every_time_each_source_holds_its_part_of_what_is_bound(
    plan: list[tuple[Any, ...]],
) -> None:
    with TemporaryDirectory(dir=MEMORY) as home, pytest.MonkeyPatch.context() as patch:
        shop = Shop(Path(home))
        shop.topics.serve(patch)
        shop.write(["a", "b"])
        shop.connector.deliver()
        for kind, *how in plan:
            match kind, how:
                case "write", [written]:
                    shop.write(written)
                case "interrupted", [written, back]:
                    shop.write(written, upto=len(written) // 2)
                    shop.begin_again(back)
                case "deliver", [chance]:
                    shop.connector.deliver(chance)
                case "welcome", [wanted]:
                    shop.welcome(wanted)
                case "dismiss", [which]:
                    shop.dismiss(which)
                case "tick", _:
                    shop.tick()
                case "killed", [point, nth]:
                    shop.disturbed(point, nth, killed)
                case "met", [point, wanted]:
                    shop.disturbed(point, 1, partial(shop.meet, wanted))
                case "left", [point, which]:
                    shop.disturbed(point, 1, partial(shop.dismiss, which))
            shop.check()
        shop.connector.deliver()
        for _ in range(3):
            shop.tick("second")
            shop.check()
        collections = shop.world.source_collections(HOST)
        assert all(collections.outputs[name].pin().begins < MAXIMUM for name in shop.outputs())
        known_count = sum(
            size
            for partition, _, size in shop.world.mapping(HOST)
            if partition == "shop.transaction/0"
        )
        assert known_count == len(shop.topics.kept["shop.transaction"])
        shop.world.close()
