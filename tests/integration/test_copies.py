"""A copy of an environment, restored from a backup beside it, leaves alone what its upstreams and
targets keep for one reader and writer."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.publications import Lakehouse, Upstream
from typer.testing import CliRunner

from reclock.cli import app
from reclock.errors import EnvironmentIsCopy
from reclock.pipeline import dag_steps, tick
from reclock.pipeline.backup import back_up
from reclock.pipeline.restore import restore
from reclock.runtime.environment import Environment


@pytest.fixture
def copy(upstream: Upstream, here: Lakehouse, tmp_path: Path) -> Path:
    """The home of a copy of ``here``, whose upstream and tables have moved on since the backup."""
    upstream.table("t (id int)")
    upstream.run("INSERT INTO t VALUES (1)")
    here.create(upstream)
    here.sql("CREATE SINK s FROM t INTO DELTA 's'")
    assert here.tick() == []
    back_up(here.environment.stores, tmp_path / "backup")
    upstream.run("INSERT INTO t VALUES (2)")
    home = tmp_path / "copy"
    assert restore(tmp_path / "backup", home, may_replace=False).is_copy
    key = here.environment.stores.settings.home / "secrets.key"
    if key.exists():
        (home / "secrets.key").write_bytes(key.read_bytes())
    return home


def test_a_copy_is_read_and_neither_ticks_nor_drops_slots(
    upstream: Upstream, here: Lakehouse, copy: Path
) -> None:
    slots = upstream.slots()
    with Environment.open(copy) as environment:
        restored = Lakehouse(environment)
        assert restored.sql("SELECT id FROM t") == [(1,)]
        with pytest.raises(EnvironmentIsCopy):
            restored.tick()
        with pytest.raises(EnvironmentIsCopy):
            dag_steps.work_clusters(environment, owner="tests", tell=print)
        restored.sql("DROP SOURCE pg CASCADE")
        assert "does not tick" in "".join(restored.notices)
    assert upstream.slots() == slots
    assert here.tick() == []
    assert here.sql("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_a_copy_takes_the_place_of_what_is_gone(
    upstream: Upstream, here: Lakehouse, copy: Path
) -> None:
    """Also one that was restored once more in place of itself."""
    here.environment.close()
    backup = copy.parent / "backup"
    assert restore(backup, copy, may_replace=True).is_copy
    refused = CliRunner().invoke(app, ["tick", "--home", str(copy)])
    assert refused.exit_code == 1
    assert "reclock init --take-over" in refused.output
    taken = CliRunner().invoke(app, ["init", "--take-over", "--home", str(copy)])
    assert taken.exit_code == 0, taken.output
    with Environment.open(copy) as environment:
        failed = [failure.name for failure in tick.run(environment, owner="tests").failed]
        assert failed == ["reclock.public.s"]  # its target was in the folder that is gone
        assert Lakehouse(environment).sql("SELECT id FROM t ORDER BY id") == [(1,), (2,)]
    assert not restore(backup, copy, may_replace=True).is_copy
