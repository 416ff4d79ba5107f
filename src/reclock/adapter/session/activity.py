"""The activity of a session: registers the session with its process, and records each statement
with its outcome."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeVar

import pyarrow as pa
from structlog.contextvars import bound_contextvars

from reclock.adapter.context.results import Result
from reclock.algebra.timestamps import Timestamp
from reclock.errors import InternalError, ReclockError
from reclock.introspection.backends import Backend, Work
from reclock.introspection.reports import SessionReport, StatementReport
from reclock.runtime.environment import Environment
from reclock.sql.statements.connections.syntax import AlterSecretStatement, CreateSecretStatement
from reclock.sql.statements.roles.syntax import AlterRoleStatement, CreateRoleStatement
from reclock.sql.statements.tables.modify_syntax import (
    DeleteStatement,
    InsertStatement,
    UpdateStatement,
)
from reclock.sql.syntax import nodes
from reclock.sql.syntax.parse import ParsedStatement
from reclock.tracing import span

T = TypeVar("T")

_SENSITIVE = {
    CreateSecretStatement: "CREATE SECRET",
    AlterSecretStatement: "ALTER SECRET",
    CreateRoleStatement: "CREATE ROLE",
    AlterRoleStatement: "ALTER ROLE",
}
"""Statements that can contain secrets. Of these, and of statements that contain them, only the kind
is recorded."""

_NEVER_SENSITIVE = (nodes.QueryStatement, InsertStatement, UpdateStatement, DeleteStatement)


@dataclass(slots=True)
class Activity:
    """The activity of one session: shown in ``pg_stat_activity``, and recorded while the process
    reports."""

    environment: Environment
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    _is_inside: bool = False
    _backend: Backend | None = None

    def began(self, backend: Backend) -> None:
        self._backend = backend
        self.environment.runtime.backends.add(backend)
        if (reports := self.environment.runtime.reports) is not None:
            client = (
                backend.process_id,
                backend.role_id,
                backend.client_address,
                backend.application_name(),
            )
            reports.session_began(SessionReport(self.id, *client, backend.began_at))

    def ended(self) -> None:
        if self._backend is not None:
            self.environment.runtime.backends.remove(self._backend)
        if (reports := self.environment.runtime.reports) is not None:
            reports.session_ended(self.id)

    def recorded(
        self, parsed: ParsedStatement, user: str, cluster: str, execute: Callable[[], T]
    ) -> T:
        """The result of ``execute``, recorded as one statement that lasts until its last row is
        read.

        Of nested statements, such as EXECUTE and its query, the outer one is recorded.
        """
        if self._is_inside:
            return execute()
        statement = self._begin(parsed, user, cluster)
        self._is_inside = True
        try:
            with (
                span("statement", kind=type(parsed.node).__name__, session=self.id),
                bound_contextvars(session=self.id, statement_began_at=statement.began_at),
            ):
                answer = execute()
        except Exception as error:
            statement.ended(None, error)
            raise
        finally:
            self._is_inside = False
        if isinstance(answer, Result) and answer.desc is not None:
            return replace(answer, batches=_Counted(answer.batches, statement.ended))
        statement.ended(None, None)
        return answer

    def recorded_repeatedly(
        self,
        parsed: ParsedStatement,
        user: str,
        cluster: str,
        times: int,
        execute: Callable[[], bool],
    ) -> bool:
        """The result of ``execute``. If it is true, the statement is recorded ``times`` times."""
        statement = self._begin(parsed, user, cluster)
        is_executed = execute()
        if is_executed:
            statement.ended(None, None, times)
        return is_executed

    def _begin(self, parsed: ParsedStatement, user: str, cluster: str) -> _Statement:
        now = self.environment.stores.clock()
        statement = _Statement(self.environment, self._backend, self.id, user, cluster, parsed, now)
        statement.began()
        return statement


@dataclass(slots=True)
class _Statement:
    environment: Environment
    backend: Backend | None
    session_id: str
    user: str
    cluster: str
    parsed: ParsedStatement
    began_at: Timestamp
    began_s: float = field(default_factory=time.monotonic)

    def began(self) -> None:
        if self.backend is not None:
            self.backend.work = Work(self._redacted_text, self.began_at)

    def ended(self, rows: int | None, error: Exception | None, times: int = 1) -> None:
        """Record that the statement was executed ``times`` times, each in an equal part of the
        time."""
        if self.backend is not None:
            self.backend.work = Work(
                self._redacted_text, self.began_at, self.environment.stores.clock()
            )
        if (reports := self.environment.runtime.reports) is None:
            return
        report = StatementReport(
            self.session_id,
            self.user,
            self.cluster,
            self._redacted_text(),
            self.began_at,
            (time.monotonic() - self.began_s) * 1000 / times,
            rows,
            None
            if error is None
            else _error_text(error, is_hidden=self._sensitive_kind is not None),
            _kind(type(self.parsed.node).__name__),
            "" if error is None else getattr(error, "sqlstate", InternalError.sqlstate),
        )
        for _ in range(times):
            reports.statement_ended(report)

    @property
    def _sensitive_kind(self) -> str | None:
        """The kind of the statement, if it can contain secrets. A query or a change of rows
        cannot."""
        if isinstance(self.parsed.node, _NEVER_SENSITIVE):
            return None
        sensitive = self.parsed.node.find(*_SENSITIVE)
        return _SENSITIVE[type(sensitive)] if sensitive is not None else None

    def _redacted_text(self) -> str:
        kind = self._sensitive_kind
        return f"{kind} <redacted>" if kind else self.parsed.text


@cache
def _kind(node_name: str) -> str:
    """``create_table`` for a ``CreateTableStatement``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", node_name.removesuffix("Statement")).lower()


def _error_text(error: Exception, *, is_hidden: bool) -> str:
    if isinstance(error, ReclockError):
        return f"{error.sqlstate}" if is_hidden else f"{error.sqlstate}: {error.message}"
    return type(error).__name__


class _Counted:
    """Batches whose rows are counted as they are read."""

    def __init__(
        self, batches: Iterable[pa.RecordBatch], ended: Callable[[int, Exception | None], None]
    ) -> None:
        self._source, self._batches, self._ended = batches, iter(batches), ended
        self._rows, self._is_over = 0, False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        try:
            batch = next(self._batches)
        except StopIteration:
            self._end(None)
            raise
        except Exception as error:
            self._end(error)
            raise
        self._rows += batch.num_rows
        return batch

    def close(self) -> None:
        close = getattr(self._source, "close", None)
        if close is not None:
            close()
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        if not self._is_over:
            self._is_over = True
            self._ended(self._rows, error)
