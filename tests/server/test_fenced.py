"""A server that a newer epoch has fenced: it joins that epoch, or ends with a code where it
cannot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from fixtures.server import SqlServer
from fixtures.waiting import eventually

from reclock.runtime.environment import Environment
from reclock.runtime.system_relations import SYSTEM_OBJECTS


def lead_anew(home: Path) -> None:
    """Another process opens the catalog for leading, as a release or an edit by hand does."""
    environment = Environment.unopened(home)
    try:
        environment.stores.catalog.open(SYSTEM_OBJECTS)
    finally:
        environment.close()


def inserted(server: SqlServer, value: int) -> bool:
    try:
        with server.connect() as connection:
            connection.execute(f"INSERT INTO t VALUES ({value})")
            return True
    except psycopg.Error:
        return False


@pytest.fixture
def server(new_server: Callable[..., SqlServer], tmp_path: Path) -> SqlServer:
    started = new_server(tmp_path / "home")
    with started.connect() as connection:
        connection.execute("CREATE TABLE t (a int)")
    return started


def test_a_fenced_server_joins_the_new_epoch_on_the_same_port(server: SqlServer) -> None:
    with server.connect() as before:
        lead_anew(server.home)
        eventually(lambda: inserted(server, 1) or not server.process.is_alive(), server.log)
        assert server.process.is_alive(), server.log()
        with pytest.raises(psycopg.OperationalError, match=r"administrator command|closed"):
            before.execute("SELECT a FROM t")
    with server.connect() as after:
        assert after.execute("SELECT a FROM t").fetchall() == [(1,)]
    assert server.stop() == 0


def test_an_idle_server_finds_out_by_itself_and_ends_where_a_newer_generation_leads(
    server: SqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLOCK_DEPLOY_GENERATION", "1")
    lead_anew(server.home)
    assert server.exit_code() == 1
    assert "deploy generation" in server.log()
