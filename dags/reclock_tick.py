"""One tick: each source moves to a new time at its own pace, reclocked, audited and published; indexes follow, sinks emit.

The environment is the one at `RECLOCK_HOME`. One more variable is read when this file is parsed: `RECLOCK_TICK_SCHEDULE`, the
cron expression of the tick; every minute if absent, only triggered if empty.

With the engine `warm` a source is ingested within its task, by the Spark Connect server at `RECLOCK_SPARK_REMOTE` or, without
one, by a session of the task's own. With `spark-submit` it is `jobs/ingest_source.py`, submitted through the connection
`spark_default` (such as `AIRFLOW_CONN_SPARK_DEFAULT='{"conn_type": "spark", "host": "local[2]"}'`; without that connection
Spark looks for YARN); `spark-submit` must be on the workers' PATH.

A cluster is refreshed within a task, through one of its replicas if it has a size, and so are its sinks emitted. Where none of
them lives and nobody leads who would start one, both are `jobs/work_cluster.py`, submitted through the same connection: a replica
of the cluster for as long as the task runs, on the master and with the cores and the memory of its size. No task leaves a replica
behind.

Each source has an instance of the group *source*: *ingest*, *audit*, *publish*, *refresh_dependents*. No instance waits for
another, so a source that is slow or fails holds up nothing but itself: as soon as a source is published, the indexes and sinks that
read it go on, as far as their other inputs are complete. Nor does it hold up the next run: up to four run at once, and each leaves
alone what another is at work on. When all sources of the run have ended, *refresh* and *emit* go through all clusters and sinks,
those over tables too.

A source that fails has a red *ingest* or *audit*, a sink that fails a red *emit*. The others go on, and *verdict* ends the run red.
*publish* and *refresh_dependents* are skipped where there is nothing new. Each published source is the asset
`reclock://<database>/<schema>/<source>`, whose events carry the published `upper`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset, AssetAlias, Param, TriggerRule, dag, task, task_group
from airflow.sdk.exceptions import AirflowSkipException

if TYPE_CHECKING:
    from reclock.runtime.environment import Environment

HOME = os.path.abspath(os.environ.get("RECLOCK_HOME", ".reclock"))
JOBS = Path(__file__).resolve().parent.parent / "jobs"
TIME_OF_RUN = "{{ ti.xcom_pull(task_ids='allocate_write_timestamp') }}"
NAMED_BY_SOURCE = "{{ task.op_kwargs['source'] }}"
OWN_APPLICATION = {"RECLOCK_SPARK_REMOTE": ""}
"""Variables of a job, which is a Spark application of its own."""

PUBLISHED = AssetAlias("reclock_published")


def environment() -> Environment:
    """Joined anew by each task; imported within the task, for this file is parsed often."""
    from reclock.runtime.environment import Environment

    return Environment.open(HOME)


@dag(
    schedule=os.environ.get("RECLOCK_TICK_SCHEDULE", "* * * * *") or None,
    catchup=False,
    max_active_runs=4,
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
        from reclock.pipeline import tick

        return tick.migrate(HOME)

    @task
    def allocate_write_timestamp(params: dict[str, Any]) -> int:
        from reclock.pipeline import tick

        with environment() as joined:
            return tick.allocate(joined, at=params["at"])

    @task
    def list_sources(params: dict[str, Any]) -> list[str]:
        from reclock.pipeline import source_steps

        with environment() as joined:
            return source_steps.source_names(joined, params["sources"] or None)

    @task
    def list_clusters() -> list[str]:
        """Those that are virtual, or whose replicas live or are seen to."""
        from reclock.runtime import task_replica

        with environment() as joined:
            return task_replica.attended(joined)

    @task
    def describe_replicas(clusters: list[str], at: int, run_id: str) -> list[dict[str, Any]]:
        """The jobs that do the work of the other clusters."""
        from reclock.runtime import task_replica

        with environment() as joined:
            return task_replica.submissions(joined, but=clusters, at=at, owner=run_id)

    @task
    def list_sinks(clusters: list[str]) -> list[str]:
        """Those in these clusters."""
        from reclock.pipeline import cluster_steps

        with environment() as joined:
            return cluster_steps.sink_names(joined, clusters)

    @task.branch
    def choose_engine(params: dict[str, Any]) -> str:
        """Which of the two tasks of each source runs; the other is skipped."""
        return "source.ingest" if params["engine"] == "warm" else "source.ingest_by_spark_submit"

    @task_group(group_id="source")
    def move_source(source: str) -> None:
        """All that one source does in this run; no other source waits for it."""

        @task(multiple_outputs=False, map_index_template=NAMED_BY_SOURCE)
        def ingest(source: str, at: int, run_id: str) -> dict[str, Any]:
            """Claim, bind, read and stage the source."""
            from reclock.pipeline import source_steps

            with environment() as joined:
                report = source_steps.ingest(joined, source, at, owner=run_id)
            return {"at": report.at, "state": str(report.state), "objects": len(report.bindings), "rows": report.rows}

        @task(trigger_rule=TriggerRule.NONE_FAILED, multiple_outputs=False, map_index_template=NAMED_BY_SOURCE)
        def audit(source: str, run_id: str) -> str | None:
            """Check what is staged; answers the page of the data docs. Red if a check failed: the source is not published."""
            from reclock.pipeline import source_steps

            with environment() as joined:
                reports = source_steps.audit(joined.stores, [source], owner=run_id)
            for report in reports:
                if not report.success:
                    raise RuntimeError(f"checks failed: {list(report.failed)}; see the data docs and mz_source_statuses")
            return reports[0].docs if reports else None

        @task(trigger_rule=TriggerRule.ALL_DONE, outlets=[PUBLISHED], multiple_outputs=False, map_index_template=NAMED_BY_SOURCE)
        def publish(source: str, at: int, run_id: str, outlet_events: Any) -> dict[str, Any]:
            """Commit what passed its audit, publish it in one transaction, and tell those who follow the asset. A source that
            is idle, also one that failed before it bound anything, is complete up to this tick too. Skipped if nothing is new."""
            from reclock.errors import AuditFailed
            from reclock.pipeline import source_steps

            with environment() as joined:
                report = source_steps.publish(joined, [source], at, owner=run_id)
            for failure in report.failed:
                if failure.sqlstate != AuditFailed.sqlstate:
                    raise RuntimeError(f"{failure.name}: {failure.message}")
            if not report.rows:
                raise AirflowSkipException("nothing new is published")
            for name, rows in report.rows.items():
                asset = Asset(name=name, uri="reclock://" + "/".join(quote(part, safe="") for part in name.split(".")))
                outlet_events[PUBLISHED].add(asset, extra={"upper": report.upper, "rows": rows})
            return {"upper": report.upper, "rows": report.rows}

        @task(multiple_outputs=False, map_index_template=NAMED_BY_SOURCE)
        def refresh_dependents(source: str, published: dict[str, Any], clusters: list[str], run_id: str) -> list[dict[str, Any]]:
            """Bring what reads the source, indexes and sinks, up to its upper, or as far as their other inputs are complete."""
            from reclock.pipeline import cluster_steps
            from reclock.runtime import task_replica

            with environment() as joined, task_replica.living(joined):
                reports = cluster_steps.refresh_dependents(
                    joined, source, published["upper"] - 1, clusters=clusters, owner=f"{run_id} {source}"
                )
            if failed := [failure for report in reports for failure in report.failed]:
                raise RuntimeError("; ".join(f"{failure.name}: {failure.message}" for failure in failed))
            return [{index.index: index.upper for index in report.indexes} for report in reports]

        ingested = ingest(source=source, at=at)
        submitted = SparkSubmitOperator(
            task_id="ingest_by_spark_submit",
            application=str(JOBS / "ingest_source.py"),
            application_args=["--home", HOME, "--source", source, "--at", TIME_OF_RUN, "--owner", "{{ run_id }}"],
            name="reclock-ingest",
            env_vars=OWN_APPLICATION,
            map_index_template="{{ task.application_args[3] }}",
        )
        audited, published = audit(source=source), publish(source=source, at=at)
        refreshed = refresh_dependents(source=source, published=published, clusters=clusters)
        [engine, at] >> submitted
        engine >> ingested
        [ingested, submitted] >> audited >> published
        [ingested, submitted, audited, published, refreshed] >> ended

    @task(trigger_rule=TriggerRule.ALL_DONE, multiple_outputs=False, map_index_template="{{ task.op_kwargs['cluster'] }}")
    def refresh(cluster: str, at: int, run_id: str) -> dict[str, Any]:
        """Bring the indexes of one cluster up to this tick, or as far as their inputs are published."""
        from reclock.pipeline import cluster_steps
        from reclock.runtime import task_replica

        with environment() as joined, task_replica.living(joined):
            report = cluster_steps.refresh(joined, cluster, at, owner=run_id, is_patient=True)
        if report.failed:
            raise RuntimeError("; ".join(f"{failure.name}: {failure.message}" for failure in report.failed))
        return {index.index: {"upper": index.upper, "updates": index.updates} for index in report.indexes}

    @task(trigger_rule=TriggerRule.ALL_DONE, multiple_outputs=False, map_index_template="{{ task.op_kwargs['sink'] }}")
    def emit(sink: str, at: int, run_id: str) -> dict[str, Any]:
        """Write what changed up to this tick into the target of one sink, or as far as its relation is published."""
        from reclock.errors import ClaimConflict
        from reclock.pipeline import cluster_steps
        from reclock.runtime import task_replica

        with environment() as joined, task_replica.living(joined):
            try:
                report = cluster_steps.emit(joined, sink, at, owner=run_id, is_patient=True)
            except ClaimConflict as conflict:
                raise AirflowSkipException(f"another process emits it: {conflict.detail}") from conflict
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
    sinks, ended = list_sinks(clusters), verdict()
    moved = move_source.expand(source=sources)
    refreshed = refresh.partial(at=at).expand(cluster=clusters)
    replicas = describe_replicas(clusters, at)
    submitted_replicas = SparkSubmitOperator.partial(
        task_id="work_by_spark_submit",
        application=str(JOBS / "work_cluster.py"),
        name="reclock-work",
        env_vars=OWN_APPLICATION,
        map_index_template="{{ task.application_args[3] }}",
        trigger_rule=TriggerRule.ALL_DONE,
    ).expand_kwargs(replicas)
    emitted = emit.partial(at=at).expand(sink=sinks)

    epoch >> at >> [sources, clusters]
    moved >> [refreshed, submitted_replicas] >> emitted
    [epoch, at, engine, sources, clusters, sinks, replicas, refreshed, submitted_replicas, emitted] >> ended


reclock_tick()
