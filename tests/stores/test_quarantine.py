"""An item whose definition cannot be planned is quarantined under its name: shown, droppable, and
in nobody's way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixtures.forks import command, completed
from fixtures.sessions import sql

from reclock.errors import DependentObjects, ObjectQuarantined, ReclockError, UntargetedLogRead
from reclock.runtime.environment import Environment

GARBAGE = [
    "CREATE VIEW garbage",
    "no SQL at all",
    "CREATE VIEW v AS SELECT nothing FROM reclock.public.t",
    "",
    "CREATE TABLE",
]


def edit_item(home: Path, id: str, create_sql: str) -> None:
    with Environment.unopened(home) as environment:
        items = json.loads(environment.stores.catalog.dump())["objects"]["item"]
        [found] = [item for item in items if item["key"] == {"id": id}]
    value = json.dumps({**found["value"], "create_sql": create_sql})
    assert (
        command("catalog", "edit", "item", json.dumps({"id": id}), value, "--home", str(home)) == 0
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        sql(
            environment,
            (
                "CREATE VIEW v AS SELECT a FROM t; CREATE VIEW w AS SELECT a FROM v; CREATE "
                "DEFAULT INDEX ON w"
            ),
        )
    return tmp_path


@pytest.mark.parametrize("text", GARBAGE)
def test_a_view_that_cannot_be_planned_is_in_nobodys_way(home: Path, text: str) -> None:
    edit_item(home, "u2", text)
    with Environment.open(home) as environment:
        assert sql(environment, "INSERT INTO t VALUES (2); SELECT a FROM t ORDER BY 1") == [
            (1,),
            (2,),
        ]
        for statement in (
            "SELECT * FROM v",
            "SELECT * FROM w",
            "CREATE VIEW x AS SELECT * FROM v",
            "SHOW COLUMNS FROM v",
        ):
            with pytest.raises(ObjectQuarantined, match=r'"reclock\.public\.[vw]"'):
                sql(environment, statement)
        broken = sql(
            environment, "SELECT name, type, broken FROM mz_internal.mz_broken_objects ORDER BY id"
        )
        assert broken[:2] == [
            ("reclock.public.v", "view", "definition"),
            ("reclock.public.w", "view", "definition"),
        ]
        assert sql(environment, "SHOW CREATE VIEW v") == [("reclock.public.v", text)]
        with pytest.raises(DependentObjects):
            sql(environment, "DROP VIEW v")
        sql(environment, "DROP VIEW v CASCADE; CREATE VIEW v AS SELECT a + 1 AS b FROM t")
        assert sql(environment, "SELECT b FROM v ORDER BY 1") == [(2,), (3,)]
        assert sql(environment, "SELECT * FROM mz_internal.mz_broken_objects") == []


def test_every_system_relation_can_be_read_beside_quarantined_items(home: Path) -> None:
    for id in ("u1", "u2", "u4"):
        edit_item(home, id, "CREATE garbage")
    with Environment.open(home) as environment:
        names = sql(
            environment,
            "SELECT schema_name, object_name FROM (SELECT s.name AS schema_name, o.name "
            "AS object_name"
            " FROM mz_objects o JOIN mz_schemas s ON s.id = o.schema_id WHERE o.id LIKE 's%') x",
        )
        for schema, name in names:
            try:
                sql(environment, f"SELECT * FROM {schema}.{name}")
            except UntargetedLogRead:
                continue  # it is a log of a replica
        assert {"t", "v", "w"} <= {
            name for (name,) in sql(environment, "SELECT name FROM mz_objects")
        }
        sql(environment, "CREATE TABLE n (a int); INSERT INTO n VALUES (1)")
        sql(
            environment,
            "DROP TABLE t CASCADE; DROP VIEW IF EXISTS v CASCADE; DROP INDEX w_primary_idx",
        )
        assert sql(environment, "SELECT name FROM mz_objects WHERE id LIKE 'u%'") == [("n",)]


def test_what_is_quarantined_keeps_its_rows_until_it_is_corrected(home: Path) -> None:
    edit_item(home, "u1", "CREATE TABLE garbage (")
    with Environment.open(home) as environment:
        with pytest.raises(ObjectQuarantined):
            sql(environment, "SELECT * FROM w")
        sql(environment, "CREATE TABLE n (a int); INSERT INTO n VALUES (1)")
    edit_item(home, "u1", "CREATE TABLE reclock.public.t (a INT)")
    with Environment.open(home) as environment:
        assert sql(environment, "SELECT a FROM w") == [(1,)]


def test_an_upgrade_check_names_what_would_be_quarantined(home: Path) -> None:
    check = ("catalog", "upgrade-check", "--home", str(home))
    assert completed(*check).returncode == 0
    edit_item(home, "u2", "CREATE VIEW garbage")
    failed = completed(*check)
    assert failed.returncode == 1
    assert '"reclock.public.v" cannot be planned' in failed.stderr
    assert "3 objects would be quarantined" in failed.stderr


def test_a_definition_in_a_block_may_not_break_what_is_there(home: Path) -> None:
    with Environment.open(home) as environment, pytest.raises(ReclockError):
        sql(
            environment,
            "BEGIN; CREATE OR REPLACE VIEW v AS SELECT a AS other FROM t; SELECT * FROM w; COMMIT",
        )
