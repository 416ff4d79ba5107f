"""A process is killed while it defines a role with a password: the role needs that password, or does not exist."""

from __future__ import annotations

from pathlib import Path

import pytest
from crashes import storage_worker
from fixtures.forks import die_at

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment
from reclock.server.handshake import Credential, credential_of


def credential(environment: Environment) -> Credential:
    return credential_of(environment.stores.catalog.sync().role_by_name("pam"), environment.stores.passwords.get_all())


@pytest.mark.parametrize(("killed_at", "is_there"), [("definitions.before_commit", False), ("definitions.after_commit", True)])
def test_a_role_never_logs_in_without_the_password_it_was_made_with(tmp_path: Path, killed_at: str, is_there: bool) -> None:
    with Environment.initialise(tmp_path) as environment:
        die_at(killed_at, storage_worker.execute, tmp_path, "CREATE ROLE pam LOGIN PASSWORD 'pencil'")
        assert (environment.stores.catalog.sync().role_by_name("pam") is not None) is is_there
        found = credential(environment)
        assert not found.is_open
        assert (found.verifier is not None) is is_there


def test_a_role_whose_verifier_is_lost_cannot_log_in(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        list(session.execute("CREATE ROLE pam LOGIN PASSWORD 'pencil'"))
        environment.stores.passwords.forget(environment.stores.passwords.get_all())
        assert credential(environment) == Credential(is_open=False, verifier=None)
        list(session.execute("ALTER ROLE pam PASSWORD NULL"))
        assert credential(environment).is_open


def test_passwords_of_lost_races_old_values_and_dropped_roles_are_not_kept(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        list(session.execute("CREATE ROLE pam LOGIN PASSWORD 'a'; ALTER ROLE pam PASSWORD 'b'"))
        assert len(environment.stores.passwords.get_all()) == 1
        list(session.execute("BEGIN; ALTER ROLE pam PASSWORD 'c'; ALTER ROLE pam PASSWORD 'd'; COMMIT"))
        assert len(environment.stores.passwords.get_all()) == 1
        assert credential(environment).verifier is not None
        list(session.execute("DROP ROLE pam"))
        assert environment.stores.passwords.get_all() == {}
