"""How Spark is told what an environment knows, and what of it everybody can see."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reclock.clusters import connect, jars, session
from reclock.clusters.spark_options import configuration
from reclock.config import Settings
from reclock.errors import ConfigurationError, UnsafeSparkListener


class Told:
    """A session that keeps its options; it is its own ``conf``."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}
        self.conf = self

    def set(self, name: str, value: str) -> None:
        self.options[name] = value


def test_credentials_of_the_lake_are_told_to_the_session_and_stand_in_no_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = Told()
    monkeypatch.setattr(session, "_start_session", lambda settings: builder)
    for name, value in {
        "LAKE": "s3://lake-of/prefix",
        "S3_ACCESS_KEY_ID": "key",
        "S3_SECRET_ACCESS_KEY": "do-not-tell",
    }.items():
        monkeypatch.setenv(f"RECLOCK_{name}", value)
    settings = Settings.load(tmp_path)
    assert session.start(settings) is builder
    assert builder.options == {
        "fs.s3a.bucket.lake-of.access.key": "key",
        "fs.s3a.bucket.lake-of.secret.key": "do-not-tell",
    }
    seen = [*connect.command(settings, "127.0.0.1", 1), *configuration(settings).values()]
    assert not any("do-not-tell" in word for word in seen)
    builder.options.clear()
    monkeypatch.setenv("RECLOCK_LAKE", str(tmp_path / "lake"))
    session.start(Settings.load(tmp_path))
    assert builder.options == {}


def test_other_machines_need_a_token_to_use_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(connect.os, "execve", lambda path, words, variables: started.append(words))
    settings = Settings.load(tmp_path)
    for host in ("127.0.0.1", "::1", "localhost"):
        connect.serve(settings, host, 1)
    with pytest.raises(UnsafeSparkListener):
        connect.serve(settings, "0.0.0.0", 1)  # noqa: S104
    monkeypatch.setenv("SPARK_CONNECT_AUTHENTICATE_TOKEN", "do-not-tell")
    connect.serve(settings, "0.0.0.0", 1)  # noqa: S104
    assert len(started) == 4
    assert "--conf=spark.connect.grpc.binding.address=0.0.0.0" in started[-1]
    assert not any("do-not-tell" in word for word in started[-1])


def test_missing_jars_are_counted_and_only_the_first_are_named(tmp_path: Path) -> None:
    settings = Settings.load(tmp_path).model_copy(update={"spark_jars": str(tmp_path)})
    with pytest.raises(ConfigurationError) as raised:
        configuration(settings)
    assert raised.value.detail is not None
    names, _, more = raised.value.detail.partition(" and ")
    assert len(names.split(", ")) == 3
    assert more == f"{len(jars.pinned()) - 3} more"
    assert raised.value.hint == 'run "reclock jars"'


def test_a_server_that_does_not_answer_is_named_without_its_token(tmp_path: Path) -> None:
    """In a process of its own: one has a session of a server, or its own, for good."""
    script = """
from pathlib import Path
from reclock.clusters import session
from reclock.config import Settings
from reclock.errors import UnsafeSparkListener
session._PATIENCE = {"max_retries": 1}
try:
    session.start(Settings.load(Path()))
except session.ConfigurationError as error:
    print(error.message, error.detail, error.hint)
"""
    variables = os.environ | {"RECLOCK_SPARK_REMOTE": "sc://127.0.0.1:9/;token=do-not-tell"}
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.startswith("no Spark Connect server answers at sc://127.0.0.1:9 ")
    assert "do-not-tell" not in process.stdout + process.stderr


@pytest.mark.spark
def test_an_environment_does_not_end_a_session_that_it_did_not_start(tmp_path: Path) -> None:
    """In a process of its own, whose session has the jars of an environment."""
    script = """
from pathlib import Path
from reclock.clusters.engine_pool import EnginePool
from reclock.config import Settings
from reclock.errors import UnsafeSparkListener
first, second = (EnginePool(lambda: Settings.load(Path()), None) for _ in range(2))
session = first.spark()
assert second.spark() is session
second.close()
print(session.range(3).count())
first.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout == "3\n"
