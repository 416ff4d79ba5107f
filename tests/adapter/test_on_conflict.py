"""INSERT … ON CONFLICT among writers in two processes: no update is lost, and no key is there
twice."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from fixtures.sessions import run

from reclock.adapter.session.session import Session
from reclock.errors import ReclockError
from reclock.runtime.environment import Environment


def test_counts_of_writers_add_up(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Environment.initialise(home) as this_process, Environment.open(home) as other_process:
        run(
            Session(this_process),
            "CREATE TABLE t (a int PRIMARY KEY, c int); CREATE TABLE s (a int PRIMARY KEY)",
        )

        def count(environment: Environment) -> None:
            session = Session(environment)
            for key in range(12):
                upsert = (
                    f"INSERT INTO t VALUES ({key % 3}, 1) ON CONFLICT (a) DO UPDATE SET c = t.c + 1"
                )
                run(session, f"{upsert}; INSERT INTO s VALUES ({key}) ON CONFLICT DO NOTHING")

        threads = [
            threading.Thread(target=count, args=(environment,))
            for environment in (this_process, other_process, this_process)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert run(Session(other_process), "SELECT a, c FROM t ORDER BY a") == [
            (0, 12),
            (1, 12),
            (2, 12),
        ]
        assert run(Session(this_process), "SELECT count(*), count(DISTINCT a) FROM s") == [(12, 12)]


def test_a_block_that_cannot_see_the_row_fails_with_a_conflict(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Environment.initialise(home) as here, Environment.open(home) as there:
        ours, theirs = Session(here), Session(there)
        run(
            ours,
            (
                "CREATE TABLE t (a int PRIMARY KEY, c int); INSERT INTO t VALUES (1, 1); "
                "BEGIN; SELECT * FROM t"
            ),
        )
        run(theirs, "INSERT INTO t VALUES (2, 7)")
        with pytest.raises(ReclockError) as error:
            run(
                ours,
                "INSERT INTO t VALUES (2, 1) ON CONFLICT (a) DO UPDATE SET c = t.c + 1; COMMIT",
            )
        assert error.value.sqlstate == "40001"


def test_an_upsert_needs_the_privileges_to_insert_to_update_and_to_read(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path / "home") as environment:
        owner = Session(environment)
        run(
            owner,
            "CREATE TABLE t (a int PRIMARY KEY, c int); CREATE ROLE r LOGIN",
        )
        run(owner, "GRANT INSERT ON t TO r; GRANT USAGE ON SCHEMA public TO r")
        other = Session(environment, user="r")
        with pytest.raises(ReclockError) as error:
            run(other, "INSERT INTO t VALUES (2, 1) ON CONFLICT (a) DO UPDATE SET c = 1")
        assert error.value.sqlstate == "42501"
        run(owner, "GRANT UPDATE, SELECT ON t TO r")
        run(other, "INSERT INTO t VALUES (2, 1) ON CONFLICT (a) DO UPDATE SET c = 1")
