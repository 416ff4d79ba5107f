"""Our SQL dialect: sqlglot's Materialize, its queries and expressions, with statements of our own in and out of text."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.materialize import Materialize
from sqlglot.generator import Generator
from sqlglot.generators.materialize import MaterializeGenerator
from sqlglot.tokenizer_core import TokenizerCore, TokenType

from reclock.sql import (  # noqa: F401  (they register what they write)
    cluster_writers,
    connection_writers,
    nodes,
    role_writers,
    sink_writers,
    stream_writers,
)
from reclock.sql.constraint_nodes import TableConstraint
from reclock.sql.grammar import ReclockParser
from reclock.sql.writing import WRITERS, clause, filtered, formats, joined, listed, when, writes

_FOREIGN_KEY_WORDS = (("MATCH", "match"), ("ON DELETE", "on_delete"), ("ON UPDATE", "on_update"))


@writes(nodes.QueryStatement)
def _query(write: Generator, node: exp.Expression) -> str:
    return joined(write.sql(node, "this"), write.sql(node, "as_of"))


@writes(nodes.AsOfClause)
def _as_of(write: Generator, node: exp.Expression) -> str:
    return joined("AS OF", when(node, "at_least", "AT LEAST"), write.sql(node, "this"))


@writes(nodes.SubscribeStatement)
def _subscribe(write: Generator, node: exp.Expression) -> str:
    what = f"({write.sql(node, 'query')})" if node.args.get("query") else write.sql(node, "this")
    options = ", ".join(f"{name.upper()} = {write.sql(node, name)}" for name in ("snapshot", "progress") if node.args.get(name))
    up_to = write.sql(node, "up_to").removeprefix("AS OF ")
    key = ", ".join(write.sql(each) for each in node.args.get("key") or ())
    return joined(
        "SUBSCRIBE TO",
        what,
        options and f"WITH ({options})",
        write.sql(node, "as_of"),
        up_to and f"UP TO {up_to}",
        key and f"ENVELOPE {node.args['envelope']} (KEY ({key}))",
        when(node, "order", f"WITHIN TIMESTAMP {write.sql(node, 'order').strip()}"),
    )


@writes(nodes.ExplainStatement)
def _explain(write: Generator, node: exp.Expression) -> str:
    return f"EXPLAIN {node.args['kind']} FOR {write.sql(node, 'this')}"


@writes(nodes.WithOption)
def _option(write: Generator, node: exp.Expression) -> str:
    return f"{write.sql(node, 'this')} = {write.sql(node, 'value')}"


@writes(nodes.RetainHistoryClause)
def _retain_history(write: Generator, node: exp.Expression) -> str:
    return f"RETAIN HISTORY FOR {write.sql(node, 'this')}"


@writes(nodes.SourceColumn)
def _source_column(write: Generator, node: exp.Expression) -> str:
    return joined(write.sql(node, "this"), write.sql(node, "kind"), when(node, "not_null", "NOT NULL"))


@writes(nodes.CsvFormatClause)
def _csv_format(write: Generator, node: exp.Expression) -> str:
    columns = f"WITH {write.sql(node, 'columns')} COLUMNS" if node.args.get("columns") else ""
    return joined(
        "CSV",
        when(node, "header", "WITH HEADER"),
        columns,
        clause(write, "DELIMITED BY", node, "delimiter"),
        clause(write, "NULL AS", node, "null_text"),
    )


@writes(nodes.JsonFormatClause)
def _json_format(write: Generator, node: exp.Expression) -> str:
    return "JSON"


@writes(nodes.PlainFormatClause)
def _plain_format(write: Generator, node: exp.Expression) -> str:
    return str(node.args["kind"])


@writes(nodes.KeyValueFormat)
def _key_value_format(write: Generator, node: exp.Expression) -> str:
    return f"KEY FORMAT {write.sql(node, 'key')} VALUE FORMAT {write.sql(node, 'value')}"


@writes(nodes.LoadGeneratorFrom)
def _load_generator_from(write: Generator, node: exp.Expression) -> str:
    clauses = (
        clause(write, "TICK INTERVAL", node, "tick_interval"),
        clause(write, "MAX CARDINALITY", node, "max_cardinality"),
        clause(write, "SCALE FACTOR", node, "scale_factor"),
    )
    options = ", ".join(clause for clause in clauses if clause)
    return joined("LOAD GENERATOR", node.args["kind"], f"({options})" if options else "")


@writes(nodes.KafkaFrom)
def _kafka_from(write: Generator, node: exp.Expression) -> str:
    options = (
        clause(write, "TOPIC", node, "topic"),
        clause(write, "TRANSACTION TOPIC", node, "transactions"),
        f"START OFFSET ({listed(write, node, 'start_offset')})" if node.args.get("start_offset") else "",
        clause(write, "START TIMESTAMP", node, "start_timestamp"),
        f"END OFFSET ({listed(write, node, 'end_offset')})" if node.args.get("end_offset") else "",
        clause(write, "END TIMESTAMP", node, "end_timestamp"),
        clause(write, "GROUP ID", node, "group"),
    )
    if node.args.get("connection"):
        return f"KAFKA CONNECTION {write.sql(node, 'connection')} ({', '.join(option for option in options if option)})"
    return joined(f"KAFKA BROKER {write.sql(node, 'broker')}", *options)


@writes(nodes.PostgresFrom)
def _postgres_from(write: Generator, node: exp.Expression) -> str:
    connection = f"POSTGRES CONNECTION {write.sql(node, 'connection')}"
    columns = [
        f"{kind} COLUMNS ({listed(write, node, name)})" if node.args.get(name) else ""
        for kind, name in (("TEXT", "text_columns"), ("EXCLUDE", "exclude_columns"))
    ]
    options = (f"PUBLICATION {write.sql(node, 'publication')}", clause(write, "SLOT", node, "slot"), *columns)
    if isinstance(node.args["connection"], exp.Table):
        return f"{connection} ({', '.join(option for option in options if option)})"
    return joined(connection, *options)


@writes(nodes.Metadata)
def _metadata(write: Generator, node: exp.Expression) -> str:
    return joined(node.args["kind"], clause(write, "AS", node, "alias"))


@writes(nodes.SubsourceOf)
def _subsource_of(write: Generator, node: exp.Expression) -> str:
    schema = f"{write.sql(node, 'schema')}." if node.args.get("schema") else ""
    columns = f"({listed(write, node, 'columns')})" if node.args.get("columns") else ""
    key = f"KEY ({listed(write, node, 'key')})" if node.args.get("key") else ""
    entries = f"ENTRY ({listed(write, node, 'entries')})" if node.args.get("entries") else ""
    name = joined(f"{schema}{write.sql(node, 'this')}", clause(write, "AS", node, "alias"))
    return joined(name, columns, key, clause(write, "OID", node, "oid"), entries)


@writes(nodes.CreateSubsourceStatement)
def _create_subsource(write: Generator, node: exp.Expression) -> str:
    return f"CREATE SUBSOURCE {write.sql(node, 'this')} FROM SOURCE {write.sql(node, 'source')} TABLE {write.sql(node, 'table')}"


@writes(nodes.CreateSourceStatement)
def _create_source(write: Generator, node: exp.Expression) -> str:
    return joined(
        "CREATE",
        when(node, "materialized", "MATERIALIZED"),
        "SOURCE",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        clause(write, "IN CLUSTER", node, "cluster"),
        f"({listed(write, node, 'columns')})" if node.args.get("columns") else "",
        f"FROM {write.sql(node, 'connector')}",
        formats(write, node),
        f"INCLUDE {listed(write, node, 'include')}" if node.args.get("include") else "",
        f"ENVELOPE {node.args['envelope']}" if node.args.get("envelope") else "",
        when(node, "all_tables", "FOR ALL TABLES"),
        f"FOR TABLES ({listed(write, node, 'tables')})" if node.args.get("tables") else "",
        clause(write, "EXPOSE PROGRESS AS", node, "progress"),
        f"WITH ({listed(write, node, 'options')})" if node.args.get("options") else "",
    )


@writes(nodes.CreateViewStatement)
def _create_view(write: Generator, node: exp.Expression) -> str:
    return joined(
        "CREATE",
        when(node, "replace", "OR REPLACE"),
        when(node, "materialized", "MATERIALIZED"),
        "VIEW",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        clause(write, "IN CLUSTER", node, "cluster"),
        f"({listed(write, node, 'columns')})" if node.args.get("columns") else "",
        f"AS {write.sql(node, 'query')}",
    )


@writes(nodes.CreateIndexStatement)
def _create_index(write: Generator, node: exp.Expression) -> str:
    keys = node.args.get("keys")
    return joined(
        "CREATE",
        "" if keys else "DEFAULT",
        "INDEX",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        clause(write, "IN CLUSTER", node, "cluster"),
        f"ON {write.sql(node, 'on')}",
        f"({listed(write, node, 'keys')})" if keys else "",
    )


@writes(nodes.DropStatement)
def _drop(write: Generator, node: exp.Expression) -> str:
    names = listed(write, node, "names")
    return joined("DROP", node.args["kind"], when(node, "exists", "IF EXISTS"), names, node.args.get("behavior") or "")


@writes(nodes.CreateSchemaStatement)
def _create_schema(write: Generator, node: exp.Expression) -> str:
    return joined("CREATE SCHEMA", when(node, "exists", "IF NOT EXISTS"), write.sql(node, "this"))


@writes(nodes.DropSchemasStatement)
def _drop_schemas(write: Generator, node: exp.Expression) -> str:
    return joined("DROP SCHEMA", when(node, "exists", "IF EXISTS"), listed(write, node, "names"), node.args.get("behavior") or "")


@writes(nodes.AlterSourceRetryStatement)
def _retry(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SOURCE {write.sql(node, 'this')} RETRY"


@writes(nodes.AlterSourceResnapshotStatement)
def _resnapshot(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SOURCE {write.sql(node, 'this')} RESNAPSHOT"


@writes(nodes.AlterSourceWaiveStatement)
def _waive(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SOURCE {write.sql(node, 'this')} WAIVE {write.sql(node, 'check')}"


@writes(nodes.AlterSourceSkipStatement)
def _skip(write: Generator, node: exp.Expression) -> str:
    skipped = f"ALTER SOURCE {write.sql(node, 'this')} SKIP {write.sql(node, 'partition')}"
    return joined(skipped, clause(write, "FROM", node, "lower"), clause(write, "TO", node, "upper"))


@writes(nodes.AlterSourceRestartStatement)
def _restart(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SOURCE {write.sql(node, 'this')} RESTART {write.sql(node, 'partition')}"


@writes(nodes.AlterSourceRetainStatement)
def _retain(write: Generator, node: exp.Expression) -> str:
    history = write.sql(node, "history")
    return f"ALTER SOURCE {write.sql(node, 'this')} {f'SET ({history})' if history else 'RESET (RETAIN HISTORY)'}"


@writes(nodes.AlterRenameStatement)
def _rename(write: Generator, node: exp.Expression) -> str:
    what = joined("ALTER", node.args["kind"], when(node, "exists", "IF EXISTS"), write.sql(node, "this"))
    return f"{what} RENAME TO {write.sql(node, 'to')}"


@writes(nodes.ShowObjectsStatement)
def _show_objects(write: Generator, node: exp.Expression) -> str:
    within, cluster = clause(write, "FROM", node, "within"), clause(write, "IN CLUSTER", node, "cluster")
    return joined("SHOW", node.args["kind"], within, cluster, filtered(write, node))


@writes(nodes.ShowColumnsStatement)
def _show_columns(write: Generator, node: exp.Expression) -> str:
    return joined(f"SHOW COLUMNS FROM {write.sql(node, 'this')}", filtered(write, node))


@writes(nodes.ShowCreateStatement)
def _show_create(write: Generator, node: exp.Expression) -> str:
    return f"SHOW CREATE {node.args['kind']} {write.sql(node, 'this')}"


@writes(nodes.ShowVariableStatement)
def _show_variable(write: Generator, node: exp.Expression) -> str:
    return f"SHOW {write.sql(node, 'this') or 'ALL'}"


@writes(nodes.SetVariableStatement)
def _set_variable(write: Generator, node: exp.Expression) -> str:
    return joined("SET", node.args.get("scope") or "", f"{write.sql(node, 'this')} = {listed(write, node, 'values') or 'DEFAULT'}")


@writes(nodes.ResetVariableStatement)
def _reset_variable(write: Generator, node: exp.Expression) -> str:
    return f"RESET {write.sql(node, 'this') or 'ALL'}"


@writes(nodes.TransactionStatement)
def _transaction(write: Generator, node: exp.Expression) -> str:
    isolation = node.args.get("isolation")
    level = f"ISOLATION LEVEL {isolation}" if isolation else ""
    return joined(node.args["kind"], write.sql(node, "this"), level, node.args.get("access") or "")


@writes(nodes.TableColumn)
def _table_column(write: Generator, node: exp.Expression) -> str:
    not_null, default = when(node, "not_null", "NOT NULL"), clause(write, "DEFAULT", node, "default")
    return joined(write.sql(node, "this"), write.sql(node, "kind"), not_null, default)


@writes(TableConstraint)
def _table_constraint(write: Generator, node: exp.Expression) -> str:
    words = (clause(write, keyword, node, name) for keyword, name in _FOREIGN_KEY_WORDS)
    target_columns = f"({listed(write, node, 'target_columns')})" if node.args.get("target_columns") else ""
    return joined(
        clause(write, "CONSTRAINT", node, "this"),
        node.args["kind"],
        when(node, "are_nulls_equal", "NULLS NOT DISTINCT"),
        f"({write.sql(node, 'check') or listed(write, node, 'columns')})",
        joined(clause(write, "REFERENCES", node, "target"), target_columns, *words),
        node.args.get("deferrable") or "",
        when(node, "is_not_enforced", "NOT ENFORCED"),
    )


@writes(nodes.CreateTableAsStatement)
def _create_table_as(write: Generator, node: exp.Expression) -> str:
    name = joined("CREATE TABLE", when(node, "exists", "IF NOT EXISTS"), write.sql(node, "this"))
    names = f"({listed(write, node, 'names')})" if node.args.get("names") else ""
    return joined(name, names, "AS", write.sql(node, "query"), when(node, "is_empty", "WITH NO DATA"))


@writes(nodes.CreateTableStatement)
def _create_table(write: Generator, node: exp.Expression) -> str:
    name = joined("CREATE TABLE", when(node, "exists", "IF NOT EXISTS"), write.sql(node, "this"))
    elements = [listed(write, node, "columns"), listed(write, node, "constraints")]
    return f"{name} ({', '.join(element for element in elements if element)})"


def _returning(write: Generator, node: exp.Expression) -> str:
    return f"RETURNING {listed(write, node, 'returning')}" if node.args.get("returning") else ""


@writes(nodes.InsertStatement)
def _insert(write: Generator, node: exp.Expression) -> str:
    columns = f"({listed(write, node, 'columns')})" if node.args.get("columns") else ""
    rows = write.sql(node, "query") or "DEFAULT VALUES"
    return joined("INSERT INTO", write.sql(node, "this"), columns, rows, _returning(write, node))


@writes(nodes.Assignment)
def _assignment(write: Generator, node: exp.Expression) -> str:
    return f"{write.sql(node, 'this')} = {write.sql(node, 'value')}"


@writes(nodes.UpdateStatement)
def _update(write: Generator, node: exp.Expression) -> str:
    changed = f"UPDATE {write.sql(node, 'this')} SET {listed(write, node, 'assignments')}"
    others = f"FROM {listed(write, node, 'others')}" if node.args.get("others") else ""
    return joined(changed, others, clause(write, "WHERE", node, "where"), _returning(write, node))


@writes(nodes.DeleteStatement)
def _delete(write: Generator, node: exp.Expression) -> str:
    others = f"USING {listed(write, node, 'others')}" if node.args.get("others") else ""
    return joined(f"DELETE FROM {write.sql(node, 'this')}", others, clause(write, "WHERE", node, "where"), _returning(write, node))


@writes(nodes.TruncateStatement)
def _truncate(write: Generator, node: exp.Expression) -> str:
    return f"TRUNCATE TABLE {listed(write, node, 'names')}"


@writes(nodes.RefreshViewStatement)
def _refresh_view(write: Generator, node: exp.Expression) -> str:
    return f"REFRESH MATERIALIZED VIEW {write.sql(node, 'this')}"


@writes(nodes.CopyStatement)
def _copy(write: Generator, node: exp.Expression) -> str:
    what = f"({write.sql(node, 'query')})" if node.args.get("query") else write.sql(node, "this")
    columns = f"({listed(write, node, 'columns')})" if node.args.get("columns") else ""
    options = ", ".join(f"{write.sql(option, 'this')} {write.sql(option, 'value')}" for option in node.args.get("options") or ())
    return joined("COPY", what, columns, "FROM STDIN" if node.args.get("is_from") else "TO STDOUT", options and f"WITH ({options})")


@writes(nodes.PrepareStatement)
def _prepare(write: Generator, node: exp.Expression) -> str:
    types = f"({listed(write, node, 'types')})" if node.args.get("types") else ""
    return joined("PREPARE", write.sql(node, "this"), types, "AS", write.sql(node, "statement"))


@writes(nodes.ExecuteStatement)
def _execute(write: Generator, node: exp.Expression) -> str:
    values = f"({listed(write, node, 'values')})" if node.args.get("values") else ""
    return joined("EXECUTE", write.sql(node, "this"), values)


@writes(nodes.DeallocateStatement)
def _deallocate(write: Generator, node: exp.Expression) -> str:
    return f"DEALLOCATE {write.sql(node, 'this') or 'ALL'}"


@writes(nodes.DeclareStatement)
def _declare(write: Generator, node: exp.Expression) -> str:
    return joined("DECLARE", write.sql(node, "this"), "CURSOR", when(node, "is_held", "WITH HOLD"), "FOR", write.sql(node, "query"))


@writes(nodes.FetchStatement)
def _fetch(write: Generator, node: exp.Expression) -> str:
    fetched = f"FETCH {write.sql(node, 'count') or 'ALL'} FROM {write.sql(node, 'this')}"
    return joined(fetched, f"WITH (TIMEOUT = {write.sql(node, 'timeout')})" if node.args.get("timeout") else "")


@writes(nodes.CloseStatement)
def _close(write: Generator, node: exp.Expression) -> str:
    return f"CLOSE {write.sql(node, 'this') or 'ALL'}"


@writes(nodes.UnlistenStatement)
def _unlisten(write: Generator, node: exp.Expression) -> str:
    return joined("UNLISTEN", write.sql(node, "this") or "*")


@writes(nodes.DiscardStatement)
def _discard(write: Generator, node: exp.Expression) -> str:
    return f"DISCARD {node.args['kind']}"


class _TokenizerCore(TokenizerCore):
    __slots__ = ()

    def _scan_string(self, start: str) -> bool:
        # sqlglot takes ``$1,$`` for the tag of a dollar quote; a tag does not begin with a digit.
        if start == "$" and self._peek.isdigit():
            self._add(TokenType.PARAMETER)
            return True
        return super()._scan_string(start)


class Reclock(Materialize):
    """The dialect of every text that Reclock reads or stores."""

    NORMALIZE_NOT_NULL = False
    INDEX_OFFSET = 0  # subscripts as they are written

    class Tokenizer(Materialize.Tokenizer):
        # A "command" would swallow the rest of its statement unparsed.
        COMMANDS: ClassVar[set[TokenType]] = set()

        def _init_core(self) -> TokenizerCore:
            core = super()._init_core()
            core.__class__ = _TokenizerCore
            return core

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind for word, kind in Materialize.Tokenizer.KEYWORDS.items() if kind is not TokenType.COMMAND
        }

    Parser = ReclockParser

    class Generator(MaterializeGenerator):
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **MaterializeGenerator.TRANSFORMS,
            exp.Pow: lambda self, node: self.binary(node, "^"),
            **WRITERS,
        }


def to_sql(node: exp.Expr) -> str:
    """The node as text that parses to an equal node; calls keep their case, names their quotes."""
    return node.sql(dialect=Reclock, normalize_functions=False, comments=False)
