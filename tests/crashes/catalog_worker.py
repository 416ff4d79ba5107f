"""One thing done to a catalog, on the way of which a process dies."""

from __future__ import annotations

from pathlib import Path

from reclock.algebra.timestamps import MAXIMUM, system_clock
from reclock.catalog.builtins import BuiltinObject
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.implementations import Implementation, open_log
from reclock.catalog.objects import Schema
from reclock.config import Settings
from reclock.consensus.database.store import Consensus
from reclock.oracle.oracle import ConsensusOracle


def work(implementation: Implementation, url: str, home: Path, operation: str) -> None:
    """``operation`` is ``open``, ``commit`` or ``compact``."""
    consensus = Consensus.connect(url)
    oracle = ConsensusOracle(consensus, system_clock, max_clock_jump_ms=MAXIMUM)
    log = open_log(implementation, "tests", Settings.load(home), consensus)
    state = DurableCatalog(log, oracle=oracle, clock=system_clock, deploy_generation=0)
    if operation == "open":
        state.open([BuiltinObject("mz_internal", "table", "mz_statuses", "a1")])
        return
    state.join()
    if operation == "compact":
        state.compact(state.upper)
        return
    tx = state.transaction()
    for name in ("one", "two"):
        tx.insert(Schema(tx.allocate_schema_id(), 1, name, "u1"))
        tx.audit("create", "schema", name, user="reclock", occurred_at=system_clock())
    state.commit_transaction(tx)
