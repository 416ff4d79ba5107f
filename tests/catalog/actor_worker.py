"""One actor of a catalog: URL, its name, how many commits. Each adds one to a shared counter and makes a schema of its own."""

from __future__ import annotations

import json
import sys

from reclock.algebra.timestamps import system_clock
from reclock.catalog.objects import Kind, Schema, Setting
from reclock.catalog.stash import init_stash_catalog_state
from reclock.consensus.store import Consensus
from reclock.errors import UpperMismatch
from reclock.oracle.oracle import ConsensusOracle

url, name, commits = sys.argv[1], sys.argv[2], int(sys.argv[3])
consensus = Consensus.connect(url)
state = init_stash_catalog_state(
    consensus, oracle=ConsensusOracle(consensus, system_clock), clock=system_clock, deploy_generation=0
)
state.join()
print("ready", flush=True)
sys.stdin.readline()

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
print(json.dumps({"conflicts": conflicts}))
