"""A process is killed between any two durable steps of the catalog: opened again, it is as before
or as after, never between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from crashes.catalog_worker import work
from fixtures.catalogs import BUILTINS, CatalogPlace, create_schema, install, joined, sample
from fixtures.forks import die_at

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG, Timestamp
from reclock.catalog.acl import AclItem
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.initial import CATALOG_VERSION
from reclock.catalog.objects import Cluster, Kind
from reclock.catalog.persist import APPENDS_PER_MERGE, COMMITS_BESIDE_COMPACTION
from reclock.collections.delta_log import COMMITS_PER_CHECKPOINT, DeltaLog
from reclock.errors import NotReadable, UpperMismatch

BEFORE_EPOCH, EPOCH_RAISED, OPENED = "before epoch", "epoch raised", "opened"

POINTS_OF_OPEN = {
    "stash": {
        "catalog.open.before_epoch": BEFORE_EPOCH,
        "catalog.stash.lead.updates_written": BEFORE_EPOCH,
        "catalog.stash.lead.before_commit": BEFORE_EPOCH,
        "catalog.open.after_epoch": EPOCH_RAISED,
        "catalog.open.before_contents": EPOCH_RAISED,
        "catalog.stash.append.updates_written": EPOCH_RAISED,
        "catalog.stash.append.before_commit": EPOCH_RAISED,
        "catalog.open.after_contents": OPENED,
    },
    "persist": {
        "catalog.open.before_epoch": BEFORE_EPOCH,
        "catalog.persist.lead.file_written": BEFORE_EPOCH,
        "collections.commit.landed": EPOCH_RAISED,
        "catalog.persist.lead.landed": EPOCH_RAISED,
        "catalog.open.after_epoch": EPOCH_RAISED,
        "catalog.open.after_mirror": EPOCH_RAISED,
        "catalog.open.before_contents": EPOCH_RAISED,
        "catalog.persist.append.file_written": EPOCH_RAISED,
        "catalog.persist.append.landed": OPENED,
        "catalog.open.after_contents": OPENED,
    },
    "shadow": {
        "catalog.stash.lead.before_commit": BEFORE_EPOCH,
        "catalog.shadow.lead.between": EPOCH_RAISED,
        "catalog.persist.lead.file_written": EPOCH_RAISED,
        "catalog.persist.lead.landed": EPOCH_RAISED,
        "catalog.stash.append.before_commit": EPOCH_RAISED,
        "catalog.shadow.compare_and_append.between": OPENED,
        "catalog.persist.append.file_written": OPENED,
        "catalog.persist.append.landed": OPENED,
    },
}

IS_COMMITTED = {
    "stash": {
        "catalog.commit.before_append": False,
        "catalog.stash.append.updates_written": False,
        "catalog.stash.append.before_commit": False,
        "catalog.commit.after_append": True,
    },
    "persist": {
        "catalog.commit.before_append": False,
        "catalog.persist.append.file_written": False,
        "collections.commit.landed": True,
        "catalog.persist.append.landed": True,
        "catalog.commit.after_append": True,
    },
    "shadow": {
        "catalog.stash.append.before_commit": False,
        "catalog.shadow.compare_and_append.between": True,
        "catalog.persist.append.file_written": True,
        "catalog.persist.append.landed": True,
        "catalog.commit.after_append": True,
    },
}

POINTS_OF_COMPACTION = {
    "stash": {
        "catalog.stash.compact.since_raised": False,
        "catalog.stash.compact.before_commit": False,
        "catalog.stash.compact.batch_deleted": True,
    },
    "persist": {
        "catalog.persist.compact.since_raised": False,
        "catalog.persist.compact.files_written": False,
        "catalog.persist.compact.landed": True,
        "catalog.persist.merge.deleted": True,
    },
    "shadow": {
        "catalog.stash.compact.since_raised": False,
        "catalog.shadow.compact.between": True,
        "catalog.persist.compact.since_raised": True,
        "catalog.persist.compact.files_written": True,
        "catalog.persist.compact.landed": True,
    },
}


PLACES = [("stash", "sqlite"), ("stash", "postgresql"), ("persist", "sqlite"), ("shadow", "sqlite")]


def points_with(points: Mapping[str, Mapping[str, object]]) -> list[Any]:
    return [
        pytest.param(place, killed_at, id="-".join([*place, killed_at]))
        for place in PLACES
        for killed_at in points[place[0]]
    ]


def crash(place: CatalogPlace, operation: str, killed_at: str) -> None:
    """Run the operation in a process that dies at the point."""
    die_at(killed_at, work, place.implementation, place.url, place.home, operation)


def open_again(place: CatalogPlace) -> DurableCatalogState:
    """As another process finds it: it opens, works, and everything it serves has been applied."""
    state = place.state()
    state.open(BUILTINS)
    assert place.oracle.read_ts(CATALOG) >= state.upper
    create_schema(state, "afterwards")
    assert joined(place).snapshot() == state.snapshot().at(state.upper)
    return state


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogPlace]:
    implementation, database = request.param
    url = (
        f"sqlite:///{tmp_path / 'consensus.db'}"
        if database == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    made = CatalogPlace(implementation, url, tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("place", "killed_at"),
    [*points_with(POINTS_OF_OPEN), (("persist", "sqlite"), "catalog.persist.create.landed")],
    indirect=["place"],
)
def test_a_first_open_happens_or_does_not(place: CatalogPlace, killed_at: str) -> None:
    reached = POINTS_OF_OPEN[place.implementation].get(killed_at, BEFORE_EPOCH)
    crash(place, "open", killed_at)
    assert place.state().is_initialized() == (reached == OPENED)
    assert place.state().deploy_generation() == (None if reached == BEFORE_EPOCH else 0)
    state = open_again(place)
    assert state.epoch == (2 if reached == BEFORE_EPOCH else 3)
    assert state.snapshot().sorted(Kind.CLUSTER) == [
        Cluster(1, "default", None, "s1", (AclItem("p", "U", "s1"),))
    ]
    assert [mapping.id for mapping in state.snapshot().sorted(Kind.SYSTEM_OBJECT_MAPPING)] == [
        "s8",
        "s9",
    ]


@pytest.mark.parametrize(("place", "killed_at"), points_with(POINTS_OF_OPEN), indirect=["place"])
def test_a_migration_happens_or_does_not(place: CatalogPlace, killed_at: str) -> None:
    reached = POINTS_OF_OPEN[place.implementation][killed_at]
    install(place, sample(1))
    crash(place, "open", killed_at)
    stored = {(update.kind, update.key): update.value for update in place.log().snapshot()[1]}
    expected = sample(CATALOG_VERSION if reached == OPENED else 1)
    builtin = {"id_allocator", "system_object_mapping"} if reached == OPENED else set()
    differing = {
        row
        for row in stored.keys() | expected.keys()
        if stored.get(row) != expected.get(row) and row[0] not in builtin
    }
    assert differing <= {("config", '{"key":"epoch"}')}
    assert (("cluster", '{"id":1}') in stored) == (reached == OPENED)
    state = open_again(place)
    assert state.epoch == (8 if reached == BEFORE_EPOCH else 9)
    flights = state.snapshot().items[GlobalId("u7")].create_sql
    assert flights == 'CREATE DEFAULT INDEX IN CLUSTER default ON "reclock"."public"."flights"'


@pytest.mark.parametrize(("place", "killed_at"), points_with(IS_COMMITTED), indirect=["place"])
def test_a_commit_happens_or_does_not(place: CatalogPlace, killed_at: str) -> None:
    place.state().open(BUILTINS)
    crash(place, "commit", killed_at)
    follower = joined(place)
    assert place.oracle.read_ts(CATALOG) >= follower.upper
    expected = {"one", "two"} if IS_COMMITTED[place.implementation][killed_at] else set()
    assert {
        schema.name for schema in follower.snapshot().sorted(Kind.SCHEMA) if schema.id > 5
    } == expected
    assert {event.object_name for event in follower.get_audit_logs()} == expected
    state = open_again(place)
    assert [event.id for event in state.get_audit_logs()] == list(range(1, len(expected) + 2))


def commit_until(
    state: DurableCatalogState, is_enough: Callable[[DeltaLog], bool], place: CatalogPlace
) -> set[str]:
    names: set[str] = set()
    while not is_enough(DeltaLog.open(place.folder)):
        names.add(create_schema(state, f"s{len(names)}").name)
    return names


@pytest.mark.parametrize("place", [("persist", "sqlite")], indirect=True)
@pytest.mark.parametrize(
    ("killed_at", "is_next"),
    [
        (
            "catalog.persist.merge.files_written",
            lambda log: len(log.files()) == APPENDS_PER_MERGE - 1,
        ),
        ("catalog.persist.merge.landed", lambda log: len(log.files()) == APPENDS_PER_MERGE - 1),
        ("catalog.persist.merge.deleted", lambda log: len(log.files()) == APPENDS_PER_MERGE - 1),
        (
            "collections.checkpoint.written",
            lambda log: log.version % COMMITS_PER_CHECKPOINT == COMMITS_PER_CHECKPOINT - 1,
        ),
    ],
)
def test_tidying_up_changes_nothing_wherever_it_dies(
    place: CatalogPlace, killed_at: str, is_next: Callable[[DeltaLog], bool]
) -> None:
    state = place.state()
    state.open(BUILTINS)
    expected = commit_until(state, is_next, place) | {"one", "two"}
    crash(place, "commit", killed_at)
    follower = joined(place)
    assert {event.object_name for event in follower.get_audit_logs()} == expected
    assert {name for name in expected if follower.snapshot().schema_by_name(1, name)} == expected
    for number in range(APPENDS_PER_MERGE + 1):
        create_schema(follower, f"t{number}")
    held = {file.path for file in DeltaLog.open(place.folder).files()}
    assert {info.path for info in place.folder.walk("data")} == held
    assert open_again(place).get_audit_logs()[-1].object_name == "afterwards"


@pytest.mark.parametrize(
    ("place", "killed_at"), points_with(POINTS_OF_COMPACTION), indirect=["place"]
)
def test_compaction_changes_no_answer_wherever_it_dies_and_the_next_one_finishes(
    place: CatalogPlace, killed_at: str
) -> None:
    state = place.state()
    state.open(BUILTINS)
    behind = joined(place)
    for number in range(6):
        create_schema(state, f"s{number}")
    before, at = state.dump(), state.upper
    updates, events = place.log().snapshot()[1], len(state.get_audit_logs())
    crash(place, "compact", killed_at)
    log = place.log()
    assert log.since() == at
    assert place.state().dump() == before
    assert len(log.snapshot(below=at)[1]) == len(updates)
    for earlier in (0, at - 1):
        with pytest.raises(NotReadable):
            log.snapshot(below=Timestamp(earlier))
    assert behind.sync() == joined(place).snapshot() == state.snapshot().at(at)
    create_schema(behind, "one_more")
    assert log.snapshot(below=at)[1] != log.snapshot()[1]
    deleted = state.compact(at)
    assert (deleted == 0) == POINTS_OF_COMPACTION[place.implementation][killed_at]
    assert state.compact(at) == 0
    assert len(open_again(place).get_audit_logs()) == events + 2


@pytest.mark.parametrize("place", [("persist", "sqlite")], indirect=True)
def test_files_of_a_compaction_that_died_go_once_it_cannot_land(place: CatalogPlace) -> None:
    state = place.state()
    state.open(BUILTINS)
    create_schema(state, "raw")
    crash(place, "compact", "catalog.persist.compact.files_written")
    written = {info.path for info in place.folder.walk("data")} - {
        file.path for file in DeltaLog.open(place.folder).files()
    }
    assert written
    for number in range(COMMITS_BESIDE_COMPACTION + APPENDS_PER_MERGE):
        create_schema(state, f"s{number}")
    assert not written & {info.path for info in place.folder.walk("data")}


@pytest.mark.parametrize("place", PLACES, indirect=True)
def test_an_actor_that_lives_on_sees_what_a_dead_one_committed(place: CatalogPlace) -> None:
    state = place.state()
    state.open(BUILTINS)
    crash(place, "commit", "catalog.commit.after_append")
    with pytest.raises(UpperMismatch):
        create_schema(state, "one")
    assert state.snapshot().schema_by_name(1, "two") is not None
    assert place.oracle.read_ts(CATALOG) >= state.upper
