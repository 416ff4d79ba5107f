"""Every implementation of the durable catalog promises the same about opening and upgrading."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from fixtures.catalogs import (
    BUILTINS,
    NOW,
    CatalogPlace,
    contents,
    create_schema,
    install,
    joined,
    opened,
    sample,
    stored,
)

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG, EPOCH_MS
from reclock.catalog.acl import AclItem
from reclock.catalog.builtins import BuiltinObject
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.encoding import canonical, decode, encode_rows
from reclock.catalog.initial import CATALOG_VERSION, SYSTEM_SCHEMAS
from reclock.catalog.objects import AuditEvent, Cluster, Config, Kind, Setting, SkippedRange
from reclock.errors import (
    CatalogCorrupt,
    CatalogError,
    CatalogReadOnly,
    CatalogUninitialized,
    CatalogVersionUnsupported,
    Fenced,
    MigrationFailed,
)


class TestBeforeItIsOpen:
    def test_it_is_not_initialized_and_can_only_be_opened(self, place: CatalogPlace) -> None:
        state = place.state()
        assert not state.is_initialized()
        assert state.deploy_generation() is None
        assert not state.is_current()
        assert state.epoch is None
        assert state.boot_ts == place.clock()
        for refused in (state.join, state.open_read_only, state.check_open):
            with pytest.raises(CatalogUninitialized):
                refused()
        assert stored(place) == (0, [], 0)

    @pytest.mark.parametrize(
        "use",
        [
            lambda state: state.snapshot(),
            lambda state: state.sync(),
            lambda state: state.upper,
            lambda state: state.leadership,
            lambda state: state.snapshot().sorted(Kind.ITEM),
            lambda state: state.get_audit_logs(),
            lambda state: state.transaction(),
            lambda state: state.confirm_leadership(),
            lambda state: state.subscribe_at(0),
        ],
    )
    def test_its_contents_are_out_of_reach(
        self, place: CatalogPlace, use: Callable[[DurableCatalogState], object]
    ) -> None:
        opened(place).close()
        with pytest.raises(CatalogError, match="not open"):
            use(place.state())

    def test_the_deploy_generation_can_be_read_whatever_the_layout(
        self, place: CatalogPlace
    ) -> None:
        install(
            place, encode_rows(Config(key, 9) for key in ("version", "epoch", "deploy_generation"))
        )
        state = place.state()
        assert (state.is_initialized(), state.deploy_generation()) == (True, 9)


class TestOpen:
    def test_a_first_open_gives_epoch_2_and_a_reopen_3_with_the_contents_unchanged(
        self, place: CatalogPlace
    ) -> None:
        first = opened(place)
        assert (first.epoch, first.deploy_generation()) == (2, 0)
        create_schema(first, "raw")
        before = contents(place)
        second = opened(place)
        assert second.epoch == 3
        assert second.leadership.epoch == 3
        assert contents(place) == before

    def test_the_first_contents(self, place: CatalogPlace) -> None:
        snapshot = opened(place).snapshot()
        database = snapshot.database_by_name("reclock")
        assert database is not None
        assert snapshot.schema_by_name(database.id, "public") is not None
        assert all(snapshot.schema_by_name(None, name) for name in SYSTEM_SCHEMAS)
        assert snapshot.by_name(Kind.CLUSTER, "default") == Cluster(
            1, "default", None, "s1", (AclItem("p", "U", "s1"),)
        )
        assert {role.name for role in snapshot.roles.values()} == {"mz_system", "reclock"}
        assert snapshot.config("version") == CATALOG_VERSION
        assert set(snapshot.all(Kind.TIMESTAMP)) == {EPOCH_MS, CATALOG}

    def test_it_is_initialized_and_current_afterwards(self, place: CatalogPlace) -> None:
        opened(place)
        assert place.state().is_initialized()
        assert place.state().is_current()
        assert not place.state(deploy_generation=1).is_current()

    def test_a_state_opens_once(self, place: CatalogPlace) -> None:
        state = opened(place)
        with pytest.raises(CatalogError, match="open already"):
            state.open()
        state.close()
        with pytest.raises(CatalogError, match="closed"):
            state.open()
        with pytest.raises(CatalogError, match="closed"):
            state.snapshot()

    def test_an_open_that_stopped_after_its_epoch_is_gone_over_again(
        self, place: CatalogPlace
    ) -> None:
        install(place, encode_rows([Config("epoch", 2), Config("deploy_generation", 0)]))
        assert not place.state().is_initialized()
        with pytest.raises(CatalogUninitialized):
            joined(place)
        assert opened(place).epoch == 3

    def test_builtins_get_ids_once_and_new_fingerprints_when_they_change(
        self, place: CatalogPlace
    ) -> None:
        state = place.state()
        state.open(BUILTINS)
        assert [
            (m.object_name, m.id, m.fingerprint)
            for m in state.snapshot().sorted(Kind.SYSTEM_OBJECT_MAPPING)
        ] == [
            ("mz_statuses", "s8", "a1"),
            ("mz_lag", "s9", "b1"),
        ]
        assert place.state().is_current(BUILTINS)
        before = place.log().snapshot()[1]
        place.state().open(BUILTINS)
        assert len(place.log().snapshot()[1]) == len(before)

        changed = [
            replace(BUILTINS[0], fingerprint="a2"),
            BuiltinObject("mz_internal", "view", "mz_hydration", "c1"),
        ]
        assert not place.state().is_current(changed)
        place.state().check_open(changed)
        state = place.state()
        state.open(changed)
        assert sorted(
            (m.object_name, m.id, m.fingerprint)
            for m in state.snapshot().sorted(Kind.SYSTEM_OBJECT_MAPPING)
        ) == [
            ("mz_hydration", "s10", "c1"),
            ("mz_statuses", "s8", "a2"),
        ]

    def test_a_reopen_with_nothing_to_do_writes_the_epoch_and_nothing_else(
        self, place: CatalogPlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = place.state()
        first.open(BUILTINS)
        state = place.state()
        monkeypatch.delattr(type(place.log()), "compare_and_append")
        state.open(BUILTINS)
        _, updates = place.log().updates(first.upper)
        assert [(update.key, update.diff) for update in updates] == [
            ('{"key":"epoch"}', -1),
            ('{"key":"epoch"}', 1),
        ]

    def test_without_a_list_of_builtins_their_mappings_stay(self, place: CatalogPlace) -> None:
        place.state().open(BUILTINS)
        assert len(opened(place).snapshot().sorted(Kind.SYSTEM_OBJECT_MAPPING)) == 2


class TestUpgrade:
    @pytest.mark.parametrize("version", range(1, CATALOG_VERSION + 1))
    def test_a_sample_of_every_version_opens_as_the_newest(
        self, place: CatalogPlace, version: int
    ) -> None:
        install(place, sample(version))
        place.state().check_open()
        state = opened(place)
        assert state.epoch == 8
        newest = {
            decode(*row, value)
            for (row, value) in sample(CATALOG_VERSION).items()
            if row[0] == "item"
        }
        assert set(state.snapshot().sorted(Kind.ITEM)) == newest
        assert state.snapshot().config("version") == CATALOG_VERSION
        assert joined(place).snapshot().sorted(Kind.CLUSTER) == [
            Cluster(1, "default", None, "s1", (AclItem("p", "U", "s1"),))
        ]

    def test_ranges_that_only_the_audit_log_knew_become_objects(self, place: CatalogPlace) -> None:
        details = {
            "decision": "skip",
            "source": "u1",
            "partition": "a.csv",
            "lower": 4,
            "upper": 8,
        }
        event = AuditEvent(1, "alter", "source", "flights", details, "ada", NOW)
        install(place, {**sample(5), **encode_rows([event])})
        place.state().check_open()
        state = opened(place)
        assert state.get_skipped_ranges() == [SkippedRange(GlobalId("u1"), "a.csv", 4, 8)]
        assert state.get_audit_logs() == [event]

    @pytest.mark.parametrize("version", range(1, CATALOG_VERSION))
    def test_the_epoch_is_raised_first_then_the_whole_migration_is_one_batch(
        self, place: CatalogPlace, version: int
    ) -> None:
        install(place, sample(version))
        lower = place.log().upper()
        opened(place)
        epoch = canonical({"key": "epoch"})
        _, updates = place.log().updates(lower)
        [raised] = {update.ts for update in updates if update.key == epoch}
        [migrated] = {update.ts for update in updates if update.key != epoch}
        assert raised < migrated
        stored_rows = {
            (update.kind, update.key): update.value for update in place.log().snapshot()[1]
        }
        assert stored_rows == {
            **sample(CATALOG_VERSION),
            ("config", epoch): canonical({"value": 8}),
        }

    def test_an_older_catalog_can_be_checked_but_only_opening_migrates_it(
        self, place: CatalogPlace
    ) -> None:
        install(place, sample(1))
        before = stored(place)
        assert not place.state().is_current()
        for refused in (place.state().join, place.state().open_read_only):
            with pytest.raises(CatalogVersionUnsupported) as error:
                refused()
            assert '"reclock init"' in str(error.value.hint)
        place.state().check_open()
        assert stored(place) == before

    def test_a_newer_catalog_is_refused_and_nobody_is_fenced(self, place: CatalogPlace) -> None:
        rows = sample(CATALOG_VERSION)
        rows["config", canonical({"key": "version"})] = canonical({"value": CATALOG_VERSION + 1})
        install(place, rows)
        before = stored(place)
        state = place.state()
        for refused in (state.open, state.join, state.open_read_only, state.check_open):
            with pytest.raises(
                CatalogVersionUnsupported,
                match=f"version {CATALOG_VERSION + 1}, .* up to {CATALOG_VERSION}",
            ):
                refused()
        assert stored(place) == before

    def test_a_migration_that_fails_leaves_everything_and_fences_nobody(
        self, place: CatalogPlace
    ) -> None:
        rows = sample(1)
        index = "item", canonical({"id": "u5"})
        rows[index] = canonical({**json.loads(rows[index]), "create_sql": "CREATE INDEX i /* ON t"})
        install(place, rows)
        before = stored(place)
        for refused in (place.state().check_open, place.state().open):
            with pytest.raises(MigrationFailed) as failure:
                refused()
            assert "delays_primary_idx" in str(failure.value.detail)
        assert stored(place) == before


class TestCorruption:
    @pytest.mark.parametrize(
        ("kind", "key", "value", "complaint"),
        [
            ("cluster", '{"id":1}', "{", "not JSON"),
            (
                "cluster",
                '{"id":1}',
                '{"name":"default"}',
                "exactly the fields name, size, owner_role_id, privileges",
            ),
            (
                "cluster",
                '{"id":1}',
                '{"name":3,"owner_role_id":"s1","privileges":[],"size":null}',
                "name: ",
            ),
            (
                "cluster",
                '{"id":2}',
                '{"name":"default","owner_role_id":"s1","privileges":[],"size":null}',
                "the same name",
            ),
            (
                "cluster",
                '{"id":1}',
                '{"owner_role_id":"s1","name":"default","privileges":[],"size":null}',
                "not canonical",
            ),
            (
                "schema",
                '{"id":8}',
                '{"database_id":77,"name":"on","owner_role_id":"u3","privileges":[]}',
                'database "77", which is not there',
            ),
            (
                "schema",
                '{"id":8}',
                '{"database_id":3,"name":"on","owner_role_id":"u3","privileges":[{"grantee":"u9","grantor":"u3","privileges":"U"}]}',
                'role "u9", which is not there',
            ),
            (
                "schema",
                '{"id":8}',
                '{"database_id":3,"name":"on","owner_role_id":"u3","privileges":[{"grantee":"u1","grantor":"u3","privileges":"Ur"}]}',
                '"Ur" are not privileges',
            ),
            ("id_allocator", '{"name":"user"}', '{"next_id":5}', "give out its id again"),
            ("klaster", '{"id":1}', "{}", "no object kind"),
            ("config", '{"key":"epoch"}', None, "it is missing"),
            ("config", '{"key":"version"}', None, "it is missing"),
            ("config", '{"key":"version"}', '{"value":"two"}', "value: "),
        ],
    )
    def test_a_broken_object_is_named_with_what_is_wrong(
        self, place: CatalogPlace, kind: str, key: str, value: str | None, complaint: str
    ) -> None:
        rows = sample(CATALOG_VERSION)
        if value is None:
            del rows[kind, key]
        else:
            rows[kind, key] = value
        install(place, rows)
        before = stored(place)
        for refused in (place.state().check_open, place.state().open):
            with pytest.raises(CatalogCorrupt) as corrupt:
                refused()
            assert complaint in str(corrupt.value.detail)
            assert corrupt.value.sqlstate == "XX001"
        assert stored(place) == before


class TestJoin:
    def test_actors_share_the_epoch_and_joining_writes_nothing(self, place: CatalogPlace) -> None:
        leader = opened(place)
        before = stored(place)
        actors = [joined(place), joined(place)]
        assert [actor.leadership for actor in actors] == [leader.leadership] * 2
        assert stored(place) == before
        for index, actor in enumerate([leader, *actors]):
            actor.sync()
            create_schema(actor, f"of_{index}")
        assert {"of_0", "of_1", "of_2"} <= {
            schema.name for schema in leader.sync().schemas.values()
        }

    def test_another_deploy_generation_cannot_join(self, place: CatalogPlace) -> None:
        opened(place, deploy_generation=1)
        with pytest.raises(Fenced):
            place.state(deploy_generation=0).join()
        with pytest.raises(CatalogError, match="deploy generation 1, this process of 2"):
            place.state(deploy_generation=2).join()


class TestReadOnly:
    def test_it_follows_and_changes_nothing(self, place: CatalogPlace) -> None:
        leader = opened(place)
        before = stored(place)
        reader = place.state(deploy_generation=5)
        reader.open_read_only()
        place.state().check_open()
        assert stored(place) == before
        assert reader.epoch == 2
        assert reader.snapshot().sorted(Kind.SCHEMA) == leader.snapshot().sorted(Kind.SCHEMA)
        create_schema(leader, "raw")
        assert reader.sync().schema_by_name(1, "raw") is not None
        leader.confirm_leadership()

    @pytest.mark.parametrize(
        "write",
        [
            lambda state: state.transaction(),
            lambda state: state.compare_and_append(state.upper, state.upper + 1, []),
            lambda state: state.put([Setting("a", "b")]),
            lambda state: state.confirm_leadership(),
            lambda state: state.leadership,
        ],
    )
    def test_it_writes_nothing(
        self, place: CatalogPlace, write: Callable[[DurableCatalogState], object]
    ) -> None:
        opened(place)
        reader = place.state()
        reader.open_read_only()
        with pytest.raises(CatalogReadOnly):
            write(reader)
