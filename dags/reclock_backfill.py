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

As in `reclock_tick`, the work is done in the warm process that the connection `reclock_warm` names,
if there is one.

The environment is the one at `RECLOCK_HOME`. `RECLOCK_BACKFILL_INTERVALS`, read when this file is
parsed, is the cron expression of the moments between two intervals; every midnight (UTC) if absent.
Nothing is ever scheduled; the runs of a backfill begin with the oldest. However many of them are
active, a source waits in *await_turn* until it has all earlier intervals: also while one of them is
red, until that is cleared.
"""

from __future__ import annotations

import os
from datetime import timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import Param, TriggerRule, dag, task_group

from reclock.airflow.backfill_steps import (
    ReclockBackfillOperator,
    ReclockBackfillSourcesOperator,
    ReclockBackfillTurnSensor,
)
from reclock.airflow.task_defaults import task_defaults
from reclock.airflow.timetable import BackfillTimetable

HOME = os.path.abspath(os.environ.get("RECLOCK_HOME", ".reclock"))


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
    listed = ReclockBackfillSourcesOperator(task_id="list_sources", home=HOME)

    @task_group
    def give(source: str) -> None:
        await_turn = ReclockBackfillTurnSensor(
            task_id="await_turn",
            home=HOME,
            source=source,
            mode="reschedule",
            poke_interval=15,
            timeout=timedelta(days=7).total_seconds(),
            max_active_tis_per_dag=1,
            map_index_template="{{ task.source }}",
        )
        bind = ReclockBackfillOperator(
            task_id="bind", home=HOME, source=source, map_index_template="{{ task.source }}"
        )
        await_turn >> bind

    given = give.expand(source=listed.output)
    done = EmptyOperator(task_id="done", trigger_rule=TriggerRule.NONE_FAILED)
    [listed, given] >> done


reclock_backfill()
