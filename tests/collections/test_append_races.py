"""Writers of several processes at one collection: one winner at each upper, nothing lost, nothing
twice."""

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from fixtures.lakes import DESC, FLIGHTS, rows_of, update, updates_of, updates_table

from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.collection import Collection
from reclock.collections.compaction import compact
from reclock.collections.delta_log import DeltaLog
from reclock.collections.lake import Lake
from reclock.errors import UpperMismatch

PROCESSES = 4
APPENDS = 25

WRITER = """
import sys
from fixtures.lakes import DESC, FLIGHTS, update, updates_table
from reclock.collections.compaction import compact
from reclock.collections.lake import Lake
from reclock.errors import UpperMismatch

root, writer, appends = sys.argv[1], sys.argv[2], int(sys.argv[3])
collection = Lake(root).create(FLIGHTS, DESC)
won = 0
while won < appends:
    upper = collection.upper()
    try:
        collection.append(updates_table([update(writer, won, upper)]), expected_upper=upper, new_upper=upper + 1)
    except UpperMismatch:
        continue
    print(upper)
    won += 1
    if won % 10 == 0:
        compact(collection, upper - 5)
"""


def test_of_several_processes_exactly_one_wins_each_upper(lake: Lake) -> None:
    """They also all create the collection, and compact it in between."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, lake.root, f"writer {number}", str(APPENDS)],
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": ":".join(sys.path)},
        )
        for number in range(PROCESSES)
    ]
    outputs = [writer.communicate()[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * PROCESSES
    won = [int(line) for output in outputs for line in output.split()]
    assert sorted(won) == list(range(PROCESSES * APPENDS))
    version = lake.open(FLIGHTS).pin()
    assert version.upper == PROCESSES * APPENDS
    expected = {
        (f"writer {number}", step): 1 for number in range(PROCESSES) for step in range(APPENDS)
    }
    assert rows_of(version.snapshot(MAXIMUM)) == expected


def test_of_several_threads_on_one_handle_exactly_one_wins(collection: Collection) -> None:
    def attempt(name: str) -> int:
        try:
            collection.append(
                updates_table([update(name, 1, 0)]),
                expected_upper=Timestamp(0),
                new_upper=Timestamp(1),
            )
        except UpperMismatch as lost:
            return -(lost.found or 0)
        return 1

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(attempt, "abcdefgh")) == [-1] * 7 + [1]
    assert len(rows_of(collection.pin().snapshot(Timestamp(0)))) == 1


def test_appends_go_on_beside_compactions_of_another_handle(lake: Lake) -> None:
    writer, compactor = lake.create(FLIGHTS, DESC), Lake(lake.root).create(FLIGHTS, DESC)

    def write() -> None:
        for time in range(30):
            row = update("a", time % 3, time)
            writer.append(
                updates_table([row]), expected_upper=Timestamp(time), new_upper=Timestamp(time + 1)
            )

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(write)
        compactions = 0
        while not writing.done():
            compactions += compact(compactor, Timestamp(compactor.upper())) is not None
        writing.result()
    assert compactions
    assert rows_of(compactor.pin().snapshot(MAXIMUM)) == {("a", 0): 10, ("a", 1): 10, ("a", 2): 10}
    assert Counter(
        u.diff for u in updates_of(compactor.pin().changes(Timestamp(0), MAXIMUM))
    ).total()


def test_a_commit_is_tried_at_the_version_last_seen_and_nowhere_else(
    collection: Collection,
) -> None:
    """Though neither commit would conflict with the other for delta-rs."""
    first, second = DeltaLog.open(collection.folder), DeltaLog.open(collection.folder)
    assert first.commit([], {"one": 1})
    assert not second.commit([], {"two": 1})
    assert (second.transaction("one"), second.transaction("two"), second.version) == (1, None, 1)
    assert second.commit([], {"two": 1})
