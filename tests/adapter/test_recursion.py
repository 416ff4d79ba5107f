"""The limit of WITH RECURSIVE, and its cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reclock.adapter.session.session import Session
from reclock.errors import EvaluationError, InvalidOption, QueryCanceled
from reclock.runtime.environment import Environment

COUNT = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION {all} SELECT i + 1 FROM n WHERE i < {most}) "
    "SELECT max(i) FROM n"
)
ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION {all} SELECT i + 1 FROM n) SELECT i FROM n LIMIT 3"
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Environment.initialise(tmp_path) as environment:
        yield Session(environment)


def run(session: Session, text: str) -> list[tuple[object, ...]]:
    """The rows of the last statement, sorted."""
    return sorted([list(result.rows()) for result in session.execute(text)][-1])


@pytest.mark.parametrize("all", ["ALL", ""])
def test_as_many_iterations_as_the_limit_may_add_rows(session: Session, all: str) -> None:
    run(session, "SET max_recursion_iterations = 20")
    assert run(session, COUNT.format(all=all, most=21)) == [(21,)]
    with pytest.raises(
        EvaluationError, match='recursive query "n" did not end within 20 iterations'
    ) as ended:
        run(session, COUNT.format(all=all, most=22))
    assert ended.value.sqlstate == "54000"
    assert "max_recursion_iterations" in str(ended.value.hint)
    # the plan is not that of the same text before
    run(session, "SET max_recursion_iterations = 21")
    assert run(session, COUNT.format(all=all, most=22)) == [(22,)]
    with pytest.raises(EvaluationError, match="within 21 iterations"):
        run(session, ENDLESS.format(all=all))
    with pytest.raises(InvalidOption, match="max_recursion_iterations"):
        run(session, "SET max_recursion_iterations = 0")


def test_the_limit_of_a_view_is_not_the_session_s(session: Session) -> None:
    run(session, "SET max_recursion_iterations = 20")
    run(session, f"CREATE VIEW counted AS {COUNT.format(all='ALL', most=50)}")
    assert run(session, "SELECT * FROM counted") == [(50,)]


ENDLESS_BLOCK = (
    "WITH MUTUALLY RECURSIVE a(i int) AS (SELECT 1 UNION SELECT i + 1 FROM b), b(i int) AS "
    "(SELECT i FROM a) SELECT i FROM b"
)


def test_a_block_without_a_limit_has_that_of_the_session(session: Session) -> None:
    run(session, "SET max_recursion_iterations = 20")
    with pytest.raises(
        EvaluationError, match='recursive query "a", "b" did not end within 20 iterations'
    ) as ended:
        run(session, ENDLESS_BLOCK)
    assert ended.value.sqlstate == "54000"
    limited = ENDLESS_BLOCK.replace("RECURSIVE", "RECURSIVE (RETURN AT RECURSION LIMIT 25)")
    assert run(session, limited) == [(i,) for i in range(1, 26)]


@pytest.mark.parametrize(
    "query", [ENDLESS.format(all="ALL"), ENDLESS.format(all=""), ENDLESS_BLOCK]
)
def test_an_endless_recursion_can_be_cancelled(session: Session, query: str) -> None:
    run(session, "SET max_recursion_iterations = 999999999")
    failures: list[Exception] = []

    def endless() -> None:
        try:
            run(session, query)
        except QueryCanceled as canceled:
            failures.append(canceled)

    thread = threading.Thread(target=endless)
    thread.start()
    while thread.is_alive():
        session.cancellation.cancel()
        time.sleep(0.05)
    thread.join()
    assert len(failures) == 1
