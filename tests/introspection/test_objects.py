"""What introspection says of single objects: how they are maintained, their statuses, dependencies
and statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest
from fixtures.sessions import sql
from fixtures.waiting import eventually
from structlog.testing import capture_logs

from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.consensus.objects.statistics import Moved, Total
from reclock.errors import EvaluationError
from reclock.introspection.overview import LastRefresh
from reclock.pipeline import cluster_steps, tick
from reclock.runtime.environment import Environment
from reclock.runtime.reporting import reporting


def test_an_index_says_how_it_is_maintained_and_how_it_was_refreshed_last(
    environment: Environment,
) -> None:
    sql(environment, "CREATE TABLE t (a int); CREATE TABLE u (a int)")
    sql(environment, "CREATE MATERIALIZED VIEW follows AS SELECT sum(a) AS s FROM t")
    sql(
        environment,
        "CREATE MATERIALIZED VIEW compared AS WITH RECURSIVE r AS (SELECT a FROM t UNION ALL SELECT "
        "a + 1 FROM r WHERE a < 3) SELECT a FROM r",
    )
    ways = "SELECT name, maintenance FROM mz_indexes ORDER BY name"
    assert sql(environment, ways) == [
        ("compared_primary_idx", "recomputed"),
        ("follows_primary_idx", "maintained from changes"),
    ]
    last = (
        "SELECT name, how FROM mz_compute_last_refreshes JOIN mz_indexes ON id = export_id "
        "ORDER BY name"
    )
    tick.run(environment, owner="tick")
    assert {how for _, how in sql(environment, last)} == {"recomputed"}  # nothing was known before
    sql(environment, "INSERT INTO t VALUES (1)")
    tick.run(environment, owner="tick")
    assert sql(environment, last) == sql(environment, ways)


def test_a_refresh_says_what_each_way_was_estimated_to_take_and_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of inputs that are large enough for a choice, which the first refresh never has."""
    monkeypatch.setenv("RECLOCK_REFRESH_RECOMPUTE_BYTES", "0")
    figures = (
        "SELECT how, delta_estimate_ns, recompute_estimate_ns, delta_took_ns, recompute_took_ns "
        "FROM mz_compute_last_refreshes"
    )
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        sql(environment, "CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")
        with reporting(environment):
            tick.run(environment, owner="tick")
            assert sql(environment, figures) == [("recomputed", None, None, None, None)]
            assert not any("estimated" in line for (line,) in sql(environment, EXPLAINED))

            def refreshed() -> str | None:
                """How the next refresh was made, unless it was the first that was made so."""
                sql(environment, "INSERT INTO t VALUES (1)")
                tick.run(environment, owner="tick")
                [(how, *known)] = sql(environment, figures)
                estimates, took = known[:2], dict(zip(WAYS, known[2:], strict=True))
                return how if all(estimates) and took[how] else None

            how = eventually(refreshed)
            eventually(
                lambda: any(
                    f"v_primary_idx: {how}, estimated from changes" in line
                    for (line,) in sql(environment, EXPLAINED)
                )
            )


def test_a_refresh_whose_changes_fail_says_that_it_was_recomputed_and_why(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are those of the query; the failure is shown and logged."""

    def failing(*arguments: Any, **options: Any) -> NoReturn:
        raise EvaluationError("numeric field overflow")

    last = "SELECT how, delta_error FROM mz_compute_last_refreshes"
    sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    sql(environment, "CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")
    with reporting(environment):
        tick.run(environment, owner="tick")
        sql(environment, "INSERT INTO t VALUES (2)")
        with monkeypatch.context() as patching, capture_logs() as logs:
            patching.setattr(DuckDbEngine, "changes", failing)
            tick.run(environment, owner="tick")
        assert sql(environment, "SELECT s FROM v") == [(3,)]
        assert sql(environment, last) == [("recomputed", "numeric field overflow")]
        [log] = [log for log in logs if log["event"] == "refresh from changes failed; recomputed"]
        assert (log["index"], log["error"]) == (
            "reclock.public.v_primary_idx",
            "numeric field overflow",
        )
        refresh = LastRefresh("recomputed", 1, 1.0, delta_error="numeric field overflow")
        assert refresh.choice == (
            "recomputed, because computing the changes failed: numeric field overflow"
        )


EXPLAINED = "EXPLAIN SELECT * FROM v"
WAYS = ("maintained from changes", "recomputed")


def test_each_kind_of_object_has_statuses_of_its_own(environment: Environment) -> None:
    sql(
        environment,
        (
            "CREATE TABLE t (a int); CREATE MATERIALIZED VIEW v AS SELECT a FROM t; INSERT "
            "INTO t VALUES (1)"
        ),
    )
    sql(environment, "CREATE SOURCE house FROM LOAD GENERATOR AUCTION FOR TABLES (users, bids)")
    sql(environment, "CREATE SINK out FROM t INTO DELTA 'out'")
    sizes = "SELECT records > 0, batches > 0, size > 0 FROM mz_arrangement_sizes"
    assert sql(environment, sizes) == [(False, False, False)]
    names = {"source": "house", "index": "v_primary_idx", "sink": "out"}

    def statuses(relation: str) -> dict[str, list[tuple]]:
        return {
            kind: sql(environment, f"SELECT name, status FROM mz_{kind}_{relation}")
            for kind in names
        }

    assert statuses("statuses") == {kind: [(name, "created")] for kind, name in names.items()}
    at = environment.stores.oracle.read_ts(EPOCH_MS)
    cluster_steps.refresh(environment, "default", at, owner="tick")
    cluster_steps.emit(environment, "out", at, owner="tick")
    [history, now] = statuses("status_history"), statuses("statuses")
    assert now == history | {"source": [("house", "created")]}
    assert [history["index"], history["sink"]] == [
        [("v_primary_idx", "running")],
        [("out", "running")],
    ]
    types = "SELECT name, type FROM mz_sources ORDER BY name"
    assert sql(environment, types) == [
        ("bids", "subsource"),
        ("house", "load-generator"),
        ("users", "subsource"),
    ]
    assert sql(environment, sizes) == [(True, True, True)]


def test_what_depends_on_what(environment: Environment) -> None:
    sql(
        environment,
        "CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t; CREATE INDEX i ON v (a)",
    )
    assert sql(environment, "SELECT * FROM mz_object_dependencies ORDER BY 1") == [
        ("u2", "u1"),
        ("u3", "u2"),
    ]


def test_statistics_count_each_step_once(environment: Environment) -> None:
    statistics = environment.stores.statistics
    for at, updates in ((10, 3), (20, 4), (20, 4)):  # the last is a tick that does it again
        statistics.add({"u1": Moved(Timestamp(at), updates, updates, 100)})
    assert statistics.get_all() == [Total("u1", Timestamp(20), 2, 7, 7, 200)]
