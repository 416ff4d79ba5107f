"""Several processes change one catalog at once: the history is serial, nothing is lost, nothing happens twice."""

from __future__ import annotations

from pathlib import Path

from fixtures.workers import run_at_once

from reclock.algebra.timestamps import CATALOG, MINIMUM, system_clock
from reclock.catalog.objects import Setting
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.catalog.stash import init_stash_catalog_state
from reclock.consensus.store import Consensus
from reclock.oracle.oracle import ConsensusOracle

ACTORS, COMMITS = 3, 20


def test_racing_actors_make_one_serial_history(consensus_url: str) -> None:
    consensus = Consensus.connect(consensus_url)
    oracle = ConsensusOracle(consensus, system_clock)
    oracle.open_timeline(CATALOG, MINIMUM)
    state = init_stash_catalog_state(consensus, oracle=oracle, clock=system_clock, deploy_generation=0)
    state.open()
    start = state.upper
    names = [f"actor{number}" for number in range(ACTORS)]

    run_at_once(Path(__file__).parent / "actor_worker.py", [(consensus_url, name, str(COMMITS)) for name in names])

    made = [f"{name}_{index}" for name in names for index in range(COMMITS)]
    snapshot = state.sync()
    assert {schema.name for schema in snapshot.schemas.values() if schema.name.startswith("actor")} == set(made)
    assert state.get_settings() == [Setting("counter", str(len(made)))]
    assert [event.id for event in state.get_audit_logs()] == list(range(1, len(made) + 1))
    assert sorted(event.object_name for event in state.get_audit_logs()) == sorted(made)

    batch = state.subscribe_at(MINIMUM)
    batch.poll()
    history = batch.poll()
    assert history is not None
    counts = [c.object.value for c in history.changes if isinstance(c.object, Setting) and c.diff > 0 and c.ts >= start]
    assert counts == [str(number) for number in range(1, len(made) + 1)]
    assert CatalogSnapshot.empty().apply(history.changes, history.upper) == snapshot.at(snapshot.upper)
    assert oracle.read_ts(CATALOG) == state.upper
    consensus.close()
