"""The ingestion is stopped at every named point between two durable steps and started again. The
mapping is the one an undisturbed run makes, every byte is there exactly once, and nothing could be
seen early.

Most stops are made within one process, by an exception that nothing handles: the next driver, with
stores opened anew, finds what was durable. Every point is done again with a process that is really
killed; one of them has staged on Spark.
"""

import os
import sys

import pytest
from crashes.upstreams import (
    Auction,
    Channel,
    ParquetFiles,
    Resharded,
    Transfers,
    Upserts,
    Upstream,
    check,
    fill,
)
from fixtures.forks import die_at
from fixtures.objects import EVENTS, World, no_spark
from fixtures.spark import archived_classes

from reclock import failpoints
from reclock.errors import DecodeFailed, InvalidOption
from reclock.ingest import payload
from reclock.ingest.report import IngestState

STEP_POINTS = [
    "ingest.after_probe",
    "ingest.after_claim",
    "ingest.after_claimed",
    "ingest.after_bind",
    "ingest.after_bound",
    "ingest.after_stage",
    "ingest.after_staged",
    "ingest.before_commit",
    "ingest.after_commit",
    "ingest.after_publish",
    "after_audit",  # of this test alone: between the audit and the publication
]
COMMIT_POINTS = [
    "collections.append.before_write",
    "collections.append.before_commit",
    "collections.append.after_commit",
    "collections.commit.landed",
]
"""Reached at each of the three commits of a step: the bindings, the rows, the evidence."""


class Killed(BaseException):
    """The process is gone."""


def stop_at(monkeypatch, point, occurrence):
    ahead = [point] * occurrence

    def reach(name):
        if name == point and ahead:
            ahead.pop()
            if not ahead:
                raise Killed(name)

    monkeypatch.setattr("reclock.failpoints.on_reach", reach)


def run_until_killed(world, at, owner, source=EVENTS):
    """A tick; whether it was stopped."""
    try:
        world.ingest(at, source, owner)
        world.audit(source, owner)
        if failpoints.on_reach is not None:
            failpoints.on_reach("after_audit")
        world.publish(at, owner=owner)
    except Killed:
        return True
    return False


SERVICES = {Upserts: "kafka", Transfers: "kafka", Resharded: "kinesis", Channel: "pubnub_service"}


@pytest.fixture
def upstream(request):
    service = SERVICES.get(request.param)
    return request.param(request.getfixturevalue(service)) if service else request.param()


COMMITS = {Upstream: 2, Auction: 1, Upserts: 2}
"""How often bindings and evidence are appended in a step."""

STOPS = [
    (upstream, *stop)
    for upstream, appends in COMMITS.items()
    for stop in [
        *((point, 1) for point in STEP_POINTS),
        *((point, nth) for point in COMMIT_POINTS[:-1] for nth in range(1, appends + 1)),
        *((COMMIT_POINTS[-1], nth) for nth in (1, 2, 3)),
    ]
] + [(ParquetFiles, point, 1) for point in (*STEP_POINTS, *COMMIT_POINTS)]
STOPS += [(Resharded, point, 1) for point in (*STEP_POINTS, "collections.commit.landed")]
STOPS += [(Channel, point, 1) for point in ("ingest.after_read_once", *STEP_POINTS[1:])]
STOPS += [
    (Transfers, point, nth)
    for point, nth in (
        ("ingest.after_claimed", 1),
        ("ingest.after_bind", 1),
        ("ingest.after_staged", 1),
        (COMMIT_POINTS[-1], 2),
    )
]


@pytest.mark.parametrize(("upstream", "point", "occurrence"), STOPS, indirect=["upstream"])
def test_a_stop_at_any_point_changes_nothing_of_the_outcome(
    tmp_path, monkeypatch, upstream, point, occurrence
):
    def restart():
        return World(tmp_path, no_spark, (upstream.source,), now=upstream.clock)

    world = restart()
    upstream.fill(world)
    stop_at(monkeypatch, point, occurrence)
    assert run_until_killed(world, 20, "first", upstream.source), f"{point} was never reached"
    monkeypatch.undo()
    seen = {
        row[-1] for output in upstream.outputs for row in world.visible(upstream.source, output)
    }
    assert seen <= ({10, 20} if point == "ingest.after_publish" else {10})
    world.close()

    restarted = restart()
    lease_runs_out(restarted)
    restarted.tick(30, owner="second")
    restarted.tick(40, owner="second")
    upstream.check(restarted, 30 if point == "ingest.after_probe" else 20)
    assert restarted.frontiers.get("u4").claim is None
    restarted.close()


REREAD_STOPS = [
    ("ingest.after_reread", 1),
    ("collections.correct.before_commit", 1),
    ("collections.commit.landed", 1),
    *((point, 1) for point in STEP_POINTS[STEP_POINTS.index("ingest.after_bind") :]),
]


@pytest.mark.parametrize(("point", "occurrence"), REREAD_STOPS)
def test_a_stop_while_a_corrected_object_is_bound_anew_changes_nothing(
    tmp_path, monkeypatch, point, occurrence
):
    world = World(tmp_path, no_spark)
    world.write("a.csv", "1,x\nbad,y\n")
    world.write("b.csv", "7,u\n")
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    world.write("a.csv", "1,x\n2,y\n3,z\n", mode="w")
    world.frontiers.decide("u4", payload.retry)
    stop_at(monkeypatch, point, occurrence)
    assert run_until_killed(world, 20, "first"), f"{point} was never reached"
    monkeypatch.undo()
    world.close()

    restarted = World(tmp_path, no_spark)
    lease_runs_out(restarted)
    restarted.tick(30, owner="second")
    assert restarted.visible() == [(1, "x", 10), (2, "y", 10), (3, "z", 10), (7, "u", 10)]
    assert restarted.mapping() == [("a.csv", 10, 12), ("b.csv", 10, 4)]
    assert restarted.ingest(40).state is IngestState.IDLE
    restarted.close()


def test_a_decision_comes_too_late_once_one_of_several_outputs_has_its_rows(tmp_path, monkeypatch):
    """Staging again under another decision would leave the others without theirs."""
    auction = Auction()
    world = World(tmp_path, no_spark, (auction.source,))
    auction.fill(world)
    world.ingest(20, auction.source)
    world.audit(auction.source)
    stop_at(monkeypatch, "collections.commit.landed", 1)
    with pytest.raises(Killed):
        world.publish(20)
    monkeypatch.undo()
    for decision in (payload.retry, lambda standing: payload.skip(standing, [("", 2, 3)])):
        with pytest.raises(InvalidOption, match="being committed"):
            world.frontiers.decide("u4", decision)
    world.tick(30)
    auction.check(world, 20)
    world.close()


def test_a_second_stop_during_recovery_changes_nothing_either(tmp_path, monkeypatch):
    """Each try gets one point further and is stopped there."""
    world = World(tmp_path, no_spark)
    fill(world)
    in_order = [point for point in STEP_POINTS if point != "after_audit"]
    for number, point in enumerate(in_order):
        stop_at(monkeypatch, point, 1)
        at = 20 + number
        run_until_killed(world, at, "same owner")
        monkeypatch.undo()
        world.close()
        world = World(tmp_path, no_spark)
        expected_times = {10} if point != "ingest.after_publish" else {10, 21}
        assert {row[2] for row in world.visible()} == expected_times
    world.tick(100, owner="same owner")
    check(world, 21)
    world.close()


def tick_in_process(home, at, source=EVENTS):
    """One tick in a process of its own."""
    World(home, no_spark, (source,), lease_ms=200).tick(at, owner=f"process {at}")


def tick_on_spark(home, at):
    """One tick in a process of its own that stages on Spark, which ends with its standard input."""

    def spark():
        from pyspark.sql import SparkSession

        os.environ.update(archived_classes(), PYSPARK_PYTHON=sys.executable)
        builder = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "512m")
        )
        return (
            builder.config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .getOrCreate()
        )

    World(home, spark, lease_ms=200, staging_threshold_bytes=0).tick(at, owner=f"process {at}")


def lease_runs_out(world):
    claim = world.frontiers.get("u4").claim
    if claim is not None:
        world.frontiers.amend("u4", claim, claim.payload, lease_ms=0)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("killed_at", [tuple(STEP_POINTS[:-1])], ids=["each"])
def test_processes_that_are_killed_leave_nothing_half_done(tmp_path, killed_at):
    """One after another dies a step further. The last one finishes."""
    world = World(tmp_path, no_spark)
    fill(world)
    for number, point in enumerate(killed_at):
        die_at(point, tick_in_process, tmp_path, 20 + number)
        assert {row[2] for row in world.visible()} == (
            {10, 21} if point == "ingest.after_publish" else {10}
        )
        lease_runs_out(world)
    world.tick(50, owner="survivor")
    check(world, 21)
    world.close()


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_what_a_killed_process_staged_on_spark_is_staged_again(tmp_path):
    world = World(tmp_path, no_spark)
    fill(world)
    die_at("ingest.after_stage", tick_on_spark, tmp_path, 20)
    lease_runs_out(world)
    world.tick(30, owner="survivor")
    check(world, 20)
    world.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "killed_at", [("ingest.after_reread", "collections.correct.before_commit")], ids=["each"]
)
def test_processes_that_are_killed_while_they_bind_a_corrected_object_anew_change_nothing(
    tmp_path, killed_at
):
    world = World(tmp_path, no_spark)
    world.write("a.csv", "1,x\nbad,y\n")
    with pytest.raises(DecodeFailed):
        world.ingest(10)
    world.write("a.csv", "1,x\n2,y\n", mode="w")
    world.frontiers.decide("u4", payload.retry)
    for number, point in enumerate(killed_at):
        lease_runs_out(world)
        die_at(point, tick_in_process, tmp_path, 20 + number)
        assert world.visible() == []
    lease_runs_out(world)
    world.tick(30, owner="survivor")
    assert (world.visible(), world.mapping()) == ([(1, "x", 10), (2, "y", 10)], [("a.csv", 10, 8)])
    world.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("killed_at", ["ingest.after_read_once"])
def test_what_a_killed_process_heard_is_heard_again(tmp_path, pubnub_service, killed_at):
    upstream = Channel(pubnub_service)
    world = World(tmp_path, no_spark, (upstream.source,))
    upstream.fill(world)
    die_at(killed_at, tick_in_process, tmp_path, 20, upstream.source)
    lease_runs_out(world)
    world.tick(30, owner="survivor")
    upstream.check(world, 20)
    world.close()
