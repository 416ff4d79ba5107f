"""A process is killed between any two durable steps of the catalog: opened again, it is as before or as after, never between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.catalogs import BUILTINS, CatalogPlace, StashPlace, create_schema, install, joined, sample

import reclock
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import CATALOG
from reclock.catalog.acl import AclItem
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.initial import CATALOG_VERSION
from reclock.catalog.objects import Cluster
from reclock.crashpoints import VARIABLE
from reclock.errors import UpperMismatch

WORKER = Path(__file__).parent / "catalog_worker.py"
ROOT = Path(__file__).parents[2]

EPOCH_KEPT = (
    "catalog.open.before_epoch",
    "catalog.stash.lead.updates_written",
    "catalog.stash.lead.before_commit",
)
EPOCH_RAISED = (
    "catalog.open.after_epoch",
    "catalog.open.before_contents",
    "catalog.stash.append.updates_written",
    "catalog.stash.append.before_commit",
)
OPENED = ("catalog.open.after_contents",)

NOT_COMMITTED = (
    "catalog.commit.before_append",
    "catalog.stash.append.updates_written",
    "catalog.stash.append.before_commit",
)
COMMITTED = ("catalog.commit.after_append",)


def crash(url: str, operation: str, point: str) -> None:
    """Run the operation in a process that dies at the point."""
    path = os.pathsep.join([str(Path(reclock.__file__).parents[1]), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path, VARIABLE: point}
    worker = subprocess.run([sys.executable, str(WORKER), url, operation], env=environment, capture_output=True, text=True)
    assert worker.returncode == -signal.SIGKILL, worker.stderr


def open_again(place: CatalogPlace) -> DurableCatalogState:
    """As another process finds it: it opens, works, and everything it serves has been applied."""
    state = place.state()
    state.open(BUILTINS)
    assert place.oracle.read_ts(CATALOG) >= state.upper
    create_schema(state, "afterwards")
    assert joined(place).snapshot() == state.snapshot().at(state.upper)
    return state


@pytest.fixture
def place(consensus_url: str) -> CatalogPlace:
    return StashPlace(consensus_url)


@pytest.mark.parametrize("point", EPOCH_KEPT + EPOCH_RAISED + OPENED)
def test_a_first_open_happens_or_does_not(place: CatalogPlace, consensus_url: str, point: str) -> None:
    crash(consensus_url, "open", point)
    assert place.state().is_initialized() == (point in OPENED)
    assert place.state().deploy_generation() == (None if point in EPOCH_KEPT else 0)
    state = open_again(place)
    assert state.epoch == (2 if point in EPOCH_KEPT else 3)
    assert state.get_clusters() == [Cluster(1, "default", None, "s1", (AclItem("p", "U", "s1"),))]
    assert [mapping.id for mapping in state.get_system_object_mappings()] == ["s8", "s9"]


@pytest.mark.parametrize("point", EPOCH_KEPT + EPOCH_RAISED + OPENED)
def test_a_migration_happens_or_does_not(place: CatalogPlace, consensus_url: str, point: str) -> None:
    install(place, sample(1))
    crash(consensus_url, "open", point)
    stored = {(update.kind, update.key): update.value for update in place.log().snapshot()[1]}
    expected = sample(CATALOG_VERSION if point in OPENED else 1)
    builtin = {"id_allocator", "system_object_mapping"} if point in OPENED else set()
    differing = {row for row in stored.keys() | expected.keys() if stored.get(row) != expected.get(row) and row[0] not in builtin}
    assert differing <= {("config", '{"key":"epoch"}')}
    assert (("cluster", '{"id":1}') in stored) == (point in OPENED)
    state = open_again(place)
    assert state.epoch == (8 if point in EPOCH_KEPT else 9)
    flights = state.snapshot().items[GlobalId("u7")].create_sql
    assert flights == 'CREATE DEFAULT INDEX IN CLUSTER default ON "reclock"."public"."flights"'


@pytest.mark.parametrize("point", NOT_COMMITTED + COMMITTED)
def test_a_commit_happens_or_does_not(place: CatalogPlace, consensus_url: str, point: str) -> None:
    place.state().open(BUILTINS)
    crash(consensus_url, "commit", point)
    follower = joined(place)
    assert place.oracle.read_ts(CATALOG) >= follower.upper
    expected = {"one", "two"} if point in COMMITTED else set()
    assert {schema.name for schema in follower.get_schemas() if schema.id > 5} == expected
    assert {event.object_name for event in follower.get_audit_logs()} == expected
    state = open_again(place)
    assert [event.id for event in state.get_audit_logs()] == list(range(1, len(expected) + 2))


def test_an_actor_that_lives_on_sees_what_a_dead_one_committed(place: CatalogPlace, consensus_url: str) -> None:
    state = place.state()
    state.open(BUILTINS)
    crash(consensus_url, "commit", COMMITTED[0])
    with pytest.raises(UpperMismatch):
        create_schema(state, "one")
    assert state.snapshot().schema_by_name(1, "two") is not None
    assert place.oracle.read_ts(CATALOG) >= state.upper
