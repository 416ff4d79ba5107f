"""The folder of one table, on a local disk or in an object store: names, files and durability."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import PurePosixPath
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs as pafs
from deltalake.fs import DeltaStorageHandler

from reclock.errors import InternalError

LOG = "_delta_log"
DATA = "data"
STAGING = "_staging"
"""The underscore hides it from programs that list the table's folder directly."""

ERRORS = "_errors"
"""The lists of the times with an error: a file for each append that changed them."""

WRITE_BUFFER_BYTES = 1 << 20

_ATTEMPTS = 10

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Folder:
    """Files under one root, addressed by paths relative to it.
    ``uri`` is an absolute path or ``s3://…``, without a trailing slash."""

    def __init__(self, uri: str, storage_options: Mapping[str, str] | None = None) -> None:
        uri = uri.removeprefix("file://").rstrip("/")
        self.is_local = "://" not in uri
        self.uri = os.path.abspath(uri) if self.is_local else uri
        self.storage_options = dict(storage_options or {})
        self._named: set[PurePosixPath] = set()
        """Folders whose names, up to the root, have been flushed to the disk."""

    @cached_property
    def filesystem(self) -> pafs.FileSystem:
        """A file system whose root is this folder."""
        if self.is_local:
            return pafs.SubTreeFileSystem(self.uri, pafs.LocalFileSystem())
        return pafs.PyFileSystem(DeltaStorageHandler(self.uri, self.storage_options))

    def absolute(self, path: str) -> str:
        return f"{self.uri}/{path}"

    def make(self) -> list[str]:
        """Create the folder. Returns the folders to fsync for new names to survive, from this one
        up. In an object store there is nothing to create or to flush."""
        if not self.is_local:
            return []
        chain = [self.uri]
        while len(chain) < 3 or not os.path.isdir(chain[-1]):
            chain.append(os.path.dirname(chain[-1]))
        os.makedirs(self.uri, exist_ok=True)
        return chain

    def make_parent(self, path: str) -> None:
        """Create the folder that will hold the file ``path``. Does nothing in an object store."""
        if self.is_local:
            os.makedirs(os.path.dirname(self.absolute(path)), exist_ok=True)

    def sync(self, paths: Collection[str]) -> None:
        """Guarantees that these files, and the names that lead to them from the root, survive a
        loss of power.

        An object store guarantees that by itself.
        """
        if not self.is_local:
            return
        for path in paths:
            fsync(self.absolute(path))
        for parent in {PurePosixPath(path).parent for path in paths}:
            fsync(self.absolute(str(parent)))
            if parent not in self._named:
                for ancestor in parent.parents:
                    fsync(self.absolute(str(ancestor)))
                self._named.add(parent)

    def replace(self, path: str, content: bytes) -> None:
        """Durably replace the content of the file ``path``.
        A concurrent reader sees all of it, or the previous content."""
        self.make_parent(path)
        staged = f"{path}.{uuid4().hex}" if self.is_local else path
        with self.open_to_write(staged) as file:
            for start in range(0, len(content), WRITE_BUFFER_BYTES - 1):
                file.write(content[start : start + WRITE_BUFFER_BYTES - 1])
        if self.is_local:
            fsync(self.absolute(staged))
            os.replace(self.absolute(staged), self.absolute(path))
        self.sync([path])

    def exists(self, path: str) -> bool:
        """Whether the folder exists. Always true in an object store, which has no folders."""
        return not self.is_local or os.path.isdir(self.absolute(path))

    def sizes(self, paths: Iterable[str]) -> dict[str, int]:
        """Bytes of each file that exists, by path."""
        infos = self.filesystem.get_file_info(list(paths))
        return {info.path: info.size for info in infos if info.type == pafs.FileType.File}

    def walk(self, path: str) -> list[pafs.FileInfo]:
        """Every file below ``path``; none if it does not exist."""
        selector = pafs.FileSelector(path, allow_not_found=True, recursive=True)
        return [
            info
            for info in self.filesystem.get_file_info(selector)
            if info.type == pafs.FileType.File
        ]

    def open_to_write(self, path: str) -> pa.NativeFile:
        """Open the file, new and empty.
        It is buffered, since an object store's stream does not take Arrow's own buffers. A single
        write should be smaller than ``WRITE_BUFFER_BYTES``."""
        return self.filesystem.open_output_stream(path, buffer_size=WRITE_BUFFER_BYTES)

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files. Files that do not exist are no error."""
        for path in paths:
            try:
                self.filesystem.delete_file(path)
            except FileNotFoundError:
                continue

    def prune(self, path: str) -> None:
        """Delete ``path`` and the folders below it that are empty.
        Does nothing in an object store."""
        if self.is_local:
            for folder, _, _ in os.walk(self.absolute(path), topdown=False):
                with suppress(OSError):
                    os.rmdir(folder)

    def hide(self, path: str) -> None:
        """Rename a folder before its files are deleted, so that no reader sees a part of it.
        In an object store, delete it."""
        if not self.is_local:
            self.delete_folder(path)
        elif self.exists(path):
            os.rename(self.absolute(path), self.absolute(f"{path}.{uuid4().hex}"))
            fsync(self.uri)

    def delete_folder(self, path: str) -> None:
        """Delete a folder with its content. A folder that does not exist is no error."""
        if not self.is_local:
            self.delete(info.path for info in self.walk(path))
            return
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self.filesystem.delete_dir(path)
                return
            except FileNotFoundError:
                return
            except OSError as failure:
                # a writer that has not noticed the deletion still adds files
                if failure.errno != errno.ENOTEMPTY or attempt == _ATTEMPTS:
                    raise


def fsync(path: str) -> None:
    """Flush one local file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rewrite_name(number: int) -> str:
    """A new name for the files of a table's rewrite ``number``.
    Vacuum recognizes by it whether a file may still be committed."""
    return f"rewrite-{number}-{uuid4().hex}"


def rewrite_number(path: str) -> int | None:
    """The number of the rewrite that a data file was written for, whether staged or not."""
    match = re.match(rf"(?:{DATA}|{STAGING})/rewrite-(\d+)-[0-9a-f]+[./]", path)
    return int(match[1]) if match else None


def errors_path(upper: int) -> str:
    """The path of the list of error times that the append to ``upper`` writes."""
    return f"{ERRORS}/{upper}.json"


def errors_upper(path: str) -> int | None:
    """The upper of the append that wrote this list of error times, whole or unfinished."""
    match = re.match(rf"{ERRORS}/(\d+)\.json", path)
    return int(match[1]) if match else None


def staging_path(name: str) -> str:
    """The folder of the staged files called ``name``. Raises ``InternalError`` unless it is a plain
    name."""
    if not _PLAIN_NAME.fullmatch(name):
        raise InternalError(
            f'staging name "{name}" is not plain',
            detail="letters and digits; after the first also . _ -",
        )
    return f"{STAGING}/{name}"


def check_data_path(path: str) -> str:
    """Returns ``path`` if it names a data file of the table's folder.
    Raises ``InternalError`` otherwise."""
    parts = path.split("/")
    is_inside = (parts[0] == DATA and len(parts) == 2) or (parts[0] == STAGING and len(parts) == 3)
    if (
        not is_inside
        or not all(_PLAIN_NAME.fullmatch(part) for part in parts[1:])
        or not path.endswith(".parquet")
    ):
        raise InternalError(f'"{path}" is not a data file of the table\'s folder')
    return path
