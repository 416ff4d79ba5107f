"""Prepared lookups, which memory may answer, find what a scan finds, in and outside transactions,
whatever was written, applied and compacted before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from fixtures.sessions import last_answer, run

from reclock.adapter.planning import plan_cache
from reclock.adapter.query.queries import QueryExecution, ReadPlan
from reclock.adapter.session import session as session_module
from reclock.adapter.session.session import Session
from reclock.algebra.ids import TABLES
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.collections.compaction import compact
from reclock.collections.tables import table_id
from reclock.pipeline import cluster_steps
from reclock.runtime.environment import Environment

Row = tuple[int | None, str | None, int | None]

STEPS = 60
LOOKUPS: dict[str, Callable[[list[Row], int, str], list[tuple[Any, ...]]]] = {
    "SELECT n, t FROM law WHERE k = $1": lambda rows, key, text: [
        (n, t) for k, t, n in rows if k == key
    ],
    "SELECT n + 1 AS m FROM law WHERE k = $1 AND t = $2": lambda rows, key, text: [
        (None if n is None else n + 1,) for k, t, n in rows if k == key and t == text
    ],
    "SELECT t FROM law WHERE k = $1 OR k = 1": lambda rows, key, text: [
        (t,) for k, t, _ in rows if k in (key, 1)
    ],
    "SELECT count(*), count(n) FROM law WHERE k = $1": lambda rows, key, text: [
        (len(of_key := [n for k, _, n in rows if k == key]), sum(n is not None for n in of_key))
    ],
}


@pytest.fixture
def sessions(environment: Environment) -> Iterator[list[Session]]:
    sessions = [Session(environment), Session(environment)]
    last_answer(sessions[0], "CREATE TABLE law (k int, t text, n bigint)")
    yield sessions
    for session in sessions:
        session.close()


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> Counter[bool]:
    """How many statements memory answered (True), and how many were executed."""
    outcomes: Counter[bool] = Counter()
    read = session_module.read_from_memory

    def noted(context: Any) -> Any:
        result = read(context)
        outcomes[result is not None] += 1
        return result

    monkeypatch.setattr(session_module, "read_from_memory", noted)
    return outcomes


@pytest.mark.parametrize("seed", range(3))
def test_a_lookup_finds_what_a_scan_finds(
    seed: int, environment: Environment, sessions: list[Session], outcomes: Counter[bool]
) -> None:
    random = Random(seed)
    for _ in range(STEPS):
        step = _step(random)
        _take(step, sessions[0], environment)
        for session in sessions:
            rows = run(session, "SELECT k, t, n FROM law")
            for text, expected in LOOKUPS.items():
                key, letter = random.randrange(3), random.choice("ab")
                assert _found(session, text, key, letter) == Counter(
                    expected(rows, key, letter)  # type: ignore[arg-type]
                ), (step, text, key, letter)
    assert outcomes[True] > STEPS


@pytest.mark.parametrize("seed", range(2))
def test_a_lookup_through_an_index_finds_what_a_scan_finds(
    seed: int,
    environment: Environment,
    sessions: list[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether the index is readable at the time of the lookup or not. Its plan is made once for all
    values until the catalog changes."""
    random, used, made = Random(seed), Counter[bool](), 0
    prepare, arrange = QueryExecution.prepare, plan_cache.arranged

    def noted(query: QueryExecution) -> ReadPlan:
        ready = prepare(query)
        if query.definition.relations:
            used[bool(ready.indexes)] += 1
        return ready

    def counted(*arguments: Any) -> Any:
        nonlocal made
        made += 1
        return arrange(*arguments)

    monkeypatch.setattr(QueryExecution, "prepare", noted)
    monkeypatch.setattr(plan_cache, "arranged", counted)
    last_answer(sessions[0], "CREATE VIEW seen AS SELECT k, t, n FROM law")
    last_answer(sessions[0], "CREATE INDEX ON seen (k)")
    for _ in range(STEPS):
        step = _step(random)
        _take(step, sessions[0], environment)
        if random.random() < 0.5:
            at = environment.stores.oracle.read_ts(EPOCH_MS)
            assert cluster_steps.refresh(environment, "default", at, owner="law").failed == ()
        for session in sessions:
            rows = run(session, "SELECT k, t, n FROM law")
            for text, expected in LOOKUPS.items():
                key, letter = random.randrange(3), random.choice("ab")
                assert _found(session, text.replace("law", "seen"), key, letter) == Counter(
                    expected(rows, key, letter)  # type: ignore[arg-type]
                ), (step, text, key, letter)
    assert used[True] > STEPS < used[False]
    assert made == len(LOOKUPS)


def _step(random: Random) -> str:
    key, letter = random.randrange(3), random.choice("ab")
    return random.choice(
        [
            f"INSERT INTO law VALUES ({key}, '{letter}', {key})",
            f"INSERT INTO law VALUES (NULL, '{letter}', {key}), ({key}, NULL, NULL)",
            f"UPDATE law SET n = n + 1 WHERE k = {key}",
            f"UPDATE law SET k = 2 - k, t = '{letter}' WHERE n = {key}",
            f"DELETE FROM law WHERE k = {key} AND t = '{letter}'",
            "BEGIN",
            "COMMIT",
            "ROLLBACK",
            "apply",
            "compact",
        ]
    )


def _take(step: str, session: Session, environment: Environment) -> None:
    stores = environment.stores
    match step:
        case "apply":
            stores.tables.apply()
        case "compact" if not session.in_block:
            stores.shared_holds.release_idle([TABLES])
            [entry] = [
                relation
                for relation in stores.planner_catalog().relations()
                if relation.name.item == "law"
            ]
            collection = stores.lake.open(table_id(entry.id))
            upper = collection.pin().upper
            compact(collection, Timestamp(min(stores.oracle.read_ts(EPOCH_MS), upper - 1)))
        case "compact":
            pass  # the block holds what it reads
        case _:
            last_answer(session, step)


def _found(session: Session, text: str, key: int, letter: str) -> Counter[tuple[Any, ...]]:
    prepared = session.prepare(text)
    values = (key, letter)[: len(prepared.parameter_types)]
    return Counter(session.execute_prepared(prepared, values).rows())  # type: ignore[union-attr]
