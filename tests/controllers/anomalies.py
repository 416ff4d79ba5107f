"""The three anomalies that a single event loop would rule out, looked for in two processes whose
controllers are late at random.

c1 makes a table, c2 inserts into it, c1 reads it; each knows that what came before it was
acknowledged, and nothing else. Wrong would be: the INSERT says that there is no table; the SELECT
says so; the SELECT lacks the row.

    python tests/controllers/anomalies.py --runs 10000

``--plant`` breaks the worker processes in one of three ways, so that each of the anomalies shows:
the search finds what is there.
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

LANES = 8
"""How many pairs of clients there are at once, each with a session in either process."""

DELAY_S = 0.03
"""How late a controller is at most, at each point of its way."""

MODES = (("1", "2"), ("1",), (), ("2",))

PLANTS = ("stale catalog", "no wait", "cached read timestamp")


# --- a process with sessions ---


def work(home: str, *, seed: int, loops: bool, plant: str | None) -> None:
    """Answers statements on standard input, each in the session of its lane, until that ends."""
    import structlog

    from reclock import failpoints
    from reclock.adapter.session.session import Session
    from reclock.runtime.control_plane import ControlPlane
    from reclock.runtime.environment import Environment

    # answers alone go to standard output
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    chance, answering = random.Random(seed), threading.Lock()

    def late(point: str) -> None:
        if point.startswith(("controllers.storage.", "controllers.compute.")):
            time.sleep(chance.random() * DELAY_S if chance.random() < 0.7 else 0)

    failpoints.on_reach = late
    if plant == "no wait":
        ControlPlane.await_storage = lambda *_: None  # type: ignore[method-assign]
    with Environment.open(home) as environment:
        if plant == "stale catalog":
            environment.stores.catalog.sync = environment.stores.catalog.snapshot  # type: ignore[method-assign]
        if plant == "cached read timestamp":
            cached: dict[str, Any] = {}
            read_all = environment.stores.oracle.read_all
            environment.stores.oracle.read_all = lambda: cached.setdefault("all", read_all())  # type: ignore[method-assign]
            environment.stores.oracle.read_ts = lambda timeline: (  # type: ignore[method-assign]
                environment.stores.oracle.read_all()[timeline]
            )
        sessions = [Session(environment) for _ in range(LANES)]

        def answer(lane: int, text: str) -> None:
            report: dict[str, Any] = {"lane": lane}
            try:
                report["rows"] = [
                    list(row) for result in sessions[lane].execute(text) for row in result.rows()
                ]
            except Exception as error:
                report["error"] = f"{type(error).__name__}: {error}"
            with answering:
                print(json.dumps(report), flush=True)

        with (
            environment.control_plane.storage_controller.looping() if loops else nullcontext(),
            ThreadPoolExecutor(LANES) as threads,
        ):
            print("ready", flush=True)
            for line in sys.stdin:
                threads.submit(answer, *json.loads(line))


# --- the clients ---


class Worker:
    """One process, driven by several lanes at once."""

    def __init__(self, home: Path, *arguments: str) -> None:
        command = [sys.executable, __file__, "--home", str(home), *arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._asking = threading.Lock()
        self._answers: list[queue.Queue[dict[str, Any]]] = [queue.Queue() for _ in range(LANES)]
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        threading.Thread(target=self._receive, daemon=True).start()

    def ask(self, lane: int, text: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        with self._asking:
            print(json.dumps([lane, text]), file=self._process.stdin, flush=True)
        return self._answers[lane].get(timeout=120)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _receive(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            self._answers[answer["lane"]].put(answer)


def search(
    home: Path,
    runs: int,
    *,
    seed: int = 0,
    plant: str | None = None,
    modes: Sequence[tuple[str, ...]] = MODES,
) -> Counter[str]:
    """What happened in how many runs: ``fine``, or what not. ``modes``: in which processes
    controllers keep running, by turns."""
    from reclock.runtime.environment import Environment

    with Environment.initialise(home):
        pass
    found: Counter[str] = Counter()
    for part, loops in enumerate(modes):
        found += _part(home, range(part, runs, len(modes)), loops, seed + 2 * part, plant)
    return found


def _part(
    home: Path, runs: range, loops: tuple[str, ...], seed: int, plant: str | None
) -> Counter[str]:
    with ExitStack() as scope:
        clients = []
        for client in ("1", "2"):
            arguments = [
                "--seed",
                str(seed + int(client)),
                *(["--loops"] if client in loops else []),
            ]
            worker = Worker(home, *arguments, *(["--plant", plant] if plant else []))
            scope.callback(worker.close)
            clients.append(worker)
        lanes = scope.enter_context(ThreadPoolExecutor(LANES))
        return sum(
            lanes.map(lambda lane: _lane(clients, lane, runs[lane::LANES]), range(LANES)), Counter()
        )


def _lane(clients: list[Worker], lane: int, runs: range) -> Counter[str]:
    anomalies: Counter[str] = Counter()
    for number, run in enumerate(runs):
        c1, c2 = clients if number % 2 else reversed(clients)
        table = f"t{run}"
        made = c1.ask(lane, f"CREATE TABLE {table} (n int)")
        inserted = c2.ask(lane, f"INSERT INTO {table} VALUES ({run})")
        read = c1.ask(lane, f"SELECT n FROM {table}")
        anomalies[_judged(made, inserted, read, run)] += 1
        c2.ask(lane, f"DROP TABLE IF EXISTS {table}")
    return anomalies


def _judged(
    made: dict[str, Any], inserted: dict[str, Any], read: dict[str, Any], value: int
) -> str:
    if "error" in made:
        return f"CREATE failed: {made['error']}"
    if "error" in inserted:
        return f"INSERT failed: {_without_digits(inserted['error'])}"
    if "error" in read:
        return f"SELECT failed: {_without_digits(read['error'])}"
    return "fine" if read["rows"] == [[value]] else "SELECT lacks the row"


def _without_digits(text: str) -> str:
    return "".join("#" if character.isdigit() else character for character in text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plant", choices=PLANTS)
    parser.add_argument("--home", help=argparse.SUPPRESS)
    parser.add_argument("--loops", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.home:
        work(arguments.home, seed=arguments.seed, loops=arguments.loops, plant=arguments.plant)
        return
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for what, count in search(
            Path(folder), arguments.runs, seed=arguments.seed, plant=arguments.plant
        ).most_common():
            print(f"{count:6} {what}")
    print(f"{arguments.runs} runs in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
