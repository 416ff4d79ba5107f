"""The introspection source indexes of a cluster: one for each relation of its replicas'
measurements.

The ids are allocated when a cluster is created. The rows that are read under them come from the
replicas.
"""

from __future__ import annotations

from collections.abc import Iterable

from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import ClusterIntrospectionSourceIndex

INTROSPECTION_RELATIONS = (
    "mz_active_peeks",
    "mz_arrangement_sizes",
    "mz_compute_error_counts",
    "mz_compute_frontiers",
    "mz_compute_hydration_times",
    "mz_dataflow_durations_histogram",
    "mz_peek_durations_histogram",
)
"""The relations that each replica has, by the names of Materialize's per-replica relations."""


def introspection_source_indexes(
    cluster_id: int, system_ids: Iterable[int]
) -> list[ClusterIntrospectionSourceIndex]:
    """The indexes of a new cluster, with as many newly allocated system ids as there are
    relations."""
    return [
        ClusterIntrospectionSourceIndex(cluster_id, name, GlobalId(f"s{id}"))
        for name, id in zip(INTROSPECTION_RELATIONS, system_ids, strict=True)
    ]
