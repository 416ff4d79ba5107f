"""What every implementation promises about a catalog looked at and changed by hand: sound, of an
older layout, or broken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from fixtures.catalogs import (
    NOW,
    CatalogPlace,
    create_schema,
    install,
    joined,
    opened,
    sample,
    stored,
)

from reclock.algebra.timestamps import CATALOG, Timestamp
from reclock.catalog.encoding import CatalogUpdate, canonical
from reclock.catalog.initial import CATALOG_VERSION
from reclock.catalog.mend import Edit, Mended
from reclock.catalog.objects import Kind
from reclock.errors import (
    CatalogCorrupt,
    CatalogError,
    CatalogUninitialized,
    CatalogVersionUnsupported,
    EditRefused,
    Fenced,
    ReclockError,
    UnknownObject,
)

Rows = dict[tuple[str, str], str]


def key(**fields: object) -> str:
    return canonical(fields)


def value(**fields: object) -> str:
    return canonical(fields)


def edit(place: CatalogPlace, kind: str, key: str, value: str | None) -> Mended:
    return place.state().mend(Edit(kind, key, value), user="ada", occurred_at=NOW)


def broken_sample(changes: Mapping[tuple[str, str], str | None]) -> Rows:
    rows = sample(CATALOG_VERSION)
    for row, changed in changes.items():
        if changed is None:
            del rows[row]
        else:
            rows[row] = changed
    return rows


def dumped(place: CatalogPlace, kind: str) -> list[dict[str, Any]]:
    objects: dict[str, list[dict[str, Any]]] = json.loads(place.state().dump())["objects"]
    return objects[kind]


class TestDump:
    def test_it_needs_no_opening_and_changes_nothing(self, place: CatalogPlace) -> None:
        leader = opened(place)
        create_schema(leader, "raw")
        before = stored(place)
        assert json.loads(place.state().dump()) == json.loads(leader.dump())
        assert stored(place) == before
        assert [entry["value"]["object_name"] for entry in dumped(place, "audit_log")] == ["raw"]

    def test_of_an_empty_place_there_is_nothing_to_show(self, place: CatalogPlace) -> None:
        assert json.loads(place.state().dump()) == {
            "upper": 0,
            "objects": {kind.value: [] for kind in Kind},
        }

    @pytest.mark.parametrize("version", range(1, CATALOG_VERSION + 1))
    def test_every_layout_is_shown_as_it_is(self, place: CatalogPlace, version: int) -> None:
        install(place, sample(version))
        objects = json.loads(place.state().dump())["objects"]
        dumped = {
            (kind, canonical(e["key"])): canonical(e["value"])
            for kind, entries in objects.items()
            for e in entries
        }
        assert dumped == sample(version)

    @pytest.mark.parametrize(
        "text", ["{", "", "3", '"{}"', '{"b":1,"a":2}', '{"a": 1}', '{"a":NaN}', "[]"]
    )
    def test_what_is_not_canonical_json_is_shown_as_the_text_it_is(
        self, place: CatalogPlace, text: str
    ) -> None:
        install(
            place, broken_sample({("setting", key(name="welcome")): text, ("setting", text): "{}"})
        )
        assert {"key": {"name": "welcome"}, "value": text} in dumped(place, "setting")
        assert {"key": text, "value": {}} in dumped(place, "setting")

    def test_objects_that_are_not_there_once_are_shown_with_their_copies(
        self, place: CatalogPlace
    ) -> None:
        state = opened(place)
        at = state.upper
        row = ("setting", key(name="a"))
        updates = [
            CatalogUpdate(*row, value(value=v), Timestamp(at + n), 1) for n, v in enumerate("bcc")
        ]
        place.log().compare_and_append(at, Timestamp(at + 3), updates, state.leadership)
        shown = sorted(
            (entry["value"]["value"], entry.get("copies", 1)) for entry in dumped(place, "setting")
        )
        assert shown == [("b", 1), ("c", 2)]

        assert edit(place, *row, value(value="d")).problem is None
        assert [
            (setting.name, setting.value)
            for setting in opened(place).snapshot().sorted(Kind.SETTING)
        ] == [("a", "d")]

    def test_closed_is_closed(self, place: CatalogPlace) -> None:
        state = opened(place)
        state.close()
        with pytest.raises(CatalogError, match="closed"):
            state.dump()


class TestEditOfASoundCatalog:
    def test_it_fences_changes_one_object_and_is_recorded(self, place: CatalogPlace) -> None:
        live = opened(place)
        live.put([])
        public = live.snapshot().schemas[5]
        _, text = next(
            (u.key, u.value)
            for u in place.log().snapshot()[1]
            if (u.kind, u.key) == ("schema", key(id=5))
        )
        renamed = canonical(json.loads(text) | {"name": "open"})
        mended = edit(place, "schema", key(id=5), renamed)
        assert mended == Mended(3, None)
        with pytest.raises(Fenced):
            create_schema(live, "raw")
        after = joined(place)
        assert after.epoch == 3
        assert (after.snapshot().schemas[5].name, public.name) == ("open", "public")
        [event] = after.get_audit_logs()
        assert (event.event_type, event.object_type, event.object_name, event.user) == (
            "edit",
            "schema",
            key(id=5),
            "ada",
        )
        assert event.details == {"before": json.loads(text), "after": json.loads(renamed)}
        assert place.oracle.read_ts(CATALOG) >= after.upper

    def test_what_it_needs_is_one_write_after_the_epoch(self, place: CatalogPlace) -> None:
        upper = opened(place).upper
        edit(place, "setting", key(name="a"), value(value="b"))
        times = {
            kind: {u.ts for u in place.log().updates(upper, only={kind})[1]}
            for kind in ("config", "setting", "audit_log")
        }
        assert times["setting"] == times["audit_log"]
        assert max(times["config"]) < min(times["setting"])

    def test_an_object_can_be_added_and_deleted(self, place: CatalogPlace) -> None:
        opened(place)
        edit(place, "setting", key(name="a"), value(value="b"))
        assert [setting.value for setting in joined(place).snapshot().sorted(Kind.SETTING)] == ["b"]
        edit(place, "setting", key(name="a"), None)
        assert joined(place).snapshot().sorted(Kind.SETTING) == []
        events = joined(place).get_audit_logs()
        assert [(event.event_type, event.details["before"]) for event in events] == [
            ("edit", None),
            ("delete", {"value": "b"}),
        ]

    @pytest.mark.parametrize(
        ("kind", "key", "value", "complaint"),
        [
            ("klaster", key(id=1), value(name="x"), 'object kind "klaster" does not exist'),
            ("klaster", key(id=1), None, 'object kind "klaster" does not exist'),
            ("setting", key(name="none"), None, 'setting "{"name":"none"}" does not exist'),
            (
                "setting",
                key(id=1),
                value(value="x"),
                "its key must be a JSON object with exactly the fields name",
            ),
            (
                "setting",
                key(name="a"),
                value(text="x"),
                "its value must be a JSON object with exactly the fields value",
            ),
            ("setting", key(name="a"), value(value=3), "value: Input should be a valid string"),
            ("setting", key(name="a"), "text", "its value is not JSON"),
            ("database", key(id=1), None, 'refers to database "1", which is not there'),
            (
                "cluster_replica",
                key(id=1),
                value(cluster_id=7, name="r", size=None),
                'refers to cluster "7", which is not there',
            ),
            (
                "cluster_replica",
                key(id=9),
                value(cluster_id=1, name="r", size=None),
                "would give out its id again",
            ),
            (
                "config",
                key(key="epoch"),
                value(value=9),
                'config "epoch" changes only when the catalog is opened',
            ),
            (
                "config",
                key(key="version"),
                value(value=1),
                'config "version" changes only when the catalog is opened',
            ),
            ("config", key(key="version"), None, "changes only when the catalog is opened"),
            (
                "config",
                key(key="deploy_generation"),
                None,
                "changes only when the catalog is opened",
            ),
            ("id_allocator", key(name="user"), None, "its ids would be given out again"),
            ("id_allocator", key(name="schema"), value(next_id=5), "id 6 is in use or was"),
            ("audit_log", key(id=1), None, "events are recorded, never changed"),
            (
                "audit_log",
                key(id=7),
                value(
                    details={},
                    event_type="x",
                    object_name="x",
                    object_type="x",
                    occurred_at=1,
                    user="x",
                ),
                "events are recorded, never changed",
            ),
        ],
    )
    def test_what_would_break_it_is_refused_and_nobody_is_fenced(
        self, place: CatalogPlace, kind: str, key: str, value: str | None, complaint: str
    ) -> None:
        live = opened(place)
        create_schema(live, "raw")
        before = stored(place)
        with pytest.raises(ReclockError) as refused:
            edit(place, kind, key, value)
        assert complaint in f"{refused.value.message} {refused.value.detail}"
        assert stored(place) == before
        live.confirm_leadership()

    def test_two_of_one_name_are_refused(self, place: CatalogPlace) -> None:
        first = create_schema(opened(place), "raw")
        text = next(
            u.value for u in place.log().snapshot()[1] if (u.kind, u.key) == ("schema", key(id=5))
        )
        with pytest.raises(EditRefused) as refused:
            edit(place, "schema", key(id=5), canonical(json.loads(text) | {"name": first.name}))
        assert "another object has the same name" in str(refused.value.detail)

    def test_an_open_state_does_not_mend(self, place: CatalogPlace) -> None:
        with pytest.raises(CatalogError, match="open already"):
            opened(place).mend(
                Edit("setting", key(name="a"), value(value="b")), user="ada", occurred_at=NOW
            )

    def test_there_must_be_a_catalog(self, place: CatalogPlace) -> None:
        with pytest.raises(CatalogUninitialized):
            edit(place, "setting", key(name="a"), value(value="b"))

    def test_a_lower_deploy_generation_may_not(self, place: CatalogPlace) -> None:
        opened(place, deploy_generation=1)
        with pytest.raises(Fenced):
            edit(place, "setting", key(name="a"), value(value="b"))

    def test_an_actor_that_comes_between_is_no_obstacle(self, place: CatalogPlace) -> None:
        opened(place)
        state = place.state()
        opening = state._opening  # type: ignore[attr-defined]
        lead = opening._lead_to_mend

        def lead_then_wait(*arguments: object) -> object:
            led = lead(*arguments)
            create_schema(joined(place), "between")
            return led

        opening._lead_to_mend = lead_then_wait
        state.mend(Edit("setting", key(name="a"), value(value="b")), user="ada", occurred_at=NOW)
        after = joined(place)
        assert after.snapshot().schema_by_name(1, "between") is not None
        assert [event.id for event in after.get_audit_logs()] == [1, 2]
        assert len(after.snapshot().sorted(Kind.SETTING)) == 1


SCHEMA_8 = sample(CATALOG_VERSION)["schema", key(id=8)]
AUDIT_ALLOCATOR = ("id_allocator", key(name="audit_log"))


class TestMending:
    """Each damage refuses to open, and one edit or deletion mends it."""

    @pytest.mark.parametrize(
        ("damage", "mending"),
        [
            ({("schema", key(id=8)): "{"}, Edit("schema", key(id=8), SCHEMA_8)),
            ({("schema", key(id=8)): None}, Edit("schema", key(id=8), SCHEMA_8)),
            (
                {("schema", key(id=8)): SCHEMA_8.replace('"database_id":3', '"database_id":77')},
                Edit("schema", key(id=8), SCHEMA_8),
            ),
            ({("klaster", key(id=1)): "{}"}, Edit("klaster", key(id=1), None)),
            ({("setting", "{"): value(value="x")}, Edit("setting", "{", None)),
            (
                {("setting", '{"name": "x"}'): value(value="x")},
                Edit("setting", '{"name": "x"}', None),
            ),
            (
                {("id_allocator", key(name="user")): value(next_id=5)},
                Edit("id_allocator", key(name="user"), value(next_id=14)),
            ),
            (
                {("id_allocator", key(name="user")): None},
                Edit("id_allocator", key(name="user"), value(next_id=14)),
            ),
            (
                {("config", key(key="version")): None},
                Edit("config", key(key="version"), value(value=CATALOG_VERSION)),
            ),
            (
                {("config", key(key="version")): "?"},
                Edit("config", key(key="version"), value(value=CATALOG_VERSION)),
            ),
            (
                {("config", key(key="epoch")): None},
                Edit("config", key(key="epoch"), value(value=7)),
            ),
            (
                {("config", key(key="epoch")): "{}"},
                Edit("setting", key(name="any"), value(value="edit")),
            ),
            (
                {("config", key(key="deploy_generation")): None},
                Edit("config", key(key="deploy_generation"), value(value=0)),
            ),
        ],
    )
    def test_one_edit_mends_one_damage(
        self, place: CatalogPlace, damage: dict[tuple[str, str], str | None], mending: Edit
    ) -> None:
        install(place, broken_sample(damage))
        with pytest.raises(CatalogCorrupt):
            place.state().check_open()
        mended = place.state().mend(mending, user="ada", occurred_at=NOW)
        assert mended.problem is None
        state = joined(place)
        assert state.epoch == mended.epoch
        assert [event.object_name for event in state.get_audit_logs()] == [mending.key]
        create_schema(state, "afterwards")
        assert opened(place).epoch == mended.epoch + 1

    def test_an_epoch_that_was_lost_is_found_in_the_fence(self, place: CatalogPlace) -> None:
        for _ in range(3):
            state = opened(place)
        lost = next(
            u for u in place.log().snapshot()[1] if (u.kind, u.key) == ("config", key(key="epoch"))
        )
        at = state.upper
        deletion = CatalogUpdate(lost.kind, lost.key, lost.value, at, -1)
        place.log().compare_and_append(at, Timestamp(at + 1), [deletion], state.leadership)
        with pytest.raises(CatalogCorrupt, match="epoch"):
            opened(place)
        assert edit(place, "config", key(key="epoch"), value(value=1)) == Mended(5, None)
        assert opened(place).epoch == 6

    def test_of_two_damages_the_other_is_told(self, place: CatalogPlace) -> None:
        install(place, broken_sample({("schema", key(id=8)): "{", ("klaster", key(id=1)): "{}"}))
        first = edit(place, "klaster", key(id=1), None)
        assert isinstance(first.problem, CatalogCorrupt)
        assert (first.problem.kind, first.problem.key) == ("schema", key(id=8))
        assert edit(place, "schema", key(id=8), SCHEMA_8) == Mended(first.epoch + 1, None)
        joined(place)

    def test_first_the_allocator_of_the_audit_log_then_the_version_then_the_rest(
        self, place: CatalogPlace
    ) -> None:
        version, other = ("config", key(key="version")), ("klaster", key(id=1))
        install(place, broken_sample({version: "?", AUDIT_ALLOCATOR: "?", other: "{}"}))
        before = stored(place)
        for row, expected, complaint in (
            (other, None, "version"),
            (version, value(value=CATALOG_VERSION), "audit_log"),
        ):
            with pytest.raises(CatalogCorrupt, match=complaint):
                edit(place, *row, expected)
        assert stored(place) == before
        assert isinstance(edit(place, *AUDIT_ALLOCATOR, value(next_id=31)).problem, CatalogCorrupt)
        assert isinstance(
            edit(place, *version, value(value=CATALOG_VERSION)).problem, CatalogCorrupt
        )
        assert edit(place, *other, None).problem is None
        assert [event.id for event in joined(place).get_audit_logs()] == [31, 32, 33]

    def test_the_allocator_of_the_audit_log_does_not_fall_behind_its_events(
        self, place: CatalogPlace
    ) -> None:
        state = opened(place)
        create_schema(state, "one")
        create_schema(state, "two")
        found = next(u for u in place.log().snapshot()[1] if (u.kind, u.key) == AUDIT_ALLOCATOR)
        at = state.upper
        lost = CatalogUpdate(found.kind, found.key, found.value, at, -1)
        place.log().compare_and_append(at, Timestamp(at + 1), [lost], state.leadership)
        with pytest.raises(EditRefused) as refused:
            edit(place, *AUDIT_ALLOCATOR, value(next_id=2))
        assert "id 2 is in use or was" in str(refused.value.detail)
        edit(place, *AUDIT_ALLOCATOR, value(next_id=3))
        assert [event.id for event in joined(place).get_audit_logs()] == [1, 2, 3]

    def test_an_event_that_cannot_be_read_may_go(self, place: CatalogPlace) -> None:
        state = opened(place)
        at = state.upper
        bad = CatalogUpdate("audit_log", key(id=1), "{", at, 1)
        place.log().compare_and_append(at, Timestamp(at + 1), [bad], state.leadership)
        with pytest.raises(CatalogCorrupt):
            joined(place).get_audit_logs()
        edit(place, "audit_log", key(id=1), None)
        [event] = joined(place).get_audit_logs()
        assert event.details == {"before": "{"}

    def test_an_older_catalog_is_mended_in_its_own_layout(self, place: CatalogPlace) -> None:
        rows = sample(1)
        row = ("item", key(id="u5"))
        sound = rows[row]
        rows[row] = canonical(json.loads(sound) | {"create_sql": "CREATE INDEX i /* ON t"})
        install(place, rows)
        with pytest.raises(CatalogError, match="migration"):
            place.state().open()
        assert edit(place, *row, sound).problem is None
        assert not place.state().is_current()
        assert next(u.value for u in place.log().snapshot()[1] if (u.kind, u.key) == row) == sound
        with pytest.raises(EditRefused, match="cannot be stored"):
            edit(place, *row, rows[row])
        assert opened(place).snapshot().config("version") == CATALOG_VERSION

    def test_a_newer_catalog_is_left_alone(self, place: CatalogPlace) -> None:
        install(
            place, broken_sample({("config", key(key="version")): value(value=CATALOG_VERSION + 1)})
        )
        before = stored(place)
        with pytest.raises(CatalogVersionUnsupported):
            edit(place, "setting", key(name="a"), value(value="b"))
        assert stored(place) == before

    def test_nothing_of_an_object_that_is_not_there(self, place: CatalogPlace) -> None:
        install(place, broken_sample({("klaster", key(id=1)): "{}"}))
        with pytest.raises(UnknownObject):
            edit(place, "klaster", key(id=2), None)
