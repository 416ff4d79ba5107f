"""Our SQL dialect: sqlglot's Materialize, its queries and expressions, with statements of our own in and out of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.materialize import Materialize
from sqlglot.generator import Generator
from sqlglot.generators.materialize import MaterializeGenerator
from sqlglot.tokenizer_core import TokenizerCore, TokenType

from reclock.sql import nodes
from reclock.sql.grammar import ReclockParser

_Writer = Callable[[Generator, exp.Expression], str]
_WRITERS: dict[type[exp.Expression], _Writer] = {}


def _writes(kind: type[exp.Expression]) -> Callable[[_Writer], _Writer]:
    def register(writer: _Writer) -> _Writer:
        _WRITERS[kind] = writer
        return writer

    return register


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _if(node: exp.Expression, name: str, words: str) -> str:
    return words if node.args.get(name) else ""


def _clause(write: Generator, words: str, node: exp.Expression, name: str) -> str:
    value = write.sql(node, name)
    return f"{words} {value}" if value else ""


def _list(write: Generator, node: exp.Expression, name: str) -> str:
    return ", ".join(write.sql(item) for item in node.args.get(name) or ())


@_writes(nodes.QueryStatement)
def _query(write: Generator, node: exp.Expression) -> str:
    return _join(write.sql(node, "this"), write.sql(node, "as_of"))


@_writes(nodes.AsOf)
def _as_of(write: Generator, node: exp.Expression) -> str:
    return _join("AS OF", _if(node, "at_least", "AT LEAST"), write.sql(node, "this"))


@_writes(nodes.ExplainStatement)
def _explain(write: Generator, node: exp.Expression) -> str:
    return f"EXPLAIN {node.args['kind']} FOR {write.sql(node, 'this')}"


@_writes(nodes.Option)
def _option(write: Generator, node: exp.Expression) -> str:
    return f"{write.sql(node, 'this')} = {write.sql(node, 'value')}"


@_writes(nodes.SourceColumn)
def _source_column(write: Generator, node: exp.Expression) -> str:
    return _join(write.sql(node, "this"), write.sql(node, "kind"), _if(node, "not_null", "NOT NULL"))


@_writes(nodes.ObjectsFrom)
def _objects_from(write: Generator, node: exp.Expression) -> str:
    matching = _clause(write, "MATCHING", node, "pattern")
    return _join("S3 DISCOVER OBJECTS", matching, f"USING BUCKET SCAN {write.sql(node, 'bucket')}")


@_writes(nodes.CsvFormatClause)
def _csv_format(write: Generator, node: exp.Expression) -> str:
    columns = f"WITH {write.sql(node, 'columns')} COLUMNS" if node.args.get("columns") else ""
    return _join(
        "CSV",
        _if(node, "header", "WITH HEADER"),
        columns,
        _clause(write, "DELIMITED BY", node, "delimiter"),
        _clause(write, "NULL AS", node, "null_text"),
    )


@_writes(nodes.JsonFormatClause)
def _json_format(write: Generator, node: exp.Expression) -> str:
    return "JSON"


@_writes(nodes.PlainFormatClause)
def _plain_format(write: Generator, node: exp.Expression) -> str:
    return str(node.args["kind"])


@_writes(nodes.KeyValueFormat)
def _key_value_format(write: Generator, node: exp.Expression) -> str:
    return f"KEY FORMAT {write.sql(node, 'key')} VALUE FORMAT {write.sql(node, 'value')}"


@_writes(nodes.LoadGeneratorFrom)
def _load_generator_from(write: Generator, node: exp.Expression) -> str:
    clauses = (
        _clause(write, "TICK INTERVAL", node, "tick_interval"),
        _clause(write, "MAX CARDINALITY", node, "max_cardinality"),
    )
    options = ", ".join(clause for clause in clauses if clause)
    return _join("LOAD GENERATOR", node.args["kind"], f"({options})" if options else "")


@_writes(nodes.KafkaFrom)
def _kafka_from(write: Generator, node: exp.Expression) -> str:
    return _join(
        f"KAFKA BROKER {write.sql(node, 'broker')} TOPIC {write.sql(node, 'topic')}",
        f"START OFFSET ({_list(write, node, 'start_offset')})" if node.args.get("start_offset") else "",
        _clause(write, "START TIMESTAMP", node, "start_timestamp"),
        _clause(write, "GROUP ID", node, "group"),
    )


@_writes(nodes.PostgresFrom)
def _postgres_from(write: Generator, node: exp.Expression) -> str:
    return _join(
        f"POSTGRES CONNECTION {write.sql(node, 'connection')} PUBLICATION {write.sql(node, 'publication')}",
        _clause(write, "SLOT", node, "slot"),
    )


@_writes(nodes.Metadata)
def _metadata(write: Generator, node: exp.Expression) -> str:
    return _join(node.args["kind"], _clause(write, "AS", node, "alias"))


@_writes(nodes.SubsourceOf)
def _subsource_of(write: Generator, node: exp.Expression) -> str:
    schema = f"{write.sql(node, 'schema')}." if node.args.get("schema") else ""
    columns = f"({_list(write, node, 'columns')})" if node.args.get("columns") else ""
    return _join(f"{schema}{write.sql(node, 'this')}", _clause(write, "AS", node, "alias"), columns)


@_writes(nodes.CreateSubsourceStatement)
def _create_subsource(write: Generator, node: exp.Expression) -> str:
    return f"CREATE SUBSOURCE {write.sql(node, 'this')} FROM SOURCE {write.sql(node, 'source')} TABLE {write.sql(node, 'table')}"


@_writes(nodes.CreateSourceStatement)
def _create_source(write: Generator, node: exp.Expression) -> str:
    return _join(
        "CREATE",
        _if(node, "materialized", "MATERIALIZED"),
        "SOURCE",
        _if(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        _clause(write, "IN CLUSTER", node, "cluster"),
        f"({_list(write, node, 'columns')})" if node.args.get("columns") else "",
        f"FROM {write.sql(node, 'connector')}",
        write.sql(node, "format")
        if isinstance(node.args.get("format"), nodes.KeyValueFormat)
        else _clause(write, "FORMAT", node, "format"),
        f"INCLUDE {_list(write, node, 'include')}" if node.args.get("include") else "",
        f"ENVELOPE {node.args['envelope']}" if node.args.get("envelope") else "",
        _if(node, "all_tables", "FOR ALL TABLES"),
        f"FOR TABLES ({_list(write, node, 'tables')})" if node.args.get("tables") else "",
        _clause(write, "EXPOSE PROGRESS AS", node, "progress"),
        f"WITH ({_list(write, node, 'options')})" if node.args.get("options") else "",
    )


@_writes(nodes.CreateViewStatement)
def _create_view(write: Generator, node: exp.Expression) -> str:
    return _join(
        "CREATE",
        _if(node, "replace", "OR REPLACE"),
        _if(node, "materialized", "MATERIALIZED"),
        "VIEW",
        _if(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        _clause(write, "IN CLUSTER", node, "cluster"),
        f"({_list(write, node, 'columns')})" if node.args.get("columns") else "",
        f"AS {write.sql(node, 'query')}",
    )


@_writes(nodes.CreateIndexStatement)
def _create_index(write: Generator, node: exp.Expression) -> str:
    keys = node.args.get("keys")
    return _join(
        "CREATE",
        "" if keys else "DEFAULT",
        "INDEX",
        write.sql(node, "this"),
        _clause(write, "IN CLUSTER", node, "cluster"),
        f"ON {write.sql(node, 'on')}",
        f"({_list(write, node, 'keys')})" if keys else "",
    )


@_writes(nodes.DropStatement)
def _drop(write: Generator, node: exp.Expression) -> str:
    names = _list(write, node, "names")
    return _join("DROP", node.args["kind"], _if(node, "exists", "IF EXISTS"), names, node.args.get("behavior") or "")


@_writes(nodes.CreateSchemaStatement)
def _create_schema(write: Generator, node: exp.Expression) -> str:
    return _join("CREATE SCHEMA", _if(node, "exists", "IF NOT EXISTS"), write.sql(node, "this"))


@_writes(nodes.DropSchemasStatement)
def _drop_schemas(write: Generator, node: exp.Expression) -> str:
    return _join("DROP SCHEMA", _if(node, "exists", "IF EXISTS"), _list(write, node, "names"), node.args.get("behavior") or "")


@_writes(nodes.AlterSourceRetryStatement)
def _retry(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SOURCE {write.sql(node, 'this')} RETRY"


@_writes(nodes.AlterSourceWaiveStatement)
def _waive(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SOURCE {write.sql(node, 'this')} WAIVE {write.sql(node, 'check')}"


@_writes(nodes.AlterSourceSkipStatement)
def _skip(write: Generator, node: exp.Expression) -> str:
    skipped = f"ALTER SOURCE {write.sql(node, 'this')} SKIP {write.sql(node, 'partition')}"
    return _join(skipped, _clause(write, "FROM", node, "lower"), _clause(write, "TO", node, "upper"))


@_writes(nodes.AlterRenameStatement)
def _rename(write: Generator, node: exp.Expression) -> str:
    what = _join("ALTER", node.args["kind"], _if(node, "exists", "IF EXISTS"), write.sql(node, "this"))
    return f"{what} RENAME TO {write.sql(node, 'to')}"


def _filter(write: Generator, node: exp.Expression) -> str:
    return _join(_clause(write, "LIKE", node, "like"), _clause(write, "WHERE", node, "where"))


@_writes(nodes.ShowObjectsStatement)
def _show_objects(write: Generator, node: exp.Expression) -> str:
    within, cluster = _clause(write, "FROM", node, "within"), _clause(write, "IN CLUSTER", node, "cluster")
    return _join("SHOW", node.args["kind"], within, cluster, _filter(write, node))


@_writes(nodes.ShowColumnsStatement)
def _show_columns(write: Generator, node: exp.Expression) -> str:
    return _join(f"SHOW COLUMNS FROM {write.sql(node, 'this')}", _filter(write, node))


@_writes(nodes.ShowCreateStatement)
def _show_create(write: Generator, node: exp.Expression) -> str:
    return f"SHOW CREATE {node.args['kind']} {write.sql(node, 'this')}"


@_writes(nodes.ShowVariableStatement)
def _show_variable(write: Generator, node: exp.Expression) -> str:
    return f"SHOW {write.sql(node, 'this') or 'ALL'}"


@_writes(nodes.SetVariableStatement)
def _set_variable(write: Generator, node: exp.Expression) -> str:
    return _join("SET", node.args.get("scope") or "", f"{write.sql(node, 'this')} = {_list(write, node, 'values') or 'DEFAULT'}")


@_writes(nodes.ResetVariableStatement)
def _reset_variable(write: Generator, node: exp.Expression) -> str:
    return f"RESET {write.sql(node, 'this') or 'ALL'}"


@_writes(nodes.TransactionStatement)
def _transaction(write: Generator, node: exp.Expression) -> str:
    isolation = node.args.get("isolation")
    level = f"ISOLATION LEVEL {isolation}" if isolation else ""
    return _join(node.args["kind"], write.sql(node, "this"), level, node.args.get("access") or "")


def _role_options(write: Generator, node: exp.Expression) -> str:
    attributes = (attribute.name for attribute in node.args.get("attributes") or ())
    return _join(*attributes, _clause(write, "PASSWORD", node, "password"))


@_writes(nodes.CreateRoleStatement)
def _create_role(write: Generator, node: exp.Expression) -> str:
    return _join("CREATE ROLE", write.sql(node, "this"), _role_options(write, node))


@_writes(nodes.AlterRoleStatement)
def _alter_role(write: Generator, node: exp.Expression) -> str:
    return _join("ALTER ROLE", write.sql(node, "this"), _role_options(write, node))


@_writes(nodes.AlterRoleRenameStatement)
def _rename_role(write: Generator, node: exp.Expression) -> str:
    return f"ALTER ROLE {write.sql(node, 'this')} RENAME TO {write.sql(node, 'to')}"


@_writes(nodes.SetDefaultStatement)
def _set_default(write: Generator, node: exp.Expression) -> str:
    whose = _clause(write, "ROLE", node, "role") or "SYSTEM"
    variable = write.sql(node, "this") or "ALL"
    change = f"SET {variable} = {_list(write, node, 'values')}" if node.args.get("values") else f"RESET {variable}"
    return f"ALTER {whose} {change}"


@_writes(nodes.DropRolesStatement)
def _drop_roles(write: Generator, node: exp.Expression) -> str:
    return _join("DROP ROLE", _if(node, "exists", "IF EXISTS"), _list(write, node, "names"))


@_writes(nodes.AlterOwnerStatement)
def _alter_owner(write: Generator, node: exp.Expression) -> str:
    return f"ALTER {node.args['kind']} {write.sql(node, 'this')} OWNER TO {write.sql(node, 'to')}"


@_writes(nodes.ReassignOwnedStatement)
def _reassign_owned(write: Generator, node: exp.Expression) -> str:
    return f"REASSIGN OWNED BY {_list(write, node, 'roles')} TO {write.sql(node, 'to')}"


@_writes(nodes.DropOwnedStatement)
def _drop_owned(write: Generator, node: exp.Expression) -> str:
    return _join(f"DROP OWNED BY {_list(write, node, 'roles')}", node.args.get("behavior") or "")


def _grantees(write: Generator, node: exp.Expression, name: str) -> str:
    return f"{'TO' if node.args['verb'] == 'GRANT' else 'FROM'} {_list(write, node, name)}"


@_writes(nodes.PrivilegesStatement)
def _privileges(write: Generator, node: exp.Expression) -> str:
    granted = _list(write, node, "privileges") or "ALL PRIVILEGES"
    on = _join("ON", node.args["kind"], _list(write, node, "names"))
    return _join(node.args["verb"], granted, on, _grantees(write, node, "grantees"))


@_writes(nodes.MembershipStatement)
def _membership(write: Generator, node: exp.Expression) -> str:
    return _join(node.args["verb"], _list(write, node, "roles"), _grantees(write, node, "members"))


@_writes(nodes.DefaultPrivilegesStatement)
def _default_privileges(write: Generator, node: exp.Expression) -> str:
    owners = f"FOR ROLE {_list(write, node, 'owners')}" if node.args.get("owners") else _if(node, "is_for_all", "FOR ALL ROLES")
    within = f"IN {node.args['within']} {_list(write, node, 'names')}" if node.args.get("within") else ""
    granted = _list(write, node, "privileges") or "ALL PRIVILEGES"
    changed = f"{node.args['verb']} {granted} ON {node.args['kind']}S"
    return _join("ALTER DEFAULT PRIVILEGES", owners, within, changed, _grantees(write, node, "grantees"))


@_writes(nodes.ShowPrivilegesStatement)
def _show_privileges(write: Generator, node: exp.Expression) -> str:
    kind = f"ON {node.args['kind']}" if node.args.get("kind") else ""
    default = _if(node, "is_default", "DEFAULT")
    return _join("SHOW", default, "PRIVILEGES", kind, _clause(write, "FOR", node, "role"), _clause(write, "WHERE", node, "where"))


@_writes(nodes.TableColumn)
def _table_column(write: Generator, node: exp.Expression) -> str:
    not_null, default = _if(node, "not_null", "NOT NULL"), _clause(write, "DEFAULT", node, "default")
    return _join(write.sql(node, "this"), write.sql(node, "kind"), not_null, default)


@_writes(nodes.CreateTableStatement)
def _create_table(write: Generator, node: exp.Expression) -> str:
    name = _join("CREATE TABLE", _if(node, "exists", "IF NOT EXISTS"), write.sql(node, "this"))
    return f"{name} ({_list(write, node, 'columns')})"


def _returning(write: Generator, node: exp.Expression) -> str:
    return f"RETURNING {_list(write, node, 'returning')}" if node.args.get("returning") else ""


@_writes(nodes.InsertStatement)
def _insert(write: Generator, node: exp.Expression) -> str:
    columns = f"({_list(write, node, 'columns')})" if node.args.get("columns") else ""
    rows = write.sql(node, "query") or "DEFAULT VALUES"
    return _join("INSERT INTO", write.sql(node, "this"), columns, rows, _returning(write, node))


@_writes(nodes.Assignment)
def _assignment(write: Generator, node: exp.Expression) -> str:
    return f"{write.sql(node, 'this')} = {write.sql(node, 'value')}"


@_writes(nodes.UpdateStatement)
def _update(write: Generator, node: exp.Expression) -> str:
    changed = f"UPDATE {write.sql(node, 'this')} SET {_list(write, node, 'assignments')}"
    return _join(changed, _clause(write, "WHERE", node, "where"), _returning(write, node))


@_writes(nodes.DeleteStatement)
def _delete(write: Generator, node: exp.Expression) -> str:
    return _join(f"DELETE FROM {write.sql(node, 'this')}", _clause(write, "WHERE", node, "where"), _returning(write, node))


@_writes(nodes.TruncateStatement)
def _truncate(write: Generator, node: exp.Expression) -> str:
    return f"TRUNCATE TABLE {_list(write, node, 'names')}"


@_writes(nodes.CopyStatement)
def _copy(write: Generator, node: exp.Expression) -> str:
    what = f"({write.sql(node, 'query')})" if node.args.get("query") else write.sql(node, "this")
    columns = f"({_list(write, node, 'columns')})" if node.args.get("columns") else ""
    options = ", ".join(f"{write.sql(option, 'this')} {write.sql(option, 'value')}" for option in node.args.get("options") or ())
    return _join("COPY", what, columns, "FROM STDIN" if node.args.get("is_from") else "TO STDOUT", options and f"WITH ({options})")


@_writes(nodes.PrepareStatement)
def _prepare(write: Generator, node: exp.Expression) -> str:
    types = f"({_list(write, node, 'types')})" if node.args.get("types") else ""
    return _join("PREPARE", write.sql(node, "this"), types, "AS", write.sql(node, "statement"))


@_writes(nodes.ExecuteStatement)
def _execute(write: Generator, node: exp.Expression) -> str:
    values = f"({_list(write, node, 'values')})" if node.args.get("values") else ""
    return _join("EXECUTE", write.sql(node, "this"), values)


@_writes(nodes.DeallocateStatement)
def _deallocate(write: Generator, node: exp.Expression) -> str:
    return f"DEALLOCATE {write.sql(node, 'this') or 'ALL'}"


@_writes(nodes.DeclareStatement)
def _declare(write: Generator, node: exp.Expression) -> str:
    return _join("DECLARE", write.sql(node, "this"), "CURSOR", _if(node, "is_held", "WITH HOLD"), "FOR", write.sql(node, "query"))


@_writes(nodes.FetchStatement)
def _fetch(write: Generator, node: exp.Expression) -> str:
    return f"FETCH {write.sql(node, 'count') or 'ALL'} FROM {write.sql(node, 'this')}"


@_writes(nodes.CloseStatement)
def _close(write: Generator, node: exp.Expression) -> str:
    return f"CLOSE {write.sql(node, 'this') or 'ALL'}"


@_writes(nodes.DiscardStatement)
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
            **_WRITERS,
        }


def to_sql(node: exp.Expr) -> str:
    """The node as text that parses to an equal node; calls keep their case, names their quotes."""
    return node.sql(dialect=Reclock, normalize_functions=False, comments=False)
