"""Passwords and TLS: who comes in how, and where the server refuses to listen."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
import structlog
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from fixtures import forks
from fixtures.server import SqlServer

from reclock.config.ports import PortSettings
from reclock.errors import ConfigurationError
from reclock.server.tls import tls_context


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
    with server.connect(secure, password="pencil") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert connection.pgconn.ssl_in_use
    for credentials in ({}, {"password": "Pencil"}):
        with pytest.raises(psycopg.OperationalError, match="password"):
            server.connect(secure | credentials)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        server.connect(secure, user="ghost", password="pencil")
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


@pytest.mark.parametrize(
    ("certificate_name", "key_name", "reason"),
    [
        ("none.pem", "server.pem", 'none.pem" of the setting tls_certificate cannot be read'),
        ("server.pem", "none.pem", 'none.pem" of the setting tls_key cannot be read'),
        ("server.pem", "other.pem", "the key is that of another certificate"),
        ("server.pem", "encrypted.pem", 'encrypted.pem" is encrypted'),
        ("text.pem", "server.pem", "both are PEM files"),
    ],
)
def test_what_is_wrong_with_a_certificate_or_its_key_is_named(
    tmp_path: Path,
    certificate: tuple[Path, Path],
    certificate_name: str,
    key_name: str,
    reason: str,
) -> None:
    other = trustme.CA().issue_cert("127.0.0.1").private_key_pem.bytes()
    (tmp_path / "other.pem").write_bytes(other)
    (tmp_path / "encrypted.pem").write_bytes(
        load_pem_private_key(other, None).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pencil")
        )
    )
    (tmp_path / "text.pem").write_text("no certificate")
    settings = PortSettings(
        tls_certificate=str(tmp_path / certificate_name), tls_key=str(tmp_path / key_name)
    )
    with pytest.raises(ConfigurationError) as failure:
        tls_context(settings)
    assert reason in f"{failure.value.message} {failure.value.detail} {failure.value.hint}"


def test_a_certificate_that_has_expired_is_warned_about(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    expired = tmp_path / "expired.pem"
    issued = trustme.CA().issue_cert("127.0.0.1", not_after=datetime(2026, 1, 1, tzinfo=UTC))
    issued.private_key_and_cert_chain_pem.write_to_path(expired)
    for path, count in ((certificate[0], 0), (expired, 1)):
        with structlog.testing.capture_logs() as logs:
            assert tls_context(PortSettings(tls_certificate=str(path))) is not None
        assert len(logs) == count, logs


def test_a_port_that_is_taken_comes_with_a_way_out(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    assert forks.command("init", "--home", home) == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for words in (("--port", port), ("--port", "0", "--http", port)):
            done = forks.completed("serve", "--home", home, *words)
            assert done.returncode == 1
            assert "end the process that listens there" in done.stderr
