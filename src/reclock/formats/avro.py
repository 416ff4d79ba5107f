"""Avro messages, as Confluent's serializers write them: the id of the schema, then the value.

A source yields values of the schema with which it was created, the *reader's*. Each message names
its *writer's* schema. Avro's rules resolve the two: fields may be added, removed if they have a
default, and promoted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import fastavro

from reclock.errors import InvalidOption
from reclock.formats.avro_schemas import parsed
from reclock.formats.schema_registry import REGISTER_AGAIN, UnknownSchema
from reclock.formats.values import HEAD_BYTES, Unreadable, schema_id

Schemas = Callable[[int], str]
"""Returns the text of the schema with an id. Raises ``UnknownSchema``, ``UpstreamUnavailable``."""


def read(values: Sequence[bytes], reader: str, schemas: Schemas) -> list[Any]:
    """The value of every message; without a ``reader``, as its writer wrote it. Raises
    ``Unreadable`` if one cannot be read."""
    reader_schema, writers, rows = parsed(reader) if reader else None, {}, []
    for value in values:
        try:
            id = schema_id(value)
            if id not in writers:
                writers[id] = parsed(schemas(id))
            stream = BytesIO(value)
            stream.seek(HEAD_BYTES)
            rows.append(fastavro.schemaless_reader(stream, writers[id], reader_schema))
            if stream.tell() != len(value):
                raise ValueError(f"{len(value) - stream.tell()} bytes are left after the value")
        except InvalidOption as error:
            raise Unreadable(f"{error.message}: {error.detail}") from error
        except UnknownSchema as error:
            raise Unreadable(str(error), remedy=REGISTER_AGAIN) from error
        except _BAD as error:
            raise Unreadable(str(error) or type(error).__name__) from error
    return rows


_BAD = (
    *(ValueError, TypeError, LookupError, EOFError, ArithmeticError, MemoryError, RecursionError),
    fastavro.read.SchemaResolutionError,
)
"""The exceptions that fastavro raises for bytes that are not a value."""
