"""A catalog whose history was compacted answers as before at every time from since on, and refuses
earlier ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import sqlalchemy as sa
from fixtures.catalogs import NOW, CatalogPlace, create_schema, joined, opened

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.encoding import ObjectChange, encode_change
from reclock.catalog.initial import CATALOG_VERSION
from reclock.catalog.log import CatalogLog
from reclock.catalog.objects import APPEND_ONLY, Config, Kind, Setting, StorageUsage
from reclock.collections.delta_log import DeltaLog
from reclock.errors import (
    CatalogCorrupt,
    CatalogError,
    CatalogReadOnly,
    Fenced,
    NotReadable,
    UpperMismatch,
)


def changed(state: DurableCatalogState, times: int = 12) -> list[Timestamp]:
    """The uppers after each of some commits, which leave little behind."""
    uppers = []
    for number in range(times):
        schema = create_schema(state, f"s{number} after {state.upper}")
        tx = state.transaction()
        tx.put(Setting("last", schema.name))
        if number % 3:
            tx.delete(schema)
        uppers.append(state.commit_transaction(tx))
    return uppers


def answers(log: CatalogLog, at: Timestamp) -> object:
    """Everything that can be asked of a log at a time."""
    kinds = (None, APPEND_ONLY)
    sums = [
        sorted((u.kind, u.key, u.value, u.diff) for u in log.snapshot(below=at, only=only)[1])
        for only in kinds
    ]
    return sums, [sorted(log.updates(at, only=only)[1], key=repr) for only in kinds]


def stored_updates(place: CatalogPlace) -> int:
    """How many updates are stored, whatever they add up to; in shadow as many in both."""
    counts = {
        name: count(place)
        for name, count in COUNTS.items()
        if place.implementation in (name, "shadow")
    }
    assert len(set(counts.values())) == 1
    return counts.popitem()[1]


COUNTS: dict[str, Callable[[CatalogPlace], int]] = {
    "stash": lambda place: place.consensus.look(
        sa.select(sa.func.count()).select_from(sa.table("catalog_updates"))
    )[0][0],
    "persist": lambda place: sum(file.rows for file in DeltaLog.open(place.folder).files()),
}


class TestReading:
    def test_every_time_from_since_on_is_answered_as_before(self, place: CatalogPlace) -> None:
        state = opened(place)
        uppers, log = changed(state), place.log()
        expected = {at: answers(log, at) for at in uppers}
        for since in (uppers[3], uppers[7], uppers[-1]):
            assert state.compact(since) > 0
            for log in (place.log(), state._log):  # type: ignore[attr-defined]
                assert log.since() == state.since == since
                for at in uppers:
                    if at >= since:
                        assert answers(log, at) == expected[at]
                    else:
                        for read in (
                            lambda log=log, at=at: log.snapshot(below=at),
                            lambda log=log, at=at: log.updates(at),
                        ):
                            with pytest.raises(
                                NotReadable, match=f'"catalog" cannot be read at {at}'
                            ):
                                read()

    def test_a_state_answers_earlier_times_from_memory_or_refuses(
        self, place: CatalogPlace
    ) -> None:
        state, other = opened(place), joined(place)
        first = create_schema(state, "early")
        at = state.upper
        remembered = other.sync()
        changed(state, 3)
        state.compact(state.upper)
        assert other.snapshot_at(at) == replace(remembered, upper=at)
        with pytest.raises(NotReadable):
            joined(place).snapshot_at(at)
        with pytest.raises(NotReadable):
            joined(place).subscribe_at(at).poll()
        assert joined(place).snapshot_at(state.upper).schema_by_name(1, "early") == first

    def test_an_actor_that_is_behind_since_reads_the_catalog_again(
        self, place: CatalogPlace
    ) -> None:
        state, actor, reader = opened(place), joined(place), place.state()
        reader.open_read_only()
        tx = actor.transaction()
        tx.put(Setting("late", "1"))
        changed(state)
        state.compact(state.upper)
        assert reader.sync() == actor.sync() == state.snapshot().at(state.upper)
        with pytest.raises(UpperMismatch):
            actor.commit_transaction(tx)
        create_schema(actor, "goes_on")
        assert state.sync() == actor.snapshot()
        assert place.oracle.state("catalog").read_ts == actor.upper

    def test_a_writer_that_is_behind_since_loses_its_race(self, place: CatalogPlace) -> None:
        state, actor = opened(place), joined(place)
        tx = actor.transaction()
        tx.put(Setting("late", "1"))
        changed(state)
        state.compact(state.upper)
        with pytest.raises(UpperMismatch):
            actor.commit_transaction(tx)
        assert actor.snapshot() == state.snapshot().at(state.upper)

    def test_a_follower_that_is_behind_another_layout_is_fenced(self, place: CatalogPlace) -> None:
        state = opened(place)
        later = [Config("version", CATALOG_VERSION + 1), Config("epoch", 3)]
        changes = [
            ObjectChange(replace(c, value=state.snapshot().config(c.key) or 0), state.upper, -1)
            for c in later
        ]
        updates = [
            encode_change(change)
            for change in (*changes, *(ObjectChange(c, state.upper, 1) for c in later))
        ]
        leadership, log = replace(state.leadership, epoch=3), place.log()
        upper = Timestamp(state.upper + 1)
        log.lead(state.upper, upper, updates, leadership)
        log.compact(upper, leadership)
        with pytest.raises(Fenced):
            state.sync()

    def test_a_subscription_goes_on_from_since_and_is_refused_behind_it(
        self, place: CatalogPlace
    ) -> None:
        state = opened(place)
        behind, abreast = (state.subscribe_at(state.upper) for _ in range(2))
        for subscription in (behind, abreast):
            subscription.poll()
        create_schema(state, "one")
        abreast.poll()
        state.compact(state.upper)
        create_schema(state, "two")
        batch = abreast.poll()
        assert batch is not None
        assert {
            change.object.name
            for change in batch.changes
            if change.object.__class__.__name__ == "Schema"
        } == {"two"}
        with pytest.raises(NotReadable):
            behind.poll()

    def test_a_dump_shows_the_same(self, place: CatalogPlace) -> None:
        state = opened(place)
        changed(state)
        before = state.dump()
        state.compact(state.upper)
        assert place.state().dump() == before
        assert place.state().check_open() == state.snapshot().at(MINIMUM)


class TestStore:
    def test_what_cancels_is_deleted_and_nothing_else(self, place: CatalogPlace) -> None:
        state = opened(place)
        changed(state)
        before = stored_updates(place)
        deleted = state.compact(state.upper)
        left = stored_updates(place)
        assert (
            left
            == before - deleted
            == sum(len(place.log().snapshot(only=only)[1]) for only in (None, APPEND_ONLY))
        )
        assert state.compact(state.upper) == 0
        changed(state)
        assert state.compact(state.upper) > 0

    def test_more_than_one_transaction_or_file_may_be_needed(
        self, place: CatalogPlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in {
            "stash.DELETED_AT_ONCE": 7,
            "stash.READ_AT_ONCE": 20,
            "persist_table.LARGEST_MERGE_ROWS": 30,
        }.items():
            monkeypatch.setattr(f"reclock.catalog.{name}", value)
        state = opened(place)
        readable = (uppers := changed(state, 20))[15:]
        log = place.log()
        expected = [answers(log, at) for at in readable]
        before = stored_updates(place)
        assert state.compact(uppers[15]) == before - stored_updates(place) > 60
        log = place.log()
        assert [answers(log, at) for at in readable] == expected
        assert joined(place).snapshot() == state.snapshot().at(state.upper)

    def test_since_never_goes_back_nor_beyond_the_upper(self, place: CatalogPlace) -> None:
        state = opened(place)
        uppers = changed(state)
        state.compact(uppers[5])
        state.compact(uppers[2])
        assert state.since == uppers[5]
        with pytest.raises(CatalogError, match="cannot be compacted"):
            place.log().compact(Timestamp(state.upper + 1), state.leadership)
        state.compact(Timestamp(state.upper + 1_000))
        assert state.since == state.upper

    def test_only_who_leads_compacts(self, place: CatalogPlace) -> None:
        old, reader = opened(place), place.state()
        changed(old)
        reader.open_read_only()
        with pytest.raises(CatalogReadOnly):
            reader.compact(old.upper)
        opened(place)
        with pytest.raises(Fenced):
            old.compact(old.upper)
        assert place.log().since() == 0

    def test_a_broken_catalog_stays_broken_as_it_is(self, place: CatalogPlace) -> None:
        """An object is there twice, and another less than not at all: compaction neither hides nor
        makes that."""
        state = opened(place)
        changed(state)
        log, at = place.log(), state.upper
        twice = encode_change(ObjectChange(Setting("twice", "1"), at, 1))
        never = encode_change(ObjectChange(Setting("never", "1"), at, -1))
        updates = [
            twice,
            replace(twice, ts=Timestamp(at + 1)),
            never,
            replace(twice, key=twice.key, value='{"value":"2"}', diff=-1),
        ]
        log.compare_and_append(at, Timestamp(at + 2), updates, state.leadership)
        before = sorted(place.state().dump().splitlines())
        assert log.compact(Timestamp(at + 2), state.leadership) > 0
        assert [line.rstrip(",") for line in sorted(place.state().dump().splitlines())] == [
            line.rstrip(",") for line in before
        ]
        with pytest.raises(CatalogCorrupt):
            place.state().check_open()


class TestStorageUsage:
    def test_old_measurements_go_and_leave_nothing_behind(self, place: CatalogPlace) -> None:
        state = opened(place)
        tx = state.transaction()
        for number in range(6):
            tx.record_storage_usage(f"u{number}", 4096, collected_at=Timestamp(NOW + number))
        state.commit_transaction(tx)
        create_schema(state, "raw")
        tx = state.transaction()
        tx.fork()
        tx.expire_storage_usage(state.get_storage_usages()[:4])
        state.commit_transaction(tx.fork())
        assert [usage.collection for usage in joined(place).get_storage_usages()] == ["u4", "u5"]
        before = stored_updates(place)
        deleted = state.compact(state.upper)
        assert stored_updates(place) == before - deleted
        assert [usage.collection for usage in joined(place).get_storage_usages()] == ["u4", "u5"]
        assert len(place.log().snapshot(only={Kind.AUDIT_LOG})[1]) == 1

    def test_what_two_take_away_at_once_goes_once(self, place: CatalogPlace) -> None:
        state, other = opened(place), joined(place)
        tx = state.transaction()
        tx.record_storage_usage("u1", 4096, collected_at=NOW)
        state.commit_transaction(tx)
        other.sync()
        transactions = [(actor, actor.transaction()) for actor in (state, other)]
        for actor, tx in transactions:
            tx.expire_storage_usage(actor.get_storage_usages())
        state.commit_transaction(transactions[0][1])
        with pytest.raises(UpperMismatch):
            other.commit_transaction(transactions[1][1])
        assert other.get_storage_usages() == []

    def test_a_new_measurement_is_unlike_an_old_one_of_the_same_size(
        self, place: CatalogPlace
    ) -> None:
        state = opened(place)
        for _ in range(2):
            tx = state.transaction()
            tx.record_storage_usage("u1", 4096, collected_at=NOW)
            tx.expire_storage_usage(state.get_storage_usages())
            state.commit_transaction(tx)
            state.compact(state.upper)
        assert state.get_storage_usages() == [StorageUsage(3, "u1", 4096, NOW)]
