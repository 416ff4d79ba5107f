"""Which sources have news upstream, and when it is the same news: what starts ticks only once for
it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixtures.publications import Killed, killing_at

from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.consensus.frontiers.claims import GroupFrontier
from reclock.errors import UnknownRelation
from reclock.ingest.advance import Goal, Ingestion
from reclock.ingest.events import Examined
from reclock.ingest.news import news_fingerprint
from reclock.pipeline import tick
from reclock.pipeline.source_probes import upstream_news
from reclock.quality.suites import suite_path
from reclock.runtime.environment import Environment

SOURCE = """CREATE SOURCE {name} (v int) FROM S3
  DISCOVER OBJECTS USING BUCKET SCAN '{name}' FORMAT CSV WITH HEADER"""
A, B = "reclock.public.a", "reclock.public.b"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    """With the sources a and b, which have nothing."""
    with Environment.initialise(tmp_path / "home") as environment:
        for name in ("a", "b"):
            (tmp_path / "home" / "buckets" / name).mkdir(parents=True)
            sql(environment, SOURCE.format(name=name))
        yield environment


def sql(environment: Environment, text: str) -> list[Any]:
    return [row for result in Session(environment).execute(text) for row in result.rows()]


def append(environment: Environment, bucket: str, text: str) -> None:
    with (environment.stores.settings.home / "buckets" / bucket / "o.csv").open("a") as file:
        file.write(text)


def news(environment: Environment, *sources: str) -> dict[str, str]:
    failures: list[str] = []
    answer = upstream_news(environment, sources=sources or None, tell=failures.append)
    assert not failures
    assert json.loads(json.dumps(answer)) == answer  # it travels to triggers
    return answer


def test_news_is_the_same_until_the_upstream_has_more_or_it_is_ingested(
    environment: Environment,
) -> None:
    assert news(environment) == {}
    append(environment, "a", "v\n1\n")
    before = environment.stores.frontiers.get_all()
    first = news(environment)
    assert set(first) == {A}
    assert news(environment) == first
    assert news(environment, "a") == first
    assert news(environment, "b") == {}
    assert environment.stores.frontiers.get_all() == before  # nothing is claimed or moved
    sql(environment, "CREATE TABLE t (n int); INSERT INTO t VALUES (1); SELECT * FROM a, t")
    assert environment.stores.frontiers.get_all() != before  # a read moves idle sources
    assert news(environment) == first
    append(environment, "a", "2\n")
    append(environment, "b", "v\n1\n")
    second = news(environment)
    assert set(second) == {A, B}
    assert second[A] != first[A] != second[B]
    assert tick.run(environment, only=["b"], owner="test").succeeded
    assert news(environment) == {A: second[A]}
    assert tick.run(environment, owner="test").succeeded
    assert news(environment) == {}
    append(environment, "a", "3\n")
    assert news(environment)[A] not in (first[A], second[A])


def test_a_source_at_work_has_no_news_and_an_unfinished_step_is_news_once(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(environment, "a", "v\n1\n")
    first = news(environment)
    with monkeypatch.context() as patch:
        patch.setattr("reclock.failpoints.on_reach", killing_at("ingest.after_bind"))
        with pytest.raises(Killed):
            tick.run(environment, owner="killed", only=["a"])
    assert news(environment) == {}  # until the lease of the process that died is over
    real = environment.stores.clock
    later = 10 * environment.stores.settings.claim_lease_ms
    monkeypatch.setattr(environment.stores, "clock", lambda: real() + later)
    unfinished = news(environment)
    assert set(unfinished) == {A}
    assert unfinished != first
    append(environment, "a", "2\n")
    assert news(environment) == unfinished


def test_a_decision_about_a_blocked_step_is_news(environment: Environment) -> None:
    check = {"type": "expect_column_values_to_be_between", "meta": {"check": "v_is_small"}}
    check["kwargs"] = {"column": "v", "max_value": 1}
    suite = suite_path(environment.stores.settings.home / "expectations", A)
    suite.parent.mkdir()
    suite.write_text(json.dumps({"expectations": [check]}))
    append(environment, "a", "v\n2\n")
    assert not tick.run(environment, owner="test").succeeded
    blocked = news(environment)
    assert set(blocked) == {A}
    assert not tick.run(environment, owner="test").succeeded
    assert news(environment) == blocked
    sql(environment, "ALTER SOURCE a WAIVE 'v_is_small'")
    waived = news(environment)
    assert set(waived) == {A}
    assert waived != blocked
    assert tick.run(environment, owner="test").succeeded
    assert news(environment) == {}


def test_an_upstream_that_is_read_without_a_probe_is_news_after_each_reading() -> None:
    """Such as that of PubNub: nobody else can say whether it has more."""
    examined = Examined(upper=Timestamp(10), must_read_once=True, has_new_outputs=False)
    ingestion = Ingestion("u1", "s", Timestamp(20), Goal.PROBE, examined=examined)
    frontier = GroupFrontier("u1", MINIMUM, Timestamp(10), None, probed_at=Timestamp(9))
    first = news_fingerprint(ingestion, frontier)
    read_by_a_query = replace(frontier, upper=Timestamp(15))
    assert news_fingerprint(ingestion, read_by_a_query) == first
    ticked_without_rows = replace(frontier, probed_at=Timestamp(14))
    assert news_fingerprint(ingestion, ticked_without_rows) != first
    ticked = replace(ingestion, examined=replace(examined, upper=Timestamp(15)))
    assert news_fingerprint(ticked, frontier) != first


def test_an_upstream_that_cannot_be_asked_keeps_no_other_back(environment: Environment) -> None:
    append(environment, "b", "v\n1\n")
    (environment.stores.settings.home / "buckets" / "a").rmdir()
    failures: list[str] = []
    assert set(upstream_news(environment, sources=None, tell=failures.append)) == {B}
    (failure,) = failures
    assert failure.startswith(f"{A} cannot be asked for news: ")
    with pytest.raises(UnknownRelation):
        news(environment, "nowhere")
