"""The formats of records, as CREATE SOURCE describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reclock.definitions.connections import Connection


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Comma-separated values (RFC 4180). Fields in quotes may have delimiters and newlines; a quote
    inside is doubled.

    With ``has_header``, the first record of every object names the declared columns, each once, in
    any order. An unquoted field equal to ``null_text`` is NULL. ``delimiter`` and ``quote`` are one
    ASCII character each. Without ``quote``, no character quotes.
    """

    has_header: bool = True
    delimiter: str = ","
    null_text: str = ""
    quote: str | None = '"'


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """One JSON object in each line. Missing fields are NULL, undeclared fields are ignored."""


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A message, or a line of an object, as UTF-8 text."""


@dataclass(frozen=True, slots=True)
class BytesFormat:
    """A message, or a line of an object, as bytes."""


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """Avro messages with their writer's schema in the registry. ``schema`` is the reader's schema,
    fixed when the source was created. Without one, a message is read with its writer's schema.

    A message is a record. With ``is_document`` it may have any type, and becomes one text.
    ``client`` has the settings of the registry's client, once it is resolved.
    """

    registry: Connection
    schema: str
    is_document: bool = False
    client: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ProtobufFormat:
    """A Protobuf ``message`` of the ``schema`` with which the source was created
    (``reclock.formats.protobuf_schemas``). With a ``registry``, each message begins with the id of
    its writer's schema.

    A message is a record. With ``is_document`` it becomes one text. ``client`` has the settings of
    the registry's client, once it is resolved.
    """

    registry: Connection | None
    schema: str
    message: str
    is_document: bool = False
    client: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Objects that are Parquet files. Columns are found by name; others are not read."""


SchemaFormat = AvroFormat | ProtobufFormat
"""Formats that take their columns from a schema, which is empty until it is read."""

RecordFormat = CsvFormat | JsonFormat
"""Formats of records with fields."""

LineFormat = RecordFormat | TextFormat | BytesFormat
"""Formats of lines in objects."""

ObjectFormat = LineFormat | ParquetFormat
"""Formats of objects."""

Format = RecordFormat | TextFormat | BytesFormat | SchemaFormat | ParquetFormat
