"""Views and indexes."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.syntax.index_elements import (
    included_columns,
    index_elements,
    write_elements,
)
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.storage_parameters import skip_storage_parameters
from reclock.sql.syntax.temporary import TEMPORARY, is_temporary, make_temporary
from reclock.sql.syntax.writing import clause, generates, joined, when, written_as


@written_as(
    "CREATE [replace: OR REPLACE] [materialized: MATERIALIZED] VIEW [exists: IF NOT EXISTS] "
    "{this} [IN CLUSTER {cluster}] [IN TIME ZONE {zone}] [({columns})] AS {query}"
)
class CreateViewStatement(Statement):
    """``zone`` is the time zone of moments in the query; without it, that of the session, or UTC in
    the text of a definition."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "replace": False,
        "materialized": False,
        "cluster": False,
        "zone": False,
        "columns": False,
        "query": True,
    }


class CreateIndexStatement(Statement):
    """Without ``keys`` it is ``CREATE DEFAULT INDEX``. ``unique`` is ``NULLS DISTINCT`` or ``NULLS NOT
    DISTINCT``. ``method`` is one that finds rows in another way than by equality. ``orders`` and
    ``include`` change nothing here; an index has all columns of its relation."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": False,
        "unique": False,
        "cluster": False,
        "on": True,
        "method": False,
        "keys": False,
        "orders": False,
        "include": False,
        "where": False,
        "exists": False,
    }


@written_as("REFRESH MATERIALIZED VIEW {this}")
class RefreshViewStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


@parses("CREATE [OR REPLACE] [MATERIALIZED] VIEW", f"CREATE [OR REPLACE] {TEMPORARY} VIEW")
def create_view(parser: StatementParser) -> CreateViewStatement:
    replace, materialized = "REPLACE" in parser.phrase, "MATERIALIZED" in parser.phrase
    exists = parser.if_not_exists()
    if replace and exists:
        parser.reject("OR REPLACE and IF NOT EXISTS exclude each other", parser.last_token)
    name = parser.object_name()
    if is_temporary(parser.phrase):
        make_temporary(name)
    cluster = parser.in_cluster() if materialized else None
    zone = None
    if parser.accept("IN", "TIME", "ZONE"):
        zone = parser.string() or parser.missing()
    columns = (
        parser.wrapped_list(StatementParser.name) if parser.sees_token(TokenType.L_PAREN) else None
    )
    if not parser.accept_token(TokenType.ALIAS):
        parser.raise_error("Expected AS")
    view = CreateViewStatement(
        this=name,
        exists=exists,
        replace=replace,
        materialized=materialized,
        cluster=cluster,
        zone=zone,
        columns=columns,
        query=parser.query(),
    )
    if materialized:
        _skip_with_data(parser)
    return view


@parses("CREATE [OR REPLACE] RECURSIVE VIEW")
def create_recursive_view(parser: StatementParser) -> CreateViewStatement:
    """The view of WITH RECURSIVE in which the query has the view's name and columns."""
    name = parser.object_name()
    columns = parser.wrapped_list(StatementParser.name)
    if not parser.accept_token(TokenType.ALIAS):
        parser.raise_error("Expected AS")
    alias = exp.TableAlias(this=name.this.copy(), columns=[column.copy() for column in columns])
    step = exp.CTE(this=parser.query(), alias=alias)
    query = exp.Select(
        expressions=[exp.Column(this=column.copy()) for column in columns],
        from_=exp.From(this=exp.Table(this=name.this.copy())),
        with_=exp.With(expressions=[step], recursive=True),
    )
    return CreateViewStatement(
        this=name, replace="REPLACE" in parser.phrase, columns=columns, query=query
    )


@parses("CREATE DEFAULT INDEX")
def create_default_index(parser: StatementParser) -> CreateIndexStatement:
    cluster = parser.in_cluster()
    parser.expect("ON")
    return CreateIndexStatement(cluster=cluster, on=parser.object_name())


@parses("CREATE INDEX", "CREATE UNIQUE INDEX")
def create_index(parser: StatementParser) -> CreateIndexStatement:
    parser.accept("CONCURRENTLY")
    exists = parser.if_not_exists()
    name = None if parser.sees("ON") or parser.sees("IN") else parser.name()
    cluster = parser.in_cluster()
    parser.expect("ON")
    on = parser.table_name()
    method = None
    if parser.accept("USING") and not parser.accept_any(("ARRANGEMENT", "BTREE", "HASH")):
        method = parser.name()
    keys, orders = index_elements(parser)
    statement = CreateIndexStatement(
        this=name, cluster=cluster, on=on, method=method, keys=keys, orders=orders, exists=exists
    )
    statement.set("include", included_columns(parser))
    if "UNIQUE" in parser.phrase:
        statement.set("unique", "NULLS DISTINCT")
        if parser.accept("NULLS", "NOT", "DISTINCT"):
            statement.set("unique", "NULLS NOT DISTINCT")
        else:
            parser.accept("NULLS", "DISTINCT")
    skip_storage_parameters(parser)
    if parser.accept("TABLESPACE"):
        parser.name()
    if parser.accept_token(TokenType.WHERE):
        statement.set("where", parser.value())
    return statement


@parses("REFRESH")
def refresh_view(parser: StatementParser) -> RefreshViewStatement:
    parser.expect("MATERIALIZED", "VIEW")
    parser.accept("CONCURRENTLY")
    statement = RefreshViewStatement(this=parser.object_name())
    _skip_with_data(parser)
    return statement


def _skip_with_data(parser: StatementParser) -> None:
    """A materialized view always has its rows, also where a dump fills it later."""
    if parser.accept_token(TokenType.WITH):
        parser.accept("NO")
        parser.expect("DATA")


@generates(CreateIndexStatement)
def _write_create_index(write: Generator, node: exp.Expression) -> str:
    keys = node.args.get("keys")
    return joined(
        "CREATE",
        "" if keys else "DEFAULT",
        when(node, "unique", "UNIQUE"),
        "INDEX",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        clause(write, "IN CLUSTER", node, "cluster"),
        f"ON {write.sql(node, 'on')}",
        clause(write, "USING", node, "method"),
        write_elements(write, node, "keys") if keys else "",
        "NULLS NOT DISTINCT" if node.args.get("unique") == "NULLS NOT DISTINCT" else "",
        clause(write, "WHERE", node, "where"),
    )
