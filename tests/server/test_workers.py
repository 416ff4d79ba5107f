"""``reclock serve --workers``: several processes behind one port, as clients see them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import psutil
import psycopg
import pytest
from fixtures import forks
from fixtures.ports import free_port
from fixtures.server import SqlServer, cancelled, start_server, stop_outside_transactions
from fixtures.waiting import PATIENCE_S, eventually
from server.test_fenced import lead_anew

SLOW = "SELECT sum(sqrt(a.n + b.n + c.n + d.n)) FROM numbers a, numbers b, numbers c, numbers d"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlServer]:
    started = start_server(
        tmp_path_factory.mktemp("workers"),
        workers=2,
        RECLOCK_MAX_CONNECTIONS="8",
        RECLOCK_ADVISORY_LOCK_LEASE_MS="3000",
    )
    try:
        with started.connect() as connection:
            connection.execute("CREATE TABLE numbers (n integer)")
            connection.execute("INSERT INTO numbers SELECT * FROM generate_series(1, 1000)")
        yield started
    finally:
        started.kill()


def worker_of(connection: psycopg.Connection) -> int:
    """The number of the worker that serves the connection."""
    return (connection.info.backend_pid - 1) % 2


@dataclass(slots=True)
class Clients:
    """Connections to a server of two workers. A worker may learn late that one is closed: what
    needs a certain share waits for it."""

    server: SqlServer
    opened: list[psycopg.Connection] = field(default_factory=list)

    def connect(self, **options: str) -> psycopg.Connection:
        self.opened.append(self.server.connect(options))
        return self.opened[-1]

    def connect_all(self, count: int, **options: str) -> list[psycopg.Connection]:
        """As many at once, as soon as there is room for them."""
        return eventually(lambda: self._all(count, options), self.server.log)

    def _all(self, count: int, options: dict[str, str]) -> list[psycopg.Connection]:
        connections: list[psycopg.Connection] = []
        try:
            for _ in range(count):
                connections.append(self.connect(**options))
        except psycopg.OperationalError:
            close(connections)
            return []
        return connections

    def two_of_each_worker(self) -> list[list[psycopg.Connection]]:
        """By the worker's number."""
        return eventually(self._two_of_each, self.server.log)

    def _two_of_each(self) -> list[list[psycopg.Connection]]:
        connections = self.connect_all(4)
        by_worker = [[c for c in connections if worker_of(c) == number] for number in range(2)]
        if len(by_worker[0]) == 2:
            return by_worker
        close(connections)
        return []

    def one_of_each_worker(self, **options: str) -> list[psycopg.Connection]:
        """By the worker's number."""
        by_worker: dict[int, psycopg.Connection] = {}
        spare = []
        while len(by_worker) < 2:
            (connection,) = self.connect_all(1, **options)
            if worker_of(connection) in by_worker:
                spare.append(connection)
            else:
                by_worker[worker_of(connection)] = connection
        close(spare)
        return [by_worker[0], by_worker[1]]


@pytest.fixture
def clients(server: SqlServer) -> Iterator[Clients]:
    """Of a server that both workers serve. All are closed at the end of the test."""
    opened = Clients(server)
    opened.two_of_each_worker()
    close(opened.opened)
    yield opened
    close(opened.opened)


def close(connections: list[psycopg.Connection]) -> None:
    for connection in connections:
        connection.close()


def test_connections_are_shared_evenly_and_a_closed_one_counts_no_more(clients: Clients) -> None:
    close(clients.two_of_each_worker()[1])

    def next_go_there() -> bool:
        later = clients.connect_all(2)
        served = {worker_of(connection) for connection in later}
        close(later)
        return served == {1}

    eventually(next_go_there, clients.server.log)


def test_what_one_worker_commits_every_worker_reads(clients: Clients) -> None:
    connections = clients.one_of_each_worker()
    for number, connection in enumerate(connections):
        connection.execute(f"CREATE TABLE of_{number} (n integer)")
        for n in range(10):
            connection.execute(f"INSERT INTO of_{number} VALUES (%s)", (n,))
            other = connections[1 - number]
            assert other.execute(f"SELECT count(*) FROM of_{number}").fetchone() == (n + 1,)


def test_a_statement_is_cancelled_whichever_worker_gets_the_request(clients: Clients) -> None:
    connections = clients.one_of_each_worker()
    for connection in connections:
        for _ in range(2):
            with cancelled(connection), pytest.raises(psycopg.errors.QueryCanceled):
                connection.execute(SLOW)


def test_a_cancel_request_needs_the_secret_of_its_connection(clients: Clients) -> None:
    for connection in clients.connect_all(2):
        process_id = connection.info.backend_pid
        packet = (80877102).to_bytes(4, "big") + process_id.to_bytes(4, "big") + b"\0\0\0\0"
        with socket.create_connection(("127.0.0.1", clients.server.port)) as client:
            client.sendall((len(packet) + 4).to_bytes(4, "big") + packet)
            assert client.recv(1) == b""
        assert connection.execute("SELECT count(*) FROM numbers").fetchone() == (1000,)


def test_each_worker_shows_the_sessions_of_all(clients: Clients) -> None:
    for observer, observed in ((0, 1), (1, 0)):
        connections = clients.one_of_each_worker()
        observer_connection, other = connections[observer], connections[observed]
        other.execute("BEGIN")
        other.execute("DECLARE ours CURSOR FOR SELECT n FROM numbers")
        observer_connection.execute("SELECT 1")
        query = (
            "SELECT usename, datname, backend_start <= query_start, state, query FROM "
            "pg_stat_activity WHERE pid = %s"
        )
        expected = (
            "reclock",
            "reclock",
            True,
            "idle in transaction",
            "DECLARE ours CURSOR FOR SELECT n FROM numbers",
        )
        assert observer_connection.execute(query, [other.info.backend_pid]).fetchall() == [expected]
        cursors = "SELECT pid, name FROM mz_internal.mz_cursors"
        assert observer_connection.execute(cursors).fetchall() == [(other.info.backend_pid, "ours")]
        close(connections)


def test_a_session_of_another_worker_is_cancelled_and_ended(clients: Clients) -> None:
    first, second = clients.one_of_each_worker()
    process_id = second.info.backend_pid
    active = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND state = 'active'"

    def cancel() -> None:
        eventually(lambda: first.execute(active, [process_id]).fetchall(), clients.server.log)
        assert first.execute("SELECT pg_cancel_backend(%s)", [process_id]).fetchone() == (True,)

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        second.execute(SLOW)
    cancelling.join()
    assert first.execute("SELECT pg_terminate_backend(%s)", [process_id]).fetchone() == (True,)
    with pytest.raises(psycopg.errors.AdminShutdown):
        second.execute("SELECT 1")
    eventually(
        lambda: first.execute("SELECT pg_cancel_backend(%s)", [process_id]).fetchone() == (False,),
        clients.server.log,
    )


def test_sessions_of_other_workers_have_the_same_privileges(clients: Clients) -> None:
    with clients.connect() as connection:
        connection.execute("CREATE ROLE plain LOGIN")
    superusers, plain = clients.one_of_each_worker(), clients.one_of_each_worker(user="plain")
    superusers[0].execute("SELECT 'secret'")
    query = "SELECT query FROM pg_stat_activity WHERE pid = %s"
    assert plain[1].execute(query, [superusers[0].info.backend_pid]).fetchall() == [
        ("<insufficient privilege>",)
    ]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        plain[1].execute("SELECT pg_terminate_backend(%s)", [superusers[0].info.backend_pid])
    assert plain[1].execute(
        "SELECT pg_terminate_backend(%s)", [plain[0].info.backend_pid]
    ).fetchone() == (True,)


def test_a_stopped_worker_is_left_out_and_named(clients: Clients) -> None:
    first, second = clients.one_of_each_worker()
    stopped = workers_of(clients.server)[1]
    stop_outside_transactions(stopped.pid, clients.server.home / "consensus.db")
    try:
        sessions = {
            process_id
            for (process_id,) in first.execute("SELECT pid FROM pg_stat_activity").fetchall()
        }
        assert first.info.backend_pid in sessions
        assert second.info.backend_pid not in sessions
        with pytest.raises(psycopg.errors.CannotConnectNow, match="worker 1"):
            first.execute("SELECT pg_cancel_backend(%s)", [second.info.backend_pid])
    finally:
        stopped.resume()
    eventually(
        lambda: (
            first.execute(
                "SELECT 1 FROM pg_stat_activity WHERE pid = %s", [second.info.backend_pid]
            ).rowcount
            == 1
        ),
        clients.server.log,
    )


def test_too_many_clients_are_refused_as_by_one_process(clients: Clients) -> None:
    clients.connect_all(8)
    with pytest.raises(psycopg.OperationalError, match="too many"):
        clients.connect()


def test_a_killed_worker_takes_only_its_own_sessions_and_is_replaced(clients: Clients) -> None:
    by_worker = clients.one_of_each_worker()
    workers_of(clients.server)[1].kill()
    with pytest.raises(psycopg.OperationalError):
        by_worker[1].execute("SELECT 1")
    assert by_worker[0].execute("SELECT count(*) FROM numbers").fetchone() == (1000,)
    with clients.connect() as meanwhile:
        assert meanwhile.execute("SELECT 1").fetchone() == (1,)
    clients.two_of_each_worker()


def workers_of(server: SqlServer) -> dict[int, psutil.Process]:
    """By number: of those that are started again, each is the last."""
    children = psutil.Process(server.pid).children()
    return dict(enumerate(sorted(children, key=lambda child: (child.create_time(), child.pid))))


def test_a_lock_of_a_worker_that_stands_still_goes_to_another_and_ends_the_session(
    clients: Clients,
) -> None:
    first, second = clients.one_of_each_worker()
    attempt = "SELECT pg_try_advisory_lock(1)"
    assert second.execute(attempt).fetchone() == (True,)
    assert first.execute(attempt).fetchone() == (False,)
    stopped = workers_of(clients.server)[1]
    stop_outside_transactions(stopped.pid, clients.server.home / "consensus.db")
    try:
        first.execute("SELECT pg_advisory_lock(1)")
    finally:
        stopped.resume()
    with pytest.raises(psycopg.errors.AdminShutdown, match="advisory locks may be lost"):
        second.execute("INSERT INTO numbers VALUES (0)")
    assert second.closed
    workers_of(clients.server)[0].kill()
    clients.two_of_each_worker()
    clients.connect().execute("SELECT pg_advisory_lock(1)")


def test_workers_that_a_newer_epoch_fences_join_it_on_the_same_port(clients: Clients) -> None:
    lead_anew(clients.server.home)

    def writes() -> bool:
        connections = clients.connect_all(2)
        served = {worker_of(connection) for connection in connections}
        try:
            for connection in connections:
                connection.execute("INSERT INTO numbers SELECT 1001 WHERE false")
                connection.execute("CREATE TABLE IF NOT EXISTS after (n integer)")
        except psycopg.Error:
            return False
        finally:
            close(connections)
        return served == {0, 1}

    eventually(writes, clients.server.log)
    assert clients.server.process.is_alive()


def test_each_worker_is_monitored_on_a_port_of_its_own(
    new_server: Callable[..., SqlServer], tmp_path: Path
) -> None:
    port = free_port()
    new_server(tmp_path / "home", workers=2, RECLOCK_SERVE_HTTP=str(port))
    for number in range(2):
        with urlopen(f"http://127.0.0.1:{port + number}/readyz", timeout=PATIENCE_S) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_no_worker_outlives_the_process_that_listens(
    new_server: Callable[..., SqlServer], tmp_path: Path, end: str
) -> None:
    server = new_server(tmp_path / "home", workers=2)
    workers = psutil.Process(server.pid).children()
    assert len(workers) == 2
    with server.connect() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        if end == "stop":
            assert server.stop() == 0
        else:
            server.kill()
        _, alive = psutil.wait_procs(workers, PATIENCE_S)
        assert not alive
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def test_what_keeps_them_from_serving_is_said_once_and_ends_them(tmp_path: Path) -> None:
    home = tmp_path / "home"
    words = ("serve", "--home", str(home), "--workers", "3")
    assert forks.command("init", "--home", str(home)) == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = forks.completed(*words, "--port", port)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("cannot listen") == 1
    ended = forks.completed(*words, "--port", "0", "--host", "0.0.0.0")  # noqa: S104
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("TLS") == 1
