"""What Airflow is still to be told of: every change once, whoever published it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fixtures.sessions import run

from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS
from reclock.pipeline import cluster_steps, maintenance, tick
from reclock.pipeline.announcements import Positions, unannounced
from reclock.runtime.environment import Environment

SOURCE = """CREATE SOURCE a (k text, v integer) FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET
SCAN 'a' FORMAT CSV WITH HEADER"""
DEFINITIONS = f"""{SOURCE};
CREATE MATERIALIZED VIEW of_a AS SELECT k FROM a;
CREATE TABLE t (n int);
CREATE MATERIALIZED VIEW of_t AS SELECT n FROM t WHERE n > 1;
CREATE VIEW not_stored AS SELECT n FROM t;
CREATE SINK emitted FROM of_t INTO DELTA 'emitted';
CREATE TEMPORARY TABLE own (n int)"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment.initialise(tmp_path_factory.mktemp("announced") / "home") as environment:
        yield environment


def test_changes_are_announced_once_whoever_published_them(environment: Environment) -> None:
    session = Session(environment)
    run(session, DEFINITIONS)
    announced: Positions = {}

    def news() -> dict[str, int]:
        nonlocal announced
        changed, positions = unannounced(environment, announced)
        assert unannounced(environment, positions) == ({}, positions)
        if changed:  # the DAG records positions with events alone
            announced = positions
        return {name.rpartition(".")[2]: changes["rows"] for name, changes in changed.items()}

    assert news() == {}

    write(environment, "k,v\nx,1\ny,2\n")
    assert tick.run(environment, owner="by hand").succeeded
    assert news() == {"a": 2, "of_a": 2}

    run(session, "INSERT INTO t VALUES (1), (2), (3)")
    refresh(environment)
    assert news() == {"t": 3, "of_t": 2}

    run(session, "DELETE FROM t WHERE n < 3; INSERT INTO t VALUES (4)")
    assert tick.run(environment, owner="by hand").succeeded
    events = news()
    assert events == {"t": 3, "of_t": 2, "emitted": 4}, events

    # times that compaction has merged are no news, also long after the last change, and beside
    # what is new
    assert tick.run(environment, owner="without news").succeeded
    environment.stores.settings = environment.stores.settings.model_copy(
        update={"retention_ms": 0, "index_retention_ms": 0}
    )
    maintenance.run(environment)
    assert news() == {}
    run(session, "INSERT INTO t VALUES (5)")
    refresh(environment)
    assert news() == {"t": 1, "of_t": 1}


def test_a_change_that_was_not_announced_before_its_times_were_merged_is_announced(
    environment: Environment,
) -> None:
    run(Session(environment), "CREATE TABLE later (n int)")
    _, before = unannounced(environment, {})
    run(Session(environment), "INSERT INTO later VALUES (1), (2)")
    cluster_steps.complete_tables(environment.stores, environment.stores.oracle.read_ts(EPOCH_MS))
    maintenance.run(environment)
    changed, after = unannounced(environment, before)
    assert {name: changes["rows"] for name, changes in changed.items()} == {
        "reclock.public.later": 2
    }
    assert all(after[uri] >= position for uri, position in before.items())


def refresh(environment: Environment) -> None:
    at = environment.stores.oracle.read_ts(EPOCH_MS)
    assert not cluster_steps.refresh(environment, "default", at, owner="a server").failed


def write(environment: Environment, text: str) -> None:
    folder = environment.stores.settings.home / "buckets" / "a"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "object.csv").write_text(text)
