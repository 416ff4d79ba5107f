"""A statement that nothing interrupts does not keep the server from stopping."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest
from fixtures import forks
from fixtures.waiting import PATIENCE_S

from reclock.adapter.session import session
from reclock.runtime.environment import Environment
from reclock.server import serve_loop, server
from reclock.server.listeners import PortListener


def serve(home: Path, ready: Connection) -> None:
    """A server that parses ``stuck`` for ever, and says that it has begun."""
    parse = session.parse

    def slow_parse(text: str) -> object:
        if text == "stuck":
            ready.send(text)
            while True:
                time.sleep(0.01)
        return parse(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "parse", slow_parse)
        patch.setattr(server, "_GRACE_S", 0.2)
        serve_loop.serve(home, PortListener("127.0.0.1", 0, lambda _, port: ready.send(port)))


def test_a_server_stops_beside_a_statement_that_cannot_be_interrupted(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path):
        pass
    process, ready = forks.fork(serve, tmp_path)
    dsn = f"host=127.0.0.1 port={ready.recv()} user=reclock dbname=reclock"

    def send() -> None:
        with suppress(psycopg.Error), psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(b"stuck")

    client = threading.Thread(target=send, daemon=True)
    client.start()
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert ready.recv() == "stuck"
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    process.join(PATIENCE_S)
    exit_code = process.exitcode
    process.kill()
    assert exit_code == 0
    client.join()
