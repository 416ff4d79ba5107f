"""Sources move at their own pace: one that reads long holds up neither the others nor the next
tick, and is published when it is ready."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from reclock.adapter.session.session import Session
from reclock.ingest.report import IngestReport, IngestState
from reclock.pipeline import dag_steps, source_steps, tick
from reclock.pipeline.tick_reports import PublishReport
from reclock.runtime.environment import Environment


@pytest.mark.parametrize(
    "publisher", ["a later tick", "the last tick, which waits for it", "the pause between ticks"]
)
def test_a_slow_source_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, publisher: str
) -> None:
    is_last = publisher.startswith("the last tick")
    go_on, published = Event(), []
    ingest, publish = source_steps.ingestion.ingest, source_steps.publish

    def ingest_slowly(spec: Any, *arguments: Any, **more: Any) -> IngestReport:
        if spec.name.endswith("slow"):
            assert go_on.wait(600)
        return ingest(spec, *arguments, **more)

    def publish_and_go_on(*arguments: Any, **more: Any) -> PublishReport:
        report = publish(*arguments, **more)
        published.append(sorted(name.rpartition(".")[2] for name in report.rows))
        if is_last:
            go_on.set()
        return report

    monkeypatch.setattr(source_steps.ingestion, "ingest", ingest_slowly)
    monkeypatch.setattr(tick, "publish", publish_and_go_on)
    with Environment.initialise(tmp_path / "home") as environment:

        def sql(text: str) -> list[tuple[Any, ...]]:
            return [row for result in Session(environment).execute(text) for row in result.rows()]

        for name in ("slow", "fast"):
            sql(
                (
                    f"CREATE SOURCE {name} FROM LOAD GENERATOR TPCH (SCALE FACTOR 0.0001) "
                    "FOR ALL TABLES"
                ).replace("ALL TABLES", f"TABLES (region AS {name}_region)")
            )

        def run() -> tick.TickReport:
            report = tick.run(environment, owner="tests", patience_s=0.01, is_last=is_last)
            assert report.failed == ()
            return report

        while not any("fast" in names for names in published):
            run()
        assert sql("SELECT count(*) FROM fast_region") == [(5,)]
        if not is_last:
            assert not any("slow" in names for names in published)
            if publisher == "the pause between ticks":
                assert not list(tick.settle(environment, owner="tests", is_over=lambda: True))
                go_on.set()
                [report] = tick.settle(environment, owner="tests")
                assert report.failed == ()
            go_on.set()
            while not any("slow" in names for names in published):
                run()
        assert sql("SELECT count(*) FROM slow_region") == [(5,)]
        assert sorted(name for names in published for name in names) == ["fast", "slow"]


def test_a_slow_cluster_or_sink_delays_no_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ticks report what it did when it is done; the last tick waits for that."""
    go_on = Event()

    def slowly(work: Callable[..., Any]) -> Callable[..., Any]:
        def wait_and_work(*arguments: Any, **more: Any) -> Any:
            assert go_on.wait(60)
            return work(*arguments, **more)

        return wait_and_work

    monkeypatch.setattr(tick, "refresh", slowly(tick.refresh))
    monkeypatch.setattr(tick, "attempt_emit", slowly(tick.attempt_emit))
    with Environment.initialise(tmp_path / "home") as environment:
        list(
            Session(environment).execute(
                "CREATE TABLE t (n int); INSERT INTO t VALUES (1); "
                "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t; "
                "CREATE SINK s FROM t INTO DELTA 'sink'"
            )
        )
        for _ in range(2):
            report = tick.run(environment, owner="tests", patience_s=0.01, is_last=False)
            assert (report.refreshed, report.emitted) == ((), ())
        go_on.set()
        report = tick.run(environment, owner="tests", patience_s=0.01)
        assert sum(index.updates for done in report.refreshed for index in done.indexes) == 1
        assert sum(sink.changes for sink in report.emitted) == 1


def test_a_late_answer_to_a_probe_says_nothing_about_what_has_come_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run of the DAG works on the source; it does not count as idle then."""
    go_on = Event()

    def probe_slowly(_: Any, spec: Any, at: Any) -> IngestReport:
        assert go_on.wait(60)
        return IngestReport(spec.name, at, IngestState.IDLE)

    monkeypatch.setattr(source_steps, "probe_spec", probe_slowly)
    monkeypatch.setenv("RECLOCK_TICK_PATIENCE_MS", "10")
    with Environment.initialise(tmp_path / "home") as environment:
        list(Session(environment).execute("CREATE SOURCE c FROM LOAD GENERATOR COUNTER"))

        def planned() -> list[str]:
            work = dag_steps.plan(environment, sources=None, at=None, tell=lambda line: None)
            return [item["source"] for item in work]

        assert planned() == ["reclock.public.c"]
        go_on.set()
        wait(environment.runtime.probes._started.values())
        assert planned() == ["reclock.public.c"]
