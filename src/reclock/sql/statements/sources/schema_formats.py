"""Formats with a schema. Before the statement is executed, ``adapter.upstreams`` completes it with
the schemas."""

from __future__ import annotations

from sqlglot import exp

from reclock.algebra.relations import Column
from reclock.definitions.connections import Connection
from reclock.definitions.formats import AvroFormat, ProtobufFormat, SchemaFormat
from reclock.errors import InvalidOption
from reclock.formats import avro_schemas, protobuf_schemas
from reclock.sql.queries.columns import check_flat
from reclock.sql.statements.sources.formats_syntax import ProtobufFormatClause, RegistryFormatClause

SCHEMA_CLAUSES = (RegistryFormatClause, ProtobufFormatClause)


def schema_format(clause: exp.Expression, registry: Connection | None) -> SchemaFormat:
    """The format of one of ``SCHEMA_CLAUSES``, without a schema if that is still to be read. Raises
    ``InvalidOption``."""
    message = clause.args["message"].name if clause.args.get("message") is not None else ""
    if isinstance(clause, ProtobufFormatClause):
        schema = clause.args["schema"].name
        return ProtobufFormat(
            None, schema if schema.startswith(protobuf_schemas.HEX) else "", message
        )
    assert registry is not None
    seed = clause.args["seed"].name if clause.args.get("seed") is not None else ""
    if any(
        clause.args.get(name) is not None for name in ("key_name", "value_name", "null_defaults")
    ):
        raise InvalidOption(
            "the schemas that a source reads have their names",
            hint="a sink gives AVRO VALUE FULLNAME",
        )
    if clause.args["kind"] == "AVRO":
        return AvroFormat(registry, seed)
    if seed and not message:
        raise InvalidOption(
            "a SEED SCHEMA has several messages", hint="FORMAT PROTOBUF MESSAGE '…' USING …"
        )
    return ProtobufFormat(registry, seed, message)


def schema_columns(format: SchemaFormat, envelope: str | None = None) -> tuple[Column, ...]:
    """The columns of its values; none before its schema is known. Raises ``InvalidOption``,
    ``UnsupportedSql``."""
    if not format.schema:
        return ()
    if isinstance(format, AvroFormat):
        of = avro_schemas.row_columns_of if envelope == "DEBEZIUM" else avro_schemas.columns_of
        columns = of(format.schema)
    else:
        columns = protobuf_schemas.columns_of(format.schema, format.message)
    check_flat(columns, "a source")
    return columns
