"""The shape of docker/compose.yaml without containers: PostgreSQL, an S3 store, a Spark standalone
cluster."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyspark
import pytest
from fixtures import forks
from fixtures.objects import s3_client

from reclock.algebra.timestamps import EPOCH_MS
from reclock.runtime import task_replica
from reclock.runtime.environment import Environment

SPARK_SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
JOBS = Path(__file__).parents[2] / "jobs"


@pytest.mark.spark
def test_a_source_is_reclocked_over_s3_postgresql_and_a_spark_cluster(
    tmp_path: Path,
    s3_endpoint: str,
    postgres_url: str,
    spark_cluster: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = s3_client(s3_endpoint)
    for bucket in ("production-lake", "production-landing"):
        client.create_bucket(Bucket=bucket)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    settings = {
        "RECLOCK_HOME": str(tmp_path),
        "RECLOCK_CONSENSUS_URL": postgres_url,
        "RECLOCK_LAKE": "s3://production-lake/lake",
        "RECLOCK_BUCKETS": "s3://",
        "RECLOCK_S3_ENDPOINT": s3_endpoint,
        "RECLOCK_S3_ACCESS_KEY_ID": "test",
        "RECLOCK_S3_SECRET_ACCESS_KEY": "hidden",
        "RECLOCK_SPARK_MASTER": spark_cluster,
        "RECLOCK_SPARK_DRIVER_MEMORY": "1g",
        "RECLOCK_STAGING_THRESHOLD_BYTES": "0",
    }

    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    def reclock(*arguments: str) -> str:
        done = forks.completed(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def select(query: str) -> list[dict[str, object]]:
        rows = reclock("sql", "--format", "json", "-c", query)
        return [json.loads(line) for line in rows.splitlines()]

    reclock("init")
    reclock(
        "sql",
        "-c",
        "CREATE SOURCE trips (city text, n integer) FROM S3 DISCOVER OBJECTS MATCHING "
        "'trips/*.csv' "
        "USING BUCKET SCAN 'production-landing' FORMAT CSV WITH HEADER; "
        "CREATE MATERIALIZED VIEW cities AS SELECT city, sum(n) AS n FROM trips GROUP BY city",
    )
    client.put_object(
        Bucket="production-landing", Key="trips/a.csv", Body=b"city,n\nOslo,1\nRome,2\n"
    )
    reclock("tick")
    [before] = select("SELECT max(mz_timestamp) AS t FROM trips_progress")
    client.put_object(
        Bucket="production-landing", Key="trips/a.csv", Body=b"city,n\nOslo,1\nRome,2\nOslo,5\n"
    )
    reclock("tick")

    now = [{"city": "Oslo", "n": 6}, {"city": "Rome", "n": 2}]
    assert select("SELECT * FROM cities ORDER BY city") == now
    assert select(f"SELECT * FROM cities ORDER BY city AS OF {before['t']}") == [
        {"city": "Oslo", "n": 1},
        {"city": "Rome", "n": 2},
    ]
    # from the collections of the lake, read by Spark through s3a, in a JVM that is there before
    # this environment is known to it
    reclock(
        "sql",
        "-c",
        "CREATE CLUSTER dormant SIZE '1'; "
        "CREATE MATERIALIZED VIEW sizes IN CLUSTER dormant AS SELECT length(city) AS "
        "length, sum(n) AS n FROM trips GROUP BY 1",
    )
    with Environment.open(tmp_path) as opened:
        at = opened.stores.oracle.read_ts(EPOCH_MS)
        job: Any
        [job] = task_replica.submissions(opened, but=["default"], at=at, owner="submitter")
    options = [f"--conf={name}={value}" for name, value in job["conf"].items()]
    command = [SPARK_SUBMIT, *options, str(JOBS / "work_cluster.py"), *job["application_args"]]
    assert not any("hidden" in word for word in command)
    process = subprocess.run(
        command,
        env=os.environ | {"RECLOCK_SPARK_THRESHOLD_BYTES": "0"},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "sizes" in process.stdout
    assert "hidden" not in process.stdout + process.stderr
