"""Does one thing to a catalog, and dies on the way where RECLOCK_CRASH_AT says: implementation, URL, home, then open or commit."""

from __future__ import annotations

import sys

from reclock.algebra.timestamps import system_clock
from reclock.catalog.builtins import BuiltinObject
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.implementations import open_log
from reclock.catalog.objects import Schema
from reclock.config import Settings
from reclock.consensus.store import Consensus
from reclock.oracle.oracle import ConsensusOracle

implementation, url, home, operation = sys.argv[1:]
consensus = Consensus.connect(url)
oracle = ConsensusOracle(consensus, system_clock)
log = open_log(implementation, "tests", Settings.load(home), consensus)
state = DurableCatalog(log, oracle=oracle, clock=system_clock, deploy_generation=0)
if operation == "open":
    state.open([BuiltinObject("mz_internal", "table", "mz_statuses", "a1")])
else:
    state.join()
    tx = state.transaction()
    for name in ("one", "two"):
        tx.insert(Schema(tx.allocate_schema_id(), 1, name, "u1"))
        tx.audit("create", "schema", name, user="reclock", occurred_at=system_clock())
    state.commit_transaction(tx)
