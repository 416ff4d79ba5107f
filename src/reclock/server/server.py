"""The SQL port: accepts connections, authenticates clients, opens their sessions, and ends them
when the server stops."""

from __future__ import annotations

import asyncio
import hmac
import math
import secrets
import signal
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import structlog

from reclock.adapter.session.session import Session
from reclock.adapter.transaction.session_transactions import TransactionStatus
from reclock.config.loopback import is_loopback
from reclock.errors import (
    ConnectionRefused,
    InternalError,
    ProtocolViolation,
    ReclockError,
    ServerStopping,
    TooManyConnections,
    UnsafeListener,
)
from reclock.introspection.backends import Backend
from reclock.runtime.environment import Environment
from reclock.server import messages, reports
from reclock.server.connection import ClientConnection
from reclock.server.handshake import (
    Credential,
    StartupParameters,
    authenticate,
    credential_of,
    open_connection,
    read_startup,
)
from reclock.server.listeners import Listener
from reclock.server.session_thread import SessionThread
from reclock.server.stream import MessageStream
from reclock.server.tls import tls_context

T = TypeVar("T")

_log = structlog.get_logger(__name__)
_HANDSHAKE_TIMEOUT_S = 60
_HANDSHAKE_THREADS = 8
_GRACE_S = 5
_LAST_MESSAGE_TIMEOUT_S = 1
_WATCH_INTERVAL_S = 0.5
_SECRET_BYTES = 32
_STATES = {
    TransactionStatus.IDLE: "idle",
    TransactionStatus.IN_BLOCK: "idle in transaction",
    TransactionStatus.FAILED: "idle in transaction (aborted)",
}


class Server:
    """The SQL port of one environment."""

    def __init__(self, environment: Environment, listener: Listener) -> None:
        self._environment, self._listener = environment, listener
        self._settings = environment.stores.settings
        self._tls = tls_context(self._settings)
        self._threads = ThreadPoolExecutor(_HANDSHAKE_THREADS, thread_name_prefix="handshake")
        self._session_threads: set[SessionThread] = set()
        self._server_secret = secrets.token_bytes(32)
        self._connections: dict[int, tuple[bytes, ClientConnection]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_id = listener.number + 1
        self._limit = math.ceil(self._settings.max_connections / listener.count)
        """Each of several workers takes its share of ``max_connections``."""
        self.was_fenced = False
        """Whether the server stopped because a newer epoch leads the catalog."""

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT, or until it ``was_fenced``. Raises ``UnsafeListener``,
        ``ConfigurationError``."""
        self._check_safe(self._listener.host)
        loop = asyncio.get_running_loop()
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopping.set)
        self._listener.share(self._environment.runtime.backends)
        await self._listener.start(self._accept, self._cancel)
        watching = loop.create_task(self._watch(stopping))
        try:
            await stopping.wait()
        finally:
            self._listener.close()
            await self._stop()
        watching.cancel()
        self._threads.shutdown()
        for thread in self._session_threads:
            thread.stop()
        deadline = time.monotonic() + _GRACE_S
        for thread in self._session_threads:
            thread.join(max(deadline - time.monotonic(), 0))
        if any(thread.is_alive for thread in self._session_threads):
            _log.error("a statement cannot be interrupted; the server stops without it")

    async def _watch(self, stopping: asyncio.Event) -> None:
        """Cancel the statements of clients that have disconnected, since nothing reads from a
        connection while its statement runs. Stop once the controller is fenced."""
        while True:
            await asyncio.sleep(_WATCH_INTERVAL_S)
            if self._environment.control_plane.storage_controller.is_fenced:
                self.was_fenced = True
                stopping.set()
            for _, connection in self._connections.values():
                connection.cancel_if_abandoned()

    async def _stop(self) -> None:
        """End idle sessions at once, and cancel statements that still run after a grace period."""
        for task in self._tasks - self._running():
            task.cancel()
        if running := self._running():
            await asyncio.wait(running, timeout=_GRACE_S)
        for _, connection in self._connections.values():
            connection.cancel()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_GRACE_S)

    def _running(self) -> set[asyncio.Task[None]]:
        return {
            connection.task for _, connection in self._connections.values() if connection.is_running
        }

    def _check_safe(self, host: str) -> None:
        """Raises ``UnsafeListener`` if other machines could connect without a password or TLS."""
        if is_loopback(host):
            return
        if self._tls is None:
            raise UnsafeListener(
                host,
                detail=(
                    "there is no TLS certificate, so passwords and data would travel unencrypted"
                ),
            )
        open_roles = self._roles_without_password()
        if open_roles:
            raise UnsafeListener(host, detail=f"roles without a password: {', '.join(open_roles)}")

    def _roles_without_password(self) -> list[str]:
        verifiers = self._environment.stores.passwords.get_all()
        roles = self._environment.stores.catalog.sync().roles.values()
        return sorted(role.name for role in roles if credential_of(role, verifiers).is_open)

    def _credential(self, user: str) -> Credential:
        # Read the catalog first: a verifier is stored before the catalog names it.
        role = self._environment.stores.catalog.sync().role_by_name(user)
        return credential_of(role, self._environment.stores.passwords.get_all())

    # --- one client ---

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stream = MessageStream(reader, writer, self._settings.max_message_bytes)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(stream, task)
        except asyncio.CancelledError:
            with suppress(OSError, ssl.SSLError, TimeoutError):
                stream.send(reports.error(ServerStopping(), is_fatal=True))
                async with asyncio.timeout(_LAST_MESSAGE_TIMEOUT_S):
                    await stream.flush()
        except (asyncio.IncompleteReadError, OSError, ssl.SSLError) as error:
            _log.debug("connection lost", peer=stream.peer, error=type(error).__name__)
        except ReclockError as error:
            await self._refuse(stream, error)
        except Exception as error:
            _log.error("connection failed unexpectedly", peer=stream.peer, exc_info=error)
            await self._refuse(stream, InternalError("internal error"))
        finally:
            self._tasks.discard(task)
            self._listener.connection_closed()
            await stream.close()

    async def _refuse(self, stream: MessageStream, error: ReclockError) -> None:
        _log.info(
            "connection refused", peer=stream.peer, sqlstate=error.sqlstate, error=error.message
        )
        with suppress(OSError, ssl.SSLError):
            stream.send(reports.error(error, is_fatal=True))
            await stream.flush()

    async def _serve(self, stream: MessageStream, task: asyncio.Task[None]) -> None:
        try:
            async with asyncio.timeout(_HANDSHAKE_TIMEOUT_S):
                request = await open_connection(stream, self._tls)
                if isinstance(request, messages.CancelRequest):
                    return self._cancel_or_forward(request)
                startup = read_startup(stream, request)
                if len(self._tasks) > self._limit:
                    raise TooManyConnections(self._settings.max_connections)
                credential = await self._in_thread(self._credential, startup.user)
                await authenticate(stream, startup.user, credential, self._server_secret)
        except TimeoutError:
            raise ProtocolViolation(
                "the client did not finish to connect in time", sqlstate="08006"
            ) from None
        thread = SessionThread(asyncio.get_running_loop())
        self._session_threads = {
            session_thread for session_thread in self._session_threads if session_thread.is_alive
        } | {thread}
        try:
            await self._serve_session(stream, startup, task, thread)
        finally:
            thread.stop()

    async def _serve_session(
        self,
        stream: MessageStream,
        startup: StartupParameters,
        task: asyncio.Task[None],
        thread: SessionThread,
    ) -> None:
        session = await thread.run(self._session, startup)
        connection = ClientConnection(stream, session, thread.run, task)
        process_id = self._next_id
        secret = secrets.token_bytes(_SECRET_BYTES if startup.minor >= 2 else 4)
        self._next_id += self._listener.count
        self._connections[process_id] = (secret, connection)
        session.variables.process_id = process_id
        session.activity.began(self._backend(process_id, startup, stream, session, connection))
        log = _log.bind(peer=stream.peer, user=startup.user, connection=process_id)
        log.info(
            "connection opened",
            database=session.variables.get("database"),
            encrypted=stream.is_encrypted,
        )
        try:
            stream.send(messages.AUTHENTICATION_OK)
            stream.send(messages.backend_key_data(process_id, secret))
            await connection.serve()
        finally:
            del self._connections[process_id]
            await asyncio.shield(thread.run(connection.close))
            log.info("connection closed")

    def _backend(
        self,
        process_id: int,
        startup: StartupParameters,
        stream: MessageStream,
        session: Session,
        connection: ClientConnection,
    ) -> Backend:
        host, _, port = stream.peer.rpartition(":")
        loop = asyncio.get_running_loop()
        return Backend(
            process_id,
            session.users.session_id,
            startup.user,
            startup.variables["database"],
            partial(session.variables.get, "application_name"),
            host,
            int(port),
            self._environment.stores.clock(),
            lambda: _STATES[session.transaction_status],
            partial(loop.call_soon_threadsafe, connection.cancel),
            partial(loop.call_soon_threadsafe, connection.terminate),
            session.statements.prepared.listing,
            session.statements.cursors.listing,
        )

    def _session(self, startup: StartupParameters) -> Session:
        if startup.variables["database"] not in {
            database.name
            for database in self._environment.stores.catalog.snapshot().databases.values()
        }:
            raise ConnectionRefused(
                f'database "{startup.variables["database"]}" does not exist', sqlstate="3D000"
            )
        return Session(self._environment, user=startup.user, startup=startup.variables)

    def _cancel_or_forward(self, request: messages.CancelRequest) -> None:
        if request.process_id in self._connections:
            self._cancel(request)
        else:
            self._listener.forward_cancel(request)

    def _cancel(self, request: messages.CancelRequest) -> None:
        secret, connection = self._connections.get(request.process_id, (b"", None))
        if connection is not None and hmac.compare_digest(secret, request.secret):
            connection.cancel()

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
