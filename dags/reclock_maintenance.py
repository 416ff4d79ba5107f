"""Keeps an environment small and fast, and changes no answer.

What it does is described in `docs/operations.md`.

The environment is the one at `RECLOCK_HOME`. `RECLOCK_MAINTENANCE_SCHEDULE`, read when this file is
parsed, is the cron expression; once a day if absent, only triggered if empty. It may run beside
ticks and readers.

As in `reclock_tick`, the work is done in the warm process that the connection `reclock_warm` names,
if there is one.

What fails for one source or index is its own red task under *maintain*; the others go on, and
*done* is red too, so that the run is.
"""

from __future__ import annotations

import os

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import TriggerRule, dag

from reclock.airflow.maintenance_steps import ReclockMaintainOperator, ReclockMaintenanceOperator
from reclock.airflow.task_defaults import task_defaults

HOME = os.path.abspath(os.environ.get("RECLOCK_HOME", ".reclock"))


@dag(
    schedule=os.environ.get("RECLOCK_MAINTENANCE_SCHEDULE", "30 3 * * *") or None,
    catchup=False,
    max_active_runs=1,
    default_args=task_defaults(),
    is_paused_upon_creation=True,
    tags=["reclock"],
    description=__doc__.partition("\n")[0],
    doc_md=__doc__,
)
def reclock_maintenance() -> None:
    sweep = ReclockMaintenanceOperator(task_id="sweep", step="sweep", home=HOME)
    groups = ReclockMaintenanceOperator(task_id="list_groups", step="maintained groups", home=HOME)
    maintain = ReclockMaintainOperator.partial(
        task_id="maintain", home=HOME, map_index_template="{{ task.object_name }}"
    ).expand_kwargs(groups.output)
    record = ReclockMaintenanceOperator(
        task_id="record_storage_usage",
        step="record storage usage",
        home=HOME,
        trigger_rule=TriggerRule.ALL_DONE,
    )
    compact = ReclockMaintenanceOperator(
        task_id="compact_catalog",
        step="compact catalog",
        home=HOME,
        trigger_rule=TriggerRule.ALL_DONE,
    )
    [sweep, maintain] >> record >> compact
    done = EmptyOperator(task_id="done", trigger_rule=TriggerRule.NONE_FAILED)
    [sweep, groups, maintain, record, compact] >> done


reclock_maintenance()
