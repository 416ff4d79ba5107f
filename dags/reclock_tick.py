"""One tick: every source moves to one new time, what was staged is audited, what passed is published, indexes follow, sinks emit.

The environment is the one at `RECLOCK_HOME`. One more variable is read when this file is parsed: `RECLOCK_TICK_SCHEDULE`, the
cron expression of the tick; every minute if absent, only triggered if empty.

With the engine `warm` a source is ingested within its task, by the Spark Connect server at `RECLOCK_SPARK_REMOTE` or, without
one, by a session of the task's own. With `spark-submit` it is `jobs/ingest_source.py`, submitted through the connection
`spark_default` (such as `AIRFLOW_CONN_SPARK_DEFAULT='{"conn_type": "spark", "host": "local[2]"}'`; without that connection
Spark looks for YARN); `spark-submit` must be on the workers' PATH.

A cluster is refreshed within its task, through one of its replicas if it has a size, and so are its sinks emitted. Where none of
them lives and nobody leads who would start one, both are `jobs/work_cluster.py`, submitted through the same connection: a replica
of the cluster for as long as the task runs, on the master and with the cores and the memory of its size. No task leaves a replica
behind.

A source that fails has a red task of its own under *ingest*, or is named by a red *audit*, a sink one under *emit*; the others
go on and are published, and *verdict* ends the run red. Each published source is the asset
`reclock://<database>/<schema>/<source>`, whose events carry the published `upper`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset, AssetAlias, Param, TriggerRule, dag, task
from airflow.sdk.exceptions import AirflowSkipException

if TYPE_CHECKING:
    from reclock.environment import Environment

HOME = os.path.abspath(os.environ.get("RECLOCK_HOME", ".reclock"))
JOBS = Path(__file__).resolve().parent.parent / "jobs"
OWN_APPLICATION = {"RECLOCK_SPARK_REMOTE": ""}
"""Variables of a job, which is a Spark application of its own."""

PUBLISHED = AssetAlias("reclock_published")

GO_ON = TriggerRule.ALL_DONE_MIN_ONE_SUCCESS
"""What failed for one source does not stop what follows for the others; what was not begun at all does. (This rule takes a
skipped task for one that was not begun; of the tasks before *audit* and *emit* one may be skipped, so those have another rule.)"""


def environment() -> Environment:
    """Joined anew by each task; imported within the task, for this file is parsed often."""
    from reclock.environment import Environment

    return Environment.open(HOME)


@dag(
    schedule=os.environ.get("RECLOCK_TICK_SCHEDULE", "* * * * *") or None,
    catchup=False,
    max_active_runs=1,
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
            description="Names, one a line. None: all sources.",
        ),
        "at": Param(
            None,
            type=["integer", "null"],
            title="Timestamp",
            description="Write timestamp in milliseconds, later than what was read and not in the future. None: the oracle's next.",
        ),
        "engine": Param("warm", enum=["warm", "spark-submit"], title="Engine", description="What reads the sources."),
    },
)
def reclock_tick() -> None:
    @task
    def migrate_catalog() -> int:
        """Initialise or upgrade the catalog if it needs that, else join it. Answers the epoch."""
        from reclock import tick

        return tick.migrate(HOME)

    @task
    def allocate_write_timestamp(params: dict[str, Any]) -> int:
        from reclock import tick

        with environment() as joined:
            return tick.allocate(joined, at=params["at"])

    @task
    def list_sources(params: dict[str, Any]) -> list[str]:
        from reclock import tick

        with environment() as joined:
            return tick.source_names(joined, params["sources"] or None)

    @task
    def list_clusters() -> list[str]:
        """Those that are virtual, or whose replicas live or are seen to."""
        from reclock import task_replica

        with environment() as joined:
            return task_replica.attended(joined)

    @task
    def describe_replicas(clusters: list[str], at: int, run_id: str) -> list[dict[str, Any]]:
        """The jobs that do the work of the other clusters."""
        from reclock import task_replica

        with environment() as joined:
            return task_replica.submissions(joined, but=clusters, at=at, owner=run_id)

    @task
    def list_sinks(clusters: list[str]) -> list[str]:
        """Those in these clusters."""
        from reclock import tick

        with environment() as joined:
            return tick.sink_names(joined, clusters)

    @task.branch
    def choose_engine(params: dict[str, Any]) -> str:
        """Which of the two mapped tasks runs; the other is skipped."""
        return "ingest" if params["engine"] == "warm" else "describe_jobs"

    @task
    def describe_jobs(sources: list[str], at: int, run_id: str) -> list[list[str]]:
        """The command line of each source's job. What is mapped over is not a template, so it is complete."""
        return [["--home", HOME, "--source", source, "--at", str(at), "--owner", run_id] for source in sources]

    @task(multiple_outputs=False, map_index_template="{{ task.op_kwargs['source'] }}")
    def ingest(source: str, at: int, run_id: str) -> dict[str, Any]:
        """Claim, bind, read and stage one source."""
        from reclock import tick

        with environment() as joined:
            report = tick.ingest(joined, source, at, owner=run_id)
        return {"at": report.at, "state": str(report.state), "objects": len(report.bindings), "rows": report.rows}

    @task(trigger_rule=TriggerRule.ALL_DONE, multiple_outputs=False)
    def audit(sources: list[str] | None, run_id: str) -> dict[str, Any]:
        """Check all that is staged. Red if a check failed: that source is not published, the others are."""
        from reclock import tick

        if sources is None:
            raise AirflowSkipException("the sources were not listed")

        with environment() as joined:
            reports = tick.audit(joined, sources, owner=run_id)
        failed = {report.source: list(report.failed) for report in reports if not report.success}
        if failed:
            raise RuntimeError(f"checks failed: {failed}; see the data docs and mz_source_statuses")
        return {report.source: report.docs for report in reports}

    @task(trigger_rule=GO_ON, outlets=[PUBLISHED], multiple_outputs=False)
    def publish(sources: list[str], at: int, run_id: str, outlet_events: Any) -> dict[str, Any]:
        """Commit what passed, publish it with all idle sources in one transaction, and tell those who follow the assets."""
        from reclock import tick
        from reclock.errors import AuditFailed

        with environment() as joined:
            report = tick.publish(joined, sources, at, owner=run_id)
        for source, rows in report.rows.items():
            asset = Asset(name=source, uri="reclock://" + "/".join(quote(part, safe="") for part in source.split(".")))
            outlet_events[PUBLISHED].add(asset, extra={"upper": report.upper, "rows": rows})
        broken = [failure for failure in report.failed if failure.sqlstate != AuditFailed.sqlstate]
        if broken:
            raise RuntimeError("; ".join(f"{failure.name}: {failure.message}" for failure in broken))
        return {"upper": report.upper, "rows": report.rows, "waiting": list(report.waiting)}

    @task(trigger_rule=GO_ON, multiple_outputs=False, map_index_template="{{ task.op_kwargs['cluster'] }}")
    def refresh(cluster: str, at: int, run_id: str) -> dict[str, Any]:
        """Bring the indexes of one cluster up to this tick, or as far as their inputs are published."""
        from reclock import task_replica, tick

        with environment() as joined, task_replica.living(joined):
            report = tick.refresh(joined, cluster, at, owner=run_id)
        if report.failed:
            raise RuntimeError("; ".join(f"{failure.name}: {failure.message}" for failure in report.failed))
        return {index.index: {"upper": index.upper, "updates": index.updates} for index in report.indexes}

    @task(trigger_rule=TriggerRule.ALL_DONE, multiple_outputs=False, map_index_template="{{ task.op_kwargs['sink'] }}")
    def emit(sink: str, at: int, run_id: str) -> dict[str, Any]:
        """Write what changed up to this tick into the target of one sink, or as far as its relation is published."""
        from reclock import task_replica, tick

        with environment() as joined, task_replica.living(joined):
            report = tick.emit(joined, sink, at, owner=run_id)
        return {"upper": report.upper, "commits": report.commits, "changes": report.changes}

    @task(trigger_rule=TriggerRule.ONE_FAILED)
    def verdict() -> None:
        """Skipped when all went well. Otherwise red, so that the run is, whatever went on beside what failed."""
        raise RuntimeError("this run has failed tasks; see the red ones")

    epoch, at, engine, sources, clusters = (
        migrate_catalog(),
        allocate_write_timestamp(),
        choose_engine(),
        list_sources(),
        list_clusters(),
    )
    sinks = list_sinks(clusters)
    ingested = ingest.partial(at=at).expand(source=sources)
    jobs = describe_jobs(sources, at)
    submitted = SparkSubmitOperator.partial(
        task_id="ingest_by_spark_submit",
        application=str(JOBS / "ingest_source.py"),
        name="reclock-ingest",
        env_vars=OWN_APPLICATION,
        map_index_template="{{ task.application_args[3] }}",
    ).expand(application_args=jobs)
    audited = audit(sources)
    published = publish(sources, at)
    refreshed = refresh.partial(at=at).expand(cluster=clusters)
    replicas = describe_replicas(clusters, at)
    submitted_replicas = SparkSubmitOperator.partial(
        task_id="work_by_spark_submit",
        application=str(JOBS / "work_cluster.py"),
        name="reclock-work",
        env_vars=OWN_APPLICATION,
        map_index_template="{{ task.application_args[3] }}",
        trigger_rule=GO_ON,
    ).expand_kwargs(replicas)
    emitted = emit.partial(at=at).expand(sink=sinks)

    epoch >> at >> [sources, clusters]
    engine >> [ingested, jobs]
    [ingested, submitted] >> audited >> published >> [refreshed, submitted_replicas] >> emitted
    listed = [epoch, at, engine, sources, clusters, sinks, jobs, replicas]
    [*listed, ingested, submitted, audited, published, refreshed, submitted_replicas, emitted] >> verdict()


reclock_tick()
