"""The statements. What is not named here is refused, never guessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.cluster_grammar import ClusterParser
from reclock.sql.role_grammar import RoleParser
from reclock.sql.session_grammar import SessionParser
from reclock.sql.sink_grammar import SinkParser
from reclock.sql.statements.objects.syntax import AlterRenameStatement, DropStatement
from reclock.sql.statements.query.syntax import ExplainStatement
from reclock.sql.statements.schemas.syntax import CreateSchemaStatement, DropSchemasStatement
from reclock.sql.statements.session.syntax import ShowVariableStatement
from reclock.sql.statements.show.syntax import ShowColumnsStatement, ShowCreateStatement, ShowObjectsStatement
from reclock.sql.statements.sources.syntax import (
    AlterSourceResnapshotStatement,
    AlterSourceRestartStatement,
    AlterSourceRetryStatement,
    AlterSourceSkipStatement,
    AlterSourceWaiveStatement,
)
from reclock.sql.statements.transactions.syntax import TransactionStatement
from reclock.sql.statements.views.syntax import CreateIndexStatement, CreateViewStatement, RefreshViewStatement
from reclock.sql.syntax import nodes
from reclock.sql.syntax.expressions import QUERY_STARTS
from reclock.sql.syntax.temporary import make_temporary
from reclock.sql.table_grammar import TableParser

_DROPPED = (("MATERIALIZED", "VIEW"), *((kind,) for kind in ("SOURCE", "TABLE", "VIEW", "INDEX", "SINK", "SECRET", "CONNECTION")))
_SHOW_LISTS = frozenset(
    {
        "SECRETS",
        "CONNECTIONS",
        "SOURCES",
        "TABLES",
        "VIEWS",
        "INDEXES",
        "SINKS",
        "OBJECTS",
        "DATABASES",
        "SCHEMAS",
        "CLUSTERS",
        "ROLES",
    }
)
_UNSUPPORTED = frozenset(
    {
        "ANALYZE",
        "CALL",
        "COMMENT",
        "DESCRIBE",
        "DO",
        "LISTEN",
        "LOCK",
        "MERGE",
        "NOTIFY",
        "USE",
        "VACUUM",
    }
)
"""Statements that are SQL, or ours in time, and get a clear answer."""
_RENAMED = ("SOURCE", "TABLE", "VIEW", "MATERIALIZED VIEW", "INDEX", "SINK", "SECRET", "CONNECTION")
_ISOLATION_LEVELS = ("STRICT SERIALIZABLE", "SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED")


class ReclockParser(RoleParser, ClusterParser, TableParser, SinkParser, SessionParser):
    """Parses one statement to one of ``nodes.Statement``."""

    def parse_statement(self, tokens: list[Token], text: str) -> nodes.Statement:
        """The statement whose tokens, cut out of those of ``text``, are ``tokens``."""
        self.reset()
        self.sql, self._chunks = text, [tokens]
        self._advance_chunk()
        statement = self._root()
        if self._index < len(self._tokens):
            self.raise_error("Invalid expression")
        return statement

    def _root(self) -> nodes.Statement:
        if self._curr.token_type in QUERY_STARTS:
            return self._query_statement()
        word = self._curr.text.upper() if self._curr.token_type != TokenType.IDENTIFIER else ""
        if word in _UNSUPPORTED:
            raise UnsupportedSql(f"{word} is not supported")
        if word not in self._ROOTS:
            self.raise_error("Invalid expression")
        self._advance()
        return self._ROOTS[word](self)

    def _query_statement(self) -> nodes.QueryStatement:
        query = self._query()
        return nodes.QueryStatement(this=query, as_of=self._as_of() if self._is_as_of() else None)

    # --- CREATE ---

    def _create(self) -> nodes.Statement:
        replace = self._match_text_seq("OR", "REPLACE")
        if self._match_texts(("LOCAL", "TEMP", "TEMPORARY")):
            if self._prev.text.upper() == "LOCAL" and not self._match_texts(("TEMP", "TEMPORARY")):
                self.raise_error("expected TEMPORARY")
            return self._create_temporary(replace)
        materialized = self._match_text_seq("MATERIALIZED")
        if self._match_text_seq("VIEW"):
            return self._create_view(replace, materialized)
        if not replace and self._match_text_seq("SOURCE"):
            return self._create_source(materialized)
        if not replace and not materialized:
            if self._match_text_seq("TABLE"):
                return self._create_table()
            if self._match_text_seq("SUBSOURCE"):
                return self._create_subsource()
            if self._match_text_seq("DEFAULT", "INDEX"):
                cluster = self._cluster()
                self._expect("ON")
                return CreateIndexStatement(cluster=cluster, on=self._object_name())
            if self._match_text_seq("INDEX"):
                return self._create_index()
            if self._match_text_seq("CLUSTER"):
                return self._create_cluster()
            if self._match_text_seq("SINK"):
                return self._create_sink()
            if self._match_texts(("ROLE", "USER")):
                return self._create_role()
            if self._match_text_seq("SECRET"):
                return self._create_secret()
            if self._match_text_seq("CONNECTION"):
                return self._create_connection()
            if self._match_text_seq("SCHEMA"):
                exists = self._match_text_seq("IF", "NOT", "EXISTS")
                return CreateSchemaStatement(this=self._schema_name(), exists=exists)
        return self._unsupported("CREATE")

    def _create_temporary(self, replace: bool) -> nodes.Statement:
        if self._match_text_seq("VIEW"):
            made: nodes.Statement = self._create_view(replace, False)
        elif not replace and self._match_text_seq("TABLE"):
            made = self._create_table()
        else:
            return self._unsupported("CREATE")
        make_temporary(made.this)
        return made

    def _schema_name(self) -> exp.Table:
        name = self._object_name()
        if name.args.get("catalog"):
            self.raise_error("The name of a schema has at most two parts", self._prev)
        return name

    def _create_view(self, replace: bool, materialized: bool) -> CreateViewStatement:
        exists = self._match_text_seq("IF", "NOT", "EXISTS")
        if replace and exists:
            self.raise_error("OR REPLACE and IF NOT EXISTS exclude each other", self._prev)
        name = self._object_name()
        cluster = self._cluster() if materialized else None
        columns = self._parse_wrapped_csv(self._name) if self._match(TokenType.L_PAREN, advance=False) else None
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS")
        return CreateViewStatement(
            this=name,
            exists=exists,
            replace=replace,
            materialized=materialized,
            cluster=cluster,
            columns=columns,
            query=self._query(),
        )

    def _create_index(self) -> CreateIndexStatement:
        exists = self._match_text_seq("IF", "NOT", "EXISTS")
        name = None if self._match_text_seq("ON", advance=False) or self._match_text_seq("IN", advance=False) else self._name()
        cluster = self._cluster()
        self._expect("ON")
        on = self._object_name()
        if self._match_text_seq("USING") and not self._match_texts(("ARRANGEMENT", "BTREE", "HASH")):  # all are one kind
            self.raise_error("Expected ARRANGEMENT, BTREE or HASH")
        keys = self._parse_wrapped_csv(self._index_key)
        return CreateIndexStatement(this=name, cluster=cluster, on=on, keys=keys, exists=exists)

    def _index_key(self) -> exp.Expr:
        """A name, or an expression."""
        if self._next and self._next.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            return self._name()
        return self._parse_disjunction() or self._missing()

    # --- DROP, ALTER ---

    def _refresh(self) -> RefreshViewStatement:
        self._expect("MATERIALIZED", "VIEW")
        self._match_text_seq("CONCURRENTLY")
        statement = RefreshViewStatement(this=self._object_name())
        self._match_text_seq("WITH", "DATA")
        return statement

    def _drop(self) -> nodes.Statement:
        if self._match_texts(("ROLE", "USER")):
            return self._drop_roles()
        if self._match_text_seq("OWNED", "BY"):
            return self._drop_owned()
        if self._match_text_seq("CLUSTER"):
            return self._drop_clusters()
        if self._match_text_seq("SCHEMA"):
            exists = self._match_text_seq("IF", "EXISTS")
            names = self._parse_csv(self._schema_name)
            behavior = self._prev.text.upper() if self._match_texts(("CASCADE", "RESTRICT")) else None
            return DropSchemasStatement(names=names, exists=exists, behavior=behavior)
        for words in _DROPPED:
            if self._match_text_seq(*words):
                exists = self._match_text_seq("IF", "EXISTS")
                names = self._parse_csv(self._object_name)
                behavior = self._prev.text.upper() if self._match_texts(("CASCADE", "RESTRICT")) else None
                return DropStatement(kind=" ".join(words), names=names, exists=exists, behavior=behavior)
        return self._unsupported("DROP")

    def _alter(self) -> nodes.Statement:
        if self._match_texts(("ROLE", "USER")):
            return self._alter_role()
        if self._match_text_seq("SYSTEM"):
            return self._alter_system()
        if self._match_text_seq("DEFAULT", "PRIVILEGES"):
            return self._alter_default_privileges()
        owner = self._alter_owner()
        if owner is not None:
            return owner
        if self._match_text_seq("CLUSTER"):
            return self._alter_cluster()
        kind = next((kind for kind in _RENAMED if self._match_text_seq(*kind.split())), None)
        if kind is None:
            return self._unsupported("ALTER")
        exists = self._match_text_seq("IF", "EXISTS")
        name = self._object_name()
        if self._match_text_seq("RENAME"):
            self._expect("TO")
            return AlterRenameStatement(kind=kind, this=name, exists=exists, to=self._name())
        if kind == "SECRET" and not exists:
            return self._alter_secret(name)
        if kind == "SINK":
            self._unsupported("ALTER SINK")
        if exists or kind != "SOURCE":
            self.raise_error("Expected RENAME TO")
        if self._match_text_seq("RETRY"):
            return AlterSourceRetryStatement(this=name)
        if self._match_text_seq("RESNAPSHOT"):
            return AlterSourceResnapshotStatement(this=name)
        if self._match_text_seq("WAIVE"):
            return AlterSourceWaiveStatement(this=name, check=self._text())
        if self._match_text_seq("RESTART"):
            return AlterSourceRestartStatement(this=name, partition=self._text())
        if (retention := self._alter_retention(name)) is not None:
            return retention
        if not self._match_text_seq("SKIP"):
            self.raise_error("Expected RETRY, RESNAPSHOT, RESTART, WAIVE, SKIP, SET, RESET or RENAME TO")
        partition, lower, upper = self._text(), None, None
        if self._match_text_seq("FROM"):
            lower = self._integer()
            self._expect("TO")
            upper = self._integer()
        return AlterSourceSkipStatement(this=name, partition=partition, lower=lower, upper=upper)

    # --- SHOW, EXPLAIN, transactions ---

    def _show(self) -> nodes.Statement:
        if self._match_text_seq("CREATE"):
            for words in (("MATERIALIZED", "VIEW"), ("SOURCE",), ("TABLE",), ("VIEW",), ("INDEX",), ("SINK",), ("CONNECTION",)):
                if self._match_text_seq(*words):
                    return ShowCreateStatement(kind=" ".join(words), this=self._object_name())
            if self._match_text_seq("CLUSTER"):
                return ShowCreateStatement(kind="CLUSTER", this=self._cluster_name())
            return self._unsupported("SHOW CREATE")
        if self._match_text_seq("COLUMNS"):
            if not self._match_texts(("FROM", "IN")):
                self.raise_error("Expected FROM")
            return ShowColumnsStatement(this=self._object_name(), **self._show_filter())
        if self._match_text_seq("CLUSTER", "REPLICAS"):
            return self._show_list("CLUSTER REPLICAS")
        if self._match_text_seq("MATERIALIZED"):
            self._expect("VIEWS")
            return self._show_list("MATERIALIZED VIEWS")
        if self._match_texts(("INDEX", "KEYS")):
            return self._show_list("INDEXES")
        if self._match_texts(_SHOW_LISTS):
            return self._show_list(self._prev.text.upper())
        if self._match_text_seq("PRIVILEGES"):
            return self._show_privileges(is_default=False)
        if self._match_text_seq("DEFAULT", "PRIVILEGES"):
            return self._show_privileges(is_default=True)
        if self._match_text_seq("ALL"):
            return ShowVariableStatement()
        if self._match_text_seq("TRANSACTION", "ISOLATION", "LEVEL"):
            return ShowVariableStatement(this=exp.to_identifier("transaction_isolation"))
        return ShowVariableStatement(this=self._variable())

    def _show_list(self, kind: str) -> ShowObjectsStatement:
        within = None
        if not self._match_text_seq("IN", "CLUSTER", advance=False) and self._match_texts(("FROM", "IN")):
            within = self._object_name()
        return ShowObjectsStatement(kind=kind, within=within, cluster=self._cluster(), **self._show_filter())

    def _show_filter(self) -> dict[str, exp.Expr | None]:
        if self._match_text_seq("LIKE"):
            return {"like": self._text()}
        if self._match_texts(("WHERE", "EXPR")):
            return {"where": self._parse_disjunction() or self._missing()}
        return {}

    def _explain(self) -> ExplainStatement:
        if self._match_text_seq("OPTIMIZER", "TRACE"):
            kind = "OPTIMIZER TRACE"
        else:
            kind = self._prev.text.upper() if self._match_texts(("PLAN", "TIMESTAMP")) else "PLAN"
        self._match_text_seq("FOR")
        if self._curr.token_type not in QUERY_STARTS:
            self.raise_error("Expected a query")
        return ExplainStatement(this=self._query_statement(), kind=kind)

    def _set_anything(self) -> nodes.Statement:
        for kind in ("SET TRANSACTION", "SET SESSION CHARACTERISTICS AS TRANSACTION"):
            if self._match_text_seq(*kind.split()[1:]):
                return self._modes(kind)
        return self._set()

    def _begin(self) -> TransactionStatement:
        self._match_texts(("WORK", "TRANSACTION"))
        return self._modes("BEGIN")

    def _modes(self, kind: str) -> TransactionStatement:
        isolation = access = None
        while self._curr:
            if self._match_text_seq("ISOLATION", "LEVEL"):
                isolation = next((level for level in _ISOLATION_LEVELS if self._match_text_seq(*level.split())), None)
                if isolation is None:
                    self.raise_error("Expected an isolation level")
            elif self._match_text_seq("READ", "ONLY"):
                access = "READ ONLY"
            elif self._match_text_seq("READ", "WRITE"):
                access = "READ WRITE"
            elif self._match_text_seq("NOT", "DEFERRABLE") or self._match_text_seq("DEFERRABLE"):
                pass  # nothing is deferred
            else:
                self.raise_error("Invalid expression")
            self._match(TokenType.COMMA)
        return TransactionStatement(kind=kind, isolation=isolation, access=access)

    def _start(self) -> TransactionStatement:
        if not self._match_text_seq("TRANSACTION", advance=False):
            self.raise_error("Expected TRANSACTION")
        return self._begin()

    def _end(self, kind: str) -> TransactionStatement:
        self._match_texts(("WORK", "TRANSACTION"))
        if kind == "ROLLBACK" and self._match_text_seq("TO"):
            self._match_text_seq("SAVEPOINT")
            return TransactionStatement(kind="ROLLBACK TO", this=self._name())
        return TransactionStatement(kind=kind)

    def _savepoint(self, kind: str) -> TransactionStatement:
        if kind == "RELEASE":
            self._match_text_seq("SAVEPOINT")
        return TransactionStatement(kind=kind, this=self._name())

    _ROOTS: ClassVar[dict[str, Callable[[Any], nodes.Statement]]] = {
        "CREATE": _create,
        "INSERT": TableParser._insert,
        "UPDATE": TableParser._update,
        "DELETE": TableParser._delete,
        "VALIDATE": SinkParser._validate,
        "TRUNCATE": TableParser._truncate,
        "COPY": TableParser._copy,
        "REFRESH": _refresh,
        "DROP": _drop,
        "ALTER": _alter,
        "GRANT": RoleParser._grant,
        "REVOKE": RoleParser._revoke,
        "REASSIGN": RoleParser._reassign_owned,
        "SHOW": _show,
        "PREPARE": SessionParser._prepare,
        "EXECUTE": SessionParser._execute,
        "DEALLOCATE": SessionParser._deallocate,
        "DECLARE": SessionParser._declare,
        "FETCH": SessionParser._fetch,
        "CLOSE": SessionParser._close,
        "DISCARD": SessionParser._discard,
        "UNLISTEN": SessionParser._unlisten,
        "SET": _set_anything,
        "RESET": RoleParser._reset,
        "SUBSCRIBE": SessionParser._subscribe,
        "TAIL": SessionParser._subscribe,
        "EXPLAIN": _explain,
        "BEGIN": _begin,
        "START": _start,
        "COMMIT": lambda self: self._end("COMMIT"),
        "END": lambda self: self._end("COMMIT"),
        "ROLLBACK": lambda self: self._end("ROLLBACK"),
        "ABORT": lambda self: self._end("ROLLBACK"),
        "SAVEPOINT": lambda self: self._savepoint("SAVEPOINT"),
        "RELEASE": lambda self: self._savepoint("RELEASE"),
    }
