"""Sources move at their own pace: one that reads long holds up neither the others nor the next
tick, and is published when it is ready."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import pytest

from reclock.adapter.session.session import Session
from reclock.ingest.report import IngestReport
from reclock.pipeline import source_steps, tick
from reclock.pipeline.tick_reports import PublishReport
from reclock.runtime.environment import Environment


@pytest.mark.parametrize(
    "is_last", [False, True], ids=["a later tick publishes it", "the last tick waits for it"]
)
def test_a_slow_source_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_last: bool
) -> None:
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
            go_on.set()
            while not any("slow" in names for names in published):
                run()
        assert sql("SELECT count(*) FROM slow_region") == [(5,)]
        assert sorted(name for names in published for name in names) == ["fast", "slow"]
