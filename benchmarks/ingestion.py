"""Reclocked ingestion of CSV objects, or Parquet files, audit on, against plain Spark reading the
same files into plain Delta; both warm."""

from __future__ import annotations

import csv
import os
import random
import tempfile
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.figures import paired
from reclock.adapter.session.session import Session
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

IS_PARQUET = os.environ.get("BENCH_FORMAT", "csv") == "parquet"
ROWS = int(os.environ.get("BENCH_ROWS", "2000000"))
OBJECTS = 8
RUNS = 3
COLUMNS = (
    "id BIGINT, at TIMESTAMP, carrier STRING, origin STRING, dest STRING, "
    "delay INT, distance DOUBLE, fare DECIMAL(10,2), note STRING"
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with Environment.initialise(home) as environment:
            _compare(environment, home)


def _compare(environment: Environment, home: Path) -> None:
    spark = environment.runtime.engines.spark()
    session = Session(environment)
    numbers = count()

    def lay_out(number: int, rows: int) -> Path:
        target = home / "buckets" / "bench" / f"run{number}"
        target.mkdir(parents=True)
        for part in range(OBJECTS):
            _write(target / f"part-{part}.csv", rows // OBJECTS, seed=part)
            if IS_PARQUET:
                _to_parquet(target / f"part-{part}.csv")
        return target

    def prepare(rows: int) -> tuple[int, Path]:
        number = next(numbers)
        target = lay_out(number, rows)
        columns = (
            COLUMNS.replace("STRING", "text")
            .replace("DOUBLE", "double precision")
            .replace("DECIMAL", "numeric")
        )
        text = (
            f"CREATE SOURCE run{number} ({columns}) FROM S3 DISCOVER OBJECTS MATCHING "
            f"'run{number}/*' USING BUCKET SCAN 'bench' "
            f"FORMAT {'PARQUET' if IS_PARQUET else 'CSV WITH HEADER'}"
        )
        list(session.execute(text))
        return number, target

    def ours(number: int, rows: int) -> None:
        report = tick.run(environment, only=[f"run{number}"], owner="bench")
        assert report.succeeded, report.summary()
        assert sum(report.published.rows.values()) == rows

    def theirs(number: int, target: Path) -> None:
        frame = (
            spark.read.parquet(str(target))
            if IS_PARQUET
            else spark.read.schema(COLUMNS).option("header", True).csv(str(target))
        )
        frame.write.format("delta").mode("append").save(str(home / "plain" / f"run{number}"))

    number, target = prepare(20_000)  # warm both
    ours(number, 20_000)
    theirs(number, target)
    runs = [prepare(ROWS) for _ in range(RUNS)]
    reclocked, plain = iter(runs), iter(runs)
    mine, spark_alone = paired(
        lambda: ours(next(reclocked)[0], ROWS), lambda: theirs(*next(plain)), runs=RUNS
    )
    size = sum(path.stat().st_size for path in runs[0][1].iterdir())
    print(f"{ROWS} rows in {OBJECTS} objects, {size / 1e6:.0f} MB")
    print(f"reclock, with audit:      {mine}; {ROWS / mine.median:,.0f} rows/s")
    print(f"Spark into plain Delta:   {spark_alone}; {ROWS / spark_alone.median:,.0f} rows/s")
    print(f"ratio of rows per second: {spark_alone.median / mine.median:.2f}")


def _to_parquet(path: Path) -> None:
    """Write an object's rows as a Parquet file in its place."""
    types = {
        "delay": pa.int32(),
        "at": pa.timestamp("us"),
        "fare": pa.decimal128(10, 2),
    }
    options = pyarrow.csv.ConvertOptions(
        column_types=types, timestamp_parsers=["%Y-%m-%d %H:%M:%S"]
    )
    rows = pyarrow.csv.read_csv(path, convert_options=options)
    moments = rows["at"].cast(pa.timestamp("us", "UTC"))
    rows = rows.set_column(rows.schema.get_field_index("at"), "at", moments)
    pq.write_table(rows, path.with_suffix(".parquet"))
    path.unlink()


def _write(path: Path, rows: int, *, seed: int) -> None:
    chance = random.Random(seed)
    places = ["JFK", "LGA", "EWR", "BOS", "SFO", "LAX"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["id", "at", "carrier", "origin", "dest", "delay", "distance", "fare", "note"]
        )
        for row in range(rows):
            moment = f"2013-{1 + row % 12:02}-{1 + row % 28:02} {row % 24:02}:{row % 60:02}:00"
            fare = f"{chance.random() * 1000:.2f}"
            note = f"row {row} of {seed}"
            writer.writerow(
                [
                    row,
                    moment,
                    "UA",
                    chance.choice(places),
                    chance.choice(places),
                    chance.randint(-20, 200),
                    chance.random() * 3000,
                    fare,
                    note,
                ]
            )
