"""Converts or mends a catalog, and dies on the way where RECLOCK_CRASH_AT says: URL, home, then stash, persist or mend."""

from __future__ import annotations

import sys
from typing import cast

from reclock.algebra.timestamps import system_clock
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.convert import convert_catalog
from reclock.catalog.implementations import Implementation, find_mark, open_log
from reclock.catalog.mend import Edit
from reclock.config import Settings
from reclock.consensus.store import Consensus
from reclock.oracle.oracle import ConsensusOracle

url, home, operation = sys.argv[1:]
settings, consensus = Settings.load(home), Consensus.connect(url)
oracle, now = ConsensusOracle(consensus, system_clock), system_clock()
if operation == "mend":
    mark = find_mark(settings, consensus, may_make=False)
    log = open_log(mark.catalog, mark.id, settings, consensus)
    state = DurableCatalog(log, oracle=oracle, clock=system_clock, deploy_generation=0)
    state.mend(Edit("setting", '{"name":"a"}', '{"value":"b"}'), user="ada", occurred_at=now)
else:
    convert_catalog(cast(Implementation, operation), settings, consensus, oracle=oracle, user="ada", occurred_at=now)
