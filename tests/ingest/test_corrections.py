"""An object that stalled its source and is written anew: what is read of it after RETRY, and at
which time."""

import pytest
from fixtures.objects import EVENTS

from reclock.algebra.timestamps import Timestamp
from reclock.errors import ClaimConflict, DecodeFailed
from reclock.ingest import payload
from reclock.ingest.payload import Step
from reclock.ingest.report import IngestState
from reclock.reclocking.mint import Binding


def decide(world, change, *arguments):
    return world.frontiers.decide(EVENTS.id, lambda found: change(found, *arguments))


CORRECTIONS = {
    "same length": "1,x\n002,y\n3,z\n",
    "longer": "1,x\n2,yy\n3,z\n4,q\n",
    "shorter": "1,x\n3,z\n",
    "open end": "1,x\n2,y\n3",
}


@pytest.mark.parametrize("corrected", CORRECTIONS.values(), ids=CORRECTIONS)
def test_a_stalled_object_is_read_after_a_correction_of_any_length_and_retry(world, corrected):
    world.write("a.csv", "1,x\nbad,y\n3,z\n")
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    world.write("a.csv", corrected, mode="w")
    with pytest.raises(DecodeFailed):  # only a decision makes it read the object again
        world.ingest(20)
    decide(world, payload.retry)
    world.tick(30)
    whole = corrected[: corrected.rindex("\n") + 1]
    rows = [tuple(line.split(",")) for line in whole.split()]
    assert world.visible() == [(int(number), word, 10) for number, word in rows]
    assert world.mapping() == [("a.csv", 10, len(whole))]
    assert world.ingest(40).state is IngestState.IDLE
    world.write("a.csv", "0,w\n")
    world.tick(50)
    assert [row for row in world.visible() if row[2] == 50] == [
        (30 if whole != corrected else 0, "w", 50)
    ]


def test_a_stalled_object_that_is_deleted_leaves_nothing_after_retry(world):
    world.write("a.csv", "bad,y\n")
    world.write("b.csv", "1,x\n")
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    world.path("a.csv").unlink()
    decide(world, payload.retry)
    world.tick(20)
    assert world.visible() == [(1, "x", 10)]
    assert world.mapping() == [("b.csv", 10, 4)]
    world.write("a.csv", "7,new\n")
    world.tick(30)
    assert world.visible() == [(1, "x", 10), (7, "new", 30)]


def test_a_step_of_which_nothing_is_left_is_published_empty(world):
    world.write("a.csv", "bad,y\n")
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    world.path("a.csv").unlink()
    decide(world, payload.retry)
    world.tick(20)
    assert (world.visible(), world.mapping()) == ([], [])
    assert world.frontiers.get("u4").claim is None
    assert world.ingest(30).state is IngestState.IDLE


def test_a_correction_forgets_what_was_skipped_of_the_bytes_before_it(world):
    world.write("a.csv", "bad,x\nbad,y\n3,z\n")
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    decide(world, payload.skip, [("a.csv", 0, 6)])
    with pytest.raises(DecodeFailed):
        world.ingest(20)
    world.write("a.csv", "1,x\n2,y\n3,z\n", mode="w")
    decide(world, payload.retry)
    world.tick(30)
    assert world.visible() == [(1, "x", 10), (2, "y", 10), (3, "z", 10)]
    assert not world.skipped
    world.rebuild(skips=world.skipped)
    assert world.visible() == [(1, "x", 10), (2, "y", 10), (3, "z", 10)]


def test_a_writer_that_lost_its_claim_cannot_undo_a_correction(world):
    world.write("a.csv", "1,x\nbad,y\n")
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    stalled = Step.from_payload(world.payload())
    world.write("a.csv", "1,x\n2,yy\n3,z\n", mode="w")
    decide(world, payload.retry)
    world.ingest(20)

    def lost() -> None:
        raise ClaimConflict("u4")

    earlier = [Binding(found.partition, stalled.at, found.size) for found in stalled.increments]
    with pytest.raises(ClaimConflict):
        world.source_collections().bind(earlier, stalled.at, check_claim=lost, now=Timestamp(30))
    world.audit()
    world.publish(20)
    assert world.mapping() == [("a.csv", 10, 13)]
    assert world.visible() == [(1, "x", 10), (2, "yy", 10), (3, "z", 10)]
