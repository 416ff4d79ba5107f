"""Compacts a catalog up to its newest upper until its counter has reached a number: implementation,
URL, home, the number.

What it reads meanwhile is always one moment of the catalog: the counter says how many schemas the
actors have made.
"""

from __future__ import annotations

import json
import sys

from reclock.algebra.timestamps import MAXIMUM, system_clock
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.implementations import open_log
from reclock.catalog.objects import Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.config import Settings
from reclock.consensus.database.store import Consensus
from reclock.oracle.oracle import ConsensusOracle

implementation, url, home, target = sys.argv[1:]
consensus = Consensus.connect(url)
oracle = ConsensusOracle(consensus, system_clock, max_clock_jump_ms=MAXIMUM)


def joined() -> DurableCatalog:
    log = open_log(implementation, "tests", Settings.load(home), consensus)
    state = DurableCatalog(log, oracle=oracle, clock=system_clock, deploy_generation=0)
    state.join()
    return state


def count(snapshot: CatalogSnapshot) -> int:
    counter = snapshot.get(Kind.SETTING, "counter")
    made = sum(schema.name.startswith("actor") for schema in snapshot.schemas.values())
    assert made == (int(counter.value) if counter else 0)
    return made


state, follower = joined(), joined()
print("ready", flush=True)
sys.stdin.readline()

compactions = deleted = 0
while count(state.sync()) < int(target):
    deleted += state.compact(state.upper)
    compactions += 1
    count(joined().snapshot())
    if compactions % 3 == 0:
        count(follower.sync())
print(json.dumps({"compactions": compactions, "deleted": deleted}))
