"""Clusters and their replicas: CREATE, ALTER and DROP.

Compute controllers start what the catalog's rows of replicas say. A replica of another size is
another replica: it has an id of its own, and the old one's name.
"""

from __future__ import annotations

from dataclasses import replace

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import Cluster, ClusterIntrospectionSourceIndex, ClusterReplica, Kind
from reclock.catalog.roles import default_acl
from reclock.catalog.source_indexes import INTROSPECTION_RELATIONS, introspection_source_indexes
from reclock.sql.statements.clusters.plan import (
    AlterCluster,
    CreateCluster,
    CreateClusterReplica,
    DropClusterReplicas,
    DropClusters,
    RenameClusters,
)

FIRST_REPLICA = "r1"
"""The name of the first replica of a cluster."""


@requires(CreateCluster)
def _(statement: CreateCluster, context: AuthorizationContext) -> Requirements:
    return context.require(context.need(None, Privilege.CREATECLUSTER))


@requires(AlterCluster)
def _(statement: AlterCluster, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.CLUSTER, statement.id),))


@requires(RenameClusters)
def _(statement: RenameClusters, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=tuple((Kind.CLUSTER, id) for id, _ in statement.renames))


@requires(DropClusters)
def _(statement: DropClusters, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=tuple((Kind.CLUSTER, id) for id in statement.ids))


@requires(CreateClusterReplica)
def _(statement: CreateClusterReplica, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.CLUSTER, statement.cluster_id),))


@requires(DropClusterReplicas)
def _(statement: DropClusterReplicas, context: AuthorizationContext) -> Requirements:
    return context.require(
        owner_of=tuple((Kind.CLUSTER, cluster_id) for cluster_id, _ in statement.replicas)
    )


@defines(CreateCluster)
def _(statement: CreateCluster, change: CatalogChange) -> None:
    id, owner = change.tx.allocate_cluster_id(), change.users.current_id
    privileges = default_acl(change.tx.snapshot, owner, "cluster", None, None)
    change.tx.insert(Cluster(id, statement.name, statement.size, owner, privileges))
    for index in introspection_source_indexes(
        id, change.tx.allocate("system", len(INTROSPECTION_RELATIONS))
    ):
        change.tx.insert(index)
    change.audit("create", "cluster", statement.name, id=id, size=statement.size)
    if statement.size is not None:
        _create_replica(id, FIRST_REPLICA, statement.size, change)


@defines(AlterCluster)
def _(statement: AlterCluster, change: CatalogChange) -> None:
    cluster = change.tx.snapshot.clusters[statement.id]
    change.tx.update(replace(cluster, size=statement.size))
    change.audit("alter", "cluster", cluster.name, id=cluster.id, size=statement.size)
    for replica in _replicas(cluster.id, change):
        if replica.size != statement.size:
            _drop_replica(replica, change)
            if statement.size is not None:
                _create_replica(cluster.id, replica.name, statement.size, change)
    if cluster.size is None and statement.size is not None:
        _create_replica(cluster.id, FIRST_REPLICA, statement.size, change)


@defines(RenameClusters)
def _(statement: RenameClusters, change: CatalogChange) -> None:
    before = change.tx.snapshot.clusters
    for id, name in statement.renames:
        change.tx.update(replace(change.tx.snapshot.clusters[id], name=name))
    for item_id, create_sql in statement.redefined:
        change.redefine(item_id, create_sql)
    for id, name in dict(statement.renames).items():
        change.audit("alter", "cluster", before[id].name, id=id, renamed_to=name)


@defines(DropClusters)
def _(statement: DropClusters, change: CatalogChange) -> None:
    for item in statement.items:
        change.drop_item(item)
    for id in statement.ids:
        for replica in _replicas(id, change):
            _drop_replica(replica, change)
        indexes: list[ClusterIntrospectionSourceIndex] = change.tx.snapshot.sorted(
            Kind.CLUSTER_INTROSPECTION_SOURCE_INDEX
        )
        for index in indexes:
            if index.cluster_id == id:
                change.tx.delete(index)
        cluster = change.tx.snapshot.clusters[id]
        change.tx.delete(cluster)
        change.audit("drop", "cluster", cluster.name, id=id)


@defines(CreateClusterReplica)
def _(statement: CreateClusterReplica, change: CatalogChange) -> None:
    _create_replica(statement.cluster_id, statement.name, statement.size, change)


@defines(DropClusterReplicas)
def _(statement: DropClusterReplicas, change: CatalogChange) -> None:
    for _, id in statement.replicas:
        _drop_replica(change.tx.snapshot.cluster_replicas[id], change)


def _replicas(cluster_id: int, change: CatalogChange) -> list[ClusterReplica]:
    replicas: list[ClusterReplica] = change.tx.snapshot.sorted(Kind.CLUSTER_REPLICA)
    return [replica for replica in replicas if replica.cluster_id == cluster_id]


def _create_replica(cluster_id: int, name: str, size: str, change: CatalogChange) -> None:
    id = change.tx.allocate_cluster_replica_id()
    change.tx.insert(ClusterReplica(id, cluster_id, name, size))
    change.audit(
        "create",
        "cluster-replica",
        _name(cluster_id, name, change),
        id=id,
        cluster_id=cluster_id,
        size=size,
    )


def _drop_replica(replica: ClusterReplica, change: CatalogChange) -> None:
    change.tx.delete(replica)
    name = _name(replica.cluster_id, replica.name, change)
    change.audit("drop", "cluster-replica", name, id=replica.id, cluster_id=replica.cluster_id)


def _name(cluster_id: int, name: str, change: CatalogChange) -> str:
    return f"{change.tx.snapshot.clusters[cluster_id].name}.{name}"
