"""Sensors over a connection of type ``reclock``. While they wait, they hold no slot of a worker."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue
from airflow.sdk.exceptions import AirflowException

from reclock.airflow.arguments import (
    DEFAULT_CONNECTION,
    Moment,
    names_of,
    time_of_run,
    to_milliseconds,
)
from reclock.airflow.operators import ReclockOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from reclock.airflow.conditions import (
        ChecksPassed,
        Condition,
        QueryIsTrue,
        RelationsPublished,
        SourcesCaughtUp,
    )


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
    def condition(self, context: Context) -> Condition:
        """What this run waits for."""

    def poke(self, context: Context) -> PokeReturnValue:
        condition = self.condition(context)
        with self.client() as client:
            value = condition.check(client)
        self.log.info("%s %s", "waiting for" if value is None else "found", condition)
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
        self.log.info("found %s", self.condition(context))
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

        return RelationsPublished(names_of(self.relations), _time(self.time, context))


class ReclockCaughtUpSensor(ReclockSensor):
    """Waits until everything that the upstreams of the sources had at a time is published.

    Returns the newest time in milliseconds for which that is known of all of them: ``AS OF`` it,
    the rows are there. The time is the end of the run's data interval unless ``time`` names
    another. A tick must ask the upstreams later than that; a reader moves a relation's time too,
    but asks no upstream. The task fails if a source that is late is stalled.
    """

    template_fields = ("sources", "time", "reclock_conn_id")

    def __init__(self, *, sources: str | Sequence[str], time: Moment = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sources = sources
        self.time = time

    def condition(self, context: Context) -> SourcesCaughtUp:
        from reclock.airflow.conditions import SourcesCaughtUp

        return SourcesCaughtUp(names_of(self.sources), _time(self.time, context))


class ReclockChecksSensor(ReclockSensor):
    """Waits until the sources are published beyond a time, and fails unless all their audits in the
    run's data interval passed.

    ``since`` (exclusive) and ``time`` (inclusive) name another interval; ``checks`` names the
    checks that count, if not all do. A source with a failed check is not published, so the task
    fails with its error; one that was waived is published, and the task fails too. Returns the
    audits: ``source``, ``at``, ``outcome``, ``rows`` and ``page``.
    """

    template_fields = ("sources", "since", "time", "checks", "reclock_conn_id")

    def __init__(
        self,
        *,
        sources: str | Sequence[str],
        time: Moment = None,
        since: Moment = None,
        checks: str | Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sources = sources
        self.time = time
        self.since = since
        self.checks = checks

    def condition(self, context: Context) -> ChecksPassed:
        from reclock.airflow.conditions import ChecksPassed

        since = to_milliseconds(self.since)
        if since is None:
            since = to_milliseconds(context.get("data_interval_start")) or 0
        checks = None if self.checks is None else names_of(self.checks)
        return ChecksPassed(
            names_of(self.sources), _time(self.time, context), since=since, checks=checks
        )


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


def _time(time: Moment, context: Context) -> int:
    """``time`` in milliseconds, by default the run's."""
    time_ms = to_milliseconds(time)
    return time_of_run(context) if time_ms is None else time_ms
