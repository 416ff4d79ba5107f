"""Operators over a connection of type ``reclock``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, time
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from reclock.airflow.arguments import DEFAULT_CONNECTION, Moment, names_of, to_milliseconds

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context

    from reclock.client.client import Client
    from reclock.client.embedded import EmbeddedClient
    from reclock.runtime.environment import Environment


class ReclockOperator(BaseOperator):
    """An operator that uses a client of the connection ``reclock_conn_id``."""

    def __init__(self, *, reclock_conn_id: str = DEFAULT_CONNECTION, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reclock_conn_id = reclock_conn_id
        self._lineage: Sequence[Mapping[str, Any]] = ()

    def get_openlineage_facets_on_complete(self, task_instance: object) -> OperatorLineage:
        """What the task read and wrote. Airflow's provider of OpenLineage calls this in the task's
        process, also if the task has failed."""
        from reclock.airflow.lineage import operator_lineage

        return operator_lineage(self._lineage)

    def describe(self, environment: Environment, rows: Mapping[str, int]) -> None:
        """Keep the lineage of these sources, indexes and sinks, if anybody will ask for it."""
        if find_spec("openlineage") is not None:
            from reclock.pipeline.lineage import described

            self._lineage = described(environment, rows)

    @contextmanager
    def client(self) -> Iterator[Client]:
        """A client for the block. An error within it is logged with its SQLSTATE, detail and
        hint."""
        from reclock.airflow.hooks import ReclockHook
        from reclock.errors import ReclockError

        try:
            with ReclockHook(self.reclock_conn_id).get_client() as client:
                yield client
        except ReclockError as error:
            self.log.error("%s (SQLSTATE %s)", error.message, error.sqlstate)
            if error.detail:
                self.log.error("DETAIL: %s", error.detail)
            if error.hint:
                self.log.error("HINT: %s", error.hint)
            raise

    @contextmanager
    def embedded_client(self) -> Iterator[EmbeddedClient]:
        """As ``client``. Raises ``UnsupportedSql`` if the connection is one to a server."""
        from reclock.client.embedded import EmbeddedClient
        from reclock.errors import UnsupportedSql

        with self.client() as client:
            if not isinstance(client, EmbeddedClient):
                hint = "use a connection with the home of the environment"
                raise UnsupportedSql("a server does no work for an operator", hint=hint)
            yield client


class ReclockSqlOperator(ReclockOperator):
    """Executes ``sql`` with ``parameters`` as the values of ``$1``, ``$2``, …, at the time
    ``as_of``.

    Returns the rows of a query as lists, with the values of ``xcom_value``, and None for a
    statement that has no rows. A query with more than ``max_rows`` rows fails. Without
    ``parameters`` and ``as_of``, ``sql`` may have several statements, which are one transaction.
    """

    template_fields = ("sql", "parameters", "as_of", "reclock_conn_id")
    template_ext = (".sql",)
    template_fields_renderers = {"sql": "sql", "parameters": "json"}  # noqa: RUF012
    ui_color = "#e3eef9"

    def __init__(
        self,
        *,
        sql: str,
        parameters: Sequence[Any] | None = None,
        as_of: Moment = None,
        max_rows: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sql = sql
        self.parameters = parameters
        self.as_of = as_of
        self.max_rows = max_rows

    def execute(self, context: Context) -> list[list[Any]] | None:
        with self.client() as client:
            as_of = to_milliseconds(self.as_of)
            result = client.sql(self.sql, self.parameters, as_of=as_of)
        moment = f", as of {as_of}" if as_of is not None else ""
        if not result.columns:
            self.log.info("%s%s", result.tag, moment)
            return None
        self.log.info("%s, rows: %d%s", result.tag, len(result), moment)
        if len(result) > self.max_rows:
            too_many = f"the query has {len(result)} rows, more than max_rows = {self.max_rows}"
            raise AirflowFailException(f"{too_many}; read them with ReclockHook in a task")
        return [[xcom_value(value) for value in row] for row in result.rows()]


class ReclockTickOperator(ReclockOperator):
    """Publishes what is new in ``sources`` (all, if None), refreshes indexes and emits sinks.

    It needs a connection with a home. What succeeds is published also if the task fails for a
    source, index or sink. Returns the tick's time ``at``, the ``upper`` below which sources are
    complete, and ``rows``, the number of new rows of each source.
    """

    template_fields = ("sources", "reclock_conn_id")
    ui_color = "#e3eef9"

    def __init__(self, *, sources: str | Sequence[str] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sources = sources

    def execute(self, context: Context) -> dict[str, Any]:
        from reclock.client.embedded import EmbeddedClient

        with self.client() as client:
            report = client.tick(self.sources)
            if isinstance(client, EmbeddedClient):
                self.describe(client.environment, report.changed)
        self.log.info("%s", report.summary())
        if not report.succeeded:
            failures = (f"{failure.name}: {failure.message}" for failure in report.failed)
            raise AirflowException("; ".join(failures))
        return {
            "at": int(report.at),
            "upper": int(report.published.upper),
            "rows": dict(report.published.rows),
        }


class ReclockRefreshOperator(ReclockOperator):
    """Brings the materialized views and indexes of ``clusters`` up to what their inputs have now.

    ``clusters`` are names, or None for all that this process can ask for work. It needs a
    connection with a home. Returns the ``upper`` of each index by name. An index that another
    process refreshes is waited for, and left out if that process does not end.
    """

    template_fields = ("clusters", "reclock_conn_id")
    ui_color = "#e3eef9"

    def __init__(self, *, clusters: str | Sequence[str] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.clusters = clusters

    def execute(self, context: Context) -> dict[str, int]:
        from reclock.algebra.timestamps import EPOCH_MS
        from reclock.pipeline import cluster_steps
        from reclock.runtime import task_replica

        uppers: dict[str, int] = {}
        changed: dict[str, int] = {}
        failed: list[str] = []
        with self.embedded_client() as client, task_replica.living(client.environment):
            environment = client.environment
            at = environment.stores.oracle.read_ts(EPOCH_MS)
            attended = task_replica.attended(environment)
            for cluster in attended if self.clusters is None else names_of(self.clusters):
                report = cluster_steps.refresh(
                    environment, cluster, at, owner=context["run_id"], is_patient=True
                )
                for index in report.indexes:
                    self.log.info(
                        "%s: %d updates below %d", index.index, index.updates, index.upper
                    )
                uppers |= {index.index: int(index.upper) for index in report.indexes}
                changed |= {i.index: i.updates for i in report.indexes if i.updates}
                failed += [f"{failure.name}: {failure.message}" for failure in report.failed]
            self.describe(environment, changed)
        if failed:
            raise AirflowException("; ".join(failed))
        self.log.info("indexes and materialized views refreshed: %d", len(uppers))
        return uppers


def xcom_value(value: Any) -> object:
    """The value as XCom carries it unchanged.

    Numerics, intervals, bytes, times of day and timestamps without a time zone are text, as SQL
    writes them. Airflow would round numerics, refuse bytes and times of day, and read a timestamp
    in the time zone of another machine.
    """
    from reclock.adapter.context.texts import text_of

    if isinstance(value, list):
        return [xcom_value(item) for item in value]
    is_local = isinstance(value, datetime) and value.tzinfo is None
    return text_of(value) if is_local or isinstance(value, Decimal | bytes | time | dict) else value
