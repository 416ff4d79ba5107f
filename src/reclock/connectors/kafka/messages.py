"""Messages of a topic as rows: the value's columns, the metadata, and what an envelope adds."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from confluent_kafka import Message

from reclock.algebra.relations import RelationDesc
from reclock.connectors.connector import DELETED_COLUMN, OFFSET_COLUMN, PARTITION_COLUMN
from reclock.definitions.formats import Format
from reclock.definitions.sources import KafkaConnector
from reclock.formats.bad_records import decode_run
from reclock.formats.envelope import change_rows
from reclock.formats.messages import bad_message, message_rows


def decode(
    messages: Sequence[Message],
    upstream: KafkaConnector,
    format: Format,
    desc: RelationDesc,
    *,
    partition: str,
    base: int = 0,
) -> pa.Table:
    """The rows of messages of one partition. Raises ``DecodeFailed`` with the source's offsets,
    which are the messages' plus ``base``. It names the topic too: a partition is only a number."""
    offsets = [message.offset() + base for message in messages]
    container = f'partition {partition} of topic "{upstream.topic}"'

    def attempt(low: int, high: int) -> pa.Table:
        return _rows(messages[low:high], upstream, format, desc, offsets[low:high])

    return decode_run(len(messages), attempt, bad_message(partition, offsets, container))


def _rows(
    messages: Sequence[Message],
    upstream: KafkaConnector,
    format: Format,
    desc: RelationDesc,
    offsets: Sequence[int],
) -> pa.Table:
    """Raises ``Unreadable``."""
    width = len(desc) - len(upstream.include)
    values = [message.value() for message in messages]
    if upstream.envelope == "DEBEZIUM":
        return change_rows(values, format, desc)
    is_upsert = upstream.envelope == "UPSERT"
    value_desc = RelationDesc(desc.columns[:width])
    rows = message_rows(values, format, value_desc, may_lack_values=is_upsert)
    for (kind, name), column in zip(upstream.include, desc.columns[width:], strict=True):
        if kind == "KEY":
            assert upstream.key_format is not None
            keys = [message.key() for message in messages]
            array = message_rows(keys, upstream.key_format, RelationDesc((column,))).column(0)
        else:
            array = _METADATA[kind](messages)
        rows = rows.append_column(name, array)
    if is_upsert:
        rows = rows.append_column(PARTITION_COLUMN, _METADATA["PARTITION"](messages))
        rows = rows.append_column(OFFSET_COLUMN, pa.array(offsets, pa.int64()))
        rows = rows.append_column(DELETED_COLUMN, pa.array([value is None for value in values]))
    return rows


def _timestamps(messages: Sequence[Message]) -> pa.Array:
    moments = np.array([message.timestamp()[1] for message in messages], np.int64)
    return pa.array(moments).cast(pa.timestamp("ms")).cast(pa.timestamp("us"))


def _headers(messages: Sequence[Message]) -> pa.Array:
    """JSON: a list of names and values. The values are in PostgreSQL's hexadecimal form."""
    headers = [
        json.dumps(
            [
                [name, None if value is None else f"\\x{value.hex()}"]
                for name, value in message.headers() or ()
            ]
        )
        for message in messages
    ]
    return pa.array(headers, pa.string())


_METADATA = {
    "PARTITION": lambda messages: pa.array(
        [message.partition() for message in messages], pa.int32()
    ),
    "OFFSET": lambda messages: pa.array([message.offset() for message in messages], pa.int64()),
    "TIMESTAMP": _timestamps,
    "HEADERS": _headers,
}
