"""The reports of a process: its sessions, the statements that it executed, and the lag of
objects."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from reclock.algebra.timestamps import MINIMUM, Clock, Timestamp, as_datetime
from reclock.introspection.types import HISTORIES
from reclock.protocol.introspection import IntrospectionType, Recorder, Reporter, Row

STATEMENTS_AT_ONCE = 20
"""How many successful statements are recorded in one interval at most, and how many failed ones."""

SQL_LENGTH = 1_000
"""The recorded text of a statement is truncated to this many characters."""


@dataclass(frozen=True, slots=True)
class SessionReport:
    id: str
    connection_id: int
    role_id: str
    client_ip: str | None
    application_name: str
    connected_at: Timestamp


@dataclass(frozen=True, slots=True)
class StatementReport:
    """One execution of a statement.

    ``sql`` contains no secret. ``error`` is None on success, ``rows`` if the statement returns
    none.
    """

    session_id: str
    user: str
    cluster: str
    sql: str
    began_at: Timestamp
    duration_ms: float
    rows: int | None
    error: str | None
    kind: str
    """What the statement is, such as ``query`` or ``create_table``."""
    sqlstate: str
    """Empty on success."""


@dataclass(slots=True)
class Reports:
    """Reports of one process. Safe for threads.

    ``lags_ms`` returns the lag of every object, or None where another process reports them.
    """

    recorder: Recorder
    process: str
    clock: Clock
    sample_ms: int
    retention_ms: int
    lags_ms: Callable[[], Mapping[str, int] | None]
    _sessions: dict[str, Row] = field(default_factory=dict)
    _remaining: dict[bool, int] = field(default_factory=dict)
    _outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    _sampled_at: Timestamp = MINIMUM
    _guard: threading.RLock = field(default_factory=threading.RLock)
    _is_lost: threading.Event = field(default_factory=threading.Event)
    _reporter: Reporter | None = None

    def session_began(self, session: SessionReport) -> None:
        with self._guard:
            row = (
                self.process,
                session.id,
                session.connection_id,
                session.role_id,
                session.client_ip,
                session.application_name,
                as_datetime(session.connected_at),
            )
            self._sessions[session.id] = row
            if self._reporter is not None:
                self._reporter.append(IntrospectionType.SESSIONS, [(row, 1)])

    def session_ended(self, id: str) -> None:
        with self._guard:
            row = self._sessions.pop(id, None)
            if row is not None and self._reporter is not None:
                self._reporter.append(IntrospectionType.SESSIONS, [(row, -1)])
                self._reporter.append(
                    IntrospectionType.SESSION_HISTORY, [((*row, as_datetime(self.clock())), 1)]
                )

    def statement_ended(self, statement: StatementReport) -> None:
        """Count it. Record it, unless ``STATEMENTS_AT_ONCE`` in this interval had the same
        outcome."""
        with self._guard:
            self._outcomes[statement.kind, statement.sqlstate] += 1
            has_failed = statement.error is not None
            remaining = self._remaining.get(has_failed, STATEMENTS_AT_ONCE)
            if remaining == 0 or self._reporter is None:
                return
            self._remaining[has_failed] = remaining - 1
            row = (
                self.process,
                uuid.uuid4().hex,
                statement.session_id,
                statement.user,
                statement.cluster,
                statement.sql[:SQL_LENGTH],
                "error" if has_failed else "success",
                statement.error,
                statement.rows,
                round(statement.duration_ms, 3),
                as_datetime(statement.began_at),
            )
            self._reporter.append(IntrospectionType.STATEMENTS, [(row, 1)])

    def outcomes(self) -> dict[tuple[str, str], int]:
        """How many statements ended since the process began to report, by kind and SQLSTATE (empty
        on success)."""
        with self._guard:
            return dict(self._outcomes)

    def step(self) -> None:
        """Start reporting, again after a loss. If a sample is due, report lags, trim histories."""
        with self._guard:
            self._remaining.clear()
            if self._reporter is None or self._is_lost.is_set():
                self._is_lost.clear()
                self._reporter = self.recorder.report(self.process, self._is_lost.set)
                self._reporter.append(
                    IntrospectionType.SESSIONS, [(row, 1) for row in self._sessions.values()]
                )
            reporter = self._reporter  # once closed, it drops appends
        now = self.clock()
        if now - self._sampled_at < self.sample_ms:
            return
        self._sampled_at = now
        lags = self.lags_ms()
        if lags is not None:
            rows: list[Row] = [
                (self.process, id, lag_ms // 1000, as_datetime(now)) for id, lag_ms in lags.items()
            ]
            reporter.append(IntrospectionType.WALLCLOCK_LAG_HISTORY, [(row, 1) for row in rows])
            self._trim_histories(
                reporter, as_datetime(now) - timedelta(milliseconds=self.retention_ms)
            )

    def close(self) -> None:
        with self._guard:
            for id in list(self._sessions):
                self.session_ended(id)
            if self._reporter is not None:
                self._reporter.close()
                self._reporter = None

    @staticmethod
    def _trim_histories(reporter: Reporter, before: datetime) -> None:
        def is_old(row: Row) -> bool:
            at = row[-1]
            assert isinstance(at, datetime)
            return at < before

        for collection in sorted(HISTORIES):
            reporter.delete(collection, is_old)
