"""The messages of one client: reads whole messages within a limit, and writes at the pace of the
client."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import struct
from contextlib import suppress
from functools import lru_cache

from reclock.errors import ProtocolViolation
from reclock.server import messages

_MAX_HANDSHAKE_BYTES = 10_000
_MAX_SMALL_BYTES = 30_000
_SMALL = frozenset(b"CDESHXcfp")
"""Kinds of messages that are always short."""
_READ_BYTES = 1 << 18
_REPEATED = frozenset([b"D", b"E", b"S", b"H"])
_read_repeated = lru_cache(maxsize=1024)(messages.read)
"""Clients send the same few messages of these kinds again and again."""
_PENDING_BYTES = 1 << 16
_CLOSE_TIMEOUT_S = 5


class MessageStream:
    """A connection as a stream of messages. ``send`` only buffers; ``flush`` waits until the client
    has read enough."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit_bytes: int
    ) -> None:
        self._reader, self._writer, self._limit_bytes = reader, writer, limit_bytes
        self._pending: list[bytes | memoryview] = []
        self._pending_bytes = 0
        self._arrived = bytearray()
        """Received bytes of messages that were not read yet. The handshake reads directly from the
        connection instead."""

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
        """The next message of the handshake. Raises ``ProtocolViolation``,
        ``IncompleteReadError``."""
        (length,) = struct.unpack("!I", await self._reader.readexactly(4))
        if not 8 <= length <= _MAX_HANDSHAKE_BYTES:
            raise ProtocolViolation("invalid length of startup packet")
        return messages.read_opening(await self._reader.readexactly(length - 4))

    async def message(self) -> messages.Frontend:
        """The next message. Raises ``ProtocolViolation``, ``MessageTooLarge``,
        ``IncompleteReadError``."""
        arrived = self._arrived
        if len(arrived) < 5:
            await self._await_bytes(5)
        length = int.from_bytes(arrived[1:5], "big")
        if length < 4 or length > (_MAX_SMALL_BYTES if arrived[0] in _SMALL else self._limit_bytes):
            raise MessageTooLarge(length, self._limit_bytes)
        end = 1 + length
        if len(arrived) < end:
            await self._await_bytes(end)
        kind, body = bytes(arrived[:1]), bytes(arrived[5:end])
        del arrived[:end]
        return _read_repeated(kind, body) if kind in _REPEATED else messages.read(kind, body)

    async def next_is(self, kind: bytes) -> bool:
        """Wait for the next message; whether it is of that kind. Raises ``IncompleteReadError``."""
        if not self._arrived:
            await self._await_bytes(1)
        return self._arrived[:1] == kind

    async def _await_bytes(self, count: int) -> None:
        """Wait until so many bytes have arrived. Raises ``IncompleteReadError``."""
        while len(self._arrived) < count:
            more = await self._reader.read(_READ_BYTES)
            if not more:
                raise asyncio.IncompleteReadError(bytes(self._arrived), count)
            self._arrived += more

    async def ahead(self) -> bytes:
        """The bytes that have arrived after the last message, as far as the server reads ahead."""
        if len(self._arrived) < _READ_BYTES and self._reader._buffer:  # type: ignore[attr-defined]
            self._arrived += await self._reader.read(_READ_BYTES)
        return bytes(self._arrived)

    def skip(self, count: int) -> None:
        """Discard the next bytes, which are ``ahead``."""
        del self._arrived[:count]

    async def encrypt(self, context: ssl.SSLContext) -> None:
        """Switch to TLS. Raises ``ProtocolViolation`` if unencrypted data follows the request: it
        could be forged."""
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
        """Flush pending messages before a long wait for more. Raises ``IncompleteReadError`` if the
        client is gone."""
        await self.flush()
        if self.is_closed:
            raise asyncio.IncompleteReadError(b"", None)

    async def flush_if_much(self) -> None:
        if self._pending_bytes > _PENDING_BYTES:
            await self.flush()

    async def close(self) -> None:
        """Close the connection, and abort it if the client does not read pending data within
        ``_CLOSE_TIMEOUT_S``."""
        self._writer.close()
        with suppress(OSError, ssl.SSLError):
            try:
                async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                    await self._writer.wait_closed()
            except TimeoutError:
                self._writer.transport.abort()


class MessageTooLarge(ProtocolViolation):
    """A message is longer than the server accepts; the connection cannot continue after it."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"a message of {length} bytes is invalid or too long",
            sqlstate="54000",
            hint=f"max_message_bytes is {limit}",
        )
        self.length, self.limit = length, limit
