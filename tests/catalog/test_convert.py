"""A catalog moves between any two changelogs: all of it, once, and whoever used the old one hears
of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
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
from reclock.catalog.convert import Converted, Switch, convert
from reclock.catalog.encoding import CatalogUpdate, canonical, encode_rows
from reclock.catalog.initial import CATALOG_VERSION
from reclock.catalog.objects import APPEND_ONLY, AuditEvent, Kind, Setting
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    CatalogCorrupt,
    CatalogError,
    CatalogSealed,
    CatalogUninitialized,
    CatalogVersionUnsupported,
    Fenced,
)

EVENT = AuditEvent(0, "convert", "catalog", "target", {}, "ada", NOW)
EPOCH = ("config", canonical({"key": "epoch"}))


class Places:
    """Two places, and which one is in force."""

    def __init__(self, source: CatalogPlace, target: CatalogPlace) -> None:
        self.source, self.target, self.in_force = source, target, source

    def convert(self, *, switch: Switch | None = None, deploy_generation: int = 0) -> Converted:
        """The target's oracle is the one of both."""
        return convert(
            self.source.log(),
            self.target.log(),
            switch or self.switch,
            oracle=self.source.oracle,
            deploy_generation=deploy_generation,
            event=EVENT,
        )

    def switch(self, own: Leadership, following: Leadership) -> None:
        def work(connection: sa.Connection) -> None:
            fence.check(connection, own)
            fence.advance(connection, following)

        self.source.consensus.transact(work)
        self.in_force = self.target

    def turned(self) -> Places:
        return Places(self.target, self.source)


@pytest.fixture(params=["stash to persist", "persist to stash", "stash to another stash"])
def places(request: pytest.FixtureRequest, migrated_url: str, tmp_path: Path) -> Iterator[Places]:
    """The first two have one consensus, as an environment has; the last have one each."""
    match request.param:
        case "stash to another stash":
            places = [
                CatalogPlace("stash", url, tmp_path)
                for url in (migrated_url, f"sqlite:///{tmp_path / 'other.db'}")
            ]
        case _:
            places = [
                CatalogPlace(name, migrated_url, tmp_path) for name in request.param.split(" to ")
            ]
    yield Places(*places)
    for place in places:
        place.close()


def everything(place: CatalogPlace) -> dict[tuple[str, str], str]:
    log = place.log()
    return {(u.kind, u.key): u.value for u in log.snapshot()[1] + log.snapshot(only=APPEND_ONLY)[1]}


def populated(place: CatalogPlace) -> None:
    state = opened(place)
    for name in ("raw", "clean"):
        create_schema(state, name)
    tx = state.transaction()
    tx.record_storage_usage("u1/reclocked", 4096, collected_at=NOW)
    state.commit_transaction(tx)


def test_all_of_it_is_there_and_goes_on(places: Places) -> None:
    populated(places.source)
    before = everything(places.source)
    upper = places.source.log().upper()
    converted = places.convert()
    assert places.in_force is places.target

    after = everything(places.target)
    changed = {row for row in before.keys() | after.keys() if before.get(row) != after.get(row)}
    assert changed == {
        EPOCH,
        ("id_allocator", canonical({"name": "audit_log"})),
        ("audit_log", canonical({"id": 3})),
    }
    assert len(after) == converted.objects == converted.updates
    state = joined(places.target)
    assert (state.epoch, converted.epoch) == (5, 5)
    assert state.upper > upper
    assert state.since == state.upper  # what is older is no history of the source
    assert places.source.oracle.read_ts(CATALOG) >= state.upper
    assert [event.event_type for event in state.get_audit_logs()] == ["create", "create", "convert"]
    create_schema(state, "afterwards")
    assert opened(places.target).epoch == 6


def test_old_actors_fail_as_fenced_and_nobody_joins_the_old_catalog(places: Places) -> None:
    leader, actor, reader = opened(places.source), joined(places.source), places.source.state()
    reader.open_read_only()
    places.convert()
    for old in (leader, actor):
        with pytest.raises(Fenced):
            create_schema(old, "lost")
        with pytest.raises(Fenced):
            old.confirm_leadership()
    with pytest.raises(CatalogSealed):
        joined(places.source)
    assert not places.source.state().is_current()
    assert reader.sync().config("sealed") == 1


def test_there_and_back_and_there_again(places: Places) -> None:
    populated(places.source)
    uppers = []
    for name in ("second", "third", "fourth"):
        places.convert()
        state = joined(places.in_force)
        uppers.append(state.upper)
        create_schema(state, name)
        places = places.turned()
    state = joined(places.source)
    moves = [move for name in ("second", "third", "fourth") for move in ("target", name)]
    assert [event.object_name for event in state.get_audit_logs()] == ["raw", "clean", *moves]
    assert len(state.get_storage_usages()) == 1
    assert uppers == sorted(set(uppers))
    assert state.epoch == 11


def test_times_do_not_go_back_even_if_the_oracle_did(places: Places) -> None:
    """Consensus was lost, and the timeline begins anew below the catalog's upper."""
    state = opened(places.source)
    far = Timestamp(state.upper + 1_000_000_000)
    places.source.log().compare_and_append(state.upper, far, [], state.leadership)
    places.convert()
    assert places.target.log().upper() > places.source.log().upper() > far


def test_a_copy_over_an_older_one_appends_the_difference_only(places: Places) -> None:
    populated(places.source)
    first = places.convert()
    second = places.turned().convert()
    assert second.updates < 12 < first.updates
    assert everything(places.source).keys() > {("audit_log", canonical({"id": 4}))}


def test_it_can_be_run_again_and_leaves_the_same(places: Places) -> None:
    populated(places.source)

    def die(*_: Leadership) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        places.convert(switch=die)
    assert places.in_force is places.source
    places.convert()
    create_schema(joined(places.target), "afterwards")
    assert [event.event_type for event in joined(places.target).get_audit_logs()] == [
        "create",
        "create",
        "convert",
        "create",
    ]


def test_a_process_that_opens_the_source_catalog_fences_the_conversion(places: Places) -> None:
    populated(places.source)

    def open_then_switch(*leaderships: Leadership) -> None:
        with pytest.raises(CatalogSealed):
            joined(places.source)
        assert not places.source.state().is_current()
        opened(places.source)
        places.switch(*leaderships)

    with pytest.raises(Fenced):
        places.convert(switch=open_then_switch)
    assert places.in_force is places.source
    state = joined(places.source)
    assert state.snapshot().config("sealed") is None
    create_schema(state, "goes_on")
    places.convert()
    assert joined(places.target).snapshot().schema_by_name(1, "goes_on") is not None


def test_a_process_that_opens_the_source_catalog_too_late_is_fenced(places: Places) -> None:
    """It looked up which catalog is in force before the switch."""
    populated(places.source)
    late = places.source.state()
    places.convert()
    with pytest.raises((Fenced, CatalogCorrupt)):  # in a table that is behind consensus
        late.open()
    create_schema(joined(places.target), "goes_on")


def test_what_was_in_the_target_and_is_not_in_the_source_goes(places: Places) -> None:
    stray = AuditEvent(9, "create", "schema", "stray", {}, "eve", NOW)
    install(places.target, encode_rows([stray, Setting("stray", "1")]))
    populated(places.source)
    places.convert()
    state = joined(places.target)
    assert state.snapshot().sorted(Kind.SETTING) == []
    assert [event.object_name for event in state.get_audit_logs()] == ["raw", "clean", "target"]


def test_a_copy_that_is_not_the_same_is_noticed_before_the_switch(places: Places) -> None:
    populated(places.source)
    log = places.target.log()

    class Forgetful:
        def __getattr__(self, name: str) -> object:
            return getattr(log, name)

        def compare_and_append(
            self,
            lower: Timestamp,
            upper: Timestamp,
            updates: list[CatalogUpdate],
            leadership: Leadership,
        ) -> None:
            log.compare_and_append(lower, upper, updates[:-1], leadership)

        def lead(
            self,
            lower: Timestamp,
            upper: Timestamp,
            updates: list[CatalogUpdate],
            leadership: Leadership,
        ) -> None:
            log.lead(lower, upper, updates[:-1], leadership)

    with pytest.raises(CatalogError, match="not what was copied"):
        convert(
            places.source.log(),
            Forgetful(),  # type: ignore[arg-type]
            places.switch,
            oracle=places.source.oracle,
            deploy_generation=0,
            event=EVENT,
        )
    assert places.in_force is places.source


def test_an_older_layout_is_copied_as_it_is(places: Places) -> None:
    install(places.source, sample(1))
    places.convert()
    assert places.target.state().check_open().config("version") == CATALOG_VERSION
    assert not places.target.state().is_current()
    assert opened(places.target).snapshot().sorted(Kind.CLUSTER)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        (
            {("config", canonical({"key": "version"})): canonical({"value": CATALOG_VERSION + 1})},
            CatalogVersionUnsupported,
        ),
        ({("id_allocator", canonical({"name": "audit_log"})): "?"}, CatalogCorrupt),
        ({("config", canonical({"key": "epoch"})): "{}"}, CatalogCorrupt),
        ({("config", canonical({"key": "deploy_generation"})): canonical({"value": 3})}, Fenced),
    ],
)
def test_what_cannot_be_converted_is_left_unsealed(
    places: Places, changes: dict[tuple[str, str], str], error: type[Exception]
) -> None:
    install(places.source, {**sample(CATALOG_VERSION), **changes})
    before = stored(places.source)
    with pytest.raises(error):
        places.convert()
    assert stored(places.source)[:2] == before[:2]  # type: ignore[index]


def test_there_must_be_something_to_convert(places: Places) -> None:
    with pytest.raises(CatalogUninitialized):
        places.convert()
