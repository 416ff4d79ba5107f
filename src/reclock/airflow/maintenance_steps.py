"""The operators of the DAG ``reclock_maintenance``. A warm process does their work where there is
one, else the task does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reclock.airflow.steps import ReclockStepOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


class ReclockMaintenanceOperator(ReclockStepOperator):
    """A step of maintenance without arguments: ``sweep``, ``maintained groups``, ``record storage
    usage`` or ``compact catalog``. Returns what the step of ``reclock.pipeline.maintenance_steps``
    does."""

    def __init__(self, *, step: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step

    def arguments(self, context: Context) -> dict[str, Any]:
        return {}


class ReclockMaintainOperator(ReclockStepOperator):
    """Lets since follow the upper, then compacts, checkpoints and vacuums the collections of the
    frontier group of one source or index. Fails, after the others are done, if one of the
    collections does."""

    step = "maintain"
    template_fields = ("group", "object_name")

    def __init__(self, *, group: str, object_name: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.object_name = object_name

    def arguments(self, context: Context) -> dict[str, Any]:
        return {"group": self.group}

    def conclude(self, context: Context, result: Any) -> object:
        if result["failed"]:
            self.fail(result["failed"])
        return {name: value for name, value in result.items() if name != "failed"}
