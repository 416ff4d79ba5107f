"""Environments that earlier releases left behind, in the middle of their work, go on under this
one.

``releases/catalog_v3.tar.gz`` was made by the commands of the release before catalog version 4: a
table with rows, a source of which all was published, a materialized view, and a second source whose
tick was killed at ``ingest.after_claimed``. ``releases/catalog_v9.tar.gz`` was made by
``make_release.py`` and has views and sinks. All leases in them have run out.
"""

from __future__ import annotations

import hashlib
import sqlite3
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import psycopg
from fixtures.postgres import PostgresServer
from fixtures.sessions import sql
from fixtures.sunk import delta_rows
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy.engine import make_url
from stores.make_release import MADE_IN

import reclock
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

FROZEN = {
    "catalog_v3.tar.gz": "04fd4634625843aae53672ed2d014090fa6846beb052153098e3b1dd626c9f43",
    "catalog_v9.tar.gz": "92a41a67e87c974509cc334463ac734f7602a380f54ac42d725d0e1e18bcad4e",
}
RELEASES = Path(__file__).parent / "releases"
VIEWS = (
    *("averages", "joined", "extremes", "totals", "containment", "above_average"),
    *("private_customers", "named_orders", "towns", "newest", "dearest", "ids", "unsold"),
    *("offers", "cheapest", "suppliers", "counted"),
)
CHANGES = (
    "UPDATE orders SET price = price + 1, discount = 0.001 WHERE customer = 1",
    "INSERT INTO orders VALUES (6, 2, 1.01, 9.99, 0.5, NULL, '2026-02-03', '1 year', '{c}')",
    "DELETE FROM orders WHERE id = 1",
    "DELETE FROM parts WHERE part = 2",
    "DELETE FROM orders WHERE customer = 3",
    "UPDATE customers SET name = 'Ada L.' WHERE id = 1",
    "DELETE FROM customers WHERE id = 2",
)

Rows = Counter[tuple[Any, ...]]


def test_releases_do_not_change() -> None:
    present = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in RELEASES.iterdir()
    }
    assert present == FROZEN


def test_what_a_release_claimed_is_finished_by_this_one(tmp_path: Path) -> None:
    _extract("catalog_v3.tar.gz", tmp_path)
    with Environment.initialise(tmp_path) as environment:
        assert sql(environment, "SELECT * FROM t ORDER BY a") == [(1, "one"), (2, "two")]
        assert sql(environment, "SELECT count(*) FROM nation") == [(25,)]
        report = tick.run(environment, owner="tests", is_last=True)
        assert report.failed == ()
        assert sql(environment, "SELECT count(*) FROM region2") == [(5,)]
        assert sql(environment, "SELECT n FROM m") == [(5,)]
        sql(environment, "INSERT INTO t VALUES (3, 'three')")
        assert sql(environment, "SELECT count(*) FROM t") == [(3,)]


def test_views_and_sinks_of_a_release_are_maintained_by_this_one(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    _extract("catalog_v9.tar.gz", tmp_path)
    _relocate_iceberg(tmp_path)
    database = str(make_url(postgres_url).database)
    postgres_server.execute((tmp_path / "target.sql").read_text(), database)
    with reclock.connect(tmp_path) as client:
        client.sql(f"ALTER CONNECTION shop SET (PORT {postgres_server.port}, DATABASE {database})")
        for statement in ("", *CHANGES):
            if statement:
                client.sql(statement)
            assert client.tick().failed == ()
            for view in VIEWS:
                recomputed = Counter(client.sql(f"SELECT * FROM {view}_plain").rows())
                assert Counter(client.sql(f"SELECT * FROM {view}").rows()) == recomputed, view
            averages = Counter(client.sql("SELECT * FROM averages").rows())
            assert delta_rows(tmp_path / "sinks/averages") == averages
            assert _rows_of_files(tmp_path / "sinks/averages_files") == averages
            assert _rows_of_iceberg(tmp_path) == averages
            with psycopg.connect(postgres_server.dsn(database)) as target:
                assert Counter(target.execute("SELECT * FROM averages").fetchall()) == averages
            joined = client.sql("SELECT * FROM joined").rows()
            assert delta_rows(tmp_path / "sinks/joined") == Counter(joined)


def _extract(release: str, home: Path) -> None:
    with tarfile.open(RELEASES / release) as archive:
        archive.extractall(home, filter="data")
    # the sample grows older
    (home / "reclock.toml").write_text(f"max_clock_jump_ms = {2**53}\n")


def _relocate_iceberg(home: Path) -> None:
    """Iceberg's metadata has absolute paths: those of the folder in which the release was made
    become those of ``home``."""
    for path in home.glob("sinks/iceberg/**/*.json"):
        path.write_text(path.read_text().replace(MADE_IN, str(home)))
    for path in home.glob("sinks/iceberg/**/*.avro"):
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            records, schema = [_moved(record, home) for record in reader], reader.writer_schema
            headers = {k: v for k, v in reader.metadata.items() if not k.startswith("avro.")}
        with path.open("wb") as file:
            fastavro.writer(file, schema, records, metadata=headers)
    with sqlite3.connect(home / "iceberg.db") as catalog:
        catalog.execute(
            "UPDATE iceberg_tables SET metadata_location = replace(metadata_location, ?, ?), "
            "previous_metadata_location = replace(previous_metadata_location, ?, ?)",
            (MADE_IN, str(home)) * 2,
        )
    catalog.close()


def _moved(value: Any, home: Path) -> Any:
    if isinstance(value, dict):
        return {key: _moved(part, home) for key, part in value.items()}
    return value.replace(MADE_IN, str(home)) if isinstance(value, str) else value


def _rows_of_iceberg(home: Path) -> Rows:
    catalog = SqlCatalog("reclock", uri=f"sqlite:///{home}/iceberg.db")
    table = catalog.load_table(("reports", "averages")).scan().to_arrow()
    return Counter(tuple(row.values()) for row in table.to_pylist())


def _rows_of_files(folder: Path) -> Rows:
    """The rows that the changes in all files add up to."""
    rows: Rows = Counter()
    for *row, diff in duckdb.sql(
        f"SELECT * EXCLUDE (mz_timestamp) FROM read_parquet('{folder}/*/*.parquet')"
    ).fetchall():
        rows[tuple(row)] += diff
    return +rows
