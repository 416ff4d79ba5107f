"""A warm Spark Connect server of an environment: one Spark application that many short processes share."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark

from reclock.clusters.session import configuration
from reclock.config import Settings


def command(settings: Settings, port: int) -> list[str]:
    """The command line of the server, bound to loopback. Its settings go into a file only its owner reads, for they hold secrets."""
    options = configuration(settings) | {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    }
    properties = settings.home / "spark-connect.conf"
    properties.touch(mode=0o600)
    properties.write_text("".join(f"{name} {value}\n" for name, value in options.items()))
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    known = ["--master", settings.spark_master, "--name", "reclock", "--properties-file", str(properties)]
    return [submit, *known, "--class", server, "spark-internal"]


def serve(settings: Settings, port: int) -> int:
    """Run the server in the foreground until it is stopped; answers its exit code."""
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    return subprocess.run(command(settings, port), env=environment).returncode
