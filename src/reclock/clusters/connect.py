"""A warm Spark Connect server of an environment: one Spark application that many short processes
share."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from reclock.clusters.jars import spark_folder
from reclock.clusters.spark_options import configuration, variables
from reclock.config import Settings
from reclock.config.loopback import is_loopback
from reclock.errors import UnsafeSparkListener

_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105
"""Spark's own variable: its server asks for this token, and PySpark's client sends it."""


def command(settings: Settings, host: str, port: int) -> list[str]:
    """The command line of the server."""
    options = configuration(settings) | {
        "spark.connect.grpc.binding.address": host,
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    }
    submit = str(spark_folder() / "bin" / "spark-submit")
    return [
        submit,
        "--master",
        settings.spark_master,
        "--name",
        "reclock",
        *(f"--conf={name}={value}" for name, value in options.items()),
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    ]


def serve(settings: Settings, host: str, port: int) -> NoReturn:
    """Become the server: this process is Spark's, so a signal to it reaches Spark, and nothing
    outlives it.

    Raises ``UnsafeSparkListener`` if other machines could use the server without a token.
    """
    if not is_loopback(host) and not os.environ.get(_TOKEN):
        raise UnsafeSparkListener(host, _TOKEN)
    words = command(settings, host, port)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(words[0], words, os.environ | variables(settings))  # noqa: S606
