"""A stash changed behind the catalog's back: whatever was done to its tables, opening names kind,
key and what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from fixtures.catalogs import NOW, CatalogPlace, create_schema, joined, opened

from reclock.catalog.mend import Edit
from reclock.errors import CatalogCorrupt, CatalogError

PUBLIC = '{"id":5}'
ROLE = '"attributes":[],"configuration":{},"membership":{}'


@dataclass(frozen=True)
class Damage:
    """``complaint`` is what the error must say of the object ``kind`` and ``key``."""

    statement: str
    kind: str
    key: str
    complaint: str
    value: str = ""
    diff: int = 1

    def do(self, connection: sa.Connection) -> None:
        values = {"kind": self.kind, "key": self.key, "value": self.value, "diff": self.diff}
        connection.execute(sa.text(self.statement), values)


SET = "UPDATE catalog_updates SET value = :value WHERE kind = :kind AND key = :key AND diff = :diff"
ADD = (
    "INSERT INTO catalog_updates (ts, kind, key, value, diff) VALUES (1, :kind, :key, "
    ":value, :diff)"
)
DROP = "DELETE FROM catalog_updates WHERE kind = :kind AND key = :key"
COPY = (
    "INSERT INTO catalog_updates (ts, kind, key, value, diff) "
    "SELECT 1, kind, key, value, :diff FROM catalog_updates WHERE kind = :kind AND key = :key"
)

OBJECTS = {
    "a value is cut": Damage(
        SET, "schema", PUBLIC, "its value is not JSON", '{"database_id":1,"na'
    ),
    "a value is empty": Damage(SET, "schema", PUBLIC, "its value is not JSON"),
    "a value is no object": Damage(SET, "schema", PUBLIC, "its value must be a JSON object", "[1]"),
    "a field is missing": Damage(
        SET, "schema", PUBLIC, "exactly the fields database_id, name, owner_role_id", '{"name":"x"}'
    ),
    "a field is too much": Damage(
        ADD, "setting", '{"name":"a"}', "exactly the fields value", '{"value":"b","x":1}'
    ),
    "a field has a wrong type": Damage(
        ADD, "setting", '{"name":"a"}', "value: Input should be a valid string", '{"value":1}'
    ),
    "a key is no JSON": Damage(ADD, "setting", "a", "its key is not JSON", '{"value":"b"}'),
    "a key is not canonical": Damage(
        ADD, "setting", '{"name": "a"}', "not canonical", '{"value":"b"}'
    ),
    "a kind is unknown": Damage(
        ADD, "klaster", '{"id":1}', "there is no object kind of this name", "{}"
    ),
    "a version is no number": Damage(
        SET,
        "config",
        '{"key":"version"}',
        "value: Input should be a valid integer",
        '{"value":"2"}',
    ),
    "there is no version": Damage(
        DROP, "config", '{"key":"version"}', "it is missing, though the catalog holds other objects"
    ),
    "there is no epoch": Damage(
        DROP, "config", '{"key":"epoch"}', "it is missing, though the catalog is initialized"
    ),
    "there is no deploy generation": Damage(
        DROP, "config", '{"key":"deploy_generation"}', "it is missing, though the catalog"
    ),
    "there are two values": Damage(
        ADD, "timestamp", '{"timeline":"catalog"}', "it has two values at once", '{"floor":1}'
    ),
    "it is there twice": Damage(COPY, "timestamp", '{"timeline":"catalog"}', "it is there 2 times"),
    "it was taken away only": Damage(
        ADD, "setting", '{"name":"a"}', "it is there -1 times", '{"value":"b"}', diff=-1
    ),
}

BETWEEN_OBJECTS = {
    "a reference leads nowhere": (
        Damage(DROP, "database", '{"id":1}', 'refers to database "1", which is not there'),
        ("schema", '{"id":'),
    ),
    "a grant is of nobody": (
        Damage(
            ADD,
            "system_privilege",
            '{"grantee":"u9","grantor":"s1"}',
            'role "u9", which is not there',
            '{"privileges":"R"}',
        ),
        ("system_privilege", '{"grantee":"u9","grantor":"s1"}'),
    ),
    "an allocator is behind": (
        Damage(
            SET,
            "id_allocator",
            '{"name":"user_role"}',
            "would give out its id again: the next is 1",
            '{"next_id":1}',
        ),
        ("role", '{"id":"u1"}'),
    ),
    "an allocator is gone": (
        Damage(DROP, "id_allocator", '{"name":"cluster"}', 'id allocator "cluster" is missing'),
        ("cluster", '{"id":1}'),
    ),
    "two have one name": (
        Damage(
            ADD,
            "role",
            '{"id":"u0"}',
            "another object has the same name",
            f'{{{ROLE},"name":"reclock","password":null}}',
        ),
        ("role", '{"id":"u'),
    ),
    "an id is malformed": (
        Damage(
            ADD,
            "role",
            '{"id":"x9"}',
            "not an id that the catalog can hold",
            f'{{{ROLE},"name":"eve","password":null}}',
        ),
        ("role", '{"id":"x9"}'),
    ),
}

TABLES = {
    "the upper is behind": (
        "UPDATE catalog_upper SET upper = upper - 1",
        "there are updates at this time",
    ),
    "there is no upper": ("DELETE FROM catalog_upper", "there are updates at this time"),
}


@pytest.fixture
def place(migrated_url: str, tmp_path: Path) -> Iterator[CatalogPlace]:
    """A stash, initialised and written to."""
    made = CatalogPlace("stash", migrated_url, tmp_path)
    create_schema(opened(made), "raw")
    yield made
    made.close()


def rows(place: CatalogPlace) -> list[tuple[object, ...]]:
    query = sa.text(
        "SELECT ts, kind, key, diff, value FROM catalog_updates ORDER BY kind, key, ts, diff, value"
    )
    return [
        tuple(row)
        for row in place.consensus.read(lambda connection: connection.execute(query).all())
    ]


def complaints(place: CatalogPlace) -> list[CatalogCorrupt]:
    """What each way of opening says. None of them changes anything."""
    before, messages = rows(place), []
    for way in ("check_open", "open", "join", "open_read_only"):
        with pytest.raises(CatalogCorrupt) as corrupt:
            getattr(place.state(), way)()
        messages.append(corrupt.value)
    assert rows(place) == before
    return messages


@pytest.mark.parametrize("damage", OBJECTS.values(), ids=OBJECTS)
def test_an_object_that_is_broken_is_named_shown_and_can_be_mended(
    place: CatalogPlace, damage: Damage
) -> None:
    sound = {(update.kind, update.key): update.value for update in place.log().snapshot()[1]}
    place.consensus.transact(damage.do)
    for complaint in complaints(place):
        assert (complaint.kind, complaint.key) == (damage.kind, damage.key)
        assert damage.complaint in str(complaint.detail)
        assert damage.kind in complaint.message
    assert damage.kind in json.loads(place.state().dump())["objects"]
    edit = Edit(damage.kind, damage.key, sound.get((damage.kind, damage.key)))
    assert place.state().mend(edit, user="ada", occurred_at=NOW).problem is None
    create_schema(joined(place), "afterwards")


@pytest.mark.parametrize(("damage", "named"), BETWEEN_OBJECTS.values(), ids=BETWEEN_OBJECTS)
def test_objects_that_do_not_fit_each_other_are_named(
    place: CatalogPlace, damage: Damage, named: tuple[str, str]
) -> None:
    place.consensus.transact(damage.do)
    for complaint in complaints(place):
        assert complaint.kind == named[0]
        assert complaint.key.startswith(named[1])
        assert damage.complaint in str(complaint.detail)
    assert place.state().dump()


@pytest.mark.parametrize(("statement", "complaint"), TABLES.values(), ids=TABLES)
def test_tables_that_contradict_each_other_are_told(
    place: CatalogPlace, statement: str, complaint: str
) -> None:
    place.consensus.transact(lambda connection: connection.execute(sa.text(statement)))
    for said in complaints(place):
        assert said.kind == "update"
        assert complaint in str(said.detail)


@pytest.mark.parametrize(
    "damage", [OBJECTS["a kind is unknown"], OBJECTS["a field has a wrong type"]]
)
def test_a_follower_reports_the_damage_and_keeps_its_snapshot(
    place: CatalogPlace, damage: Damage
) -> None:
    state = joined(place)
    before = state.snapshot()
    at = {"ts": state.upper, "kind": damage.kind, "key": damage.key, "value": damage.value}

    def work(connection: sa.Connection) -> None:
        connection.execute(
            sa.text(
                "INSERT INTO catalog_updates (ts, kind, key, value, diff) VALUES (:ts, "
                ":kind, :key, :value, 1)"
            ),
            at,
        )
        connection.execute(sa.text("UPDATE catalog_upper SET upper = upper + 1"))

    place.consensus.transact(work)
    with pytest.raises(CatalogCorrupt) as corrupt:
        state.sync()
    assert (corrupt.value.kind, corrupt.value.key) == (damage.kind, damage.key)
    assert state.snapshot() is before
    with pytest.raises(CatalogError):
        create_schema(state, "blind")
