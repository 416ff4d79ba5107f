"""``python -m benchmarks [NAME …]``: run the named benchmarks, or all, and print their figures."""

from __future__ import annotations

import argparse

from benchmarks import (
    airflow_ticks,
    catalog,
    clusters,
    definitions,
    hot_rows,
    ingestion,
    introspection,
    kafka,
    lag,
    merges,
    nexmark,
    notifications,
    oracle,
    postgres,
    recursion,
    server,
    sinks,
    statements,
    tables,
    ticks,
    tpch,
    upserts,
    views,
    wire_ceiling,
)

BENCHMARKS = {
    "airflow_ticks": airflow_ticks.main,
    "catalog": catalog.main,
    "clusters": clusters.main,
    "definitions": definitions.main,
    "hot_rows": hot_rows.main,
    "ingestion": ingestion.main,
    "introspection": introspection.main,
    "kafka": kafka.main,
    "lag": lag.main,
    "merges": merges.main,
    "nexmark": nexmark.main,
    "notifications": notifications.main,
    "oracle": oracle.main,
    "postgres": postgres.main,
    "recursion": recursion.main,
    "server": server.main,
    "sinks": sinks.main,
    "statements": statements.main,
    "tables": tables.main,
    "ticks": ticks.main,
    "tpch": tpch.main,
    "upserts": upserts.main,
    "views": views.main,
    "wire_ceiling": wire_ceiling.main,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], help="which; all if none")
    for name in parser.parse_args().names or BENCHMARKS:
        print(f"== {name}", flush=True)
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
