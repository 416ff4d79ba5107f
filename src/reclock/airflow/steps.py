"""The operators of the DAG ``reclock_tick``, and what those of others share. A warm process does their work where there is one,
else the task does."""

from __future__ import annotations

import hashlib
import math
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, AssetAlias, BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException

from reclock.airflow.assets import relation_asset
from reclock.airflow.warm import (
    DEFAULT_WARM_CONNECTION,
    WarmProcess,
    WarmProcessGone,
    WarmProcessRefuses,
)

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context

    from reclock.runtime.environment import Environment

PUBLISHED = AssetAlias("reclock_published")

ANNOUNCED = Asset("reclock://announced")
"""Its newest event has the positions up to which changes are announced. Airflow commits it with
the events that announce them, or none of them if the task fails. It has an alias of its own, so
that it starts no DAG that has ``reclock_published`` as its schedule."""

_POSITIONS = AssetAlias("reclock_positions")

_TRANSIENT_SQLSTATES = ("08", "40", "53", "57")
"""Classes of errors that may be gone at the next attempt."""

_ATTEMPTS = 3
"""How often a warm process that has forgotten a step is asked for it again."""


class ReclockStepOperator(BaseOperator):
    """One step of the environment at ``home``, done by the warm process that the connection
    ``warm_conn_id`` names.

    Without that connection, or if the process cannot be reached, this task does the step itself,
    and its log says so. A step that takes longer than ``defer_after_s`` is waited for in the
    triggerer, where it holds no slot of a worker. A step that is done twice, or begun by a process
    that died, gives the same rows: its claims see to that.
    """

    step: str
    """Its name in ``reclock.pipeline.dag_steps.STEPS``."""

    ui_color = "#e3eef9"

    def __init__(
        self,
        *,
        home: str | None = None,
        warm_conn_id: str = DEFAULT_WARM_CONNECTION,
        defer_after_s: float = 20,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.home = home
        self.warm_conn_id = warm_conn_id
        self.defer_after_s = defer_after_s
        self._lineage: Sequence[Mapping[str, Any]] = ()

    @abstractmethod
    def arguments(self, context: Context) -> dict[str, Any]:
        """Those of the step's function in ``reclock.pipeline.dag_steps``."""

    def work(self, environment: Environment, arguments: Mapping[str, Any]) -> object:
        """Do the step in this process."""
        from reclock.pipeline.dag_steps import STEPS

        return STEPS[self.step](environment, **arguments, tell=self.tell)

    def conclude(self, context: Context, result: Any) -> object:
        """What the task returns for the step's result. Raises if something has failed."""
        return result

    def get_openlineage_facets_on_complete(self, task_instance: object) -> OperatorLineage:
        """What the step read and wrote. Airflow's provider of OpenLineage calls this in the task's
        process, also if the task has failed."""
        from reclock.airflow.lineage import operator_lineage

        return operator_lineage(self._lineage)

    def execute(self, context: Context) -> object:
        return self.perform(context)

    def perform(self, context: Context) -> object:
        """Have the step done. Returns what the task returns."""
        arguments = self.arguments(context)
        process = self.warm_process()
        if process is not None:
            outcome = self._warm_outcome(process, context, arguments)
            if outcome is not None:
                return self._conclude(context, outcome)
        return self._conclude(context, self._own_outcome(arguments))

    def resume(self, context: Context, event: Mapping[str, Any]) -> object:
        """After the trigger: with the outcome, or from the beginning if the warm process is
        gone."""
        if event.get("outcome") is None:
            self.log.warning("the warm process is gone: %s", event.get("gone"))
            return self.execute(context)
        return self._conclude(context, event["outcome"])

    def warm_process(self) -> WarmProcess | None:
        from airflow.sdk.bases.hook import BaseHook

        try:
            return WarmProcess.of(BaseHook.get_connection(self.warm_conn_id))
        except AirflowNotFoundException:
            self.log.info(
                'this task does the work: there is no connection "%s" to a warm process',
                self.warm_conn_id,
            )
            return None

    def _warm_outcome(
        self, process: WarmProcess, context: Context, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        """None if the process is gone. Defers if the step takes long."""
        key = self._key(context)
        try:
            for _ in range(_ATTEMPTS):
                process.start(key, self.step, arguments)
                self.log.info("the warm process at %s does the work", process.url)
                try:
                    return self._await(process, key)
                except WarmProcessGone as gone:
                    self.log.warning("the warm process has lost the step: %s", gone)
        except WarmProcessGone as gone:
            self.log.warning(
                "this task does the work: the warm process at %s cannot be reached: %s",
                process.url,
                gone,
            )
        except WarmProcessRefuses as refused:
            raise AirflowFailException(str(refused)) from None
        return None

    def _await(self, process: WarmProcess, key: str) -> Mapping[str, Any]:
        import time

        from reclock.airflow.triggers import ReclockStepTrigger

        deadline, printed = time.monotonic() + self.defer_after_s, 0
        while True:
            lines, outcome = process.look(
                key, after=printed, wait_s=max(0.0, min(10.0, deadline - time.monotonic()))
            )
            for line in lines:
                self.log.info("%s", line)
            printed += len(lines)
            if outcome is not None:
                return outcome
            if time.monotonic() >= deadline:
                self.log.info("waiting in the triggerer")
                trigger = ReclockStepTrigger(
                    key=key, printed_lines=printed, warm_conn_id=self.warm_conn_id
                )
                timeout: timedelta | None = self.execution_timeout
                self.defer(trigger=trigger, method_name="resume", timeout=timeout)

    def _key(self, context: Context) -> str:
        """The same for every attempt at the task."""
        instance = context["ti"]
        parts = (instance.dag_id, instance.run_id, instance.task_id, instance.map_index, self.step)
        return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()

    def _own_outcome(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        from reclock.errors import ReclockError
        from reclock.runtime.environment import Environment

        try:
            with Environment.open(self.home) as environment:
                return {"result": self.work(environment, arguments)}
        except ReclockError as error:
            message = {"message": error.message, "detail": error.detail, "hint": error.hint}
            return {"error": {"sqlstate": error.sqlstate} | message}

    def tell(self, line: str) -> None:
        self.log.info("%s", line)

    def _conclude(self, context: Context, outcome: Mapping[str, Any]) -> object:
        if error := outcome.get("error"):
            self.fail([error])
        if isinstance(outcome["result"], Mapping):
            self._lineage = outcome["result"].get("lineage", ())
        return self.conclude(context, outcome["result"])

    def fail(self, failures: Sequence[Mapping[str, Any]]) -> None:
        """Log the failures with detail and hint, and fail; for good unless one of them may be gone
        at the next attempt."""
        for failure in failures:
            name = f"{failure['name']}: " if failure.get("name") else ""
            self.log.error("%s%s (SQLSTATE %s)", name, failure["message"], failure["sqlstate"])
            if failure.get("detail"):
                self.log.error("DETAIL: %s", failure["detail"])
            if failure.get("hint"):
                self.log.error("HINT: %s", failure["hint"])
        message = "; ".join(failure["message"] for failure in failures)
        is_transient = any(
            failure["sqlstate"].startswith(_TRANSIENT_SQLSTATES) for failure in failures
        )
        raise AirflowException(message) if is_transient else AirflowFailException(message)


class ReclockPlanOperator(ReclockStepOperator):
    """Returns the sources of the run that have news, each with the time of its step: what
    ``ReclockSourceOperator`` maps over.

    The parameters ``sources`` and ``at`` of the run may name the sources and the time. Sources
    without news are complete up to that time afterwards.
    """

    step = "plan"

    def arguments(self, context: Context) -> dict[str, Any]:
        params = context["params"]
        return {"sources": params.get("sources") or None, "at": params.get("at")}

    def _own_outcome(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        from reclock.pipeline import tick

        tick.migrate(self.home)
        return super()._own_outcome(arguments)


class ReclockSourceOperator(ReclockStepOperator):
    """Ingests, audits and publishes one source at the time ``at``, then refreshes the views and
    emits the sinks that read it.

    With the ``engine`` ``spark-submit``, the source is ingested by the job ``ingest_source.py`` in
    the folder ``jobs``, submitted through the connection ``spark_conn_id``. Without a ``source`` it
    does nothing. Returns what changed, and the audit's page in the data docs.
    """

    step = "source"
    template_fields = ("source", "at", "engine")

    def __init__(
        self,
        *,
        source: str,
        at: int,
        engine: str = "warm",
        jobs: str = "jobs",
        spark_conn_id: str = "spark_default",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.at = at
        self.engine = engine
        self.jobs = jobs
        self.spark_conn_id = spark_conn_id

    def execute(self, context: Context) -> object:
        if not self.source:
            self.log.info("no source has anything new")
            return None
        if self.engine == "spark-submit":
            self._submit(context["run_id"])
        return super().execute(context)

    def arguments(self, context: Context) -> dict[str, Any]:
        is_staged = self.engine == "spark-submit"
        return {
            "source": self.source,
            "at": int(self.at),
            "owner": context["run_id"],
            "is_staged": is_staged,
        }

    def work(self, environment: Environment, arguments: Mapping[str, Any]) -> object:
        from reclock.runtime import task_replica

        with task_replica.living(environment):
            return super().work(environment, arguments)

    def conclude(self, context: Context, result: Any) -> object:
        if result["docs"]:
            self.log.info("data docs: %s/reclock/data-docs/%s", _airflow_url(), result["docs"])
        if result["failed"]:
            self.log.info("problems: %s/reclock/overview?status=problem", _airflow_url())
            self.fail(result["failed"])
        return {"changed": result["changed"], "docs": result["docs"]}

    def _submit(self, owner: str) -> None:
        arguments = [
            "--home",
            _home(self.home),
            "--source",
            self.source,
            "--at",
            str(self.at),
            "--owner",
            owner,
        ]
        submit_job(self.spark_conn_id, f"{self.jobs}/ingest_source.py", arguments)


class ReclockClustersOperator(ReclockStepOperator):
    """Brings all indexes and sinks up to what can be read now, or as far as their inputs are
    complete.

    A cluster whose replicas nobody sees to is worked on by the job ``work_cluster.py`` in the
    folder ``jobs``, submitted through the connection ``spark_conn_id``: a replica that lives as
    long. Returns the ``uppers`` of indexes and sinks by name.
    """

    step = "clusters"

    def __init__(
        self, *, jobs: str = "jobs", spark_conn_id: str = "spark_default", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.jobs = jobs
        self.spark_conn_id = spark_conn_id

    def arguments(self, context: Context) -> dict[str, Any]:
        return {"owner": context["run_id"]}

    def work(self, environment: Environment, arguments: Mapping[str, Any]) -> object:
        from reclock.runtime import task_replica

        with task_replica.living(environment):
            return super().work(environment, arguments)

    def conclude(self, context: Context, result: Any) -> object:
        failed = list(result["failed"])
        for submission in result["submitted"]:
            arguments = submission["application_args"]
            try:
                submit_job(
                    self.spark_conn_id,
                    f"{self.jobs}/work_cluster.py",
                    arguments,
                    submission["conf"],
                )
            except AirflowException as error:  # the other clusters go on
                failed.append({"name": arguments[3], "sqlstate": "57000", "message": str(error)})
        if failed:
            self.fail(failed)
        return result["uppers"]


class ReclockAnnounceOperator(ReclockStepOperator):
    """Announces, as events of their assets, all changes of relations and sinks since the positions
    that the newest event of ``ANNOUNCED`` has, whoever published them. Returns how many rows or
    changes each has.

    A change is announced once if only one such task runs at a time. Two at a time would also fail
    in Airflow where both create the asset of a new relation. A task that fails or is killed
    announces nothing, and the next one does so in its place.
    """

    step = "announce"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            outlets=[PUBLISHED, _POSITIONS],
            inlets=[ANNOUNCED],
            # not deferred, because deferred tasks do not count among those that run at a time
            defer_after_s=math.inf,
            **kwargs,
        )

    def arguments(self, context: Context) -> dict[str, Any]:
        newest = context["inlet_events"][ANNOUNCED].ascending(False).limit(1)
        return {"announced": dict(newest[0].extra["positions"]) if len(newest) else {}}

    def conclude(self, context: Context, result: Any) -> object:
        changed: Mapping[str, Mapping[str, Any]] = result["changed"]
        published = context["outlet_events"][PUBLISHED]
        for name, extra in changed.items():
            published.add(relation_asset(name), extra=dict(extra))
        if changed:
            extra = {"positions": result["positions"]}
            context["outlet_events"][_POSITIONS].add(ANNOUNCED, extra=extra)
        return {name: extra["rows"] for name, extra in changed.items()}


def submit_job(
    spark_conn_id: str,
    application: str,
    arguments: Sequence[str],
    conf: Mapping[str, str] | None = None,
) -> None:
    """Run the job as a Spark application of its own, and wait for it. Raises ``AirflowException``
    if it fails."""
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    overrides = {"RECLOCK_SPARK_REMOTE": ""}
    name = f"reclock-{os.path.basename(application).partition('.')[0]}"
    hook = SparkSubmitHook(
        dict(conf or {}),
        spark_conn_id,
        name=name,
        application_args=list(arguments),
        env_vars=overrides,
    )
    hook.submit(application)


def _home(home: str | None) -> str:
    return os.path.abspath(home or os.environ.get("RECLOCK_HOME", ".reclock"))


def _airflow_url() -> str:
    from airflow.sdk.configuration import conf

    return str(conf.get("api", "base_url", fallback="")).rstrip("/")
