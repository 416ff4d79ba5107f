"""Syntax nodes of the statements that sqlglot does not know. Queries and expressions keep sqlglot's own nodes."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class Statement(exp.Expression):
    """A root: the only class of node that the parser gives back."""

    arg_types: ClassVar[dict[str, bool]] = {}


class QueryStatement(Statement):
    """A query with its ``AS OF``, which belongs to the whole statement."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "as_of": False}


class AsOfClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "at_least": False}


class SubscribeStatement(Statement):
    """Of a relation (``this``) or of a ``query``; ``as_of`` and ``up_to`` are ``AsOfClause``; ``snapshot`` and ``progress`` are
    booleans.

    ``envelope`` is a name, with identifiers as ``key``; or there is an ``order`` instead.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": False,
        "query": False,
        "snapshot": False,
        "progress": False,
        "as_of": False,
        "up_to": False,
        "envelope": False,
        "key": False,
        "order": False,
    }


class ExplainStatement(Statement):
    """``kind`` is ``PLAN`` or ``TIMESTAMP``; ``this`` a ``QueryStatement``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


class WithOption(exp.Expression):
    """One ``name = value`` of a ``WITH`` clause."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": True}


class RetainHistoryClause(exp.Expression):
    """``RETAIN HISTORY FOR this`` among the options of a source."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class SourceColumn(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "not_null": False}


class ObjectsFrom(exp.Expression):
    """``FROM S3 CONNECTION connection DISCOVER OBJECTS MATCHING pattern USING BUCKET SCAN bucket, SQS NOTIFICATIONS queue``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": False,
        "pattern": False,
        "bucket": True,
        "queue": False,
        "compression": False,
    }


class CsvFormatClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"header": False, "columns": False, "delimiter": False, "null_text": False}


class JsonFormatClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {}


class PlainFormatClause(exp.Expression):
    """``kind`` is ``TEXT`` or ``BYTES``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True}


class RegistryFormatClause(exp.Expression):
    """``kind`` is ``AVRO`` or ``PROTOBUF``, which has a ``message``; ``connection`` leads to the registry; ``seed`` is the schema,
    once it is known. What a sink writes has the full names ``key_name`` and ``value_name``, and, if it is said, NULL as default."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "connection": True,
        "seed": False,
        "message": False,
        "key_name": False,
        "value_name": False,
        "null_defaults": False,
    }


class ProtobufFormatClause(exp.Expression):
    """``FORMAT PROTOBUF MESSAGE … USING SCHEMA …``: a schema as protoc compiles it, or the text of one."""

    arg_types: ClassVar[dict[str, bool]] = {"message": True, "schema": True}


class KeyValueFormat(exp.Expression):
    """``KEY FORMAT … VALUE FORMAT …``."""

    arg_types: ClassVar[dict[str, bool]] = {"key": True, "value": True}


class LoadGeneratorFrom(exp.Expression):
    """``FROM LOAD GENERATOR kind (TICK INTERVAL …, MAX CARDINALITY …, SCALE FACTOR …)``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "tick_interval": False, "max_cardinality": False, "scale_factor": False}


class KafkaFrom(exp.Expression):
    """``FROM KAFKA BROKER … TOPIC …`` or ``CONNECTION c (TOPIC … | TRANSACTION TOPIC …)``, from ``start_offset`` of each partition,
    or from a time, in milliseconds, and up to an end of either kind."""

    arg_types: ClassVar[dict[str, bool]] = {
        "broker": False,
        "connection": False,
        "topic": False,
        "transactions": False,
        "start_offset": False,
        "start_timestamp": False,
        "end_offset": False,
        "end_timestamp": False,
        "group": False,
    }


class KinesisFrom(exp.Expression):
    """``FROM KINESIS CONNECTION … ARN …``, or ``(STREAM …, REGION …)``; from ``start`` on."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": False,
        "arn": False,
        "stream": False,
        "region": False,
        "endpoint": False,
        "start": False,
    }


class PubNubFrom(exp.Expression):
    """``FROM PUBNUB SUBSCRIBE KEY … CHANNEL …``."""

    arg_types: ClassVar[dict[str, bool]] = {"subscribe_key": True, "channel": True, "origin": False}


class StreamStart(exp.Expression):
    """``START kind``: ``TRIM HORIZON``, ``LATEST``, ``TIMESTAMP`` and milliseconds, ``AT`` or ``AFTER`` sequence numbers."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "timestamp": False, "numbers": False}


class ShardStart(exp.Expression):
    """The sequence number of a shard, called by its number."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "number": True}


class PostgresFrom(exp.Expression):
    """``FROM POSTGRES CONNECTION … PUBLICATION …``, read through the replication slot ``slot``. ``connection`` is libpq's
    text, or the name of a connection: then what follows stands in parentheses. ``text_columns`` and ``exclude_columns`` are gone
    once the tables have their columns."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": True,
        "publication": True,
        "slot": False,
        "text_columns": False,
        "exclude_columns": False,
    }


class Metadata(exp.Expression):
    """A column of ``INCLUDE``: ``kind`` is ``KEY``, ``PARTITION``, ``OFFSET``, ``TIMESTAMP`` or ``HEADERS``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "alias": False}


class SubsourceOf(exp.Expression):
    """A table of the upstream in ``FOR TABLES``; the name of its subsource, if it is another; its columns, and
    the key by which it is replicated, its number there, and those of its entries in the publication, once they are known."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "schema": False,
        "alias": False,
        "columns": False,
        "key": False,
        "oid": False,
        "entries": False,
    }


class CreateSourceStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "materialized": False,
        "cluster": False,
        "columns": False,
        "connector": True,
        "format": False,
        "include": False,
        "envelope": False,
        "all_tables": False,
        "tables": False,
        "progress": False,
        "options": False,
    }


class CreateSubsourceStatement(Statement):
    """The text of a subsource in the catalog: ``table`` is its name upstream."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "source": True, "table": True}


class CreateViewStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "replace": False,
        "materialized": False,
        "cluster": False,
        "columns": False,
        "query": True,
    }


class CreateIndexStatement(Statement):
    """Without ``keys`` it is ``CREATE DEFAULT INDEX``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "cluster": False, "on": True, "keys": False, "exists": False}


class KafkaInto(exp.Expression):
    """``INTO KAFKA CONNECTION … (…)`` or ``KAFKA BROKER … TOPIC …``; ``is_not_enforced`` takes the user's word that no two rows
    share a key."""

    arg_types: ClassVar[dict[str, bool]] = {
        "connection": False,
        "broker": False,
        "topic": False,
        "progress_topic": False,
        "partitions": False,
        "replicas": False,
        "compression": False,
        "key": False,
        "is_not_enforced": False,
        "format": True,
        "envelope": True,
    }


class DeltaInto(exp.Expression):
    """``INTO DELTA 'path'``."""

    arg_types: ClassVar[dict[str, bool]] = {"path": True}


class CreateSinkStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "cluster": False,
        "on": True,
        "target": True,
        "options": False,
        "as_of": False,
    }


class DropStatement(Statement):
    """``kind`` is ``SOURCE``, ``TABLE``, ``VIEW``, ``MATERIALIZED VIEW``, ``INDEX``, ``SINK``, ``SECRET`` or ``CONNECTION``.

    ``behavior`` is ``CASCADE``, ``RESTRICT`` or absent.
    """

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "names": True, "exists": False, "behavior": False}


class AlterSourceRetryStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class AlterSourceResnapshotStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class AlterSourceWaiveStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "check": True}


class AlterSourceSkipStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition": True, "lower": False, "upper": False}


class AlterSourceRestartStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition": True}


class AlterSourceRetainStatement(Statement):
    """``history`` is a ``RetainHistoryClause``, or nothing to reset it."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "history": False}


class AlterRenameStatement(Statement):
    """``kind`` is ``SOURCE``, ``TABLE``, ``SECRET`` or ``CONNECTION``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True, "exists": False, "to": True}


class ShowObjectsStatement(Statement):
    """``within`` names a schema, or for ``INDEXES`` a relation."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "within": False, "cluster": False, "like": False, "where": False}


class ShowColumnsStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "like": False, "where": False}


class ShowCreateStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True}


class ShowVariableStatement(Statement):
    """Without ``this`` it is ``SHOW ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class SetVariableStatement(Statement):
    """``scope`` is ``SESSION``, ``LOCAL`` or absent. ``values`` holds literals and names; none is ``DEFAULT``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "values": False, "scope": False}


class ResetVariableStatement(Statement):
    """Without ``this`` it is ``RESET ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class TransactionStatement(Statement):
    """``kind`` is ``BEGIN``, ``COMMIT`` or ``ROLLBACK``, ``isolation`` and ``access`` are as written, upper case; or ``kind`` is
    ``SAVEPOINT``, ``RELEASE`` or ``ROLLBACK TO``, and ``this`` names the savepoint; or ``SET TRANSACTION`` or ``SET SESSION
    CHARACTERISTICS AS TRANSACTION``, with the modes of ``BEGIN``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": False, "isolation": False, "access": False}


class CreateSchemaStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


class DropSchemasStatement(Statement):
    """``behavior`` is ``CASCADE``, ``RESTRICT`` or not said."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True, "exists": False, "behavior": False}


class TableColumn(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "not_null": False, "default": False}


class CreateTableStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "columns": True, "constraints": False}


class CreateTableAsStatement(Statement):
    """``names`` are of the columns; without them they are those of ``query``. ``is_empty`` is WITH NO DATA."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "names": False, "query": True, "is_empty": False}


class InsertStatement(Statement):
    """Without ``query`` it is ``DEFAULT VALUES``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "columns": False, "query": False, "returning": False}


class Assignment(exp.Expression):
    """``this = value`` of an UPDATE."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": True}


class UpdateStatement(Statement):
    """``others`` are what FROM says."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "assignments": True, "others": False, "where": False, "returning": False}


class DeleteStatement(Statement):
    """``others`` are what USING says."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "others": False, "where": False, "returning": False}


class TruncateStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"names": True}


class RefreshViewStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class CopyStatement(Statement):
    """``is_from`` STDIN or else to STDOUT. ``this`` is the table, unless there is a ``query``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "columns": False, "query": False, "is_from": False, "options": False}


class PrepareStatement(Statement):
    """``statement`` is the one to keep; ``types`` those of its parameters, as far as they are written."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "types": False, "statement": True}


class ExecuteStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "values": False}


class DeallocateStatement(Statement):
    """Without ``this`` it is ``DEALLOCATE ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class DeclareStatement(Statement):
    """``query`` is a ``QueryStatement`` or a ``SubscribeStatement``; a cursor that ``is_held`` outlives the transaction."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "is_held": False, "query": True}


class FetchStatement(Statement):
    """Without ``count`` it is ``FETCH ALL``. ``timeout`` is how long a subscription's next rows are waited for."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "count": False, "timeout": False}


class CloseStatement(Statement):
    """Without ``this`` it is ``CLOSE ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class UnlistenStatement(Statement):
    """Of ``this`` channel, or of all: nothing listens."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class DiscardStatement(Statement):
    """``kind`` is ``ALL``, ``PLANS``, ``SEQUENCES`` or ``TEMP``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True}
