"""Where a server's connections come from: a port of its own, or the process that listens for
several workers.

A worker and the process that started it talk over one socket of type ``SOCK_SEQPACKET``. A message
is one packet: its kind, one byte, and what belongs to it.

====================  =========  ===============================================================
kind                  direction  meaning
====================  =========  ===============================================================
``READY``             to parent  the worker takes connections; how many were passed to it before,
                                 all of which are over
``CONNECTION``        to worker  a client has connected; its socket comes with the packet
``CLOSED``            to parent  a connection that was passed to the worker is over
``CANCEL``            both       a cancel request, for the worker that gave this process id: the id
                                 in four bytes, and the secret
``ASK``               both       a question of `reclock.server.peers`, with a socket for the answer:
                                 to the parent, the number of the worker that is asked, in four
                                 bytes, and the question; to the worker the question alone
====================  =========  ===============================================================
"""

from __future__ import annotations

import asyncio
import signal
import socket
import struct
from collections.abc import Awaitable, Callable
from threading import Thread
from typing import Protocol

import structlog

from reclock.introspection.backends import Backends
from reclock.server.messages import CancelRequest
from reclock.server.peers import WorkerPeers, answer
from reclock.server.ports import cannot_listen

_log = structlog.get_logger(__name__)

READY, CONNECTION, CLOSED, CANCEL, ASK = b"R", b"N", b"C", b"X", b"A"
PACKET_BYTES = 512
"""Longer than any packet."""

Accept = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Cancel = Callable[[CancelRequest], None]


class Listener(Protocol):
    """``start`` passes each new connection to ``accept`` until ``close``."""

    host: str
    """The address at which clients connect."""

    number: int
    count: int
    """This is server ``number``, from 0 on, of ``count`` servers behind one address. It numbers its
    connections from ``number`` + 1 on, in steps of ``count``."""

    def share(self, backends: Backends) -> None:
        """Let the other servers list and end these sessions, and this server theirs. Call before
        ``start``."""

    async def start(self, accept: Accept, cancel: Cancel) -> None:
        """Raises ``ConfigurationError``. ``cancel`` takes the cancel requests that other servers
        forward."""

    def connection_closed(self) -> None:
        """To be called once for each connection that was accepted."""

    def forward_cancel(self, request: CancelRequest) -> None:
        """Pass on a cancel request for a connection that this server does not have."""

    def close(self) -> None: ...


class PortListener:
    """A port of this process, the same at each ``start``. ``ready`` is called with address and
    port, once clients can connect."""

    def __init__(self, host: str, port: int, ready: Callable[[str, int], None]) -> None:
        self.host, self._port = host, port
        self.number, self.count = 0, 1
        self._ready: Callable[[str, int], None] | None = ready
        self._server: asyncio.Server | None = None

    def share(self, backends: Backends) -> None:
        """Does nothing, since there is no other server."""

    async def start(self, accept: Accept, cancel: Cancel) -> None:
        del cancel
        try:
            self._server = await asyncio.start_server(accept, self.host, self._port)
        except OSError as error:
            raise cannot_listen(self.host, self._port, error) from error
        address, self._port = self._server.sockets[0].getsockname()[:2]
        if self._ready is not None:
            self._ready(address, self._port)
            self._ready = None

    def connection_closed(self) -> None:
        """Does nothing, since no other process counts the connections."""

    def forward_cancel(self, request: CancelRequest) -> None:
        """Does nothing, since there is no other server to ask."""

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


class WorkerListener:
    """Connections that the parent process accepts and passes to this worker, one of ``count``.

    When the parent is gone, the worker stops as on SIGTERM.
    """

    def __init__(self, channel: socket.socket, host: str, number: int, count: int) -> None:
        self.host, self.number, self.count = host, number, count
        self._channel = channel
        self._opening: set[asyncio.Task[None]] = set()
        self._received = 0
        channel.setblocking(False)
        channel.set_inheritable(False)

    def share(self, backends: Backends) -> None:
        self._backends = backends
        backends.peers = WorkerPeers(self._ask, self.number, self.count)

    async def start(self, accept: Accept, cancel: Cancel) -> None:
        self._loop = asyncio.get_running_loop()
        self._accept, self._cancel = accept, cancel
        self._loop.add_reader(self._channel, self._receive)
        # A connection that ended with the event loop, before it was served, was not reported.
        self._send(READY + struct.pack("!Q", self._received))

    def connection_closed(self) -> None:
        self._send(CLOSED)

    def forward_cancel(self, request: CancelRequest) -> None:
        self._send(CANCEL + struct.pack("!I", request.process_id) + request.secret)

    def close(self) -> None:
        self._loop.remove_reader(self._channel)

    def _send(self, packet: bytes) -> None:
        try:
            self._channel.send(packet)
        except OSError as error:  # if the parent has died, ``_receive`` stops the worker
            _log.warning("the parent process does not take a message", error=str(error))

    def _ask(self, number: int, question: bytes, reply_to: socket.socket) -> None:
        """Send the question to the worker of that number. Raises ``OSError``."""
        packet = ASK + struct.pack("!I", number) + question
        socket.send_fds(self._channel, [packet], [reply_to.fileno()])

    def _receive(self) -> None:
        try:
            packet, sockets, _, _ = socket.recv_fds(self._channel, PACKET_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            packet, sockets = b"", []
        if not packet:
            self._loop.remove_reader(self._channel)
            signal.raise_signal(signal.SIGTERM)
        elif packet[:1] == CONNECTION:
            self._received += 1
            client = socket.socket(fileno=sockets[0])
            task = self._loop.create_task(self._open(client))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
        elif packet[:1] == CANCEL:
            (process_id,) = struct.unpack_from("!I", packet, 1)
            self._cancel(CancelRequest(process_id, packet[5:]))
        elif packet[:1] == ASK:
            asker = socket.socket(fileno=sockets[0])
            Thread(
                target=answer, args=(packet[1:], self._backends, asker), name="peer", daemon=True
            ).start()

    async def _open(self, client: socket.socket) -> None:
        client.setblocking(False)
        reader = asyncio.StreamReader(loop=self._loop)
        protocol = asyncio.StreamReaderProtocol(reader, self._accept, loop=self._loop)
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, client)
        except OSError as error:
            _log.debug("connection lost", error=type(error).__name__)
            client.close()
            self.connection_closed()
