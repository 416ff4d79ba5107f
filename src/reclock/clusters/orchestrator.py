"""Starts the processes of replicas on this machine. The masters of their sizes decide where their
executors run."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import structlog

from reclock.consensus.processes.replicas import Incarnation
from reclock.protocol.orchestration import EndedProcess, ReplicaDescription

_logger = structlog.get_logger(__name__)

_TAIL_BYTES = 4_000


@dataclass(frozen=True, slots=True)
class ReplicaProcess:
    """A process on this machine that is ``replica``, and writes into ``log``."""

    replica: ReplicaDescription
    incarnation: Incarnation
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid


class ProcessOrchestrator:
    """An `Orchestrator` of local processes. Each process has its own session, so that the end of
    its parent does not end it, and a log file in ``<home>/replicas``. Without ``autostart`` it
    never has room: the processes are started by hand, on any machine."""

    def __init__(self, home: Path, *, autostart: bool) -> None:
        self._home, self._autostart = home.absolute(), autostart
        self._running: dict[int, ReplicaProcess] = {}
        self._failed: list[EndedProcess] = []

    def has_room(self) -> bool:
        return self._autostart

    def start(self, replica: ReplicaDescription, incarnation: Incarnation) -> None:
        folder = self._home / "replicas"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{replica.id}.log"
        command = [sys.executable, "-m", "reclock.cli", "replica", "--home", str(self._home)]
        command += [
            "--cluster",
            replica.cluster,
            "--replica",
            replica.name,
            "--incarnation",
            str(incarnation),
        ]
        try:
            with path.open("ab") as log:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    env=_variables(),
                )
        except OSError as error:
            self._failed.append(EndedProcess(replica.id, incarnation, str(error)))
            return
        self._running[replica.id] = ReplicaProcess(replica, incarnation, process, path)
        _logger.info(
            "replica started", replica=str(replica), incarnation=incarnation, pid=process.pid
        )

    def stop(self, replica_id: int) -> None:
        if replica_id in self._running:
            process = self._running.pop(replica_id).process
            process.kill()
            process.wait()

    def running(self) -> list[ReplicaProcess]:
        """The processes started here that have not ended."""
        return [started for started in self._running.values() if started.process.poll() is None]

    def ended(self) -> list[EndedProcess]:
        ended, self._failed = self._failed, []
        for replica_id, started in list(self._running.items()):
            if (code := started.process.poll()) is None:
                continue
            if self._running.pop(replica_id, None) is not None:  # else another thread reports it
                why = _why(code, started.log)
                ended.append(EndedProcess(replica_id, started.incarnation, why))
        return ended


def _variables() -> dict[str, str]:
    """This process's environment variables, without those of another Spark application."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYSPARK_GATEWAY_", "SPARK_CONNECT_"))
    }


def _why(code: int, log: Path) -> str:
    ending = f"signal {-code}" if code < 0 else f"exit code {code}"
    if code <= 0:
        return ending
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        lines = file.read().decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"{ending}: {last}" if last else ending
