"""A tick and the readers beside it: an idle source that a reader has moved past the tick's time is ingested at a newer one."""

from pathlib import Path

import pytest

from reclock import tick
from reclock.adapter.session import Session
from reclock.algebra.timestamps import EPOCH_MS
from reclock.environment import Environment
from reclock.errors import UpperMismatch

SOURCE = "CREATE SOURCE s (x int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN 'b' FORMAT JSON"


def test_a_source_that_a_reader_has_moved_past_the_tick_takes_a_newer_time(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "buckets" / "b").mkdir(parents=True)
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        list(session.execute(SOURCE))
        list(session.execute("CREATE TABLE t (x int)"))
        times, real = [], tick.ingest_source

        def ingest(spec, at, owner, **stores):
            times.append(at)
            upper = environment.frontiers.get(spec.id).upper
            if at < upper:
                raise UpperMismatch(spec.id, expected=at, found=upper)
            return real(spec, at, owner, **stores)

        monkeypatch.setattr(tick, "ingest_source", ingest)
        at = tick.allocate(environment)
        list(session.execute("INSERT INTO t VALUES (1)"))
        [result] = session.execute("SELECT * FROM s")
        assert list(result.rows()) == []
        assert environment.frontiers.get("u1").upper > at
        report = tick.ingest(environment, "s", at, owner="test")
        assert report.state is not None
        assert (times[0], len(times)) == (at, 2)
        assert times[1] > environment.oracle.read_ts(EPOCH_MS)
        monkeypatch.setattr(environment.oracle, "write_ts", lambda timeline: at)
        with pytest.raises(UpperMismatch):
            tick.ingest(environment, "s", at, owner="test")
