"""The sessions of a server and the statements that they execute now, as ``pg_stat_activity`` shows
them.

Nothing of this is stored: `Reports` records the sessions and statements of all processes, a moment
later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reclock.algebra.timestamps import Timestamp


@dataclass(frozen=True, slots=True)
class Work:
    """A statement that has begun; ``sql`` shows no secret. ``ended_at`` is None while it runs."""

    sql: Callable[[], str]
    began_at: Timestamp
    ended_at: Timestamp | None = None


@dataclass(slots=True)
class Backend:
    """One session of a client. ``transaction`` answers ``idle``, or the state of its block; the calls
    may come from any thread."""

    process_id: int
    role_id: str
    user: str
    database: str
    application_name: Callable[[], str]
    client_address: str
    client_port: int
    began_at: Timestamp
    transaction: Callable[[], str]
    cancel: Callable[[], object]
    terminate: Callable[[], object]
    prepared: Callable[[], Sequence[tuple[str, str, tuple[str, ...]]]] = tuple
    """Name, text and types of parameters of the statements it has prepared."""
    cursors: Callable[[], Sequence[tuple[str, bool, bool]]] = tuple
    """Names of its cursors, whether they outlive the transaction, and whether they go backwards."""
    work: Work | None = None
    """The statement that runs, or else the last."""

    @property
    def state(self) -> str:
        """In PostgreSQL's words."""
        return (
            "active" if self.work is not None and self.work.ended_at is None else self.transaction()
        )


class Peers(Protocol):
    """The sessions of the other processes that serve the same address. Calls may come from any
    thread, and wait for a bounded time only."""

    def backends(self) -> list[Backend]:
        """The sessions of the other processes that answer."""

    def backend(self, process_id: int) -> Backend | None:
        """The session with this process id; None if no other process has it. Raises
        ``WorkerUnresponsive``."""


@dataclass(slots=True)
class Backends:
    """The sessions of this process, and through its peers those of the whole server. Safe for
    threads."""

    peers: Peers | None = None
    _by_process_id: dict[int, Backend] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, backend: Backend) -> None:
        with self._guard:
            self._by_process_id[backend.process_id] = backend

    def remove(self, backend: Backend) -> None:
        with self._guard:
            self._by_process_id.pop(backend.process_id, None)

    def local(self, process_id: int) -> Backend | None:
        return self._by_process_id.get(process_id)

    def all_local(self) -> list[Backend]:
        """The sessions of this process, in order of their process ids."""
        with self._guard:
            return sorted(self._by_process_id.values(), key=lambda backend: backend.process_id)

    def get(self, process_id: int) -> Backend | None:
        """The session of any process of the server. Raises ``WorkerUnresponsive``."""
        backend = self.local(process_id)
        return (
            self.peers.backend(process_id)
            if backend is None and self.peers is not None
            else backend
        )

    def all(self) -> list[Backend]:
        """The sessions of all processes of the server that answer, in order of their process
        ids."""
        if self.peers is None:
            return self.all_local()
        return sorted(
            [*self.all_local(), *self.peers.backends()], key=lambda backend: backend.process_id
        )
