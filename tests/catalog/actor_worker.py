"""One actor of a catalog. Each of its commits adds one to a shared counter and makes a schema of its
own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reclock.algebra.timestamps import MAXIMUM, system_clock
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.implementations import open_log
from reclock.catalog.objects import Kind, Schema, Setting
from reclock.config import Settings
from reclock.consensus.database.store import Consensus
from reclock.errors import UpperMismatch
from reclock.oracle.oracle import ConsensusOracle


def state_of(implementation: str, url: str, home: Path) -> Callable[[], DurableCatalog]:
    """Makes states of the catalog, which have joined it, over one connection."""
    consensus = Consensus.connect(url)
    # the catalog was made by a clock that tests turn, years ago
    oracle = ConsensusOracle(consensus, system_clock, max_clock_jump_ms=MAXIMUM)

    def joined() -> DurableCatalog:
        log = open_log(implementation, "tests", Settings.load(home), consensus)
        state = DurableCatalog(log, oracle=oracle, clock=system_clock, deploy_generation=0)
        state.join()
        return state

    return joined


def commit_often(
    begin_together: Callable[[], None],
    implementation: str,
    url: str,
    home: Path,
    name: str,
    commits: int,
) -> int:
    """How many commits lost a race."""
    state = state_of(implementation, url, home)()
    begin_together()
    conflicts = 0
    for index in range(commits):
        while True:
            tx = state.transaction()
            counter = tx.snapshot.get(Kind.SETTING, "counter")
            tx.put(Setting("counter", str(int(counter.value) + 1 if counter else 1)))
            tx.insert(Schema(tx.allocate_schema_id(), 1, f"{name}_{index}", "u1"))
            tx.audit("create", "schema", f"{name}_{index}", user=name, occurred_at=system_clock())
            try:
                state.commit_transaction(tx)
            except UpperMismatch:
                conflicts += 1
                continue
            break
    return conflicts
