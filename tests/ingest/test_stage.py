"""A step is staged in this process or on Spark: the files, the outcome and the errors are the same.
Each upstream can be read by Spark's executors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crashes.upstreams import (
    Auction,
    Channel,
    ParquetFiles,
    Resharded,
    Transfers,
    Upserts,
    Upstream,
)
from fixtures.objects import World, no_spark
from fixtures.publications import Lakehouse
from fixtures.publications import Upstream as Database
from fixtures.waiting import eventually

from reclock.algebra.relations import INTEGER, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.clusters import engine_pool
from reclock.connectors.connector import ChangeCount, Read
from reclock.connectors.objects.connector import Objects
from reclock.errors import DecodeFailed, OutputFailed, SourceError, UpstreamUnavailable
from reclock.ingest.engines import Engines
from reclock.ingest.failures import decode_failure, encode_failure
from reclock.ingest.payload import FailureReason
from reclock.ingest.stage import StagingJob, StagingOutcome
from reclock.runtime.environment import Environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DESC = RelationDesc((Column("n", INTEGER, is_nullable=False),))
Stage = Callable[..., StagingOutcome]


def scripted(tasks: list[list[Any]]) -> Any:
    """A connector whose tasks yield what they are, and raise what is an encoded error. A class of
    this function, which executors get by value."""

    class Scripted:
        def size_bytes(self, task: list[Any]) -> int:
            return 1

        def read(self, task: list[Any]) -> Iterator[Read]:
            for output, item in task:
                if isinstance(item, str):
                    raise decode_failure(item)
                if isinstance(item, ZeroDivisionError):
                    raise item
                yield (
                    output,
                    pa.table({"n": pa.array(item, pa.int32())}) if isinstance(item, list) else item,
                )

    return Scripted()


@pytest.fixture(params=["in this process", pytest.param("on Spark", marks=pytest.mark.spark)])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    """Stage what tasks yield to the outputs "a" and "b", below ``tmp_path``."""
    if request.param == "on Spark":
        session = request.getfixturevalue("spark")
        engines = Engines(lambda: session, no_spark, 0, 0)
    else:
        engines = Engines(no_spark, no_spark, 0, 1 << 20)

    def run(*tasks: list[Any]) -> StagingOutcome:
        targets = {output: str(tmp_path / output) for output in ("a", "b")}
        pieces = [[(Timestamp(7), task)] for task in tasks]
        return StagingJob(
            scripted(list(tasks)), pieces, dict.fromkeys(targets, DESC), targets, {}
        ).run(engines)

    return run


def staged(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    return {
        str(path.relative_to(folder)): [
            tuple(row.values()) for row in pq.read_table(path).to_pylist()
        ]
        for path in sorted(folder.rglob("*.parquet"))
    }


def test_files_and_outcome(stage: Stage, tmp_path: Path) -> None:
    failed = OutputFailed("table is gone", detail="why")
    outcome = stage(
        [("a", ChangeCount(2)), ("a", [1]), ("b", [9]), ("a", [2])],
        [("a", ChangeCount(3)), ("a", [3]), ("a", None), ("a", [4])],
        [],
        [("b", [5]), ("b", failed)],
    )
    assert outcome == StagingOutcome(
        frozenset(["a"]), {"b": FailureReason("table is gone", "why")}, 5
    )
    assert staged(tmp_path) == {
        "a/part-00000-0.parquet": [(1, 7, 1), (2, 7, 1)],
        "a/part-00001-1.parquet": [(4, 7, 1)],
        "b/part-00000-0.parquet": [(9, 7, 1)],
    }


def bad(partition: str, offset: int) -> list[Any]:
    return [("a", encode_failure(DecodeFailed(partition, offset, detail="bad")))]


def test_an_error_in_a_claim_of_an_earlier_release_is_read() -> None:
    """It had no records beside the first offset."""
    now = DecodeFailed("a", 2, detail="bad", unit="offset", remedy="register it")
    fields = json.loads(encode_failure(now))
    for added in ("records", "count", "is_complete"):
        del fields[added]
    error = decode_failure(json.dumps(fields))
    assert isinstance(error, DecodeFailed)
    assert (error.message, error.detail, error.hint) == (now.message, now.detail, now.hint)
    assert [record.skip for record in error.records] == [("a", 2, 3)]


SILENT = UpstreamUnavailable("silent")
THREE_PLACES = [("a", 2), ("a", 9), ("b", 1)]


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([bad("a", 2)], DecodeFailed("a", 2, detail="bad")),
        (
            [bad("b", 1), bad("a", 9), bad("a", 2)],
            DecodeFailed.merged([DecodeFailed(*place, detail="bad") for place in THREE_PLACES]),
        ),
        ([bad("a", 1), [("a", encode_failure(SILENT))]], SILENT),
    ],
    ids=["of one record", "of several", "of the whole upstream"],
)
def test_the_error_is_about_the_first_bad_offset_and_all_bad_records(
    stage: Stage, tmp_path: Path, tasks: list[Any], expected: SourceError
) -> None:
    with pytest.raises(type(expected)) as failure:
        stage([("a", [1])], *tasks)
    assert (failure.value.message, failure.value.detail) == (expected.message, expected.detail)
    assert failure.value.hint == expected.hint


def test_a_defect_of_a_task_is_no_error_of_the_source(stage: Stage) -> None:
    with pytest.raises(Exception, match="division by zero") as failure:
        stage([("a", [1])], [("a", ZeroDivisionError("division by zero"))])
    assert not isinstance(failure.value, SourceError)


def test_an_upstream_that_does_not_respond_is_not_asked_by_every_task(tmp_path: Path) -> None:
    requests = []

    class Silent:
        def size_bytes(self, task: int) -> int:
            return 0

        def read(self, task: int) -> Iterator[Read]:
            requests.append(task)
            raise SILENT

    silent: Any = Silent()
    job = StagingJob(silent, [[(Timestamp(7), n)] for n in range(999)], {}, {}, {})
    with pytest.raises(UpstreamUnavailable):
        job.run(Engines(no_spark, no_spark, 0, 0))
    assert len(requests) < 999


def test_the_lease_is_renewed_while_this_process_reads(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.lease_ms = 300
    world.write("a.csv", "1,x\n")
    read = Objects.read

    def lease_until() -> int:
        claim = world.frontiers.get("u4").claim
        assert claim is not None
        return claim.lease_until or 0

    def slowly(connector: Objects, task: Any) -> Any:
        before = lease_until()
        eventually(lambda: lease_until() > before)
        yield from read(connector, task)

    monkeypatch.setattr(Objects, "read", slowly)
    world.tick(10)
    assert world.visible() == [(1, "x", 10)]


SERVICES = {
    Upstream: None,
    ParquetFiles: None,
    Auction: None,
    Upserts: "kafka",
    Transfers: "kafka",
    Resharded: "kinesis",
    Channel: "pubnub_service",
}


@pytest.mark.spark
@pytest.mark.parametrize("kind", SERVICES, ids=lambda kind: kind.__name__)
def test_executors_read_each_upstream(
    tmp_path: Path, spark: SparkSession, request: pytest.FixtureRequest, kind: type[Upstream]
) -> None:
    service = SERVICES[kind]
    upstream = kind(request.getfixturevalue(service)) if service else kind()  # type: ignore[call-arg]
    used = []

    def session() -> SparkSession:
        used.append(spark)
        return spark

    world = World(
        tmp_path,
        session,
        (upstream.source,),
        now=upstream.clock,
        threshold_bytes=0,
        staging_threshold_bytes=0,
    )
    upstream.fill(world)
    world.tick(20)
    upstream.check(world, 20)
    assert used
    world.close()


@pytest.mark.spark
def test_executors_read_a_publication(
    upstream: Database, tmp_path: Path, spark: SparkSession
) -> None:
    """Given a session, a process stages on it: the copy, the changes, a truncation, a failure."""
    upstream.table("t (n int)")
    upstream.run(
        "CREATE TABLE keyed (id int PRIMARY KEY, n text)", "INSERT INTO keyed VALUES (1, 'a')"
    )
    upstream.run("INSERT INTO t VALUES (1), (2)")
    with Environment.initialise(tmp_path / "home", spark=spark) as environment:
        assert environment.runtime.engines.is_spark_application
        here = Lakehouse(environment)
        here.create(upstream)
        assert here.tick() == []
        upstream.run("TRUNCATE t", "INSERT INTO t VALUES (3)", "UPDATE keyed SET n = 'b'")
        assert here.tick() == []
        assert here.sql("SELECT * FROM t") == [(3,)]
        assert here.sql("SELECT * FROM keyed") == [(1, "b")]


def test_a_program_of_spark_submit_is_a_spark_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Environment.initialise(tmp_path) as environment:
        engines = environment.runtime.engines
        assert not engines.is_spark_application
        monkeypatch.setenv(engine_pool._SUBMITTED, "1")
        assert engines.is_spark_application
