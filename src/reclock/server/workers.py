"""``reclock serve --workers N``: one port, served by several processes.

One process of Python computes on one core at a time. The parent process only listens: it passes
each connection to the worker that has the fewest, and restarts a worker that ends. A worker is
a server of its own over the environment; nothing is shared between them but the stores, and the
memory of what is imported: workers are forks of the parent, which has neither threads nor stores.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NoReturn

import structlog

from reclock.server.listeners import (
    ASK,
    CANCEL,
    CLOSED,
    CONNECTION,
    PACKET_BYTES,
    READY,
    Listener,
    WorkerListener,
)
from reclock.server.ports import cannot_listen

_log = structlog.get_logger(__name__)
_RESTART_DELAY_S = 1.0
_BACKLOG = 256


@dataclass(slots=True, eq=False)
class _Worker:
    """A worker's process, the parent's end of its channel, and how many connections were passed to
    it and have closed."""

    process_id: int
    channel: socket.socket
    passed: int = 0
    closed: int = 0
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def connections(self) -> int:
        return self.passed - self.closed


class Workers:
    """Serves one port with ``count`` workers until SIGTERM or SIGINT."""

    def __init__(self, host: str, port: int, count: int, serve: Callable[[Listener], int]) -> None:
        """A worker calls ``serve`` with where its connections come from; it ends with the exit
        code that this returns."""
        self._host, self._port, self._count, self._serve = host, port, count, serve
        self._workers: dict[int, _Worker] = {}
        self._restarting: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._exit_code = 0

    async def run(self, ready: Callable[[str, int], None]) -> int:
        """The exit code: that of a worker which could not begin to serve, otherwise 0. ``ready`` is
        told the address, once all workers take connections. Raises ``ConfigurationError`` if the
        port is taken."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        with self._bind() as listener:
            try:
                # The first worker alone, so that an error which all would have is reported once.
                if await self._start(0) and all(
                    await asyncio.gather(*(self._start(number) for number in range(1, self._count)))
                ):
                    listener.listen(_BACKLOG)
                    address = listener.getsockname()
                    ready(address[0], address[1])
                    accepting = loop.create_task(self._accept(listener))
                    await self._stopping.wait()
                    accepting.cancel()
            finally:
                listener.close()
                await self._stop()
        return self._exit_code

    def _bind(self) -> socket.socket:
        try:
            addresses = socket.getaddrinfo(
                self._host, self._port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            family, kind, protocol, _, address = addresses[0]
            listener = socket.socket(family, kind, protocol)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError as error:
            raise cannot_listen(self._host, self._port, error) from error
        listener.setblocking(False)
        return listener

    # --- connections ---

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(listener)
            except OSError as error:  # too many open files, or the client is gone
                _log.warning("a connection cannot be accepted", error=str(error))
                await asyncio.sleep(_RESTART_DELAY_S)
                continue
            with client:
                await self._pass_on(client)

    async def _pass_on(self, client: socket.socket) -> None:
        """Give the connection to the worker with the fewest; waits while no worker serves."""
        while not self._stopping.is_set():
            serving = [worker for worker in self._workers.values() if worker.ready.is_set()]
            for worker in sorted(serving, key=lambda worker: worker.connections):
                try:
                    socket.send_fds(worker.channel, [CONNECTION], [client.fileno()])
                except OSError:  # the worker ends, or its channel is full
                    continue
                worker.passed += 1
                return
            await asyncio.sleep(0.05)

    def _cancel(self, packet: bytes) -> None:
        """Pass a cancel request to the worker that gave its process id."""
        (process_id,) = struct.unpack_from("!I", packet, 1)
        worker = self._workers.get((process_id - 1) % self._count)
        if worker is not None:
            try:
                worker.channel.send(packet)
            except OSError as error:
                _log.warning("a cancel request cannot be passed on", error=str(error))

    def _ask(self, packet: bytes, reply_to: int) -> None:
        """Pass a question on to the worker that it is for. If that worker does not serve, the asker
        reads an empty answer."""
        (number,) = struct.unpack_from("!I", packet, 1)
        worker = self._workers.get(number)
        if worker is not None and worker.ready.is_set():
            try:
                socket.send_fds(worker.channel, [ASK + packet[5:]], [reply_to])
            except OSError as error:
                _log.warning("a question cannot be passed on", worker=number, error=str(error))

    # --- processes ---

    async def _start(self, number: int) -> bool:
        """Start the worker, and return whether it serves. If it ends instead, its exit code becomes
        that of the server."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            if not (process_id := _fork()):
                self._work(number, theirs)
        worker = self._workers[number] = _Worker(process_id, ours)
        asyncio.get_running_loop().add_reader(ours, self._receive, number, worker)
        waits = [
            asyncio.ensure_future(event.wait())
            for event in (worker.ready, worker.ended, self._stopping)
        ]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if not worker.ready.is_set():
            self._stopping.set()
        return worker.ready.is_set()

    def _work(self, number: int, channel: socket.socket) -> NoReturn:
        """Serve as a worker, in the forked process. Never returns to the frames of the parent."""
        exit_code = 1
        try:
            os.setpgrp()  # so that Ctrl+C in a terminal reaches the parent alone
            signal.set_wakeup_fd(-1)
            for signal_number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(signal_number, signal.SIG_DFL)
            # the parent's ends of all channels: a worker ends when the parent's end of its own is
            # closed, in every process that has it
            for descriptor in map(int, os.listdir("/dev/fd")):
                if descriptor > 2 and descriptor != channel.fileno():
                    with suppress(OSError):  # that of the listing itself
                        os.close(descriptor)
            exit_code = self._serve(WorkerListener(channel, self._host, number, self._count))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(exit_code)

    def _receive(self, number: int, worker: _Worker) -> None:
        try:
            packet, passed, _, _ = socket.recv_fds(worker.channel, PACKET_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            packet, passed = b"", []
        match packet[:1]:
            case b"":
                self._ended(number, worker)
            case kind if kind == READY:  # also when it has joined the environment again
                (worker.closed,) = struct.unpack_from("!Q", packet, 1)
                worker.ready.set()
            case kind if kind == CLOSED:
                worker.closed += 1
            case kind if kind == CANCEL:
                self._cancel(packet)
            case kind if kind == ASK:
                self._ask(packet, passed[0])
        for descriptor in passed:
            os.close(descriptor)

    def _ended(self, number: int, worker: _Worker) -> None:
        asyncio.get_running_loop().remove_reader(worker.channel)
        worker.channel.close()
        _, status = os.waitpid(worker.process_id, 0)
        code = os.waitstatus_to_exitcode(status)
        was_serving = worker.ready.is_set()
        worker.ready.clear()
        worker.ended.set()
        if self._stopping.is_set():
            return
        if not was_serving or code == 1:
            self._exit_code = code
            self._stopping.set()
            return
        _log.warning("a worker has ended; starting it again", worker=number, exit_code=code)
        task = asyncio.get_running_loop().create_task(self._restart(number))
        self._restarting.add(task)
        task.add_done_callback(self._restarting.discard)

    async def _restart(self, number: int) -> None:
        await asyncio.sleep(_RESTART_DELAY_S)
        if not self._stopping.is_set():
            await self._start(number)

    async def _stop(self) -> None:
        for task in self._restarting:
            task.cancel()
        for worker in self._workers.values():
            if not worker.ended.is_set():
                os.kill(worker.process_id, signal.SIGTERM)
        for worker in self._workers.values():
            await worker.ended.wait()


def _fork() -> int:
    """As `os.fork`. The child's garbage collections leave out the objects of the parent: they would
    write to the shared pages, and so copy them."""
    gc.collect()
    gc.freeze()
    process_id = os.fork()
    if process_id:
        gc.unfreeze()
    return process_id
