"""A store is put back in time before the other noted it, and ids are given out again: a new object
never has a lost one's rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.sessions import sql
from stores.stores_of_home import copy_consensus, put_back_consensus

from reclock.errors import CollectionUnready, ForeignCollection
from reclock.runtime.environment import Environment


def test_a_table_under_a_lost_ones_id_does_not_have_its_rows(tmp_path: Path) -> None:
    home, saved = tmp_path / "home", tmp_path / "saved.db"
    with Environment.initialise(home) as environment:
        sql(environment, "CREATE TABLE kept (a int); INSERT INTO kept VALUES (1)")
        copy_consensus(home, saved)
        sql(environment, "CREATE TABLE lost (a int); INSERT INTO lost VALUES (42)")
        sql(environment, "CREATE TABLE other (a int); INSERT INTO other VALUES (43)")
        environment.stores.tables.apply()
    put_back_consensus(home, saved)
    with Environment.initialise(home) as environment:  # nothing was noted since
        sql(environment, "CREATE TABLE new (a int)")
        for statement in ("SELECT * FROM new", "INSERT INTO new VALUES (1)"):
            with pytest.raises(CollectionUnready) as refused:
                sql(environment, statement)
            assert "another object's collection" in (refused.value.detail or "")
        with pytest.raises(ForeignCollection):
            sql(environment, "CREATE TABLE filled AS SELECT 1 AS a")
        assert sql(environment, "SELECT * FROM kept") == [(1,)]
