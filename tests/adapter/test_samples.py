"""TABLESAMPLE: how many rows are in a sample, and which of them stay in a repeatable one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reclock.adapter.session.session import Session
from reclock.runtime.environment import Environment

ROWS = 2000


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        answer(session, "CREATE TABLE t (id int PRIMARY KEY, note text)")
        answer(session, f"INSERT INTO t SELECT n, NULL FROM generate_series(1, {ROWS}) AS n")
        yield session


def answer(session: Session, text: str) -> list[tuple[Any, ...]]:
    (result,) = session.execute(text)
    return list(result.rows())


def sample(session: Session, clause: str) -> set[int]:
    return {id for (id,) in answer(session, f"SELECT id FROM t TABLESAMPLE {clause}")}


@pytest.mark.parametrize("method", ["BERNOULLI", "system"])
@pytest.mark.parametrize("repeatable", ["", " REPEATABLE (3)"])
def test_a_sample_has_about_its_percentage(session: Session, method: str, repeatable: str) -> None:
    assert sample(session, f"{method} (0){repeatable}") == set()
    assert len(sample(session, f"{method} (100){repeatable}")) == ROWS
    assert ROWS / 5 < len(sample(session, f"{method} (25.0){repeatable}")) < ROWS * 3 / 10


def test_rows_stay_in_a_repeatable_sample_and_a_larger_one_has_them(session: Session) -> None:
    first = sample(session, "SYSTEM (20) REPEATABLE (1)")
    assert sample(session, "SYSTEM (20) REPEATABLE (2)") != first
    assert first < sample(session, "SYSTEM (30) REPEATABLE (1)")
    answer(session, "UPDATE t SET note = 'changed' WHERE id % 3 = 0")
    assert sample(session, "BERNOULLI (20) REPEATABLE (1)") == first


def test_relations_of_one_query_have_samples_of_their_own(session: Session) -> None:
    both = "t a TABLESAMPLE SYSTEM (50) JOIN t b TABLESAMPLE SYSTEM (50) ON a.id = b.id"
    ((count,),) = answer(session, f"SELECT count(*) FROM {both}")
    assert ROWS / 5 < count < ROWS * 3 / 10


def test_a_view_of_a_sample_follows_from_changes(session: Session) -> None:
    query = (
        "SELECT id % 2 AS odd, count(*) FROM t TABLESAMPLE SYSTEM (50) REPEATABLE (1) GROUP BY 1"
    )
    answer(session, f"CREATE MATERIALIZED VIEW v AS {query}")
    for change in ("DELETE FROM t WHERE id < 700", "INSERT INTO t VALUES (1, 'again')"):
        answer(session, change)
        assert sorted(answer(session, "TABLE v")) == sorted(answer(session, query))
