"""Keeps an environment small and fast, and changes no answer.

What it does is described in `docs/operations.md`.

The environment is the one at `RECLOCK_HOME`. `RECLOCK_MAINTENANCE_SCHEDULE`, read when this file is
parsed, is the cron expression; once a day if absent, only triggered if empty. It may run beside
ticks and readers.

What fails for one source or index is its own red task under *maintain*; the others go on, and
*done* is red too, so that the run is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import TriggerRule, dag, task

from reclock.airflow.task_defaults import task_defaults

if TYPE_CHECKING:
    from reclock.runtime.environment import Environment

HOME = os.path.abspath(os.environ.get("RECLOCK_HOME", ".reclock"))


def environment() -> Environment:
    """Joined anew by each task; imported within the task, for this file is parsed often."""
    from reclock.runtime.environment import Environment

    return Environment.open(HOME)


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
    @task(multiple_outputs=False)
    def sweep() -> dict[str, Any]:
        """Take away what dropped objects and readers that are gone left behind."""
        from reclock.pipeline import maintenance

        with environment() as joined:
            report = maintenance.sweep(joined)
        return {
            "orphans": [str(id) for id in report.orphans],
            "holds": report.holds,
            "statuses": report.statuses,
            "secrets": report.secrets,
            "storage_usages": report.storage_usages,
        }

    @task
    def list_groups() -> list[dict[str, str]]:
        from reclock.pipeline import maintenance

        with environment() as joined:
            return [
                {"group": group, "name": name}
                for group, name in maintenance.group_names(joined.stores).items()
            ]

    @task(multiple_outputs=False, map_index_template="{{ task.op_kwargs['name'] }}")
    def maintain(group: str, name: str) -> dict[str, Any]:
        """Let since follow the upper; compact, checkpoint and vacuum the collections of one source
        or index."""
        from reclock.pipeline import maintenance

        with environment() as joined:
            report = maintenance.maintain(joined.stores, group)
        if report.failed:
            raise RuntimeError(
                "; ".join(
                    f"{collection}: {error.message}" for collection, error in report.failed.items()
                )
            )
        return {
            "since": [report.since_before, report.since_after],
            "files": {
                str(own.collection): [own.files_before, own.files_after]
                for own in report.collections
            },
            "freed_bytes": sum(own.freed_bytes for own in report.collections),
        }

    @task(trigger_rule=TriggerRule.ALL_DONE)
    def record_storage_usage() -> int:
        """Record what each collection takes, in one transaction of the catalog. Answers the sum."""
        from reclock.pipeline import maintenance

        with environment() as joined:
            return maintenance.record_usage(joined.stores)

    @task(trigger_rule=TriggerRule.ALL_DONE)
    def compact_catalog() -> int:
        """Delete the catalog's history that is older than its retention. Answers how many
        updates."""
        from reclock.pipeline import maintenance

        with environment() as joined:
            return maintenance.compact_catalog(joined.stores)

    swept, groups = sweep(), list_groups()
    maintained = maintain.expand_kwargs(groups)
    recorded = record_storage_usage()
    compacted = compact_catalog()
    [swept, maintained] >> recorded >> compacted
    done = EmptyOperator(task_id="done", trigger_rule=TriggerRule.NONE_FAILED)
    [swept, groups, maintained, recorded, compacted] >> done


reclock_maintenance()
