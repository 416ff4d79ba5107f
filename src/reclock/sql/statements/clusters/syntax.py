"""Clusters and their replicas."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.objects.syntax import AlterOwnerStatement
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import generates, joined, listed, when


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
    """``behavior`` is ``CASCADE``, ``RESTRICT`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False, "behavior": False}


class CreateClusterReplicaStatement(Statement):
    """``this`` is the name of a replica, qualified by its cluster."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "options": False}


class DropClusterReplicasStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False}


@parses("CREATE CLUSTER")
def create_cluster(
    parser: StatementParser, words: tuple[str, ...]
) -> CreateClusterStatement | CreateClusterReplicaStatement:
    if _is_replica(parser):
        return CreateClusterReplicaStatement(
            this=_replica_name(parser), options=_options(parser, "WITH")
        )
    return CreateClusterStatement(this=parser.cluster_name(), options=_options(parser, "WITH"))


@parses("ALTER CLUSTER")
def alter_cluster(
    parser: StatementParser, words: tuple[str, ...]
) -> AlterClusterStatement | RenameClusterStatement | AlterOwnerStatement:
    name = parser.cluster_name()
    if parser.accept("OWNER", "TO"):
        return AlterOwnerStatement(kind="CLUSTER", this=name, to=parser.role_name())
    if parser.accept("RENAME"):
        parser.expect("TO")
        return RenameClusterStatement(this=name, to=parser.cluster_name())
    return AlterClusterStatement(this=name, options=_options(parser, "SET"))


@parses("DROP CLUSTER")
def drop_clusters(
    parser: StatementParser, words: tuple[str, ...]
) -> DropClustersStatement | DropClusterReplicasStatement:
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


@generates(ClusterOption)
def _write_option(write: Generator, node: exp.Expression) -> str:
    return joined(node.args["this"], write.sql(node, "value"))


@generates(CreateClusterStatement)
def _write_create(write: Generator, node: exp.Expression) -> str:
    return joined(f"CREATE CLUSTER {write.sql(node, 'this')}", listed(write, node, "options"))


@generates(CreateClusterReplicaStatement)
def _write_create_replica(write: Generator, node: exp.Expression) -> str:
    return joined(
        f"CREATE CLUSTER REPLICA {write.sql(node, 'this')}", listed(write, node, "options")
    )


@generates(AlterClusterStatement)
def _write_alter(write: Generator, node: exp.Expression) -> str:
    return joined(
        f"ALTER CLUSTER {write.sql(node, 'this')}",
        when(node, "options", "SET"),
        listed(write, node, "options"),
    )


@generates(RenameClusterStatement)
def _write_rename(write: Generator, node: exp.Expression) -> str:
    return f"ALTER CLUSTER {write.sql(node, 'this')} RENAME TO {write.sql(node, 'to')}"


@generates(DropClustersStatement)
def _write_drop(write: Generator, node: exp.Expression) -> str:
    return joined(
        "DROP CLUSTER",
        when(node, "exists", "IF EXISTS"),
        listed(write, node, "names"),
        node.args.get("behavior") or "",
    )


@generates(DropClusterReplicasStatement)
def _write_drop_replicas(write: Generator, node: exp.Expression) -> str:
    return joined(
        "DROP CLUSTER REPLICA", when(node, "exists", "IF EXISTS"), listed(write, node, "names")
    )
