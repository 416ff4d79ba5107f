"""A repeated lookup by a parameter is answered from memory at once, unless something else decides
what it sees or whether it may see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fixtures.sessions import last_answer, run, sql

from reclock.adapter.session.session import Session
from reclock.clusters.in_process import InProcessReplica
from reclock.errors import ReclockError
from reclock.protocol.compute import Peek
from reclock.runtime.environment import Environment

LOOKUP = "SELECT name FROM t WHERE id = $1"


@pytest.fixture
def session(environment: Environment) -> Iterator[Session]:
    session = Session(environment)
    last_answer(
        session,
        "CREATE TABLE t (id int, name text); "
        "INSERT INTO t SELECT g, 'name ' || g FROM generate_series(1, 1000) AS x (g)",
    )
    environment.stores.tables.apply()
    for _ in range(2):  # from the second on, the column is in memory
        look_up(session)
    yield session
    session.close()


@pytest.fixture
def peeks(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[Peek]:
    """The peeks that replicas are asked for from now on."""
    peeks: list[Peek] = []
    peek = InProcessReplica.peek

    def noted(replica: InProcessReplica, request: Peek) -> Any:
        peeks.append(request)
        return peek(replica, request)

    monkeypatch.setattr(InProcessReplica, "peek", noted)
    return peeks


def look_up(session: Session, key: int = 3, text: str = LOOKUP) -> list[tuple[Any, ...]]:
    result = session.execute_prepared(session.prepare(text), (key,))
    return list(result.rows())  # type: ignore[union-attr]


def test_it_asks_no_replica_for_a_peek(session: Session, peeks: list[Peek]) -> None:
    assert [look_up(session, key) for key in (3, 4, 1001)] == [[("name 3",)], [("name 4",)], []]
    last_answer(session, "UPDATE t SET name = 'new' WHERE id = 4")
    del peeks[:]
    assert look_up(session, 4) == [("new",)]
    assert peeks == []


@pytest.mark.parametrize(
    "before",
    [
        "BEGIN",
        "SET transaction_isolation = 'serializable'",
        "CREATE VIEW v AS SELECT * FROM t; CREATE INDEX ON v (id)",
        "CREATE INDEX ON t (id)",
    ],
)
def test_another_statement_decides(before: str, session: Session, peeks: list[Peek]) -> None:
    """A block has a time and writes of its own, and an index may be read instead."""
    last_answer(session, before)
    del peeks[:]
    text = LOOKUP.replace(" t ", " v ") if "VIEW" in before else LOOKUP
    assert look_up(session, text=text) == [("name 3",)]
    assert len(peeks) == 1


@pytest.mark.parametrize(
    ("setting", "sqlstate"),
    [
        ("SET cluster = 'none'", "42704"),
        ("SET cluster_replica = 'none'", "42704"),
        ("SET max_result_size = '1B'", "53000"),
    ],
)
def test_its_errors_are_those_of_any_query(setting: str, sqlstate: str, session: Session) -> None:
    errors: list[str] = []
    last_answer(session, setting)
    for text in (LOOKUP, "SELECT name FROM t WHERE id + 0 = $1"):
        with pytest.raises(ReclockError) as raised:
            look_up(session, text=text)
        errors.append(raised.value.sqlstate)
    assert errors == [sqlstate] * 2


def test_it_needs_the_privilege(session: Session, environment: Environment) -> None:
    last_answer(session, "CREATE ROLE reader LOGIN")
    reader = Session(environment, user="reader")
    with pytest.raises(ReclockError, match="permission denied"):
        look_up(reader)
    last_answer(session, "GRANT SELECT ON t TO reader")
    assert [look_up(reader) for _ in range(2)] == [[("name 3",)]] * 2
    last_answer(session, "REVOKE SELECT ON t FROM reader")
    with pytest.raises(ReclockError, match="permission denied"):
        look_up(reader)
    reader.close()


def test_it_sees_what_another_process_has_written(
    session: Session, environment: Environment
) -> None:
    with Environment.open(environment.stores.settings.home) as other:
        for n in range(3):
            sql(other, f"UPDATE t SET name = 'version {n}' WHERE id = 3")
            assert look_up(session) == [(f"version {n}",)]
            other.stores.tables.apply()
            assert look_up(session) == [(f"version {n}",)]


def test_it_counts_as_a_peek(session: Session) -> None:
    def count() -> int:
        [(count,)] = run(
            session,
            "SELECT COALESCE(sum(count), 0)::int FROM mz_peek_durations_histogram "
            "WHERE engine = 'memory'",
        )
        return int(count)

    counted = count()
    look_up(session)
    assert count() == counted + 1
