"""Several processes change one catalog at once: the history is serial, nothing is lost, nothing
happens twice.

``--catalog-commits 500`` races longer than every run of the suite can wait for.
"""

from __future__ import annotations

import pytest
from catalog.actor_worker import commit_often
from catalog.compaction_worker import compact_often
from fixtures.catalogs import CatalogPlace
from fixtures.workers import finished, run_at_once, start

from reclock.algebra.timestamps import CATALOG, MINIMUM
from reclock.catalog.objects import APPEND_ONLY, Kind, Setting
from reclock.catalog.snapshot import CatalogSnapshot

ACTORS = 4


def test_racing_actors_make_one_serial_history(
    place: CatalogPlace, pytestconfig: pytest.Config
) -> None:
    commits = pytestconfig.getoption("--catalog-commits")
    state = place.state()
    state.open()
    start = state.upper
    names = [f"actor{number}" for number in range(ACTORS)]

    common = (place.implementation, place.url, place.home)
    run_at_once(commit_often, [(*common, name, commits) for name in names])

    schema_names = [f"{name}_{index}" for name in names for index in range(commits)]
    snapshot = state.sync()
    assert sorted(
        schema.name for schema in snapshot.schemas.values() if schema.name.startswith("actor")
    ) == sorted(schema_names)
    assert state.snapshot().sorted(Kind.SETTING) == [Setting("counter", str(len(schema_names)))]
    assert [event.id for event in state.get_audit_logs()] == list(range(1, len(schema_names) + 1))
    assert sorted(event.object_name for event in state.get_audit_logs()) == sorted(schema_names)

    batch = state.subscribe_at(MINIMUM)
    batch.poll()
    history = batch.poll()
    assert history is not None
    counts = [
        c.object.value
        for c in history.changes
        if isinstance(c.object, Setting) and c.diff > 0 and c.ts >= start
    ]
    assert counts == [str(number) for number in range(1, len(schema_names) + 1)]
    assert CatalogSnapshot.empty().apply(history.changes, history.upper) == snapshot.at(
        snapshot.upper
    )
    assert place.oracle.read_ts(CATALOG) == state.upper

    upper, read_afresh = place.log().updates(start, only=APPEND_ONLY)
    assert upper == state.upper
    assert [update.ts for update in read_afresh] == sorted({update.ts for update in read_afresh}), (
        "one commit at a time"
    )
    assert len(read_afresh) == len(schema_names)


def test_compaction_beside_racing_actors_loses_nothing(
    place: CatalogPlace, pytestconfig: pytest.Config
) -> None:
    """It deletes the history up to the newest moment, so that actors and followers are behind since
    all the time."""
    commits = pytestconfig.getoption("--catalog-commits")
    state = place.state()
    state.open()
    names = [f"actor{number}" for number in range(2)]
    common, commit_count = (place.implementation, place.url, place.home), len(names) * commits
    workers = [start(commit_often, *common, name, commits) for name in names]
    workers += [start(compact_often, *common, commit_count) for _ in range(2)]
    answers = finished(workers)[2:]
    assert all(compactions > 0 for compactions, _ in answers)
    assert sum(deleted for _, deleted in answers) > 0

    snapshot = state.sync()
    assert (
        len([schema for schema in snapshot.schemas.values() if schema.name.startswith("actor")])
        == commit_count
    )
    assert state.snapshot().sorted(Kind.SETTING) == [Setting("counter", str(commit_count))]
    assert [event.id for event in state.get_audit_logs()] == list(range(1, commit_count + 1))
    state.compact(state.upper)
    again = place.state()
    again.join()
    assert again.snapshot() == snapshot.at(snapshot.upper)
