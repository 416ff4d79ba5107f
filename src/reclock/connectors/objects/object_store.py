"""Buckets of objects, which can be listed and read by range: local folders, or an S3 endpoint. They
are values that are pickled and sent to executors."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from botocore.client import BaseClient

CHUNK_BYTES = 8 << 20
"""How many bytes are read at once."""


@dataclass(frozen=True, slots=True)
class ListedObject:
    """An object as a listing shows it, last written at ``modified_at``. Its bytes are unchanged as
    long as its ``version`` is."""

    key: str
    size: int
    version: str
    modified_at: Timestamp = MINIMUM


class ObjectMissing(UpstreamUnavailable):
    """The bucket exists, but the object does not, or it is shorter than the range to read."""

    sqlstate = "58P01"

    def __init__(self, bucket: str, key: str, *, detail: str | None = None) -> None:
        super().__init__(f'cannot read object "{key}" of bucket "{bucket}"', detail=detail)
        self.key = key


class ObjectStore(Protocol):
    """A store of buckets. One suite of tests checks both implementations."""

    def list(self, bucket: str, prefix: str = "") -> list[ListedObject]:
        """The objects whose keys begin with ``prefix``, in order of key. Raises
        ``UpstreamUnavailable``."""

    def find(self, bucket: str, key: str) -> ListedObject | None:
        """One object as a listing would show it, or None if it does not exist. Raises
        ``UpstreamUnavailable``."""

    def described(self, bucket: str) -> str:
        """The place of the bucket and the kind of credentials in use, without secrets, as text."""

    def read(self, bucket: str, key: str, lower: int, upper: int) -> Iterator[bytes]:
        """The bytes ``[lower, upper)`` of an object, in chunks. Raises ``ObjectMissing`` if it has
        fewer bytes, and ``UpstreamUnavailable``."""


def open_object_store(
    root: str,
    *,
    endpoint: str = "",
    region: str = "us-east-1",
    access_key_id: str = "",
    secret_access_key: str = "",
) -> ObjectStore:
    """The buckets at ``root``: the subfolders of a folder, or for ``s3://`` the buckets of an S3
    endpoint (by default AWS)."""
    if root.startswith("s3://"):
        return S3Buckets(endpoint, region, access_key_id, secret_access_key)
    return LocalBuckets(root)


@dataclass(frozen=True, slots=True)
class LocalBuckets:
    """Each subfolder of ``root`` is a bucket. Nothing outside of a bucket can be reached through
    it, neither by ``..`` nor by a link.

    The version of a file changes with its time of change, size or inode. (If a file is overwritten
    in place with the same number of bytes within one tick of the kernel's clock, no reader of the
    file system can tell.)
    """

    root: str

    def list(self, bucket: str, prefix: str = "") -> list[ListedObject]:
        folder = self._bucket(bucket)
        start = folder / prefix.rpartition("/")[0]
        try:
            if not _is_inside(start, folder):
                return []
            objects = [self._listed(path, folder) for path in _files(start, folder)]
        except OSError as error:
            raise UpstreamUnavailable(
                f'cannot list bucket "{bucket}"', detail=str(error)
            ) from error
        return sorted((o for o in objects if o and o.key.startswith(prefix)), key=lambda o: o.key)

    def find(self, bucket: str, key: str) -> ListedObject | None:
        return next(
            (listed_object for listed_object in self.list(bucket, key) if listed_object.key == key),
            None,
        )

    def described(self, bucket: str) -> str:
        return f'folder "{self._bucket(bucket)}"'

    def read(self, bucket: str, key: str, lower: int, upper: int) -> Iterator[bytes]:
        folder = self._bucket(bucket)
        path = folder / key
        if key.startswith("/") or ".." in key.split("/") or not _is_inside(path, folder):
            raise ObjectMissing(bucket, key, detail="its path leaves the bucket")
        try:
            with path.open("rb", buffering=0) as file:
                file.seek(lower)
                while lower < upper:
                    chunk = file.read(min(CHUNK_BYTES, upper - lower))
                    if not chunk:
                        raise ObjectMissing(
                            bucket, key, detail=f"it ends at byte {lower}, expected {upper}"
                        )
                    lower += len(chunk)
                    yield chunk
        except OSError as error:
            raise ObjectMissing(bucket, key, detail=error.strerror) from error

    def _bucket(self, bucket: str) -> Path:
        folder = Path(self.root) / bucket
        if (
            not bucket
            or bucket in (".", "..")
            or "/" in bucket
            or "\0" in bucket
            or not folder.is_dir()
        ):
            raise UpstreamUnavailable(
                f'bucket "{bucket}" does not exist',
                hint=f'buckets are the folders of "{self.root}"',
            )
        return folder

    @staticmethod
    def _listed(path: Path, folder: Path) -> ListedObject | None:
        try:
            status = path.stat()
        except FileNotFoundError:  # a link to nowhere, or gone since the folder was read
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        version = f"{status.st_mtime_ns}-{status.st_ctime_ns}-{status.st_size}-{status.st_ino}"
        key = path.relative_to(folder).as_posix()
        modified_at = Timestamp(status.st_mtime_ns // 1_000_000)
        return ListedObject(key, status.st_size, version, modified_at)


def _files(start: Path, folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(start, onerror=_raise):
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(parent, name))]
        for name in files:
            path = Path(parent, name)
            if not path.is_symlink() or _is_inside(path, folder):
                yield path


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # a prefix that no object has is no error
        raise error


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


@dataclass(frozen=True, slots=True)
class S3Buckets:
    """The buckets of an S3 endpoint. Without credentials it uses the AWS provider chain."""

    endpoint: str
    region: str
    access_key_id: str = ""
    secret_access_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)

    def list(self, bucket: str, prefix: str = "") -> list[ListedObject]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            pages = (
                self._client()
                .get_paginator("list_objects_v2")
                .paginate(Bucket=bucket, Prefix=prefix)
            )
            objects = [_listed(entry) for page in pages for entry in page.get("Contents", ())]
        except ClientError as error:
            if _code(error) == "NoSuchBucket":
                raise UpstreamUnavailable(f'bucket "{bucket}" does not exist') from error
            raise UpstreamUnavailable(
                f'cannot list bucket "{bucket}"', detail=str(error)
            ) from error
        except BotoCoreError as error:
            raise UpstreamUnavailable(
                f'cannot list bucket "{bucket}"', detail=str(error)
            ) from error
        return sorted(objects, key=lambda o: o.key)

    def find(self, bucket: str, key: str) -> ListedObject | None:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            head = self._client().head_object(Bucket=bucket, Key=key)
        except (BotoCoreError, ClientError) as error:
            if isinstance(error, ClientError) and _code(error) in ("404", "NoSuchKey"):
                return None
            raise UpstreamUnavailable(
                f'cannot read object "{key}" of bucket "{bucket}"', detail=str(error)
            ) from error
        return _listed({**head, "Key": key, "Size": head["ContentLength"]})

    def described(self, bucket: str) -> str:
        place = f'bucket "{bucket}" at {self.endpoint or f"AWS, region {self.region}"}'
        if self.access_key_id:
            return f'{place}, with the access key "{self.access_key_id}"'
        from boto3.session import Session

        credentials = Session().get_credentials()
        if credentials is None:
            return f"{place}, without credentials: none were found in the AWS chain"
        return (
            f'{place}, with the access key "{credentials.access_key}" from '
            f"{credentials.method} of the AWS chain"
        )

    def read(self, bucket: str, key: str, lower: int, upper: int) -> Iterator[bytes]:
        from botocore.exceptions import BotoCoreError, ClientError

        if lower >= upper:
            return
        try:
            # one request, and so one state of the object
            answer = self._client().get_object(
                Bucket=bucket, Key=key, Range=f"bytes={lower}-{upper - 1}"
            )
            for chunk in answer["Body"].iter_chunks(CHUNK_BYTES):
                lower += len(chunk)
                yield chunk
        except ClientError as error:
            if _code(error) in ("NoSuchKey", "InvalidRange", "NoSuchBucket", "404", "416"):
                raise ObjectMissing(bucket, key, detail=str(error)) from error
            raise UpstreamUnavailable(
                f'cannot read object "{key}" of bucket "{bucket}"', detail=str(error)
            ) from error
        except BotoCoreError as error:
            raise UpstreamUnavailable(
                f'cannot read object "{key}" of bucket "{bucket}"', detail=str(error)
            ) from error
        if lower < upper:
            raise ObjectMissing(bucket, key, detail=f"it ends at byte {lower}, expected {upper}")

    def _client(self) -> BaseClient:
        return s3_client(
            self.endpoint,
            self.region,
            self.access_key_id,
            self.secret_access_key,
            self.session_token,
        )


def _listed(entry: Mapping[str, Any]) -> ListedObject:
    return ListedObject(
        entry["Key"],
        entry["Size"],
        entry["ETag"],
        Timestamp(int(entry["LastModified"].timestamp() * 1000)),
    )


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def s3_arguments(client: Mapping[str, str]) -> tuple[str, str, str, str, str]:
    """The arguments of ``s3_client``, from the settings of an AWS service client."""
    return (
        client.get("endpoint_url", ""),
        client.get("region_name", "us-east-1"),
        client.get("aws_access_key_id", ""),
        client.get("aws_secret_access_key", ""),
        client.get("aws_session_token", ""),
    )


@lru_cache(maxsize=32)
def s3_client(
    endpoint: str, region: str, access_key_id: str, secret_access_key: str, session_token: str
) -> BaseClient:
    from boto3.session import Session
    from botocore.config import Config

    return Session().client(  # the default session is not safe for threads
        "s3",
        endpoint_url=endpoint or None,
        region_name=region,
        aws_access_key_id=access_key_id or None,
        aws_secret_access_key=secret_access_key or None,
        aws_session_token=session_token or None,
        config=Config(
            connect_timeout=5,
            read_timeout=60,
            max_pool_connections=32,
            retries={"max_attempts": 3, "mode": "standard"},
            s3={"addressing_style": "path"} if endpoint else {},
        ),
    )
