"""`reclock source check`: what is there and what is missing, in bounded time, and nothing is
changed by asking."""

from __future__ import annotations

import gzip
import os
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import reclock
from reclock.adapter.session.session import Session
from reclock.adapter.statements.sources import check
from reclock.adapter.statements.sources.check import check_source
from reclock.cli import app
from reclock.connectors.objects.object_store import S3Buckets
from reclock.errors import UpstreamUnavailable
from reclock.runtime.environment import Environment

SOURCE = (
    "CREATE SOURCE s (x int) FROM S3 DISCOVER OBJECTS MATCHING 'in/*' USING BUCKET SCAN 'b' "
    "FORMAT JSON"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "buckets" / "b" / "in").mkdir(parents=True)
    (tmp_path / "buckets" / "b" / "in" / "one").write_text('{"x": 1}\n')
    (tmp_path / "buckets" / "b" / "in" / "deeper").mkdir()
    (tmp_path / "buckets" / "b" / "in" / "deeper" / "two").write_text('{"x": 1}\n')
    with Environment.initialise(tmp_path) as environment:
        list(Session(environment).execute(SOURCE))
    return tmp_path


def test_it_says_what_is_there_and_changes_nothing(home: Path) -> None:
    done = CliRunner().invoke(app, ["source", "check", "s", "--home", str(home)])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        f"ok       {what}"
        for what in ("status", "frontier", "bucket", "objects", "reading", "probe")
    ]
    assert 'folder "' in lines[2]
    assert lines[3].endswith('1 of 2 objects under "in/" match "in/*"')
    assert lines[-1].endswith("1 partitions have something new, 0 are bound")
    with Environment.open(home) as environment:
        assert environment.stores.frontiers.get("u1").claim is None


def test_it_says_what_is_missing(home: Path) -> None:
    (home / "buckets" / "b").rename(home / "buckets" / "c")
    done = CliRunner().invoke(app, ["source", "check", "s", "--home", str(home)])
    assert done.exit_code == 1
    assert done.output.splitlines()[-1].startswith('MISSING  upstream: bucket "b" does not exist')


def test_it_names_objects_whose_last_record_does_not_end(home: Path) -> None:
    """Rows at their ends would be missing for ever, and nothing else says so. An object that was
    written a moment ago may still be growing."""
    folder = home / "buckets" / "b" / "in"
    (folder / "two").write_text('{"x": 2}\n{"x": 3}')
    (folder / "three.gz").write_bytes(gzip.compress(b'{"x": 4}'))
    (folder / "one").write_text('{"x": 1}\n')

    def last_records() -> list[tuple[bool, str]]:
        with Environment.open(home) as environment:
            results = check_source(environment, "s", timeout_s=30)
            return [
                (result.ok, result.detail.partition(" wait")[0])
                for result in results
                if result.name == "last record"
            ]

    unended = ['the last 8 bytes of "in/three.gz"', 'the last 8 bytes of "in/two"']
    assert last_records() == [(True, text) for text in unended]
    an_hour_ago = time.time() - 3600
    for path in folder.iterdir():
        os.utime(path, (an_hour_ago, an_hour_ago))
    assert last_records() == [(False, text) for text in unended]
    with reclock.connect(home) as client:
        client.tick()
        assert client.sql("SELECT x FROM s ORDER BY x").rows() == [(1,), (2,)]
    assert last_records() == [(False, text) for text in unended]
    (folder / "two").write_text('{"x": 2}\n{"x": 3}\n')
    (folder / "three.gz").unlink()
    assert last_records() == []


def test_it_names_the_extra_of_a_library_that_is_missing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'confluent_kafka'", name="confluent_kafka")

    monkeypatch.setattr(check, "open_connector", missing)
    done = CliRunner().invoke(app, ["source", "check", "s", "--home", str(home)])
    assert done.exit_code == 1
    assert 'the extra "kafka" of Reclock is not installed' in done.output.splitlines()[-1]


def test_an_upstream_that_says_nothing_is_waited_for_no_longer_than_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = threading.Event()

    def silent(spec: object, context: object) -> object:
        heard.wait()
        raise UpstreamUnavailable("too late")

    monkeypatch.setattr(check, "open_connector", silent)
    with Environment.open(home) as environment:
        *_, last = check_source(environment, "s", timeout_s=0.2)
        heard.set()
    assert (last.ok, last.detail) == (False, "no answer within 0.2 seconds")


def test_credentials_are_named_and_secrets_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    described = S3Buckets("http://127.0.0.1:1", "us-east-1", "AKIAGIVEN", "hidden").described("b")
    assert "AKIAGIVEN" in described
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFOUND")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    found = S3Buckets("", "us-east-1").described("b")
    assert "AKIAFOUND" in found
    assert "hidden" not in described + found


def test_an_unended_record_is_in_the_status_after_a_minute(home: Path) -> None:
    """It is a notice, not a problem: the writer may still go on. It goes when the record ends."""
    folder = home / "buckets" / "b" / "in"
    (folder / "two").write_text('{"x": 2}\n{"x": 3}')

    def ticked() -> tuple[bool, str, str]:
        with reclock.connect(home) as client:
            client.tick()
            sql = "SELECT status, detail, hint FROM mz_source_statuses WHERE name = 's'"
            [(status, detail, hint)] = client.sql(sql).rows()
        shown = CliRunner().invoke(app, ["status", "--home", str(home)])
        return status == "running", f"{detail}: {hint}", shown.output

    assert ticked()[:2] == (True, "None: None")
    an_hour_ago = time.time() - 3600
    os.utime(folder / "two", (an_hour_ago, an_hour_ago))
    for _ in range(2):
        is_running, notice, text = ticked()
        assert is_running
        assert notice == (
            'the last record waits for its end: "in/two" from byte 9 on, 8 bytes: '
            "end the object with a newline, or close the quote of its last field"
        )
        assert 's: the last record waits for its end: "in/two" from byte 9 on, 8 bytes' in text
        assert "no problems" in text
    (folder / "two").write_text('{"x": 2}\n{"x": 3}\n')
    assert ticked()[:2] == (True, "None: None")
