"""What Python allows at most: the cheapest servers that speak the protocol beside PostgreSQL, with
the same client in turn, all on this machine.

Each server parses the messages of a prepared ``SELECT 1`` and answers constant bytes: on the event
loop alone, and with one hand-over to a thread and back for each statement, as a session that may
wait needs. A figure is statements a second, and in brackets its ratio to PostgreSQL's.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import queue
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import uvloop
from fixtures.postgres import running

from benchmarks.server import CLIENTS, new_folder
from benchmarks.statements import compare, rate
from reclock.server import messages

_FIELD = messages.Field("?column?", 23, 4, -1, 1)
_ROW = messages.message(b"D", b"\0\1" + (4).to_bytes(4, "big") + (1).to_bytes(4, "big"))
_OPENED = b"".join(
    (
        messages.AUTHENTICATION_OK,
        messages.parameter_status("client_encoding", "UTF8"),
        messages.parameter_status("server_version", "16.0"),
        messages.backend_key_data(1, bytes(4)),
        messages.ready_for_query("I"),
    )
)
_ANSWERS = {
    b"P": messages.PARSE_COMPLETE,
    b"B": messages.BIND_COMPLETE,
    b"D": messages.row_description([_FIELD]),
    b"E": _ROW + messages.command_complete("SELECT 1"),
    b"S": messages.ready_for_query("I"),
    b"X": b"",
}


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="reclock-benchmark-"))
    try:
        with (
            _served(has_threads=False) as loop_alone,
            _served(has_threads=True) as with_threads,
            running(new_folder(folder / "postgres")) as postgres,
        ):
            places = {
                "loop alone": loop_alone,
                "with a thread": with_threads,
                "PostgreSQL": postgres.dsn(),
            }
            for clients in CLIENTS:
                compare(
                    f"SELECT 1, {clients} clients",
                    places,
                    lambda dsn: rate(dsn, "SELECT 1", 0, clients),  # noqa: B023
                )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _served(*, has_threads: bool) -> Iterator[str]:
    """The address of a server, in a process of its own."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve, args=(theirs, has_threads), daemon=True)
    process.start()
    try:
        yield f"host=127.0.0.1 port={ours.recv()} user=reclock dbname=reclock sslmode=disable gssencmode=disable"
    finally:
        process.terminate()
        process.join()


def _serve(parent: Connection, has_threads: bool) -> None:
    async def listen() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Client(has_thread=has_threads), "127.0.0.1", 0)
        parent.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(listen())


class _Client(asyncio.Protocol):
    def __init__(self, *, has_thread: bool) -> None:
        self._arrived, self._is_open = b"", False
        self._loop = asyncio.get_running_loop()
        self._requests: queue.SimpleQueue[bytes] | None = None
        if has_thread:
            self._requests = queue.SimpleQueue()
            threading.Thread(target=self._answer_requests, daemon=True).start()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._is_open:
            self._is_open = True
            self._transport.write(_OPENED)
            return
        self._arrived += data
        answers = self._answers()
        if self._requests is None:
            self._write(answers)
        else:
            self._requests.put(answers)

    def _answers(self) -> bytes:
        """The answers to the messages that have arrived."""
        arrived, at, answers = self._arrived, 0, b""
        while len(arrived) >= at + 5:
            end = at + 1 + int.from_bytes(arrived[at + 1 : at + 5], "big")
            if len(arrived) < end:
                break
            answers += _ANSWERS[arrived[at : at + 1]]
            at = end
        self._arrived = arrived[at:]
        return answers

    def _answer_requests(self) -> None:
        assert self._requests is not None
        while True:
            answers = self._requests.get()
            self._loop.call_soon_threadsafe(self._write, answers)

    def _write(self, answers: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answers)
