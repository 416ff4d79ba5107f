"""A warm Spark Connect server of an environment: one Spark application that many short processes
share."""

from __future__ import annotations

import os
import subprocess

from reclock.clusters.jars import spark_folder
from reclock.clusters.spark_options import configuration, variables
from reclock.config import Settings


def command(settings: Settings, port: int) -> list[str]:
    """The command line of the server, bound to loopback."""
    options = configuration(settings) | {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    }
    submit = str(spark_folder() / "bin" / "spark-submit")
    known = [
        "--master",
        settings.spark_master,
        "--name",
        "reclock",
        *(f"--conf={name}={value}" for name, value in options.items()),
    ]
    return [
        submit,
        *known,
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    ]


def serve(settings: Settings, port: int) -> int:
    """Run the server in the foreground until it is stopped. Returns its exit code."""
    environment = os.environ | variables(settings) | {"SPARK_NO_DAEMONIZE": "1"}
    return subprocess.run(command(settings, port), env=environment).returncode
