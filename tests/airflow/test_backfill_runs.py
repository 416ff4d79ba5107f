"""Runs of `reclock_backfill` over a real environment: one a data interval."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reclock.adapter.session.session import Session
from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.timestamps import moment
from reclock.runtime.environment import Environment
from reclock.server.console import Console
from reclock.server.monitoring import Monitor

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


def test_each_run_gives_one_interval_and_nothing_is_ever_scheduled(
    tmp_path: Path,
    run_worker: Callable[..., Any],
    airflow_database: dict[str, str],
    spark_remote: str,
) -> None:
    home = tmp_path / "home"
    for key, day in (("a", "2026-03-01 12:00"), ("b", "2026-03-02 12:00")):
        path = home / "buckets" / "landing" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"k": "{key}"}}\n')
        os.utime(path, (moment(day) / 1000,) * 2)
    create = (
        "CREATE SOURCE {} (k text) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'landing' "
        "FORMAT JSON WITH (START '{}')"
    )
    with Environment.initialise(home) as environment:
        session = Session(environment)
        list(session.execute(create.format("early", "2026-03-01")))
        list(session.execute(create.format("late", "2026-03-03")))
    rebuild = {"rebuild": True, "sources": ["early"]}
    # an interval ends there
    runs = [("2026-03-02", {}), ("2026-03-03", {}), ("2026-03-02", {}), ("2026-03-03", rebuild)]
    report = run_worker(
        "backfill_worker.py", runs, RECLOCK_HOME=str(home), RECLOCK_SPARK_REMOTE=spark_remote
    )
    assert [run["state"] for run in report["runs"]] == ["success"] * 4
    assert [run["tasks"]["done"] for run in report["runs"]] == ["success"] * 4  # nothing is skipped
    bound = [
        {name for name in run["tasks"] if name.startswith("give.bind")} for run in report["runs"]
    ]
    early, late = "give.bind[reclock.public.early]", "give.bind[reclock.public.late]"
    assert bound == [{early}, {early, late}, {early}, {early}]
    assert report["asked"] == {"scheduler": None, "backfill": "2026-03-02T00:00:00+00:00"}
    with Environment.open(home) as environment:
        session = Session(environment)
        id = StorageCollectionId(GlobalId("u1"), CollectionType.RECLOCKED)
        assert environment.stores.lake.open(id).pin().rewrites == 1
        for name, day, keys in (
            ("early", "2026-03-02", 1),
            ("early", "2026-03-03", 2),
            ("late", "2026-03-03", 2),
        ):
            (result,) = session.execute(f"SELECT count(*) FROM {name} AS OF {moment(day)}")
            assert list(result.rows()) == [(keys,)]


def test_a_warm_process_does_the_work(
    tmp_path: Path, run_worker: Callable[..., Any], airflow_database: dict[str, str]
) -> None:
    home, monitor = tmp_path / "home", Monitor("127.0.0.1", 0)
    path = home / "buckets" / "landing" / "a"
    path.parent.mkdir(parents=True)
    path.write_text('{"k": "a"}\n')
    os.utime(path, (moment("2026-03-01 12:00") / 1000,) * 2)
    with Environment.initialise(home) as environment:
        session = Session(environment)
        create = (
            "CREATE SOURCE s (k text) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'landing' "
            "FORMAT JSON WITH (START '2026-03-01')"
        )
        list(session.execute(create))
        with monitor.watching(environment, application=Console(environment)):
            report = run_worker(
                "backfill_worker.py",
                [("2026-03-02", {})],
                RECLOCK_HOME=str(tmp_path / "nowhere"),  # the tasks themselves find nothing
                AIRFLOW_CONN_RECLOCK_WARM=f"http://{monitor.address}",
            )
        monitor.close()
        assert report["runs"][0]["tasks"] == {
            "list_sources": "success",
            "give.await_turn[reclock.public.s]": "success",
            "give.bind[reclock.public.s]": "success",
            "done": "success",
        }
        (result,) = session.execute(f"SELECT k FROM s AS OF {moment('2026-03-02')}")
        assert list(result.rows()) == [("a",)]
    assert not (tmp_path / "nowhere").exists()
