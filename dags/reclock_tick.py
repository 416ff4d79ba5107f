"""Publishes what is new in the sources at a new time, and brings indexes and sinks up to it.

    plan ─► source (one for each source with news) ─► clusters ─► announce ─► done

- *plan* allocates the time and asks every source for news. Sources without any are complete up to that time.
- *source* ingests, audits and publishes one source, then refreshes the indexes and emits the sinks that read it. No instance waits
  for another. A source that fails is a red instance: clear it when the cause is gone.
- *clusters* brings all indexes and sinks up to date, those over tables too.
- *announce* makes an event of each change since the last one, whoever published it.
- *done* is red if anything was.

Set the connection `reclock_warm` to a `reclock serve --http` (such as
`AIRFLOW_CONN_RECLOCK_WARM=http://127.0.0.1:9187`), and the work is done there, where everything is
loaded: a tick takes seconds. Without it, or while that process is gone, each task does its work
itself. A task may be cleared and retried at any time: every row is published once.

Every source, table, maintained view and sink is the asset `reclock://<database>/<schema>/<name>`.

The environment is the one at `RECLOCK_HOME`. `RECLOCK_TICK_SCHEDULE`, read when this file is
parsed, is the cron expression: every minute if absent, only triggered if empty.
`RECLOCK_DAG_RETRIES` and others say how tasks are retried, timed out and pooled (see
docs/airflow.md). With the engine `spark-submit`, each source is ingested by
`jobs/ingest_source.py`, submitted through the connection `spark_default`.
"""

from __future__ import annotations

import os
from pathlib import Path

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import Param, TriggerRule, dag

from reclock.airflow.steps import (
    ReclockAnnounceOperator,
    ReclockClustersOperator,
    ReclockPlanOperator,
    ReclockSourceOperator,
)
from reclock.airflow.task_defaults import run_timeout, task_defaults

HOME = os.path.abspath(os.environ.get("RECLOCK_HOME", ".reclock"))
JOBS = str(Path(__file__).resolve().parent.parent / "jobs")


@dag(
    schedule=os.environ.get("RECLOCK_TICK_SCHEDULE", "* * * * *") or None,
    catchup=False,
    max_active_runs=4,
    dagrun_timeout=run_timeout(),
    default_args=task_defaults(),
    is_paused_upon_creation=True,
    tags=["reclock"],
    description=__doc__.partition("\n")[0],
    doc_md=__doc__,
    params={
        "sources": Param(
            [],
            type=["array", "null"],
            items={"type": "string"},
            title="Sources",
            description="Names, one a line. Empty: all sources.",
        ),
        "at": Param(
            None,
            type=["integer", "null"],
            title="Timestamp",
            description=(
                "Write timestamp in milliseconds, later than what was read and not in the "
                "future. Empty: the oracle's next."
            ),
        ),
        "engine": Param(
            "warm",
            enum=["warm", "spark-submit"],
            title="Engine",
            description="What reads the sources: the warm process or the task itself (warm), or a "
            "Spark application for each source (spark-submit).",
        ),
    },
)
def reclock_tick() -> None:
    plan = ReclockPlanOperator(task_id="plan", home=HOME)
    source = ReclockSourceOperator.partial(
        task_id="source",
        home=HOME,
        jobs=JOBS,
        engine="{{ params.engine }}",
        map_index_template="{{ task.source or 'nothing new' }}",
    ).expand_kwargs(plan.output)
    clusters = ReclockClustersOperator(
        task_id="clusters", home=HOME, jobs=JOBS, trigger_rule=TriggerRule.ALL_DONE
    )
    announce = ReclockAnnounceOperator(  # one at a time, so that a change is announced once
        task_id="announce",
        home=HOME,
        trigger_rule=TriggerRule.ALL_DONE,
        max_active_tis_per_dag=1,
    )
    done = EmptyOperator(task_id="done")
    plan >> source >> clusters >> announce >> done
    [source, clusters] >> done


reclock_tick()
