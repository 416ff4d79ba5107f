"""Rows of Spark come some partitions at a time; what is not wanted is not computed, and what is
cancelled does not go on."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from fixtures.plans import VALUES, counted, crossed, get, rows, table
from fixtures.waiting import eventually

from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.engine import Answer, TableInput
from reclock.compute.engines.spark import SparkEngine
from reclock.compute.engines.spark_rows import _FILES, SparkRows
from reclock.compute.engines.spool import Spool
from reclock.errors import QueryCanceled
from reclock.plan.relational import Finishing, Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    RowsOf = Callable[[DataFrame], Iterator[pa.RecordBatch]]

pytestmark = pytest.mark.spark

PATIENCE_S = 120
PARTITIONS = 4
EACH = 1000


@pytest.fixture
def engine(spark: SparkSession) -> SparkEngine:
    return SparkEngine(spark)


@pytest.fixture
def rows_of(spark: SparkSession, tmp_path: Path) -> RowsOf:
    """As an engine takes them, by files below ``tmp_path``."""
    spool = Spool.of_machine(tmp_path)
    return SparkRows(spark, "taken", None, lambda: spool).of


def ids(batches: Iterable[pa.RecordBatch]) -> list[int]:
    return [id for batch in batches for id in batch.column(0).to_pylist()]


def waiting(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def run_plan(engine: SparkEngine, plan: Plan) -> Answer:
    return engine.run(plan, Finishing(), {VALUES: TableInput(table())}, Timestamp(1))


def await_jobs(spark: SparkSession, *, run: bool) -> None:
    eventually(lambda: bool(spark.sparkContext.statusTracker().getActiveJobsIds()) is run)


def running_tasks(spark: SparkSession) -> list[str]:
    """The names of the threads of the Java process that run a task."""
    threads = spark._jvm.java.lang.Thread.getAllStackTraces().keySet()
    names = [thread.getName() for thread in threads]
    return [name for name in names if "TID" in name]


def test_rows_are_there_before_later_partitions_are_computed(
    spark: SparkSession, rows_of: RowsOf
) -> None:
    last = (PARTITIONS - 1) * EACH
    batches = rows_of(
        spark.range(0, PARTITIONS * EACH, 1, PARTITIONS).selectExpr("id", f"1 / (id - {last}) AS x")
    )
    assert ids(next(batches) for _ in range(PARTITIONS - 1)) == list(range(last))
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        next(batches)


def test_many_rows_wait_in_files_until_they_were_taken(
    spark: SparkSession, rows_of: RowsOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_FILES, "maxRecordsPerFile", "300")
    batches = rows_of(
        spark.range(0, PARTITIONS * EACH, 1, PARTITIONS).orderBy("id", ascending=False)
    )
    first = next(batches)
    assert waiting(tmp_path)
    assert ids([first, *batches]) == list(reversed(range(PARTITIONS * EACH)))
    assert not waiting(tmp_path)


def test_a_reader_that_stops_leaves_no_file(
    spark: SparkSession, rows_of: RowsOf, tmp_path: Path
) -> None:
    batches = rows_of(spark.range(0, PARTITIONS * EACH, 1, PARTITIONS))
    next(batches)
    assert isinstance(batches, Generator)
    batches.close()
    assert not waiting(tmp_path)


def test_what_fails_leaves_no_file(spark: SparkSession, rows_of: RowsOf, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        list(rows_of(spark.range(0, 2 * EACH, 1, 1).selectExpr(f"1 / (id - {EACH}) AS x")))
    assert not waiting(tmp_path)


def test_few_rows_need_no_disk(spark: SparkSession) -> None:
    def spool() -> Spool:
        raise AssertionError

    engine = SparkEngine(spark, spool=spool)
    few = engine.run(get(), Finishing(limit=10), {VALUES: TableInput(table())}, Timestamp(1))
    assert len(rows(few)) == 10
    assert rows(run_plan(engine, counted(get()))) == [(len(table()),)]
    with pytest.raises(AssertionError):
        rows(run_plan(engine, get()))


def endless(spark: SparkSession) -> DataFrame:
    """A minute's work, which later tests can wait for."""
    numbers = spark.range(0, 10_000, 1, 1)
    return numbers.crossJoin(numbers.selectExpr("id AS other"))


def losing_interrupts(frame: DataFrame) -> DataFrame:
    """The rows, by tasks that lose their interrupts in the first seconds."""
    until = time.time_ns() // 1_000_000 + 5000
    return frame.selectExpr(
        "*",
        "CASE WHEN CAST(java_method('java.lang.System', 'currentTimeMillis') AS BIGINT) "
        f"< {until} THEN java_method('java.lang.Thread', 'interrupted') END AS interrupted",
    )


@pytest.mark.parametrize("frame", [endless, lambda spark: losing_interrupts(endless(spark))])
def test_a_task_that_writes_has_ended_once_its_query_was_cancelled(
    spark: SparkSession, tmp_path: Path, frame: Callable[[SparkSession], DataFrame]
) -> None:
    spool = Spool.of_machine(tmp_path)
    endless_rows = SparkRows(spark, tmp_path.name, None, lambda: spool)
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(list, endless_rows.of(frame(spark)))
        eventually(lambda: waiting(tmp_path))
        endless_rows.cancel()
        with pytest.raises(Exception, match="cancel"):
            reading.result(PATIENCE_S)
    assert endless_rows.is_cancelled
    assert not running_tasks(spark)
    eventually(lambda: not waiting(tmp_path))


def test_a_job_that_is_cancelled_ends_and_the_session_goes_on(
    spark: SparkSession, engine: SparkEngine
) -> None:
    answer = run_plan(engine, counted(crossed(get(), 4)))
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(rows, answer)
        await_jobs(spark, run=True)
        answer.interrupt()
        with pytest.raises(QueryCanceled):
            reading.result(PATIENCE_S)
    await_jobs(spark, run=False)
    assert rows(run_plan(engine, counted(get()))) == [(len(table()),)]


def test_what_is_cancelled_before_its_first_job_begins_none(
    spark: SparkSession, engine: SparkEngine
) -> None:
    answer = run_plan(engine, counted(crossed(get(), 4)))
    answer.interrupt()
    with pytest.raises(QueryCanceled):
        rows(answer)


def test_what_is_cancelled_as_its_first_job_begins_ends(
    engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = run_plan(engine, counted(crossed(get(), 4)))
    check = SparkRows._check

    def cancelled_after(self: SparkRows) -> None:
        check(self)
        answer.interrupt()

    monkeypatch.setattr(SparkRows, "_check", cancelled_after)
    with ThreadPoolExecutor(1) as threads, pytest.raises(QueryCanceled):
        threads.submit(rows, answer).result(PATIENCE_S)


def test_what_the_parser_remembers_of_texts_is_counted_and_bounded(spark: SparkSession) -> None:
    """Without its own count the parser fills the driver's memory with what it learned of texts."""
    parser = spark._jvm.org.apache.spark.sql.catalyst.parser.AbstractParser
    spark.sql("SELECT 1 + 2 * 3 AS a, CASE WHEN 1 < 2 THEN 'x' END AS b")
    assert parser.getDFACacheNumStates() > 0
    limit = "spark.sql.parser.parserDfaCacheFlushThreshold"
    spark.conf.set(limit, "1")
    try:
        spark.sql("SELECT 1")
        assert parser.getDFACacheNumStates() == 0
    finally:
        spark.conf.unset(limit)


def test_a_partition_is_larger_than_the_memory_of_spark(tmp_path: Path) -> None:
    program = """
        from reclock.clusters.session import start
        from reclock.clusters.spark_options import spool
        from reclock.compute.engines.spark_rows import SparkRows
        from reclock.config import Settings

        settings = Settings(spark_driver_memory="600m", spark_master="local[1]")
        session, waiting = start(settings), spool(settings)
        frame = session.range(0, 700_000, 1, 1).selectExpr("id", "repeat(sha2(CAST(id AS STRING), 256), 16)")
        found = SparkRows(session, "large", None, lambda: waiting).of(frame)
        print(sum(batch.num_rows for batch in found if batch.nbytes))
        """
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=os.environ | {"RECLOCK_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert int(process.stdout) == 700_000
