"""The law of file parts: whatever was written, applied and compacted, and however many parts are
asked for, all parts together have what SQL answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import reclock
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.client.embedded import EmbeddedClient
from reclock.collections.compaction import compact
from reclock.collections.tables import table_id
from reclock.compute.reads.file_part import FilePart, UpdateRange

INSERT = (
    "INSERT INTO {table} SELECT n, n % 3, chr(97 + {n}) FROM generate_series({n}, {n} + 3) AS n"
)
WRITES = [
    INSERT,
    INSERT,
    "UPDATE {table} SET item = 'z' WHERE id = {n}",
    "UPDATE {table} SET part = part + 1 WHERE id > {n}",
    "DELETE FROM {table} WHERE id = {n}",
]
QUERIES = [
    "SELECT id, part, item FROM {table}",
    "SELECT item FROM {table} WHERE id > $1",
    "SELECT part, item FROM {table} WHERE item < 'e'",
]

steps_drawn = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(WRITES), st.integers(0, 4)),
        st.tuples(st.sampled_from(["apply", "apply", "compact"]), st.just(0)),
    ),
    min_size=4,
    max_size=12,
)
_numbers = count()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedClient]:
    with reclock.connect(tmp_path_factory.mktemp("parts") / "home", create=True) as client:
        assert isinstance(client, EmbeddedClient)
        yield client


class History:
    """A table, and the times at which it can still be read."""

    def __init__(self, client: EmbeddedClient) -> None:
        self.client, self.table = client, f"history_{next(_numbers)}"
        client.sql(f"CREATE TABLE {self.table} (id integer NOT NULL, part integer, item text)")
        self.times = [self._now()]

    def take(self, step: str, n: int) -> None:
        tables = self.client.environment.stores.tables
        if step == "apply":
            tables.apply()
        elif step == "compact":
            tables.apply()
            compact(self._collection(), Timestamp(self.times[-1]))
            self.times = self.times[-1:]
        else:
            self.client.sql(step.format(table=self.table, n=n))
            self.times.append(self._now())

    def _now(self) -> int:
        lines = self.client.sql(f"EXPLAIN TIMESTAMP FOR SELECT * FROM {self.table}").rows()
        return int(lines[0][0].split()[-1])

    def _collection(self) -> Any:
        catalog = self.client.environment.stores.planner_catalog()
        [id] = [entry.id for entry in catalog.relations() if entry.name.item == self.table]
        return self.client.environment.stores.lake.open(table_id(id))


def summed(batches: Iterator[Any]) -> Counter[tuple[Any, ...]]:
    """The sums of the diffs of each row, with its time if it has one."""
    sums: Counter[tuple[Any, ...]] = Counter()
    for batch in batches:
        for row in batch.to_pylist():
            diff, time = row.pop(DIFF_COLUMN, 1), row.pop(TIME_COLUMN, None)
            sums[*row.values(), time] += diff
    return sums


def check_apart(parts: list[FilePart], count: int | None) -> None:
    """No file is in two parts, and there are no more parts than asked for."""
    paths = [file.path for part in parts for file in part.files]
    assert len(paths) == len(set(paths))
    assert count is None or len(parts) <= count


@settings(max_examples=25, phases=[Phase.generate])
@given(
    steps=steps_drawn,
    query=st.sampled_from(QUERIES),
    n=st.integers(0, 4),
    bounds=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    count=st.sampled_from([None, 1, 2, 3, 5]),
)
def test_parts_have_what_sql_answers(
    client: EmbeddedClient,
    steps: list[tuple[str, int]],
    query: str,
    n: int,
    bounds: tuple[int, int],
    count: int | None,
) -> None:
    history = History(client)
    for step, number in [(INSERT, 0), ("apply", 0), *steps]:
        history.take(step, number)
    text, params = query.format(table=history.table), [n] if "$1" in query else []
    first, last = sorted(history.times[bound % len(history.times)] for bound in bounds)

    rows = UpdateRange(Timestamp(last), Timestamp(last + 1), has_snapshot=True)
    parts = client.file_parts(text, params, rows, has_times=False, count=count)
    assert parts is not None
    check_apart(parts, count)
    answer = client.batches(text, params, as_of=last)
    assert summed(batch for part in parts for batch in client.part(part)) == summed(answer)

    for has_snapshot in (False, True):
        lower = first if has_snapshot else first + 1
        changes = UpdateRange(Timestamp(lower), Timestamp(last + 1), has_snapshot)
        if changes.lower == changes.upper:
            continue
        parts = client.file_parts(text, params, changes, has_times=True, count=count)
        assert parts is not None
        check_apart(parts, count)
        assert all(file.min_time <= last for part in parts for file in part.files)
        assert has_snapshot or all(file.max_time > first for p in parts for file in p.files)
        batches = [batch for part in parts for batch in client.part(part)]
        assert all(diff for batch in batches for diff in batch[DIFF_COLUMN].to_pylist())
        answer = client.changes(text, params, as_of=first, up_to=last + 1, snapshot=has_snapshot)
        assert summed(iter(batches)) == summed(answer)
    client.sql(f"DROP TABLE {history.table}")
