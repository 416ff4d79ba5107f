"""Messages of the PostgreSQL wire protocol 3: bytes to values and values to bytes, and nothing
else.

Source: PostgreSQL documentation, chapter "Frontend/Backend Protocol", section "Message Formats".
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reclock.adapter.context.texts import decode_utf8
from reclock.errors import ProtocolViolation

PROTOCOL_3_0 = 3 << 16
SSL_REQUEST = 80877103
GSS_REQUEST = 80877104
CANCEL_REQUEST = 80877102

# --- what a client sends before it has a session ---


@dataclass(frozen=True, slots=True)
class SslRequest:
    pass


@dataclass(frozen=True, slots=True)
class GssRequest:
    pass


@dataclass(frozen=True, slots=True)
class CancelRequest:
    process_id: int
    secret: bytes


@dataclass(frozen=True, slots=True)
class Startup:
    """``minor`` is the requested version of protocol 3; ``parameters`` are those of the client, in
    order."""

    minor: int
    parameters: Mapping[str, str]


Opening = SslRequest | GssRequest | CancelRequest | Startup


def read_opening(body: bytes) -> Opening:
    """The first message of a connection, without its length. Raises ``ProtocolViolation``."""
    if len(body) < 4:
        raise ProtocolViolation("the first message is too short")
    (code,) = struct.unpack_from("!I", body)
    if code == SSL_REQUEST:
        return SslRequest()
    if code == GSS_REQUEST:
        return GssRequest()
    if code == CANCEL_REQUEST:
        if not 4 <= len(body) - 8 <= 256:
            raise ProtocolViolation("a cancel request has a key of 4 to 256 bytes")
        return CancelRequest(struct.unpack_from("!I", body, 4)[0], body[8:])
    if code >> 16 != 3:
        raise ProtocolViolation(
            f"unsupported frontend protocol {code >> 16}.{code & 0xFFFF}",
            sqlstate="0A000",
            hint="use protocol 3.0 or 3.2",
        )
    reader = MessageReader(body, 4)
    parameters: dict[str, str] = {}
    while reader.at < len(body) - 1:
        name = reader.string()
        parameters[name] = reader.string()
    if body[reader.at :] != b"\0":
        raise ProtocolViolation("the start-up parameters do not end with a zero")
    return Startup(code & 0xFFFF, parameters)


# --- what a client sends in a session ---


@dataclass(frozen=True, slots=True)
class Query:
    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    name: str
    text: str
    parameter_oids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """A format is 0 (text) or 1 (binary). No formats mean text for all; one applies to all."""

    portal: str
    statement: str
    parameter_formats: tuple[int, ...]
    parameters: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Describe:
    """``kind`` is ``S`` for a statement, ``P`` for a portal."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """``limit`` 0 is all rows."""

    portal: str
    limit: int


@dataclass(frozen=True, slots=True)
class Close:
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Flush:
    pass


SYNC = b"S"
"""The first byte of a ``Sync``."""


@dataclass(frozen=True, slots=True)
class Sync:
    pass


@dataclass(frozen=True, slots=True)
class Terminate:
    pass


@dataclass(frozen=True, slots=True)
class Password:
    """A password or a step of SASL, depending on the server's request."""

    body: bytes


@dataclass(frozen=True, slots=True)
class CopyData:
    data: bytes


@dataclass(frozen=True, slots=True)
class CopyDone:
    pass


@dataclass(frozen=True, slots=True)
class CopyFail:
    reason: str


Frontend = (
    Query
    | Parse
    | Bind
    | Describe
    | Execute
    | Close
    | Flush
    | Sync
    | Terminate
    | Password
    | CopyData
    | CopyDone
    | CopyFail
)


class MessageReader:
    """Fields of one message, in order. Raises ``ProtocolViolation`` where the message ends too
    early."""

    def __init__(self, body: bytes, at: int = 0) -> None:
        self.body, self.at = body, at

    def string(self) -> str:
        end = self.body.find(b"\0", self.at)
        if end < 0:
            raise ProtocolViolation("a string of a message does not end")
        raw, self.at = self.body[self.at : end], end + 1
        return decode_utf8(raw)

    def take(self, length: int) -> bytes:
        if length < 0 or self.at + length > len(self.body):
            raise ProtocolViolation("a message is shorter than it says")
        self.at += length
        return self.body[self.at - length : self.at]

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big", signed=True)

    def count(self) -> int:
        """An unsigned 16-bit integer, like PostgreSQL reads counts."""
        return int.from_bytes(self.take(2), "big")

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def end(self) -> None:
        if self.at != len(self.body):
            raise ProtocolViolation("a message is longer than its fields")


def read(tag: bytes, body: bytes) -> Frontend:
    """The message of a session. Raises ``ProtocolViolation``."""
    reader = MessageReader(body)
    message = _read(tag, reader)
    reader.end()
    return message


def _read(tag: bytes, reader: MessageReader) -> Frontend:
    match tag:
        case b"Q":
            return Query(reader.string())
        case b"P":
            name, text = reader.string(), reader.string()
            return Parse(
                name, text, tuple(reader.int32() & 0xFFFFFFFF for _ in range(reader.count()))
            )
        case b"B":
            portal, statement = reader.string(), reader.string()
            formats = _formats(reader)
            parameters = tuple(_value(reader) for _ in range(reader.count()))
            return Bind(portal, statement, formats, parameters, _formats(reader))
        case b"D" | b"C":
            kind = decode_utf8(reader.take(1))
            if kind not in ("S", "P"):
                raise ProtocolViolation(f'"{kind}" is neither a statement nor a portal')
            return (Describe if tag == b"D" else Close)(kind, reader.string())
        case b"E":
            return Execute(reader.string(), max(0, reader.int32()))
        case b"H":
            return Flush()
        case b"S":
            return Sync()
        case b"X":
            return Terminate()
        case b"p":
            return Password(reader.take(len(reader.body)))
        case b"d":
            return CopyData(reader.take(len(reader.body)))
        case b"c":
            return CopyDone()
        case b"f":
            return CopyFail(reader.string())
    raise ProtocolViolation(f"invalid frontend message type {tag[0]}")


def _formats(reader: MessageReader) -> tuple[int, ...]:
    count = reader.count()
    formats = struct.unpack(f"!{count}h", reader.take(2 * count))
    for code in formats:
        if code not in (0, 1):
            raise ProtocolViolation(f"unsupported format code: {code}", sqlstate="22023")
    return formats


def _value(reader: MessageReader) -> bytes | None:
    length = reader.int32()
    return None if length == -1 else reader.take(length)


# --- what the server sends ---


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result, as ``RowDescription`` has it."""

    name: str
    oid: int
    size: int
    modifier: int
    format: int = 0


def message(tag: bytes, body: bytes = b"") -> bytes:
    return tag + struct.pack("!I", len(body) + 4) + body


def string(text: str) -> bytes:
    return text.replace("\0", "").encode() + b"\0"


AUTHENTICATION_OK = message(b"R", struct.pack("!I", 0))
PARSE_COMPLETE = message(b"1")
BIND_COMPLETE = message(b"2")
CLOSE_COMPLETE = message(b"3")
NO_DATA = message(b"n")
PORTAL_SUSPENDED = message(b"s")
EMPTY_QUERY = message(b"I")
COPY_DONE = message(b"c")


def authentication_sasl(mechanisms: Sequence[str]) -> bytes:
    return message(b"R", struct.pack("!I", 10) + b"".join(map(string, mechanisms)) + b"\0")


def authentication_sasl_continue(data: bytes) -> bytes:
    return message(b"R", struct.pack("!I", 11) + data)


def authentication_sasl_final(data: bytes) -> bytes:
    return message(b"R", struct.pack("!I", 12) + data)


def parameter_status(name: str, value: str) -> bytes:
    return message(b"S", string(name) + string(value))


def backend_key_data(process_id: int, secret: bytes) -> bytes:
    return message(b"K", struct.pack("!I", process_id) + secret)


def negotiate_protocol_version(newest_minor: int, unknown: Sequence[str]) -> bytes:
    """``unknown`` names the protocol options (``_pq_.…``) that are not known here."""
    return message(
        b"v",
        struct.pack("!II", PROTOCOL_3_0 | newest_minor, len(unknown))
        + b"".join(map(string, unknown)),
    )


def ready_for_query(status: str) -> bytes:
    return message(b"Z", status.encode())


def row_description(fields: Iterable[Field]) -> bytes:
    written = [
        string(field.name)
        + struct.pack("!IhIhih", 0, 0, field.oid, field.size, field.modifier, field.format)
        for field in fields
    ]
    return message(b"T", struct.pack("!H", len(written)) + b"".join(written))


def parameter_description(oids: Sequence[int]) -> bytes:
    return message(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def command_complete(tag: str) -> bytes:
    return message(b"C", string(tag))


def error_response(fields: Mapping[str, str]) -> bytes:
    return message(b"E", _report(fields))


def notice_response(fields: Mapping[str, str]) -> bytes:
    return message(b"N", _report(fields))


def _report(fields: Mapping[str, str]) -> bytes:
    return b"".join(code.encode() + string(value) for code, value in fields.items()) + b"\0"


def copy_in_response(columns: int, *, is_binary: bool) -> bytes:
    return message(b"G", _copy_formats(columns, is_binary))


def copy_out_response(columns: int, *, is_binary: bool) -> bytes:
    return message(b"H", _copy_formats(columns, is_binary))


def _copy_formats(columns: int, is_binary: bool) -> bytes:
    """The overall format, and the same format for each column."""
    return struct.pack(f"!bH{columns}h", is_binary, columns, *[is_binary] * columns)
