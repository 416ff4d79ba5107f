"""What the stages of a tick would work on, by the catalog and consensus as they are. Nothing is
written, awaited, or asked of an upstream."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.adapter.statements.sinks import sinks
from reclock.controllers.implied import dataflows
from reclock.ingest.failures import decode_failure
from reclock.ingest.payload import Step
from reclock.pipeline.source_steps import unawaited_sources
from reclock.runtime.stores import Stores


def source_targets(stores: Stores, only: Sequence[str] | None) -> list[str]:
    """The names of the sources that the tick moves."""
    return [spec.name for spec in unawaited_sources(stores, only)]


def steps_ahead(stores: Stores, only: Sequence[str] | None) -> list[str]:
    """Each source, and the step that the tick would go on with, if one is claimed."""
    frontiers = stores.frontiers.get_all()
    lines = []
    for spec in unawaited_sources(stores, only):
        frontier = frontiers.get(spec.id)
        claim = frontier.claim if frontier is not None else None
        step = Step.from_payload(claim.payload) if claim is not None else None
        if step is not None:
            error = f": {decode_failure(step.error).message}" if step.error is not None else ""
            lines.append(f"{spec.name}: the step at {step.at}, which is {step.phase}{error}")
        else:
            lines.append(spec.name if frontier is not None else f"{spec.name}, once storage has it")
    return lines


def index_targets(stores: Stores, only: Sequence[str] | None) -> list[str]:
    """Each cluster with the names of its indexes."""
    catalog = stores.planner_catalog()
    lines = []
    for cluster, id in sorted(catalog.clusters.items(), key=lambda cluster: cluster[1]):
        names = ", ".join(dataflow.name for dataflow in dataflows(catalog, id).values())
        lines.append(f"{cluster}: {names or 'no index'}")
    return lines


def sink_targets(stores: Stores, only: Sequence[str] | None) -> list[str]:
    """The names of the sinks, with their clusters."""
    catalog = stores.planner_catalog()
    clusters = {id: name for name, id in catalog.clusters.items()}
    return [f"{sink.name} in {clusters[sink.cluster_id]}" for sink in sinks(catalog)]
