"""The catalog in a table on an S3 endpoint: the same log, races included."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fixtures.catalogs import CatalogPlace, create_schema, joined, opened
from fixtures.s3 import options

from reclock.catalog.log import CatalogLog
from reclock.catalog.objects import Kind, Setting
from reclock.catalog.persist import APPENDS_PER_MERGE, PersistLog, persist_folder
from reclock.catalog.update_files import BUFFER_BYTES
from reclock.collections.folder import Folder
from reclock.errors import CatalogCorrupt, UpperMismatch

__all__ = ["options"]


class OnS3(CatalogPlace):
    def __init__(self, url: str, home: Path, options: dict[str, str]) -> None:
        super().__init__("persist", url, home)
        self._options = options

    @property
    def folder(self) -> Folder:
        return persist_folder("s3://lake/root", str(self.home), self._options)

    def log(self) -> CatalogLog:
        return PersistLog(self.folder, self.consensus)


@pytest.fixture
def place(tmp_path: Path, options: dict[str, str]) -> Iterator[CatalogPlace]:
    made = OnS3(f"sqlite:///{tmp_path / 'consensus.db'}", tmp_path, options)
    yield made
    made.close()


def test_actors_race_and_merge(place: CatalogPlace) -> None:
    opened(place)

    def act(name: str) -> None:
        state = joined(place)
        for number in range(APPENDS_PER_MERGE // 2):
            while True:
                try:
                    create_schema(state, f"{name}{number}")
                except UpperMismatch:
                    continue
                break

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(act, "abc"))
    state = opened(place)
    expected = {f"{name}{number}" for name in "abc" for number in range(APPENDS_PER_MERGE // 2)}
    assert {
        schema.name for schema in state.snapshot().sorted(Kind.SCHEMA) if schema.name in expected
    } == expected
    assert [event.id for event in state.get_audit_logs()] == list(range(1, len(expected) + 1))
    assert len(place.folder.walk("data")) <= APPENDS_PER_MERGE + 6


def test_a_large_append_is_written_whole(place: CatalogPlace) -> None:
    state = opened(place)
    chance = random.Random(1)
    state.put([Setting("large", chance.randbytes(2 * BUFFER_BYTES).hex())])
    assert max(info.size for info in place.folder.walk("data")) > BUFFER_BYTES
    assert joined(place).snapshot().sorted(Kind.SETTING) == state.snapshot().sorted(Kind.SETTING)


def test_a_missing_file_is_noticed(place: CatalogPlace) -> None:
    create_schema(opened(place), "raw")
    missing_path = place.folder.walk("data")[0].path
    place.folder.delete([missing_path])
    with pytest.raises(CatalogCorrupt) as corrupt:
        joined(place)
    assert corrupt.value.key == missing_path


def test_a_store_that_cannot_be_reached_is_not_a_corrupt_catalog(
    place: CatalogPlace, options: dict[str, str]
) -> None:
    dead = options | {
        "aws_endpoint": "http://127.0.0.1:1",
        "max_retries": "0",
        "retry_timeout": "1s",
    }
    log = PersistLog(persist_folder("s3://lake/root", "any", dead), place.consensus)
    with pytest.raises(Exception) as failure:
        log.upper()
    assert not isinstance(failure.value, CatalogCorrupt), failure.value
