"""What shadow promises beyond the protocol: a secondary that lags is caught up, any other
difference is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixtures.catalogs import BUILTINS, CatalogPlace, create_schema, joined, opened

from reclock.algebra.timestamps import Timestamp
from reclock.catalog import shadow
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.implementations import open_log
from reclock.catalog.log import CatalogLog
from reclock.catalog.objects import APPEND_ONLY, Kind
from reclock.catalog.shadow import ShadowLog
from reclock.config import Settings
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import CatalogImplementationsDiffer, Fenced, NotReadable, UpperMismatch


@pytest.fixture
def place(tmp_path: Path) -> Iterator[CatalogPlace]:
    made = CatalogPlace("shadow", f"sqlite:///{tmp_path / 'consensus.db'}", tmp_path)
    yield made
    made.close()


def part(place: CatalogPlace, implementation: str) -> CatalogLog:
    return open_log(implementation, "tests", Settings.load(place.home), place.consensus)


def everything(log: CatalogLog) -> object:
    events = log.snapshot(only=APPEND_ONLY)[1]
    return (
        log.upper(),
        log.leadership(),
        sorted((u.kind, u.key, u.value, u.diff) for u in log.snapshot()[1] + events),
    )


def write_to_stash_alone(place: CatalogPlace, state: DurableCatalogState, name: str) -> None:
    """As a process does that dies between the two."""
    alone = CatalogPlace("stash", place.url, place.home)
    create_schema(joined(alone), name)
    alone.close()


def test_both_hold_the_same(place: CatalogPlace) -> None:
    state = place.state()
    state.open(BUILTINS)
    create_schema(state, "raw")
    assert everything(part(place, "stash")) == everything(part(place, "persist"))


@pytest.mark.parametrize("how", ["join", "sync", "commit", "open"])
def test_a_secondary_that_lags_is_caught_up(place: CatalogPlace, how: str) -> None:
    state = opened(place)
    for name in ("one", "two"):
        write_to_stash_alone(place, state, name)
    assert part(place, "persist").upper() < part(place, "stash").upper()
    match how:
        case "join":
            joined(place)
        case "sync":
            state.sync()
        case "commit":
            with pytest.raises(UpperMismatch):
                create_schema(state, "three")
            create_schema(state, "three")
        case "open":
            opened(place)
    assert everything(part(place, "stash")) == everything(part(place, "persist"))
    assert [event.object_name for event in state.get_audit_logs()][:2] == ["one", "two"]


def test_a_secondary_may_begin_empty(place: CatalogPlace) -> None:
    alone = CatalogPlace("stash", place.url, place.home)
    create_schema(opened(alone), "raw")
    state = joined(place)
    assert everything(part(place, "stash")) == everything(part(place, "persist"))
    create_schema(state, "more")


@pytest.mark.parametrize("had_begun", [True, False])
def test_a_secondary_that_lags_behind_a_compacted_primary_is_caught_up(
    place: CatalogPlace, had_begun: bool
) -> None:
    """The updates that it lacks are gone: it is given their sum."""
    alone = CatalogPlace("stash", place.url, place.home)
    state = opened(place if had_begun else alone)
    create_schema(state, "early")
    stash = joined(alone)
    for number in range(4):
        create_schema(stash, f"s{number}")
    tx = stash.transaction()
    schema = stash.snapshot().schema_by_name(1, "early" if had_begun else "s0")
    assert schema is not None
    tx.delete(schema)
    since = stash.commit_transaction(tx)
    create_schema(stash, "after since")
    stash.compact(since)
    before = everything(part(place, "stash"))
    again = joined(place)
    assert everything(part(place, "stash")) == everything(part(place, "persist")) == before
    assert again.snapshot() == stash.snapshot().at(stash.upper)
    create_schema(again, "more")
    assert {event.object_name for event in again.get_audit_logs()} >= {"s3", "more"}
    with pytest.raises(NotReadable):
        place.log().updates(Timestamp(since - 1))
    assert again.compact(again.upper) > 0
    assert [part(place, name).since() for name in ("stash", "persist")] == [again.upper] * 2
    alone.close()


def test_a_write_that_is_compacted_before_it_is_compared_stands(
    place: CatalogPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, other = opened(place), joined(place)
    between = shadow._between

    def after_compaction(log: CatalogLog, lower: Timestamp, upper: Timestamp) -> object:
        monkeypatch.setattr(shadow, "_between", between)
        other.sync()
        other.compact(other.upper)
        return between(log, lower, upper)

    monkeypatch.setattr(shadow, "_between", after_compaction)
    create_schema(state, "raw")
    assert other.sync().schema_by_name(1, "raw") is not None


def test_an_epoch_that_only_the_primary_saw_is_carried_over(place: CatalogPlace) -> None:
    old = opened(place)
    alone = CatalogPlace("stash", place.url, place.home)
    opened(alone)
    with pytest.raises(Fenced):
        create_schema(old, "raw")
    assert everything(part(place, "stash")) == everything(part(place, "persist"))
    assert place.log().leadership() == Leadership(3, 0)


def test_a_secondary_that_is_ahead_is_an_error(place: CatalogPlace) -> None:
    state = opened(place)
    part(place, "persist").compare_and_append(
        state.upper, Timestamp(state.upper + 1), [], state.leadership
    )
    with pytest.raises(CatalogImplementationsDiffer) as differ:
        state.sync()
    assert differ.value.call == "upper"
    with pytest.raises(CatalogImplementationsDiffer):
        create_schema(state, "raw")


def test_contents_that_differ_are_named(place: CatalogPlace) -> None:
    state = opened(place)
    create_schema(state, "raw")
    [update] = [
        u
        for u in part(place, "stash").snapshot()[1]
        if u.kind == Kind.SCHEMA and '"raw"' in u.value
    ]
    at = state.upper
    for name, renamed in (("stash", "here"), ("persist", "there")):
        changes = [
            replace(update, ts=at, diff=-1),
            replace(update, ts=at, value=update.value.replace("raw", renamed)),
        ]
        part(place, name).compare_and_append(at, Timestamp(at + 1), changes, state.leadership)
    with pytest.raises(CatalogImplementationsDiffer) as differ:
        place.log().snapshot()
    assert differ.value.call == "snapshot"
    assert "here" in differ.value.primary
    assert "there" in differ.value.secondary
    with pytest.raises(CatalogImplementationsDiffer):
        joined(place)


def test_a_refusal_of_one_alone_is_an_error(place: CatalogPlace) -> None:
    state = opened(place)
    primary, secondary = part(place, "stash"), part(place, "persist")
    secondary.compare_and_append = lambda *_: None  # type: ignore[method-assign]
    both = ShadowLog(primary, secondary)
    with pytest.raises(CatalogImplementationsDiffer) as differ:
        both.compare_and_append(Timestamp(1), Timestamp(state.upper + 9), [], state.leadership)
    assert differ.value.call == "compare_and_append"


def test_a_write_that_the_secondary_changed_is_an_error(place: CatalogPlace) -> None:
    state = opened(place)
    primary, secondary = part(place, "stash"), part(place, "persist")
    write = secondary.compare_and_append

    def without_the_last(
        lower: Any, upper: Any, updates: Any, leadership: Any, beside: Any = None
    ) -> None:
        write(lower, upper, updates[:-1], leadership)

    secondary.compare_and_append = without_the_last  # type: ignore[assignment]
    both = ShadowLog(primary, secondary)
    update = replace(primary.snapshot()[1][0], ts=state.upper, kind="setting", key="{}")
    with pytest.raises(CatalogImplementationsDiffer):
        both.compare_and_append(state.upper, Timestamp(state.upper + 1), [update], state.leadership)
