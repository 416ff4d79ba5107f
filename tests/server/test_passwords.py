"""Passwords in SQL: they let their roles in, and show nowhere."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.server import SqlServer

from reclock.errors import ReclockError
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one


def comes_in(server: SqlServer, role: str, password: str) -> bool:
    try:
        connection = server.connect(user=role, password=password)
    except psycopg.OperationalError as error:
        if "password authentication failed" not in str(error):
            raise
        return False
    with connection:
        return connection.execute("SELECT current_user").fetchone() == (role,)


def test_a_password_lets_its_role_in_until_there_is_another(sql_server: SqlServer) -> None:
    with sql_server.connect() as root:
        root.execute("CREATE ROLE pam LOGIN PASSWORD 'first one'")
        assert comes_in(sql_server, "pam", "first one")
        assert not comes_in(sql_server, "pam", "second one")
        root.execute("ALTER ROLE pam WITH ENCRYPTED PASSWORD 'second one'")
        assert not comes_in(sql_server, "pam", "first one")
        assert comes_in(sql_server, "pam", "second one")
        root.execute("ALTER USER pam PASSWORD NULL")
        assert comes_in(sql_server, "pam", "anything, from this machine")


def test_a_role_changes_its_own_password_and_no_others(sql_server: SqlServer) -> None:
    with sql_server.connect() as root:
        root.execute("CREATE USER quinn PASSWORD 'q'; CREATE USER ruth PASSWORD 'r'")
    with sql_server.connect(user="quinn", password="q") as own:
        own.execute("ALTER ROLE quinn PASSWORD 'mine now'")
        for refused in ("ALTER ROLE ruth PASSWORD 'x'", "ALTER ROLE quinn SUPERUSER PASSWORD 'x'", "CREATE ROLE s PASSWORD 'x'"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(refused)
    assert comes_in(sql_server, "quinn", "mine now")
    assert comes_in(sql_server, "ruth", "r")


def test_a_client_may_hash_the_password_itself_as_psql_does(sql_server: SqlServer) -> None:
    with sql_server.connect() as root:
        root.execute("CREATE ROLE vera LOGIN")
        hashed = root.pgconn.encrypt_password(b"from the client", b"vera").decode()
        assert hashed.startswith("SCRAM-SHA-256$")
        root.execute(f"ALTER USER vera PASSWORD '{hashed}'")
    assert comes_in(sql_server, "vera", "from the client")
    assert not comes_in(sql_server, "vera", hashed)


def test_a_password_is_in_no_log_no_catalog_and_no_file(sql_server: SqlServer) -> None:
    secret = "aubergine-parapet"
    with sql_server.connect() as root:
        root.execute(f"CREATE ROLE sam LOGIN PASSWORD '{secret}'")
        root.execute(f"ALTER ROLE sam PASSWORD '{secret}'")
        for wrong in (
            f"CREATE ROLE tom PASSWORD {secret}",
            f"CREATE ROLE tom PASSWORD '{secret}' NONSENSE",
            f"ALTER ROLE no PASSWORD '{secret}'",
        ):
            with pytest.raises(psycopg.Error) as error:
                root.execute(wrong)
            assert secret.split("-")[0] not in str(error.value.diag.message_primary) + str(error.value.diag.message_detail)
        shown = root.execute("SELECT details FROM mz_audit_events UNION ALL SELECT name FROM mz_roles").fetchall()
    assert not any(secret in text or "SCRAM" in text for (text,) in shown)
    for path in sql_server.home.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def test_what_is_parsed_holds_a_verifier() -> None:
    node = parse_one("CREATE ROLE u LOGIN PASSWORD 'pencil'")
    text = to_sql(node)
    assert "pencil" not in repr(node) + text
    assert "SCRAM-SHA-256$4096:" in text
    assert parse_one(text) == node


@pytest.mark.parametrize(
    "text",
    ["CREATE ROLE u PASSWORD", "CREATE ROLE u PASSWORD ''", "ALTER ROLE u PASSWORD 'a' PASSWORD 'b'", "ALTER ROLE u ENCRYPTED"],
)
def test_what_is_no_password_is_refused(text: str) -> None:
    with pytest.raises(ReclockError):
        parse_one(text)
