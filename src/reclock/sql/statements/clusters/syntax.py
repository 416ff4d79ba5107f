"""Clusters and their replicas."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import joined, listed, when, writes


class ClusterOption(exp.Expression):
    """``this`` is ``VIRTUAL``, or ``SIZE`` with a string as ``value``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": False}


class CreateClusterStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "options": False}


class AlterClusterStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "options": False}


class RenameClusterStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True}


class DropClustersStatement(Statement):
    """``behavior`` is ``CASCADE``, ``RESTRICT`` or not said."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False, "behavior": False}


class CreateClusterReplicaStatement(Statement):
    """``this`` names a replica: the cluster stands where a schema would."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "options": False}


class DropClusterReplicasStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False}


@writes(ClusterOption)
def _write_option(write: Generator, node: exp.Expression) -> str:
    return joined(node.args["this"], write.sql(node, "value"))


@writes(CreateClusterStatement)
def _write_create(write: Generator, node: exp.Expression) -> str:
    return joined(f"CREATE CLUSTER {write.sql(node, 'this')}", listed(write, node, "options"))


@writes(CreateClusterReplicaStatement)
def _write_create_replica(write: Generator, node: exp.Expression) -> str:
    return joined(f"CREATE CLUSTER REPLICA {write.sql(node, 'this')}", listed(write, node, "options"))


@writes(AlterClusterStatement)
def _write_alter(write: Generator, node: exp.Expression) -> str:
    return joined(f"ALTER CLUSTER {write.sql(node, 'this')}", when(node, "options", "SET"), listed(write, node, "options"))


@writes(RenameClusterStatement)
def _write_rename(write: Generator, node: exp.Expression) -> str:
    return f"ALTER CLUSTER {write.sql(node, 'this')} RENAME TO {write.sql(node, 'to')}"


@writes(DropClustersStatement)
def _write_drop(write: Generator, node: exp.Expression) -> str:
    return joined("DROP CLUSTER", when(node, "exists", "IF EXISTS"), listed(write, node, "names"), node.args.get("behavior") or "")


@writes(DropClusterReplicasStatement)
def _write_drop_replicas(write: Generator, node: exp.Expression) -> str:
    return joined("DROP CLUSTER REPLICA", when(node, "exists", "IF EXISTS"), listed(write, node, "names"))
