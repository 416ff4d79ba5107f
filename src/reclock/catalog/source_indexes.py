"""The introspection source indexes of a cluster: one for each relation in which its replicas measure themselves.

The ids are given out when a cluster is made; what is read under them comes from the replicas.
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
"""What each replica keeps of its own, by the names of Materialize's per-replica relations."""


def introspection_source_indexes(cluster_id: int, system_ids: Iterable[int]) -> list[ClusterIntrospectionSourceIndex]:
    """The indexes of a new cluster, with as many newly allocated system ids as there are relations."""
    return [
        ClusterIntrospectionSourceIndex(cluster_id, name, GlobalId(f"s{id}"))
        for name, id in zip(INTROSPECTION_RELATIONS, system_ids, strict=True)
    ]
