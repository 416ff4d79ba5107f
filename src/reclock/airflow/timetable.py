"""The timetable of `reclock_backfill`: intervals that only a backfill asks for."""

from __future__ import annotations

from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable


class BackfillTimetable(CronDataIntervalTimetable):
    """The data intervals between the moments of a cron expression. None of them is scheduled: a run
    is made by ``airflow backfill create`` alone, which asks as for a DAG that catches up."""

    @property
    def summary(self) -> str:
        """What the UI shows as the schedule."""
        return f"only backfills: {super().summary}"

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        if not restriction.catchup:
            return None
        return super().next_dagrun_info(
            last_automated_data_interval=last_automated_data_interval, restriction=restriction
        )
