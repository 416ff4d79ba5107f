"""Maintenance is killed at every named point between two durable steps: no readable time is
answered differently, then or after the next run; and that one finishes the work."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from fixtures.forks import command
from fixtures.maintained import World

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId

POINTS = [
    "maintenance.after_since",
    "collections.compact.before_commit",
    "collections.commit.landed",
    "collections.compact.after_commit",
    "maintenance.after_compact",
    "maintenance.after_checkpoint",
    "collections.vacuum.before_delete",
    "maintenance.before_record",
    "maintenance.after_record",
    "catalog.stash.compact.since_raised",
    "catalog.stash.compact.batch_deleted",
]
READABLE = range(1_101, 1_201, 9)
QUERIES = [
    (
        "SELECT word, count(*) AS times, sum(number) AS total FROM words GROUP BY word ORDER "
        "BY word AS OF {at}"
    ),
    "SELECT key, byte_offset FROM words_progress AS OF {at}",
    "SELECT word, times FROM totals ORDER BY word AS OF {at}",
]


def answers(world: World) -> list[list[list[tuple[Any, ...]]]]:
    return [[world.sql(query.format(at=at)) for query in QUERIES] for at in READABLE]


def maintain(home: Path, crash_at: str = "") -> int | None:
    retained = {
        "RETENTION_MS": "100",
        "INDEX_RETENTION_MS": "0",
        "VACUUM_GRACE_MS": "0",
        "CATALOG_RETENTION_MS": "0",
    }
    settings = {f"RECLOCK_{name}": value for name, value in retained.items()}
    return command("maintain", "--home", str(home), **settings, RECLOCK_FAILPOINT=crash_at)


@pytest.mark.parametrize("killed_at", POINTS)
def test_a_kill_at_any_point_changes_no_answer_and_the_next_run_finishes(
    tmp_path: Path, killed_at: str
) -> None:
    world = World(tmp_path)
    group = world.create("words")
    world.sql(
        "CREATE MATERIALIZED VIEW totals AS SELECT word, count(*) AS times FROM words GROUP BY word"
    )
    for number in range(1, 9):
        world.write(group, 1_000 + 25 * number, "a", "b" if number % 2 else "c")
    world.refresh()
    before = answers(world)
    assert maintain(tmp_path, killed_at) == -signal.SIGKILL
    assert answers(world) == before
    world.environment.stores.shared_holds.release_idle(
        world.environment.stores.frontiers.get_all()
    )  # which this process keeps for reads to come
    world.write(group, 1_300, "late")
    assert maintain(tmp_path) == 0
    assert maintain(tmp_path) == 0
    # the index has not read the rest
    assert world.environment.stores.frontiers.get(group).since == 1_200
    assert world.sql(QUERIES[0].format(at=1_200)) == before[-1][0]
    for kind in (CollectionType.RECLOCKED, CollectionType.REMAPPING):
        collection = world.environment.stores.lake.open(StorageCollectionId(GlobalId(group), kind))
        on_disk = {f"data/{path.name}" for path in Path(collection.uri, "data").iterdir()}
        assert on_disk == {file.path for file in collection.pin().all_files}
    world.close()
