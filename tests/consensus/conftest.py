"""An empty consensus on each database, led by epoch 1, with a clock that tests turn by hand."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from fixtures.sent_statements import sent_statements

from reclock.algebra.timestamps import Timestamp
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.groups import Frontiers
from reclock.consensus.frontiers.holds import ReadHolds
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership

LEADERSHIP = Leadership(epoch=1, deploy_generation=0)


@dataclass
class HandClock:
    at: Timestamp

    def __call__(self) -> Timestamp:
        return self.at

    def advance(self, by_ms: int) -> None:
        self.at = Timestamp(self.at + by_ms)


@pytest.fixture
def clock() -> HandClock:
    return HandClock(Timestamp(1_000_000))


@pytest.fixture
def consensus(consensus_url: str, clock: HandClock) -> Iterator[Consensus]:
    opened = Consensus.connect(consensus_url, clock=clock)
    opened.transact(lambda connection: fence.advance(connection, LEADERSHIP))
    yield opened
    opened.close()


@pytest.fixture
def leadership() -> Leadership:
    return LEADERSHIP


@pytest.fixture
def frontiers(consensus: Consensus) -> Frontiers:
    return Frontiers(consensus, LEADERSHIP)


@pytest.fixture
def holds(consensus: Consensus) -> ReadHolds:
    return ReadHolds(consensus, LEADERSHIP)


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Every statement sent to any database from here on."""
    with sent_statements() as sent:
        yield sent
