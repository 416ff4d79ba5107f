"""A replica's protocol over Arrow Flight and TLS, for callers that know the token of this
incarnation.

Commands and requests are Flight actions, rows are Flight streams. A ``ReclockError`` is sent with
its class and fields.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from reclock.clusters.identity import identity
from reclock.errors import ConfigurationError, ReclockError
from reclock.protocol import wire
from reclock.protocol.compute import CancelPeek, Emit, Peek, Refresh, Replica
from reclock.protocol.introspection import LogName

CARRY_OUT = "carry_out"
RUNNING = "running"
ENGINE_OF = "engine_of"
REFRESH = "refresh"
EMIT = "emit"
TAKE_CHANGES, LOG = "take_changes", "log"

HEADER = "authorization"
ENGINE = b"engine"

_LOOK_S = 0.2
_AGAIN_S = 0.02


class ReplicaServer(flight.FlightServerBase):  # type: ignore[misc]
    """Serves ``replica`` on a free port of ``host`` until it is shut down. A context manager.

    Callers reach it at ``address``, in which ``host`` is replaced by ``advertised``. Raises
    ``ConfigurationError`` if it cannot listen.
    """

    def __init__(
        self, replica: Replica, token: str, *, host: str = "127.0.0.1", advertised: str = ""
    ) -> None:
        server_identity = identity(token)
        try:
            super().__init__(
                f"grpc+tls://{_in_address(host)}:0",
                tls_certificates=[(server_identity.certificate, server_identity.key)],
                middleware={"token": _Guard(token)},
            )
        except pa.ArrowException as error:
            raise ConfigurationError(
                f'cannot listen on "{host}"',
                detail=str(error),
                hint="replica_host must be an address of this machine",
            ) from error
        self.address = f"grpc+tls://{_in_address(advertised or host)}:{self.port}"
        self._replica = replica
        self.asked_at = time.monotonic()
        """The time of the last request or command."""
        self._acting = 0
        self._asking: dict[str, flight.ServerCallContext] = {}
        """The clients that wait for peeks, by peek."""
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._actions: dict[str, Callable[[bytes], bytes]] = {
            CARRY_OUT: self._carry_out,
            RUNNING: lambda _: wire.encode(list(replica.running().values())),
            ENGINE_OF: lambda body: replica.engine_of(wire.decode(body, Peek)).encode(),
            REFRESH: lambda body: wire.encode_refresh_response(
                replica.refresh(wire.decode(body, Refresh))
            ),
            EMIT: lambda body: wire.encode(replica.emit(wire.decode(body, Emit))),
            TAKE_CHANGES: lambda body: wire.encode_responses(
                replica.take_changes(wire.decode(body, list[str]))
            ),
            LOG: lambda body: wire.encode_rows(replica.log(LogName(body.decode()))),
        }
        self._watch = threading.Thread(
            target=self._cancel_what_nobody_waits_for, name="abandoned-peeks", daemon=True
        )
        self._watch.start()

    @property
    def is_busy(self) -> bool:
        """Whether a client waits for a response now."""
        return bool(self._asking or self._acting)

    def do_action(
        self, context: flight.ServerCallContext, action: flight.Action
    ) -> list[pa.Buffer]:
        if action.type not in self._actions:
            raise flight.FlightServerError(f"unknown action {action.type!r}")
        with self._lock:
            self._acting += 1
        try:
            with _sent():
                return [pa.py_buffer(self._actions[action.type](action.body.to_pybytes()))]
        finally:
            with self._lock:
                self._acting -= 1
            self.asked_at = time.monotonic()

    def do_get(
        self, context: flight.ServerCallContext, ticket: flight.Ticket
    ) -> flight.FlightDataStream:
        with _sent():
            peek = wire.decode(ticket.ticket, Peek)
            response = self._replica.peek(peek)
        schema = response.schema.with_metadata({ENGINE: response.engine.encode()})
        return flight.GeneratorStream(schema, self._batches(peek.id, response.batches, context))

    def shutdown(self) -> None:
        """Cancel active requests, and stop serving."""
        self._stopping.set()
        self._watch.join()
        super().shutdown()

    def __exit__(self, *raised: object) -> None:
        self.shutdown()  # the base class would call its server_identity

    def _carry_out(self, body: bytes) -> bytes:
        self._replica.carry_out(wire.decode_command(body))
        return b""

    def _batches(
        self,
        id: str,
        batches: Generator[pa.RecordBatch, None, None],
        context: flight.ServerCallContext,
    ) -> Iterator[pa.RecordBatch]:
        with self._lock:
            self._asking[id] = context
        try:
            with _sent():
                yield from batches
        finally:
            with self._lock:  # the context ends with the stream
                del self._asking[id]
            self.asked_at = time.monotonic()
            batches.close()

    def _cancel_what_nobody_waits_for(self) -> None:
        """Cancel the peeks of disconnected clients. A long query would notice a lost client only at
        its next batch."""
        is_over = False
        while not is_over or self._asking:
            is_over = self._stopping.wait(_LOOK_S)
            with self._lock:
                abandoned = [
                    id for id, context in self._asking.items() if is_over or context.is_cancelled()
                ]
            for id in abandoned:
                self._replica.carry_out(CancelPeek(id))
            if abandoned:
                time.sleep(_AGAIN_S)


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@contextmanager
def _sent() -> Iterator[None]:
    """Within the block, errors are sent to the caller with their class and fields."""
    try:
        yield
    except (flight.FlightError, GeneratorExit):
        raise
    except Exception as error:  # the edge of the process
        message = error.message if isinstance(error, ReclockError) else type(error).__name__
        raise flight.FlightServerError(message, extra_info=wire.encode_error(error)) from error


class _Guard(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

    def start_call(self, info: flight.CallInfo, headers: dict[str, Any]) -> None:
        token_header = next(
            (values for name, values in headers.items() if name.lower() == HEADER), [""]
        )[0]
        if not hmac.compare_digest(
            token_header.encode() if isinstance(token_header, str) else token_header, self._expected
        ):
            raise flight.FlightUnauthenticatedError("this token is not that of the replica")
