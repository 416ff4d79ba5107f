"""The Java process of a server's Spark ends: who was at work with it learns that, and it is there
again."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest
from fixtures.ports import free_port
from fixtures.server import RECLOCK, SqlServer
from fixtures.spark import connect_server
from fixtures.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.spark

COUNT = "SELECT count(*) FROM region"
ENDLESS = (
    "SELECT count(*) FROM lineitem a, lineitem b, lineitem c WHERE a.l_orderkey + "
    "b.l_orderkey + c.l_orderkey = 0"
)


def kill_spark(server: SqlServer) -> None:
    java = [
        child
        for child in psutil.Process(server.pid).children(recursive=True)
        if child.name() == "java"
    ]
    assert java
    for child in java:
        child.kill()
    eventually(
        lambda: (
            not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in java)
        )
    )


def create_relations(connection: psycopg.Connection, home: Path) -> None:
    connection.execute("SET statement_timeout = 0")  # a busy machine takes a minute to start Spark
    connection.execute(
        "CREATE SOURCE tpch FROM LOAD GENERATOR TPCH (SCALE FACTOR 0.001) FOR TABLES "
        "(region, lineitem)"
    )
    subprocess.run([RECLOCK, "tick", "--home", str(home)], check=True, capture_output=True)
    assert "spark" in str(connection.execute(f"EXPLAIN {COUNT}").fetchall())


def test_a_server_goes_on_when_its_spark_is_killed(
    tmp_path: Path, new_server: Callable[..., SqlServer]
) -> None:
    server = new_server(tmp_path, RECLOCK_SPARK_THRESHOLD_BYTES="0")
    with server.connect() as connection, server.connect() as other:
        create_relations(connection, tmp_path)
        assert connection.execute(COUNT).fetchone() == (5,)

        kill_spark(server)  # nobody is at work with it
        assert connection.execute(COUNT).fetchone() == (5,)

        failures: list[psycopg.Error] = []

        def work() -> None:
            try:
                other.execute(ENDLESS)
            except psycopg.Error as error:
                failures.append(error)

        works = threading.Thread(target=work)
        works.start()
        active = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = %s"
        eventually(lambda: connection.execute(active, [ENDLESS]).fetchone() == (1,))
        time.sleep(1)  # its jobs have begun
        kill_spark(server)
        works.join(PATIENCE_S)
        assert [error.sqlstate for error in failures] == ["58000"]
        assert other.execute("SELECT 1").fetchone() == (1,)
        assert other.execute(COUNT).fetchone() == (5,)


def test_a_server_goes_on_when_the_spark_connect_server_is_another(
    tmp_path: Path, new_server: Callable[..., SqlServer]
) -> None:
    port = free_port()
    with connect_server(tmp_path, port) as url:
        server = new_server(tmp_path, RECLOCK_SPARK_THRESHOLD_BYTES="0", RECLOCK_SPARK_REMOTE=url)
        with server.connect() as connection:
            create_relations(connection, tmp_path)
            assert connection.execute(COUNT).fetchone() == (5,)
    with connect_server(tmp_path, port), server.connect() as connection:
        assert connection.execute(COUNT).fetchone() == (5,)
        assert connection.execute(COUNT).fetchone() == (5,)
