"""Recursive queries over a graph, next to DuckDB's own ``WITH RECURSIVE`` over the same rows, and
refreshes of the same queries as views after new edges.

The closure of a forest, and the nodes that can be reached from one in a random graph. ``BENCH_EDGES``
is the number of edges of each.
"""

from __future__ import annotations

import os
import random
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.figures import paired, timed
from reclock.adapter.context.results import Result
from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS
from reclock.pipeline import cluster_steps
from reclock.runtime.environment import Environment

EDGES = int(os.environ.get("BENCH_EDGES", "100000"))
NEW = 100
RUNS = 3

STEPS = {
    "closure": "SELECT a, b FROM {name} UNION SELECT r.a, e.b FROM r JOIN {name} AS e ON e.a = r.b",
    "reached": "SELECT 0, 0 UNION SELECT 0, e.b FROM r JOIN {name} AS e ON e.a = r.b",
}
CLAUSES = ("RECURSIVE r (a, b)", "MUTUALLY RECURSIVE r (a int, b int)")


def main() -> None:
    chance = random.Random(1)
    graphs = {
        "closure": [(chance.randrange(node), node) for node in range(1, EDGES + NEW + 1)],
        "reached": [
            (chance.randrange(EDGES // 4), chance.randrange(EDGES // 4)) for _ in range(EDGES + NEW)
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        with Environment.initialise(Path(folder) / "home") as environment:
            for name, edges in graphs.items():
                _measure(environment, name, edges)


def _measure(environment: Environment, name: str, edges: list[tuple[int, int]]) -> None:
    session = Session(environment)

    def sql(text: str) -> list[tuple[Any, ...]]:
        results = [result for result in session.execute(text) if isinstance(result, Result)]
        return [row for result in results for row in result.rows()]

    def insert(rows: list[tuple[int, int]]) -> None:
        sql(f"INSERT INTO {name} VALUES {', '.join(map(str, rows))}")

    def refresh() -> None:
        at = environment.stores.oracle.read_ts(EPOCH_MS)
        report = cluster_steps.refresh(environment, "default", at, owner="bench")
        assert not report.failed

    sql(f"CREATE TABLE {name} (a int, b int)")
    for first in range(0, EDGES, 10_000):
        insert(edges[first : min(first + 10_000, EDGES)])
    database = duckdb.connect(config={"threads": os.cpu_count() or 1})
    peer_edges = pa.table(dict(zip("ab", zip(*edges[:EDGES], strict=True), strict=True)))
    database.register("arrow", peer_edges)
    database.execute(f"CREATE TABLE {name} AS SELECT a::INT AS a, b::INT AS b FROM arrow")
    step = STEPS[name].format(name=name)

    def theirs() -> Any:
        return database.sql(
            f"WITH RECURSIVE r (a, b) AS ({step}) SELECT count(*), sum(b) FROM r"
        ).fetchall()[0]

    for clause in CLAUSES:
        query = f"WITH {clause} AS ({step}) SELECT count(*), sum(b) FROM r"
        assert [tuple(map(int, row)) for row in sql(query)] == [tuple(map(int, theirs()))]
        mine, other = paired(partial(sql, query), theirs, runs=RUNS)
        ratio = mine.median / other.median
        print(f"{name}, {clause}: {mine}; DuckDB {other}; ratio {ratio:.2f}", flush=True)
    for number, clause in enumerate(CLAUSES):
        sql(
            f"CREATE MATERIALIZED VIEW {name}{number} AS WITH {clause} AS ({step}) SELECT a, b FROM r"
        )
    print(f"{name}: both views built in {timed(refresh):.2f} s")
    for part in range(2):
        insert(edges[EDGES + part * NEW // 2 : EDGES + (part + 1) * NEW // 2])
        print(f"{name}: {NEW // 2} new edges, both views refreshed in {timed(refresh):.2f} s")
    for row in sql(
        "SELECT name, how, updates, duration_ns / 1000000 FROM mz_internal."
        "mz_compute_last_refreshes JOIN mz_indexes ON id = export_id"
    ):
        print(row)
