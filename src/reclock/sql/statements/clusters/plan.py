"""Planning of clusters and their replicas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import Cluster, ClusterReplica
from reclock.errors import (
    DependentObjects,
    DuplicateObject,
    InvalidOption,
    ReservedName,
    SqlSyntaxError,
    UnknownObject,
    WrongObjectType,
)
from reclock.sql.catalog.lookups import dependents_closure, snapshot_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, cluster_identifier, fold, parts
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.statements.clusters.syntax import (
    AlterClusterStatement,
    ClusterOption,
    CreateClusterReplicaStatement,
    CreateClusterStatement,
    DropClusterReplicasStatement,
    DropClustersStatement,
    RenameClusterStatement,
    SwapClustersStatement,
)
from reclock.sql.syntax import nodes
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one

_RESERVED_PREFIXES = ("mz_", "pg_")
_SWAPPED = "mz_swapped"
"""The name that a cluster has while two swap theirs. No cluster has it, for it is reserved."""


@plans(CreateClusterStatement, experimental="CREATE CLUSTER")
def create_cluster(
    node: CreateClusterStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateCluster:
    name = _new_name(node.this, catalog)
    return CreateCluster(name, _size(node, catalog, None))


@plans(AlterClusterStatement, experimental="ALTER CLUSTER")
def alter_cluster(
    node: AlterClusterStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterCluster:
    cluster = _cluster(node.this, catalog)
    return AlterCluster(cluster.id, cluster.name, _size(node, catalog, cluster.size))


@plans(RenameClusterStatement, experimental="ALTER CLUSTER")
def rename_cluster(
    node: RenameClusterStatement, catalog: PlannerCatalog, session: SessionNames
) -> RenameClusters:
    cluster, to = _cluster(node.this, catalog), _new_name(node.args["to"], catalog)
    return RenameClusters(((cluster.id, to),), tuple(_texts_in(cluster, to, catalog)))


@plans(SwapClustersStatement, experimental="ALTER CLUSTER")
def swap_clusters(
    node: SwapClustersStatement, catalog: PlannerCatalog, session: SessionNames
) -> RenameClusters:
    one, other = _cluster(node.this, catalog), _cluster(node.args["other"], catalog)
    if one.id == other.id:
        return RenameClusters(())
    return RenameClusters(
        ((one.id, _SWAPPED), (other.id, one.name), (one.id, other.name)),
        (*_texts_in(one, other.name, catalog), *_texts_in(other, one.name, catalog)),
    )


def _texts_in(
    cluster: Cluster, name: str, catalog: PlannerCatalog
) -> Iterator[tuple[GlobalId, str]]:
    """The definitions of what is in the cluster, with ``name`` as its name."""
    for entry in catalog.in_cluster(cluster.id):
        text = parse_one(entry.create_sql)
        text.set("cluster", cluster_identifier(name))
        yield entry.id, to_sql(text)


@plans(DropClustersStatement, experimental="DROP CLUSTER")
def drop_clusters(
    node: DropClustersStatement, catalog: PlannerCatalog, session: SessionNames
) -> DropClusters | Skipped:
    """Plan DROP CLUSTER. Only CASCADE drops the objects in a cluster."""
    clusters: list[Cluster] = []
    notices: list[str] = []
    for name in node.args["names"]:
        if node.args.get("exists") and fold(name) not in catalog.clusters:
            notices.append(f'cluster "{fold(name)}" does not exist, skipping')
        else:
            clusters.append(_cluster(name, catalog))
    if not clusters:
        return Skipped("DROP CLUSTER", "; ".join(notices))
    inside = [entry for cluster in clusters for entry in catalog.in_cluster(cluster.id)]
    if inside and node.args.get("behavior") != "CASCADE":
        occupied = next(cluster for cluster in clusters if cluster.id == inside[0].cluster_id)
        raise DependentObjects(
            "cluster", occupied.name, [str(e.name) for e in inside if e.cluster_id == occupied.id]
        )
    items, _ = dependents_closure([entry.id for entry in inside], catalog)
    return DropClusters(
        tuple(dict.fromkeys(cluster.id for cluster in clusters)), items, tuple(notices)
    )


def create_cluster_text(name: exp.Expr, catalog: PlannerCatalog) -> tuple[str, str]:
    """The name of the cluster, and the statement that makes one like it, with one replica if it has
    any."""
    cluster = _cluster(name, catalog)
    size = (
        ClusterOption(this="SIZE", value=exp.Literal.string(cluster.size))
        if cluster.size is not None
        else None
    )
    options = [size or ClusterOption(this="VIRTUAL")]
    return cluster.name, to_sql(
        CreateClusterStatement(this=cluster_identifier(cluster.name), options=options)
    )


# --- replicas ---


@plans(CreateClusterReplicaStatement, experimental="CREATE CLUSTER REPLICA")
def create_replica(
    node: CreateClusterReplicaStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateClusterReplica:
    """Plan CREATE CLUSTER REPLICA. Without a size, it has that of its cluster."""
    cluster, name = _cluster(node.this.args["db"], catalog), fold(node.this.this)
    _check_reserved(name)
    if cluster.size is None:
        raise WrongObjectType(cluster.name, "cluster with replicas", "virtual cluster")
    if _replica(cluster, name, catalog) is not None:
        raise DuplicateObject("cluster replica", f"{cluster.name}.{name}")
    size = _size(node, catalog, cluster.size)
    if size is None:
        raise InvalidOption("a replica has a size", detail="VIRTUAL is an option of clusters")
    return CreateClusterReplica(cluster.id, name, size)


@plans(DropClusterReplicasStatement, experimental="DROP CLUSTER REPLICA")
def drop_replicas(
    node: DropClusterReplicasStatement, catalog: PlannerCatalog, session: SessionNames
) -> DropClusterReplicas | Skipped:
    dropped: dict[int, ClusterReplica] = {}
    notices: list[str] = []
    for table in node.args["names"]:
        cluster_name, name = parts(table)
        existing = None
        if not node.args.get("exists") or cluster_name in catalog.clusters:
            existing = _replica(_cluster(table.args["db"], catalog), name, catalog)
        if existing is not None:
            dropped[existing.id] = existing
        elif node.args.get("exists"):
            notices.append(f'cluster replica "{cluster_name}.{name}" does not exist, skipping')
        else:
            raise UnknownObject("cluster replica", f"{cluster_name}.{name}")
    if not dropped:
        return Skipped("DROP CLUSTER REPLICA", "; ".join(notices))
    return DropClusterReplicas(
        tuple((replica.cluster_id, replica.id) for replica in dropped.values()), tuple(notices)
    )


# --- what all have in common ---


def _cluster(name: exp.Expr, catalog: PlannerCatalog) -> Cluster:
    return snapshot_of(catalog).clusters[catalog.cluster_id(fold(name))]


def _replica(cluster: Cluster, name: str, catalog: PlannerCatalog) -> ClusterReplica | None:
    return snapshot_of(catalog).replica_by_name(cluster.id, name)


def _new_name(identifier: exp.Expr, catalog: PlannerCatalog) -> str:
    name = fold(identifier)
    _check_reserved(name)
    if name in catalog.clusters:
        raise DuplicateObject("cluster", name)
    return name


def _check_reserved(name: str) -> None:
    if name.startswith(_RESERVED_PREFIXES):
        raise ReservedName(
            name, hint='names of clusters and replicas do not begin with "mz_" or "pg_"'
        )


def _size(node: nodes.Statement, catalog: PlannerCatalog, otherwise: str | None) -> str | None:
    """The size that the options ask for: None is VIRTUAL. ``otherwise`` if they ask for none."""
    options: Sequence[ClusterOption] = node.args.get("options") or ()
    names = [option.this for option in options]
    for name in names:
        if names.count(name) > 1:
            raise SqlSyntaxError(f"{name} specified more than once")
    if len(names) > 1:
        raise SqlSyntaxError(
            f"{' and '.join(names)} exclude each other",
            hint="a cluster is virtual, or its replicas have a size",
        )
    if not options:
        return otherwise
    if names == ["VIRTUAL"]:
        return None
    size: str = options[0].args["value"].name
    if size not in catalog.settings.replica_sizes:
        sizes = ", ".join(f'"{name}"' for name in catalog.settings.replica_sizes)
        raise UnknownObject("cluster replica size", size, hint=f"sizes are {sizes}")
    return size


@dataclass(frozen=True, slots=True)
class CreateCluster:
    """``size`` is None for a virtual cluster. A cluster with a size begins with one replica."""

    name: str
    size: str | None
    tag: str = "CREATE CLUSTER"


@dataclass(frozen=True, slots=True)
class AlterCluster:
    """Give the cluster and its replicas this ``size``."""

    id: int
    name: str
    size: str | None
    tag: str = "ALTER CLUSTER"


@dataclass(frozen=True, slots=True)
class RenameClusters:
    """``renames`` are the ids of clusters and their next names, in this order. ``redefined`` has the
    new text of every item that names one of them."""

    renames: tuple[tuple[int, str], ...]
    redefined: tuple[tuple[GlobalId, str], ...] = ()
    tag: str = "ALTER CLUSTER"


@dataclass(frozen=True, slots=True)
class DropClusters:
    """``items`` are the objects in them, which are dropped first."""

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
    """``replicas`` are pairs of the ids of clusters and replicas."""

    replicas: tuple[tuple[int, int], ...]
    notices: tuple[str, ...] = ()
    tag: str = "DROP CLUSTER REPLICA"
