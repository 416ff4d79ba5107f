"""The sessions of the other workers of a server: listing, canceling and terminating them.

A worker sends a question and one end of a socket through the process that listens. The other worker
writes its answer, as JSON, to that socket and closes it. If the other worker has died, the socket
is closed at once; if it hangs, the asker waits for ``_ANSWER_TIMEOUT_S``.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from reclock.algebra.timestamps import Timestamp
from reclock.errors import WorkerUnresponsive
from reclock.introspection.backends import Backend, Backends, Work

_log = structlog.get_logger(__name__)
_ANSWER_TIMEOUT_S = 2.0
_CHUNK_BYTES = 1 << 16

Sessions = list[dict[str, Any]]
"""Facts about sessions, as JSON."""

Send = Callable[[int, bytes, socket.socket], None]
"""Sends a question to the worker of that number, with the socket for its answer. Raises
``OSError``."""


@dataclass(frozen=True, slots=True)
class WorkerPeers:
    """The sessions of the other workers. This is worker ``number`` of ``count``."""

    send: Send
    number: int
    count: int

    def backends(self) -> list[Backend]:
        deadline = time.monotonic() + _ANSWER_TIMEOUT_S
        others = [number for number in range(self.count) if number != self.number]
        answers = [(number, self._ask(number, {"do": "list"})) for number in others]
        sessions: list[Backend] = []
        for number, connection in answers:
            with closing(connection):
                try:
                    sessions += [
                        self._backend(session) for session in _read(connection, deadline) or []
                    ]
                except TimeoutError:
                    _log.warning(
                        "a worker does not answer, so its sessions are not shown", worker=number
                    )
        return sessions

    def backend(self, process_id: int) -> Backend | None:
        if process_id < 1 or self._number(process_id) == self.number:
            return None
        session = self._answer(process_id, {"do": "list", "process_id": process_id})
        return self._backend(session[0]) if session else None

    def _backend(self, session: dict[str, Any]) -> Backend:
        process_id, began_at = session["process_id"], Timestamp(session["began_at"])
        work = session["work"]
        # A worker that was restarted assigns the same process ids again, so a session is
        # identified by its start too.
        end = {"process_id": process_id, "began_at": began_at}
        return Backend(
            process_id,
            session["role_id"],
            session["user"],
            session["database"],
            lambda: session["application_name"],
            session["client_address"],
            session["client_port"],
            began_at,
            lambda: session["transaction"],
            partial(self._answer, process_id, {"do": "cancel"} | end),
            partial(self._answer, process_id, {"do": "terminate"} | end),
            lambda: [(name, sql, tuple(types)) for name, sql, types in session["prepared"]],
            lambda: [
                (name, is_held, is_scrollable)
                for name, is_held, is_scrollable in session["cursors"]
            ],
            None if work is None else Work(lambda: work["sql"], work["began_at"], work["ended_at"]),
        )

    def _answer(self, process_id: int, question: dict[str, Any]) -> Sessions | None:
        """The worker's answer; None if the worker is gone. Raises ``WorkerUnresponsive``."""
        number = self._number(process_id)
        with closing(self._ask(number, question)) as connection:
            try:
                return _read(connection, time.monotonic() + _ANSWER_TIMEOUT_S)
            except TimeoutError:
                raise WorkerUnresponsive(number, process_id) from None

    def _number(self, process_id: int) -> int:
        """The number of the worker that gave the process id."""
        return (process_id - 1) % self.count

    def _ask(self, number: int, question: dict[str, Any]) -> socket.socket:
        """The socket to read the answer from."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self.send(number, json.dumps(question).encode(), theirs)
            except OSError as error:
                _log.warning("another worker cannot be asked", worker=number, error=str(error))
        return ours


def answer(question: bytes, backends: Backends, asker: socket.socket) -> None:
    """Answer a question about the sessions of this process, and close the socket."""
    request = json.loads(question)
    with asker:
        asker.settimeout(_ANSWER_TIMEOUT_S)
        try:
            asker.sendall(json.dumps(_answer(request, backends)).encode())
        except OSError as error:  # the asker has stopped waiting
            _log.debug("a question was not answered in time", error=str(error))


def _answer(question: dict[str, Any], backends: Backends) -> Sessions | None:
    process_id = question.get("process_id")
    if process_id is None:
        return [_session(backend) for backend in backends.all_local()]
    backend = backends.local(process_id)
    if backend is None or question.get("began_at") not in (None, backend.began_at):
        return None
    match question["do"]:
        case "cancel":
            backend.cancel()
        case "terminate":
            backend.terminate()
    return [_session(backend)]


def _session(backend: Backend) -> dict[str, Any]:
    work = backend.work
    return {
        "process_id": backend.process_id,
        "role_id": backend.role_id,
        "user": backend.user,
        "database": backend.database,
        "application_name": backend.application_name(),
        "client_address": backend.client_address,
        "client_port": backend.client_port,
        "began_at": backend.began_at,
        "transaction": backend.transaction(),
        "prepared": list(backend.prepared()),
        "cursors": list(backend.cursors()),
        "work": work and {"sql": work.sql(), "began_at": work.began_at, "ended_at": work.ended_at},
    }


def _read(connection: socket.socket, deadline: float) -> Sessions | None:
    """The answer, None if the worker is gone. Raises ``TimeoutError``."""
    chunks = []
    while True:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            chunk = connection.recv(_CHUNK_BYTES)
        except ConnectionError:
            return None
        if not chunk:
            break
        chunks.append(chunk)
    try:
        answer: Sessions | None = json.loads(b"".join(chunks))
        return answer
    except ValueError:  # the worker died before it had answered
        return None
