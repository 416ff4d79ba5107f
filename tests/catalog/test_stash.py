"""What the stash promises beyond the protocol: an append whose outcome was unknown happens once; a
torn table is noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fixtures.catalogs import CatalogPlace, create_schema, opened

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.durable import DurableCatalogState
from reclock.consensus.database.store import Consensus
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import CatalogCorrupt, ConsensusOutcomeUnknown, Fenced, UpperMismatch


@pytest.fixture
def place(migrated_url: str, tmp_path: Path) -> Iterator[CatalogPlace]:
    made = CatalogPlace("stash", migrated_url, tmp_path)
    yield made
    made.close()


class LostAnswers:
    """A consensus whose connection breaks at one commit, once: after it, before it, or after it and
    then another is faster."""

    def __init__(self, inner: Consensus, when: str, then: Callable[[], object]) -> None:
        self._inner, self._when, self._then = inner, when, then

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def transact(self, work: Callable[[sa.Connection], Any]) -> Any:
        when, self._when = self._when, "never"
        if when == "never":
            return self._inner.transact(work)
        if when == "after":
            self._inner.transact(work)
        self._then()
        raise ConsensusOutcomeUnknown()


def lose_an_answer(
    state: DurableCatalogState, when: str, then: Callable[[], object] = lambda: None
) -> None:
    log = state._log  # type: ignore[attr-defined]
    log._consensus = LostAnswers(log._consensus, when, then)


@pytest.mark.parametrize("when", ["after", "before"])
def test_a_commit_of_unknown_outcome_happens_exactly_once(place: CatalogPlace, when: str) -> None:
    state = opened(place)
    lose_an_answer(state, when)
    create_schema(state, "raw")
    assert [event.object_name for event in state.get_audit_logs()] == ["raw"]
    assert state.sync().schema_by_name(1, "raw") is not None


@pytest.mark.parametrize("when", ["after", "before"])
def test_an_epoch_of_unknown_outcome_is_raised_exactly_once(place: CatalogPlace, when: str) -> None:
    opened(place)
    state = place.state()
    lose_an_answer(state, when)
    state.open()
    assert state.epoch == 3
    create_schema(state, "raw")


def test_a_faster_commit_wins_over_one_that_did_not_happen(place: CatalogPlace) -> None:
    state, other = opened(place), place.state()
    other.join()
    tx = state.transaction()
    tx.allocate_schema_id()
    lose_an_answer(state, "before")
    create_schema(other, "raw")
    with pytest.raises(UpperMismatch):
        state.commit_transaction(tx)


def test_whether_a_commit_happened_may_be_lost_with_the_history(place: CatalogPlace) -> None:
    """Its connection broke, and before anybody looks what it wrote is undone and compacted: it is
    not taken for a lost race."""
    state, other = opened(place), place.state()
    other.join()

    def undone_and_compacted() -> None:
        other.sync()
        tx = other.transaction()
        tx.delete(tx.snapshot.schema_by_name(1, "raw"))  # type: ignore[arg-type]
        other.compact(other.commit_transaction(tx))

    lose_an_answer(state, "after", then=undone_and_compacted)
    with pytest.raises(ConsensusOutcomeUnknown):
        create_schema(state, "raw")
    state.sync()
    create_schema(state, "more")


@pytest.mark.parametrize("when", ["after", "before"])
def test_a_compaction_of_unknown_outcome_is_done(place: CatalogPlace, when: str) -> None:
    state = opened(place)
    create_schema(state, "raw")
    lose_an_answer(state, when)
    assert state.compact(state.upper) > 0
    assert state.since == state.upper
    assert state.compact(state.upper) == 0


def test_updates_beyond_the_upper_are_noticed(place: CatalogPlace) -> None:
    state = opened(place)
    consensus: Consensus = state._log._consensus  # type: ignore[attr-defined]
    consensus.transact(
        lambda connection: connection.execute(sa.text("UPDATE catalog_upper SET upper = upper - 1"))
    )
    with pytest.raises(CatalogCorrupt, match="update"):
        place.state().check_open()


def test_a_catalog_whose_upper_went_back_is_not_followed(place: CatalogPlace) -> None:
    state = opened(place)
    consensus: Consensus = state._log._consensus  # type: ignore[attr-defined]
    consensus.transact(
        lambda connection: connection.execute(sa.text("UPDATE catalog_upper SET upper = upper - 1"))
    )
    with pytest.raises(Exception, match="went back"):
        state.sync()


def test_the_fence_of_consensus_follows_the_epoch(place: CatalogPlace) -> None:
    state = opened(place, deploy_generation=2)
    consensus: Consensus = state._log._consensus  # type: ignore[attr-defined]
    assert consensus.read(fence.current) == state.leadership == Leadership(2, 2)
    with pytest.raises(Fenced):
        place.log().lead(state.upper, Timestamp(state.upper + 1), [], Leadership(2, 2))
    with pytest.raises(Fenced):
        place.log().lead(state.upper, Timestamp(state.upper + 1), [], Leadership(9, 1))
