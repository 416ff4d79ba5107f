"""Lineage as events of OpenLineage, if its client is installed and configured.

The client's own variables configure it: ``OPENLINEAGE_URL`` or ``OPENLINEAGE_CONFIG``. Events are
sent by a thread, so that a server that is slow or away delays nothing.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from reclock.algebra.timestamps import Timestamp, as_datetime
from reclock.definitions.lineage import Dataset, InputField, JobLineage, Output
from reclock.errors import ReclockError, known_failure
from reclock.pipeline.tick_reports import TickFailure, TickReport

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent
    from openlineage.client.facet_v2 import DatasetFacet, JobFacet, RunFacet
    from openlineage.client.facet_v2 import column_lineage_dataset as column_lineage

    from reclock.runtime.environment import Environment

PRODUCER = f"urn:reclock:{version('reclock')}"

_DIRECT = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
_QUEUED_EVENTS = 10_000
_EXIT_PATIENCE_S = 10.0

_logger = structlog.get_logger(__name__)


def is_configured() -> bool:
    """Whether the variables of OpenLineage's client say where events go. In a task of Airflow, its
    provider of OpenLineage reports instead, if it is installed."""
    is_disabled = os.environ.get("OPENLINEAGE_DISABLED", "").lower() == "true"
    if is_disabled or "airflow.providers.openlineage" in sys.modules:
        return False
    names = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT")
    return any(name.startswith(names) for name in os.environ)


def report(environment: Environment, tick: TickReport) -> None:
    """Send the events of a tick: of each source, view and sink that changed or failed, the start at
    the tick's time, and the end now.

    Without configuration this does nothing. What cannot be sent is logged.
    """
    if not is_configured():
        return
    from reclock.pipeline.lineage import lineage_of

    try:
        failures = {failure.name: failure for failure in tick.failed}
        jobs = lineage_of(environment, tick.changed | dict.fromkeys(failures, 0))
        namespace = environment.stores.settings.lineage_namespace
        _sender().put(run_events(jobs, failures, tick.at, environment.stores.clock(), namespace))
    except Exception as failure:  # a tick does not fail because nobody hears of it
        error = known_failure(failure) or failure
        hint = error.hint if isinstance(error, ReclockError) else None
        _logger.warning("the lineage of a tick is not reported", error=str(error), hint=hint)


def run_events(
    jobs: Mapping[str, JobLineage],
    failures: Mapping[str, TickFailure],
    began: Timestamp,
    ended: Timestamp,
    namespace: str,
) -> list[RunEvent]:
    """The start and the end of each job. ``failures`` have the names that the jobs have here. The
    same work has the same run id, whoever reports it."""
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import error_message_run
    from openlineage.client.uuid import generate_static_uuid

    start, end = (as_datetime(at) for at in (began, ended))
    job_namespace = os.environ.get("OPENLINEAGE_NAMESPACE") or namespace
    events = []
    for name, job in jobs.items():
        id = str(generate_static_uuid(start, f"{job_namespace}/{job.name}".encode()))
        facets: dict[str, RunFacet] = {}
        if (failure := failures.get(name)) is not None:
            text = "; ".join(filter(None, (failure.message, failure.detail)))
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(text, "SQL")
        described = Job(job_namespace, job.name, job_facets(job))
        state = RunState.COMPLETE if failure is None else RunState.FAIL
        inputs = input_datasets(job)
        outputs = output_datasets(job) if failure is None else []
        for at, type, run, written in (
            (start, RunState.START, Run(id), []),
            (end, state, Run(id, facets), outputs),
        ):
            events.append(
                RunEvent(
                    eventTime=at.isoformat(),
                    eventType=type,
                    run=run,
                    job=described,
                    inputs=inputs,
                    outputs=written,
                    producer=PRODUCER,
                )
            )
    return events


def job_facets(job: JobLineage) -> dict[str, JobFacet]:
    from openlineage.client.facet_v2 import job_type_job, sql_job

    facets: dict[str, JobFacet] = {
        "jobType": job_type_job.JobTypeJobFacet("BATCH", "RECLOCK", job.kind)
    }
    if job.sql:
        facets["sql"] = sql_job.SQLJobFacet(job.sql, "reclock")
    return facets


def input_datasets(job: JobLineage) -> list[InputDataset]:
    from openlineage.client.event_v2 import InputDataset

    return [
        InputDataset(dataset.namespace, dataset.name, facets=_facets(dataset))
        for dataset in job.inputs
    ]


def output_datasets(job: JobLineage) -> list[OutputDataset]:
    """The outputs with the origins of their columns and the numbers of rows."""
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics

    return [
        OutputDataset(
            output.dataset.namespace,
            output.dataset.name,
            facets=_facets(output.dataset) | _column_lineage(output),
            outputFacets={}
            if output.rows is None
            else {
                "outputStatistics": statistics.OutputStatisticsOutputDatasetFacet(
                    rowCount=output.rows
                )
            },
        )
        for output in job.outputs
    ]


def _facets(dataset: Dataset) -> dict[str, DatasetFacet]:
    from openlineage.client.facet_v2 import schema_dataset, symlinks_dataset

    facets: dict[str, DatasetFacet] = {}
    if dataset.columns:
        fields = [
            schema_dataset.SchemaDatasetFacetFields(name, type) for name, type in dataset.columns
        ]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields)
    if dataset.uri:
        parts = urlsplit(dataset.uri)
        is_local = parts.scheme in ("", "file")
        place = (
            ("file", parts.path)
            if is_local
            else (f"{parts.scheme}://{parts.netloc}", parts.path.lstrip("/"))
        )
        if place != (dataset.namespace, dataset.name):
            identifier = symlinks_dataset.Identifier(*place, "LOCATION")
            facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet([identifier])
    return facets


def _column_lineage(output: Output) -> dict[str, DatasetFacet]:
    from openlineage.client.facet_v2 import column_lineage_dataset as column_lineage

    if not output.fields:
        return {}
    fields = {
        name: column_lineage.Fields([_input_field(origin) for origin in origins])
        for name, origins in output.fields
        if origins
    }
    deciding = [_input_field(origin) for origin in output.deciding]
    return {"columnLineage": column_lineage.ColumnLineageDatasetFacet(fields, deciding)}


def _input_field(origin: InputField) -> column_lineage.InputField:
    from openlineage.client.facet_v2 import column_lineage_dataset as column_lineage

    kind = "DIRECT" if origin.use in _DIRECT else "INDIRECT"
    transformation = column_lineage.Transformation(kind, origin.use)
    return column_lineage.InputField(origin.namespace, origin.name, origin.field, [transformation])


class _Sender:
    """A thread that sends events in order. A process that ends waits for it, but not long."""

    def __init__(self) -> None:
        from openlineage.client import OpenLineageClient
        from openlineage.client.facet_v2 import set_producer

        set_producer(PRODUCER)
        self._client = OpenLineageClient()
        self._events: Queue[RunEvent] = Queue(_QUEUED_EVENTS)
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="openlineage", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def put(self, events: Iterable[RunEvent]) -> None:
        for event in events:
            try:
                self._events.put_nowait(event)
            except Full:
                _logger.warning("events of OpenLineage are lost: too many wait to be sent")
                return

    def close(self) -> None:
        self._is_ending.set()
        self._thread.join(_EXIT_PATIENCE_S)

    def _run(self) -> None:
        while True:
            try:
                event = self._events.get(timeout=0.1)
            except Empty:
                if self._is_ending.is_set():
                    self._client.close(_EXIT_PATIENCE_S)
                    return
                continue
            try:
                self._client.emit(event)
            except Exception as error:  # the edge of the loop: the next one may arrive
                _logger.warning(
                    "an event of OpenLineage cannot be sent", job=event.job.name, error=str(error)
                )


@cache
def _sender() -> _Sender:
    return _Sender()
