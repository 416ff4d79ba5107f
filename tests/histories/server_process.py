"""What the processes of a history do: ``reclock serve``, with a clock that can be turned while
it runs, answers of commits that get lost, and perhaps a planted bug; and maintenance of the same
kind."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
import structlog
from histories.planted import PLANTED

from reclock.adapter.session.session import Session  # noqa: F401  (imported once, before the fork)
from reclock.algebra.ids import TABLES
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines import duckdb  # noqa: F401
from reclock.consensus.database import store
from reclock.errors import ConsensusOutcomeUnknown, ReclockError
from reclock.pipeline import maintenance
from reclock.runtime.environment import Environment
from reclock.runtime.system_relations import SYSTEM_OBJECTS
from reclock.server.listeners import PortListener
from reclock.server.server import Server

HOUR_MS = 3_600_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong in a process. ``lost_answers`` is the share of consensus commits whose
    outcome it does not learn."""

    seed: int = 0
    lost_answers: float = 0.0
    planted: str | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """The system's, some time off. ``offset_ms`` is shared with whoever turns it."""

    offset_ms: Any

    def __call__(self) -> Timestamp:
        return Timestamp(time.time_ns() // 1_000_000 + self.offset_ms.value)


def serve(home: Path, offset_ms: Any, faults: Faults, ready: Connection) -> None:
    """Serve on a free port of loopback; ``ready`` is sent the port and the epoch of the catalog."""
    _log_to(home)
    prepare(faults)
    with Environment.open(home, clock=Clock(offset_ms)) as environment:
        epoch = environment.stores.leadership.epoch
        listener = PortListener("127.0.0.1", 0, lambda _, port: ready.send((port, epoch)))
        asyncio.run(Server(environment, listener).run())


def maintain(home: Path, offset_ms: Any, faults: Faults, ready: Connection) -> None:
    """Follow the log, compact and vacuum the tables over and over."""
    _log_to(home)
    prepare(faults)
    with Environment.open(home, clock=Clock(offset_ms)) as environment:
        ready.send((0, environment.stores.leadership.epoch))
        while True:
            try:
                maintenance.maintain(environment.stores, TABLES)
            except ReclockError as error:
                structlog.get_logger().info("maintenance", error=str(error))
            time.sleep(0.2)


def fence(home: Path, ready: Connection) -> None:
    """Open the catalog to lead it; ``ready`` is sent the new epoch when that is done."""
    _log_to(home)
    with Environment.unopened(home) as environment:
        environment.stores.catalog.open(SYSTEM_OBJECTS)
        ready.send((0, environment.stores.leadership.epoch))


def prepare(faults: Faults) -> None:
    """From now on this process has them."""
    if faults.lost_answers:
        store._commit = _losing_answers(
            store._commit, random.Random(faults.seed), faults.lost_answers
        )
    if faults.planted is not None:
        PLANTED[faults.planted]()


def _log_to(home: Path) -> None:
    log = os.open(home / "processes.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))


def _losing_answers(
    commit: Callable[..., T], chance: random.Random, share: float
) -> Callable[..., T]:
    """Commits whose connection breaks at the end: after the commit, or before it."""
    guard = threading.Lock()

    def losing(engine: sa.Engine, work: Callable[[sa.Connection], T]) -> T:
        with guard:
            is_lost, is_done = chance.random() < share, chance.random() < 0.5
        if is_lost and not is_done:
            raise ConsensusOutcomeUnknown(detail="nothing was committed")
        answer = commit(engine, work)
        if is_lost:
            raise ConsensusOutcomeUnknown(detail="it was committed")
        return answer

    return losing
