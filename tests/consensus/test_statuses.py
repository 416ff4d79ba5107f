"""Statuses: the present one of each name, and every one it ever had."""

import pytest

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus
from reclock.consensus.leadership.fence import Leadership
from reclock.consensus.objects.statuses import Status, Statuses

T = Timestamp


@pytest.fixture
def statuses(consensus: Consensus, leadership: Leadership) -> Statuses:
    return Statuses(consensus, leadership)


def test_the_present_status_and_its_history(statuses: Statuses) -> None:
    statuses.record("u1", "running", at=T(1))
    statuses.record("u1", "stalled", error="no bucket", detail="b", hint="make it", at=T(2))
    statuses.record("u2", "running", at=T(2))
    statuses.record("u1", "running", at=T(3))
    assert statuses.current() == {
        "u1": Status("u1", "running", None, None, None, T(3)),
        "u2": Status("u2", "running", None, None, None, T(2)),
    }
    assert statuses.current(["u2", "u9"]).keys() == {"u2"}
    assert [(s.status, s.error, s.at) for s in statuses.history("u1")] == [
        ("running", None, 1),
        ("stalled", "no bucket", 2),
        ("running", None, 3),
    ]
    assert len(statuses.history()) == 4


def test_an_unchanged_status_adds_nothing_and_keeps_its_beginning(
    statuses: Statuses, statements: list[str]
) -> None:
    statuses.record("u1", "stalled", error="e", at=T(1))
    statements.clear()
    statuses.record("u1", "stalled", error="e", at=T(2))
    assert [
        statement for statement in statements if not statement.startswith(("SELECT", "BEGIN"))
    ] == []
    assert len(statements) > 0
    assert statuses.current()["u1"].at == 1
    assert len(statuses.history("u1")) == 1
    statuses.record("u1", "stalled", error="e", detail="more", at=T(3))
    assert [s.at for s in statuses.history("u1")] == [1, 3]


def test_many_are_recorded_at_one_moment(statuses: Statuses) -> None:
    statuses.record("u1", "running", at=T(1))
    statuses.record_all([Status(f"u{n}", "running", None, None, None, T(2)) for n in range(5)])
    assert {s.name: s.at for s in statuses.current().values()} == {
        "u0": 2,
        "u1": 1,
        "u2": 2,
        "u3": 2,
        "u4": 2,
    }
    statuses.record_all([])


def test_a_forgotten_name_keeps_its_history(statuses: Statuses) -> None:
    statuses.record("u1", "running", at=T(1))
    statuses.forget(["u1", "u9"])
    assert statuses.current() == {}
    assert len(statuses.history("u1")) == 1


def test_a_pruned_history_begins_later_and_the_present_stays(statuses: Statuses) -> None:
    for at, status in enumerate(("running", "stalled", "running"), 1):
        statuses.record("u1", status, at=T(at))
    statuses.record("u2", "running", at=T(1))
    assert statuses.prune(T(3)) == 3
    assert [(s.name, s.at) for s in statuses.history()] == [("u1", 3)]
    assert {name: s.at for name, s in statuses.current().items()} == {"u1": 3, "u2": 1}
    assert statuses.prune(T(3)) == 0
