"""The lake finds, lists and drops collections."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from fixtures.lakes import DESC, FLIGHTS, put, rows_of, update

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.algebra.updates import Update
from reclock.collections.folder import Folder
from reclock.collections.lake import Lake
from reclock.errors import UnknownCollection


def test_what_was_never_created_is_unknown(lake: Lake) -> None:
    assert not lake.exists(FLIGHTS)
    with pytest.raises(UnknownCollection, match='unknown collection "u4/reclocked"'):
        lake.open(FLIGHTS)


def test_every_collection_is_listed_and_nothing_else(lake: Lake) -> None:
    ids = [
        StorageCollectionId(GlobalId(source), kind)
        for source in ("s1", "u4")
        for kind in CollectionType
    ]
    for id in reversed(ids):
        lake.create(id, DESC)
    (Path(lake.root) / "u9" / "reclocked").mkdir(parents=True)
    (Path(lake.root) / "notes.txt").write_text("not a collection")
    assert list(lake.list()) == sorted(ids)


def test_a_dropped_collection_is_gone_for_every_process_and_dropping_again_is_no_error(
    lake: Lake,
) -> None:
    elsewhere = Lake(lake.root).create(FLIGHTS, DESC)
    put(elsewhere, update("a", 1, 0), to=1)
    lake.drop(FLIGHTS)
    lake.drop(FLIGHTS)
    assert not lake.exists(FLIGHTS)
    assert list(lake.list()) == []
    assert not os.path.exists(f"{lake.root}/{FLIGHTS}")
    with pytest.raises(UnknownCollection):
        put(elsewhere, update("a", 1, 1), to=2)


def test_a_collection_may_have_no_columns_at_all(lake: Lake) -> None:
    lsns = lake.create(
        StorageCollectionId(GlobalId("u5"), CollectionType.REMAPPING), RelationDesc(())
    )
    put(lsns, Update((), Timestamp(3), 40), Update((), Timestamp(4), 2), to=5)
    put(lsns, Update((), Timestamp(5), -42), to=6)
    version = lsns.pin()
    assert [rows_of(version.snapshot(Timestamp(at))) for at in (2, 3, 4, 5)] == [
        {},
        {(): 40},
        {(): 42},
        {},
    ]
    assert version.changes(Timestamp(0), Timestamp(5)).to_pylist() == [
        {"mz_timestamp": 3, "mz_diff": 40},
        {"mz_timestamp": 4, "mz_diff": 2},
    ]


def test_a_collection_goes_although_a_writer_puts_another_file_there_meanwhile(
    tmp_path: Path,
) -> None:
    folder = Folder(str(tmp_path))
    (tmp_path / "u1" / "data").mkdir(parents=True)

    class Files:
        failures = 2

        def delete_dir(self, path: str) -> None:
            if self.failures:
                self.failures -= 1
                raise OSError(errno.ENOTEMPTY, "Cannot delete directory")
            shutil.rmtree(tmp_path / path)

    vars(folder)["filesystem"] = Files()
    folder.delete_folder("u1")
    assert not (tmp_path / "u1").exists()
