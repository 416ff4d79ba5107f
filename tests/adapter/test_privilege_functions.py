"""What a role may do with clusters, connections, secrets and the system, which PostgreSQL does not
have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fixtures.sessions import run

from reclock.adapter.session.session import Session
from reclock.errors import (
    InvalidOption,
    ReclockError,
    UnknownObject,
    UnsupportedSql,
    WrongObjectType,
)
from reclock.runtime.environment import Environment

MADE = """
    CREATE ROLE ada; CREATE ROLE readers; CREATE CLUSTER c; CREATE SECRET word AS 'x';
    CREATE CONNECTION k TO KAFKA (BROKER 'a:1') WITH (VALIDATE = FALSE)
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Environment.initialise(tmp_path_factory.mktemp("privileges")) as environment:
        session = Session(environment)
        run(session, MADE)
        yield session


@pytest.mark.parametrize(
    ("call", "grant"),
    [
        ("has_cluster_privilege('ada', 'c', 'USAGE')", "USAGE ON CLUSTER c"),
        ("has_cluster_privilege('ada', 'c', 'CREATE')", "CREATE ON CLUSTER c"),
        ("has_connection_privilege('ada', 'k', 'USAGE')", "USAGE ON CONNECTION k"),
        ("has_connection_privilege('ada', 'public.k', 'usage')", "USAGE ON CONNECTION k"),
        ("has_secret_privilege('ada', 'word', 'USAGE')", "USAGE ON SECRET word"),
        ("has_system_privilege('ada', 'CREATEDB')", "CREATEDB ON SYSTEM"),
        ("has_system_privilege('ada', 'CREATEROLE, CREATECLUSTER')", "CREATECLUSTER ON SYSTEM"),
    ],
)
@pytest.mark.parametrize("grantee", ["ada", "readers"])
def test_a_role_has_what_was_granted_to_it_or_its_group(
    session: Session, call: str, grant: str, grantee: str
) -> None:
    run(session, "GRANT readers TO ada")
    assert run(session, f"SELECT {call}") == [(False,)]
    run(session, f"GRANT {grant} TO {grantee}")
    assert run(session, f"SELECT {call}") == [(True,)]
    run(session, f"REVOKE {grant} FROM {grantee}; REVOKE readers FROM ada")
    assert run(session, f"SELECT {call}") == [(False,)]


def test_without_a_role_they_are_about_the_current_one(session: Session) -> None:
    calls = (
        "has_cluster_privilege('c', 'CREATE'), has_connection_privilege('k', 'USAGE'), "
        "has_secret_privilege('word', 'USAGE'), has_system_privilege('CREATEDB'), "
        "has_role('reclock', 'MEMBER')"
    )
    assert run(session, f"SELECT {calls}") == [(True, True, True, True, True)]
    assert run(session, "SELECT has_role('ada', 'readers', 'USAGE')") == [(False,)]


def test_objects_may_be_given_by_their_ids(session: Session) -> None:
    roles = "(SELECT oid FROM mz_roles WHERE name = 'ada')"
    for name, relation in (("connection", "mz_connections"), ("secret", "mz_secrets")):
        call = f"has_{name}_privilege({roles}, oid, 'USAGE')"
        assert run(session, f"SELECT {call} FROM {relation}") == [(False,)]
    assert run(session, "SELECT has_secret_privilege('ada', 99::oid, 'USAGE')") == [(None,)]
    other = "SELECT has_secret_privilege('ada', oid, 'USAGE') FROM mz_connections"
    assert run(session, other) == [(None,)]
    names = "SELECT name, has_cluster_privilege('ada', name, 'USAGE') FROM mz_clusters ORDER BY id"
    assert run(session, names) == [("default", True), ("c", False)]
    nulls = "has_cluster_privilege('ada', NULL, 'USAGE'), has_system_privilege(NULL, 'CREATEDB')"
    assert run(session, f"SELECT {nulls}") == [(None, None)]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("has_cluster_privilege('ada', 'none', 'USAGE')", UnknownObject),
        ("has_connection_privilege('ada', 'none', 'USAGE')", UnknownObject),
        ("has_connection_privilege('ada', 'word', 'USAGE')", WrongObjectType),
        ("has_secret_privilege('nobody', 'word', 'USAGE')", UnknownObject),
        ("has_secret_privilege('ada', 'word', 'SELECT')", InvalidOption),
        ("has_system_privilege('ada', 'USAGE')", InvalidOption),
        ("has_cluster_privilege('ada', 'c', 'CREATEDB')", InvalidOption),
        ("has_secret_privilege('ada', lower('WORD') || current_user, 'USAGE')", UnsupportedSql),
    ],
)
def test_what_is_refused(session: Session, call: str, error: type[ReclockError]) -> None:
    with pytest.raises(error):
        run(session, f"SELECT {call}")
