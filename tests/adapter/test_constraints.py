"""Constraints of tables: kept by a process that is killed, no obstacle to opening the catalog, and
without effect on answers."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.sessions import run

from reclock.adapter.session.session import Session
from reclock.collections.key_index import KeyIndex
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
    definitions = (
        "CREATE TABLE reclock.public.pets (id INT NOT NULL, owner INT, age INT, "
        "CONSTRAINT pets_owner_fkey FOREIGN KEY (owner) REFERENCES reclock.public.owners "
        "(id) ON DELETE CASCADE, "
        "CONSTRAINT pets_age_check CHECK (age >= 0), CONSTRAINT pets_pkey PRIMARY KEY (id))"
    )
    with Environment.open(home) as environment:
        session = Session(environment)
        assert pets(session) == definitions
        assert refused(session, "INSERT INTO pets VALUES (NULL, 1, 1)") == "23502"
        run(session, "ALTER TABLE owners RENAME TO people; ALTER TABLE pets RENAME TO animals")
    with Environment.open(home) as environment:
        session = Session(environment)
        expected = definitions.replace("public.pets", "public.animals").replace(
            "public.owners", "public.people"
        )
        assert pets(session, "animals") == expected
        assert refused(session, "INSERT INTO animals VALUES (1, 2, 3)") == "23503"
        assert refused(session, "DROP TABLE people") == "2BP01"
        run(session, "DROP TABLE people CASCADE; CREATE VIEW people AS SELECT 'x' AS other")
        expected = expected.replace(
            "CONSTRAINT pets_owner_fkey FOREIGN KEY (owner) REFERENCES reclock.public.people (id) "
            "ON DELETE CASCADE, ",
            "",
        )
    with Environment.open(home) as environment:
        session = Session(environment)
        assert pets(session, "animals") == expected
        assert run(session, "SELECT count(*) FROM mz_internal.mz_broken_objects") == [(0,)]
        run(session, "INSERT INTO animals VALUES (1, 2, 3)")
        assert refused(session, "INSERT INTO animals VALUES (1, 2, 3)") == "23505"
        assert refused(session, "INSERT INTO animals VALUES (2, 2, -3)") == "23514"
        assert run(session, "SELECT * FROM animals") == [(1, 2, 3)]


@pytest.mark.parametrize("kind", ["TABLE", "TEMPORARY TABLE"])
def test_rows_that_break_what_is_not_enforced_are_answered_as_they_are(
    environment: Environment, kind: str
) -> None:
    session = Session(environment)
    tables = (
        TABLES.replace("KEY,", "KEY NOT ENFORCED,")
        .replace("CASCADE,", "CASCADE NOT ENFORCED,")
        .replace(">= 0)", ">= 0) NOT ENFORCED")
        .replace("(id));", "(id) NOT ENFORCED);")
    )
    run(session, tables.replace("TABLE", kind))
    run(session, "INSERT INTO pets VALUES (1, 7, -1), (1, 8, -2), (1, 7, -1)")
    assert sorted(run(session, "SELECT id, age FROM pets")) == [(1, -2), (1, -1), (1, -1)]
    assert sorted(run(session, "SELECT DISTINCT id, owner FROM pets")) == [(1, 7), (1, 8)]
    assert run(session, "SELECT id, count(*) FROM pets GROUP BY id") == [(1, 3)]
    assert run(session, "SELECT count(*) FROM pets WHERE age < 0") == [(3,)]
    assert run(
        session,
        (
            "SELECT count(*) FROM pets LEFT JOIN owners ON owners.id = pets.owner WHERE "
            "owners.id IS NULL"
        ),
    ) == [(3,)]
    assert refused(session, "SELECT id, age FROM pets GROUP BY id") == "42803"
    assert refused(session, "UPDATE pets SET id = NULL") == "23502"


def test_one_notice_a_statement_says_that_constraints_are_not_enforced(
    environment: Environment,
) -> None:
    notices: list[str] = []
    session = Session(environment, notices.append)
    run(session, "BEGIN")
    run(session, TABLES)
    run(session, "COMMIT")
    run(session, "CREATE TEMPORARY TABLE t (a int UNIQUE)")
    run(session, "CREATE TABLE quiet (a int UNIQUE NOT ENFORCED)")
    run(session, "CREATE TABLE mine (a text CHECK (a = current_user), b int REFERENCES quiet (a))")
    run(session, "CREATE TEMPORARY TABLE s (a int REFERENCES t (a))")
    assert notices == [
        'constraints "mine_a_check", "mine_b_fkey" of table "mine" are not enforced',
        'constraint "s_a_fkey" of table "s" is not enforced',
    ]


def test_a_permanent_table_does_not_refer_to_a_temporary_one(environment: Environment) -> None:
    session = Session(environment)
    run(session, "CREATE TEMPORARY TABLE t (a int PRIMARY KEY)")
    assert refused(session, "CREATE TABLE s (a int REFERENCES t)") == "42P16"


def test_of_blocks_in_two_processes_that_insert_one_key_one_commits(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Environment.initialise(home) as here, Environment.open(home) as there:
        ours, theirs = Session(here), Session(there)
        run(ours, "CREATE TABLE t (a int PRIMARY KEY, b text UNIQUE)")
        for key, session in ((1, ours), (2, theirs)):
            run(session, f"INSERT INTO t VALUES ({key}, 'x{key}')")
        for session in (ours, theirs):
            run(session, "BEGIN; INSERT INTO t VALUES (3, NULL)")
        run(theirs, "COMMIT")
        assert refused(ours, "COMMIT") == "40001"
        assert refused(ours, "INSERT INTO t VALUES (3, NULL)") == "23505"
        assert refused(ours, "UPDATE t SET b = 'x2' WHERE a = 1") == "23505"
        run(theirs, "DELETE FROM t WHERE a = 3")
        run(ours, "INSERT INTO t VALUES (3, 'x3')")
        assert refused(theirs, "INSERT INTO t VALUES (4, 'x3')") == "23505"
        assert run(theirs, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (3,)]


def test_keys_are_known_after_the_log_was_applied_and_files_were_merged(
    environment: Environment,
) -> None:
    session = Session(environment)
    run(session, "CREATE TABLE t (a int, b text, PRIMARY KEY (a, b))")
    for key in range(5):
        run(session, f"INSERT INTO t VALUES ({key}, 'x')")
    tables = environment.stores.tables
    tables.apply()
    run(session, "DELETE FROM t WHERE a = 1")
    tables.apply()
    # as a new process, which finds it all in files
    tables.key_indexes.forget(next(iter(tables.log.table_ids())))
    assert refused(session, "INSERT INTO t VALUES (1, 'x'), (2, 'x')") == "23505"
    run(session, "INSERT INTO t VALUES (1, 'x'), (2, 'y')")


def test_keys_that_could_not_be_read_are_read_by_the_next_statement(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(environment)
    run(session, "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)")
    tables = environment.stores.tables
    tables.key_indexes.forget(next(iter(tables.log.table_ids())))
    with monkeypatch.context() as patched:
        patched.setattr(
            KeyIndex, "_rebuild", lambda self: (_ for _ in ()).throw(OSError("the store is away"))
        )
        with pytest.raises(OSError, match="away"):
            run(session, "INSERT INTO t VALUES (2)")
    assert refused(session, "INSERT INTO t VALUES (1)") == "23505"


def test_statements_of_a_block_and_what_is_rolled_back_count(environment: Environment) -> None:
    session = Session(environment)
    run(
        session,
        (
            "CREATE TABLE t (a int PRIMARY KEY); BEGIN; INSERT INTO t VALUES (1); SAVEPOINT "
            "s; INSERT INTO t VALUES (2)"
        ),
    )
    assert refused(session, "INSERT INTO t VALUES (2)") == "23505"
    run(
        session,
        (
            "ROLLBACK TO s; INSERT INTO t VALUES (2); DELETE FROM t WHERE a = 1; INSERT INTO "
            "t VALUES (1)"
        ),
    )
    assert refused(session, "INSERT INTO t SELECT a FROM t") == "23505"
    run(session, "ROLLBACK TO s; COMMIT")
    assert run(session, "SELECT a FROM t") == [(1,)]


def test_a_table_that_its_transaction_makes_is_checked(environment: Environment) -> None:
    session = Session(environment)
    run(
        session,
        (
            "BEGIN; CREATE TABLE t (a int PRIMARY KEY, b int CHECK (b + 1 > a)); INSERT INTO "
            "t VALUES (1, 2)"
        ),
    )
    assert refused(session, "INSERT INTO t VALUES (1, 3)") == "23505"
    run(
        session,
        (
            "ROLLBACK; CREATE TEMPORARY TABLE t (a int PRIMARY KEY, b int CHECK (b + 1 > "
            "a)); INSERT INTO t VALUES (1, 2)"
        ),
    )
    assert refused(session, "INSERT INTO t VALUES (1, 3)") == "23505"
    assert refused(session, "UPDATE t SET b = 0") == "23514"


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Session, Session]]:
    """Sessions of two processes, which know the keys of both tables."""
    home = tmp_path / "home"
    with Environment.initialise(home) as here, Environment.open(home) as there:
        ours, theirs = Session(here), Session(there)
        run(
            ours,
            "CREATE TABLE p (id int PRIMARY KEY, name text); INSERT INTO p VALUES (1, 'a'), (2, 'b'), (3, 'c');"
            "CREATE TABLE c (p int REFERENCES p); INSERT INTO c VALUES (3);"
            "CREATE TABLE d (p int REFERENCES p ON DELETE CASCADE)",
        )
        for session in (ours, theirs):
            assert refused(session, "DELETE FROM p WHERE id = 3") == "23503"
        yield ours, theirs


INSERT, DELETE = "INSERT INTO c VALUES (1)", "DELETE FROM p WHERE id = 1"


@pytest.mark.parametrize(("first", "second"), [(INSERT, DELETE), (DELETE, INSERT)])
def test_a_row_does_not_come_in_one_process_while_what_it_refers_to_goes_in_another(
    two: tuple[Session, Session], first: str, second: str
) -> None:
    ours, theirs = two
    for session, statement in ((ours, first), (theirs, second)):
        run(session, f"BEGIN; {statement}")
    run(ours, "COMMIT")
    assert refused(theirs, "COMMIT") == "40001"
    assert refused(theirs, second) == "23503"
    orphans = "SELECT count(*) FROM c WHERE p NOT IN (SELECT id FROM p)"
    assert run(ours, orphans) == run(theirs, orphans) == [(0,)]


def test_a_cascade_takes_the_rows_that_came_in_another_process(
    two: tuple[Session, Session],
) -> None:
    ours, theirs = two
    run(ours, "BEGIN; DELETE FROM p WHERE id = 2")
    run(theirs, "INSERT INTO d VALUES (2), (2)")
    assert refused(ours, "COMMIT") == "40001"
    run(ours, "DELETE FROM p WHERE id = 2")
    assert run(theirs, "SELECT count(*) FROM d") == [(0,)]


def test_what_does_not_touch_the_key_does_not_conflict(two: tuple[Session, Session]) -> None:
    ours, theirs = two
    run(ours, "BEGIN; INSERT INTO c VALUES (1); UPDATE p SET name = 'x' WHERE id = 2")
    run(theirs, "BEGIN; UPDATE p SET name = 'y' WHERE id = 1; INSERT INTO p VALUES (4, 'd')")
    run(theirs, "INSERT INTO c VALUES (3); COMMIT")
    run(ours, "COMMIT")
    assert run(theirs, "SELECT count(*) FROM c") == [(3,)]


def test_a_foreign_key_that_comes_meanwhile_fails_the_writer_of_its_target(
    two: tuple[Session, Session],
) -> None:
    ours, theirs = two
    run(ours, "BEGIN; INSERT INTO p VALUES (4, 'd')")
    run(theirs, "CREATE TABLE f (p int REFERENCES p)")
    run(ours, "COMMIT; BEGIN; DELETE FROM p WHERE id = 2")
    run(theirs, "CREATE TABLE e (p int REFERENCES p); INSERT INTO e VALUES (2)")
    with pytest.raises(ReclockError):
        run(ours, "COMMIT")
    assert refused(ours, "DELETE FROM p WHERE id = 2") == "23503"
    assert refused(ours, "TRUNCATE p") == "0A000"


@pytest.mark.parametrize("is_in_log", [True, False])
def test_a_new_table_refers_to_rows_that_another_process_deletes(
    two: tuple[Session, Session], is_in_log: bool
) -> None:
    ours, theirs = two
    run(ours, "BEGIN; CREATE TABLE e (p int REFERENCES p); INSERT INTO e VALUES (1)")
    run(theirs, "DELETE FROM p WHERE id = 1")
    if not is_in_log:
        theirs.environment.stores.tables.apply()
    with pytest.raises(ReclockError):
        run(ours, "COMMIT")
    run(
        ours,
        "ROLLBACK; BEGIN; CREATE TABLE e (p int REFERENCES p); INSERT INTO e VALUES (2); COMMIT",
    )
    assert refused(theirs, "DELETE FROM p WHERE id = 2") == "23503"


def test_a_table_is_written_again_only_if_nothing_that_is_deferred_is_wrong(
    two: tuple[Session, Session],
) -> None:
    ours, _ = two
    run(ours, "CREATE TABLE late (p int REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
    run(ours, "INSERT INTO late VALUES (2); BEGIN; DELETE FROM p WHERE id = 2")
    assert refused(ours, "ALTER TABLE p ADD COLUMN more int") == "23503"
    run(ours, "ROLLBACK; BEGIN; DELETE FROM p WHERE id = 2; DELETE FROM late")
    run(ours, "ALTER TABLE p ADD COLUMN more int; INSERT INTO p VALUES (5, 'e', 1)")
    run(ours, "INSERT INTO late VALUES (5); COMMIT")
    assert refused(ours, "DELETE FROM p WHERE id = 5") == "23503"
    assert refused(ours, "ALTER TABLE p ALTER COLUMN id TYPE text") == "0A000"
    assert refused(ours, "ALTER TABLE late ALTER COLUMN p TYPE text") == "42804"
    run(ours, "ALTER TABLE late ALTER COLUMN p TYPE bigint")
    assert refused(ours, "INSERT INTO late VALUES (7)") == "23503"
