"""The SQL port of docker/compose.yaml, without containers: its own commands and settings, with other
folders and ports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from fixtures.ports import free_port
from fixtures.waiting import PATIENCE_S, eventually

from reclock.airflow.warm import WarmProcess, WarmProcessGone, WarmProcessRefuses

pytestmark = pytest.mark.servers

PROJECT = Path(__file__).resolve().parents[2]
PASSWORD = "0123456789abcdef"
OF_OTHER_SERVICES = ("airflow db",)
"""What of the setup needs Airflow's database."""


@dataclass(frozen=True)
class Compose:
    """The services, whose home is ``home``."""

    home: Path
    services: Mapping[str, Any]

    @property
    def certificate(self) -> Path:
        return self.home / "tls" / "certificate.pem"

    def set_up(self) -> None:
        _, _, script = self.services["setup"]["command"]
        lines = [
            line for line in script.splitlines() if not any(s in line for s in OF_OTHER_SERVICES)
        ]
        self.run(["sh", "-ec", "\n".join(lines)], SQL_PASSWORD=PASSWORD)

    def run(self, command: list[str], **variables: str) -> None:
        words = [self.here(word) for word in command]
        subprocess.run(words, check=True, env=self.environment(variables), capture_output=True)

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        values = {name: self.here(value) for name, value in variables.items()}
        return {**os.environ, "PATH": path, "RECLOCK_HOME": str(self.home), **values}

    def here(self, text: str) -> str:
        """The text with the folders of this machine instead of the image's."""
        return text.replace("/var/lib/reclock", str(self.home)).replace(
            "/opt/reclock", str(PROJECT)
        )

    @contextmanager
    def serving(self) -> Iterator[tuple[subprocess.Popen[str], int]]:
        """The service ``sql``, and the port at which it answers over HTTPS."""
        service, https = self.services["sql"], free_port()
        words = " ".join(service["command"]).replace("6875", "0").replace("9187", str(https))
        common = self.services["airflow-scheduler"]["environment"]
        variables = {k: v for k, v in service["environment"].items() if common.get(k) != v}
        with subprocess.Popen(
            words.split(),
            env=self.environment(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process, https
            finally:
                process.send_signal(signal.SIGTERM)

    def refusal(self) -> str:
        with self.serving() as (process, _):
            _, log = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 1
        return log


@pytest.fixture
def compose(tmp_path: Path) -> Compose:
    document = yaml.safe_load((PROJECT / "docker" / "compose.yaml").read_text())
    return Compose(tmp_path / "home", document["services"])


def test_clients_verify_the_server_and_have_a_password(compose: Compose) -> None:
    compose.set_up()
    made = (compose.home / "tls" / "server.pem").read_bytes()
    compose.set_up()  # as each start does
    assert (compose.home / "tls" / "server.pem").read_bytes() == made
    assert (compose.home / "tls" / "server.pem").stat().st_mode & 0o077 == 0
    assert b"PRIVATE KEY" not in compose.certificate.read_bytes()
    with compose.serving() as (process, https):
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])

        def connect(**more: Any) -> psycopg.Connection:
            verifying = {"sslmode": "verify-full", "sslrootcert": str(compose.certificate)}
            of_server = {
                "port": port,
                "user": "reclock",
                "dbname": "reclock",
                "connect_timeout": 30,
            }
            return psycopg.connect(
                **{"host": "127.0.0.1", "password": PASSWORD, **of_server, **verifying, **more}
            )

        for host in ("127.0.0.1", "localhost", "sql"):  # as clients and other services name it
            with connect(host=host, hostaddr="127.0.0.1") as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
                assert connection.pgconn.ssl_in_use
        with pytest.raises(psycopg.OperationalError, match="does not match"):
            connect(host="db.example", hostaddr="127.0.0.1")
        for wrong in ({"password": "x"}, {"password": None, "passfile": os.devnull}):
            with pytest.raises(psycopg.OperationalError, match="password"):
                connect(**wrong)

        service = compose.services["sql"]
        check = " ".join(service["healthcheck"]["test"][1:]).replace("9187", str(https))
        compose.run(check.split())
        airflow = json.loads(compose.here(service["environment"]["AIRFLOW_CONN_RECLOCK_WARM"]))
        assert (airflow["conn_type"], airflow["host"], airflow["port"]) == ("https", "sql", 9187)
        url, ca = f"https://localhost:{https}", airflow["extra"]["ca"]
        with pytest.raises(WarmProcessGone):  # it knows no such step
            WarmProcess(url, airflow["login"], PASSWORD, ca).look("none", after=0, wait_s=0)
        with pytest.raises(WarmProcessRefuses, match="401"):
            WarmProcess(url, airflow["login"], "x", ca).look("none", after=0, wait_s=0)


def test_it_does_not_listen_before_there_are_a_certificate_and_a_password(compose: Compose) -> None:
    compose.run(["reclock", "init"])
    assert "certificate" in compose.refusal()
    [making] = [
        line
        for line in compose.services["setup"]["command"][2].splitlines()
        if "make_certificate" in line
    ]
    compose.run(making.split())
    assert "roles without a password: reclock" in compose.refusal()


def test_each_folder_of_the_backup_service_can_be_restored(
    compose: Compose, tmp_path: Path
) -> None:
    compose.run(["reclock", "init"])
    compose.run(
        ["reclock", "sql", "-c", "CREATE TABLE t (id int)", "-c", "INSERT INTO t VALUES (7)"]
    )
    backups = tmp_path / "backups"
    partial, old = backups / "unfinished" / "left", backups / "2020-01-01T000000"
    partial.mkdir(parents=True)
    old.mkdir()
    os.utime(old, (0, 0))
    words = [compose.here(word) for word in compose.services["backup"]["command"]]
    environment = compose.environment({"BACKUP_EVERY": "1h", "BACKUP_DAYS": "14"})
    with subprocess.Popen([*words[:-1], str(backups)], env=environment) as process:
        eventually(lambda: not old.exists())
        process.terminate()
    [folder] = backups.iterdir()
    assert folder.name.startswith("20")
    restored = Compose(tmp_path / "restored", compose.services)
    restored.run(["reclock", "restore", str(folder), "--home", str(restored.home)])
    environment = restored.environment({})
    query = ["reclock", "sql", "--format", "csv", "-c", "SELECT id FROM t"]
    rows = subprocess.run(query, env=environment, check=True, capture_output=True, text=True)
    assert rows.stdout.split() == ["id", "7"]
