"""Money moves between tables by transactions of several processes, one of which is killed: every sum at every time is right."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from fixtures.workers import await_ready, release, run_at_once, start

from reclock.adapter.session import Session
from reclock.algebra.timestamps import EPOCH_MS
from reclock.environment import Environment

SUM = "SELECT sum(n) FROM (SELECT n FROM ada UNION ALL SELECT n FROM bob UNION ALL SELECT n FROM eve) x"
WORKER = Path(__file__).parent / "money_worker.py"


def test_the_sum_is_the_same_at_every_time_for_every_process(consensus_url: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RECLOCK_CONSENSUS_URL", consensus_url)
    monkeypatch.setenv("RECLOCK_TABLE_APPLY_DELAY_MS", "20")
    home = str(tmp_path / "home")
    with Environment.initialise(home) as environment:
        session = Session(environment)
        for table in ("ada", "bob", "eve"):
            list(session.execute(f"CREATE TABLE {table} (id int NOT NULL, n int NOT NULL)"))
            list(session.execute(f"INSERT INTO {table} VALUES (1, 100), (2, 100)"))
        victim = start(WORKER, [home, "move", "7", "100000"])
        try:
            await_ready(victim)
            release(victim)
            began = environment.oracle.read_ts(EPOCH_MS)
            while environment.oracle.read_ts(EPOCH_MS) < began + 1_000:
                time.sleep(0.05)  # its commits move the oracle
            victim.send_signal(signal.SIGKILL)
            assert victim.wait() == -signal.SIGKILL
        finally:
            victim.kill()
        movers = [[home, "move", str(seed), "12"] for seed in (1, 2)]
        readers = [[home, "read", str(seed), "12"] for seed in (3, 4)]
        *moved, first, second = run_at_once(WORKER, [*movers, *readers])
        assert sum(report["moved"] for report in moved) > 0
        assert set(first) | set(second) == {600}
        environment.tables.apply()
        assert environment.tables.log.pending() == []
        [result] = session.execute(SUM)
        assert list(result.rows()) == [(600,)]
