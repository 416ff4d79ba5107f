"""Every implementation of the durable catalog fences the processes of an older epoch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.catalogs import BUILTINS, NOW, CatalogPlace, create_schema, joined, opened, stored

from reclock.algebra.timestamps import Timestamp
from reclock.catalog.durable import DurableCatalogState
from reclock.catalog.objects import Kind, Schema, SystemConfiguration
from reclock.errors import Fenced


class TestFencing:
    WRITES: tuple[Callable[[DurableCatalogState], object], ...] = (
        lambda state: create_schema(state, "raw"),
        lambda state: state.put([SystemConfiguration("max_tables", "3")]),
        lambda state: state.compare_and_append(state.upper, Timestamp(state.upper + 1), []),
        lambda state: state.confirm_leadership(),
    )

    @pytest.mark.parametrize("write", WRITES)
    @pytest.mark.parametrize("generation", [0, 1])
    @pytest.mark.parametrize("how", [opened, joined])
    def test_after_a_later_open_the_very_next_write_fails_and_leaves_nothing(
        self,
        place: CatalogPlace,
        write: Callable[[DurableCatalogState], object],
        generation: int,
        how: Callable[[CatalogPlace], DurableCatalogState],
    ) -> None:
        opened(place)
        old = how(place)
        newer = opened(place, deploy_generation=generation)
        before = stored(place)
        with pytest.raises(Fenced) as fenced:
            write(old)
        assert fenced.value.in_force == (newer.epoch, generation)
        with pytest.raises(Fenced):
            write(old)
        assert stored(place) == before
        create_schema(newer, "goes_on")

    def test_a_transaction_in_the_making_is_fenced_too(self, place: CatalogPlace) -> None:
        old = opened(place)
        tx = old.transaction()
        tx.insert(Schema(tx.allocate_schema_id(), 1, "half", "u1"))
        newer = opened(place)
        tx.audit("create", "schema", "half", user="reclock", occurred_at=NOW)
        with pytest.raises(Fenced):
            old.commit_transaction(tx)
        assert newer.sync().schema_by_name(1, "half") is None
        assert newer.get_audit_logs() == []

    def test_a_fenced_state_still_reads(self, place: CatalogPlace) -> None:
        old = opened(place)
        create_schema(opened(place), "later")
        assert old.sync().schema_by_name(1, "later") is not None
        assert old.epoch == 2
        with pytest.raises(Fenced):
            create_schema(old, "raw")

    def test_a_lower_deploy_generation_cannot_open_whatever_the_epoch(
        self, place: CatalogPlace
    ) -> None:
        opened(place, deploy_generation=3)
        before = stored(place)
        with pytest.raises(Fenced):
            place.state(deploy_generation=2).open()
        with pytest.raises(Fenced):
            place.state(deploy_generation=2).check_open()
        assert stored(place) == before

    def test_two_that_open_at_once_get_different_epochs(self, place: CatalogPlace) -> None:
        """The second reads the catalog before the first raises the epoch."""
        opened(place)
        first, second = place.state(), place.state()
        read = second._opening.read  # type: ignore[attr-defined]

        def read_then_lose() -> object:
            found = read()
            if first.epoch is None:
                first.open()
            return found

        second._opening.read = read_then_lose  # type: ignore[attr-defined]
        second.open()
        assert (first.epoch, second.epoch) == (3, 4)
        with pytest.raises(Fenced):
            first.confirm_leadership()

    def test_an_actor_that_joins_between_epoch_and_contents_does_not_spoil_opening(
        self, place: CatalogPlace
    ) -> None:
        opened(place)
        opening = place.state()
        lead = opening._opening.lead  # type: ignore[attr-defined]

        def lead_then_wait(builtins: object) -> object:
            led = lead(builtins)
            create_schema(joined(place), "between")
            return led

        opening._opening.lead = lead_then_wait  # type: ignore[attr-defined]
        opening.open(BUILTINS)
        assert opening.snapshot().schema_by_name(1, "between") is not None
        assert len(opening.snapshot().sorted(Kind.SYSTEM_OBJECT_MAPPING)) == 2
