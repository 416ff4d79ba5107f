"""The client of a replica in another process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.flight as flight

from reclock.algebra.ids import GlobalId
from reclock.clusters.flight import (
    CARRY_OUT,
    EMIT,
    ENGINE,
    ENGINE_OF,
    HEADER,
    LOG,
    REFRESH,
    RUNNING,
    TAKE_CHANGES,
)
from reclock.clusters.identity import NAME, identity
from reclock.errors import ReplicaLost
from reclock.protocol import wire
from reclock.protocol.compute import (
    ComputeCommand,
    Dataflow,
    Emit,
    Emitted,
    Peek,
    PeekResponse,
    Refresh,
    RefreshResponse,
)
from reclock.protocol.introspection import CancelSubscribe, LogName, LogResponse, Row, Subscribe

T = TypeVar("T")

COMMAND_TIMEOUT_S = 2.0
"""How long a command may take. Replicas only record commands, so one that takes longer hangs."""

CHECK_INTERVAL_S = 0.5
"""How often a waiting call checks whether the replica is alive."""

_AHEAD = 2
"""How many batches are fetched before they are needed."""


class RemoteReplica:
    """A `Replica` in another process. Every method raises ``ReplicaLost`` if the process is gone,
    hangs, or is another one. Thread-safe."""

    def __init__(self, name: str, address: str, token: str, is_alive: Callable[[], bool]) -> None:
        """Waiting calls check ``is_alive``, which says whether the replica still sends
        heartbeats."""
        self._name, self._is_alive = name, is_alive
        self._client = flight.connect(
            address, tls_root_certs=identity(token).certificate, override_hostname=NAME
        )
        self._headers = [(HEADER.encode(), f"Bearer {token}".encode())]

    def running(self) -> Mapping[GlobalId, Dataflow]:
        dataflows = wire.decode(self._quickly(RUNNING, b""), list[Dataflow])
        return {dataflow.id: dataflow for dataflow in dataflows}

    def carry_out(self, command: ComputeCommand) -> None:
        """Commands have a short deadline, so that a replica that hangs does not hold up its
        cluster's leader. Subscribes do not, like ``take_changes``."""
        body = wire.encode_command(command)
        if isinstance(command, Subscribe | CancelSubscribe):
            [_] = self._attended(lambda: self._act(CARRY_OUT, body))
        else:
            self._quickly(CARRY_OUT, body)

    def engine_of(self, peek: Peek) -> str:
        [answer] = self._attended(lambda: self._act(ENGINE_OF, wire.encode(peek)))
        return answer.decode()

    def refresh(self, refresh: Refresh) -> RefreshResponse:
        [answer] = self._attended(lambda: self._act(REFRESH, wire.encode(refresh)))
        return wire.decode_refresh_response(answer)

    def emit(self, emit: Emit) -> Emitted:
        [answer] = self._attended(lambda: self._act(EMIT, wire.encode(emit)))
        return wire.decode(answer, Emitted)

    def peek(self, peek: Peek) -> PeekResponse:
        opened: list[flight.FlightStreamReader] = []

        def read() -> Generator[Any, None, None]:
            opened.append(
                reader := self._client.do_get(flight.Ticket(wire.encode(peek)), self._options())
            )
            try:
                yield reader.schema
                for chunk in reader:
                    yield chunk.data
            finally:
                reader.cancel()

        answer = self._attended(read, lambda: [reader.cancel() for reader in opened])
        schema = next(answer)
        return PeekResponse(schema.metadata[ENGINE].decode(), schema.remove_metadata(), answer)

    def take_changes(self, subscribes: Collection[str]) -> list[LogResponse]:
        """Waits as long as the replica sends heartbeats: under load it may be late."""
        [answer] = self._attended(lambda: self._act(TAKE_CHANGES, wire.encode(list(subscribes))))
        return wire.decode_responses(answer)

    def log(self, name: LogName) -> list[Row]:
        [answer] = self._attended(lambda: self._act(LOG, name.value.encode()))
        return wire.decode_rows(answer)

    def close(self) -> None:
        self._client.close()

    def _quickly(self, action: str, body: bytes) -> bytes:
        with self._received():
            [answer] = self._act(action, body, timeout_s=COMMAND_TIMEOUT_S)
        return answer

    def _act(
        self, action: str, body: bytes, *, timeout_s: float | None = None
    ) -> Generator[bytes, None, None]:
        for result in self._client.do_action(flight.Action(action, body), self._options(timeout_s)):
            yield result.body.to_pybytes()

    def _options(self, timeout_s: float | None = None) -> flight.FlightCallOptions:
        return flight.FlightCallOptions(timeout=timeout_s, headers=self._headers)

    @contextmanager
    def _received(self) -> Iterator[None]:
        """Within the block, errors of the replica are raised as they are, and a lost connection as
        ``ReplicaLost``."""
        try:
            yield
        except (flight.FlightError, pa.ArrowException, OSError) as error:
            if extra := getattr(error, "extra_info", b""):
                raise wire.decode_error(extra) from error
            raise ReplicaLost(self._name, detail=_reason(error)) from error

    def _attended(
        self,
        call: Callable[[], Generator[T, None, None]],
        interrupt: Callable[[], object] = lambda: None,
    ) -> Generator[T, None, None]:
        """The items of ``call``, read by a thread of its own, so that this thread can abandon a
        replica that hangs.

        ``interrupt`` ends that thread's wait; without it, the thread ends with the process at the
        other end.
        """
        arrived: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(_AHEAD)
        is_left = threading.Event()

        def offer(item: tuple[T] | BaseException | None) -> bool:
            while not is_left.is_set():
                try:
                    arrived.put(item, timeout=CHECK_INTERVAL_S)
                    return True
                except queue.Full:
                    continue
            return False

        def work() -> None:
            try:
                with closing(call()) as items:
                    for item in items:
                        if not offer((item,)):
                            return
                offer(None)
            except BaseException as error:  # it is raised where somebody waits
                offer(error)

        threading.Thread(target=work, name=f"replica-{self._name}", daemon=True).start()
        try:
            with self._received():
                while True:
                    try:
                        item = arrived.get(timeout=CHECK_INTERVAL_S)
                    except queue.Empty:
                        if not self._is_alive():
                            raise ReplicaLost(
                                self._name, detail="it gives no sign of life"
                            ) from None
                        continue
                    if item is None:
                        return
                    if isinstance(item, BaseException):
                        raise item
                    yield item[0]
        finally:
            is_left.set()
            interrupt()


def _reason(error: Exception) -> str:
    """A reason that a person can act on, in place of the transport's message."""
    match error:
        case flight.FlightTimedOutError():
            return f"it did not answer within {COMMAND_TIMEOUT_S:g} s"
        case flight.FlightUnauthenticatedError():
            return "another process answers at its address"
        case flight.FlightUnavailableError():
            return "nothing answers at its address: its process has ended or cannot be reached"
        case flight.FlightCancelledError():
            return "its process ended the call: it is being stopped"
        case _:
            return "the connection to its process broke"
