"""Writes the archive of Spark's classes, from a session that lives for this purpose."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path
from typing import Any, cast

import pyspark

from reclock.clusters import session
from reclock.clusters.class_archive import SILENT, path
from reclock.clusters.spark_options import configuration
from reclock.config import Settings


def write(folder: Path) -> None:
    """Write the archive for the jars in ``folder``. It appears only when it is complete. Raises
    ``ConfigurationError`` if Spark does not start."""
    path(folder).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        written = Path(scratch, "classes.jsa")
        settings = Settings.load(scratch).model_copy(
            update={"spark_jars": str(folder), "spark_master": "local[1]", "spark_remote": ""}
        )
        options = configuration(settings)["spark.driver.extraJavaOptions"]
        archiving = {
            "spark.driver.extraJavaOptions": (
                f"{options} -XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit={written} {SILENT}"
            ),
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port := _free_port()),
        }
        spark = session.start(settings.model_copy(update={"spark_conf": archiving}))
        try:
            _load_classes(spark, scratch, port)
        finally:
            _end(spark)
        if written.exists():
            with written.open("rb") as archive:
                os.fsync(archive.fileno())  # Java would crash with a part of one
            os.replace(written, path(folder))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _load_classes(spark: Any, scratch: str, port: int) -> None:
    """Do what sessions do: in Spark SQL, with Delta and Parquet files, with rows of Python, and as
    the client of a server at ``port``."""
    spark.range(100).selectExpr("id % 7 AS k", "id AS n", "string(id) AS t").write.format(
        "delta"
    ).save(f"{scratch}/delta")
    rows = spark.read.format("delta").load(f"{scratch}/delta")
    rows.mapInArrow(lambda batches: batches, rows.schema).write.parquet(f"{scratch}/parquet")
    spark.read.parquet(f"{scratch}/parquet").createOrReplaceTempView("rows")
    spark.sql(_QUERY).toArrow()

    from pyspark.sql.connect.session import SparkSession

    remote = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    remote.sql("SELECT count(*) AS n FROM range(10)").toArrow()
    remote.stop()


_QUERY = """
WITH sums AS (
    SELECT k, sum(n) AS total, count(DISTINCT t) AS texts, max(t) AS latest,
        CAST(sum(n) AS DECIMAL(38, 9)) AS exact
    FROM rows GROUP BY k
)
SELECT rows.*, total, latest, exact, date_trunc('DAY', timestamp_seconds(n)) AS day,
    row_number() OVER (PARTITION BY rows.k ORDER BY n) AS place
FROM rows LEFT JOIN sums ON rows.k = sums.k AND n < total
WHERE n > 3 AND t NOT LIKE '%7' AND EXISTS (SELECT 1 FROM sums WHERE sums.k = rows.k)
UNION ALL SELECT k, 0, latest, total, NULL, exact, NULL, texts FROM sums
ORDER BY k, n
"""


def _end(spark: Any) -> None:
    """Stop the session and wait until its Java process has ended, which writes the archive."""
    gateway = cast(Any, pyspark.SparkContext)._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    cast(Any, pyspark.SparkContext)._gateway = cast(Any, pyspark.SparkContext)._jvm = None
