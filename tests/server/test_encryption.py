"""Passwords and TLS: who comes in how, and where the server refuses to listen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import trustme
from fixtures import forks
from fixtures.server import SqlServer


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """The PEM files of a server's certificate with its key, and of the authority behind it."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    server, root = tmp_path / "server.pem", tmp_path / "root.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(server)
    authority.cert_pem.write_to_path(root)
    return server, root


def set_password(home: Path, text: str) -> None:
    done = forks.completed("password", "reclock", input=text + "\n", RECLOCK_HOME=str(home))
    assert done.returncode == 0, done.stderr


def test_a_password_is_asked_for_and_encryption_is_there(
    new_server: Callable[..., SqlServer], tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    own, root = certificate
    home = tmp_path / "home"
    home.mkdir()
    server = new_server(home, RECLOCK_TLS_CERTIFICATE=str(own))
    server.connect().close()  # without a password, from this machine
    set_password(home, "pencil")
    secure = {"sslmode": "verify-full", "sslrootcert": str(root)}
    with server.connect(password="pencil", **secure) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert connection.pgconn.ssl_in_use
    for given in ({}, {"password": "Pencil"}):
        with pytest.raises(psycopg.OperationalError, match="password"):
            server.connect(**secure, **given)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        server.connect(user="ghost", password="pencil", **secure)
    assert "pencil" not in server.log()
    dump = forks.completed("catalog", "dump", RECLOCK_HOME=str(home))
    assert dump.returncode == 0
    assert "SCRAM" not in dump.stdout


def test_it_does_not_listen_to_others_in_the_clear_or_without_passwords(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    home = str(tmp_path / "home")
    assert forks.command("init", "--home", home) == 0

    def refused(**variables: str) -> str:
        words = ("serve", "--home", home, "--host", "0.0.0.0", "--port", "0")  # noqa: S104
        done = forks.completed(*words, **variables)
        assert done.returncode == 1
        return done.stderr

    assert "no TLS certificate" in refused()
    assert "roles without a password: reclock" in refused(
        RECLOCK_TLS_CERTIFICATE=str(certificate[0])
    )
    assert "cannot be read" in refused(RECLOCK_TLS_CERTIFICATE=str(tmp_path / "nothing.pem"))
