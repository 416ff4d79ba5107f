"""The columns of Protobuf messages. A schema is stored as protoc compiles it, with all its
imports."""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_database import DescriptorDatabase
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    INTEGER,
    REAL,
    TEXT,
    TIMESTAMP,
    Column,
    ScalarType,
    numeric,
)
from reclock.errors import ExtraNotInstalled, InvalidOption

HEX = "\\x"
"""The prefix of a compiled schema as text."""

_COMPILED_WITHIN_S = 30
_MAIN = "reclock_schema.proto"

_TYPES: Mapping[int, ScalarType] = {
    FieldDescriptor.CPPTYPE_BOOL: BOOLEAN,
    FieldDescriptor.CPPTYPE_INT32: INTEGER,
    FieldDescriptor.CPPTYPE_UINT32: BIGINT,
    FieldDescriptor.CPPTYPE_INT64: BIGINT,
    FieldDescriptor.CPPTYPE_UINT64: numeric(20, 0),
    FieldDescriptor.CPPTYPE_FLOAT: REAL,
    FieldDescriptor.CPPTYPE_DOUBLE: DOUBLE,
}
"""Enums become text; messages, repeated fields and maps become JSON."""

MOMENT = "google.protobuf.Timestamp"
WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Bool", "Int32", "UInt32", "Int64", "UInt64", "Float", "Double", "String", "Bytes")
)
"""Messages that wrap an optional scalar."""


@lru_cache(maxsize=64)
def compiled(text: str, imports: tuple[tuple[str, str], ...] = ()) -> str:
    """The compiled schema of a ``.proto`` file, which may import files of these names. Raises
    ``InvalidOption`` with protoc's message, and ``ExtraNotInstalled``."""
    if find_spec("grpc_tools") is None:
        raise ExtraNotInstalled("grpc_tools")
    with tempfile.TemporaryDirectory() as folder:
        described = FileDescriptorSet()
        for name, content in ((_MAIN, text), *imports):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise InvalidOption(f'a schema cannot import "{name}"')
            if (file := _described(content)) is not None:
                described.file.append(file)
                described.file[-1].name = name
            else:
                written = Path(folder, path)
                written.parent.mkdir(parents=True, exist_ok=True)
                written.write_text(content)
        imported, output = Path(folder, ".known"), Path(folder, ".compiled")
        options = ["--include_imports", f"--descriptor_set_out={output}", f"-I{folder}"]
        if described.file:
            imported.write_bytes(described.SerializeToString())
            options.append(f"--descriptor_set_in={imported}")
        command = [sys.executable, "-I", "-m", "grpc_tools.protoc", *options, _MAIN]
        try:
            outcome = subprocess.run(
                command, capture_output=True, text=True, timeout=_COMPILED_WITHIN_S
            )
        except subprocess.TimeoutExpired as error:
            raise InvalidOption(
                "the schema is none of Protobuf's", detail="protoc does not come to an end with it"
            ) from error
        if outcome.returncode:
            complaints = [
                line.removeprefix(f"{folder}/").removeprefix(f"{_MAIN}:")
                for line in outcome.stderr.splitlines()
                if line.startswith((folder, _MAIN))
            ]
            raise InvalidOption(
                "the schema is none of Protobuf's", detail="; ".join(complaints)[:500] or None
            )
        return HEX + output.read_bytes().hex()


def _described(content: str) -> FileDescriptorProto | None:
    """A file that is not text: some serializers register its descriptor in base64."""
    try:
        return (
            FileDescriptorProto.FromString(base64.b64decode(content, validate=True))
            if content
            else None
        )
    except (ValueError, DecodeError):
        return None


def messages_of(schema: str) -> list[str]:
    """The names of the top-level messages of the schema's file."""
    file = _files(schema)[-1]
    return [_qualified(file.package, message.name) for message in file.message_type]


def messages_at(schema: str, path: Sequence[int]) -> set[str]:
    """The possible names of the message at this path of indexes. Raises ``LookupError``.

    Serializers differ in whether they count the messages that protoc generates for map entries.
    """
    file = _files(schema)[-1]
    names = set()
    for counts_maps in (True, False):
        name, within = file.package, list(file.message_type)
        for index in path:
            if not 0 <= index < len(within):
                break
            name = _qualified(name, within[index].name)
            within = [
                message_type
                for message_type in within[index].nested_type
                if counts_maps or not message_type.options.map_entry
            ]
        else:
            names.add(name)
    if not names:
        raise LookupError(f"the schema has no message at {list(path)}")
    return names


def columns_of(schema: str, message: str) -> tuple[Column, ...]:
    """The columns of this message. Raises ``InvalidOption`` for a message that cannot be a
    relation."""
    message_type = descriptor(schema, message)
    for within in _reached(message_type):
        if within.full_name == "google.protobuf.Any":
            raise InvalidOption(
                f'message "{message}" holds a google.protobuf.Any',
                detail="what is in it is not told",
            )
    return tuple(_column(field) for field in message_type.fields)


@lru_cache(maxsize=256)
def descriptor(schema: str, message: str) -> Descriptor:
    """A message of the schema. Raises ``InvalidOption``."""
    database = DescriptorDatabase()
    for file in _files(schema):
        database.Add(file)
    try:
        message_type: Descriptor = DescriptorPool(database).FindMessageTypeByName(message)
        return message_type
    except (KeyError, TypeError) as error:
        raise InvalidOption(
            f'the schema has no message "{message}"',
            hint=f"it has {', '.join(messages_of(schema)[:10]) or 'none'}",
        ) from error


def scalar(field: FieldDescriptor) -> ScalarType | None:
    """The type of the field's values; None if they become JSON, or the name of an enum's value."""
    if field.is_repeated or field.cpp_type in (
        FieldDescriptor.CPPTYPE_ENUM,
        FieldDescriptor.CPPTYPE_MESSAGE,
    ):
        return None
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return BYTEA if field.type == FieldDescriptor.TYPE_BYTES else TEXT
    return _TYPES[field.cpp_type]


def _column(field: FieldDescriptor) -> Column:
    kind = scalar(field)
    if kind is None and field.message_type is not None and not field.is_repeated:
        if field.message_type.full_name == MOMENT:
            kind = TIMESTAMP
        elif field.message_type.full_name in WRAPPERS:
            kind = scalar(field.message_type.fields_by_name["value"])
    return Column(field.name, kind or TEXT, field.has_presence and not field.is_required)


def _reached(message: Descriptor) -> Iterator[Descriptor]:
    """The message and all messages that it contains, at any depth."""
    names, pending = {message.full_name}, [message]
    while pending:
        reached = pending.pop()
        yield reached
        for field in reached.fields:
            if field.message_type is not None and field.message_type.full_name not in names:
                names.add(field.message_type.full_name)
                pending.append(field.message_type)


@lru_cache(maxsize=256)
def _files(schema: str) -> Sequence[FileDescriptorProto]:
    try:
        files = FileDescriptorSet.FromString(bytes.fromhex(schema.removeprefix(HEX))).file
    except (ValueError, DecodeError) as error:
        raise InvalidOption(
            "the schema is none of Protobuf's", detail="it is no set of file descriptors"
        ) from error
    if not schema.startswith(HEX) or not files:
        raise InvalidOption(
            "the schema is none of Protobuf's",
            detail=f"what protoc compiles is written as {HEX} and its digits",
        )
    return list(files)


def _qualified(package: str, name: str) -> str:
    return f"{package}.{name}" if package else name
