"""Rows of Spark come some partitions at a time; what is not wanted is not computed, and what is cancelled does not go on."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from fixtures.plans import VALUES, counted, crossed, get, rows, table

from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.engine import Answer, TableInput
from reclock.compute.engines.spark import SparkEngine
from reclock.compute.engines.spark_rows import SparkRows
from reclock.compute.plan import Finishing, Plan
from reclock.errors import QueryCanceled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PATIENCE_S = 120
PARTITIONS = 4


@pytest.fixture
def engine(spark: SparkSession) -> SparkEngine:
    return SparkEngine(spark)


def asked(engine: SparkEngine, plan: Plan) -> Answer:
    return engine.run(plan, Finishing(), {VALUES: TableInput(table())}, Timestamp(1))


def await_jobs(spark: SparkSession, *, run: bool) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while bool(spark.sparkContext.statusTracker().getActiveJobsIds()) is not run:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_rows_are_there_before_later_partitions_are_computed(spark: SparkSession, engine: SparkEngine) -> None:
    last = PARTITIONS - 1
    frame = spark.range(0, PARTITIONS, 1, PARTITIONS).selectExpr("id", f"1 / (id - {last}) AS x")
    batches = SparkRows(spark, "streamed", None).of(frame)
    assert [id for _ in range(last) for id in next(batches).column("id").to_pylist()] == list(range(last))
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        next(batches)


def test_a_job_that_is_cancelled_ends_and_the_session_goes_on(spark: SparkSession, engine: SparkEngine) -> None:
    answer = asked(engine, counted(crossed(get(), 4)))
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(rows, answer)
        await_jobs(spark, run=True)
        answer.interrupt()
        with pytest.raises(QueryCanceled):
            reading.result(PATIENCE_S)
    await_jobs(spark, run=False)
    assert rows(asked(engine, counted(get()))) == [(len(table()),)]


def test_what_is_cancelled_before_its_first_job_begins_none(spark: SparkSession, engine: SparkEngine) -> None:
    answer = asked(engine, counted(crossed(get(), 4)))
    answer.interrupt()
    with pytest.raises(QueryCanceled):
        rows(answer)
