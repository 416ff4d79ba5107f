"""The durable catalog by its size, in stash (SQLite) and persist; its commits a second beside bare
ones of the same bytes.

What is bare: one INSERT and one UPDATE in a SQLite transaction (a PostgreSQL one too, if
``RECLOCK_BENCH_POSTGRES`` is its URL), and one append by ``write_deltalake``, which flushes nothing
to the disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pyarrow as pa
import sqlalchemy as sa
import stamina
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError

from benchmarks.figures import Figures, timed
from reclock.algebra.timestamps import CATALOG, MINIMUM, Timestamp, system_clock
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.encoding import CatalogUpdate
from reclock.catalog.implementations import open_log
from reclock.catalog.objects import Item, ItemType, Setting
from reclock.config import Settings
from reclock.consensus.database.store import Consensus
from reclock.oracle.oracle import ConsensusOracle

SIZES = (100, 10_000, 100_000)
BATCH = 10_000
HISTORY = 1_300_000
RUNS = 15
COMMITS = 60
WRITERS = 4


def main() -> None:
    for implementation in ("stash", "persist"):
        for size in SIZES:
            with tempfile.TemporaryDirectory() as home:
                _by_size(implementation, size, Path(home))
    for implementation in ("stash", "persist"):
        with tempfile.TemporaryDirectory() as home:
            _with_history(implementation, Path(home))
    _throughput()


def catalog(implementation: str, home: Path, *, url: str = "") -> DurableCatalog:
    consensus = Consensus.connect(url or f"sqlite:///{home / 'consensus.db'}")
    oracle = ConsensusOracle(consensus, system_clock)
    oracle.open_timeline(CATALOG, MINIMUM)
    log = open_log(implementation, "bench", Settings.load(home), consensus)
    return DurableCatalog(log, oracle=oracle, clock=system_clock, deploy_generation=0)


def _by_size(implementation: str, size: int, home: Path) -> None:
    state = catalog(implementation, home)
    state.open()
    for start in range(0, size, BATCH):
        tx = state.transaction()
        for id in tx.allocate("user", min(BATCH, size - start)):
            sql = f'CREATE VIEW "v{id}" AS SELECT id, name, amount FROM orders WHERE id = {id}'
            tx.insert(Item(f"u{id}", 5, f"v{id}", ItemType.VIEW, sql, "u1", Timestamp(1)))  # type: ignore[arg-type]
        state.commit_transaction(tx)

    numbers = count()

    def commit() -> None:
        tx = state.transaction()
        tx.put(Setting("n", str(next(numbers))))
        state.commit_transaction(tx)

    def join() -> None:
        catalog(implementation, home).join()

    def snapshot() -> None:
        rows = state._log.snapshot()[1]
        assert len(rows) > size

    follower = catalog(implementation, home)
    follower.join()
    subscription = follower.subscribe_at(follower.upper)
    subscription.poll()

    def follow() -> None:
        assert subscription.poll() is not None

    def latency() -> float:
        commit()
        return timed(follow)

    commit()
    print(
        f"{implementation}, {size} items: open (join) "
        f"{Figures(tuple(timed(join) for _ in range(3)))}"
    )
    print(
        f"{implementation}, {size} items: small transaction "
        f"{Figures(tuple(timed(commit) for _ in range(RUNS)))}"
    )
    print(
        f"{implementation}, {size} items: full snapshot "
        f"{Figures(tuple(timed(snapshot) for _ in range(3)))}"
    )
    subscription.poll()
    print(
        f"{implementation}, {size} items: a follower's poll after a commit "
        f"{Figures(tuple(latency() for _ in range(RUNS)))}"
    )


def _with_history(implementation: str, home: Path) -> None:
    """How long it takes to join a small catalog that was changed often, before its history is
    compacted and after."""
    state = catalog(implementation, home)
    state.open()
    log, numbers = state._log, count()
    for _ in range(0, HISTORY, 2 * BATCH):
        first = state.sync().upper
        updates = []
        for at in range(first, first + BATCH):
            number = next(numbers)
            row = ("setting", f'{{"name":"setting {number}"}}', f'{{"value":"{number}"}}')
            updates += [
                CatalogUpdate(*row, Timestamp(at), 1),
                CatalogUpdate(*row, Timestamp(at + 1), -1),
            ]
        log.compare_and_append(first, Timestamp(first + BATCH + 1), updates, state.leadership)

    def join() -> None:
        catalog(implementation, home).join()

    label = f"{implementation}, {HISTORY:,} updates that cancel"
    print(f"{label}: open (join) {Figures(tuple(timed(join) for _ in range(3)))}")
    upper = state.sync().upper
    print(f"{label}: compacted in {timed(lambda: state.compact(upper)):.1f} s")
    print(f"{label}, compacted: open (join) {Figures(tuple(timed(join) for _ in range(3)))}")


def _throughput() -> None:
    postgres = os.environ.get("RECLOCK_BENCH_POSTGRES", "")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        places = [("stash, SQLite", "stash", ""), ("persist", "persist", "")]
        if postgres:
            places.append(("stash, PostgreSQL", "stash", postgres))
        for number, (label, implementation, url) in enumerate(places):
            place = home / str(number)
            place.mkdir()
            catalog(implementation, place, url=url).open()
            for writers in (1, WRITERS):
                rate = _race(["catalog", implementation, str(place), url], writers)
                print(f"{label}: {rate:.1f} commits/s with {writers} writers")
        bare = [("SQLite", f"sqlite:///{home / 'bare.db'}")] + (
            [("PostgreSQL", postgres)] if postgres else []
        )
        for label, url in bare:
            _prepare_bare(url)
            for writers in (1, WRITERS):
                print(
                    f"bare {label}: {_race(['sql', url], writers):.1f} transactions/s "
                    f"with {writers} writers"
                )
        table = str(home / "bare")
        write_deltalake(table, _ROW)
        for writers in (1, WRITERS):
            print(
                f"bare delta-rs append: {_race(['delta', table], writers):.1f} commits/s "
                f"with {writers} writers"
            )


def _race(arguments: list[str], writers: int) -> float:
    """Commits a second of that many processes, from when the first begins until the last is
    done."""
    command = [sys.executable, "-m", "benchmarks.catalog", *arguments]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(writers)
    ]
    for worker in running:
        assert worker.stdout
        assert worker.stdout.readline() == "ready\n"

    def race() -> None:
        for worker in running:
            assert worker.stdin
            worker.stdin.write("go\n")
            worker.stdin.flush()
        for worker in running:
            assert worker.wait() == 0

    return writers * COMMITS / timed(race)


_ROW = pa.table(
    {
        "kind": ["setting"],
        "key": ['{"name":"n"}'],
        "value": ['{"value":"1"}'],
        "ts": [1],
        "diff": [1],
    }
)


def _prepare_bare(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE IF EXISTS bare"))
        connection.execute(sa.text("DROP TABLE IF EXISTS bare_upper"))
        connection.execute(
            sa.text("CREATE TABLE bare (kind TEXT, key TEXT, value TEXT, ts BIGINT, diff INTEGER)")
        )
        connection.execute(sa.text("CREATE TABLE bare_upper (upper BIGINT)"))
        connection.execute(sa.text("INSERT INTO bare_upper VALUES (0)"))


def _worker(kind: str, *arguments: str) -> None:
    workers: dict[str, Callable[..., Callable[[], None]]] = {
        "catalog": _catalog_worker,
        "sql": _sql_worker,
        "delta": _delta_worker,
    }
    work = workers[kind](*arguments)
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(COMMITS):
        work()


def _catalog_worker(implementation: str, home: str, url: str) -> Callable[[], None]:
    state = catalog(implementation, Path(home), url=url)
    state.join()
    name = str(os.getpid())
    numbers = count()
    return lambda: state.put([Setting(name, str(next(numbers)))])


def _sql_worker(url: str) -> Callable[[], None]:
    engine = sa.create_engine(url, connect_args={"timeout": 60} if url.startswith("sqlite") else {})
    if url.startswith("sqlite"):
        sa.event.listen(
            engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous = FULL")
        )

    def work() -> None:
        with engine.connect() as connection:
            if url.startswith("sqlite"):
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            row = {
                name: column[0].as_py()
                for name, column in zip(_ROW.column_names, _ROW.columns, strict=True)
            }
            connection.execute(sa.text("UPDATE bare_upper SET upper = upper + 1"))
            connection.execute(
                sa.text("INSERT INTO bare VALUES (:kind, :key, :value, :ts, :diff)"), row
            )
            connection.commit()

    return work


def _delta_worker(table: str) -> Callable[[], None]:
    # Writers that race for a commit or its checkpoint fail at times; whoever runs several tries
    # again.
    append = stamina.retry(
        on=DeltaError, attempts=None, timeout=None, wait_initial=0.01, wait_max=0.1
    )(write_deltalake)
    return lambda: append(table, _ROW, mode="append")


if __name__ == "__main__":
    _worker(*sys.argv[1:])
