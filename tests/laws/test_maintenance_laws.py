"""Whatever writers, readers and maintainers do in whatever order, a read at a readable time gives
what the plain history gives."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

from fixtures.maintained import World
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reclock.algebra.timestamps import Timestamp
from reclock.collections import selection
from reclock.consensus.frontiers.holds import ReadHold
from reclock.pipeline.maintenance import maintain, sweep

SETTINGS = {
    "RECLOCK_RETENTION_MS": "20",
    "RECLOCK_INDEX_RETENTION_MS": "0",
    "RECLOCK_VACUUM_GRACE_MS": "0",
}


class MaintenanceAgainstHistory(RuleBasedStateMachine):
    """One source and a view on it; times go on by at least one with each write."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="reclock-laws-")
        with mock.patch.dict("os.environ", SETTINGS):
            self.world = World(Path(self.folder.name))
        self.group = self.world.create("words")
        self.world.sql(
            "CREATE MATERIALIZED VIEW totals AS SELECT word, count(*) AS times FROM "
            "words GROUP BY word"
        )
        self.index = self.world.id_of("totals_primary_idx")
        self.history: list[tuple[int, str]] = []
        self.last = 1_000
        self.holds: list[ReadHold] = []
        self.small_files = selection.SMALL_FILES

    def teardown(self) -> None:
        selection.SMALL_FILES = self.small_files
        self.world.close()
        self.folder.cleanup()

    @rule(gap=st.integers(1, 15), words=st.lists(st.sampled_from("abc"), min_size=1, max_size=3))
    def write(self, gap: int, words: list[str]) -> None:
        self.last += gap
        self.world.write(self.group, self.last, *words)
        self.history += [(self.last, word) for word in words]

    @rule()
    def refresh(self) -> None:
        self.world.refresh()

    @rule(back=st.integers(0, 30))
    def hold(self, back: int) -> None:
        at = Timestamp(max(self.last - back, self.since()))
        self.holds.append(
            self.world.environment.stores.holds.acquire(
                [self.group], at, owner="reader", lease_ms=None
            )
        )

    @precondition(lambda self: self.holds)
    @rule()
    def release(self) -> None:
        self.world.environment.stores.holds.release(self.holds.pop())

    @rule(small_files=st.integers(1, 8))
    def maintain(self, small_files: int) -> None:
        selection.SMALL_FILES = small_files
        for group in (self.group, self.index):
            assert maintain(self.world.environment.stores, group).failed == {}

    @rule()
    def sweep(self) -> None:
        sweep(self.world.environment)

    @invariant()
    def what_is_held_is_readable(self) -> None:
        assert all(hold.at >= self.since() for hold in self.holds)

    @invariant()
    def every_readable_time_is_the_history(self) -> None:
        since = self.since()
        for at in {since, (since + self.last) // 2, self.last}:
            expected = sorted(Counter(word for time, word in self.history if time <= at).items())
            assert (
                self.world.sql(
                    f"SELECT word, count(*) FROM words GROUP BY word ORDER BY word AS OF {at}"
                )
                == expected
            )
            assert (
                self.world.sql(f"SELECT word, times FROM totals ORDER BY word AS OF {at}")
                == expected
            )
            bound = sum(10 for time, _ in self.history if time <= at)
            progress = [] if not bound else [(bound,)]
            assert self.world.sql(f"SELECT byte_offset FROM words_progress AS OF {at}") == progress

    def since(self) -> int:
        return self.world.environment.stores.frontiers.get(self.group).since


MaintenanceAgainstHistory.TestCase.settings = settings(
    max_examples=8, stateful_step_count=12, suppress_health_check=list(HealthCheck)
)
test_maintenance_changes_no_readable_answer = MaintenanceAgainstHistory.TestCase
