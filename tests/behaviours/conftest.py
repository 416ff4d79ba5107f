"""A place that holds one catalog, for every implementation, and states of that catalog on demand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from reclock.algebra.timestamps import CATALOG, EPOCH_MS, MINIMUM, Timestamp
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.encoding import canonical, difference
from reclock.catalog.log import CatalogLog
from reclock.catalog.stash import StashLog, init_stash_catalog_state
from reclock.consensus.fence import Leadership
from reclock.consensus.store import Consensus
from reclock.oracle.oracle import ConsensusOracle

SAMPLES = Path(__file__).parents[2] / "catalog_migrations"


class HandClock:
    """A clock that tests turn, in either direction."""

    def __init__(self) -> None:
        self.at = 1_649_686_080_000

    def __call__(self) -> Timestamp:
        return Timestamp(self.at)


class CatalogPlace(Protocol):
    """One catalog's store. Every ``state`` of it is an actor of its own."""

    clock: HandClock
    oracle: ConsensusOracle

    def state(self, deploy_generation: int = 0) -> DurableCatalogState: ...

    def log(self) -> CatalogLog: ...


class StashPlace:
    def __init__(self, url: str) -> None:
        self.clock = HandClock()
        self._consensus = Consensus.connect(url)
        self.oracle = ConsensusOracle(self._consensus, self.clock)
        self.oracle.open_timeline(CATALOG, MINIMUM)
        self.oracle.open_timeline(EPOCH_MS, MINIMUM)

    def state(self, deploy_generation: int = 0) -> DurableCatalogState:
        return init_stash_catalog_state(
            self._consensus, oracle=self.oracle, clock=self.clock, deploy_generation=deploy_generation
        )

    def log(self) -> CatalogLog:
        return StashLog(self._consensus)

    def close(self) -> None:
        self._consensus.close()


@pytest.fixture(params=["stash"])
def place(request: pytest.FixtureRequest, consensus_url: str) -> Iterator[CatalogPlace]:
    """Empty; each implementation, on each database."""
    made = {"stash": StashPlace}[request.param](consensus_url)
    yield made
    made.close()


def install(place: CatalogPlace, rows: Mapping[tuple[str, str], str]) -> None:
    """Write these stored objects into the empty place as they are, whether they make a catalog or not."""
    epoch, generation = (
        json.loads(rows.get(("config", canonical({"key": key})), '{"value":0}')).get("value", 0)
        for key in ("epoch", "deploy_generation")
    )
    place.log().lead(MINIMUM, Timestamp(1), difference({}, rows, MINIMUM), Leadership(epoch, generation))


def sample(version: int) -> dict[tuple[str, str], str]:
    """The frozen catalog of a version, as stored objects."""
    objects: list[dict[str, Any]] = json.loads((SAMPLES / f"v{version:04}_sample.json").read_text())
    return {(thing["kind"], canonical(thing["key"])): canonical(thing["value"]) for thing in objects}
