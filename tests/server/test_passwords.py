"""Passwords in SQL: they let their roles in, and show nowhere."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.server import SqlServer

from reclock.errors import InvalidOption, SqlSyntaxError
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.planning.statement import plan_statement
from reclock.sql.statements.roles.plan import CreateRole
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse, parse_one


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
    with sql_server.connect(user="quinn", password="q") as connection:
        connection.execute("ALTER ROLE quinn PASSWORD 'mine now'")
        for refused in (
            "ALTER ROLE ruth PASSWORD 'x'",
            "ALTER ROLE quinn SUPERUSER PASSWORD 'x'",
            "CREATE ROLE s PASSWORD 'x'",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(refused)
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
            assert secret.split("-")[0] not in str(error.value.diag.message_primary) + str(
                error.value.diag.message_detail
            )
        shown = root.execute(
            "SELECT details FROM mz_audit_events UNION ALL SELECT name FROM mz_roles"
        ).fetchall()
    assert not any(secret in text or "SCRAM" in text for (text,) in shown)
    for path in sql_server.home.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def test_what_is_parsed_shows_no_password() -> None:
    for text in (
        "CREATE ROLE u LOGIN PASSWORD 'pencil'",
        "PREPARE p AS ALTER ROLE u PASSWORD 'pencil'",
    ):
        [parsed] = parse(text)
        assert "pencil" not in repr(parsed) + to_sql(parsed.node) + parsed.text
        assert parse_one(parsed.text) == parsed.node


def test_what_is_planned_holds_a_verifier() -> None:
    planned = plan_statement(parse("CREATE ROLE u LOGIN PASSWORD 'pencil'")[0], PlannerCatalog())
    assert isinstance(planned, CreateRole)
    assert planned.password is not None
    assert planned.password.verifier is not None
    assert planned.password.verifier.startswith("SCRAM-SHA-256$4096:")
    assert planned.password.verifier not in repr(planned)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE ROLE u PASSWORD",
        "CREATE ROLE u PASSWORD ''",
        "ALTER ROLE u PASSWORD 'a' PASSWORD 'b'",
        "ALTER ROLE u ENCRYPTED",
    ],
)
def test_what_is_no_password_is_refused(text: str) -> None:
    with pytest.raises((SqlSyntaxError, InvalidOption)):
        plan_statement(parse(text)[0], PlannerCatalog())
