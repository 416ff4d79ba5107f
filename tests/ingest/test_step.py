"""One ingestion step after another: each byte once, at one time, and nothing visible before it is
published."""

import re
import threading
from functools import partial

import pytest
from fixtures.objects import BUCKET, EVENTS, World, no_spark

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.formats import CsvFormat, JsonFormat
from reclock.definitions.sources import ObjectsConnector, SourceSpec
from reclock.errors import (
    AuditFailed,
    ClaimConflict,
    DecodeFailed,
    InvalidOption,
    UpperMismatch,
    UpstreamChanged,
    UpstreamUnavailable,
)
from reclock.ingest import payload
from reclock.ingest.audit import conclude_audit, open_audit
from reclock.ingest.payload import Phase, Step
from reclock.ingest.report import IngestState


def decide(world, change, *arguments, source=EVENTS):
    return world.frontiers.decide(source.id, lambda found: change(found, *arguments))


def test_each_tick_reclocks_what_is_new_at_its_own_time(world):
    world.write("a.csv", "1,x\n2,y\n3,")
    world.write("d/b.csv", "7,q\n")
    world.tick(10)
    world.write("a.csv", "z\n")
    world.write("c.csv", "8,r\n")
    world.tick(20)
    assert world.visible() == [(1, "x", 10), (2, "y", 10), (3, "z", 20), (7, "q", 10), (8, "r", 20)]
    assert world.mapping() == [
        ("a.csv", 10, 8),
        ("a.csv", 20, 4),
        ("c.csv", 20, 4),
        ("d/b.csv", 10, 4),
    ]
    assert world.frontiers.get("u4").upper == 21


def test_nothing_is_visible_and_nothing_moves_before_publishing(world):
    world.write("a.csv", "1,x\n")
    report = world.ingest(10)
    assert (report.state, report.rows, report.size, report.bindings) == (
        IngestState.STAGED,
        1,
        4,
        (("a.csv", 4),),
    )
    assert world.publish(10).waiting == (EVENTS.name,)
    assert world.visible() == []
    assert world.source_collections().outputs[""].pin().files(upper=Timestamp(99)) == []
    world.audit()
    assert world.visible() == []
    assert list(world.publish(10).steps) == [EVENTS.name]
    assert world.visible() == [(1, "x", 10)]


def test_a_tick_with_nothing_new_writes_nothing_and_wants_no_spark(world):
    world.write("a.csv", "1,x\n2")
    world.tick(10)
    world.spark = no_spark
    collections = world.source_collections()
    before = (
        [
            c.pin().number
            for c in (collections.outputs[""], collections.remap, collections.evidence)
        ],
        world.frontiers.get("u4"),
    )
    assert world.ingest(20).state is IngestState.IDLE
    assert world.audit() is None
    assert not world.publish(20).steps
    assert (
        [
            c.pin().number
            for c in (collections.outputs[""], collections.remap, collections.evidence)
        ],
        world.frontiers.get("u4"),
    ) == before


def test_a_restored_object_is_verified_once_and_not_read_into_rows_again(world):
    world.write("a.csv", "1,x\n")
    world.tick(10)
    world.path("a.csv").unlink()
    world.write("a.csv", "1,x\n")
    world.spark = no_spark
    world.tick(20)
    assert world.visible() == [(1, "x", 10)]
    assert world.mapping() == [("a.csv", 10, 4)]
    assert world.ingest(30).state is IngestState.IDLE


def test_the_header_is_bound_but_yields_no_row_and_orders_the_fields(tmp_path):
    source = SourceSpec(
        GlobalId("u5"), "headed", ObjectsConnector(BUCKET, "*.csv"), CsvFormat(), EVENTS.desc
    )
    world = World(tmp_path, no_spark, (source,))
    world.write("a.csv", "word,number\n")
    world.tick(10)
    world.write("a.csv", "x,1\n")
    world.write("b.csv", "number,word\n2,y\n")
    world.tick(20)
    assert world.visible(source) == [(1, "x", 20), (2, "y", 20)]
    assert world.mapping(source) == [("a.csv", 10, 12), ("a.csv", 20, 4), ("b.csv", 20, 16)]
    world.close()


def test_many_splits_are_read_by_many_tasks(world, monkeypatch):
    monkeypatch.setattr("reclock.connectors.objects.scan.SPLIT_BYTES", 400)
    monkeypatch.setattr("reclock.connectors.objects.object_store.CHUNK_BYTES", 100)
    rows = [(i, f"line\n{i}" if i % 3 else None) for i in range(200)]
    for name in ("a", "b"):
        world.write(f"{name}.csv", "".join(f'{n},"{w}"\n' if w else f"{n},\n" for n, w in rows))
    world.ingest(10)
    assert len(world.payload()["staged"]["files"][""]) > 4
    world.audit()
    world.publish(10)
    assert sorted(world.visible(), key=lambda row: row[0]) == [
        (n, w, 10) for n, w in rows for _ in range(2)
    ]


def test_one_source_stalls_and_the_others_go_on(tmp_path):
    other = SourceSpec(
        GlobalId("u6"), "other", ObjectsConnector(BUCKET, "*.json"), JsonFormat(), EVENTS.desc
    )
    missing_source = SourceSpec(
        GlobalId("u7"), "gone", ObjectsConnector("nowhere", "*"), JsonFormat(), EVENTS.desc
    )
    world = World(tmp_path, no_spark, (EVENTS, other, missing_source))
    world.write("a.csv", "1,x\nbad,y\n")
    world.write("a.json", '{"number":5}\n')
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    with pytest.raises(UpstreamUnavailable, match="nowhere"):
        world.ingest(10, missing_source)
    assert world.ingest(10, other).state is IngestState.STAGED
    world.audit(other)
    published = world.publish(10)
    assert list(published.steps) == ["other"]
    assert set(published.waiting) == {EVENTS.name, "gone"}
    assert world.visible(other) == [(5, None, 10)]
    assert world.visible() == []
    assert world.frontiers.get("u4").upper == world.frontiers.get("u7").upper == 1
    (tmp_path / "buckets" / "nowhere").mkdir()
    assert world.ingest(20, missing_source).state is IngestState.IDLE
    assert world.frontiers.get("u7").claim is None
    world.close()


def test_a_record_that_does_not_decode_stalls_at_its_byte_until_it_is_skipped(world):
    world.write("a.csv", "1,x\nbad,y\n3,z\n")
    for at in (10, 20):
        with pytest.raises(DecodeFailed) as failure:
            world.ingest(at)
        assert (failure.value.partition, failure.value.offset) == ("a.csv", 4)
    assert list((world.home / "lake" / "u4" / "reclocked").glob("_staging/*")) == []
    with pytest.raises(InvalidOption):
        decide(world, payload.skip, [("b.csv", 0, 4)])
    decide(world, payload.skip, [("a.csv", 4, 5)])
    world.tick(30)
    assert world.visible() == [(1, "x", 10), (3, "z", 10)]
    assert world.mapping() == [("a.csv", 10, 14)]


def test_an_object_overwritten_while_it_is_claimed_is_found_out(world, monkeypatch):
    world.write("a.csv", "1,x\n2,y\n")
    reach_and(
        monkeypatch, "ingest.after_bound", lambda: world.write("a.csv", "1,x\n2,Y\n", mode="w")
    )
    with pytest.raises(
        UpstreamChanged, match=r'object "a\.csv" changed under its bytes from 0 to 8'
    ):
        world.ingest(10)
    monkeypatch.undo()
    with pytest.raises(UpstreamChanged):
        world.ingest(20)
    world.write("a.csv", "1,x\n2,y\n", mode="w")
    world.tick(30)
    assert world.visible() == [(1, "x", 10), (2, "y", 10)]


@pytest.mark.parametrize("beside", [True, False], ids=["another stays", "nothing stays"])
def test_an_object_that_vanished_while_it_is_claimed_holds_up_nothing(world, monkeypatch, beside):
    world.write("a.csv", "1,x\n2,y\n")
    if beside:
        world.write("b.csv", "3,z\n")
    vanish = partial(world.path("a.csv").unlink, missing_ok=True)
    reach_and(monkeypatch, "ingest.after_bound", vanish)
    world.tick(10)
    assert world.visible() == [(3, "z", 10)] * beside
    assert world.mapping() == [("b.csv", 10, 4)] * beside
    monkeypatch.undo()
    world.write("a.csv", "1,x\n")
    world.tick(20)
    assert world.visible() == [(1, "x", 20), *[(3, "z", 10)] * beside]


@pytest.mark.parametrize("change", ["shrink", "overwrite"])
def test_an_object_that_changed_after_it_was_published_stalls_until_it_is_set_aside(world, change):
    world.write("a.csv", "1,x\n2,y\n")
    world.tick(10)
    world.write("a.csv", {"shrink": "1,x\n", "overwrite": "1,x\n2,Y\n3,z\n"}[change], mode="w")
    world.write("b.csv", "5,q\n")
    for at in (20, 30):
        with pytest.raises(UpstreamChanged) as failure:
            world.ingest(at)
    assert world.payload()["phase"] == "probing"
    assert world.visible() == [(1, "x", 10), (2, "y", 10)]
    decide(world, payload.skip, [("a.csv", failure.value.offset, failure.value.offset + 1)])
    world.tick(40)
    assert world.visible() == [(1, "x", 10), (2, "y", 10), (5, "q", 20)]
    world.write("a.csv", "1,x\n2,y\n3,z\n4,u\n", mode="w")
    assert world.ingest(50).state is IngestState.IDLE


def test_an_object_restored_after_it_was_published_goes_on_by_itself(world):
    world.write("a.csv", "1,x\n")
    world.tick(10)
    world.write("a.csv", "", mode="w")
    with pytest.raises(UpstreamChanged):
        world.ingest(20)
    world.write("a.csv", "1,x\n2,y\n")
    world.tick(30)
    assert world.visible() == [(1, "x", 10), (2, "y", 20)]


def test_a_failed_audit_blocks_until_its_check_is_waived(world):
    world.write("a.csv", "1,x\n")
    world.ingest(10)
    world.audit(failed=("rows_expected",))
    assert isinstance(world.publish(10).failed[EVENTS.name], AuditFailed)
    assert world.ingest(20).state is IngestState.BLOCKED
    assert world.visible() == []
    with pytest.raises(InvalidOption, match="rows_bound"):
        decide(world, payload.waive, ["rows_bound"])
    decide(world, payload.waive, ["rows_expected"])
    world.write("a.csv", "2,y\n")
    assert world.ingest(30).at == 10  # what was blocked is published, and then a new step begins
    world.publish(30)
    assert world.visible() == [(1, "x", 10)]
    assert world.ingest(40).at == 40


def test_a_failed_audit_is_made_again_after_retry(world):
    world.write("a.csv", "1,x\n2,y\n")
    world.ingest(10)
    first = world.payload()["staging"]
    world.audit(failed=("rows_expected",))
    world.write("a.csv", "1,x\n3,z\n", mode="w")
    decide(world, payload.retry)
    assert world.ingest(20).state is IngestState.STAGED
    assert world.payload()["staging"] != first
    world.audit()
    world.publish(20)
    assert world.visible() == [(1, "x", 10), (3, "z", 10)]


def test_a_step_that_has_passed_its_audit_is_not_read_again(world):
    """A writer may be committing its rows: bindings of something else would not be theirs."""
    world.write("a.csv", "1,x\n")
    world.ingest(10)
    world.audit()
    with pytest.raises(InvalidOption, match="has passed its audit"):
        decide(world, payload.retry)
    world.publish(10)
    assert world.visible() == [(1, "x", 10)]


def test_an_audit_does_not_speak_for_what_was_decided_meanwhile(world):
    world.write("a.csv", "1,x\n2,y\n")
    world.ingest(10)
    case = open_audit(EVENTS, "driver", frontiers=world.frontiers, lake=world.lake)
    assert case is not None
    decide(world, payload.skip, [("a.csv", 0, 1)])
    with pytest.raises(ClaimConflict):
        conclude_audit(case, failed=(), report={})
    world.tick(20)
    assert world.visible() == [(2, "y", 10)]


def test_the_audit_sees_the_bindings_and_the_staged_rows(world):
    world.write("a.csv", "1,x\n2,y\n")
    world.tick(10)
    world.write("a.csv", "3,z\n")
    world.ingest(20)
    slice = open_audit(EVENTS, "driver", frontiers=world.frontiers, lake=world.lake).slice
    assert (slice.source, slice.upper, slice.at) == (EVENTS.name, 11, 20)
    assert (slice.previous, slice.bindings, slice.covered) == (
        {"a.csv": 8},
        [("a.csv", 4)],
        {"a.csv": 4},
    )
    assert (slice.rows, slice.min_time, slice.max_time, slice.null_diffs) == (1, 20, 20, 0)
    [file] = slice.staged_files
    assert file.startswith(str(world.home))
    assert file.endswith(".parquet")


def test_a_time_below_the_published_upper_is_refused(world):
    world.write("a.csv", "1,x\n")
    world.frontiers.advance_idle(["u4"], Timestamp(50))
    with pytest.raises(UpperMismatch):
        world.ingest(10)
    world.tick(50)
    assert world.visible() == [(1, "x", 50)]


def test_another_writers_lease_is_respected_and_then_taken_over(world):
    world.write("a.csv", "1,x\n")
    world.ingest(10, owner="first")
    busy = world.ingest(20, owner="second")
    assert busy.state is IngestState.BUSY
    assert re.fullmatch(r"claimed by first, \d+ s left", busy.claimed_by)
    assert open_audit(EVENTS, "second", frontiers=world.frontiers, lake=world.lake) is None
    assert world.publish(20, owner="second").waiting == (EVENTS.name,)
    claim = world.frontiers.get("u4").claim
    world.frontiers.amend("u4", claim, claim.payload, lease_ms=0)
    assert world.ingest(20, owner="second").at == 10


def test_a_step_that_was_probed_before_another_was_published_is_probed_again(world, monkeypatch):
    """The second writer looked at the upstream before the first one's step was published, and
    claims after."""
    world.write("a.csv", "1,x\n")
    first = World(world.home, world.spark)

    def whole_tick_of_the_first():
        monkeypatch.undo()
        first.tick(10, owner="first")

    reach_and(monkeypatch, "ingest.after_probe", whole_tick_of_the_first)
    assert world.ingest(20, owner="second").state is IngestState.IDLE
    world.write("a.csv", "2,y\n")
    world.tick(30, owner="second")
    assert world.visible() == [(1, "x", 10), (2, "y", 30)]
    first.close()


def test_a_decision_that_comes_while_the_rows_are_being_committed_loses_to_the_commit(
    world, monkeypatch
):
    """The first writer stands right before its commit; what it is committing must not be taken
    away, nor made twice."""
    world.write("a.csv", "1,x\n2,y\n")
    world.ingest(10, owner="first")
    world.audit(owner="first")

    def decided_and_staged_again():
        monkeypatch.undo()
        decide(world, payload.skip, [("a.csv", 0, 1)])
        claim = world.frontiers.get("u4").claim
        world.frontiers.amend("u4", claim, claim.payload, lease_ms=0)
        assert world.ingest(20, owner="second").rows == 1

    reach_and(monkeypatch, "ingest.before_commit", decided_and_staged_again)
    assert world.publish(10, owner="first").waiting == (EVENTS.name,)
    assert world.visible() == []
    assert world.ingest(30, owner="second").state is IngestState.STAGED
    world.publish(30, owner="second")
    assert world.visible() == [(1, "x", 10), (2, "y", 10)]
    assert world.frontiers.get("u4").claim is None


def test_two_drivers_at_once_make_no_duplicate_and_no_deadlock(world):
    drivers = [World(world.home, no_spark, lease_ms=2_000) for _ in range(2)]
    errors = []

    def drive(number):
        try:
            for round in range(4):
                at = 100 * round + 10 + number
                world.write(f"{number}.csv", f"{at},w\n")
                try:
                    drivers[number].tick(at, owner=f"driver {number}")
                except (UpperMismatch, ClaimConflict):
                    continue
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=drive, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert not errors
    claim = world.frontiers.get("u4").claim
    if claim is not None:
        world.frontiers.amend("u4", claim, claim.payload, lease_ms=0)
    for at in (1000, 1010):
        world.tick(at, owner="the last")
    assert sorted(row[0] for row in world.visible()) == sorted(
        100 * round + 10 + n for round in range(4) for n in range(2)
    )
    assert sum(increment for _, _, increment in world.mapping()) == sum(
        world.path(f"{n}.csv").stat().st_size for n in range(2)
    )
    for driver in drivers:
        driver.close()


def test_a_claim_says_all_that_is_needed_to_go_on(world):
    world.write("a.csv", "1,x\nbad,y\n")
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    decide(world, payload.skip, [("a.csv", 4, 5)])
    world.ingest(20)
    stored = world.payload()
    step = Step.from_payload(stored)
    assert step.to_payload() == stored
    assert step.phase is Phase.STAGED
    assert {
        "kind": "ingest",
        "source": "u4",
        "at": 10,
        "bindings": [["a.csv", 10]],
    }.items() <= stored.items()
    assert stored["decisions"] == {
        "waive": [],
        "skip": [["a.csv", 4, 5]],
        "reread": False,
        "resnapshot": False,
    }


def reach_and(monkeypatch, point, act):
    """Have ``act`` happen the moment the step is at ``point``."""
    monkeypatch.setattr(
        "reclock.failpoints.on_reach", lambda name: act() if name == point else None
    )


def test_a_step_that_a_check_blocks_is_audited_again_only_after_a_decision(world):
    world.write("a.csv", "1,x\n")
    world.ingest(10)
    world.audit(failed=("rows_expected", "rows_bound"))
    assert world.ingest(20).state is IngestState.BLOCKED
    assert open_audit(EVENTS, "driver", frontiers=world.frontiers, lake=world.lake) is None
    decide(world, payload.waive, ["rows_bound"])
    assert open_audit(EVENTS, "driver", frontiers=world.frontiers, lake=world.lake) is None
    decide(world, payload.waive, ["rows_expected"])
    assert open_audit(EVENTS, "driver", frontiers=world.frontiers, lake=world.lake) is not None
