"""Three ``reclock serve`` and one maintainer on one environment: killed, started again, their
clocks turned, their epoch ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
from fixtures.forks import fork, shared_number
from histories.server_process import Faults, fence, maintain, serve

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

START_TIMEOUT_S = 60


@dataclass(slots=True)
class Running:
    """One life of one process."""

    process: BaseProcess
    port: int
    epoch: int

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(
            f"host=127.0.0.1 port={self.port} user=reclock dbname=reclock connect_timeout=10",
            autocommit=True,
        )


@dataclass(slots=True)
class Cluster:
    """A new environment at ``home``. A context manager: leaving it kills everything."""

    home: Path
    consensus_url: str
    definitions: Sequence[str] = ()
    faults: Faults = field(default_factory=Faults)
    size: int = 3
    settings: str = ""
    servers: list[Running] = field(default_factory=list, init=False)
    _maintainer: Running | None = field(default=None, init=False)
    _offsets: list[Any] = field(default_factory=list, init=False)
    _lives: int = field(default=0, init=False)

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True)
        (self.home / "reclock.toml").write_text(
            f'consensus_url = "{self.consensus_url}"\n{self.settings}'
        )
        with Environment.initialise(self.home) as environment:
            session = Session(environment)
            for statement in self.definitions:
                list(session.execute(statement))
        self._offsets = [shared_number() for _ in range(self.size + 1)]
        try:
            starting = [self._begin(serve, self._offsets[number]) for number in range(self.size)]
            self.servers = [_await(*begun) for begun in starting]
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for running in (*self.servers, *([self._maintainer] if self._maintainer else [])):
            _kill(running)

    def restart(self, number: int) -> None:
        """Kill one server, and start another in its place."""
        _kill(self.servers[number])
        self.servers[number] = _await(*self._begin(serve, self._offsets[number]))

    def restart_maintainer(self) -> None:
        if self._maintainer is not None:
            _kill(self._maintainer)
        self._maintainer = _await(*self._begin(maintain, self._offsets[-1]))

    def turn_clock(self, number: int, by_ms: int) -> None:
        """The clock of one server, or of the maintainer, jumps to that far off the system's."""
        self._offsets[number].value = by_ms

    def fence(self) -> int:
        """Raise the catalog's epoch, and answer it: no server that runs now may write any more."""
        process, ready = fork(fence, self.home)
        epoch = _await(process, ready).epoch
        process.join()
        return epoch

    def log(self) -> str:
        """What all processes have said."""
        return (self.home / "processes.log").read_text()

    def _begin(self, work: Callable[..., None], offset_ms: Any) -> tuple[BaseProcess, Connection]:
        self._lives += 1
        faults = replace(self.faults, seed=self.faults.seed * 1_000 + self._lives)
        return fork(work, self.home, offset_ms, faults)


def _await(process: BaseProcess, ready: Connection) -> Running:
    try:
        if not ready.poll(START_TIMEOUT_S):
            raise TimeoutError("a process does not start")
        return Running(process, *ready.recv())
    except BaseException:
        process.kill()
        raise
    finally:
        ready.close()


def _kill(running: Running) -> None:
    running.process.kill()
    running.process.join()
