"""What a worker and its parent tell each other of connections, over their channel alone."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any
from unittest import mock

from reclock.server.listeners import CLOSED, CONNECTION, READY, WorkerListener
from reclock.server.workers import Workers, _Worker


def channel() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def test_connections_that_ended_before_they_were_served_are_over_when_a_worker_begins_again() -> (
    None
):
    """As those that come in the moment in which a server is fenced."""
    ours, theirs = channel()
    listener = WorkerListener(theirs, "127.0.0.1", 0, 2)
    never: Any = mock.Mock(side_effect=AssertionError("it was served"))

    async def ends_with_a_connection() -> None:
        await listener.start(never, never)
        client, served = socket.socketpair()
        with client, served:
            socket.send_fds(ours, [CONNECTION], [served.fileno()])
            while not listener._opening:
                await asyncio.sleep(0)
        listener.close()

    async def begins_again() -> None:
        await listener.start(never, never)
        listener.close()

    asyncio.run(ends_with_a_connection())
    asyncio.run(begins_again())
    assert [ours.recv(100) for _ in range(2)] == [
        READY + struct.pack("!Q", 0),
        READY + struct.pack("!Q", 1),
    ]
    ours.close()
    theirs.close()


def test_the_parent_counts_what_a_worker_that_begins_again_has_lost() -> None:
    ours, theirs = channel()
    workers, worker = Workers("127.0.0.1", 0, 2, mock.Mock()), _Worker(0, ours, passed=5)
    for packet, expected in (
        (CLOSED, 4),
        (READY + struct.pack("!Q", 4), 1),  # one is on its way
        (CLOSED, 0),
    ):
        theirs.send(packet)
        workers._receive(0, worker)
        assert worker.connections == expected
    ours.close()
    theirs.close()
