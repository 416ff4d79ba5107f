"""A replica whose size names a Spark standalone master: an application of that master, whose
executors answer and refresh."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from fixtures.replicas import QUICK, killing, processes
from fixtures.server import RECLOCK, start_server
from fixtures.waiting import eventually


@pytest.mark.spark
def test_a_replica_is_an_application_of_its_master(tmp_path: Path, spark_cluster: str) -> None:
    sizes = tmp_path / "sizes.json"
    sizes.write_text(
        json.dumps({"standalone": {"master": spark_cluster, "cores": 1, "memory": "512m"}})
    )
    home = tmp_path / "home"
    variables = QUICK | {
        "RECLOCK_CLUSTER_REPLICA_SIZES": str(sizes),
        "RECLOCK_SPARK_THRESHOLD_BYTES": "0",
        "RECLOCK_SPARK_DRIVER_MEMORY": "512m",
        "RECLOCK_TABLE_APPLY_DELAY_MS": "0",
    }
    with killing(home):
        server = start_server(home, variables)
        try:
            with server.connect() as connection:
                connection.execute("CREATE TABLE t (k int, n int)")
                connection.execute(
                    "INSERT INTO t SELECT k, k * 10 FROM generate_series(1, 100) AS s(k)"
                )
                connection.execute(
                    "CREATE VIEW sums AS SELECT k % 2 AS odd, sum(n) AS n FROM t GROUP BY k % 2"
                )
                connection.execute("CREATE CLUSTER c SIZE 'standalone'")
                connection.execute("CREATE INDEX sums_idx IN CLUSTER c ON sums (odd)")
                subprocess.run(
                    [RECLOCK, "tick"],
                    env=os.environ | variables | {"RECLOCK_HOME": str(home)},
                    check=True,
                )
                connection.execute("SET cluster = c")
                assert connection.execute("SELECT odd, n FROM sums ORDER BY odd").fetchall() == [
                    (0, 25_500),
                    (1, 25_000),
                ]

                def plan() -> str:
                    lines = connection.execute("EXPLAIN SELECT odd, n FROM sums ORDER BY odd")
                    return "\n".join(line for (line,) in lines)

                assert "engine: spark" in plan()
                eventually(lambda: "sums_idx" in plan())  # it may be behind for a moment
            [replica] = processes(home)
            commands = [
                child.as_dict(["cmdline"])["cmdline"] or []
                for child in replica.children(recursive=True)
            ]
            assert any(spark_cluster in " ".join(command) for command in commands)
        finally:
            server.kill()
    eventually(lambda: processes(home) == [])
