"""Nexmark's queries 0 to 8 as materialized views over three sources, next to Spark reading the same
CSV objects as they come.

The peer of a query is Structured Streaming into Delta where that has the query (a projection, or a
join of streams). The others aggregate what a join or an aggregate gives, or rank rows, which
Structured Streaming does not do: their peer is Spark computing the query anew into Delta.

Events a second and core: a batch's ``BENCH_EVENTS`` events, divided by the processors' seconds of all
processes. Ours are those of the ingestion, audit on, which is counted in full for each query, and of
the view's refresh. At the end all results are compared.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.csv

from reclock.adapter.context.results import Result
from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS
from reclock.pipeline import cluster_steps, source_steps, tick
from reclock.runtime.environment import Environment

EVENTS = int(os.environ.get("BENCH_EVENTS", "100000"))
BATCHES = int(os.environ.get("BENCH_BATCHES", "3"))
WARM_UPS = 2

STREAMS = {
    "person": "id BIGINT, name {text}, city {text}, state {text}, moment BIGINT",
    "auction": (
        "id BIGINT, seller BIGINT, category BIGINT, reserve BIGINT, moment BIGINT, expires BIGINT"
    ),
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, moment BIGINT",
}
"""Moments are milliseconds."""

_FINAL = """(SELECT auction.id, seller, category, expires, max(price) AS final FROM auction JOIN bid
    ON auction.id = bid.auction WHERE bid.moment BETWEEN auction.moment AND expires
    GROUP BY auction.id, seller, category, expires) AS f"""
_COUNTS = """(SELECT auction, bid.moment - bid.moment % 2000 - back AS start, count(*) AS n FROM bid
    CROSS JOIN (VALUES (0), (2000), (4000), (6000), (8000)) AS s (back)
    GROUP BY auction, bid.moment - bid.moment % 2000 - back)"""
_WINDOWS = "(SELECT *, moment - moment % 10000 AS start FROM {})"
QUERIES = {
    "q0": "SELECT auction, bidder, price, moment FROM bid",
    "q1": "SELECT auction, bidder, price * 908 AS thousandths, moment FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """SELECT name, city, state, auction.id FROM auction JOIN person ON seller = person.id
        WHERE category = 10 AND state IN ('OR', 'ID', 'CA')""",
    "q4": f"SELECT category, sum(final) AS total, count(*) AS n FROM {_FINAL} GROUP BY category",
    "q5": f"""SELECT c.auction, c.start, c.n FROM {_COUNTS} AS c JOIN
        (SELECT start, max(n) AS n FROM {_COUNTS} AS d GROUP BY start) AS m
        ON c.start = m.start AND c.n = m.n""",
    "q6": f"""SELECT seller, id, sum(final) OVER (PARTITION BY seller ORDER BY expires, id
        ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS total FROM {_FINAL}""",
    "q7": f"""SELECT auction, bidder, b.price, moment FROM {_WINDOWS.format("bid")} AS b JOIN
        (SELECT start, max(price) AS price FROM {_WINDOWS.format("bid")} AS c GROUP BY start) AS m
        ON b.start = m.start AND b.price = m.price""",
    "q8": f"""SELECT p.id, name, p.start, reserve FROM {_WINDOWS.format("person")} AS p JOIN
        {_WINDOWS.format("auction")} AS a ON p.id = seller AND p.start = a.start""",
}
STREAMING = {"q0", "q1", "q2", "q3", "q8"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with Environment.initialise(home) as environment:
            _compare(environment, home)


def _compare(environment: Environment, home: Path) -> None:
    for name in STREAMS:
        (home / "buckets" / "nexmark" / name).mkdir(parents=True)
    events, ours, peer = (
        _Events(home / "buckets" / "nexmark"),
        _Ours(environment),
        _Peer(environment, home),
    )
    seconds: dict[str, list[float]] = defaultdict(list)
    for batch in range(WARM_UPS + BATCHES):
        events.write(EVENTS)
        batch_seconds = {"ingestion": _cpu(ours.ingest)}
        for name in QUERIES:
            batch_seconds[name] = _cpu(partial(ours.refresh, name))
            batch_seconds[f"{name} of Spark"] = _cpu(partial(peer.run, name))
        for label, took in batch_seconds.items():
            if batch >= WARM_UPS:
                seconds[label].append(took)
    print(f"{BATCHES} batches of {EVENTS} events after {WARM_UPS}, per second and core")
    ratios = []
    for name in QUERIES:
        assert ours.rows(name) == peer.rows(name), name
        mine = median(seconds["ingestion"]) + median(seconds[name])
        theirs = median(seconds[f"{name} of Spark"])
        ratios.append(theirs / mine)
        how = "Structured Streaming" if name in STREAMING else "Spark, anew"
        print(
            f"{name}: {EVENTS / mine:,.0f} (the refresh alone {EVENTS / median(seconds[name]):,.0f}); "
            f"{how} {EVENTS / theirs:,.0f}; ratio {ratios[-1]:.1f}"
        )
    print(f"median ratio {median(ratios):.1f}, least {min(ratios):.1f}")


def _cpu(work: Callable[[], object]) -> float:
    """The processors' seconds that all processes of this one spend on ``work``."""
    began = _spent()
    work()
    return _spent() - began


def _spent() -> float:
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (own, *own.children(recursive=True)))


@dataclass
class _Events:
    """One event a millisecond; of 50 events one is a person, three are auctions, and 46 bids."""

    bucket: Path
    _count: int = 0
    _chance: random.Random = field(default_factory=lambda: random.Random(0))

    def write(self, count: int) -> None:
        rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in STREAMS}
        for number in range(self._count, self._count + count):
            name = "person" if number % 50 == 0 else "auction" if number % 50 < 4 else "bid"
            rows[name].append(getattr(self, f"_{name}")(number))
        for name, listed in rows.items():
            names = [column.split()[0] for column in STREAMS[name].split(", ")]
            table = pa.table(dict(zip(names, zip(*listed, strict=True), strict=True)))
            pa.csv.write_csv(table, self.bucket / name / f"{self._count:012}.csv")
        self._count += count

    def _person(self, number: int) -> tuple[Any, ...]:
        city, state = self._chance.choice(
            [("Portland", "OR"), ("Boise", "ID"), ("Fresno", "CA"), ("Kent", "WA"), ("Waco", "TX")]
        )
        return number // 50, f"person {number}", city, state, number

    def _auction(self, number: int) -> tuple[Any, ...]:
        chance = self._chance
        seller = max(0, number // 50 - chance.choice([0, chance.randrange(100)]))
        category, reserve = 10 + chance.randrange(5), chance.randrange(10_000)
        id = number // 50 * 3 + number % 50 - 1
        return id, seller, category, reserve, number, number + 1000 + chance.randrange(19_000)

    def _bid(self, number: int) -> tuple[Any, ...]:
        chance, newest = self._chance, number // 50 * 3 + 2
        auction = newest - newest % 100 if chance.random() < 0.5 else newest - chance.randrange(100)
        bidder = chance.randrange(number // 50 + 1)
        return max(0, auction), bidder, int(100 * 10 ** (chance.random() * 5)), number


@dataclass
class _Ours:
    """Each view in a cluster of its own, so that each is refreshed alone."""

    environment: Environment

    def __post_init__(self) -> None:
        self._session = Session(self.environment)
        for name, columns in STREAMS.items():
            self.rows_of(
                f"CREATE SOURCE {name} ({columns.format(text='text')}) FROM S3 DISCOVER OBJECTS "
                f"MATCHING '{name}/*.csv' USING BUCKET SCAN 'nexmark' FORMAT CSV WITH HEADER"
            )
        for name, query in QUERIES.items():
            self.rows_of(f"CREATE CLUSTER {name} VIRTUAL")
            self.rows_of(f"CREATE MATERIALIZED VIEW {name} IN CLUSTER {name} AS {query}")

    def rows_of(self, text: str) -> list[tuple[Any, ...]]:
        results = [result for result in self._session.execute(text) if isinstance(result, Result)]
        return [row for result in results for row in result.rows()]

    def ingest(self) -> None:
        at = tick.allocate(self.environment)
        names = source_steps.source_names(self.environment)
        for name in names:
            source_steps.ingest(self.environment, name, at, owner="bench")
        source_steps.audit(self.environment, names, owner="bench")
        source_steps.publish(self.environment, names, at, owner="bench")

    def refresh(self, name: str) -> None:
        at = self.environment.stores.oracle.read_ts(EPOCH_MS)
        report = cluster_steps.refresh(self.environment, name, at, owner="bench")
        assert not report.failed, report

    def rows(self, name: str) -> list[str]:
        return _comparable(self.rows_of(f"SELECT * FROM {name}"))


@dataclass
class _Peer:
    environment: Environment
    home: Path

    def __post_init__(self) -> None:
        self._spark = self.environment.runtime.engines.spark()

    def run(self, name: str) -> None:
        is_stream = name in STREAMING
        for stream, columns in STREAMS.items():
            reader = self._spark.readStream if is_stream else self._spark.read
            frame = (
                reader.schema(columns.format(text="STRING"))
                .option("header", True)
                .csv(str(self.home / "buckets" / "nexmark" / stream))
            )
            frame.createOrReplaceTempView(stream)
        answer, target = self._spark.sql(QUERIES[name]), str(self.home / "peer" / name)
        if not is_stream:
            answer.write.format("delta").mode("overwrite").save(target)
            return
        writer = answer.writeStream.format("delta").trigger(availableNow=True)
        checkpoint = str(self.home / "checkpoints" / name)
        writer.option("checkpointLocation", checkpoint).start(target).awaitTermination()

    def rows(self, name: str) -> list[str]:
        path = str(self.home / "peer" / name)
        return _comparable([*map(tuple, self._spark.read.format("delta").load(path).collect())])


def _comparable(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(str([int(v) if not isinstance(v, str) else v for v in row]) for row in rows)


if __name__ == "__main__":
    main()
