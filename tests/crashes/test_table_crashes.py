"""A process is killed at every named point of writing and following tables: all of a commit is there, or nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.lakes import DESC
from fixtures.tables import A, B, C, open_tables, read, write

from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.collections.compaction import vacuum
from reclock.collections.tables import Tables, table_id

PREAMBLE = """
import sys
from fixtures.lakes import DESC
from fixtures.tables import A, B, C, open_tables, read, write
from reclock.collections import tables as tables_module
tables, consensus, oracle = open_tables(sys.argv[1], sys.argv[2])
"""
STAGED = "tables_module.STAGED_FROM_BYTES = 0\n"
WRITE = "write(tables, a={('x', 2): 1, ('x', 1): -1}, b={('y', 1): 1})"


@pytest.fixture
def opened(consensus_url: str, tmp_path: Path):
    tables, consensus, _ = open_tables(consensus_url, str(tmp_path / "lake"))
    yield tables, consensus_url, str(tmp_path / "lake")
    consensus.close()


def run_until(point: str, url: str, lake: str, script: str) -> None:
    """Run ``script`` in a process of its own, which must die at ``point``."""
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), "RECLOCK_CRASH_AT": point}
    ended = subprocess.run([sys.executable, "-c", PREAMBLE + script, url, lake], env=environment, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, f"{point} was not reached: {ended.stderr}"


def check_followed(tables: Tables, *expected: dict[tuple[str, int], int]) -> None:
    """The tables read so, before and after everything was applied, however often; and nothing is left over."""
    for _ in range(3):
        assert read(tables, A, B) == list(expected)
        tables.apply()
    assert tables.log.pending() == []
    for id in (A, B):
        collection = tables._lake.open(table_id(id))
        vacuum(collection, before=MAXIMUM, claimed_staging=frozenset())
        assert not collection.folder.walk("_staging")
    assert read(tables, A, B) == list(expected)


@pytest.mark.parametrize(
    ("point", "script", "has_committed"),
    [
        ("tables.commit.before", WRITE, False),
        ("tables.commit.after", WRITE, True),
        ("tables.stage.reserved", STAGED + WRITE, False),
        ("tables.stage.written", STAGED + WRITE, False),
        ("tables.commit.before", STAGED + WRITE, False),
        ("tables.commit.after", STAGED + WRITE, True),
    ],
)
def test_a_writer_killed_anywhere_has_committed_to_both_tables_or_to_none(
    opened, point: str, script: str, has_committed: bool
) -> None:
    tables, url, lake = opened
    write(tables, a={("x", 1): 1})
    run_until(point, url, lake, script)
    if has_committed:
        check_followed(tables, {("x", 2): 1}, {("y", 1): 1})
    else:
        check_followed(tables, {("x", 1): 1}, {})


@pytest.mark.parametrize(
    ("point", "staging"),
    [
        ("tables.apply.before_append", STAGED),
        ("collections.append.before_write", ""),
        ("collections.append.before_commit", ""),
        ("collections.commit.landed", STAGED),
        ("tables.apply.after_append", ""),
        ("tables.apply.before_trim", ""),
        ("tables.apply.after_trim", STAGED),
    ],
)
def test_an_applier_killed_anywhere_changes_no_answer_and_is_finished_by_any_other(opened, point: str, staging: str) -> None:
    tables, url, lake = opened
    write(tables, a={("x", 1): 1})
    run_until(point, url, lake, staging + WRITE + "\ntables.apply()")
    check_followed(tables, {("x", 2): 1}, {("y", 1): 1})


def test_a_table_half_made_is_made_by_repeating(opened) -> None:
    tables, url, lake = opened
    run_until("tables.create.before_register", url, lake, "tables.create('u9', DESC, at=5)")
    assert "u9" not in tables.log.known()
    tables.create("u9", DESC, at=Timestamp(5))
    assert "u9" in tables.log.known()


def test_a_table_half_dropped_takes_nobody_along_and_is_dropped_by_repeating(opened) -> None:
    tables, url, lake = opened
    write(tables, a={("x", 1): 1}, c={("z", 1): 1})
    run_until("tables.drop.before_forget", url, lake, "tables.drop(C)")
    assert read(tables, A) == [{("x", 1): 1}]
    tables.apply()
    tables.drop(C)
    assert C not in tables.log.known()
    check_followed(tables, {("x", 1): 1}, {})
