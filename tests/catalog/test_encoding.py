"""Stored objects read back as what was written; anything else is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reclock.algebra.relations import Column, ScalarType
from reclock.catalog.acl import AclItem, Privilege, letters
from reclock.catalog.encoding import (
    CatalogUpdate,
    decode,
    decode_update,
    difference,
    encode,
    rows_of,
)
from reclock.catalog.kinds import SPECS, CatalogObject, identity
from reclock.catalog.objects import AuditEvent, DefaultPrivilege, Kind, SystemPrivilege
from reclock.errors import CatalogCorrupt

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
PRIVILEGES = st.sets(st.sampled_from(Privilege), min_size=1).map(letters)
FIELDS: dict[type, dict[str, Any]] = {
    ScalarType: {"element": st.none(), "is_unconstrained": st.just(False)},
    Column: {"limit": st.none()},
    AuditEvent: {"details": st.dictionaries(st.text(), JSON)},
    AclItem: {"privileges": PRIVILEGES},
    DefaultPrivilege: {"privileges": PRIVILEGES},
    SystemPrivilege: {"privileges": PRIVILEGES},
}
for type_, fields in FIELDS.items():
    st.register_type_strategy(type_, st.builds(type_, **fields))
OBJECTS = st.one_of([st.from_type(spec.type) for spec in SPECS.values()])


@given(OBJECTS)
def test_every_object_of_every_kind_reads_back(thing: CatalogObject) -> None:
    assert decode(*encode(thing)) == thing


@given(OBJECTS, OBJECTS)
def test_equal_keys_have_equal_text(one: CatalogObject, other: CatalogObject) -> None:
    assert (encode(one)[:2] == encode(other)[:2]) == (identity(one) == identity(other))


def test_every_kind_has_rules() -> None:
    assert set(SPECS) == set(Kind)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ('{"id":1}', '{"database_id":null,"name":"a"}'),
        (
            '{"id":1}',
            '{"database_id":null,"name":"a","owner_role_id":"s1","privileges":[],"more":1}',
        ),
        ('{"id":"1"}', '{"database_id":null,"name":"a","owner_role_id":"s1","privileges":[]}'),
        ('{"id":1.0}', '{"database_id":null,"name":"a","owner_role_id":"s1","privileges":[]}'),
        ('{"id":true}', '{"database_id":null,"name":"a","owner_role_id":"s1","privileges":[]}'),
        ('{"id": 1}', '{"database_id":null,"name":"a","owner_role_id":"s1","privileges":[]}'),
        ('{"id":1}', '[null,"a","s1",[]]'),
        ('{"id":1}', ""),
        ('{"id":1}', '{"database_id":NaN,"name":"a","owner_role_id":"s1","privileges":[]}'),
    ],
)
def test_what_encode_does_not_write_is_refused(key: str, value: str) -> None:
    with pytest.raises(CatalogCorrupt, match="schema") as corrupt:
        decode("schema", key, value)
    assert corrupt.value.detail


def test_a_field_left_out_of_a_nested_value_is_noticed() -> None:
    """It would read as its default, and its retraction would then not match what is stored."""
    value = {
        "create_sql": None,
        "created_at": 1,
        "incarnation": "",
        "name": "p",
        "owner_role_id": "u1",
        "privileges": [],
        "progress": {"desc": {"columns": []}, "source_id": "u1"},
        "schema_id": 1,
        "type": "source_progress",
    }
    with pytest.raises(CatalogCorrupt) as corrupt:
        decode("item", '{"id":"u2"}', json.dumps(value, separators=(",", ":")))
    assert "not canonical" in str(corrupt.value.detail)


@pytest.mark.parametrize("diff", [0, 2, -2])
def test_other_diffs_than_one_are_refused(diff: int) -> None:
    with pytest.raises(CatalogCorrupt):
        decode_update(CatalogUpdate("setting", '{"name":"a"}', '{"value":"b"}', 1, diff))  # type: ignore[arg-type]


@pytest.mark.parametrize("updates", [[("b", 2)], [("b", -1)], [("b", 1), ("c", 1)]])
def test_sums_that_make_no_catalog_are_refused(updates: list[tuple[str, int]]) -> None:
    with pytest.raises(CatalogCorrupt):
        rows_of(CatalogUpdate("setting", "a", value, 0, diff) for value, diff in updates)  # type: ignore[arg-type]


ROWS = st.dictionaries(
    st.tuples(st.sampled_from("kl"), st.sampled_from("abc")), st.sampled_from("xyz")
)


@given(ROWS, ROWS)
def test_a_difference_turns_one_into_the_other_and_names_nothing_that_stays(
    before: dict[tuple[str, str], str], after: dict[tuple[str, str], str]
) -> None:
    updates = difference(before, after, 7)  # type: ignore[arg-type]
    result = dict(before)
    for update in updates:
        if update.diff < 0:
            assert result.pop((update.kind, update.key)) == update.value
        else:
            assert (update.kind, update.key) not in result
            result[update.kind, update.key] = update.value
    assert result == after
    assert len(updates) == len(set(before.items()) ^ set(after.items()))
