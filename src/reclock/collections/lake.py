"""The lake: all collections under one root, a local folder or a prefix of an object store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import pyarrow.fs as pafs
from deltalake.exceptions import DeltaError, TableNotFoundError

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc, TypeName
from reclock.collections.collection import (
    DESC_PROPERTY,
    INCARNATION_PROPERTY,
    MONOTONIC_PROPERTY,
    Collection,
)
from reclock.collections.delta_log import DeltaLog
from reclock.collections.folder import LOG, Folder, fsync
from reclock.collections.schema import arrow_schema, check_storable, encode_desc
from reclock.errors import CollectionDamaged, CollectionExists, ForeignCollection, UnknownCollection
from reclock.failpoints import failpoint

IncarnationOf = Callable[[StorageCollectionId], str | None]
"""The incarnation of the object that has this collection; None if the object is unknown."""


class Lake:
    """Collections by id, each opened once in a process. Safe for several threads and several
    processes."""

    def __init__(
        self,
        root: str,
        storage_options: Mapping[str, str] | None = None,
        incarnation_of: IncarnationOf = lambda id: None,
    ) -> None:
        """``open`` refuses a collection of another incarnation than ``incarnation_of`` returns."""
        self._folder = Folder(root, storage_options)
        self._incarnation_of = incarnation_of
        self._verified: set[StorageCollectionId] = set()
        self._opened: dict[StorageCollectionId, Collection] = {}
        self._lock = threading.Lock()

    @property
    def root(self) -> str:
        return self._folder.uri

    @property
    def storage_options(self) -> Mapping[str, str]:
        return self._folder.storage_options

    def create(
        self,
        id: StorageCollectionId,
        desc: RelationDesc,
        *,
        is_monotonic: bool = False,
        incarnation: str = "",
    ) -> Collection:
        """The collection, created if it does not exist; durable when this returns.
        Raises ``ForeignCollection`` if it exists with another incarnation, ``CollectionExists`` if
        with another desc, ``InvalidSchema`` if the desc cannot be stored, ``CollectionDamaged``."""
        check_storable(desc)
        folder = self.folder_of(id)
        parents = folder.make()
        properties = {
            DESC_PROPERTY: encode_desc(desc),
            MONOTONIC_PROPERTY: "true" if is_monotonic else "false",
            "delta.dataSkippingStatsColumns": ",".join(_columns_with_statistics(desc)),
        }
        if incarnation:
            properties[INCARNATION_PROPERTY] = incarnation
        try:
            DeltaLog.create(folder, arrow_schema(desc, with_updates=True), properties)
        except DeltaError as failure:
            raise CollectionDamaged(str(id), detail=str(failure).partition("\n")[0]) from failure
        failpoint("collections.create.landed")
        for path in parents:
            fsync(path)
        collection = self.open(id)
        _require(collection, incarnation)
        collection.upper()
        if (
            encode_desc(collection.desc) != encode_desc(desc)
            or collection.is_monotonic != is_monotonic
        ):
            raise CollectionExists(str(id))
        return collection

    def open(self, id: StorageCollectionId) -> Collection:
        """The collection. Raises ``UnknownCollection``, ``ForeignCollection``,
        ``CollectionDamaged``."""
        with self._lock:
            collection = self._opened.get(id) or self._open(id)
            if id not in self._verified:
                incarnation = self._incarnation_of(id)
                if incarnation is not None:
                    _require(collection, incarnation)
                    self._verified.add(id)
            self._opened[id] = collection
            return collection

    def _open(self, id: StorageCollectionId) -> Collection:
        folder = self.folder_of(id)
        try:
            return Collection(id, folder, DeltaLog.open(folder))
        except TableNotFoundError:
            raise UnknownCollection(str(id)) from None
        except DeltaError as failure:
            raise CollectionDamaged(str(id), detail=str(failure).partition("\n")[0]) from failure

    def exists(self, id: StorageCollectionId) -> bool:
        return DeltaLog.exists(self.folder_of(id))

    def drop(self, id: StorageCollectionId) -> None:
        """Delete the collection with all its files.
        May be repeated: a partial deletion is completed."""
        with self._lock:
            self._opened.pop(id, None)
            self._verified.discard(id)
        folder = self.folder_of(id)
        folder.hide(LOG)
        failpoint("collections.drop.hidden")
        self._folder.delete_folder(str(id))

    def drop_all(self, source_id: GlobalId) -> None:
        """Delete every collection of a source, including partly deleted ones."""
        for name in self._subfolders(source_id):
            self.drop(StorageCollectionId.parse(f"{source_id}/{name}"))

    def late(self, source_id: GlobalId) -> dict[str, Collection]:
        """The existing collections that joined the source's group late, by output."""
        collections: dict[str, Collection] = {}
        for name in sorted(self._subfolders(source_id)):
            id = _collection_id(source_id, name)
            if id is not None and id.guest is not None:
                with suppress(UnknownCollection):
                    collection = self.open(id)
                    collection.pin()  # it may have been opened before it was dropped
                    collections[id.output] = collection
        return collections

    def of_guests(self, source_ids: Iterable[GlobalId]) -> Sequence[StorageCollectionId]:
        """The collections that these sources have as guests, including partly deleted ones."""
        guests = {id for id in source_ids if not self._subfolders(id)}
        hosts = self._subfolders("") if guests else ()
        ids = [
            _collection_id(host, name)
            for host in hosts
            for name in self._subfolders(host)
            if "@" in name
        ]
        return sorted(id for id in ids if id is not None and id.guest in guests)

    def list(self, source_id: str | None = None) -> Sequence[StorageCollectionId]:
        """Every collection in the lake, or of one source or index, in order of id."""
        ids = []
        for source in self._subfolders("") if source_id is None else [source_id]:
            for name in self._subfolders(source):
                id = _collection_id(source, name)
                if id is not None and self.exists(id):
                    ids.append(id)
        return sorted(ids)

    def _subfolders(self, path: str) -> Sequence[str]:
        selector = pafs.FileSelector(path, allow_not_found=True)
        infos = self._folder.filesystem.get_file_info(selector)
        return [info.base_name for info in infos if info.type == pafs.FileType.Directory]

    def folder_of(self, id: StorageCollectionId) -> Folder:
        """The folder of the collection's files, whether or not the collection exists."""
        return Folder(f"{self._folder.uri}/{id}", self._folder.storage_options)


def _collection_id(source_id: str, name: str) -> StorageCollectionId | None:
    """The collection that this folder belongs to; None if it is not a collection's folder."""
    return (
        StorageCollectionId.parse(f"{source_id}/{name}")
        if name.partition(".")[0] in set(CollectionType)
        else None
    )


def _require(collection: Collection, incarnation: str) -> None:
    if collection.incarnation != incarnation:
        raise ForeignCollection(
            str(collection.id), store="the lake", expected=incarnation, found=collection.incarnation
        )


def _columns_with_statistics(desc: RelationDesc) -> list[str]:
    """Times and diffs. Structs have none, but delta-rs would find none at all in a table with a
    struct that is not named here."""
    structs = [column.name for column in desc.columns if column.type.name in _STRUCTS]
    return [TIME_COLUMN, DIFF_COLUMN, *(f"`{name.replace('`', '``')}`" for name in structs)]


_STRUCTS = (TypeName.INTERVAL, TypeName.RECORD)
