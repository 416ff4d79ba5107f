"""The folder of one table, on a local disk or in an object store: names, files, and their durability."""

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
"""Hidden by its underscore from whatever lists the table's folder by itself."""

ERRORS = "_errors"
"""Where the times with an error are listed, a file for each append that has changed them."""

WRITE_BUFFER_BYTES = 1 << 20

_ATTEMPTS = 10

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Folder:
    """Files under one root, addressed by paths relative to it. ``uri`` is an absolute path or ``s3://…``, no slash at its end."""

    def __init__(self, uri: str, storage_options: Mapping[str, str] | None = None) -> None:
        uri = uri.removeprefix("file://").rstrip("/")
        self.is_local = "://" not in uri
        self.uri = os.path.abspath(uri) if self.is_local else uri
        self.storage_options = dict(storage_options or {})
        self._named: set[PurePosixPath] = set()
        """Folders whose own names are known to be on the disk."""

    @cached_property
    def filesystem(self) -> pafs.FileSystem:
        """A file system whose root is this folder."""
        if self.is_local:
            return pafs.SubTreeFileSystem(self.uri, pafs.LocalFileSystem())
        return pafs.PyFileSystem(DeltaStorageHandler(self.uri, self.storage_options))

    def absolute(self, path: str) -> str:
        return f"{self.uri}/{path}"

    def make(self) -> list[str]:
        """Make a local folder; the folders to flush so that all new names survive, from this one up. Object stores have none."""
        if not self.is_local:
            return []
        chain = [self.uri]
        while len(chain) < 3 or not os.path.isdir(chain[-1]):
            chain.append(os.path.dirname(chain[-1]))
        os.makedirs(self.uri, exist_ok=True)
        return chain

    def make_parent(self, path: str) -> None:
        """The folder that will hold the file ``path``. Object stores have none."""
        if self.is_local:
            os.makedirs(os.path.dirname(self.absolute(path)), exist_ok=True)

    def sync(self, paths: Collection[str]) -> None:
        """Guarantees that these files, and the names that lead to them from the root, survive a loss of power.

        An object store does that by itself.
        """
        if not self.is_local:
            return
        for path in paths:
            fsync(self.absolute(path))
        for parent in {PurePosixPath(path).parent for path in paths}:
            fsync(self.absolute(str(parent)))
            if parent not in self._named:
                for above in parent.parents:
                    fsync(self.absolute(str(above)))
                self._named.add(parent)

    def replace(self, path: str, content: bytes) -> None:
        """The file ``path`` has this content, durably. A reader beside this finds all of it, or what was there before."""
        self.make_parent(path)
        written = f"{path}.{uuid4().hex}" if self.is_local else path
        with self.filesystem.open_output_stream(written) as file:
            file.write(content)
        if self.is_local:
            fsync(self.absolute(written))
            os.replace(self.absolute(written), self.absolute(path))
        self.sync([path])

    def exists(self, path: str) -> bool:
        """Whether a folder is there. An object store has no folders: always true there."""
        return not self.is_local or os.path.isdir(self.absolute(path))

    def sizes(self, paths: Iterable[str]) -> dict[str, int]:
        """Bytes of those files that are there."""
        infos = self.filesystem.get_file_info(list(paths))
        return {info.path: info.size for info in infos if info.type == pafs.FileType.File}

    def walk(self, path: str) -> list[pafs.FileInfo]:
        """Every file below ``path``; none if it is not there."""
        selector = pafs.FileSelector(path, allow_not_found=True, recursive=True)
        return [info for info in self.filesystem.get_file_info(selector) if info.type == pafs.FileType.File]

    def open_to_write(self, path: str) -> pa.NativeFile:
        """The file, new and empty. Buffered, since an object store's stream does not take Arrow's own buffers: pieces that
        are written should be smaller than ``WRITE_BUFFER_BYTES``."""
        return self.filesystem.open_output_stream(path, buffer_size=WRITE_BUFFER_BYTES)

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files; one that is gone already is no error."""
        for path in paths:
            try:
                self.filesystem.delete_file(path)
            except FileNotFoundError:
                continue

    def prune(self, path: str) -> None:
        """Remove ``path`` and the folders below it that are empty. Object stores have none."""
        if self.is_local:
            for folder, _, _ in os.walk(self.absolute(path), topdown=False):
                with suppress(OSError):
                    os.rmdir(folder)

    def hide(self, path: str) -> None:
        """Take a folder's name away before its files go, so that nobody sees it half gone. Object stores delete at once."""
        if not self.is_local:
            self.delete_folder(path)
        elif self.exists(path):
            os.rename(self.absolute(path), self.absolute(f"{path}.{uuid4().hex}"))
            fsync(self.uri)

    def delete_folder(self, path: str) -> None:
        """Remove a folder and all that is in it; one that is gone already is no error."""
        if not self.is_local:
            self.delete(info.path for info in self.walk(path))
            return
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self.filesystem.delete_dir(path)
                return
            except FileNotFoundError:
                return
            except OSError as failure:  # a writer that does not know yet puts files there
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
    """A new name for the files of a table's rewrite ``number``; vacuum tells by it whether one may still be committed."""
    return f"rewrite-{number}-{uuid4().hex}"


def rewrite_number(path: str) -> int | None:
    """The number of the rewrite that a data file was written for, whether staged or not."""
    match = re.match(rf"(?:{DATA}|{STAGING})/rewrite-(\d+)-[0-9a-f]+[./]", path)
    return int(match[1]) if match else None


def errors_path(upper: int) -> str:
    """The list of the times with an error that the append to ``upper`` leaves."""
    return f"{ERRORS}/{upper}.json"


def errors_upper(path: str) -> int | None:
    """The upper of the append that such a list, or an unfinished one, was written for."""
    match = re.match(rf"{ERRORS}/(\d+)\.json", path)
    return int(match[1]) if match else None


def staging_path(name: str) -> str:
    """The folder of the staged files called ``name``. Raises ``InternalError`` unless it is a plain name."""
    if not _PLAIN_NAME.fullmatch(name):
        raise InternalError(f'staging name "{name}" is not plain', detail="letters and digits; after the first also . _ -")
    return f"{STAGING}/{name}"


def check_data_path(path: str) -> str:
    """The path itself, if it names a data file inside the table's folder by plain names. Raises ``InternalError`` otherwise."""
    parts = path.split("/")
    is_inside = (parts[0] == DATA and len(parts) == 2) or (parts[0] == STAGING and len(parts) == 3)
    if not is_inside or not all(_PLAIN_NAME.fullmatch(part) for part in parts[1:]) or not path.endswith(".parquet"):
        raise InternalError(f'"{path}" is not a data file of the table\'s folder')
    return path
