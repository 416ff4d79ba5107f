"""Clusters and their replicas."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.objects.syntax import AlterOwnerStatement
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("{this} {value}")
class ClusterOption(exp.Expression):
    """``this`` is ``VIRTUAL``, or ``SIZE`` with a string as ``value``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": False}


@written_as("CREATE CLUSTER {this} {options}")
class CreateClusterStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "options": False}


@written_as("ALTER CLUSTER {this} [options: SET] {options}")
class AlterClusterStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "options": False}


@written_as("ALTER CLUSTER {this} RENAME TO {to}")
class RenameClusterStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True}


@written_as("ALTER CLUSTER {this} SWAP WITH {other}")
class SwapClustersStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "other": True}


@written_as("DROP CLUSTER [exists: IF EXISTS] {names} {behavior}")
class DropClustersStatement(Statement):
    """``behavior`` is ``CASCADE``, ``RESTRICT`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False, "behavior": False}


@written_as("CREATE CLUSTER REPLICA {this} {options}")
class CreateClusterReplicaStatement(Statement):
    """``this`` is the name of a replica, qualified by its cluster."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "options": False}


@written_as("DROP CLUSTER REPLICA [exists: IF EXISTS] {names}")
class DropClusterReplicasStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False}


@parses("CREATE CLUSTER")
def create_cluster(
    parser: StatementParser,
) -> CreateClusterStatement | CreateClusterReplicaStatement:
    if _is_replica(parser):
        return CreateClusterReplicaStatement(
            this=_replica_name(parser), options=_options(parser, "WITH")
        )
    return CreateClusterStatement(this=parser.cluster_name(), options=_options(parser, "WITH"))


@parses("ALTER CLUSTER")
def alter_cluster(
    parser: StatementParser,
) -> AlterClusterStatement | RenameClusterStatement | SwapClustersStatement | AlterOwnerStatement:
    name = parser.cluster_name()
    if parser.accept("OWNER", "TO"):
        return AlterOwnerStatement(kind="CLUSTER", this=name, to=parser.role_name())
    if parser.accept("RENAME"):
        parser.expect("TO")
        return RenameClusterStatement(this=name, to=parser.cluster_name())
    if parser.accept("SWAP", "WITH"):
        return SwapClustersStatement(this=name, other=parser.cluster_name())
    return AlterClusterStatement(this=name, options=_options(parser, "SET"))


@parses("DROP CLUSTER")
def drop_clusters(parser: StatementParser) -> DropClustersStatement | DropClusterReplicasStatement:
    is_replica = _is_replica(parser)
    exists = parser.if_exists()
    if is_replica:
        return DropClusterReplicasStatement(names=parser.comma_list(_replica_name), exists=exists)
    names = parser.comma_list(StatementParser.cluster_name)
    behavior = parser.drop_behavior()
    return DropClustersStatement(names=names, exists=exists, behavior=behavior)


def _is_replica(parser: StatementParser) -> bool:
    is_word = bool(parser.token) and parser.token.token_type != TokenType.IDENTIFIER
    return is_word and bool(parser.accept("REPLICA"))


def _replica_name(parser: StatementParser) -> exp.Table:
    cluster = parser.cluster_name()
    if not parser.accept_token(TokenType.DOT):
        parser.raise_error("Expected the name of a replica, as in cluster.replica")
    return exp.Table(this=parser.word("the name of a replica"), db=cluster)


def _options(parser: StatementParser, introduction: str) -> list[ClusterOption] | None:
    is_introduced = parser.accept(introduction)
    if not parser.token and not is_introduced:
        return None
    if not parser.accept_token(TokenType.L_PAREN):
        return parser.comma_list(_option)
    options = parser.comma_list(_option)
    parser.close_parenthesis()
    return options


def _option(parser: StatementParser) -> ClusterOption:
    if parser.accept("VIRTUAL"):
        return ClusterOption(this="VIRTUAL")
    if not parser.accept("SIZE"):
        parser.raise_error("Expected VIRTUAL or SIZE")
    parser.accept_token(TokenType.EQ)
    return ClusterOption(this="SIZE", value=parser.text())
