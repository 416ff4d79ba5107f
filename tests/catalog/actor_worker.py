"""One actor of a catalog: implementation, URL, home, its name, how many commits.

Each commit adds one to a shared counter and makes a schema of its own.
"""

from __future__ import annotations

import json
import sys

from reclock.algebra.timestamps import MAXIMUM, system_clock
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.implementations import open_log
from reclock.catalog.objects import Kind, Schema, Setting
from reclock.config import Settings
from reclock.consensus.database.store import Consensus
from reclock.errors import UpperMismatch
from reclock.oracle.oracle import ConsensusOracle

implementation, url, home, name, commits = sys.argv[1:]
consensus = Consensus.connect(url)
log = open_log(implementation, "tests", Settings.load(home), consensus)
# the catalog was made by a clock that tests turn, years ago
oracle = ConsensusOracle(consensus, system_clock, max_clock_jump_ms=MAXIMUM)
state = DurableCatalog(log, oracle=oracle, clock=system_clock, deploy_generation=0)
state.join()
print("ready", flush=True)
sys.stdin.readline()

conflicts = 0
for index in range(int(commits)):
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
print(json.dumps({"conflicts": conflicts}))
