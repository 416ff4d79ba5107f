"""Clusters and their replicas: the statements."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql import cluster_nodes
from reclock.sql.query_grammar import QueryParser


class ClusterParser(QueryParser):
    """Parses clusters and their replicas. What options exclude each other is left to planning."""

    def _create_cluster(self) -> cluster_nodes.CreateClusterStatement | cluster_nodes.CreateClusterReplicaStatement:
        if self._is_replica():
            return cluster_nodes.CreateClusterReplicaStatement(this=self._replica_name(), options=self._cluster_options("WITH"))
        return cluster_nodes.CreateClusterStatement(this=self._cluster_name(), options=self._cluster_options("WITH"))

    def _alter_cluster(self) -> cluster_nodes.AlterClusterStatement | cluster_nodes.RenameClusterStatement:
        name = self._cluster_name()
        if self._match_text_seq("RENAME"):
            self._expect("TO")
            return cluster_nodes.RenameClusterStatement(this=name, to=self._cluster_name())
        return cluster_nodes.AlterClusterStatement(this=name, options=self._cluster_options("SET"))

    def _drop_clusters(self) -> cluster_nodes.DropClustersStatement | cluster_nodes.DropClusterReplicasStatement:
        is_replica = self._is_replica()
        exists = self._match_text_seq("IF", "EXISTS")
        if is_replica:
            return cluster_nodes.DropClusterReplicasStatement(names=self._parse_csv(self._replica_name), exists=exists)
        names = self._parse_csv(self._cluster_name)
        behavior = self._prev.text.upper() if self._match_texts(("CASCADE", "RESTRICT")) else None
        return cluster_nodes.DropClustersStatement(names=names, exists=exists, behavior=behavior)

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

    def _cluster_options(self, introduction: str) -> list[cluster_nodes.ClusterOption] | None:
        is_introduced = self._match_text_seq(introduction)
        if not self._curr and not is_introduced:
            return None
        if not self._match(TokenType.L_PAREN):
            return self._parse_csv(self._cluster_option)
        options = self._parse_csv(self._cluster_option)
        self._match_r_paren()
        return options

    def _cluster_option(self) -> cluster_nodes.ClusterOption:
        if self._match_text_seq("VIRTUAL"):
            return cluster_nodes.ClusterOption(this="VIRTUAL")
        if not self._match_text_seq("SIZE"):
            self.raise_error("Expected VIRTUAL or SIZE")
        self._match(TokenType.EQ)
        return cluster_nodes.ClusterOption(this="SIZE", value=self._text())
