"""A process is killed while it defines a role with a password: the role needs that password, or
does not exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from crashes import storage_worker
from fixtures.forks import die_at

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment
from reclock.server.handshake import Credential, credential_of


def credential(environment: Environment, name: str = "pam") -> Credential:
    return credential_of(
        environment.stores.catalog.sync().role_by_name(name), environment.stores.passwords.get_all()
    )


@pytest.mark.parametrize(
    ("killed_at", "is_there"),
    [("definitions.before_commit", False), ("definitions.after_commit", True)],
)
def test_a_role_never_logs_in_without_the_password_it_was_made_with(
    tmp_path: Path, killed_at: str, is_there: bool
) -> None:
    with Environment.initialise(tmp_path) as environment:
        die_at(
            killed_at, storage_worker.execute, tmp_path, "CREATE ROLE pam LOGIN PASSWORD 'pencil'"
        )
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


def test_roles_from_before_references_have_a_password_or_none_from_the_first_open_on(
    tmp_path: Path,
) -> None:
    with Environment.initialise(tmp_path) as environment:
        list(
            Session(environment).execute(
                "CREATE ROLE pam LOGIN PASSWORD 'pencil'; CREATE ROLE sam LOGIN"
            )
        )
        catalog, passwords = environment.stores.catalog, environment.stores.passwords
        [verifier] = passwords.get_all().values()
        roles = [role for role in catalog.snapshot().roles.values() if role.name in ("pam", "sam")]
        passwords.forget(passwords.get_all())
        passwords.put({role.id: verifier for role in roles if role.name == "pam"})
        tx = catalog.transaction()
        for role in roles:
            tx.update(replace(role, password=role.id))
        catalog.commit_transaction(tx)
        assert credential(environment).verifier == verifier
    for _ in range(2):
        with Environment.open(tmp_path) as environment:
            assert credential(environment) == Credential(is_open=False, verifier=verifier)
            assert credential(environment, "sam").is_open
            assert len(environment.stores.passwords.get_all()) == 1
    with Environment.open(tmp_path) as environment:
        environment.stores.passwords.forget(environment.stores.passwords.get_all())
        assert credential(environment) == Credential(is_open=False, verifier=None)


def test_passwords_of_lost_races_old_values_and_dropped_roles_are_not_kept(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        list(session.execute("CREATE ROLE pam LOGIN PASSWORD 'a'; ALTER ROLE pam PASSWORD 'b'"))
        assert len(environment.stores.passwords.get_all()) == 1
        list(
            session.execute(
                "BEGIN; ALTER ROLE pam PASSWORD 'c'; ALTER ROLE pam PASSWORD 'd'; COMMIT"
            )
        )
        assert len(environment.stores.passwords.get_all()) == 1
        assert credential(environment).verifier is not None
        list(session.execute("DROP ROLE pam"))
        assert environment.stores.passwords.get_all() == {}
