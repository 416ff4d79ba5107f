"""A tick and the readers beside it: an idle source that a reader has moved past the tick's time is
ingested at a newer one."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from fixtures.publications import Killed, Lakehouse, killing_at

from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.cli.loop import TickOutput
from reclock.errors import UpperMismatch, UpstreamUnavailable
from reclock.ingest.report import IngestReport, IngestState
from reclock.pipeline import source_steps, tick
from reclock.pipeline.tick_reports import PublishReport, TickFailure, TickReport
from reclock.runtime.environment import Environment

SOURCE = "CREATE SOURCE s (x int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT JSON"


def test_a_source_that_a_reader_has_moved_past_the_tick_takes_a_newer_time(
    tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "buckets" / "b").mkdir(parents=True)
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        list(session.execute(SOURCE))
        list(session.execute("CREATE TABLE t (x int)"))
        times, real = [], source_steps.ingestion.ingest

        def ingest(spec, at, owner, **stores):
            times.append(at)
            upper = environment.stores.frontiers.get(spec.id).upper
            if at < upper:
                raise UpperMismatch(spec.id, expected=at, found=upper)
            return real(spec, at, owner, **stores)

        monkeypatch.setattr(source_steps.ingestion, "ingest", ingest)
        at = tick.allocate(environment)
        list(session.execute("INSERT INTO t VALUES (1)"))
        [result] = session.execute("SELECT * FROM s")
        assert list(result.rows()) == []
        assert environment.stores.frontiers.get("u1").upper > at
        report = source_steps.ingest(environment, "s", at, owner="test")
        assert report.state is not None
        assert (times[0], len(times)) == (at, 2)
        assert times[1] > environment.stores.oracle.read_ts(EPOCH_MS)
        monkeypatch.setattr(environment.stores.oracle, "write_ts", lambda timeline: at)
        with pytest.raises(UpperMismatch):
            source_steps.ingest(environment, "s", at, owner="test")


def test_the_sources_of_a_tick_are_worked_on_at_the_same_time_and_each_fails_alone(
    tmp_path: Path, monkeypatch
) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        for name in "abc":
            list(session.execute(f"CREATE SOURCE {name} FROM LOAD GENERATOR COUNTER"))
        together = threading.Barrier(3)

        class Meeting:
            """An upstream that answers when every other is asked too."""

            def __init__(self, source) -> None:
                self.source = source

            def probe(self, bound, skips=()):
                together.wait(60)
                if self.source.name.endswith(".b"):
                    raise UpstreamUnavailable("nobody answers")
                return []

        monkeypatch.setattr(source_steps, "open_connector", lambda source, context: Meeting(source))
        report = tick.run(environment, owner="test")
        assert [failure.name for failure in report.failed] == ["reclock.public.b"]
        assert [found.source for found in report.ingested] == [
            "reclock.public.a",
            "reclock.public.c",
        ]
        assert tick.run(environment, only=[], owner="test").sources == ()


def test_a_source_that_is_dropped_during_a_tick_holds_up_no_other(
    tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "buckets" / "b").mkdir(parents=True)
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        list(session.execute(SOURCE))
        list(session.execute(SOURCE.replace("SOURCE s", "SOURCE gone")))
        real = source_steps.ingest_spec

        def ingest(environment, spec, at, owner, is_history=False):
            report = real(environment, spec, at, owner, is_history)
            if spec.name.endswith("gone"):
                list(Session(environment).execute("DROP SOURCE gone"))
            return report

        monkeypatch.setattr(tick, "ingest_spec", ingest)
        assert tick.run(environment, owner="test").succeeded
        assert tick.run(environment, owner="test").sources == ("reclock.public.s",)
        assert list(tick.run(environment, only=["s"], owner="test").sources) == ["reclock.public.s"]


@pytest.mark.parametrize("point", ["ingest.before_commit", "ingest.after_commit"])
def test_a_step_that_a_killed_tick_left_is_reported_by_the_tick_that_publishes_it(
    here: Lakehouse, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    here.sql(
        "CREATE SOURCE tpch FROM LOAD GENERATOR TPCH (SCALE FACTOR 0.0001) FOR TABLES (region)"
    )
    with monkeypatch.context() as patched:
        patched.setattr("reclock.failpoints.on_reach", killing_at(point))
        with pytest.raises(Killed):
            here.tick()
    report = tick.run(here.environment, owner="tests")
    assert report.published.rows == {"reclock.public.tpch": 5}
    assert "new data in 1 of 1 sources, 5 rows" in report.summary()
    counted = here.sql("SELECT steps, updates_committed FROM mz_source_statistics")
    assert counted == [(1, 5)]


def test_a_failure_is_told_with_its_detail_and_hint_until_it_is_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also if ticks between do not wait for the source, and again after it has succeeded. Ticks
    without news are silent, but for the first."""
    at, failure = Timestamp(1), TickFailure("a", "0A000", "it failed", "why", "what to do")
    published = PublishReport(at, Timestamp(2), {}, (failure,), ())
    failed = TickReport(at, ("a",), (), (), published, (), (), (failure,))
    silent = replace(failed, failed=())
    succeeded = replace(silent, ingested=(IngestReport("a", at, IngestState.IDLE),))
    line = "tick at 1: new data in 0 of 1 sources, 0 rows; 0 index updates"
    told_whole = [line, "  a: it failed", "    detail: why", "    hint: what to do"]
    output = TickOutput(is_json=False)
    for report, expected in (
        (silent, [line]),
        (silent, []),
        (failed, told_whole),
        (silent, []),
        (failed, []),
        (succeeded, [line]),
        (succeeded, []),
        (failed, told_whole),
    ):
        output.print(report)
        assert capsys.readouterr().out.splitlines() == expected


def test_a_source_that_another_process_works_on_is_reported_as_busy(
    here: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tick succeeds and the source is behind: its caller must be able to tell."""
    here.sql("CREATE SOURCE s FROM LOAD GENERATOR COUNTER")
    with monkeypatch.context() as patched:
        patched.setattr("reclock.failpoints.on_reach", killing_at("ingest.after_claim"))
        with pytest.raises(Killed):
            here.tick()
    report = tick.run(here.environment, owner="another")
    assert report.succeeded
    assert list(report.busy) == ["reclock.public.s"]
    assert "claimed by" in report.summary()
