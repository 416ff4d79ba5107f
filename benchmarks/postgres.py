"""A publication beside what the server itself can do: its changes beside ``pg_recvlogical`` to a
file, its beginning beside ``COPY`` to a file. Audit is on; the JVM is warm."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psycopg
from fixtures.postgres import PASSWORD, PostgresServer, running

from benchmarks.figures import Figures, timed
from reclock.adapter.session.session import Session
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
RUNS = 3
_PER_TRANSACTION = 1_000

_COLUMNS = (
    "(id bigint PRIMARY KEY, at timestamptz, carrier text, origin text, delay int, distance "
    "double precision, note text)"
)
_ROW = (
    "i, '2013-01-01'::timestamptz + i * interval '1 s', 'UA', 'JFK', i % 200 - 20, i % 3000 "
    "+ 0.5, 'message ' || i"
)


@dataclass(frozen=True, slots=True)
class Upstream:
    server: PostgresServer
    passfile: Path

    @property
    def connection(self) -> str:
        return (
            f"host=127.0.0.1 port={self.server.port} user=postgres dbname=postgres "
            f"passfile={self.passfile}"
        )

    def run(self, *statements: str) -> None:
        with psycopg.connect(self.server.dsn(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def fill(self, table: str, lower: int, upper: int) -> None:
        self.run(f"INSERT INTO {table} SELECT {_ROW} FROM generate_series({lower + 1}, {upper}) i")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with upstream(home) as server, Environment.initialise(home / "environment") as environment:
            _run(environment, server, home, "warm", _PER_TRANSACTION)
            runs = [_run(environment, server, home, f"run{number}", ROWS) for number in range(RUNS)]
    print(f"a table of {ROWS} rows; load {os.getloadavg()[0]:.0f}")
    _report("copied at the beginning", "COPY", [copies for copies, _ in runs])
    _report(
        f"inserted, {_PER_TRANSACTION} a transaction",
        "pg_recvlogical",
        [changes for _, changes in runs],
    )


@contextmanager
def upstream(home: Path) -> Iterator[Upstream]:
    home.chmod(0o755)  # the server has a user of its own
    (home / "postgres").mkdir()
    passfile = home / "passfile"
    passfile.write_text(f"*:*:*:*:{PASSWORD}")
    passfile.chmod(0o600)
    with running(home / "postgres") as server:
        yield Upstream(server, passfile)


def _report(what: str, peer: str, seconds: list[tuple[float, float]]) -> None:
    ours, theirs = (Figures(side) for side in zip(*seconds, strict=True))
    print(f"{what}: {ours}, {ROWS / ours.median:,.0f} rows/s")
    print(
        f"  {peer} to a file: {theirs}, {ROWS / theirs.median:,.0f} rows/s; "
        f"{median(b / a for a, b in seconds):.2f} times of that"
    )


def _run(
    environment: Environment, upstream: Upstream, home: Path, name: str, rows: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Seconds of both sides, for the copy and for as many changes."""
    upstream.run(f"CREATE TABLE {name} {_COLUMNS}", f"CREATE PUBLICATION {name} FOR TABLE {name}")
    upstream.fill(name, 0, rows)
    upstream.run("CHECKPOINT")
    create = (
        f"CREATE SOURCE source_{name} FROM POSTGRES CONNECTION '{upstream.connection}' "
        f"PUBLICATION '{name}' FOR ALL TABLES"
    )
    list(Session(environment).execute(create))
    copied = (
        timed(lambda: _tick(environment, name, rows)),
        timed(lambda: _copy(upstream, name, home / "copied")),
    )
    upstream.run(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
    for lower in range(rows, 2 * rows, _PER_TRANSACTION):
        upstream.fill(name, lower, lower + _PER_TRANSACTION)
    changed = (
        timed(lambda: _tick(environment, name, rows)),
        timed(lambda: _receive(upstream, name, home / "received")),
    )
    list(Session(environment).execute(f"DROP SOURCE source_{name} CASCADE"))
    upstream.run(
        f"SELECT pg_drop_replication_slot('{name}')",
        f"DROP PUBLICATION {name}",
        f"DROP TABLE {name}",
    )
    return copied, changed


def _tick(environment: Environment, name: str, rows: int) -> None:
    report = tick.run(environment, only=[f"source_{name}"], owner="bench")
    assert report.succeeded, report.summary()
    assert sum(report.published.rows.values()) == rows, report.summary()


def _copy(upstream: Upstream, name: str, target: Path) -> None:
    with psycopg.connect(upstream.server.dsn()) as connection, target.open("wb") as file:
        with connection.cursor().copy(f"COPY {name} TO STDOUT") as copied:
            for block in copied:
                file.write(block)


def _receive(upstream: Upstream, name: str, target: Path) -> None:
    with psycopg.connect(upstream.server.dsn()) as connection:
        [end] = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone() or [""]
    binary = str(upstream.server.bin / "pg_recvlogical")
    server = [
        "-h",
        "127.0.0.1",
        "-p",
        str(upstream.server.port),
        "-U",
        "postgres",
        "-d",
        "postgres",
    ]
    replication = [
        "--slot",
        name,
        "--start",
        "--no-loop",
        "--endpos",
        end,
        "--file",
        str(target),
        "--fsync-interval",
        "0",
    ]
    options = ["-o", "proto_version=1", "-o", f"publication_names={name}"]
    subprocess.run(
        [binary, *server, *replication, *options],
        check=True,
        env=os.environ | {"PGPASSWORD": PASSWORD},
    )


if __name__ == "__main__":
    main()
