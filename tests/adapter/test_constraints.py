"""Constraints of tables: kept by a process that is killed, no obstacle to opening the catalog, and without effect on answers."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reclock.adapter.session.session import Session
from reclock.errors import ReclockError
from reclock.runtime.environment import Environment

TABLES = """
    CREATE TABLE owners (id int PRIMARY KEY, email text UNIQUE);
    CREATE TABLE pets (id int, owner int REFERENCES owners ON DELETE CASCADE, age int CHECK (pets.age >= 0), PRIMARY KEY (id));
"""
CREATE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment
with Environment.initialise(Path(sys.argv[1])) as environment:
    list(Session(environment).execute(sys.argv[2]))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    with Environment.initialise(tmp_path / "home") as opened:
        yield opened


def run(session: Session, text: str) -> list[tuple[object, ...]]:
    return [row for result in session.execute(text) if result.desc for row in result.rows()]


def refused(session: Session, text: str) -> str:
    with pytest.raises(ReclockError) as error:
        run(session, text)
    return error.value.sqlstate


def pets(session: Session, name: str = "pets") -> str:
    return str(run(session, f"SHOW CREATE TABLE {name}")[0][1])


def test_constraints_outlive_the_process_and_what_they_refer_to(tmp_path: Path) -> None:
    home = tmp_path / "home"
    died = subprocess.run([sys.executable, "-c", CREATE_AND_DIE, str(home), TABLES], check=False)
    assert died.returncode == -signal.SIGKILL
    kept = (
        "CREATE TABLE reclock.public.pets (id INT NOT NULL, owner INT, age INT, "
        "CONSTRAINT pets_owner_fkey FOREIGN KEY (owner) REFERENCES reclock.public.owners (id) ON DELETE CASCADE NOT ENFORCED, "
        "CONSTRAINT pets_age_check CHECK (age >= 0) NOT ENFORCED, CONSTRAINT pets_pkey PRIMARY KEY (id) NOT ENFORCED)"
    )
    with Environment.open(home) as environment:
        session = Session(environment)
        assert pets(session) == kept
        assert refused(session, "INSERT INTO pets VALUES (NULL, 1, 1)") == "23502"
        run(session, "ALTER TABLE owners RENAME TO people; ALTER TABLE pets RENAME TO animals")
    with Environment.open(home) as environment:
        session = Session(environment)
        expected = kept.replace("public.pets", "public.animals").replace("public.owners", "public.people")
        assert pets(session, "animals") == expected
        run(session, "DROP TABLE people; CREATE VIEW people AS SELECT 'x' AS other")
    with Environment.open(home) as environment:
        session = Session(environment)
        assert pets(session, "animals") == expected
        assert run(session, "SELECT count(*) FROM mz_internal.mz_broken_objects") == [(0,)]
        run(session, "INSERT INTO animals VALUES (1, 2, 3)")
        assert run(session, "SELECT * FROM animals") == [(1, 2, 3)]


@pytest.mark.parametrize("kind", ["TABLE", "TEMPORARY TABLE"])
def test_rows_that_break_constraints_are_answered_as_they_are(environment: Environment, kind: str) -> None:
    session = Session(environment)
    run(session, TABLES.replace("TABLE", kind))
    run(session, "INSERT INTO pets VALUES (1, 7, -1), (1, 8, -2), (1, 7, -1)")
    assert sorted(run(session, "SELECT id, age FROM pets")) == [(1, -2), (1, -1), (1, -1)]
    assert sorted(run(session, "SELECT DISTINCT id, owner FROM pets")) == [(1, 7), (1, 8)]
    assert run(session, "SELECT id, count(*) FROM pets GROUP BY id") == [(1, 3)]
    assert run(session, "SELECT count(*) FROM pets WHERE age < 0") == [(3,)]
    assert run(session, "SELECT count(*) FROM pets LEFT JOIN owners ON owners.id = pets.owner WHERE owners.id IS NULL") == [(3,)]
    assert refused(session, "SELECT id, age FROM pets GROUP BY id") == "42803"
    assert refused(session, "UPDATE pets SET id = NULL") == "23502"


def test_one_notice_a_statement_says_that_constraints_are_not_enforced(environment: Environment) -> None:
    notices: list[str] = []
    session = Session(environment, notices.append)
    run(session, "BEGIN")
    run(session, TABLES)
    run(session, "COMMIT")
    run(session, "CREATE TEMPORARY TABLE t (a int UNIQUE)")
    run(session, "CREATE TABLE quiet (a int UNIQUE NOT ENFORCED)")
    assert notices == [
        'constraints "owners_pkey", "owners_email_key" of table "owners" are not enforced',
        'constraints "pets_owner_fkey", "pets_age_check", "pets_pkey" of table "pets" are not enforced',
        'constraint "t_a_key" of table "t" is not enforced',
    ]


def test_a_permanent_table_does_not_refer_to_a_temporary_one(environment: Environment) -> None:
    session = Session(environment)
    run(session, "CREATE TEMPORARY TABLE t (a int PRIMARY KEY)")
    assert refused(session, "CREATE TABLE s (a int REFERENCES t)") == "42P16"
