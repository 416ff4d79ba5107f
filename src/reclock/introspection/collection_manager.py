"""The CollectionManager writes the collections that storage manages.

It does so for the replicas and processes that report about themselves. It takes appends, and
deletions by a filter, and applies them to each collection strictly in the order in which they were
issued. Everything that is queued, for all collections, is one commit. A deletion reads the
collection when its turn comes, so no append that was issued before it can be applied after it.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import sqlalchemy as sa
import structlog

from reclock.algebra.timestamps import Clock, Timestamp, system_clock
from reclock.consensus.processes.reporters import ReporterLeases, Token
from reclock.errors import Fenced, InternalError, ReclockError, ReportersGone, WriteConflict
from reclock.introspection import farewells
from reclock.protocol.introspection import Change, IntrospectionType, Reporter, Row

_logger = structlog.get_logger(__name__)

_ATTEMPTS = 20
"""How often a commit is tried if other processes write to a collection that it deletes from."""

_LONGEST_QUEUE = 100_000
"""How many changes one process queues at most. Beyond that every reporter starts again."""

Matches = Callable[[Row], bool]


@dataclass(frozen=True, slots=True)
class Append:
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    matches: Matches


Request = Append | Delete


@dataclass(frozen=True, slots=True)
class Contents:
    """The rows of collections at ``at``, the latest time at which they can be read."""

    at: Timestamp
    rows: Mapping[IntrospectionType, Mapping[Row, int]]


class ManagedCollections(Protocol):
    """The collections, in the lake."""

    def read(self, collections: Set[IntrospectionType]) -> Contents: ...

    def commit(
        self,
        changes: Mapping[IntrospectionType, Mapping[Row, int]],
        *,
        tokens: Set[Token],
        unchanged: Set[IntrospectionType],
        since: Timestamp | None,
    ) -> None:
        """Commit all changes at one time, or none.

        Raises ``ReportersGone`` for tokens that expired, and ``WriteConflict`` if one of
        ``unchanged`` was written after ``since``.
        """
        ...


class ReporterNames(Protocol):
    """The names under which actors report: see `consensus.processes.reporters`."""

    lease_ms: int

    def take(self, name: str) -> Token: ...
    def take_abandoned(self) -> dict[str, Token]: ...
    def renew(self, tokens: Iterable[Token]) -> ReporterLeases: ...
    def renew_within(
        self, connection: sa.Connection, now: Timestamp, tokens: Iterable[Token]
    ) -> ReporterLeases: ...
    def leave(self, tokens: Iterable[Token]) -> None: ...


def net_changes(requests: Sequence[Request], contents: Mapping[Row, int]) -> dict[Row, int]:
    """The net changes that the requests, in order, make to a collection with ``contents``."""
    changes: Counter[Row] = Counter()
    for request in requests:
        match request:
            case Append(appended):
                for row, diff in appended:
                    changes[row] += diff
            case Delete(matches):
                for row in {*contents, *changes}:
                    if matches(row):
                        changes[row] = -contents.get(row, 0)
    return {row: diff for row, diff in changes.items() if diff}


@dataclass(slots=True, eq=False)
class _Reporter:
    """See `Reporter`."""

    manager: CollectionManager
    name: str
    token: Token
    lost: Callable[[], None]
    is_closed: bool = False

    def append(self, collection: IntrospectionType, changes: Iterable[Change]) -> None:
        if new_changes := tuple(changes):
            self.manager.issue(self, collection, Append(new_changes))

    def delete(self, collection: IntrospectionType, matches: Matches) -> None:
        self.manager.issue(self, collection, Delete(matches))

    def close(self) -> None:
        self.manager.erase(self)
        self.is_closed = True


@dataclass(slots=True)
class CollectionManager:
    """See the module. There is one per process; it is safe for threads. It is a `Lease`: that of
    all its reporters.

    ``histories`` are the collections whose rows outlive their reporter.
    """

    collections: ManagedCollections
    names: ReporterNames
    histories: Set[IntrospectionType]
    clock: Clock = system_clock
    monotonic_ms: Callable[[], float] = lambda: time.monotonic() * 1000
    _queues: dict[IntrospectionType, deque[tuple[_Reporter, Request]]] = field(default_factory=dict)
    _reporters: dict[Token, _Reporter] = field(default_factory=dict)
    _waiting: int = 0
    _guard: threading.RLock = field(default_factory=threading.RLock)
    _flushing: threading.Lock = field(default_factory=threading.Lock)
    _renewal: tuple[frozenset[Token], ReporterLeases] | None = None
    """The newest renewal that is not dealt with yet: of which tokens, and what it found."""
    _due: float = 0
    """When the next flush renews the leases itself: not at all while a keeper does it."""
    _is_kept: bool = False

    def report(self, name: str, lost: Callable[[], None] = lambda: None) -> Reporter:
        """See `Recorder`."""
        reporter = _Reporter(self, name, self.names.take(name), lost)
        with self._guard:
            self._reporters[reporter.token] = reporter
            self.erase(reporter)
        return reporter

    def issue(self, reporter: _Reporter, collection: IntrospectionType, request: Request) -> None:
        """Queue the request and return at once. It is dropped if the reporter is closed or lost."""
        with self._guard:
            if reporter.is_closed or reporter.token not in self._reporters:
                return
            self._queues.setdefault(collection, deque()).append((reporter, request))
            self._waiting += len(request.changes) if isinstance(request, Append) else 1

    def erase(self, reporter: _Reporter) -> None:
        """Delete all rows under the reporter's name, except those of histories."""
        name = reporter.name
        for collection in IntrospectionType:
            if collection not in self.histories:
                self.issue(reporter, collection, Delete(lambda row: str(row[0]) == name))

    def flush(self) -> bool:
        """Commit everything that was issued before the call; whether that changed anything.

        If it fails, what was committed is unknown, so all reporters are lost: their rows are
        deleted when they start again, or when their leases expire. Raises the error.
        """
        with self._flushing:
            try:
                self._keep_leases()
                if self._waiting > _LONGEST_QUEUE:
                    raise InternalError(
                        f"{self._waiting} changes of introspection wait to be written"
                    )
                has_written = self._apply()
                self._release_names()
            except BaseException:
                self._lose(list(self._reporters))
                raise
            return has_written

    def loop(
        self,
        stopping: threading.Event,
        *,
        interval_ms: int,
        gather: Callable[[], None],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Call ``gather``, which issues new changes, and flush: at once, then at each interval.

        When ``stopping`` is set, call ``close``, which issues the last changes, flush and return.
        Both are called by this thread alone, so nothing is gathered after ``close``.
        """
        last_message, is_last = "", False
        while True:
            message = ""
            for step in (close if is_last else gather, self.flush):
                try:
                    step()
                except Fenced:
                    return
                except Exception as error:  # the edge of the loop: the next interval tries again
                    message = str(error)
                    if message != last_message:
                        detail = error.detail if isinstance(error, ReclockError) else None
                        _logger.warning(
                            "introspection is not written", error=message, detail=detail
                        )
            last_message = message
            if is_last:
                return
            is_last = stopping.wait(interval_ms / 1000)

    def _apply(self) -> bool:
        for _ in range(_ATTEMPTS):
            pending = self._take()
            if not pending:
                return False
            deletes = {
                name
                for name, requests in pending.items()
                if any(isinstance(request, Delete) for _, request in requests)
            }
            contents = self.collections.read(deletes) if deletes else None
            changes = {
                name: net_changes(
                    [request for _, request in requests],
                    contents.rows.get(name, {}) if contents else {},
                )
                for name, requests in pending.items()
            }
            tokens = {reporter.token for requests in pending.values() for reporter, _ in requests}
            try:
                self.collections.commit(
                    {name: rows for name, rows in changes.items() if rows},
                    tokens=tokens,
                    unchanged=deletes,
                    since=contents.at if contents else None,
                )
            except WriteConflict:
                continue
            except ReportersGone as lost_tokens:
                self._lose([Token(token) for token in lost_tokens.tokens])
                continue
            self._drop(pending)
            return any(changes.values())
        raise InternalError(
            f"introspection could not be written in {_ATTEMPTS} attempts",
            detail="other processes write all the time",
        )

    def _take(self) -> dict[IntrospectionType, list[tuple[_Reporter, Request]]]:
        with self._guard:
            return {collection: list(queue) for collection, queue in self._queues.items() if queue}

    def _drop(
        self, written: Mapping[IntrospectionType, Sequence[tuple[_Reporter, Request]]]
    ) -> None:
        with self._guard:
            for collection, requests in written.items():
                for _ in requests:
                    _, request = self._queues[collection].popleft()
                    self._waiting -= len(request.changes) if isinstance(request, Append) else 1

    def _lose(self, tokens: Iterable[Token]) -> None:
        with self._guard:
            lost = [self._reporters.pop(token) for token in tokens if token in self._reporters]
            lost_tokens = {reporter.token for reporter in lost}
            for collection, queue in self._queues.items():
                self._queues[collection] = deque(
                    (reporter, request)
                    for reporter, request in queue
                    if reporter.token not in lost_tokens
                )
            self._waiting = sum(
                len(request.changes) if isinstance(request, Append) else 1
                for queue in self._queues.values()
                for _, request in queue
            )
        for reporter in lost:
            reporter.lost()

    @property
    def lease_ms(self) -> int:
        return self.names.lease_ms

    def renew(self, connection: sa.Connection, now: Timestamp) -> Callable[[], object]:
        """See `Lease`. The next flush deals with what was found."""
        with self._guard:
            tokens = frozenset(self._reporters)
        return partial(self._note, tokens, self.names.renew_within(connection, now, tokens))

    def fenced(self) -> None:
        self._due = 0  # the next flush finds it

    def _note(self, tokens: frozenset[Token], leases: ReporterLeases) -> None:
        self._renewal, self._is_kept = (tokens, leases), True

    def _keep_leases(self) -> None:
        """Renew the leases of this process unless a keeper does it, and clean up after reporters
        whose leases expired."""
        now, renewal = self.monotonic_ms(), self._renewal
        if renewal is None:
            if now < self._due:
                return
            tokens = frozenset(self._reporters)
            renewal = tokens, self.names.renew(tokens)
        self._due = math.inf if self._is_kept else now + self.lease_ms / 3
        self._renewal = None
        tokens, leases = renewal
        self._lose(tokens - leases.renewed)
        abandoned_names = self.names.take_abandoned() if leases.has_abandoned else {}
        rows = self.collections.read(set(farewells.LAST_ROWS)).rows if abandoned_names else {}
        for name, token in abandoned_names.items():
            abandoned = _Reporter(self, name, token, lambda: None)
            with self._guard:
                self._reporters[token] = abandoned
            for collection, row in farewells.farewells(name, rows, self.clock()):
                abandoned.append(collection, [(row, 1)])
            abandoned.close()

    def _release_names(self) -> None:
        """Release the names of closed reporters whose changes are all written."""
        with self._guard:
            busy = {reporter.token for queue in self._queues.values() for reporter, _ in queue}
            finished = [
                token
                for token, reporter in self._reporters.items()
                if reporter.is_closed and token not in busy
            ]
        if finished:
            self.names.leave(finished)
            with self._guard:
                for token in finished:
                    del self._reporters[token]
