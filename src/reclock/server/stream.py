"""The messages of one client: reads whole messages within a limit, and writes at the pace of the client."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import struct
from contextlib import suppress

from reclock.errors import ProtocolViolation
from reclock.server import messages

_OPENING_BYTES = 10_000
_SMALL_BYTES = 30_000
_SMALL = frozenset(b"CDESHXcfp")
"""Kinds of messages that are always short."""
_PENDING_BYTES = 1 << 16
_CLOSING_S = 5


class MessageStream:
    """A connection as a stream of messages. ``send`` only buffers; ``flush`` waits until the client has read enough."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit_bytes: int) -> None:
        self._reader, self._writer, self._limit_bytes = reader, writer, limit_bytes
        self._pending: list[bytes | memoryview] = []
        self._pending_bytes = 0
        self._head = b""

    @property
    def peer(self) -> str:
        name = self._writer.get_extra_info("peername")
        return f"{name[0]}:{name[1]}" if name else "unknown"

    @property
    def is_local(self) -> bool:
        """Whether the client is on this machine."""
        name = self._writer.get_extra_info("peername")
        return bool(name) and ipaddress.ip_address(name[0].partition("%")[0]).is_loopback

    @property
    def is_closed(self) -> bool:
        """Whether the client has closed its side of the connection."""
        return bool(self._reader._eof)  # type: ignore[attr-defined]

    @property
    def is_encrypted(self) -> bool:
        return self._writer.get_extra_info("ssl_object") is not None

    async def handshake_message(self) -> messages.Opening:
        """The next message of the handshake. Raises ``ProtocolViolation``, ``IncompleteReadError``."""
        (length,) = struct.unpack("!I", await self._reader.readexactly(4))
        if not 8 <= length <= _OPENING_BYTES:
            raise ProtocolViolation("invalid length of startup packet")
        return messages.read_opening(await self._reader.readexactly(length - 4))

    async def message(self) -> messages.Frontend:
        """The next message. Raises ``ProtocolViolation``, ``MessageTooLarge``, ``IncompleteReadError``."""
        head, self._head = self._head or await self._reader.readexactly(5), b""
        length = int.from_bytes(head[1:], "big")
        if length < 4 or length > (_SMALL_BYTES if head[0] in _SMALL else self._limit_bytes):
            raise MessageTooLarge(length, self._limit_bytes)
        return messages.read(head[:1], await self._reader.readexactly(length - 4))

    async def next_is(self, kind: bytes) -> bool:
        """Wait for the next message; whether it is of that kind. Raises ``IncompleteReadError``."""
        self._head = self._head or await self._reader.readexactly(5)
        return self._head[:1] == kind

    @property
    def ahead(self) -> bytes:
        """The bytes that have arrived after the last message."""
        return bytes(self._reader._buffer)  # type: ignore[attr-defined]

    async def skip(self, count: int) -> None:
        """Discard the next bytes, which are ``ahead``."""
        await self._reader.readexactly(count)

    async def encrypt(self, context: ssl.SSLContext) -> None:
        """Switch to TLS. Data that the client sent unencrypted after its request is an error: it could be forged."""
        if self._reader._buffer:  # type: ignore[attr-defined]
            raise ProtocolViolation("received unencrypted data after SSL request")
        self._writer.write(b"S")
        await self._writer.drain()
        await self._writer.start_tls(context)

    def send(self, message: bytes | memoryview) -> None:
        self._pending.append(message)
        self._pending_bytes += len(message)

    def send_now(self, message: bytes) -> None:
        """Send at once, before pending messages: notices may come between any two messages."""
        self._writer.write(message)

    async def flush(self) -> None:
        self._writer.write(b"".join(self._pending))
        self._pending.clear()
        self._pending_bytes = 0
        await self._writer.drain()

    async def pass_on(self) -> None:
        """Flush pending messages before a long wait for more. Raises ``IncompleteReadError`` if the client is gone."""
        await self.flush()
        if self.is_closed:
            raise asyncio.IncompleteReadError(b"", None)

    async def flush_if_much(self) -> None:
        if self._pending_bytes > _PENDING_BYTES:
            await self.flush()

    async def close(self) -> None:
        """Close the connection, and abort it if the client does not take pending data within a moment."""
        self._writer.close()
        with suppress(OSError, ssl.SSLError):
            try:
                async with asyncio.timeout(_CLOSING_S):
                    await self._writer.wait_closed()
            except TimeoutError:
                self._writer.transport.abort()


class MessageTooLarge(ProtocolViolation):
    """A message is longer than the server accepts; the connection cannot continue after it."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"a message of {length} bytes is invalid or too long", sqlstate="54000", hint=f"max_message_bytes is {limit}"
        )
        self.length, self.limit = length, limit
