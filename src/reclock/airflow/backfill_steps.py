"""The operators of the DAG ``reclock_backfill``. A warm process does their work where there is one,
else the task does."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator
from airflow.sdk.exceptions import AirflowFailException

from reclock.airflow.steps import ReclockStepOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


class ReclockBackfillSourcesOperator(ReclockStepOperator):
    """Returns the names of the sources that the run's parameters name, or of all that wait for
    their history and begin before the end of the data interval."""

    step = "backfill sources"

    def arguments(self, context: Context) -> dict[str, Any]:
        params = context["params"]
        if params["rebuild"] and not params["sources"]:
            raise AirflowFailException("name the sources to be rebuilt")
        return {"sources": params["sources"] or None, "by": interval(context)["upper"]}


class ReclockBackfillTurnSensor(ReclockStepOperator, BaseSensorOperator):
    """Waits until the source has every interval before that of the run. A rebuild waits for
    nothing."""

    step = "backfill turn"
    template_fields = ("source",)

    def __init__(self, *, source: str, **kwargs: Any) -> None:
        super().__init__(defer_after_s=math.inf, **kwargs)
        self.source = source

    def execute(self, context: Context) -> object:
        return BaseSensorOperator.execute(self, context)

    def poke(self, context: Context) -> bool:
        return bool(context["params"]["rebuild"]) or bool(self.perform(context))

    def arguments(self, context: Context) -> dict[str, Any]:
        return {"source": self.source, **interval(context)}


class ReclockBackfillOperator(ReclockStepOperator):
    """Binds, audits and publishes what the upstream of one source had by the end of the data
    interval; or rebuilds what the source has bound. Returns the outcome and the number of rows."""

    step = "backfill"
    template_fields = ("source",)

    def __init__(self, *, source: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.source = source

    def arguments(self, context: Context) -> dict[str, Any]:
        is_rebuild = bool(context["params"]["rebuild"])
        owner = context["run_id"]
        return {
            "source": self.source,
            **interval(context),
            "owner": owner,
            "is_rebuild": is_rebuild,
        }


def interval(context: Context) -> dict[str, int]:
    """The data interval of the run: ``lower``, and the exclusive ``upper``, in milliseconds."""
    return {
        "lower": _milliseconds(context["data_interval_start"]),
        "upper": _milliseconds(context["data_interval_end"]),
    }


def _milliseconds(time: datetime | None) -> int:
    assert time is not None  # the timetable gives every run an interval
    return round(time.timestamp() * 1000)
