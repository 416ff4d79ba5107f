"""Protobuf messages: bare, or as Confluent's serializers write them, after the id of their schema
and the path to their message.

A message's writer may have had another schema: Protobuf reads the fields that both have. Only the
name of the message is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from reclock.errors import InvalidOption
from reclock.formats.protobuf_schemas import MOMENT, WRAPPERS, descriptor, messages_at, scalar
from reclock.formats.schema_registry import REGISTER_AGAIN, UnknownSchema
from reclock.formats.values import HEAD_BYTES, Unreadable, schema_id

Schemas = Callable[[int], str]
"""Returns the compiled schema with an id. Raises ``UnknownSchema``, ``UpstreamUnavailable``."""

_MOST_INDEXES = 64


def read(
    values: Sequence[bytes], schema: str, message: str, schemas: Schemas | None
) -> list[Message]:
    """The message in every value. Raises ``Unreadable`` if there is one without. Without
    ``schemas`` the messages are bare."""
    kind, messages = GetMessageClass(descriptor(schema, message)), []
    heads: dict[bytes, set[str]] = {}
    for value in values:
        try:
            if schemas is not None:
                head = _head(value)
                written = heads.get(head) or heads.setdefault(head, _written(head, schemas))
                if message not in written:
                    raise ValueError(f"it is a {' or '.join(sorted(written))}")
                value = value[len(head) :]
            messages.append(kind.FromString(value))
        except UnknownSchema as error:
            raise Unreadable(str(error), remedy=REGISTER_AGAIN) from error
        except (DecodeError, ValueError, LookupError, InvalidOption) as error:
            raise Unreadable(str(error) or type(error).__name__) from error
    return messages


def _head(value: bytes) -> bytes:
    """What precedes the message: the id of a schema, and the number of indexes that lead to the
    message in it, with these indexes."""
    schema_id(value)
    count, at = _varint(value, HEAD_BYTES)
    if not 0 <= count <= _MOST_INDEXES:
        raise ValueError(f"{count} indexes lead to its message")
    for _ in range(count):
        _, at = _varint(value, at)
    return value[:at]


def _written(head: bytes, schemas: Schemas) -> set[str]:
    """The possible names of the message after such a head. No indexes mean the first message, the
    usual case."""
    count, at = _varint(head, HEAD_BYTES)
    path = [] if count else [0]
    for _ in range(count):
        index, at = _varint(head, at)
        path.append(index)
    return messages_at(schemas(schema_id(head)), path)


def _varint(value: bytes, at: int) -> tuple[int, int]:
    """A zigzag number, as Confluent writes it, and the position after it."""
    number = shift = 0
    while True:
        if at >= len(value) or shift > 63:
            raise ValueError("the way to its message is cut short")
        number |= (value[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if value[at - 1] < 0x80:
            return (number >> 1) ^ -(number & 1), at


def records(messages: Sequence[Message]) -> list[Mapping[str, Any]]:
    """The fields of every message by name. Raises ``Unreadable`` if one has an invalid
    value."""
    rows: list[Mapping[str, Any]] = []
    for message in messages:
        try:
            rows.append({name: value(message) for name, value in _values(message.DESCRIPTOR)})
        except _BAD as error:
            raise Unreadable(str(error) or type(error).__name__) from error
    return rows


def document(message: Message) -> Any:
    """The message in Protobuf's own JSON, with the names of its fields. Raises
    ``json_format.Error``, ``ValueError``."""
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def documents(messages: Sequence[Message]) -> list[Any]:
    """Every message in the form of ``document``. Raises ``Unreadable``."""
    texts = []
    for message in messages:
        try:
            texts.append(document(message))
        except _BAD as error:
            raise Unreadable(str(error) or type(error).__name__) from error
    return texts


_BAD = (json_format.Error, ValueError, TypeError, ArithmeticError, RecursionError)
"""The exceptions for fields without a value of their type."""

_Value = Callable[[Message], Any]


@lru_cache(maxsize=256)
def _values(message: Any) -> list[tuple[str, _Value]]:
    return [(field.name, _value(field)) for field in message.fields]


def _value(field: FieldDescriptor) -> _Value:
    """A reader of the field from a message. A missing field is None, unless the schema has a
    default."""
    name, present = field.name, _present_value(field)
    if not field.has_presence or field.has_default_value:
        return present
    return lambda message: present(message) if message.HasField(name) else None


def _present_value(field: FieldDescriptor) -> _Value:
    name, kind = field.name, scalar(field)
    if kind is not None:
        if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64:
            return lambda message: Decimal(getattr(message, name))
        return lambda message: getattr(message, name)
    if field.is_repeated:
        return lambda message: document(_only(message, field))[name]
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return lambda message: names.get(getattr(message, name), str(getattr(message, name)))
    if field.message_type.full_name == MOMENT:
        return lambda message: getattr(message, name).ToDatetime()
    if field.message_type.full_name in WRAPPERS:
        value = _present_value(field.message_type.fields_by_name["value"])
        return lambda message: value(getattr(message, name))
    return lambda message: document(getattr(message, name))


def _only(message: Message, field: FieldDescriptor) -> Message:
    """The message with only this repeated field."""
    alone = type(message)()
    getattr(alone, field.name).MergeFrom(getattr(message, field.name))
    return alone
