"""Marks, backups and restores where the lake is in an object store."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.s3 import options
from fixtures.sessions import sql
from stores.stores_of_home import copy_consensus, put_back_consensus

from reclock.errors import StoreRolledBack
from reclock.pipeline.backup import back_up
from reclock.pipeline.restore import restore
from reclock.runtime.environment import Environment

__all__ = ["options"]


def test_a_rollback_is_found_out_and_a_backup_brings_both_back(
    tmp_path: Path,
    options: dict[str, str],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RECLOCK_LAKE", f"s3://lake/{request.node.name}")
    monkeypatch.setenv("RECLOCK_S3_ENDPOINT", options["aws_endpoint"])
    monkeypatch.setenv("RECLOCK_S3_ACCESS_KEY_ID", options["aws_access_key_id"])
    monkeypatch.setenv("RECLOCK_S3_SECRET_ACCESS_KEY", options["aws_secret_access_key"])
    monkeypatch.setenv("RECLOCK_STORE_MARK_INTERVAL_MS", "0")
    home = tmp_path / "home"
    with Environment.initialise(home) as environment:
        sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        environment.stores.tables.apply()
        back_up(environment.stores, tmp_path / "saved")
        copy_consensus(home, tmp_path / "older.db")
        sql(environment, "INSERT INTO t VALUES (2)")
        environment.stores.tables.apply()
    put_back_consensus(home, tmp_path / "older.db")
    with pytest.raises(StoreRolledBack, match="consensus is older than the lake"):
        Environment.open(home)
    restore(tmp_path / "saved", home, may_replace=True)
    with Environment.open(home) as environment:
        assert sql(environment, "INSERT INTO t VALUES (3); SELECT a FROM t ORDER BY a") == [
            (1,),
            (3,),
        ]
