"""With what Spark is started for an environment. Imports nothing of Spark."""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from reclock.clusters import class_archive, jars
from reclock.compute.engines.spool import Spool
from reclock.config import Settings
from reclock.errors import ConfigurationError

_LOCAL_MASTERS = ("local", "spark://127.0.0.1", "spark://localhost")
_LOGGING = files("reclock.clusters").joinpath("log4j2.properties")

MEMORY_BOUNDS = {
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "2000",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.buffer.pageSize": "4m",
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushRatio": "15",
}
"""What bounds the memory of a driver. Spark remembers jobs even without its UI, and the plan of a
large query has megabytes of text. Its parser remembers what it learned of each text, which after
some thousands of different queries filled a driver of 2 GB; it forgets all when that takes 15 %. A
page is the least memory of each sort, aggregate and broadcast relation, up to 64 MB by default: a
query of eight joins of small tables took 500 MB. A task has at most 8,192 pages, 32 GiB."""


_SHOWN_JARS = 3
"""How many of the missing jars an error names."""


def configuration(settings: Settings) -> dict[str, str]:
    """Spark's settings for this environment, without the master. Raises ``ExtraNotInstalled``, and
    ``ConfigurationError`` if jars are missing."""
    jars.spark_folder()  # without Spark, its jars cannot be fetched either
    folder = Path(settings.spark_jars) if settings.spark_jars else jars.default_folder()
    absent = jars.missing(folder, jars.pinned())
    if absent:
        raise ConfigurationError(
            f'Spark jars are missing in "{folder}"',
            detail=", ".join(jar.file_name for jar in absent[:_SHOWN_JARS])
            + (f" and {more} more" if (more := len(absent) - _SHOWN_JARS) > 0 else ""),
            hint='run "reclock jars"',
        )
    options = {
        "spark.driver.extraClassPath": f"{folder}/*",
        "spark.executor.extraClassPath": f"{folder}/*",
        "spark.driver.memory": settings.spark_driver_memory,
        "spark.driver.extraJavaOptions": " ".join(
            [f"-Dlog4j2.configurationFile={_LOGGING}", *class_archive.java_options(folder)]
        ),
        "spark.ui.enabled": "false",
        **MEMORY_BOUNDS,
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.warehouse.dir": tempfile.gettempdir() + "/reclock-warehouse",
    }
    if settings.spark_master.startswith(_LOCAL_MASTERS):
        options |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if settings.lake_root.startswith("s3"):
        options |= _object_store(settings)
    return options | settings.spark_conf


def _object_store(settings: Settings) -> dict[str, str]:
    """Hadoop's s3a for ``s3://`` addresses, with a committer that uploads in parts instead of
    renaming."""
    options = {
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint.region": settings.s3_region,
        "spark.hadoop.fs.s3a.committer.name": "magic",
        "spark.hadoop.mapreduce.outputcommitter.factory.scheme.s3": "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory",
        "spark.hadoop.fs.s3a.committer.magic.enabled": "true",
    }
    if settings.s3_endpoint:
        options |= {
            "spark.hadoop.fs.s3a.endpoint": settings.s3_endpoint,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": str(
                settings.s3_endpoint.startswith("https")
            ).lower(),
        }
    return options


def variables(settings: Settings) -> dict[str, str]:
    """The environment variables for the process that starts Spark. They carry the secrets, because
    everyone can read a command line."""
    variables_ = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    if not settings.spark_master.startswith(_LOCAL_MASTERS):
        del variables_["SPARK_LOCAL_IP"]
    if settings.s3_access_key_id:
        variables_["AWS_ACCESS_KEY_ID"] = settings.s3_access_key_id
        variables_["AWS_SECRET_ACCESS_KEY"] = settings.s3_secret_access_key.get_secret_value()
    return variables_


def credentials(settings: Settings) -> dict[str, str]:
    """The credentials for the lake's bucket, as Hadoop options to set on a running session.
    Environment variables do not reach a JVM that runs already, such as that of a server or of
    spark-submit."""
    if not settings.lake_root.startswith("s3") or not settings.s3_access_key_id:
        return {}
    bucket = f"fs.s3a.bucket.{urlsplit(settings.lake_root).netloc}"
    return {
        f"{bucket}.access.key": settings.s3_access_key_id,
        f"{bucket}.secret.key": settings.s3_secret_access_key.get_secret_value(),
    }


def spool(settings: Settings) -> Spool:
    """The folder in which the session's tasks leave rows for this process: on a local disk if they
    run on this machine, else in the lake."""
    if settings.spark_master.startswith(_LOCAL_MASTERS) and not settings.spark_remote:
        return Spool.of_machine(settings.spill_root)
    return Spool.of_lake(settings.lake_root, settings.lake_options)
