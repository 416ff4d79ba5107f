"""Gives sources that were created `WITH (START …)` their history, one data interval a run.

    airflow dags unpause reclock_backfill
    airflow backfill create --dag-id reclock_backfill --from-date 2026-03-01 --to-date 2026-03-31

What the upstream had by the end of an interval, and no earlier one has bound, is bound at that end,
so that it can be read `AS OF` it. Ticks leave a source alone until no whole interval is missing;
the last run hands it over. Which sources: `--dag-run-conf '{"sources": ["flights"]}'`, else all
that wait for their history. Runs that are repeated change nothing.

    airflow dags trigger reclock_backfill --conf '{"sources": ["flights"], "rebuild": true}'

reads again what is bound already, whatever the interval, and makes the sources' relations anew: the
same rows at the same times.

The environment is the one at `RECLOCK_HOME`. `RECLOCK_BACKFILL_INTERVALS`, read when this file is
parsed, is the cron expression of the moments between two intervals; every midnight (UTC) if absent.
Nothing is ever scheduled; the runs of a backfill begin with the oldest. However many of them are
active, a source waits in *await_turn* until it has all earlier intervals: also while one of them is
red, until that is cleared.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import Param, TriggerRule, dag, task, task_group

from reclock.airflow.task_defaults import task_defaults
from reclock.airflow.timetable import BackfillTimetable

if TYPE_CHECKING:
    from reclock.pipeline.backfill import BackfillInterval
    from reclock.runtime.environment import Environment

HOME = os.path.abspath(os.environ.get("RECLOCK_HOME", ".reclock"))


def environment() -> Environment:
    """Joined anew by each task; imported within the task, for this file is parsed often."""
    from reclock.runtime.environment import Environment

    return Environment.open(HOME)


def interval(begin: datetime, end: datetime) -> BackfillInterval:
    from reclock.algebra.timestamps import Timestamp
    from reclock.pipeline.backfill import BackfillInterval

    return BackfillInterval(
        Timestamp(round(begin.timestamp() * 1000)), Timestamp(round(end.timestamp() * 1000))
    )


@dag(
    schedule=BackfillTimetable(
        os.environ.get("RECLOCK_BACKFILL_INTERVALS") or "0 0 * * *", timezone="UTC"
    ),
    catchup=False,
    max_active_runs=1,
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
            description=(
                "Names, one a line. Empty: all that wait for their history and begin before "
                "the interval's end."
            ),
        ),
        "rebuild": Param(
            False,
            type="boolean",
            title="Rebuild",
            description="Read again what the sources named have bound.",
        ),
    },
)
def reclock_backfill() -> None:
    @task
    def list_sources(params: dict[str, Any], data_interval_end: datetime) -> list[str]:
        from reclock.algebra.timestamps import Timestamp
        from reclock.pipeline import backfill

        if params["rebuild"] and not params["sources"]:
            raise ValueError("name the sources to be rebuilt")
        by = Timestamp(round(data_interval_end.timestamp() * 1000))
        with environment() as joined:
            return backfill.sources(joined, params["sources"] or None, by=by)

    @task_group
    def give(source: str) -> None:
        @task.sensor(
            mode="reschedule",
            poke_interval=15,
            timeout=timedelta(days=7).total_seconds(),
            max_active_tis_per_dag=1,
            map_index_template="{{ task.op_kwargs['source'] }}",
        )
        def await_turn(
            source: str,
            params: dict[str, Any],
            data_interval_start: datetime,
            data_interval_end: datetime,
        ) -> bool:
            """Whether the source has every earlier interval."""
            from reclock.pipeline import backfill

            if params["rebuild"]:
                return True
            with environment() as joined:
                return backfill.is_next(
                    joined, source, interval(data_interval_start, data_interval_end)
                )

        @task(multiple_outputs=False, map_index_template="{{ task.op_kwargs['source'] }}")
        def bind(
            source: str,
            params: dict[str, Any],
            data_interval_start: datetime,
            data_interval_end: datetime,
            run_id: str,
        ) -> dict[str, Any]:
            """Bind, audit and publish one source's interval; or rebuild what it has."""
            from reclock.pipeline import backfill

            with environment() as joined:
                if params["rebuild"]:
                    return {"outcome": "rebuilt", "rows": backfill.rebuild(joined, source).rows}
                report = backfill.run(
                    joined, source, interval(data_interval_start, data_interval_end), owner=run_id
                )
            return {"outcome": str(report.outcome), "rows": report.rows, "is_over": report.is_over}

        await_turn(source=source) >> bind(source=source)

    listed = list_sources()
    given = give.expand(source=listed)
    done = EmptyOperator(task_id="done", trigger_rule=TriggerRule.NONE_FAILED)
    [listed, given] >> done


reclock_backfill()
