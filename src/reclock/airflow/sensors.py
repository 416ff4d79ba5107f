"""Sensors over a connection of type ``reclock``. While they wait, they hold no slot of a worker."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue
from airflow.sdk.exceptions import AirflowException

from reclock.airflow.arguments import DEFAULT_CONNECTION, Moment, time_of_run, to_milliseconds
from reclock.airflow.operators import ReclockOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from reclock.airflow.conditions import QueryIsTrue, RelationsPublished


class ReclockSensor(ReclockOperator, BaseSensorOperator):
    """Waits for a condition. The first check is in the worker, so that mistakes fail at once.

    With ``deferrable=False`` the worker goes on checking, in the sensor's ``mode``.
    """

    ui_color = "#dcebf0"

    def __init__(
        self,
        *,
        reclock_conn_id: str = DEFAULT_CONNECTION,
        deferrable: bool = True,
        poke_interval: timedelta | float = 15,
        **kwargs: Any,
    ) -> None:
        super().__init__(reclock_conn_id=reclock_conn_id, poke_interval=poke_interval, **kwargs)
        self.deferrable = deferrable

    @abstractmethod
    def condition(self, context: Context) -> RelationsPublished | QueryIsTrue:
        """What this run waits for."""

    def poke(self, context: Context) -> PokeReturnValue:
        with self.client() as client:
            value = self.condition(context).check(client)
        return PokeReturnValue(value is not None, value)

    def execute(self, context: Context) -> object:
        if not self.deferrable:
            return super().execute(context)
        from reclock.airflow.triggers import ReclockConditionTrigger

        checked = self.poke(context)
        if checked.is_done:
            return checked.xcom_value
        condition = self.condition(context)
        trigger = ReclockConditionTrigger(
            condition=type(condition).__name__,
            arguments=asdict(condition),
            reclock_conn_id=self.reclock_conn_id,
            poke_interval=self.poke_interval,
        )
        timeout = timedelta(seconds=self.timeout)
        return self.defer(trigger=trigger, method_name="execute_complete", timeout=timeout)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> object:
        if "error" in event:
            raise AirflowException(event["error"])
        return event["value"]


class ReclockPublishedSensor(ReclockSensor):
    """Waits until the relations are published beyond a time, and returns that time in milliseconds.

    From then on, ``AS OF`` the time gives the same rows for ever, of all the relations. The time is
    the end of the run's data interval unless ``time`` names another. The task fails if a source
    that one of the relations needs is stalled.
    """

    template_fields = ("relations", "time", "reclock_conn_id")

    def __init__(
        self, *, relations: str | Sequence[str], time: Moment = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.relations = relations
        self.time = time

    def condition(self, context: Context) -> RelationsPublished:
        from reclock.airflow.conditions import RelationsPublished

        names = [self.relations] if isinstance(self.relations, str) else list(self.relations)
        time = to_milliseconds(self.time)
        return RelationsPublished(names, time_of_run(context) if time is None else time)


class ReclockSqlSensor(ReclockSensor):
    """Waits until the first value of a query is true, and returns its first row.

    ``parameters`` are the values of ``$1``, ``$2``, …; ``as_of`` is the time to read at, or None.
    """

    template_fields = ("sql", "parameters", "as_of", "reclock_conn_id")
    template_ext = (".sql",)
    template_fields_renderers = {"sql": "sql", "parameters": "json"}  # noqa: RUF012

    def __init__(
        self,
        *,
        sql: str,
        parameters: Sequence[Any] | None = None,
        as_of: Moment = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sql = sql
        self.parameters = parameters
        self.as_of = as_of

    def condition(self, context: Context) -> QueryIsTrue:
        from reclock.airflow.conditions import QueryIsTrue

        return QueryIsTrue(self.sql, self.parameters, to_milliseconds(self.as_of))
