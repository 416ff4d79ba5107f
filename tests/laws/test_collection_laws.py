"""A collection on disk says what the plain list of its updates says, whatever is done to its files
meanwhile."""

import math
import tempfile
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from fixtures.lakes import DESC, FLIGHTS, rows_of, updates_of, updates_table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reclock.algebra import relations as types
from reclock.algebra.relations import Column, RelationDesc, ScalarType
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.algebra.updates import Row, Update, advance, consolidate, snapshot
from reclock.collections import selection
from reclock.collections.compaction import checkpoint, compact, vacuum
from reclock.collections.lake import Lake
from reclock.collections.version import Version

rows = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, 2, None]))


class CollectionAgainstModel(RuleBasedStateMachine):
    """Appends, compactions, vacuums, checkpoints, a second process's handle, and readers that stay
    pinned, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="reclock-laws-")
        self.collection = Lake(self.folder.name).create(FLIGHTS, DESC)
        self.model: list[Update] = []
        self.upper = Timestamp(0)
        self.since = Timestamp(0)
        self.pinned: list[tuple[Version, list[Update], Timestamp]] = []

        self.thresholds = (selection.LARGE_FILE_BYTES, selection.SMALL_FILES)

    def teardown(self) -> None:
        selection.LARGE_FILE_BYTES, selection.SMALL_FILES = self.thresholds
        self.folder.cleanup()

    @rule(
        pieces=st.lists(
            st.tuples(rows, st.integers(0, 4), st.sampled_from([-1, 1, 2])), max_size=6
        ),
        width=st.integers(1, 5),
    )
    def append(self, pieces: list[tuple[Row, int, int]], width: int) -> None:
        new_upper = Timestamp(self.upper + width)
        updates = [
            Update(row, Timestamp(self.upper + offset % width), diff)
            for row, offset, diff in pieces
        ]
        self.collection.append(
            updates_table(updates), expected_upper=self.upper, new_upper=new_upper
        )
        self.model += updates
        self.upper = new_upper

    @rule()
    def open_elsewhere(self) -> None:
        self.collection = Lake(self.folder.name).open(FLIGHTS)

    @precondition(lambda self: self.upper > 0)
    @rule(
        back=st.integers(-3, 6),
        large_bytes=st.sampled_from([1_500, 16 << 20]),
        small_files=st.integers(1, 8),
        cluster_by=st.sampled_from([[], ["number"]]),
    )
    def compact(self, back: int, large_bytes: int, small_files: int, cluster_by: list[str]) -> None:
        selection.LARGE_FILE_BYTES, selection.SMALL_FILES = large_bytes, small_files
        self.since = Timestamp(max(self.since, self.upper - back))
        compact(self.collection, self.since, cluster_by=cluster_by)

    @rule()
    def checkpoint(self) -> None:
        checkpoint(self.collection)

    @rule()
    def vacuum_behind_readers(self) -> None:
        vacuum(self.collection, before=Timestamp(0), claimed_staging=frozenset())

    @rule()
    def vacuum_without_readers(self) -> None:
        self.pinned.clear()
        vacuum(self.collection, before=MAXIMUM, claimed_staging=frozenset())

    @rule()
    def pin(self) -> None:
        self.pinned.append((self.collection.pin(), list(self.model), self.since))
        del self.pinned[:-3]

    @invariant()
    def the_upper_is_what_was_appended(self) -> None:
        assert self.collection.upper() == self.upper

    @invariant()
    def every_readable_time_is_exact(self) -> None:
        self.check(self.collection.pin(), self.model, self.since)
        for version, model, since in self.pinned:
            self.check(version, model, since)

    @staticmethod
    def check(version: Version, model: list[Update], since: Timestamp) -> None:
        for at in {since, Timestamp((since + version.upper) // 2), version.upper}:
            if at >= since:
                assert rows_of(version.snapshot(at)) == snapshot(model, at)
        found = advance(updates_of(version.changes(Timestamp(0), MAXIMUM)), since)
        assert Counter(found) == Counter(advance(model, since))
        lower, upper = Timestamp(since + 1), Timestamp(since + 4)
        expected = consolidate(u for u in model if lower <= u.time < upper)
        assert Counter(updates_of(version.changes(lower, upper))) == Counter(expected)
        assert all(file.max_time < version.upper for file in version.all_files)


CollectionAgainstModel.TestCase.settings = settings(
    max_examples=25, stateful_step_count=12, suppress_health_check=list(HealthCheck)
)
test_a_collection_says_what_its_updates_say = CollectionAgainstModel.TestCase


# --- every type ---

NAN = "NaN"
"""Stands for any NaN in the model, where Python's would not equal itself."""

moments = st.sampled_from(
    [
        datetime(1, 1, 1),
        datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
    ]
)
floats = st.sampled_from([0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan, -math.nan])
VALUES: dict[ScalarType, st.SearchStrategy[Any]] = {
    types.BOOLEAN: st.booleans(),
    types.SMALLINT: st.sampled_from([-(2**15), 0, 2**15 - 1]),
    types.INTEGER: st.sampled_from([-(2**31), 0, 2**31 - 1]),
    types.BIGINT: st.sampled_from([-(2**63), 0, 2**63 - 1]),
    types.REAL: floats,
    types.DOUBLE: floats,
    types.numeric(): st.sampled_from(
        [Decimal("0E-9"), Decimal("-0.000000001"), Decimal("9" * 29 + "." + "9" * 9)]
    ),
    types.numeric(5, 2): st.sampled_from([Decimal("0.00"), Decimal("-999.99"), Decimal("1.10")]),
    types.TEXT: st.sampled_from(
        ["", "a", "A", "a ", "ä", "a\u0308", "\U0001f6eb", "x" * 40, "x" * 41, "nul\0", "'\"\\"]
    ),
    types.BYTEA: st.sampled_from([b"", b"\x00", b"\xff\xfe", b"a"]),
    types.DATE: st.sampled_from([date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)]),
    types.TIMESTAMP: moments,
    types.TIMESTAMPTZ: moments.map(lambda moment: moment.replace(tzinfo=UTC)),
}


def comparable(row: Row) -> Row:
    return tuple(NAN if isinstance(value, float) and math.isnan(value) else value for value in row)


@settings(max_examples=40)
@given(data=st.data())
def test_values_of_every_type_are_kept_and_equal_ones_are_summed(data: st.DataObject) -> None:
    desc = RelationDesc(tuple(Column(f"column {i}", type) for i, type in enumerate(VALUES)))
    row = st.tuples(*(st.none() | strategy for strategy in VALUES.values()))
    pool = data.draw(st.lists(row, min_size=1, max_size=3))
    updates = data.draw(
        st.lists(
            st.builds(
                Update,
                st.sampled_from(pool),
                st.integers(0, 3).map(Timestamp),
                st.sampled_from([-1, 1]),
            ),
            max_size=12,
        )
    )
    model = [Update(comparable(u.row), u.time, u.diff) for u in updates]
    with tempfile.TemporaryDirectory(prefix="reclock-laws-") as folder:
        collection = Lake(folder).create(FLIGHTS, desc)
        for time in range(4):
            now = [u for u in updates if u.time == time]
            collection.append(
                updates_table(now, desc),
                expected_upper=Timestamp(time),
                new_upper=Timestamp(time + 1),
            )
        check_values(collection.pin(), model)
        compact(collection, Timestamp(3), cluster_by=desc.names)
        check_values(Lake(folder).open(FLIGHTS).pin(), model)


def check_values(version: Version, model: list[Update]) -> None:
    last = Timestamp(3)
    found = rows_of(version.snapshot(last))
    assert {comparable(row): diff for row, diff in found.items()} == snapshot(model, last)
    assert not any(str(value) == "-0.0" for row in found for value in row)
    changes = [
        Update(comparable(u.row), u.time, u.diff)
        for u in updates_of(version.changes(Timestamp(0), MAXIMUM))
    ]
    assert Counter(advance(changes, last)) == Counter(advance(model, last))
