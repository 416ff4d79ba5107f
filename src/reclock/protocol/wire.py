"""Encodes the protocol's values as bytes: JSON, with Arrow for rows. Decoding never executes
anything."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, cast

import pyarrow as pa
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.preconf.json import JsonConverter, make_converter
from cattrs.strategies import configure_tagged_union

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.intervals import Interval
from reclock.definitions.sinks import Avro, Json, Plain, Target
from reclock.errors import InternalError, ReclockError
from reclock.plan.relational import Constant, Frame, Plan
from reclock.plan.scalars import Aggregate, Literal, Part, Scalar
from reclock.protocol.compute import ComputeCommand, Refreshed, RefreshFailed, RefreshResponse
from reclock.protocol.introspection import LogChanges, LogFailed, LogResponse, Row

T = TypeVar("T")

_FORMATS = (Json | Avro, Json | Avro | Plain)
"""The formats of a Kafka target's values and keys."""

_VALUES: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "float": (float, float.hex, float.fromhex),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "timestamp": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "interval": (Interval, list, lambda parts: Interval(*parts)),
    "tuple": (
        tuple,
        lambda values: [write_value(value) for value in values],
        lambda values: tuple(map(read_value, values)),
    ),
    "list": (
        list,
        lambda values: [write_value(value) for value in values],
        lambda values: list(map(read_value, values)),
    ),
}
"""The types that JSON cannot represent, by the name that they get."""


def encode(value: Any, type_: Any = None) -> bytes:
    """``value``, of a class of the protocol or of the union ``type_``, as bytes."""
    return _converter().dumps(value, unstructure_as=type_).encode()


def decode(data: bytes, type_: type[T]) -> T:
    """The inverse of ``encode``. Raises ``InternalError`` for other bytes, such as those of another
    release."""
    try:
        return _converter().loads(data, type_)
    except Exception as error:  # whatever the bytes made of it
        raise InternalError(
            "a message between processes cannot be read", detail=f"{type(error).__name__}: {error}"
        ) from error


def encode_command(command: ComputeCommand) -> bytes:
    return encode(command, ComputeCommand)


def decode_command(data: bytes) -> ComputeCommand:
    command: ComputeCommand = decode(data, ComputeCommand)  # type: ignore[arg-type]
    return command


def encode_refresh_response(response: RefreshResponse) -> bytes:
    return encode(response, RefreshResponse)


def decode_refresh_response(data: bytes) -> RefreshResponse:
    response: RefreshResponse = decode(data, RefreshResponse)
    return response


def encode_error(error: Exception) -> bytes:
    """A ``ReclockError`` with its fields. Any other exception becomes an internal error with its
    message."""
    if not isinstance(error, ReclockError):
        error = InternalError(f"{type(error).__name__}: {error}")
    fields = {
        name: write_value(value) for name, value in error.__dict__.items() if _is_plain(value)
    }
    return json.dumps({"class": type(error).__name__, "fields": fields}).encode()


def decode_error(data: bytes) -> ReclockError:
    """An error equal to the encoded one, of the same class."""
    try:
        written = json.loads(data)
        fields = {name: read_value(value) for name, value in written["fields"].items()}
        class_ = next(
            error_class
            for error_class in _subclasses(ReclockError)
            if error_class.__name__ == written["class"]
        )
    except (ValueError, KeyError, StopIteration) as invalid:
        return InternalError("an error of another process cannot be read", detail=str(invalid))
    error = class_.__new__(class_)
    error.args = (fields["message"],)
    error.__dict__.update(fields)
    return error


def encode_rows(rows: list[Row]) -> bytes:
    return json.dumps([write_value(row) for row in rows]).encode()


def decode_rows(data: bytes) -> list[Row]:
    return [read_value(row) for row in json.loads(data)]


def encode_responses(responses: list[LogResponse]) -> bytes:
    """The responses to subscribes as bytes."""
    written = [
        {"id": response.id, "error": response.error}
        if isinstance(response, LogFailed)
        else {"id": response.id, "changes": write_value(response.changes), "upper": response.upper}
        for response in responses
    ]
    return json.dumps(written).encode()


def decode_responses(data: bytes) -> list[LogResponse]:
    return [
        LogFailed(response["id"], response["error"])
        if "error" in response
        else LogChanges(response["id"], read_value(response["changes"]), response["upper"])
        for response in json.loads(data)
    ]


def write_value(value: Any) -> object:
    """A constant of a plan as JSON."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    for name, (class_, write, _) in _VALUES.items():
        if isinstance(value, class_):
            return {name: write(value)}
    raise InternalError(f"a constant of a plan cannot be sent: {type(value).__name__}")


def read_value(written: Any) -> Any:
    if not isinstance(written, dict):
        return written
    [(name, form)] = written.items()
    return _VALUES[name][2](form)


def _is_error(class_: Any) -> bool:
    return isinstance(class_, type) and issubclass(class_, ReclockError)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, str, float))


def _subclasses(class_: type[T]) -> Iterator[type[T]]:
    yield class_
    for subclass in class_.__subclasses__():
        yield from _subclasses(subclass)


def _write_table(table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode("ascii")


def _read_table(text: str, _: object) -> pa.Table:
    return pa.ipc.open_stream(base64.b64decode(text)).read_all()


def _is_part(type_: Any) -> bool:
    return type_ in (Part, "Scalar")


@cache
def _converter() -> JsonConverter:
    """Made when it is first needed: it takes longer than most commands have to wait."""
    converter = make_converter(forbid_extra_keys=True)

    def write_scalar(scalar: Scalar) -> dict[str, Any]:
        fields: dict[str, Any] = converter.unstructure(scalar, unstructure_as=Scalar)
        return fields

    def read_scalar(written: Any, _: Any) -> Scalar:
        return converter.structure(written, cast(type[Scalar], Scalar))

    converter.register_unstructure_hook(StorageCollectionId, str)
    converter.register_structure_hook(
        StorageCollectionId, lambda text, _: StorageCollectionId.parse(text)
    )
    converter.register_unstructure_hook(pa.Table, _write_table)
    converter.register_structure_hook(pa.Table, _read_table)
    plainly = override(
        unstruct_hook=write_value, struct_hook=lambda written, _: read_value(written)
    )
    converter.register_unstructure_hook(
        Literal, make_dict_unstructure_fn(Literal, converter, value=plainly)
    )
    converter.register_structure_hook(
        Literal, make_dict_structure_fn(Literal, converter, value=plainly)
    )
    converter.register_unstructure_hook(
        Constant, make_dict_unstructure_fn(Constant, converter, rows=plainly)
    )
    converter.register_structure_hook(
        Constant, make_dict_structure_fn(Constant, converter, rows=plainly)
    )
    converter.register_unstructure_hook(
        Frame, make_dict_unstructure_fn(Frame, converter, start=plainly, end=plainly)
    )
    converter.register_structure_hook(
        Frame, make_dict_structure_fn(Frame, converter, start=plainly, end=plainly)
    )
    converter.register_unstructure_hook_func(
        _is_error, lambda error: json.loads(encode_error(error))
    )
    converter.register_structure_hook_func(
        _is_error, lambda written, _: decode_error(json.dumps(written).encode())
    )
    # The parts of a scalar in a plan are scalars: the default of their type variable, a name.
    converter.register_unstructure_hook_func(_is_part, write_scalar)
    converter.register_structure_hook_func(_is_part, read_scalar)
    configure_tagged_union(Scalar, converter)  # under "_type": operators have a "kind"
    optional = override(
        unstruct_hook=lambda scalar: scalar and write_scalar(scalar),
        struct_hook=lambda written, type_: written and read_scalar(written, type_),
    )
    converter.register_unstructure_hook(
        Aggregate, make_dict_unstructure_fn(Aggregate, converter, filter=optional)
    )
    converter.register_structure_hook(
        Aggregate, make_dict_structure_fn(Aggregate, converter, filter=optional)
    )
    for union in (Plan, ComputeCommand, Target, *_FORMATS, Refreshed | RefreshFailed):
        configure_tagged_union(union, converter)
    return converter
