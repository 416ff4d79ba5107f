"""The 22 queries of TPC-H as materialized views, refreshed while orders are replaced.

For each query: our refresh, the refresh of an equal view that recomputes it, our own engine
computing the query anew for a ``SELECT``, Spark computing it anew from plain Delta tables into
one more, and Spark Declarative Pipelines refreshing a materialized view over them
(``BENCH_SPARK=0`` leaves both out). Then one command refreshes all of them, as a tick does, beside
a run of the whole pipeline. At the end, the first refreshes after a restart, and what the state
takes that they build. ``BENCH_SCALE`` is the scale factor, ``BENCH_CHANGED`` the share of orders
that each of ``BENCH_BATCHES`` batches replaces, after ``BENCH_WARM_UPS`` others. After the last
batch, what is maintained is compared with what is computed anew.

``BENCH_GROWTH=10`` measures instead how a refresh depends on the size of the base: the same number of
orders is replaced at the scale factor and at ten times it.

``BENCH_COMPARED=20`` checks instead of measuring: after each of so many batches, all views are
refreshed in one command, and equal what Spark computes from the changelogs in the lake.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import functions as f

from benchmarks.figures import timed
from benchmarks.pipelines import Pipelines
from benchmarks.tpch_queries import TPCH_VIEWS
from reclock.adapter.context.results import Result
from reclock.adapter.session.session import Session
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.compute.costs import RefreshChoice, RefreshCosts
from reclock.compute.maintenance import MaintenanceMode
from reclock.connectors.load_generators.tpch import Tpch
from reclock.definitions.load_generators import GENERATED
from reclock.pipeline import cluster_steps, source_steps, tick
from reclock.protocol.compute import Refresh, Refreshed
from reclock.runtime.environment import Environment

SCALE = float(os.environ.get("BENCH_SCALE", "0.1"))
CHANGED = float(os.environ.get("BENCH_CHANGED", "0.001"))
BATCHES = int(os.environ.get("BENCH_BATCHES", "3"))
WARM_UPS = int(os.environ.get("BENCH_WARM_UPS", "3"))
"""Batches that are not measured. A replica builds what it looks rows up in at the first one, and
learns in the next ones which way of refreshing is the cheaper."""
WITH_SPARK = os.environ.get("BENCH_SPARK", "1") == "1"
GROWTH = float(os.environ.get("BENCH_GROWTH", "0"))
COMPARED = int(os.environ.get("BENCH_COMPARED", "0"))
QUERIES = os.environ.get("BENCH_QUERIES", "").split() or list(TPCH_VIEWS)

_AVERAGE_IN_SPARK = "CAST(0.9 * (sum(l_quantity) / count(*)) AS DECIMAL(38, 10))"
"""What query 17 compares quantities with. An average has six digits after the point in Spark, so that
nine tenths of 80 / 3 would be more than 24."""

_RECOMPUTED = "_recomputed"
"""What the name of a view ends with whose refreshes recompute it."""

Rows = list[tuple[Any, ...]]


def main() -> None:
    if GROWTH:
        growth()
        return
    if COMPARED:
        compare()
        return
    orders = Tpch(SCALE).orders
    replaced = max(int(orders * CHANGED), 1)
    print(
        f"scale factor {SCALE:g}; each of {BATCHES} batches replaces {replaced} of {orders} orders"
    )
    with tempfile.TemporaryDirectory() as folder:
        now = [Timestamp(1_700_000_000_000)]
        with (
            Environment.initialise(Path(folder) / "home", clock=lambda: now[0]) as environment,
            ExitStack() as stack,
        ):
            ours = _Ours(environment, SCALE)
            ours.tick()
            print(f"built in {timed(ours.refresh_all):.1f} s")
            peer = stack.enter_context(_Peer(ours, Path(folder))) if WITH_SPARK else None
            seconds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

            def batches(count: int) -> Iterator[None]:
                for _ in range(count):
                    now[0] = Timestamp(now[0] + 1000 * replaced)
                    ours.tick()
                    yield

            for _ in batches(WARM_UPS):
                print(f"warmed up in {timed(ours.refresh_all):.1f} s", flush=True)
            with ours.recomputed_views():
                for _ in batches(BATCHES):
                    if peer is not None:
                        peer.take()
                    for name in QUERIES:
                        _measure(name, ours, peer, seconds[name])
            rounds = defaultdict(list)
            for _ in batches(BATCHES):
                rounds["refresh"].append(timed(partial(ours.refresh, *QUERIES)))
                if peer is not None:
                    peer.take()
                    rounds["pipeline"].append(timed(partial(peer.pipelines.refresh, *QUERIES)))
            for name in QUERIES:
                assert ours.maintained(name) == sorted(ours.anew(name), key=repr), name
            _print(seconds, {name: ours.how[name] for name in QUERIES})
            whole = [f"{side} {median(listed):.2f} s" for side, listed in rounds.items()]
            print(f"all in one command: {'; '.join(whole)}")
        with Environment.open(
            Path(folder) / "home", clock=lambda: now[0], is_long_lived=True
        ) as environment:
            ours = _Ours(environment, SCALE)
            for number in ("first", "second", "third"):
                now[0] = Timestamp(now[0] + 1000 * replaced)
                ours.tick()
                seconds_taken = timed(ours.refresh_all)
                memory, disk = environment.runtime.engines.small.state_bytes()
                print(
                    f"after a restart, {number} refresh of all: {seconds_taken:.1f} s; partial "
                    f"aggregates {memory / 1e6:.0f} MB, rows by key {disk / 1e6:.0f} MB on disk"
                )


def growth() -> None:
    """The refreshes of the same change over a base that is ``GROWTH`` times as large, next to those
    over the smaller one: in seconds, and in those of processors, which other work does not lengthen
    as much."""
    replaced = max(int(Tpch(SCALE).orders * CHANGED), 1)
    bases = (SCALE, SCALE * GROWTH)
    print(
        f"scale factors {bases[0]:g} and {bases[1]:g}; a batch replaces {replaced} orders in both"
    )
    smaller, larger = (_refreshes(scale, replaced) for scale in bases)
    ratios: list[list[float]] = []
    for name in QUERIES:
        pairs = list(zip(smaller[name], larger[name], strict=True))
        ratios.append([large / small for small, large in pairs])
        shown = [f"{small:.3f} and {large:.3f} s" for small, large in pairs]
        print(f"{name}: refresh {shown[0]} (ratio {ratios[-1][0]:.2f}); processors {shown[1]}")
    medians = [median(listed) for listed in zip(*ratios, strict=True)]
    print(f"larger / smaller: median {medians[0]:.2f}, of processors {medians[1]:.2f}")


def compare() -> None:
    """Compare all views with Spark's answers after each of ``COMPARED`` batches."""
    replaced = max(int(Tpch(SCALE).orders * CHANGED), 1)
    print(f"scale factor {SCALE:g}; each of {COMPARED} batches replaces {replaced} orders")
    now = [Timestamp(1_700_000_000_000)]
    with (
        tempfile.TemporaryDirectory() as folder,
        Environment.initialise(Path(folder) / "home", clock=lambda: now[0]) as environment,
    ):
        ours = _Ours(environment, SCALE)
        ours.tick()
        ours.refresh_all()
        lake = _LakeOnSpark(environment, Path(folder))
        for batch in range(1, COMPARED + 1):
            now[0] = Timestamp(now[0] + 1000 * replaced)
            ours.tick()
            seconds = timed(partial(ours.refresh, *QUERIES))
            lake.take(ours)
            for name in QUERIES:
                mine, theirs = ours.maintained(name), lake.anew(name)
                assert _are_equal(mine, theirs), (batch, name, mine, theirs)
            print(
                f"batch {batch}: refreshed in {seconds:.1f} s; {len(QUERIES)} views equal Spark's "
                f"answers, {sum(how == 'recomputed' for how in ours.how.values())} of them "
                "recomputed",
                flush=True,
            )


def _are_equal(mine: Rows, theirs: Rows) -> bool:
    """Whether the rows are the same in some order, but for the digits of quotients: Spark has six
    after the point."""

    def in_order(rows: Rows) -> Rows:
        return sorted(rows, key=lambda row: [(v is None, 0 if v is None else v) for v in row])

    def is_equal(one: Any, other: Any) -> bool:
        is_quotient = isinstance(one, Decimal) and other is not None
        return abs(one - other) <= Decimal("1e-6") if is_quotient else bool(one == other)

    return len(mine) == len(theirs) and all(
        all(map(is_equal, *pair)) for pair in zip(in_order(mine), in_order(theirs), strict=True)
    )


def _refreshes(scale: float, replaced: int) -> dict[str, tuple[float, float]]:
    """The median seconds of each query's refresh, and of the processors' time it took, over a base
    of this scale factor."""
    now = [Timestamp(1_700_000_000_000)]
    durations: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with (
        tempfile.TemporaryDirectory() as folder,
        Environment.initialise(Path(folder) / "home", clock=lambda: now[0]) as environment,
    ):
        ours = _Ours(environment, scale)
        ours.tick()
        ours.refresh_all()
        for batch in range(WARM_UPS + BATCHES):
            now[0] = Timestamp(now[0] + 1000 * replaced)
            ours.tick()
            for name in QUERIES:
                began = time.process_time()
                seconds = timed(partial(ours.refresh, name))
                if batch >= WARM_UPS:
                    durations[name].append((seconds, time.process_time() - began))
    return {
        name: (median(wall for wall, _ in listed), median(cpu for _, cpu in listed))
        for name, listed in durations.items()
    }


def _measure(name: str, ours: _Ours, peer: _Peer | None, seconds: dict[str, list[float]]) -> None:
    seconds["refresh"].append(timed(partial(ours.refresh, name)))
    seconds["recomputed"].append(timed(partial(ours.recompute, name)))
    seconds["anew"].append(timed(partial(ours.anew, name)))
    if peer is not None:
        seconds["spark"].append(timed(partial(peer.anew, name)))
        seconds["pipeline"].append(timed(partial(peer.pipelines.refresh, name)))


def _print(seconds: dict[str, dict[str, list[float]]], how: dict[str, str]) -> None:
    ratios: dict[str, list[float]] = defaultdict(list)
    total = 0.0
    for name, sides in seconds.items():
        mine = median(sides["refresh"])
        total += mine
        line = f"{name}: refresh {mine:.3f} s"
        for side in ("recomputed", "anew", "spark", "pipeline"):
            if side in sides:
                theirs = median(sides[side])
                ratios[side].append(mine / theirs)
                line += f"; {side} {theirs:.3f} s (ratio {mine / theirs:.2f})"
        print(f"{line}  [{how[name]}]")
    print(f"all: refresh {total:.2f} s")
    for side, listed in ratios.items():
        print(f"refresh / {side}: median {median(listed):.2f}, worst {max(listed):.2f}", end=", ")
        print(f"below 1 in {sum(r < 1 for r in listed)} of {len(listed)}")


@dataclass
class _Ours:
    environment: Environment
    scale: float
    how: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._session = Session(self.environment)
        self.sql(
            f"CREATE SOURCE IF NOT EXISTS tpch FROM LOAD GENERATOR TPCH (SCALE FACTOR {self.scale:g}, TICK "
            "INTERVAL '1s') FOR ALL TABLES"
        )
        for name in QUERIES:
            self.sql(f"CREATE MATERIALIZED VIEW IF NOT EXISTS {name} AS {TPCH_VIEWS[name]}")
        self._follow_catalog()

    def _follow_catalog(self) -> None:
        cluster_steps.refresh(self.environment, "default", self.at, owner="bench")
        catalog = self.environment.stores.planner_catalog()
        self._controller = self.environment.control_plane.compute_controller(
            catalog.clusters["default"]
        )
        assert catalog.snapshot is not None
        self._catalog_ts = catalog.snapshot.content_upper
        self._ids = {
            index.name.item.removesuffix("_primary_idx"): index.id for index in catalog.indexes()
        }

    @contextmanager
    def recomputed_views(self) -> Iterator[None]:
        """Within the block, each query has a second view, for ``recompute``."""
        for name in QUERIES:
            self.sql(f"CREATE MATERIALIZED VIEW {name}{_RECOMPUTED} AS {TPCH_VIEWS[name]}")
        self._follow_catalog()
        yield
        for name in QUERIES:
            self.sql(f"DROP MATERIALIZED VIEW {name}{_RECOMPUTED}")
        self._follow_catalog()

    def sql(self, text: str) -> Rows:
        results = [result for result in self._session.execute(text) if isinstance(result, Result)]
        return [row for result in results for row in result.rows()]

    def tick(self) -> None:
        at = tick.allocate(self.environment)
        [name] = source_steps.source_names(self.environment)
        source_steps.ingest(self.environment, name, at, owner="bench")
        source_steps.audit(self.environment, [name], owner="bench")
        source_steps.publish(self.environment, [name], at, owner="bench")

    @property
    def at(self) -> Timestamp:
        return self.environment.stores.oracle.read_ts(EPOCH_MS)

    def refresh(self, *names: str) -> None:
        ids = tuple(self._ids[name] for name in names)
        outcomes = self._controller.refresh(Refresh(ids, self.at, "bench", self._catalog_ts))
        for name, done in zip(names, outcomes, strict=True):
            assert isinstance(done, Refreshed), (name, done)
            assert done.error is None, (name, done.error)
            self.how[name] = str(done.how)

    def recompute(self, name: str) -> None:
        """Refresh the query's second view without its changes."""
        recomputing = RefreshChoice(MaintenanceMode.RECOMPUTED)
        with mock.patch.object(RefreshCosts, "choose", return_value=recomputing):
            self.refresh(name + _RECOMPUTED)

    def refresh_all(self) -> None:
        for name in QUERIES:
            self.refresh(name)

    def anew(self, name: str) -> Rows:
        return self.sql(f"SELECT * FROM ({TPCH_VIEWS[name]}) AS anew")

    def maintained(self, name: str) -> Rows:
        return sorted(self.sql(f"SELECT * FROM {name}"), key=repr)

    def table(self, name: str) -> pa.Table:
        [result] = self._session.execute(f"SELECT * FROM {name}")
        assert isinstance(result, Result)
        return pa.Table.from_batches(result.batches)


class _Peer:
    """Spark over plain Delta tables of the same rows."""

    def __init__(self, ours: _Ours, folder: Path) -> None:
        self.folder = folder
        self._ours = ours
        self._spark = ours.environment.runtime.engines.spark()
        self.take()
        self.pipelines = Pipelines(ours.environment.stores.settings, folder, QUERIES)

    def __enter__(self) -> _Peer:
        return self

    def __exit__(self, *error: object) -> None:
        self.pipelines.close()

    def take(self) -> None:
        """Replace the rows of the tables by those of now."""
        for name in GENERATED["TPCH"]:
            path = str(self.folder / name)
            write_deltalake(path, self._ours.table(name), mode="overwrite")
            self._spark.read.format("delta").load(path).createOrReplaceTempView(name)

    def anew(self, name: str) -> None:
        rows = self._spark.sql(TPCH_VIEWS[name])
        named = rows.toDF(*(f"c{index}" for index in range(len(rows.columns))))
        named.write.format("delta").mode("overwrite").save(str(self.folder / "views" / name))


@dataclass
class _LakeOnSpark:
    """Spark over the Delta tables of the source's collections."""

    environment: Environment
    folder: Path

    def __post_init__(self) -> None:
        self._spark = self.environment.runtime.engines.spark()

    def take(self, ours: _Ours) -> None:
        """Make the rows as of now the tables of the queries. They are written to files, so that not
        each query sums up the updates."""
        stores = self.environment.stores
        collections = {
            entry.name.item: entry.collection for entry in stores.planner_catalog().relations()
        }
        for name in GENERATED["TPCH"]:
            folder = stores.lake.folder_of(collections[name])
            updates = self._spark.read.format("delta").load(folder.uri)
            columns = [
                column for column in updates.columns if column not in (TIME_COLUMN, DIFF_COLUMN)
            ]
            counted = (
                updates.where(f"{TIME_COLUMN} <= {ours.at:d}")
                .groupBy(*columns)
                .agg(f.sum(DIFF_COLUMN).alias("copies"))
                .where("copies <> 0")
            )
            rows = counted.selectExpr(*columns, "explode(sequence(1, copies)) AS copy")
            path = str(self.folder / "rows" / name)
            rows.drop("copy").write.mode("overwrite").parquet(path)
            self._spark.read.parquet(path).createOrReplaceTempView(name)

    def anew(self, name: str) -> Rows:
        query = TPCH_VIEWS[name].replace("0.9 * avg(l_quantity)", _AVERAGE_IN_SPARK)
        return [tuple(row) for row in self._spark.sql(query).collect()]


if __name__ == "__main__":
    main()
