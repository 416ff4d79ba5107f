"""A replica is killed while it writes arrangements to its spill folder, and while it merges what
refreshes have added to them: the next one answers as if nothing had been kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.forks import die_at

from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.compute.engines import arranged_files, group_states
from reclock.pipeline import cluster_steps
from reclock.runtime.environment import Environment

VIEWS = {
    "pairs": "SELECT t.k, t.n, u.word FROM t JOIN u ON t.k = u.k",
    "sums": "SELECT k, sum(n) AS n, count(*) AS c FROM t GROUP BY k",
    "unmatched": "SELECT t.k, t.n FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
}
DEFINE = """
CREATE TABLE t (k int, n int);
CREATE TABLE u (k int, word text);
INSERT INTO t SELECT i % 700, i FROM generate_series(1, 2000) AS i;
INSERT INTO u SELECT i, 'word ' || i FROM generate_series(1, 1500) AS i
"""
CHANGES = (
    "UPDATE u SET word = word || '!' WHERE k % 100 = 1",
    "UPDATE t SET n = n + 1 WHERE k % 2 = 1",
    "DELETE FROM u WHERE k = 3",
    "INSERT INTO t VALUES (3, 1), (800, 2)",
)
NOW = 1_000_000


class Replica:
    """A process that lasts, and spills and merges whatever it keeps."""

    def __init__(self, home: Path, now: int) -> None:
        self.now = now
        self.environment = Environment.open(
            home, clock=lambda: Timestamp(self.now), is_long_lived=True
        )

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        return [row for result in Session(self.environment).execute(text) for row in result.rows()]

    def refresh(self) -> None:
        at = self.environment.stores.oracle.read_ts(EPOCH_MS)
        report = cluster_steps.refresh(self.environment, "default", at, owner="test")
        assert report.failed == ()

    def check(self) -> None:
        for name, query in VIEWS.items():
            assert Counter(self.sql(f"SELECT * FROM {name}")) == Counter(self.sql(query))


def change_and_refresh(home: Path) -> None:
    arranged_files._SMALL_BYTES = group_states._FEW_ROWS = 0
    replica = Replica(home, NOW + 1_000)
    for change in CHANGES * 3:
        replica.sql(change)
        replica.refresh()


@pytest.fixture
def replica(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replica]:
    monkeypatch.setattr(arranged_files, "_SMALL_BYTES", 0)
    monkeypatch.setattr(group_states, "_FEW_ROWS", 0)
    Environment.initialise(tmp_path, clock=lambda: Timestamp(NOW)).close()
    made = Replica(tmp_path, NOW)
    yield made
    made.environment.close()


@pytest.mark.parametrize("killed_at", ["refresh.spilled", "refresh.merged"])
def test_the_next_replica_answers_the_same(
    replica: Replica, tmp_path: Path, killed_at: str
) -> None:
    replica.sql(DEFINE)
    for name, query in VIEWS.items():
        replica.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    replica.refresh()
    own_folders = set((tmp_path / "spill").iterdir())
    die_at(killed_at, change_and_refresh, tmp_path)
    abandoned = set((tmp_path / "spill").iterdir()) - own_folders
    assert abandoned
    replica.now = NOW + 1_000 + 2 * replica.environment.stores.settings.claim_lease_ms
    replica.refresh()
    replica.check()
    for change in CHANGES:
        replica.sql(change)
        replica.refresh()
        replica.check()
    assert not abandoned & set((tmp_path / "spill").iterdir())
