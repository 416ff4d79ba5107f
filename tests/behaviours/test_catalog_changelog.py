"""What every implementation of the durable catalog promises about writing, reading and
following."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from fixtures.catalogs import (
    BUILTINS,
    NOW,
    CatalogPlace,
    create_schema,
    install,
    joined,
    opened,
    sample,
    stored,
)

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG, EPOCH_MS, Timestamp
from reclock.catalog.encoding import ObjectChange, canonical, decode, decode_update, encode_change
from reclock.catalog.initial import CATALOG_VERSION
from reclock.catalog.objects import (
    APPEND_ONLY,
    Cluster,
    ClusterIntrospectionSourceIndex,
    Config,
    IdAllocator,
    Kind,
    Schema,
    Setting,
    SystemConfiguration,
    SystemObjectMapping,
    TimelineFloor,
)
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import CatalogCorrupt, CatalogError, Fenced, StatementTimeout, UpperMismatch


class TestTransactions:
    def test_several_objects_appear_at_once(self, place: CatalogPlace) -> None:
        state, other = opened(place), joined(place)
        tx = state.transaction()
        tx.insert(Schema(tx.allocate_schema_id(), 1, "raw", "u1"))
        tx.insert(Cluster(tx.allocate_cluster_id(), "big", "large", "u1"))
        tx.record_storage_usage("u1/reclocked", 4096, collected_at=NOW)
        tx.audit(
            "create", "schema", "raw", user="reclock", occurred_at=NOW, details={"in": "reclock"}
        )
        assert other.sync().schema_by_name(1, "raw") is None
        upper = state.commit_transaction(tx)
        assert state.upper == upper == other.sync().upper
        assert other.snapshot() == state.snapshot()
        assert other.snapshot().by_name(Kind.CLUSTER, "big") == Cluster(2, "big", "large", "u1")
        [event] = other.get_audit_logs()
        assert (event.id, event.object_name, event.details, event.occurred_at) == (
            1,
            "raw",
            {"in": "reclock"},
            NOW,
        )
        assert [usage.size_bytes for usage in other.get_storage_usages()] == [4096]

    def test_a_commit_writes_what_changed_and_no_more(self, place: CatalogPlace) -> None:
        state = opened(place)
        tx = state.transaction()
        for id in tx.allocate("schema", 500):
            tx.insert(Schema(id, 1, f"schema_{id}", "u1"))
        lower = state.commit_transaction(tx)
        create_schema(state, "one_more")
        _, updates = place.log().updates(lower)
        assert sorted((u.kind, u.diff) for u in updates) == [
            ("id_allocator", -1),
            ("id_allocator", -1),
            ("id_allocator", 1),
            ("id_allocator", 1),
            ("schema", 1),
        ]
        assert [u.diff for u in place.log().updates(lower, only={Kind.AUDIT_LOG})[1]] == [1]

    def test_an_empty_transaction_writes_nothing(self, place: CatalogPlace) -> None:
        state = opened(place)
        before = stored(place)
        tx = state.transaction()
        tx.update(replace(tx.snapshot.clusters[1], size="small"))
        tx.update(replace(tx.snapshot.clusters[1], size=None))
        assert state.commit_transaction(tx) == state.upper
        assert stored(place) == before

    def test_the_loser_of_a_race_has_caught_up_and_can_decide_again(
        self, place: CatalogPlace
    ) -> None:
        first, second = opened(place), joined(place)
        tx = second.transaction()
        tx.insert(Schema(tx.allocate_schema_id(), 1, "raw", "u1"))
        winner = create_schema(first, "raw")
        before = stored(place)
        with pytest.raises(UpperMismatch):
            second.commit_transaction(tx)
        assert stored(place) == before
        assert second.snapshot().schema_by_name(1, "raw") == winner
        create_schema(second, "other")
        assert first.sync().schema_by_name(1, "other") is not None

    def test_two_transactions_of_one_state_cannot_both_commit(self, place: CatalogPlace) -> None:
        state = opened(place)
        first, second = state.transaction(), state.transaction()
        for tx in (first, second):
            tx.insert(Schema(tx.allocate_schema_id(), 1, "raw", "u1"))
        state.commit_transaction(first)
        with pytest.raises(UpperMismatch):
            state.commit_transaction(second)

    def test_progress_without_content_is_no_conflict(self, place: CatalogPlace) -> None:
        first, second = opened(place), joined(place)
        tx = second.transaction()
        tx.insert(Schema(tx.allocate_schema_id(), 1, "raw", "u1"))
        first.compare_and_append(first.upper, Timestamp(first.upper + 10), [])
        second.commit_transaction(tx)
        assert first.sync().schema_by_name(1, "raw") is not None

    def test_ids_are_never_given_out_twice(self, place: CatalogPlace) -> None:
        state = opened(place)
        first = create_schema(state, "a")
        tx = state.transaction()
        tx.delete(first)
        state.commit_transaction(tx)
        state = opened(place)
        assert create_schema(state, "a").id > first.id
        with pytest.raises(CatalogError, match="was not allocated"):
            state.transaction().insert(replace(first, name="back"))


class TestSet:
    def test_objects_are_added_or_replaced(self, place: CatalogPlace) -> None:
        state, other = opened(place), joined(place)
        state.put([Setting("a", "1"), Setting("b", "1")])
        other.put([Setting("b", "2")])
        state.put([SystemConfiguration("max_tables", "25")])
        assert dict(other.sync().all(Kind.SETTING)) == {
            "a": Setting("a", "1"),
            "b": Setting("b", "2"),
        }
        assert other.snapshot().sorted(Kind.SYSTEM_CONFIGURATION) == [
            SystemConfiguration("max_tables", "25")
        ]

    def test_system_ids_come_from_the_allocator(self, place: CatalogPlace) -> None:
        state = place.state()
        state.open(BUILTINS)
        [first, *_] = state.snapshot().sorted(Kind.SYSTEM_OBJECT_MAPPING)
        state.put([replace(first, fingerprint="by hand")])
        assert state.snapshot().sorted(Kind.SYSTEM_OBJECT_MAPPING)[0].fingerprint == "by hand"
        for refused in (
            lambda: state.put([SystemObjectMapping("x", "view", "y", GlobalId("s99"), "f")]),
            lambda: state.put([ClusterIntrospectionSourceIndex(1, "i", GlobalId("s99"))]),
        ):
            with pytest.raises(CatalogError, match="not allocated"):
                refused()

    def test_floors_only_rise(self, place: CatalogPlace) -> None:
        state = opened(place)
        state.set_timestamps([TimelineFloor(EPOCH_MS, NOW)])
        state.set_timestamps(
            [TimelineFloor(EPOCH_MS, Timestamp(NOW - 5)), TimelineFloor("other", Timestamp(3))]
        )
        assert {floor.timeline: floor.floor for floor in state.get_timestamps()} == {
            CATALOG: 0,
            EPOCH_MS: NOW,
            "other": 3,
        }


class TestChangelog:
    def test_a_success_implies_apply_write(self, place: CatalogPlace) -> None:
        state = opened(place)
        assert place.oracle.read_ts(CATALOG) == state.upper
        create_schema(state, "raw")
        assert place.oracle.read_ts(CATALOG) == state.upper
        state.compare_and_append(state.upper, Timestamp(state.upper + 100), [])
        assert place.oracle.read_ts(CATALOG) == state.upper == place.log().upper()

    @pytest.mark.parametrize("how", ["sync", "join", "read_only", "subscribe"])
    def test_nobody_is_served_a_change_before_its_apply_write(
        self, place: CatalogPlace, how: str
    ) -> None:
        """A writer died after its append and before its ApplyWrite. In consensus both are one
        transaction."""
        state = opened(place)
        follower = state.subscribe_at(state.upper)
        follower.poll()
        upper = Timestamp(state.upper + 7)
        place.log().compare_and_append(state.upper, upper, [], state.leadership)
        is_applied = place.implementation != "persist"
        assert place.oracle.read_ts(CATALOG) == (upper if is_applied else state.upper)
        match how:
            case "sync":
                state.sync()
            case "join":
                joined(place)
            case "read_only":
                place.state().open_read_only()
            case "subscribe":
                follower.poll()
        assert place.oracle.read_ts(CATALOG) == upper

    def test_times_grow_though_the_clock_jumps(self, place: CatalogPlace) -> None:
        state = opened(place)
        uppers = [state.upper]
        for index, jump in enumerate((-3_600_000, 10, -5, 86_400_000, -86_400_000)):
            place.clock.at += jump
            create_schema(state, f"s{index}")
            uppers.append(state.upper)
        assert uppers == sorted(set(uppers))

    def test_compare_and_append_takes_effect_only_at_the_expected_upper(
        self, place: CatalogPlace
    ) -> None:
        state, other = opened(place), joined(place)
        at = state.upper
        change = ObjectChange(Setting("a", "1"), at, 1)
        state.compare_and_append(at, Timestamp(at + 1), [change])
        with pytest.raises(UpperMismatch) as mismatch:
            other.compare_and_append(
                at, Timestamp(at + 2), [replace(change, object=Setting("a", "2"))]
            )
        assert mismatch.value.found == at + 1 == other.upper
        assert other.snapshot().sorted(Kind.SETTING) == [Setting("a", "1")]

    @pytest.mark.parametrize(
        "misfit",
        [
            lambda at: [ObjectChange(Setting("never", "was"), at, -1)],
            lambda at: [ObjectChange(Config("version", 2), at, 1)],
            lambda at: [ObjectChange(Cluster(5, "default", None, "u1"), at, 1)],
            lambda at: [ObjectChange(Setting("a", "1"), Timestamp(at - 1), 1)],
            lambda at: [ObjectChange(Setting("a", "1"), Timestamp(at + 1), 1)],
            lambda at: [
                ObjectChange(IdAllocator("user", 1), at, -1),
                ObjectChange(IdAllocator("user", 1), at, -1),
            ],
        ],
    )
    def test_changes_that_do_not_fit_are_refused_before_they_are_durable(
        self, place: CatalogPlace, misfit: Callable[[Timestamp], list[ObjectChange]]
    ) -> None:
        state = opened(place)
        before = stored(place)
        with pytest.raises(CatalogCorrupt):
            state.compare_and_append(state.upper, Timestamp(state.upper + 1), misfit(state.upper))
        assert stored(place) == before

    def test_snapshot_at_holds_everything_below_its_time(self, place: CatalogPlace) -> None:
        state, other = opened(place), joined(place)
        create_schema(state, "raw")
        snapshot = other.snapshot_at(place.oracle.read_ts(CATALOG))
        assert snapshot.schema_by_name(1, "raw") is not None
        assert snapshot.upper >= state.upper

    def test_snapshot_at_answers_at_its_time_whatever_came_later(self, place: CatalogPlace) -> None:
        state, other = opened(place), joined(place)
        create_schema(state, "early")
        at = state.upper
        create_schema(state, "late")
        for reader in (state, other):
            snapshot = reader.snapshot_at(at)
            assert snapshot.upper == at
            assert snapshot.schema_by_name(1, "early") is not None
            assert snapshot.schema_by_name(1, "late") is None
            assert reader.snapshot_at(state.upper).schema_by_name(1, "late") is not None

    def test_snapshot_at_waits_within_its_bound(self, place: CatalogPlace) -> None:
        state = opened(place)
        with pytest.raises(StatementTimeout, match="20 ms"):
            state.snapshot_at(Timestamp(state.upper + 1), timeout_ms=20)

    def test_a_subscription_gives_the_snapshot_and_then_every_change_once(
        self, place: CatalogPlace
    ) -> None:
        state, other = opened(place), joined(place)
        create_schema(state, "before")
        start = state.upper
        expected = state.snapshot()
        create_schema(state, "after")
        subscription = other.subscribe_at(start)
        first = subscription.poll()
        assert first is not None
        assert (first.lower, first.upper) == (0, start)
        assert CatalogSnapshot.empty().apply(first.changes, start).at(start) == expected.at(start)

        contents = expected
        for name in ("x", "y"):
            batch = subscription.poll()
            assert batch is not None
            assert batch.lower == contents.upper
            contents = contents.apply(batch.changes, batch.upper)
            assert contents == state.snapshot()
            assert subscription.poll() is None
            create_schema(state, name)
        assert subscription.upper == contents.upper

    def test_a_subscription_waits_for_its_first_time(self, place: CatalogPlace) -> None:
        state = opened(place)
        at = Timestamp(state.upper + 5)
        subscription = state.subscribe_at(at)
        assert subscription.poll() is None
        state.compare_and_append(state.upper, at, [])
        batch = subscription.poll()
        assert batch is not None
        assert batch.upper == at

    def test_a_subscription_gives_progress_without_content(self, place: CatalogPlace) -> None:
        state = opened(place)
        subscription = state.subscribe_at(state.upper)
        subscription.poll()
        state.compare_and_append(state.upper, Timestamp(state.upper + 5), [])
        batch = subscription.poll()
        assert batch is not None
        assert (batch.upper, batch.changes) == (state.upper, ())

    def test_append_only_kinds_are_followed_when_asked_for(self, place: CatalogPlace) -> None:
        state = opened(place)
        create_schema(state, "a")
        subscription = state.subscribe_at(state.upper, only={Kind.AUDIT_LOG})
        create_schema(state, "b")
        for name in ("a", "b"):
            batch = subscription.poll()
            assert batch is not None
            assert [change.object for change in batch.changes] == [
                e for e in state.get_audit_logs() if e.object_name == name
            ]

    def test_append_only_kinds_are_not_kept_in_memory(self, place: CatalogPlace) -> None:
        state = opened(place)
        create_schema(state, "a")
        for snapshot in (state.snapshot(), joined(place).snapshot()):
            with pytest.raises(KeyError):
                snapshot.all(Kind.AUDIT_LOG)
        with pytest.raises(CatalogError, match="not events"):
            state.events(Kind.ITEM)

    def test_a_catalog_migrated_under_a_follower_fences_it(self, place: CatalogPlace) -> None:
        state = opened(place)
        later = [Config("version", CATALOG_VERSION + 1), Config("epoch", 3)]
        changes = [
            ObjectChange(replace(c, value=state.snapshot().config(c.key) or 0), state.upper, -1)
            for c in later
        ]
        changes += [ObjectChange(c, state.upper, 1) for c in later]
        updates = [encode_change(change) for change in changes]
        leadership = replace(state.leadership, epoch=3)
        place.log().lead(state.upper, Timestamp(state.upper + 1), updates, leadership)
        with pytest.raises(Fenced):
            state.sync()


class TestDump:
    def test_it_shows_every_object_in_a_form_that_can_be_stored_again(
        self, place: CatalogPlace
    ) -> None:
        state = opened(place)
        create_schema(state, "grüße")
        dump = json.loads(state.dump())
        assert dump["upper"] == state.upper
        assert set(dump["objects"]) == {kind.value for kind in Kind}
        assert "grüße" in state.dump()
        again = [
            decode(kind, canonical(entry["key"]), canonical(entry["value"]))
            for kind, entries in dump["objects"].items()
            for entry in entries
        ]
        cached = [
            catalog_object
            for catalog_object in again
            if type(catalog_object).__name__ != "AuditEvent"
        ]
        assert CatalogSnapshot.of(cached, state.upper) == state.snapshot().at(state.upper)
        assert [event for event in again if event not in cached] == state.get_audit_logs()


class TestObjects:
    def test_every_kind_can_be_read(self, place: CatalogPlace) -> None:
        install(place, sample(CATALOG_VERSION))
        state = opened(place)
        _, updates = place.log().snapshot()
        for kind in Kind:
            objects = state.events(kind) if kind in APPEND_ONLY else state.snapshot().sorted(kind)
            stored = [decode_update(update).object for update in updates if update.kind == kind]
            assert sorted(map(repr, objects)) == sorted(map(repr, stored))
        assert [item.id for item in state.snapshot().sorted(Kind.ITEM)] == [
            "u1",
            "u2",
            "u4",
            "u5",
            "u7",
            "u9",
            "u11",
        ]
