"""Clusters and their replicas: the statements as text."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql import cluster_nodes
from reclock.sql.writing import joined, listed, when, writes


@writes(cluster_nodes.ClusterOption)
def _option(write: Generator, node: exp.Expression) -> str:
    return joined(node.args["this"], write.sql(node, "value"))


@writes(cluster_nodes.CreateClusterStatement)
def _create(write: Generator, node: exp.Expression) -> str:
    return joined(f"CREATE CLUSTER {write.sql(node, 'this')}", listed(write, node, "options"))


@writes(cluster_nodes.CreateClusterReplicaStatement)
def _create_replica(write: Generator, node: exp.Expression) -> str:
    return joined(f"CREATE CLUSTER REPLICA {write.sql(node, 'this')}", listed(write, node, "options"))


@writes(cluster_nodes.AlterClusterStatement)
def _alter(write: Generator, node: exp.Expression) -> str:
    return joined(f"ALTER CLUSTER {write.sql(node, 'this')}", when(node, "options", "SET"), listed(write, node, "options"))


@writes(cluster_nodes.RenameClusterStatement)
def _rename(write: Generator, node: exp.Expression) -> str:
    return f"ALTER CLUSTER {write.sql(node, 'this')} RENAME TO {write.sql(node, 'to')}"


@writes(cluster_nodes.DropClustersStatement)
def _drop(write: Generator, node: exp.Expression) -> str:
    return joined("DROP CLUSTER", when(node, "exists", "IF EXISTS"), listed(write, node, "names"), node.args.get("behavior") or "")


@writes(cluster_nodes.DropClusterReplicasStatement)
def _drop_replicas(write: Generator, node: exp.Expression) -> str:
    return joined("DROP CLUSTER REPLICA", when(node, "exists", "IF EXISTS"), listed(write, node, "names"))
