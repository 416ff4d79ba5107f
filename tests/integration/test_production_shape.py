"""The shape of docker/compose.yaml without containers: PostgreSQL, an S3 store, a Spark standalone cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.objects import s3_client

RECLOCK = str(Path(sys.executable).with_name("reclock"))


@pytest.mark.spark
def test_a_source_is_reclocked_over_s3_postgresql_and_a_spark_cluster(
    tmp_path: Path, s3_endpoint: str, postgres_url: str, spark_cluster: str
) -> None:
    client = s3_client(s3_endpoint)
    for bucket in ("production-lake", "production-landing"):
        client.create_bucket(Bucket=bucket)
    environment = os.environ | {
        "RECLOCK_HOME": str(tmp_path),
        "RECLOCK_CONSENSUS_URL": postgres_url,
        "RECLOCK_LAKE": "s3://production-lake/lake",
        "RECLOCK_BUCKETS": "s3://",
        "RECLOCK_S3_ENDPOINT": s3_endpoint,
        "RECLOCK_S3_ACCESS_KEY_ID": "test",
        "RECLOCK_S3_SECRET_ACCESS_KEY": "test",
        "RECLOCK_SPARK_MASTER": spark_cluster,
        "RECLOCK_SPARK_DRIVER_MEMORY": "1g",
    }

    def reclock(*arguments: str, **variables: str) -> str:
        done = subprocess.run([RECLOCK, *arguments], env=environment | variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def select(query: str, **variables: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in reclock("sql", "--format", "json", "-c", query, **variables).splitlines()]

    reclock("init")
    reclock(
        "sql",
        "-c",
        "CREATE SOURCE trips (city text, n integer) FROM S3 DISCOVER OBJECTS MATCHING 'trips/*.csv' "
        "USING BUCKET SCAN 'production-landing' FORMAT CSV WITH HEADER; "
        "CREATE MATERIALIZED VIEW cities AS SELECT city, sum(n) AS n FROM trips GROUP BY city",
    )
    client.put_object(Bucket="production-landing", Key="trips/a.csv", Body=b"city,n\nOslo,1\nRome,2\n")
    reclock("tick")
    [before] = select("SELECT max(mz_timestamp) AS t FROM trips_progress")
    client.put_object(Bucket="production-landing", Key="trips/a.csv", Body=b"city,n\nOslo,1\nRome,2\nOslo,5\n")
    reclock("tick")

    now = [{"city": "Oslo", "n": 6}, {"city": "Rome", "n": 2}]
    assert select("SELECT * FROM cities ORDER BY city") == now
    assert select(f"SELECT * FROM cities ORDER BY city AS OF {before['t']}") == [
        {"city": "Oslo", "n": 1},
        {"city": "Rome", "n": 2},
    ]
    # the same from the collections of the lake, read by Spark through s3a
    on_spark = select(
        "SELECT city, sum(n) AS n FROM trips GROUP BY city ORDER BY city",
        RECLOCK_SPARK_THRESHOLD_BYTES="0",
        RECLOCK_HOME=str(tmp_path),
    )
    assert on_spark == now
