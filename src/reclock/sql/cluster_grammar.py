"""Clusters and their replicas: the statements."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.statements.clusters.syntax import (
    AlterClusterStatement,
    ClusterOption,
    CreateClusterReplicaStatement,
    CreateClusterStatement,
    DropClusterReplicasStatement,
    DropClustersStatement,
    RenameClusterStatement,
)
from reclock.sql.syntax.expressions import QueryParser


class ClusterParser(QueryParser):
    """Parses clusters and their replicas. What options exclude each other is left to planning."""

    def _create_cluster(self) -> CreateClusterStatement | CreateClusterReplicaStatement:
        if self._is_replica():
            return CreateClusterReplicaStatement(this=self._replica_name(), options=self._cluster_options("WITH"))
        return CreateClusterStatement(this=self._cluster_name(), options=self._cluster_options("WITH"))

    def _alter_cluster(self) -> AlterClusterStatement | RenameClusterStatement:
        name = self._cluster_name()
        if self._match_text_seq("RENAME"):
            self._expect("TO")
            return RenameClusterStatement(this=name, to=self._cluster_name())
        return AlterClusterStatement(this=name, options=self._cluster_options("SET"))

    def _drop_clusters(self) -> DropClustersStatement | DropClusterReplicasStatement:
        is_replica = self._is_replica()
        exists = self._match_text_seq("IF", "EXISTS")
        if is_replica:
            return DropClusterReplicasStatement(names=self._parse_csv(self._replica_name), exists=exists)
        names = self._parse_csv(self._cluster_name)
        behavior = self._prev.text.upper() if self._match_texts(("CASCADE", "RESTRICT")) else None
        return DropClustersStatement(names=names, exists=exists, behavior=behavior)

    def _is_replica(self) -> bool:
        is_word = bool(self._curr) and self._curr.token_type != TokenType.IDENTIFIER
        return is_word and bool(self._match_text_seq("REPLICA"))

    def _cluster_name(self) -> exp.Identifier:
        return self._word("the name of a cluster")

    def _replica_name(self) -> exp.Table:
        cluster = self._cluster_name()
        if not self._match(TokenType.DOT):
            self.raise_error("Expected the name of a replica, as in cluster.replica")
        return exp.Table(this=self._word("the name of a replica"), db=cluster)

    def _cluster_options(self, introduction: str) -> list[ClusterOption] | None:
        is_introduced = self._match_text_seq(introduction)
        if not self._curr and not is_introduced:
            return None
        if not self._match(TokenType.L_PAREN):
            return self._parse_csv(self._cluster_option)
        options = self._parse_csv(self._cluster_option)
        self._match_r_paren()
        return options

    def _cluster_option(self) -> ClusterOption:
        if self._match_text_seq("VIRTUAL"):
            return ClusterOption(this="VIRTUAL")
        if not self._match_text_seq("SIZE"):
            self.raise_error("Expected VIRTUAL or SIZE")
        self._match(TokenType.EQ)
        return ClusterOption(this="SIZE", value=self._text())
