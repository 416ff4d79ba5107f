"""Files of rows that wait are read in the order in which they were written, and are not left
behind."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.spool import Spool


def write_spool(spool: Spool, partition: int, count: int, value: int) -> Path:
    """What a task of Spark leaves."""
    path = Path(spool.uri("answer"), f"part-{partition:05}-0e3a-c{count:03}.snappy.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"0": [value]}), path)
    return path


def values(spool: Spool) -> list[int]:
    return [value for batch in spool.read("answer") for value in batch.column(0).to_pylist()]


def test_rows_come_by_partition_and_by_count_of_the_file(tmp_path: Path) -> None:
    spool = Spool.of_machine(tmp_path)
    names = [(0, 2), (0, 999), (0, 1000), (1, 0), (99999, 0), (100000, 0)]
    for value in (3, 5, 0, 2, 4, 1):
        write_spool(spool, *names[value], value)
    Path(spool.uri("answer"), "_temporary").mkdir()
    assert values(spool) == list(range(len(names)))


def test_what_is_removed_is_gone_and_nothing_is_no_rows(tmp_path: Path) -> None:
    spool = Spool.of_machine(tmp_path)
    write_spool(spool, 0, 0, 1)
    spool.remove("answer")
    assert not Path(spool.uri("answer")).exists()
    assert values(spool) == []
    spool.remove("answer")


def test_the_folder_of_a_machine_goes_with_whoever_has_it(tmp_path: Path) -> None:
    spool = Spool.of_machine(tmp_path)
    write_spool(spool, 0, 0, 1)
    del spool
    assert list(tmp_path.iterdir()) == []


def test_what_is_left_in_a_lake_is_swept_when_it_is_old(tmp_path: Path) -> None:
    killed, following = (Spool.of_lake(str(tmp_path), {}) for _ in range(2))
    old, new = (write_spool(killed, 0, count, count) for count in range(2))
    os.utime(old, (1.0, 1.0))
    assert following.sweep(Timestamp(1_001)) == 1
    assert values(following) == [1]
    assert following.sweep(Timestamp(int(new.stat().st_mtime * 1000) + 1)) == 1
    assert not Path(following.uri("answer")).exists()
