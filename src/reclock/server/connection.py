"""One connection after its handshake: the simple and the extended query protocol over one
session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from reclock.adapter.context.results import Result
from reclock.adapter.copy.transfer import CopyIn, CopyOut
from reclock.adapter.session.prepared import PreparedStatement, RepeatedInsert
from reclock.adapter.session.session import Session
from reclock.adapter.statement_context import Answer
from reclock.adapter.transaction.session_transactions import TransactionStatus
from reclock.algebra.relations import RelationDesc
from reclock.errors import (
    AdvisoryLocksLost,
    DuplicateCursor,
    Fenced,
    ProtocolViolation,
    QueryCanceled,
    ReclockError,
    UnknownCursor,
)
from reclock.server import messages, reports
from reclock.server.copying import copy_in, copy_out
from reclock.server.pipelines import Executions, executions_ahead
from reclock.server.rows import DataRows, RowFormat, RowFormats
from reclock.server.statement_runner import Run, StatementRunner
from reclock.server.stream import MessageStream, MessageTooLarge
from reclock.server.values import decode, decode_columns, type_of

_log = structlog.get_logger(__name__)

_READY = {
    TransactionStatus.IDLE: messages.ready_for_query("I"),
    TransactionStatus.IN_BLOCK: messages.ready_for_query("T"),
    TransactionStatus.FAILED: messages.ready_for_query("E"),
}
_REPORTED = (
    "application_name",
    "client_encoding",
    "datestyle",
    "integer_datetimes",
    "intervalstyle",
    "is_superuser",
    "mz_version",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "timezone",
)
"""Variables whose changes are reported to the client."""
_PROTOCOL_NAMES = {
    "datestyle": "DateStyle",
    "intervalstyle": "IntervalStyle",
    "timezone": "TimeZone",
}
_ONE_INSERTED = messages.command_complete("INSERT 0 1")


@dataclass(slots=True)
class Portal:
    """A statement with its values. ``rows`` is set once it was executed, if it answers rows."""

    prepared: PreparedStatement
    values: tuple[Any, ...]
    formats: tuple[int, ...]
    rows: DataRows | None = None
    is_finished: bool = False

    def close(self) -> None:
        if self.rows is not None:
            self.rows.close()


class ClientConnection:
    """Handles the messages of one client one after the other. ``cancel`` may be called
    meanwhile."""

    def __init__(
        self, stream: MessageStream, session: Session, run: Run, task: asyncio.Task[None]
    ) -> None:
        """``task`` is the one that will ``serve``."""
        self.task = task
        self._stream, self._session = stream, session
        self._runner = StatementRunner(session, run, stream.peer)
        self._run = self._runner.run
        self._loop = asyncio.get_running_loop()
        self._portals: dict[str, Portal] = {}
        self._formats = RowFormats()
        self._reported: dict[str, str] = {}
        self._changes_reported = -1
        session.notice = self._notice

    # --- requests from other connections ---

    def cancel(self) -> None:
        """End the running statement, if any, with 57014."""
        self._runner.cancel()

    def terminate(self) -> None:
        """End the session with 57P01, after its running statement."""
        is_running = self._runner.is_running
        self._runner.terminate()
        if not is_running:
            self.task.cancel()

    def cancel_if_abandoned(self) -> None:
        """Cancel the running statement if the client is gone."""
        if self._stream.is_closed:
            self.cancel()

    @property
    def is_running(self) -> bool:
        return self._runner.is_running

    def _notice(self, message: str) -> None:
        """Called by the statement, in its thread."""
        self._loop.call_soon_threadsafe(self._stream.send_now, reports.notice(message))

    # --- the loop ---

    async def serve(self) -> None:
        """Serve until the client leaves. Raises ``ProtocolViolation`` if its messages cannot be
        parsed any more."""
        self._report_variables()
        await self._ready()
        while True:
            message = await self._stream.message()
            match message:
                case messages.Terminate():
                    return
                case messages.Query():
                    await self._simple_query(message.text)
                case messages.Sync():
                    await self._synchronise()
                case messages.Flush():
                    await self._stream.flush()
                case messages.CopyData() | messages.CopyDone() | messages.CopyFail():
                    pass  # the rest of a COPY that failed
                case messages.Password():
                    raise ProtocolViolation("unexpected password message")
                case _:
                    if not await self._handle_extended(message):
                        await self._skip_to_sync()

    async def _ready(self) -> None:
        self._stream.send(_READY[self._session.transaction_status])
        await self._stream.flush()

    async def _synchronise(self) -> None:
        if self._session.transactions.is_implicit:
            try:
                await self._run(self._session.transactions.end_implicit)
            except Exception as raised:
                self._failed(raised)
        if self._session.transaction_status is TransactionStatus.IDLE:
            self._close_portals()
        await self._ready()

    async def _skip_to_sync(self) -> None:
        while True:
            try:
                message = await self._stream.message()
            except MessageTooLarge:
                raise
            except ProtocolViolation:
                continue
            if isinstance(message, messages.Sync):
                return await self._synchronise()
            if isinstance(message, messages.Terminate):
                raise asyncio.IncompleteReadError(b"", None)

    def close(self) -> None:
        self._close_portals()
        self._session.close()

    def _close_portals(self) -> None:
        for portal in self._portals.values():
            portal.close()
        self._portals.clear()

    # --- answers ---

    def _failed(self, raised: BaseException) -> None:
        if not isinstance(raised, ReclockError):
            _log.error("statement failed unexpectedly", peer=self._stream.peer, exc_info=raised)
        if isinstance(raised, Fenced):
            # the controller, and then the server, notice the newer epoch at once
            self._session.environment.control_plane.storage_controller.wake()
        if isinstance(raised, AdvisoryLocksLost):
            raise raised  # the connection ends
        self._session.fail()
        self._stream.send(reports.error(raised))

    def _report_variables(self) -> None:
        if self._changes_reported == self._session.variables.changes:
            return
        self._changes_reported = self._session.variables.changes
        for name in _REPORTED:
            value = self._session.variables.get(name)
            if self._reported.get(name) != value:
                self._reported[name] = value
                self._stream.send(messages.parameter_status(_PROTOCOL_NAMES.get(name, name), value))

    # --- simple queries ---

    async def _simple_query(self, text: str) -> None:
        self._portals.pop("", None)
        results = self._session.execute_as_one(text)
        try:
            is_empty = True
            while (result := await self._run(_next_rows, results, self._formats)) is not None:
                is_empty = False
                answer, rows, piece = result
                if rows is None:
                    self._complete(await self._finish_without_rows(answer))
                    continue
                self._stream.send(rows.format.description)
                await self._send_rows(rows, piece)
                self._complete(rows.tag(rows.count))
            if is_empty:
                self._stream.send(messages.EMPTY_QUERY)
        except (Exception, asyncio.CancelledError) as raised:
            if isinstance(raised, OSError | asyncio.IncompleteReadError | asyncio.CancelledError):
                raise
            self._failed(raised)
        await self._ready()

    async def _finish_without_rows(self, answer: Answer) -> str:
        """Transfer the data of a COPY; returns the command tag."""
        match answer:
            case CopyOut():
                with self._runner.sending():
                    return await copy_out(answer, self._stream, self._run)
            case CopyIn():
                return (await copy_in(answer, self._stream, self._run)).tag
            case _:
                return answer.tag

    async def _send_rows(self, rows: DataRows, piece: bytes) -> None:
        """Send the remaining rows in pieces. Each piece is computed after the client has read the
        previous one."""
        try:
            self._stream.send(piece)
            with self._runner.sending():
                while not rows.is_done:
                    await (self._stream.pass_on() if rows.is_waiting else self._stream.flush())
                    piece, _ = await self._run(rows.take)
                    self._stream.send(piece)
        finally:
            rows.close()

    def _complete(self, tag: str) -> None:
        self._report_variables()
        self._stream.send(messages.command_complete(tag))

    # --- the extended protocol ---

    async def _handle_extended(self, message: messages.Frontend) -> bool:
        """Handle one message of the extended protocol. A Bind of an INSERT is handled together with
        the executions of INSERTs that have already arrived after it.

        False after an error, which was sent: messages until Sync are skipped.
        """
        if (
            isinstance(message, messages.Bind)
            and (executions := await self._executions(message)) is not None
        ):
            return await self._until_error(self._insert_all(executions))
        return await self._until_error(self._handle(message))

    async def _handle(self, message: messages.Frontend) -> None:
        match message:
            case messages.Parse():
                await self._parse(message)
            case messages.Bind():
                self._bind(message)
            case messages.Describe():
                self._describe(message)
            case messages.Execute():
                if not await self._stream.next_is(messages.SYNC):
                    self._session.transactions.begin_implicit()
                await self._execute(message)
            case messages.Close():
                self._close(message)

    async def _until_error(self, work: Awaitable[object]) -> bool:
        """Await the work. False after an error, which was sent."""
        try:
            await work
        except (OSError, asyncio.IncompleteReadError):
            raise
        except Exception as raised:
            self._failed(raised)
            await self._stream.flush()  # for clients that send Sync only after an answer
            if self._session.transactions.is_implicit:
                await self._run(self._session.transactions.abort_implicit)
            return False
        await self._stream.flush_if_much()
        return True

    async def _parse(self, message: messages.Parse) -> None:
        if not message.name:
            self._session.statements.prepared.discard("")
        prepared = await self._run(self._prepared, message)
        self._session.statements.prepared.add(prepared)
        self._stream.send(messages.PARSE_COMPLETE)

    def _prepared(self, message: messages.Parse) -> PreparedStatement:
        """The statement. May read the catalog."""
        types = [type_of(oid, self._session.type_of_oid) for oid in message.parameter_oids]
        prepared = self._session.prepare(message.text, types, message.name)
        declared = tuple(
            oid if type else 0 for oid, type in zip(message.parameter_oids, types, strict=True)
        )
        return replace(prepared, declared_oids=declared)

    def _bind(self, message: messages.Bind) -> None:
        prepared = self._session.statements.prepared.get(message.statement)
        if message.portal and message.portal in self._portals:
            raise DuplicateCursor("portal", message.portal)
        types, codes = prepared.parameter_types, _parameter_formats(message, prepared)
        values = tuple(
            decode(*parameter, self._session.clock)
            for parameter in zip(message.parameters, types, codes, strict=True)
        )
        if prepared.desc is not None:
            self._format(prepared.desc, message.result_formats)
        previous = self._portals.pop(message.portal, None)
        if previous is not None:
            previous.close()
        self._portals[message.portal] = Portal(prepared, values, message.result_formats)
        self._stream.send(messages.BIND_COMPLETE)

    def _describe(self, message: messages.Describe) -> None:
        formats: tuple[int, ...] = ()
        if message.kind == "S":
            prepared = self._session.statements.prepared.get(message.name)
            self._stream.send(messages.parameter_description(prepared.parameter_oids))
        else:
            cursors = self._session.statements.cursors
            if message.name in cursors:
                self._stream.send(self._format(cursors.get(message.name).desc).description)
                return
            portal = self._portal(message.name)
            prepared, formats = portal.prepared, portal.formats
        if prepared.desc is None:
            self._stream.send(messages.NO_DATA)
        else:
            self._stream.send(self._format(prepared.desc, formats).description)

    def _format(self, desc: RelationDesc, codes: tuple[int, ...] = ()) -> RowFormat:
        return self._formats.of(desc, codes, self._session.text_style())

    async def _executions(self, bind: messages.Bind) -> Executions | None:
        """The executions of INSERTs that have arrived, from ``bind`` on. None if it is the only one,
        or a Bind of another statement."""
        prepared = self._session.statements.prepared

        def is_insert(name: str) -> bool:
            return name in prepared and prepared.get(name).is_insert

        if bind.portal or not is_insert(bind.statement):
            return None
        return executions_ahead(bind, await self._stream.ahead(), is_insert)

    async def _insert_all(self, executions: Executions) -> None:
        """Execute INSERTs: all at once, or one by one if one of them fails or a row needs an
        engine."""
        self._stream.skip(executions.bytes_ahead)
        self._session.transactions.begin_implicit()
        try:
            is_inserted = await self._run(_insert_all, self._session, executions)
        except QueryCanceled:
            raise
        except ReclockError:  # the execution that fails raises it again, in its turn
            is_inserted = False
        if not is_inserted:
            for statement, parameters in executions.rows:
                bind = executions.statements[statement]
                await self._handle(replace(bind, parameters=tuple(parameters)))
                for message in executions.after_bind:
                    await self._handle(message)
            return
        if (previous := self._portals.get("")) is not None:
            previous.close()
        last = executions.statements[executions.rows[-1][0]]
        prepared = self._session.statements.prepared.get(last.statement)
        self._portals[""] = Portal(prepared, (), last.result_formats, is_finished=True)
        answers = [
            messages.BIND_COMPLETE,
            messages.NO_DATA if executions.is_described else b"",
            _ONE_INSERTED,
        ]
        self._stream.send(b"".join(answers) * len(executions.rows))

    async def _execute(self, message: messages.Execute) -> None:
        portal = self._portal(message.portal)
        if portal.prepared.parsed is None:
            self._stream.send(messages.EMPTY_QUERY)
            return
        if portal.is_finished:
            raise ProtocolViolation(f'portal "{message.portal}" cannot be run', sqlstate="55000")
        piece, sent_rows = b"", 0
        if portal.rows is None:
            answer, portal.rows, piece, sent_rows = await self._run(
                _begin, self._session, self._formats, portal, message.limit
            )
            if portal.rows is None:
                portal.is_finished = True
                self._complete(await self._finish_without_rows(answer))
                return
        self._stream.send(piece)
        rows = portal.rows
        with self._runner.sending():
            while not rows.is_done and not (message.limit and sent_rows >= message.limit):
                await (self._stream.pass_on() if rows.is_waiting else self._stream.flush_if_much())
                limit = message.limit - sent_rows if message.limit else 0
                piece, count = await self._run(rows.take, limit)
                sent_rows += count
                self._stream.send(piece)
        if not rows.is_done:
            self._stream.send(messages.PORTAL_SUSPENDED)
            return
        rows.close()
        self._report_variables()
        self._stream.send(messages.command_complete(rows.tag(sent_rows)))

    def _close(self, message: messages.Close) -> None:
        if message.kind == "S":
            self._session.statements.prepared.discard(message.name)
        elif (portal := self._portals.pop(message.name, None)) is not None:
            portal.close()
        self._stream.send(messages.CLOSE_COMPLETE)

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise UnknownCursor("portal", name)
        return self._portals[name]


def _parameter_formats(bind: messages.Bind, prepared: PreparedStatement) -> Sequence[int]:
    """The format code of each parameter. Raises ``ProtocolViolation``,
    ``WrongNumberOfParameters``."""
    formats, count = bind.parameter_formats, len(bind.parameters)
    if len(formats) not in (0, 1, count):
        raise ProtocolViolation(
            f"bind message has {len(formats)} parameter formats but {count} parameters"
        )
    prepared.check_count(count)
    return formats if len(formats) == count else [*formats, 0][:1] * count


# --- in the session's thread ---


def _insert_all(session: Session, executions: Executions) -> bool:
    inserts = []
    for index, bind in enumerate(executions.statements):
        prepared, rows = session.statements.prepared.get(bind.statement), executions.rows_of(index)
        formats = _parameter_formats(bind, prepared)
        columns = decode_columns(rows, prepared.parameter_types, formats, session.clock)
        inserts.append(RepeatedInsert(prepared, columns, len(rows)))
    return session.insert_all(inserts)


def _next_rows(
    results: Iterator[Answer], formats: RowFormats
) -> tuple[Answer, DataRows | None, bytes] | None:
    """The next statement's answer with the first piece of its rows, so that a small result needs
    only one turn of the thread."""
    answer = next(results, None)
    if answer is None:
        return None
    if not isinstance(answer, Result) or answer.desc is None:
        return answer, None, b""
    rows = DataRows(answer, formats.of(answer.desc, (), answer.style))
    return answer, rows, rows.take()[0]


def _begin(
    session: Session, formats: RowFormats, portal: Portal, limit: int
) -> tuple[Answer, DataRows | None, bytes, int]:
    answer = session.execute_prepared(portal.prepared, portal.values)
    if not isinstance(answer, Result) or answer.desc is None:
        return answer, None, b"", 0
    rows = DataRows(answer, formats.of(answer.desc, portal.formats, answer.style))
    piece, count = rows.take(limit)
    return answer, rows, piece, count
