"""A view over a join and an aggregate, kept up to date while a hundredth of its input comes, and
goes.

Its index refreshed, against Spark computing the view anew, and against the job with MERGE that one
would write for this one view (which takes only rows that come). Peers write plain Delta tables,
warm, from the same rows.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from delta.tables import DeltaTable
from deltalake import write_deltalake
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.figures import Figures, timed
from reclock.adapter.context.results import Result
from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.pipeline import cluster_steps
from reclock.runtime.environment import Environment

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
GROWTH = ROWS // 100
CUSTOMERS, REGIONS = 10_000, 50
BATCHES = 5
VIEW = """CREATE MATERIALIZED VIEW revenue AS SELECT region, count(*) AS orders, sum(amount) AS amount
          FROM orders JOIN customers ON orders.customer = customers.id GROUP BY region"""


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Environment.initialise(Path(folder) / "home") as environment,
    ):
        _compare(_Ours(environment), _Peers(environment.runtime.engines.spark(), Path(folder)))


def _compare(ours: _Ours, peers: _Peers) -> None:
    peers.append(
        "customers",
        pa.table(
            {
                "id": np.arange(CUSTOMERS),
                "region": [f"region {n % REGIONS}" for n in range(CUSTOMERS)],
            }
        ),
    )
    ours.come(0, ROWS)
    peers.append("orders", _orders(0, ROWS))
    print(
        f"{ROWS} orders of {CUSTOMERS} customers in {REGIONS} regions; {GROWTH} come, or "
        "go, a batch"
    )
    print(
        f"at first: index {timed(ours.refresh):.2f} s; Spark "
        f"{timed(peers.recompute):.2f} s; MERGE {timed(peers.merge):.2f} s"
    )
    coming, going = [], []
    for number in range(BATCHES + 1):
        first = ROWS + number * GROWTH
        ours.come(first, GROWTH)
        peers.append("orders", _orders(first, GROWTH))
        coming.append((timed(ours.refresh), timed(peers.recompute), timed(peers.merge)))
        assert ours.totals() == peers.totals("anew") == peers.totals("merged")
    for number in range(BATCHES + 1):
        ours.go(number * GROWTH, GROWTH)
        going.append(timed(ours.refresh))
    # the first warms all
    mine, anew, merged = (Figures(side) for side in zip(*coming[1:], strict=True))
    print(f"index refreshed as orders come:   {mine}")
    print(f"index refreshed as orders go:     {Figures(tuple(going[1:]))}")
    print(f"Spark computes and overwrites:    {anew}; ratio {anew.median / mine.median:.1f}")
    print(f"a hand-written job with MERGE:    {merged}; ratio {merged.median / mine.median:.1f}")


def _orders(first: int, count: int) -> pa.Table:
    ids = np.arange(first, first + count)
    return pa.table({"id": ids, "customer": ids * 7919 % CUSTOMERS, "amount": ids % 1000})


class _Ours:
    """Tables in the place of sources, because their rows may go too."""

    def __init__(self, environment: Environment) -> None:
        self._environment, self._session = environment, Session(environment)
        self._sql(
            "CREATE TABLE orders (id bigint, customer bigint, amount bigint); CREATE "
            "TABLE customers (id bigint, region text)"
        )
        self._sql(
            f"INSERT INTO customers SELECT n, 'region ' || n % {REGIONS} FROM "
            f"generate_series(0, {CUSTOMERS - 1}) AS s (n)"
        )
        self._sql(VIEW)

    def come(self, first: int, count: int) -> None:
        numbers = f"generate_series({first}, {first + count - 1}) AS s (n)"
        self._sql(
            f"INSERT INTO orders SELECT n, n::bigint * 7919 % {CUSTOMERS}, n % 1000 FROM {numbers}"
        )

    def go(self, first: int, count: int) -> None:
        self._sql(f"DELETE FROM orders WHERE id >= {first} AND id < {first + count}")

    def refresh(self) -> None:
        report = cluster_steps.refresh(self._environment, "default", self._at(), owner="bench")
        assert not report.failed

    def totals(self) -> list[tuple[object, ...]]:
        found = self._sql("SELECT region, orders, amount FROM revenue ORDER BY 1")
        return [(region, orders, int(amount)) for region, orders, amount in found]

    def _at(self) -> Timestamp:
        return self._environment.stores.oracle.read_ts(EPOCH_MS)

    def _sql(self, text: str) -> list[tuple[Any, ...]]:
        results = [result for result in self._session.execute(text) if isinstance(result, Result)]
        rows = [row for result in results for row in result.rows()]
        self._environment.stores.tables.apply(through=self._at())
        return rows


@dataclass
class _Peers:
    spark: SparkSession
    home: Path

    def append(self, name: str, rows: pa.Table) -> None:
        write_deltalake(self._path(name), rows, mode="append")

    def recompute(self) -> None:
        orders, customers = (
            self._table("orders"),
            self._table("customers").withColumnRenamed("id", "customer"),
        )
        self._grouped(orders.join(customers, "customer")).write.format("delta").mode(
            "overwrite"
        ).save(self._path("anew"))

    def merge(self) -> None:
        """Structured Streaming over the table of orders, whose new rows are summed and added to the
        totals."""
        if not DeltaTable.isDeltaTable(self.spark, self._path("merged")):
            empty = self.spark.createDataFrame([], "region STRING, orders BIGINT, amount BIGINT")
            empty.write.format("delta").save(self._path("merged"))
        stream = self.spark.readStream.format("delta").load(self._path("orders"))
        writer = stream.writeStream.foreachBatch(self._merge).option(
            "checkpointLocation", self._path("checkpoint")
        )
        writer.trigger(availableNow=True).start().awaitTermination()

    def totals(self, name: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self._table(name).orderBy("region").collect()]

    def _merge(self, batch: DataFrame, _: int) -> None:
        customers = self._table("customers").withColumnRenamed("id", "customer")
        new = self._grouped(batch.join(customers, "customer"))
        merge = (
            DeltaTable.forPath(self.spark, self._path("merged"))
            .alias("old")
            .merge(new.alias("new"), "old.region = new.region")
        )
        added: dict[str, str | Column] = {
            name: f"old.{name} + new.{name}" for name in ("orders", "amount")
        }
        merge.whenMatchedUpdate(set=added).whenNotMatchedInsertAll().execute()

    def _grouped(self, orders: DataFrame) -> DataFrame:
        return orders.groupBy("region").agg(
            f.count("*").alias("orders"), f.sum("amount").alias("amount")
        )

    def _table(self, name: str) -> DataFrame:
        return self.spark.read.format("delta").load(self._path(name))

    def _path(self, name: str) -> str:
        return str(self.home / name)


if __name__ == "__main__":
    main()
