"""A Hive metastore, where Spark, Trino and others find Delta tables by name. Speaks its Thrift
protocol, from Hive 2.3 on.

An entry is an external table with the properties by which Spark and Trino know a Delta table. They
read its columns from the table itself; programs that list columns read those of the entry.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa
import stamina

from reclock.consensus.objects.registrations import TableEntry
from reclock.errors import InvalidOption, RegistrationFailed, UpstreamUnavailable, quoted_name
from reclock.failpoints import failpoint

if TYPE_CHECKING:
    from pymetastore.hive_metastore.ThriftHiveMetastore import Client  # imported when it is used
    from pymetastore.hive_metastore.ttypes import Table

OWNER_PROPERTY = "reclock.sink"
"""The property of a table that names the sink which registered it."""

_DEFAULT_PORT = 9083
_CONNECT_MS, _ANSWER_MS = 5_000, 60_000


def put(entry: TableEntry, former: Iterable[TableEntry] = ()) -> None:
    """Make ``entry`` what the metastore has of this sink: create it with its namespace, or change
    what is there, or rename the first of the ``former`` entries that is there, and drop the others.
    Repeating it changes nothing. Several processes may do it at once.

    Raises ``UpstreamUnavailable``, and ``RegistrationFailed`` if the metastore refuses it or has
    another table of that name; then the former entries stay.
    """
    _repeat_lost_races(entry.url, lambda client: _store(client, entry, former))


def _store(client: Client, entry: TableEntry, former: Iterable[TableEntry]) -> None:
    current = _find(client, entry)
    if current is not None and not _is_own(current, entry):
        raise RegistrationFailed(
            f'the metastore at "{entry.url}" has another table {quoted_name(entry.name)}',
            hint="drop it there, or create the sink with another NAMESPACE or TABLE",
        )
    for other in former:
        if other.url != entry.url or other.name == entry.name or not _find_own(client, other):
            continue
        if current is None:
            _make_namespace(client, entry)
            _change(client.alter_table, other.namespace, other.table, _table(entry))
            current = _find(client, entry)
        else:
            _change(client.drop_table, other.namespace, other.table, False)
    if current is None:
        _make_namespace(client, entry)
        _change(client.create_table, _table(entry))
    elif not _is_equal(current, entry):
        _change(client.alter_table, entry.namespace, entry.table, _table(entry))


def drop(entry: TableEntry) -> None:
    """Drop the entry, if it is there and of this sink. The files of the table stay. Raises as
    ``put``."""
    _repeat_lost_races(entry.url, lambda client: _drop(client, entry))


def _drop(client: Client, entry: TableEntry) -> None:
    if _find_own(client, entry) is not None:
        _change(client.drop_table, entry.namespace, entry.table, False)


def _repeat_lost_races(url: str, work: Callable[[Client], None]) -> None:
    """Do the work, which looks at what is there and changes it, and repeat it a few times if the
    metastore refuses a change: another process may have changed it in between."""
    from pymetastore.hive_metastore.ttypes import (
        AlreadyExistsException,
        InvalidOperationException,
        MetaException,
        NoSuchObjectException,
    )

    lost_races = (
        AlreadyExistsException,
        InvalidOperationException,
        MetaException,  # of a table that is gone within the change
        NoSuchObjectException,
    )
    with _connected(url) as client:
        for attempt in stamina.retry_context(
            on=lost_races, attempts=5, wait_initial=0.02, wait_jitter=0.05
        ):
            with attempt:
                work(client)


def _change(call: Callable[..., None], *arguments: object) -> None:
    failpoint("metastore.before_change")
    call(*arguments)
    failpoint("metastore.after_change")


def validate(url: str) -> None:
    """Raises ``UpstreamUnavailable`` if no metastore answers at ``url``."""
    with _connected(url) as client:
        client.get_all_databases()


def check_url(url: str) -> tuple[str, int]:
    """The host and port of ``thrift://host[:port]``. Raises ``InvalidOption``."""
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORT
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme != "thrift" or not parts.hostname or parts.path.strip("/"):
        raise InvalidOption(
            f'"{url}" is no address of a Hive metastore', hint="such as 'thrift://host:9083'"
        )
    return parts.hostname, port


def columns(schema: pa.Schema) -> tuple[tuple[str, str], ...]:
    """The columns of a table with this schema, with Hive's types."""
    return tuple((field.name.lower(), _type(field.type)) for field in schema)


def _type(type: pa.DataType) -> str:
    if pa.types.is_decimal(type):
        return f"decimal({type.precision},{type.scale})"
    if pa.types.is_timestamp(type):
        return "timestamp"
    if pa.types.is_list(type):
        return f"array<{_type(type.value_type)}>"
    return _TYPES.get(type, "string")


_TYPES = {
    pa.bool_(): "boolean",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.binary(): "binary",
}


@contextmanager
def _connected(url: str) -> Iterator[Client]:
    from pymetastore.hive_metastore.ThriftHiveMetastore import Client
    from thrift.protocol.TBinaryProtocol import TBinaryProtocol
    from thrift.Thrift import TApplicationException, TException
    from thrift.transport.TSocket import TSocket
    from thrift.transport.TTransport import TBufferedTransport, TTransportException

    logging.getLogger("thrift").setLevel(logging.CRITICAL)  # it repeats what it raises
    socket = TSocket(*check_url(url))
    socket.setTimeout(_CONNECT_MS)
    transport = TBufferedTransport(socket)
    try:
        transport.open()
        socket.setTimeout(_ANSWER_MS)
        yield Client(TBinaryProtocol(transport))
    except (TTransportException, TApplicationException, OSError) as failure:
        raise UpstreamUnavailable(
            f'the Hive metastore at "{url}" does not answer', detail=str(failure)
        ) from failure
    except TException as refusal:
        raise RegistrationFailed(
            f'the Hive metastore at "{url}" refuses it',
            detail=getattr(refusal, "message", None) or str(refusal),
            hint="correct it there; it is tried again",
        ) from refusal
    finally:
        transport.close()


def _find(client: Client, entry: TableEntry) -> Table | None:
    from pymetastore.hive_metastore.ttypes import GetTableRequest, NoSuchObjectException

    try:
        request = GetTableRequest(dbName=entry.namespace, tblName=entry.table)
        return client.get_table_req(request).table
    except NoSuchObjectException:
        return None


def _find_own(client: Client, entry: TableEntry) -> Table | None:
    table = _find(client, entry)
    return table if table is not None and _is_own(table, entry) else None


def _make_namespace(client: Client, entry: TableEntry) -> None:
    from pymetastore.hive_metastore.ttypes import AlreadyExistsException, Database

    if entry.namespace not in client.get_all_databases():
        with suppress(AlreadyExistsException):  # another process was faster
            client.create_database(Database(name=entry.namespace))


def _is_own(table: Table, entry: TableEntry) -> bool:
    return bool(table.parameters.get(OWNER_PROPERTY) == entry.owner)


def _is_equal(table: Table, entry: TableEntry) -> bool:
    present = tuple((column.name, column.type) for column in table.sd.cols)
    return present == entry.columns and table.sd.serdeInfo.parameters.get("path") == entry.location


def _table(entry: TableEntry) -> Table:
    from pymetastore.hive_metastore.ttypes import (
        FieldSchema,
        SerDeInfo,
        StorageDescriptor,
        Table,
    )

    storage = StorageDescriptor(
        cols=[FieldSchema(name, type) for name, type in entry.columns],
        location=entry.location,
        inputFormat="org.apache.hadoop.mapred.SequenceFileInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
        serdeInfo=SerDeInfo(
            serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
            parameters={"serialization.format": "1", "path": entry.location},
        ),
        numBuckets=-1,
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
    properties = {
        "EXTERNAL": "TRUE",
        "spark.sql.sources.provider": "delta",
        OWNER_PROPERTY: entry.owner,
    }
    return Table(
        tableName=entry.table,
        dbName=entry.namespace,
        owner="reclock",
        sd=storage,
        partitionKeys=[],
        parameters=properties,
        tableType="EXTERNAL_TABLE",
    )
