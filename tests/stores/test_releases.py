"""Environments that earlier releases left behind, in the middle of their work, go on under this
one.

``releases/catalog_v3.tar.gz`` was made by the commands of the release before catalog version 4: a
table with rows, a source of which all was published, a materialized view, and a second source whose
tick was killed at ``ingest.after_claimed``. All leases in it have run out.
"""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import pytest
from fixtures.sessions import sql

from reclock.pipeline import tick
from reclock.runtime.environment import Environment

FROZEN = {"catalog_v3.tar.gz": "04fd4634625843aae53672ed2d014090fa6846beb052153098e3b1dd626c9f43"}
RELEASES = Path(__file__).parent / "releases"


def test_releases_do_not_change() -> None:
    present = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in RELEASES.iterdir()
    }
    assert present == FROZEN


@pytest.mark.parametrize("release", FROZEN)
def test_what_a_release_claimed_is_finished_by_this_one(release: str, tmp_path: Path) -> None:
    with tarfile.open(RELEASES / release) as archive:
        archive.extractall(tmp_path, filter="data")
    # the sample grows older
    (tmp_path / "reclock.toml").write_text(f"max_clock_jump_ms = {2**53}\n")
    with Environment.initialise(tmp_path) as environment:
        assert sql(environment, "SELECT * FROM t ORDER BY a") == [(1, "one"), (2, "two")]
        assert sql(environment, "SELECT count(*) FROM nation") == [(25,)]
        report = tick.run(environment, owner="tests", is_last=True)
        assert report.failed == ()
        assert sql(environment, "SELECT count(*) FROM region2") == [(5,)]
        assert sql(environment, "SELECT n FROM m") == [(5,)]
        sql(environment, "INSERT INTO t VALUES (3, 'three')")
        assert sql(environment, "SELECT count(*) FROM t") == [(3,)]
