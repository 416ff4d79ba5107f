"""Steps over Parquet files: rows, times and bindings are the same in this process and on Spark,
after a correction, a restart and a rebuild."""

import pytest
from fixtures.objects import World, no_spark
from fixtures.parquet import FILES, parquet

from reclock.algebra.timestamps import Timestamp
from reclock.errors import DecodeFailed, ParquetUnreadable
from reclock.ingest import payload
from reclock.ingest.report import IngestState


@pytest.fixture
def files(tmp_path):
    world = World(tmp_path, no_spark, (FILES,))
    yield world
    world.close()


def test_each_file_is_bound_whole_at_one_time(files):
    files.write("a.parquet", parquet([(n, "a") for n in range(100)], row_group_size=7))
    files.write("empty.parquet", parquet([]))
    files.tick(10)
    files.write("b.parquet", parquet([(7, "b"), (7, "b")]))
    files.tick(20)
    assert files.visible(FILES) == sorted(
        [*((n, "a", 10) for n in range(100)), (7, "b", 20), (7, "b", 20)], key=repr
    )
    assert files.mapping(FILES) == [("a.parquet", 10, 100), ("b.parquet", 20, 2)]
    assert files.ingest(30, FILES).state is IngestState.IDLE
    before = files.visible(FILES)
    assert files.rebuild(FILES).rows == len(before)
    assert files.visible(FILES) == before


def test_a_file_that_is_still_being_written_stalls_until_it_is_complete(files):
    content = parquet([(1, "x")])
    files.write("a.parquet", content[:-10])
    with pytest.raises(ParquetUnreadable):
        files.ingest(10, FILES)
    files.write("a.parquet", content[-10:])
    files.tick(20)
    assert [row[:2] for row in files.visible(FILES)] == [(1, "x")]


def test_a_file_whose_rows_do_not_fit_may_be_replaced(files):
    files.write("a.parquet", parquet([(1, "x"), (None, "y")]))
    with pytest.raises(DecodeFailed, match="record at row 1"):
        files.ingest(10, FILES)
    files.write("a.parquet", parquet([(1, "x"), (2, "y"), (3, "z")]), mode="w")
    files.frontiers.decide("u4", payload.retry)
    files.tick(20)
    assert files.visible(FILES) == [(1, "x", 10), (2, "y", 10), (3, "z", 10)]
    assert files.mapping(FILES) == [("a.parquet", 10, 3)]


def test_a_row_that_is_given_up_stays_given_up(files):
    files.write("a.parquet", parquet([(1, "x"), (None, "y"), (3, "z")]))
    with pytest.raises(DecodeFailed):
        files.ingest(10, FILES)
    files.frontiers.decide("u4", lambda claim: payload.skip(claim, [("a.parquet", 1, 2)]))
    files.tick(20)
    assert files.visible(FILES) == [(1, "x", 10), (3, "z", 10)]
    assert files.skipped == [("a.parquet", 1, 2)]
    files.rebuild(FILES, skips=files.skipped)
    assert files.visible(FILES) == [(1, "x", 10), (3, "z", 10)]


@pytest.mark.spark
@pytest.mark.parametrize("staging_threshold_bytes", [0, 1 << 40])
def test_files_of_spark_are_read_here_and_on_spark(tmp_path, spark, staging_threshold_bytes):
    world = World(
        tmp_path,
        (lambda: spark) if staging_threshold_bytes == 0 else no_spark,
        (FILES,),
        staging_threshold_bytes=staging_threshold_bytes,
    )
    try:
        written = spark.sql(
            "SELECT CAST(id AS INT) AS number, concat('w', id) AS word, timestamp'2024-01-01' AS x "
            "FROM range(1000)"
        )
        written.repartition(3).write.parquet(str(world.path("t")))
        world.tick(10)
        assert sorted(row[:2] for row in world.visible(FILES)) == [
            (n, f"w{n}") for n in range(1000)
        ]
        upper = world.frontiers.get(FILES.id).upper
        assert upper > Timestamp(10)
    finally:
        world.close()
