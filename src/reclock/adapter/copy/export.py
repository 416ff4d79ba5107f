"""COPY into files: the rows of a query in a folder that was empty, and then a manifest of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from itertools import chain
from pathlib import PurePosixPath
from uuid import uuid4

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.algebra.timestamps import Timestamp
from reclock.collections.folder import Folder
from reclock.collections.schema import arrow_schema
from reclock.compute.engines.engine import cast_to
from reclock.errors import PermissionDenied, TargetComplete, TargetNotEmpty
from reclock.failpoints import failpoint
from reclock.sinks.data_files import DataFiles
from reclock.sinks.factory import SinkContext, bucket_folder, own_folder
from reclock.sinks.manifests import Manifests
from reclock.sql.statements.copy.plan import CopyToFiles


def export(statement: CopyToFiles, context: SinkContext, run: Callable[[], Result]) -> int:
    """Write the rows of ``run``; returns how many. When this returns, they are durable, and the
    folder has a manifest that names all of its files. If it fails, it deletes what it wrote.

    Raises ``TargetNotEmpty``, ``TargetComplete``, and ``PermissionDenied`` if no setting allows the folder.
    """
    folder, manifests = _target(statement, context)
    if folder.walk(""):
        raise TargetNotEmpty(folder.uri)
    for outer in _outer_folders(statement):
        outer_folder, outer_manifests = _target(outer, context)
        if outer_manifests.newest() is not None:
            raise TargetComplete(outer_folder.uri)
    desc = statement.select.desc.exported
    schema = arrow_schema(desc, with_updates=False)
    files = DataFiles(folder, statement.format, desc.columns, file_bytes=statement.file_bytes)
    may_be_complete = False
    try:
        with closing(run()) as result:
            # an empty batch first: a query without rows leaves a file with its columns
            empty = pa.RecordBatch.from_pylist([], schema)
            rows = (cast_to(batch, schema) for batch in result.batches)
            written = list(files.write(chain([empty], rows), ""))
        failpoint("copy.files.before_manifest")
        may_be_complete = True  # if the answer of the store is lost
        may_be_complete = _complete(manifests, result.at, files.described(written))
        if not may_be_complete:
            raise TargetNotEmpty(folder.uri)
        failpoint("copy.files.after_manifest")
    finally:
        if not may_be_complete:
            with suppress(OSError):
                folder.delete(files.paths)
    return sum(file["rows"] for file in written)


def _outer_folders(statement: CopyToFiles) -> Iterator[CopyToFiles]:
    """The statement with each of the folders that its folder lies in, without the root or
    bucket."""
    scheme, separator, path = statement.folder.rpartition("://")
    bucket, slash, path = path.partition("/") if separator else ("", "", path)
    for outer in PurePosixPath(path).parents:
        if outer.name:
            yield replace(statement, folder=f"{scheme}{separator}{bucket}{slash}{outer}")


def _target(statement: CopyToFiles, context: SinkContext) -> tuple[Folder, Manifests]:
    if statement.connection is not None:
        return bucket_folder(statement.folder, statement.connection, context.resolve_secret)
    root = context.settings.exports
    if not root:
        raise PermissionDenied(
            "COPY into a folder is not allowed here",
            hint="the setting exports names the folder below which COPY may write; "
            "a bucket needs AWS CONNECTION",
        )
    folder, manifests = own_folder(root, statement.folder, context.settings)
    real = os.path.realpath(root)
    if folder.is_local and not os.path.realpath(folder.uri).startswith(f"{real}/"):
        raise PermissionDenied(f'"{statement.folder}" leads out of the folder for COPY')
    return folder, manifests


def _complete(manifests: Manifests, at: Timestamp | None, described: dict[str, object]) -> bool:
    """Create the manifest. False if another COPY has created its own."""
    copy = uuid4().hex
    if manifests.append({"copy": copy, "time": at, **described}):
        return True
    first = manifests.newest()  # a client that repeats a request may meet its own manifest
    return first is not None and first.get("copy") == copy
