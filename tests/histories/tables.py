"""Histories of tables: clients over servers, while servers are killed, clocks turned, epochs ended,
tables compacted."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path

from histories.bounds import bounded
from histories.clients import Client, Seen, definitions
from histories.cluster import Cluster
from histories.linearizability import NO_ORDER, UNDECIDED, Operation, Undecided, linearization
from histories.models import EMPTY, LISTS, Fence, tables_step
from histories.server_process import HOUR_MS, Faults

CLIENTS = 8
PATIENCE_S = 120
"""How long clients may take to end once all that goes wrong has gone wrong."""


def run(
    folder: Path, consensus_url: str, seed: int, operations: int, planted: str | None = None
) -> Seen:
    """One history, of a new environment in ``folder`` on an empty consensus. The seed decides what
    is tried, not what becomes of it."""
    chance = random.Random(seed)
    settings = {
        "retention_ms": chance.choice((0, 300, 3_000)),
        "table_apply_delay_ms": chance.choice((0, 20, 200)),
        "read_hold_lease_ms": chance.choice((4_000, 60_000)),
        "vacuum_grace_ms": chance.choice((0, HOUR_MS)),
    }
    text = "".join(f"{name} = {value}\n" for name, value in settings.items())
    faults = Faults(seed, chance.choice((0.0, 0.04)), planted)
    with Cluster(folder, consensus_url, list(definitions()), faults, settings=text) as cluster:
        observations, fresh = Seen(), count(1)
        clients = [
            Client(cluster, observations, random.Random(chance.random()), fresh)
            for _ in range(CLIENTS)
        ]
        cluster.restart_maintainer()
        threads = [
            threading.Thread(target=client.run, args=(operations,), daemon=True)
            for client in clients
        ]
        for thread in threads:
            thread.start()
        for number, disturb in _disturbances(cluster, observations, chance, operations):
            while len(observations.operations) < number and any(
                thread.is_alive() for thread in threads
            ):
                time.sleep(0.002)
            disturb()
        deadline = time.monotonic() + PATIENCE_S
        for thread in threads:
            thread.join(max(0, deadline - time.monotonic()))
            if thread.is_alive():
                observations.unexpected.append("a client hangs")
        for _ in cluster.servers:
            Client(cluster, observations, chance, fresh).read_everything()
        if "Traceback" in cluster.log():
            observations.unexpected.append(f"a process failed: {cluster.log()}")
    return observations


def _disturbances(
    cluster: Cluster, observations: Seen, chance: random.Random, operations: int
) -> list[tuple[int, Callable[[], object]]]:
    """What goes wrong, each after how many operations."""
    servers = range(len(cluster.servers))

    def fence() -> None:
        began = time.monotonic_ns()
        epoch = cluster.fence()
        observations.operations.append(Operation(began, time.monotonic_ns(), Fence(epoch)))
        time.sleep(0.05)  # clients are still at the fenced servers
        for number in servers:
            cluster.restart(number)

    kills = [lambda: cluster.restart(chance.choice(servers)) for _ in range(chance.randint(2, 3))]
    jumps = [
        lambda: cluster.turn_clock(
            chance.randrange(len(servers) + 1), chance.choice((-HOUR_MS, 0, HOUR_MS))
        )
        for _ in range(chance.randint(2, 4))
    ]
    others = [cluster.restart_maintainer for _ in range(chance.randint(0, 2))]
    fences = [fence] if chance.random() < 0.3 else []
    return sorted(
        ((chance.randrange(operations), action) for action in (*kills, *jumps, *others, *fences)),
        key=lambda event: event[0],
    )


def violations(observations: Seen) -> list[str]:
    """What no sequential use of the tables explains; none if all is well."""
    problems = list(observations.unexpected)
    try:
        if linearization(bounded(observations.operations), EMPTY, tables_step) is None:
            problems.append(NO_ORDER)
    except Undecided as undecided:
        problems.append(f"{UNDECIDED}: {undecided}")
    return problems + _wrong_times(observations)


def _wrong_times(observations: Seen) -> list[str]:
    """Reads at one time that differ, and lists that a later time has lost something of."""
    problems = []
    for key in sorted({key for read in observations.timed for key in read.values}):
        reads = sorted(
            (read.at, read.values[key]) for read in observations.timed if key in read.values
        )
        for (before, earlier), (after, later) in pairwise(reads):
            if earlier != later and before == after:
                problems.append(f"{key} at {before} is {earlier} and {later}")
            elif key[0] in LISTS and later[: len(earlier)] != earlier:
                problems.append(f"{key} is {earlier} at {before} and {later} at {after}")
    return problems
