"""Manifests: a numbered sequence of small files, each created exactly once by one writer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from reclock.collections.folder import Folder, fsync

MANIFESTS = "_manifests"
"""The underscore hides the folder from programs that read every file below the target's folder."""

_NEWEST = f"{MANIFESTS}/_newest"
"""The number of a recent manifest, so that the newest is found without a listing."""

_EXISTS = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})

S3Client = Callable[[], Any]


class Manifests:
    """The manifests in a folder. ``client`` makes a client of S3, for a folder there."""

    def __init__(self, folder: Folder, client: S3Client) -> None:
        self._folder, self._client = folder, client
        self._number = 0

    def newest(self) -> dict[str, Any] | None:
        """The newest manifest; None if there is none."""
        self._number = self._recent()
        while self._exists(self._number + 1):
            self._number += 1
        if not self._number:
            return None
        with self._folder.filesystem.open_input_stream(_path(self._number)) as file:
            manifest: dict[str, Any] = json.loads(file.read())
        return manifest

    def append(self, manifest: dict[str, Any]) -> bool:
        """Durably create the manifest that follows the one seen last. False if another writer has
        created one."""
        content = json.dumps(manifest, indent=1).encode()
        if not self._create(_path(self._number + 1), content):
            return False
        self._number += 1
        self._folder.replace(_NEWEST, str(self._number).encode())
        return True

    def _recent(self) -> int:
        if self._folder.sizes([_NEWEST]):
            with self._folder.filesystem.open_input_stream(_NEWEST) as file:
                number = int(file.read())
            if self._exists(number):
                return number
        return max((_number(info.path) for info in self._folder.walk(MANIFESTS)), default=0)

    def _exists(self, number: int) -> bool:
        return bool(self._folder.sizes([_path(number)]))

    def _create(self, path: str, content: bytes) -> bool:
        if not self._folder.is_local:
            return self._put_object(path, content)
        self._folder.make_parent(path)
        staged = self._folder.absolute(f"{MANIFESTS}/_{uuid4().hex}")
        with open(staged, "xb") as file:
            file.write(content)
        fsync(staged)
        try:
            os.link(staged, self._folder.absolute(path))
        except FileExistsError:
            return False
        finally:
            os.unlink(staged)
        self._folder.sync([path])
        return True

    def _put_object(self, path: str, content: bytes) -> bool:
        from botocore.exceptions import ClientError

        bucket, _, key = self._folder.absolute(path).partition("://")[2].partition("/")
        try:
            self._client().put_object(Bucket=bucket, Key=key, Body=content, IfNoneMatch="*")
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _EXISTS:
                return False
            raise OSError(str(error)) from error
        return True


def _path(number: int) -> str:
    return f"{MANIFESTS}/{number:020}.json"


def _number(path: str) -> int:
    """The number of the manifest at this path, or 0 if the file is none."""
    name = path.rpartition("/")[2].removesuffix(".json")
    return int(name) if name.isdecimal() else 0
