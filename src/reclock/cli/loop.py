"""``reclock tick``: the steps of the DAG ``reclock_tick``, in one process."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from reclock.cli.output import print_json, print_notice, print_replicas
from reclock.config import Settings
from reclock.errors import InvalidOption
from reclock.pipeline import tick
from reclock.pipeline.tick_reports import TickFailure, TickReport
from reclock.runtime.environment import Environment
from reclock.runtime.reporting import reporting
from reclock.server.monitoring import monitoring

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def seconds(text: str) -> float:
    """``500ms``, ``1s``, ``5m``, ``1h`` or ``1d`` in seconds. Raises ``InvalidOption``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text)
    if match is None:
        raise InvalidOption(f'"{text}" is not a duration', hint="write 500ms, 1s, 5m, 1h or 1d")
    return float(match[1]) * _UNITS_S[match[2]]


def run_ticks(
    home: Path | None,
    *,
    every: str,
    count: int | None,
    only: Sequence[str] | None,
    at: int | None,
    is_json: bool = False,
) -> bool:
    """True if a source or cluster failed in the last tick. Ends after ``count`` ticks (one, without
    ``every``), or when the tick ends during which SIGINT or SIGTERM arrives."""
    pause = seconds(every) if every else None
    remaining = count if count is not None else (None if every else 1)
    if at is not None and remaining != 1:
        raise InvalidOption("a timestamp can be given for one tick only")
    stopping = _stopped_by_signals()
    _migrate(home)
    failed = False
    with ExitStack() as scope:
        environment = scope.enter_context(Environment.open(home, is_long_lived=pause is not None))
        scope.callback(print_replicas, environment)
        if pause is not None:
            _enter_reporting(scope, environment)
        patience_s = environment.stores.settings.tick_patience_ms / 1000
        if pause is not None:
            patience_s = min(patience_s, pause)
        ticks = _Ticks(environment, only, patience_s, TickOutput(is_json))
        while remaining is None or remaining > 0:
            started = time.monotonic()
            is_last = pause is None or remaining == 1
            failed = not ticks.run(at, is_last=is_last)
            if pause is None or is_last:
                break
            ticks.settle_until(started + pause, stopping)
            if stopping.wait(max(0.0, started + pause - time.monotonic())):
                break
            remaining = None if remaining is None else remaining - 1
        ticks.settle()  # does nothing, unless a signal ended the loop
    return failed


def _stopped_by_signals() -> threading.Event:
    """An event that SIGINT and SIGTERM set from now on, instead of ending the process."""
    stopping = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopping.set())
    return stopping


def _migrate(home: Path | None) -> None:
    """Bring the environment to this version's layout. Makes it, and says so, if it does not
    exist."""
    folder = Settings.load(home).home.absolute()
    is_new = not folder.exists()
    tick.migrate(home)
    if is_new:
        print_notice(f"made a new environment in {folder}; --home or RECLOCK_HOME name another")


def _enter_reporting(scope: ExitStack, environment: Environment) -> None:
    """Report and serve the metrics of this process until ``scope`` ends."""
    scope.enter_context(reporting(environment))
    settings = environment.stores.settings
    monitor = scope.enter_context(monitoring(settings.tick_http, settings))
    if monitor is not None:
        scope.enter_context(monitor.watching(environment))


@dataclass(frozen=True, slots=True)
class _Ticks:
    """Runs and prints the ticks of this process, of the sources ``only`` or of all."""

    environment: Environment
    only: Sequence[str] | None
    patience_s: float
    output: TickOutput
    owner: str = field(default_factory=lambda: f"tick-{socket.gethostname()}-{os.getpid()}")

    def run(self, at: int | None, *, is_last: bool) -> bool:
        """Run one tick. True if no source or cluster failed."""
        report = tick.run(
            self.environment,
            only=self.only,
            at=at,
            owner=self.owner,
            patience_s=self.patience_s,
            is_last=is_last,
        )
        self.output.print(report)
        return report.succeeded

    def settle_until(self, end_s: float, stopping: threading.Event) -> None:
        """Publish what earlier ticks did not wait for, as it becomes ready: until the monotonic
        clock is at ``end_s``, or the process is ``stopping``."""

        def is_over() -> bool:
            return stopping.is_set() or time.monotonic() >= end_s

        for late in tick.settle(
            self.environment,
            only=self.only,
            owner=self.owner,
            patience_s=self.patience_s,
            is_over=is_over,
        ):
            self.output.print(late)

    def settle(self) -> None:
        """Publish all that earlier ticks did not wait for."""
        for late in tick.settle(self.environment, only=self.only, owner=self.owner):
            self.output.print(late)


def explain_tick(home: Path | None, *, only: Sequence[str] | None) -> None:
    """Print what a tick would do. Raises ``CatalogUninitialized`` if there is no environment."""
    with Environment.open(home) as environment:
        print("\n".join(tick.explain(environment.stores, only)))


@dataclass(slots=True)
class TickOutput:
    """Prints ticks. The detail and hint of a failure are printed once, until its object succeeds or
    fails in another way. After the first line, ticks without news are left out, except in JSON."""

    is_json: bool
    has_begun: bool = False
    reported: dict[str, TickFailure] = field(default_factory=dict)

    def print(self, report: TickReport) -> None:
        if self.is_json:
            print_json(_summary(report))
        elif not self.has_begun or report.has_news(self.reported.values()):
            self.has_begun = True
            print(report.summary(self.reported.values()), flush=True)
        for name in report.succeeded_names:
            self.reported.pop(name, None)
        self.reported |= {failure.name: failure for failure in report.failed}


def _summary(report: TickReport) -> dict[str, object]:
    published = report.published
    return {
        "at": report.at,
        "upper": published.upper,
        "sources": {name: published.rows.get(name, 0) for name in report.sources},
        "waiting": published.waiting,
        "indexes": {
            index.index: index.updates
            for refreshed in report.refreshed
            for index in refreshed.indexes
        },
        "sinks": {sink.sink: sink.changes for sink in report.emitted},
        "failed": report.failed,
    }
