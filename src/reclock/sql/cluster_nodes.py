"""Syntax nodes of statements about clusters and their replicas."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from reclock.sql.nodes import Statement


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
