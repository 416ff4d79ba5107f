"""Planned statements about clusters and their replicas."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.ids import GlobalId


@dataclass(frozen=True, slots=True)
class CreateCluster:
    """``size`` is None for a virtual cluster; one of a size begins with one replica."""

    name: str
    size: str | None
    tag: str = "CREATE CLUSTER"


@dataclass(frozen=True, slots=True)
class AlterCluster:
    """The cluster and each of its replicas have ``size`` afterwards."""

    id: int
    name: str
    size: str | None
    tag: str = "ALTER CLUSTER"


@dataclass(frozen=True, slots=True)
class RenameCluster:
    """``create_sql`` holds the new text of every item whose text names the cluster."""

    id: int
    name: str
    to: str
    create_sql: tuple[tuple[GlobalId, str], ...]
    tag: str = "ALTER CLUSTER"


@dataclass(frozen=True, slots=True)
class DropClusters:
    """``items`` are what is in them, and goes before them."""

    ids: tuple[int, ...]
    items: tuple[GlobalId, ...]
    notices: tuple[str, ...] = ()
    tag: str = "DROP CLUSTER"


@dataclass(frozen=True, slots=True)
class CreateClusterReplica:
    cluster_id: int
    name: str
    size: str
    tag: str = "CREATE CLUSTER REPLICA"


@dataclass(frozen=True, slots=True)
class DropClusterReplicas:
    """``replicas`` are ids of clusters and of replicas."""

    replicas: tuple[tuple[int, int], ...]
    notices: tuple[str, ...] = ()
    tag: str = "DROP CLUSTER REPLICA"


ClusterStatement = CreateCluster | AlterCluster | RenameCluster | DropClusters | CreateClusterReplica | DropClusterReplicas
