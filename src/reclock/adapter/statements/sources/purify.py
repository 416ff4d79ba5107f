"""Purification: completes a CREATE SOURCE with what it leaves to the upstream, such as tables and
their columns."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp, system_clock
from reclock.connectors.clients import kafka_client, postgres_parameters, registry_client
from reclock.connectors.factory import ConnectionContext, first_columns
from reclock.definitions.connections import Connection, SecretResolver
from reclock.definitions.formats import AvroFormat, BytesFormat, Format, SchemaFormat
from reclock.definitions.sources import (
    DebeziumConnector,
    KafkaConnector,
    ObjectsConnector,
    PostgresConnector,
)
from reclock.errors import InvalidOption, quoted_name
from reclock.formats import schema_registry
from reclock.formats.avro_schemas import inline_references, row_columns_of
from reclock.formats.protobuf_schemas import compiled, messages_of
from reclock.sql.names import fold, identifier, nearest
from reclock.sql.statements.sources.formats_syntax import KeyValueFormat
from reclock.sql.statements.sources.plan import CreateSource
from reclock.sql.statements.sources.syntax import CreateSourceStatement, SourceColumn, SubsourceOf
from reclock.sql.statements.sources.upstream_tables import set_identity, upstream_name
from reclock.sql.syntax import nodes
from reclock.sql.syntax.parse import ParsedStatement, parse_one

if TYPE_CHECKING:
    # psycopg is imported only where it is needed
    from reclock.connectors.postgres.publication import DescribedTable

_PLAIN_TABLE = re.compile(r"[A-Za-z0-9_$-]+\.[A-Za-z0-9_$-]+")


def purify(
    parsed: ParsedStatement, statement: CreateSource, context: ConnectionContext
) -> ParsedStatement:
    """The statement, completed with what it leaves to the upstream, such as columns; the catalog
    keeps the answer.

    ``statement`` is the plan without that. Returns ``parsed`` itself if nothing was left open.
    Raises a ``SourceError`` if the upstream cannot be reached.
    """
    node, source, resolve_secret = parsed.node, statement.source, context.resolve_secret
    match source.connector:
        case ObjectsConnector() as upstream if not source.desc.columns:
            columns = [_source_column(c) for c in _definitions(first_columns(upstream, context))]
            completed = node.copy()
            completed.set("columns", columns)
            return replace(parsed, node=completed)
        case PostgresConnector() as upstream if isinstance(node, CreateSourceStatement):
            return replace(parsed, node=_of_publication(node.copy(), upstream, resolve_secret))
        case DebeziumConnector() as upstream if isinstance(source.format, AvroFormat):
            return replace(
                parsed, node=_of_registry(node.copy(), upstream, source.format, resolve_secret)
            )
        case KafkaConnector() as upstream:
            return replace(
                parsed, node=_of_topic(node.copy(), upstream, source.format, resolve_secret)
            )
        case _:
            return parsed


def _of_topic(
    node: nodes.Statement,
    upstream: KafkaConnector,
    value: Format | None,
    resolve_secret: SecretResolver,
) -> nodes.Statement:
    """The schemas of keys and values, and where each partition is at END TIMESTAMP."""
    for clause, format in _formats(node, value, upstream):
        if isinstance(format, SchemaFormat) and not format.schema:
            _set_schema(clause, format, upstream.topic, resolve_secret)
    if upstream.end_timestamp is not None:
        ends = _offsets_at(upstream, upstream.end_timestamp, resolve_secret)
        node.args["connector"].set("end_timestamp", None)
        node.args["connector"].set("end_offset", [exp.Literal.number(end) for end in ends])
    return node


def _formats(
    node: nodes.Statement, value: Format | None, upstream: KafkaConnector
) -> list[tuple[exp.Expression, Format | None]]:
    """The clauses of a topic's formats with what they mean."""
    clause = node.args.get("format")
    if isinstance(clause, KeyValueFormat):
        return [(clause.args["key"], upstream.key_format), (clause.args["value"], value)]
    return [(clause, value)] if clause is not None else []


def _set_schema(
    clause: exp.Expression, format: SchemaFormat, topic: str, resolve_secret: SecretResolver
) -> None:
    """Write the schema into the clause: the one it has, compiled, or the newest of the topic's keys
    or values, by the usual name of their subject."""
    if format.registry is None:
        clause.set("schema", exp.Literal.string(compiled(clause.args["schema"].name)))
        return
    subject = f"{topic}-{'key' if format.is_document else 'value'}"
    registered = _latest(format.registry, subject, resolve_secret)
    if isinstance(format, AvroFormat):
        clause.set(
            "seed", exp.Literal.string(inline_references(registered.text, registered.imports))
        )
        return
    schema = compiled(registered.text, registered.imports)
    names = messages_of(schema)
    if not format.message and len(names) != 1:
        hint = f"FORMAT PROTOBUF MESSAGE '…' USING …: it has {', '.join(names[:10]) or 'none'}"
        raise InvalidOption(f'the schema of "{subject}" has {len(names)} messages', hint=hint)
    clause.set("seed", exp.Literal.string(schema))
    clause.set("message", exp.Literal.string(format.message or names[0]))


def _latest(
    connection: Connection, subject: str, resolve_secret: SecretResolver
) -> schema_registry.RegisteredSchema:
    try:
        return schema_registry.latest(registry_client(connection, resolve_secret), subject)
    except schema_registry.UnknownSchema as error:
        raise InvalidOption(
            str(error), hint="a producer registers what it needs with its first message"
        ) from error


def _of_registry(
    node: nodes.Statement,
    upstream: DebeziumConnector,
    format: AvroFormat,
    resolve_secret: SecretResolver,
) -> nodes.Statement:
    """Every table with the columns of its rows: those of the newest schema of its topic, where the
    statement leaves them open."""
    tables = []
    for table in node.args["tables"]:
        name = upstream_name(table)
        if not table.args.get("columns"):
            registered = _latest(format.registry, f"{upstream.prefix}.{name}-value", resolve_secret)
            columns = row_columns_of(inline_references(registered.text, registered.imports))
            table = _described(name, table.args.get("alias"), RelationDesc(columns))
        tables.append(table)
    node.set("tables", tables)
    return node


def _offsets_at(
    upstream: KafkaConnector, timestamp: int, resolve_secret: SecretResolver
) -> list[int]:
    """Where every partition was at a moment that has passed."""
    from reclock.connectors.kafka.connector import Kafka

    if timestamp > system_clock():
        raise InvalidOption(
            "END TIMESTAMP lies in the future",
            detail="what the topic holds by then is not known yet",
        )
    topic = Kafka(
        upstream, BytesFormat(), RelationDesc(()), kafka_client(upstream.connection, resolve_secret)
    )
    return topic.offsets_at(Timestamp(timestamp))


def _of_publication(
    node: CreateSourceStatement, upstream: PostgresConnector, resolve_secret: SecretResolver
) -> CreateSourceStatement:
    """Every table with its columns, and the name of a slot that no other source has."""
    from psycopg import ProgrammingError

    from reclock.connectors.postgres.connector import Postgres

    connector = node.args["connector"]
    try:
        parameters = postgres_parameters(upstream.connection, resolve_secret)
    except ProgrammingError as error:
        raise InvalidOption(
            "the connection is not one of libpq's",
            detail=str(error).strip(),
            hint="host=… dbname=… user=…",
        ) from error
    if isinstance(upstream.connection, str) and "password" in parameters:
        raise InvalidOption(
            "a password does not belong into a definition, which others can read",
            hint="CREATE SECRET and CREATE CONNECTION … TO POSTGRES keep it",
        )
    if connector.args.get("slot") is None:
        connector.set("slot", exp.Literal.string(f"reclock_{secrets.token_hex(8)}"))
    published = Postgres(upstream, {}, parameters).describe()
    if not published:
        raise InvalidOption(f'publication "{upstream.publication}" has no tables')
    if node.args.get("all_tables"):
        aliases = dict.fromkeys(published)
    else:
        aliases = {
            _resolved(table, published): table.args.get("alias")
            for table in node.args.get("tables") or ()
        }
    node.set("all_tables", None)
    tables = _with_column_options({table: published[table] for table in aliases}, connector)
    _reject_keyless({table: tables[table].desc for table in aliases})
    node.set("tables", [_published(tables[table], alias) for table, alias in aliases.items()])
    connector.set("text_columns", None)
    connector.set("exclude_columns", None)
    return node


def _with_column_options(
    tables: Mapping[str, DescribedTable], connector: exp.Expression
) -> dict[str, DescribedTable]:
    """The tables with their ``TEXT COLUMNS`` as text, and without their ``EXCLUDE COLUMNS``. Raises
    ``InvalidOption``."""
    described = dict(tables)
    for option in ("text_columns", "exclude_columns"):
        for column_name in connector.args.get(option) or ():
            schema, table_name = column_name.args.get("db"), column_name.args["table"]
            table = _resolved_table(schema, table_name, described)
            column, desc = fold(column_name.this), described[table].desc
            if column not in desc.names:
                hint = nearest(column, desc.names)
                raise InvalidOption(f'table "{table}" has no column "{column}"', hint=hint)
            if option == "exclude_columns" and column in (desc.key or ()):
                detail = "a change without its key cannot be assigned to a row"
                raise InvalidOption(
                    f'column "{column}" of table "{table}" cannot be excluded', detail=detail
                )
            columns = tuple(
                replace(table_column, type=TEXT) if table_column.name == column else table_column
                for table_column in desc.columns
                if table_column.name != column or option == "text_columns"
            )
            described[table] = replace(described[table], desc=replace(desc, columns=columns))
    return described


def _resolved(table: SubsourceOf, published: Mapping[str, DescribedTable]) -> str:
    return _resolved_table(table.args.get("schema"), table.this, published)


def _resolved_table(
    schema: exp.Expression | None, table: exp.Expression, published: Mapping[str, DescribedTable]
) -> str:
    name = f"{fold(schema) if schema is not None else 'public'}.{fold(table)}"
    if name not in published:
        raise InvalidOption(
            f'table "{name}" is not in the publication', hint=nearest(name, published)
        )
    return name


def _published(described: DescribedTable, alias: exp.Expression | None) -> SubsourceOf:
    node = _described(described.table.name, alias, described.desc)
    set_identity(node, described.table)
    return node


def _reject_keyless(tables: Mapping[str, RelationDesc]) -> None:
    """Raises ``InvalidOption`` if changes of some of the tables do not say which rows they
    change."""
    keyless = [table for table, desc in tables.items() if desc.key == ()]
    if not keyless:
        return
    identities = "; ".join(f"ALTER TABLE {table} REPLICA IDENTITY FULL" for table in keyless)
    names = ", ".join(map(quoted_name, keyless))
    some, them = ("table", "it") if len(keyless) == 1 else ("tables", "them")
    others = "; or name the other tables: FOR TABLES (…)" if len(keyless) < len(tables) else ""
    raise InvalidOption(
        f"{some} {names} {'has' if some == 'table' else 'have'} neither a key nor the replica "
        'identity "full"',
        hint=f"give {them} a primary key, or: {identities}{others}",
    )


def _described(table: str, alias: exp.Expression | None, desc: RelationDesc) -> SubsourceOf:
    if not _PLAIN_TABLE.fullmatch(table):
        raise InvalidOption(
            f'table "{table}" has a name that no collection can have',
            hint="name the other tables: FOR TABLES (…)",
        )
    schema, _, name = table.partition(".")
    return SubsourceOf(
        this=identifier(name),
        schema=identifier(schema),
        alias=alias,
        columns=[_source_column(c) for c in _definitions(desc.columns)],
        key=[identifier(column) for column in desc.key or ()],
    )


def _definitions(columns: Sequence[Column]) -> list[exp.Expression]:
    """The columns as CREATE TABLE defines them."""
    definitions = ", ".join(
        f"{identifier(column.name).sql()} {column.type}{'' if column.is_nullable else ' NOT NULL'}"
        for column in columns
    )
    parsed: list[exp.Expression] = parse_one(f"CREATE TABLE t ({definitions})").args["columns"]
    return parsed


def _source_column(column: exp.Expression) -> SourceColumn:
    return SourceColumn(
        this=column.this, kind=column.args["kind"], not_null=column.args.get("not_null")
    )
