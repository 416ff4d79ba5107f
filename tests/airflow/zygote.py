"""Forks a process for each line ``[script, arguments, environment, output]`` of JSON that it reads,
and prints the process id, then the exit status.

What tasks import is imported before, and the API that they call is made, since that takes longer
than most of them do. What Airflow reads as it is imported is read again from the environment of the
process; its home is that of this one.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback

import airflow.api_fastapi.app
import airflow.api_fastapi.execution_api.app
import airflow.cli.cli_parser
import airflow.dag_processing.dagbag
import airflow.models.asset
import airflow.sdk.execution_time.supervisor
import airflow.sdk.execution_time.task_runner
import great_expectations  # noqa: F401
import pyspark.sql.connect.session  # noqa: F401
from airflow import settings
from sqlalchemy.orm import configure_mappers
from starlette.testclient import TestClient

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
        settings.configure_vars()
        settings.dispose_orm()
        settings.configure_orm()
        settings.configure_logging()
        runpy.run_path(script, run_name="__main__")
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


# the first request makes the API in all its versions, which takes ten seconds
TestClient(airflow.sdk.execution_time.supervisor.in_process_api_server().app).get("/")
configure_mappers()
print("ready", flush=True)
for line in sys.stdin:
    if (pid := os.fork()) == 0:
        work(*json.loads(line))
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
