"""A process that maintains indexes by itself does something only where an input is ahead."""

from __future__ import annotations

import pytest

from reclock.algebra.ids import TABLES, CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.consensus.frontiers.claims import Claim, GroupFrontier
from reclock.controllers.due_indexes import has_due_index
from reclock.plan.relational import Constant, Get, Union
from reclock.protocol.compute import Dataflow

T = Timestamp
DESC = RelationDesc((Column("a", BIGINT),))
SOURCE = Get(StorageCollectionId(GlobalId("u1")), "s", DESC)
TABLE = Get(StorageCollectionId(GlobalId("u2"), CollectionType.TABLE), "t", DESC)
NOW = T(1_000)


def due(plan, read_ts: int, *, claim: Claim | None = None, **uppers: int) -> bool:
    """Whether the index ``u9`` over ``plan`` is due, with these uppers of groups."""
    groups = {TABLES if group == "tables" else group: T(upper) for group, upper in uppers.items()}
    frontiers = {
        group: GroupFrontier(group, T(0), upper, claim if group == "u9" else None)
        for group, upper in groups.items()
    }
    return has_due_index([Dataflow(GlobalId("u9"), "i", plan, DESC)], frontiers, T(read_ts), NOW)


def test_an_index_follows_what_it_reads() -> None:
    assert TABLE.collection.group == TABLES
    assert due(SOURCE, 20, u1=21, u9=11)
    assert not due(SOURCE, 20, u1=21, u9=21)
    assert due(TABLE, 20, tables=21, u9=11)


def test_writes_that_it_does_not_read_do_not_concern_it() -> None:
    assert not due(SOURCE, 30, u1=21, u9=21)
    assert not due(TABLE, 30, tables=21, u9=21)


def test_it_goes_no_further_than_all_its_inputs_and_the_oracle() -> None:
    both = Union((SOURCE, TABLE), DESC)
    assert due(both, 20, u1=21, tables=11, u9=11)  # no table was written up to 20
    assert not due(both, 20, u1=11, tables=21, u9=11)  # the source may still get rows before 20
    assert not due(SOURCE, 10, u1=21, u9=11)  # nobody reads at 20 yet


def test_a_constant_is_computed_once() -> None:
    constant = Constant(((1,),), DESC)
    assert due(constant, 10, u9=10)
    assert not due(constant, 10, u9=11)


@pytest.mark.parametrize(("lease_until", "is_due"), [(1_001, False), (1_000, True)])
def test_a_claim_is_taken_over_once_its_lease_has_ended(lease_until: int, is_due: bool) -> None:
    claim = Claim("c", T(11), "other", T(lease_until), {})
    assert due(SOURCE, 20, u1=21, u9=11, claim=claim) == is_due


def test_what_storage_has_not_created_is_not_due() -> None:
    assert not due(SOURCE, 20, u1=21)
    assert not due(SOURCE, 20, u9=11)
