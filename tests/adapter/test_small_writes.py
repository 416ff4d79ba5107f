"""A write that names its row by a value reads what the row needs, and no more."""

from __future__ import annotations

from typing import Any

import pytest
from fixtures.sessions import last_answer

from reclock.adapter.session.session import Session
from reclock.collections import arrangements
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.runtime.environment import Environment


@pytest.fixture
def session(environment: Environment) -> Session:
    session = Session(environment)
    last_answer(
        session,
        "CREATE TABLE t (id int PRIMARY KEY, name text, n int);"
        "INSERT INTO t SELECT g, 'name', g FROM generate_series(1, 1000) AS x (g)",
    )
    environment.stores.tables.apply()
    for _ in range(2):  # from the second on, the column is in memory
        last_answer(session, "SELECT name FROM t WHERE id = 1")
    return session


def test_an_update_or_delete_by_key_runs_no_engine_and_opens_no_file(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[str] = []
    run, opened = DuckDbEngine.run, arrangements.pq.ParquetFile

    def noted_run(self: DuckDbEngine, *arguments: Any, **options: Any) -> Any:
        used.append("engine")
        return run(self, *arguments, **options)

    def noted_file(*arguments: Any, **options: Any) -> Any:
        used.append("file")
        return opened(*arguments, **options)

    monkeypatch.setattr(DuckDbEngine, "run", noted_run)
    monkeypatch.setattr(arrangements.pq, "ParquetFile", noted_file)
    last_answer(session, "UPDATE t SET name = 'new', n = n + 1 WHERE id = 3")
    last_answer(session, "DELETE FROM t WHERE id = 4")
    assert last_answer(session, "SELECT name, n FROM t WHERE id = 3") == [("new", 4)]
    assert last_answer(session, "SELECT name, n FROM t WHERE id = 4") == []
    assert used == []
    last_answer(session, "UPDATE t SET name = upper(name) WHERE id = 3")
    assert used == ["engine"]
    assert last_answer(session, "SELECT name FROM t WHERE id = 3") == [("NEW",)]


def test_a_changed_row_with_an_interval_or_an_array_is_found_by_its_key(session: Session) -> None:
    last_answer(session, "CREATE TABLE w (id int PRIMARY KEY, a interval, b int[])")
    last_answer(session, "INSERT INTO w VALUES (1, '1 day', '{1}'), (2, '2 days', '{2}')")
    for n in range(6):  # of the second row, too, when the column is in memory
        row = f"WHERE id = {n % 4 // 2 + 1}"
        last_answer(session, f"UPDATE w SET a = '{n} hours', b = '{{{n}}}' {row}")
        assert last_answer(session, f"SELECT a::text, b FROM w {row}") == [(f"0{n}:00:00", [n])]
