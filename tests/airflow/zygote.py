"""Forks a process for each line ``[script, arguments, environment, output]`` of JSON that it reads,
and prints the process id, then the exit status.

What tasks import is imported before, since that takes longer than most of them do. What Airflow reads
as it is imported comes from the environment of this process.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback

import airflow.api_fastapi.app
import airflow.api_fastapi.execution_api.app
import airflow.dag_processing.dagbag
import airflow.models.asset
import airflow.sdk.execution_time.supervisor
import airflow.sdk.execution_time.task_runner  # noqa: F401
import great_expectations  # noqa: F401
import pyspark.sql.connect.session  # noqa: F401

import reclock.pipeline.dag_steps
import reclock.quality.docs  # noqa: F401


def work(script: str, arguments: list[str], environment: dict[str, str], output: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_APPEND), stream)
    sys.argv = [script, *arguments]
    status = 1
    try:
        runpy.run_path(script, run_name="__main__")
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


print("ready", flush=True)
for line in sys.stdin:
    if (pid := os.fork()) == 0:
        work(*json.loads(line))
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
