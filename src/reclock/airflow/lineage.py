"""Lineage for Airflow's provider of OpenLineage, which asks operators for it after they have run.

Nothing here is imported or called unless that provider is installed and enabled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from reclock.definitions.lineage import JobLineage, from_json

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Asset
    from openlineage.client.event_v2 import Dataset


def operator_lineage(jobs: Iterable[Mapping[str, Any]]) -> OperatorLineage:
    """What a task read and wrote, for the work that it did: each of ``jobs`` is a ``JobLineage`` as
    JSON. What a job wrote and another read is an output of the task alone."""
    from airflow.providers.openlineage.extractors import OperatorLineage

    from reclock.pipeline.openlineage import input_datasets, job_facets, output_datasets

    lineages: list[JobLineage] = [from_json(job) for job in jobs]
    outputs = [dataset for job in lineages for dataset in output_datasets(job)]
    written = {(dataset.namespace, dataset.name) for dataset in outputs}
    inputs = {
        (dataset.namespace, dataset.name): dataset
        for job in lineages
        for dataset in input_datasets(job)
    }
    facets = job_facets(lineages[0]) if len(lineages) == 1 else {}
    return OperatorLineage(
        inputs=[dataset for name, dataset in inputs.items() if name not in written],
        outputs=outputs,
        job_facets={name: facet for name, facet in facets.items() if name == "sql"},
    )


def dataset_of_asset(asset: Asset, lineage_context: object) -> Dataset:
    """The dataset of an asset ``reclock://<database>/<schema>/<name>``, as ticks name it."""
    from openlineage.client.event_v2 import Dataset

    from reclock.config import Settings

    parts = urlsplit(asset.uri)
    names = [parts.netloc, *parts.path.strip("/").split("/")]
    return Dataset(Settings().lineage_namespace, ".".join(map(unquote, names)))
