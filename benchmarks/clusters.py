"""Replicas: from ``CREATE CLUSTER`` to the first answer; from a replica's death to the next, with
one and with two; reads beside an endless query on another cluster, against reads beside a process
that burns as much CPU."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg

RECLOCK = str(Path(sys.executable).with_name("reclock"))
SUM = "SELECT sum(n) FROM t"
ROUNDS = 5
READS = 40
ENDLESS = """SELECT sum((a.n * b.n) % 7 + c.n) FROM generate_series(1, 100000) a(n), generate_series(1, 100000) b(n),
    generate_series(1, 100000) c(n)"""


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        variables = os.environ | {"RECLOCK_HOME": home, "RECLOCK_STATEMENT_TIMEOUT_MS": "600000"}
        subprocess.run([RECLOCK, "init"], env=variables, check=True, stdout=subprocess.DEVNULL)
        command = [RECLOCK, "serve", "--port", "0"]
        with (Path(home) / "serve.log").open("w") as log:
            server = subprocess.Popen(
                command, env=variables, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert server.stdout is not None
        port = server.stdout.readline().rsplit(":", 1)[1].strip()
        try:
            with psycopg.connect(
                f"host=127.0.0.1 port={port} user=reclock dbname=reclock", autocommit=True
            ) as connection:
                measure(connection, home)
                with psycopg.connect(
                    f"host=127.0.0.1 port={port} user=reclock dbname=reclock", autocommit=True
                ) as other:
                    isolation(connection, other)
        finally:
            for process in replicas(home):
                process.kill()
            server.kill()
            server.wait()


def measure(connection: psycopg.Connection, home: str) -> None:
    def answer() -> None:
        connection.execute(SUM).fetchall()

    def killed() -> float:
        """From the death of the replica that answers to the next answer."""
        answer()
        replicas(home)[0].kill()
        return took(answer)

    connection.execute("CREATE TABLE t (n int)")
    connection.execute("INSERT INTO t VALUES (1), (2)")
    print(f"virtual cluster, warm answer: {median([took(answer) for _ in range(ROUNDS)]):.3f} s")

    def create() -> None:
        connection.execute("CREATE CLUSTER c SIZE '1'")
        connection.execute("SET cluster = c")
        answer()

    print(f"CREATE CLUSTER to the first answer: {took(create):.3f} s")
    print(f"one replica, warm answer: {median([took(answer) for _ in range(ROUNDS)]):.3f} s")
    print(
        f"death to the next answer, one replica: {median([killed() for _ in range(ROUNDS)]):.3f} s"
    )
    connection.execute("CREATE CLUSTER REPLICA c.r2")
    seconds = []
    for _ in range(ROUNDS):
        both_are_there(connection)
        seconds.append(killed())
    print(
        f"death to the next answer, two replicas: {median(seconds):.3f} s, at most {max(seconds):.3f} s"
    )


def isolation(endless: psycopg.Connection, other: psycopg.Connection) -> None:
    """``endless`` is on the cluster c, whose replicas have one core; ``other`` on a cluster of its
    own."""
    other.execute("CREATE CLUSTER d SIZE '1'")
    other.execute("SET cluster = d")

    def reads() -> float:
        return median([took(lambda: other.execute(SUM).fetchall()) for _ in range(READS)])

    def beside_burner() -> float:
        burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            return reads()
        finally:
            burner.kill()
            burner.wait()

    def beside_endless() -> float:
        running = threading.Thread(target=until_cancelled, args=(endless,))
        running.start()
        time.sleep(1)
        try:
            return reads()
        finally:
            assert running.is_alive()
            endless.cancel()
            running.join()

    reads()
    alone, burnt, queried = zip(
        *[(reads(), beside_burner(), beside_endless()) for _ in range(ROUNDS)], strict=True
    )
    print(f"reads alone: {median(list(alone)):.3f} s")
    print(f"beside a process that burns a core: {median(list(burnt)):.3f} s")
    print(f"beside an endless query on another cluster: {median(list(queried)):.3f} s")
    ratios = [query / burn for query, burn in zip(queried, burnt, strict=True)]
    print(f"query against burner: {median(ratios):.2f} times")


def until_cancelled(connection: psycopg.Connection) -> None:
    try:
        connection.execute(ENDLESS)
    except psycopg.errors.QueryCanceled:
        return


def both_are_there(connection: psycopg.Connection) -> None:
    """Each has answered for itself."""
    for name in ("r1", "r2"):
        while True:
            try:
                connection.execute(f"SET cluster_replica = {name}")
                connection.execute("SELECT count(*) FROM mz_internal.mz_process_usage").fetchall()
                break
            except psycopg.Error:
                time.sleep(0.2)
    connection.execute("RESET cluster_replica")


def replicas(home: str) -> list[psutil.Process]:
    """The processes of the replicas, the oldest first."""
    processes = []
    for process in psutil.process_iter():
        try:
            if home in process.cmdline() and "replica" in process.cmdline():
                processes.append(process)
        except psutil.Error:
            continue
    return sorted(processes, key=lambda process: process.create_time())


def took(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    main()
