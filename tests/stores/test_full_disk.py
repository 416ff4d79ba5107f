"""A disk without space fails what needs it, in words that say so, and nothing else."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer
from fixtures.sessions import sql

from reclock.cli.edge import errors_on_stderr
from reclock.collections.collection import Collection
from reclock.collections.files import write_file
from reclock.collections.folder import Folder
from reclock.errors import CollectionUnready, known_failure, plain_text
from reclock.pipeline import cluster_steps
from reclock.runtime.environment import Environment

FULL = OSError(errno.ENOSPC, "No space left on device")


@contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_cannot_be_written_fails_with_the_error_of_the_system(tmp_path: Path) -> None:
    updates = pa.table(
        {
            "v": [f"{n:x}" * 20 for n in range(50_000)],
            "mz_timestamp": [1] * 50_000,
            "mz_diff": [1] * 50_000,
        }
    )
    folder = Folder(str(tmp_path), {})
    with files_of_at_most(10_000), pytest.raises(OSError, match="too large") as raised:
        write_file(folder, "rows.parquet", [updates], updates.schema)
    assert raised.value.errno == errno.EFBIG


@pytest.mark.parametrize(
    ("failure", "sqlstate"),
    [
        (FULL, "53100"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "53100"),
        (
            OSError(
                "Generic LocalFileSystem error\n  \x1b[31m↳\x1b[0m No space left on "
                "device (os error 28)\n"
            ),
            "53100",
        ),
        (RuntimeError("Kernel error: No space left on device"), "53100"),
        (OSError(errno.EROFS, "Read-only file system", "/lake/u1"), "58030"),
        (ValueError("no disk has to do with it"), None),
    ],
)
def test_failures_of_disks_have_their_own_codes(failure: Exception, sqlstate: str | None) -> None:
    error = known_failure(failure)
    assert (error and error.sqlstate) == sqlstate


def test_an_object_store_that_does_not_answer_comes_with_the_settings_to_check() -> None:
    error = known_failure(OSError("Generic S3 error: Error performing GET http://127.0.0.1:1/x"))
    assert error is not None
    assert "s3_endpoint" in str(error.hint)


@pytest.mark.parametrize(
    "text",
    [
        "[Errno 1] Failed to open local file '/lake/u1': [errno 1] Operation not permitted",
        "[Errno 13] Permission denied: '/lake/u1'",
        "Generic LocalFileSystem error: Read-only file system (os error 30)",
    ],
)
def test_a_folder_that_may_not_be_written_comes_with_what_to_check(text: str) -> None:
    error = known_failure(OSError(text))
    assert error is not None
    assert "may write to the folder" in str(error.hint)


def test_texts_of_libraries_are_one_plain_line() -> None:
    text = (
        "Generic LocalFileSystem error\n          \x1b[31m↳\x1b[0m Unable to copy data\n     "
        "      \x1b[31m↳\x1b[0m No space\n"
    )
    assert (
        plain_text(OSError(text)) == "Generic LocalFileSystem error: Unable to copy data: No space"
    )


def test_an_index_that_cannot_be_written_is_stalled_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        sql(
            environment,
            (
                "CREATE MATERIALIZED VIEW m AS SELECT a FROM t; CREATE MATERIALIZED VIEW n "
                "AS SELECT a FROM t"
            ),
        )
        catalog = environment.stores.planner_catalog()
        first, second = sorted(catalog.indexes(), key=lambda index: index.id)
        append_files = Collection.append_files

        def refuse_first(collection: Collection, *arguments: Any, **options: Any) -> None:
            if collection.id.source_id == first.id:
                raise FULL
            append_files(collection, *arguments, **options)

        monkeypatch.setattr(Collection, "append_files", refuse_first)
        report = cluster_steps.refresh(
            environment, "default", environment.stores.clock(), owner="tests"
        )
        assert [(failure.name, failure.message) for failure in report.failed] == [
            (str(first.name), "no space is left on a disk")
        ]
        statuses = environment.stores.statuses.current()
        assert (statuses[first.id].status, statuses[second.id].status) == ("stalled", "running")


def test_an_environment_in_a_full_lake_opens_and_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Environment.initialise(tmp_path) as environment:
        sql(environment, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")

    def refuse(folder: Folder, path: str) -> object:
        raise FULL

    monkeypatch.setenv("RECLOCK_STORE_MARK_INTERVAL_MS", "1")
    monkeypatch.setattr(Folder, "open_to_write", refuse)
    for _ in range(2):
        with Environment.open(tmp_path) as environment:
            assert sql(environment, "SELECT a FROM t") == [(1,)]


def test_commands_end_with_the_error_of_a_disk(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, errors_on_stderr():
        raise FULL
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err.startswith(
        "ERROR:  53100: no space is left on a disk\nDETAIL:  "
    )
    with pytest.raises(BrokenPipeError), errors_on_stderr():
        raise BrokenPipeError


def test_a_table_can_be_read_at_once_when_what_kept_it_from_being_made_is_gone(
    tmp_path: Path,
) -> None:
    with Environment.initialise(tmp_path) as environment:
        blocked = Path(environment.stores.lake.root) / "u1"
        blocked.parent.mkdir(exist_ok=True)
        blocked.touch()
        sql(environment, "CREATE TABLE u (a int)")
        with pytest.raises(CollectionUnready):
            sql(environment, "SELECT * FROM u")
        blocked.unlink()
        assert sql(environment, "SELECT * FROM u") == []
