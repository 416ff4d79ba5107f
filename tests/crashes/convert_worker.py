"""A catalog converted or mended, on the way of which a process dies."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from reclock.algebra.timestamps import MAXIMUM, system_clock
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.convert import convert_catalog
from reclock.catalog.implementations import Implementation, find_mark, open_log
from reclock.catalog.mend import Edit
from reclock.config import Settings
from reclock.consensus.database.store import Consensus
from reclock.oracle.oracle import ConsensusOracle


def work(url: str, home: Path, operation: str) -> None:
    """``operation`` is ``mend``, or the implementation to convert to."""
    settings, consensus = Settings.load(home), Consensus.connect(url)
    oracle = ConsensusOracle(consensus, system_clock, max_clock_jump_ms=MAXIMUM)
    now = system_clock()
    if operation == "mend":
        mark = find_mark(settings, consensus, may_make=False)
        log = open_log(mark.catalog, mark.id, settings, consensus)
        state = DurableCatalog(log, oracle=oracle, clock=system_clock, deploy_generation=0)
        state.mend(Edit("setting", '{"name":"a"}', '{"value":"b"}'), user="ada", occurred_at=now)
    else:
        convert_catalog(
            cast(Implementation, operation),
            settings,
            consensus,
            oracle=oracle,
            user="ada",
            occurred_at=now,
        )
