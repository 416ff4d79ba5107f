"""Indexes as a replica wants them, from the catalog."""

from __future__ import annotations

from reclock.clusters.refresh import IndexSpec
from reclock.compute.plan import Get
from reclock.environment import Environment
from reclock.sql.planner.views import expand


def index_specs(environment: Environment, cluster: str) -> list[IndexSpec]:
    """The indexes of a cluster in the order they were made. Raises ``UnknownObject``."""
    catalog = environment.planner_catalog()
    cluster_id = catalog.cluster_id(cluster)
    found = []
    for index in sorted(catalog.indexes(), key=lambda index: int(index.id[1:])):
        if index.cluster_id == cluster_id:
            on = catalog.relation(index.on)
            plan = expand(Get(on.collection, str(on.name), on.desc), catalog)
            found.append(IndexSpec(index.id, str(index.name), plan, on.desc))
    return found
