"""SHOW."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from reclock.sql.statements.functions.names_syntax import object_name
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import written_as


@written_as("SHOW {kind} [FROM {within}] [IN CLUSTER {cluster}] [LIKE {like}] [WHERE {where}]")
class ShowObjectsStatement(Statement):
    """``within`` names a schema, or for ``INDEXES`` a relation."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "within": False,
        "cluster": False,
        "like": False,
        "where": False,
    }


@written_as("SHOW COLUMNS FROM {this} [LIKE {like}] [WHERE {where}]")
class ShowColumnsStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "like": False, "where": False}


@written_as("SHOW CREATE {kind} {this}")
class ShowCreateStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True}


_CREATED = (
    *("MATERIALIZED VIEW", "SOURCE", "TABLE", "VIEW", "INDEX", "SINK", "CONNECTION"),
    *("FUNCTION", "TYPE"),
)


@parses("SHOW CREATE")
def show_create(parser: StatementParser) -> ShowCreateStatement:
    kind = parser.accept_first(*_CREATED)
    if kind is not None:
        return ShowCreateStatement(kind=kind, this=object_name(parser, kind))
    if parser.accept("CLUSTER"):
        return ShowCreateStatement(kind="CLUSTER", this=parser.cluster_name())
    return parser.unsupported("SHOW CREATE")


@parses("SHOW COLUMNS")
def show_columns(parser: StatementParser) -> ShowColumnsStatement:
    if not parser.accept_any(("FROM", "IN")):
        parser.raise_error("Expected FROM")
    return ShowColumnsStatement(this=parser.object_name(), **_filter(parser))


@parses(
    "SHOW SECRETS|CONNECTIONS|SOURCES|TABLES|VIEWS|INDEXES|SINKS|FUNCTIONS|TYPES|SEQUENCES|OBJECTS",
    "SHOW DATABASES|SCHEMAS|CLUSTERS|ROLES",
    "SHOW CLUSTER REPLICAS",
)
def show_objects(parser: StatementParser) -> ShowObjectsStatement:
    return _objects(parser, " ".join(parser.phrase[1:]))


@parses("SHOW MATERIALIZED")
def show_materialized_views(parser: StatementParser) -> ShowObjectsStatement:
    parser.expect("VIEWS")
    return _objects(parser, "MATERIALIZED VIEWS")


@parses("SHOW INDEX|KEYS")
def show_indexes(parser: StatementParser) -> ShowObjectsStatement:
    return _objects(parser, "INDEXES")


def _objects(parser: StatementParser, kind: str) -> ShowObjectsStatement:
    within = None
    if not parser.sees("IN", "CLUSTER") and parser.accept_any(("FROM", "IN")):
        within = parser.object_name()
    return ShowObjectsStatement(
        kind=kind, within=within, cluster=parser.in_cluster(), **_filter(parser)
    )


def _filter(parser: StatementParser) -> dict[str, exp.Expr | None]:
    if parser.accept("LIKE"):
        return {"like": parser.text()}
    if parser.accept_any(("WHERE", "EXPR")):
        return {"where": parser.value()}
    return {}
