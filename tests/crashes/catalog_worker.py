"""Does one thing to a catalog, and dies on the way where RECLOCK_CRASH_AT says: URL, then open or commit."""

from __future__ import annotations

import sys

from reclock.algebra.timestamps import system_clock
from reclock.catalog.builtins import BuiltinObject
from reclock.catalog.objects import Schema
from reclock.catalog.stash import init_stash_catalog_state
from reclock.consensus.store import Consensus
from reclock.oracle.oracle import ConsensusOracle

url, operation = sys.argv[1:]
consensus = Consensus.connect(url)
oracle = ConsensusOracle(consensus, system_clock)
state = init_stash_catalog_state(consensus, oracle=oracle, clock=system_clock, deploy_generation=0)
if operation == "open":
    state.open([BuiltinObject("mz_internal", "table", "mz_statuses", "a1")])
else:
    state.join()
    tx = state.transaction()
    for name in ("one", "two"):
        tx.insert(Schema(tx.allocate_schema_id(), 1, name, "u1"))
        tx.audit("create", "schema", name, user="reclock", occurred_at=system_clock())
    state.commit_transaction(tx)
