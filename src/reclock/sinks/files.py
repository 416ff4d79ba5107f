"""The files target: the changes of each time in a folder of their own, in Parquet, CSV or JSON.

A manifest names the files of one time and has the sink's progress. It is created last, under the
next number, which only one writer can create. What no manifest names is not part of the target.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import BIGINT, DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.folder import Folder
from reclock.errors import ClaimConflict, TargetChanged, TargetUnavailable
from reclock.failpoints import failpoint
from reclock.sinks.data_files import DataFiles
from reclock.sinks.manifests import Manifests
from reclock.sinks.target import Written


class FilesWriter:
    """Writes files and manifests (see ``reclock.sinks.target.Writer``). ``sink`` is unique among
    the sinks of all environments."""

    def __init__(
        self,
        folder: Folder,
        format: str,
        sink: str,
        desc: RelationDesc,
        manifests: Manifests,
    ) -> None:
        self._folder, self._sink = folder, sink
        columns = (*desc.stored.columns, Column(DIFF_COLUMN, BIGINT, False))
        self._files = DataFiles(folder, format, columns)
        self._manifests = manifests

    def begin(self) -> Timestamp | None:
        """See ``reclock.sinks.target.Writer``. After this writer's first manifest, an earlier
        writer's next one fails by its number."""
        with self._failures():
            manifest = self._manifests.newest()
        if manifest is None:
            return None
        self._check(manifest)
        return Timestamp(manifest["upper"])

    def emit(self, at: Timestamp, changes: pa.RecordBatchReader) -> Written:
        """See ``reclock.sinks.target.Writer``."""
        with self._failures():
            batches = (batch for batch in changes if batch.num_rows)
            files = list(self._files.write(batches, f"{TIME_COLUMN}={at}"))
            manifest = {"sink": self._sink, "time": at, "upper": at + 1}
            manifest |= self._files.described(files)
            failpoint("sinks.files.before_manifest")
            if not self._manifests.append(manifest):
                raise ClaimConflict(self._sink, detail="another writer has written a manifest")
            failpoint("sinks.files.after_manifest")
        return Written(sum(f["rows"] for f in files), sum(f["bytes"] for f in files))

    def close(self) -> None:
        """There is nothing to close."""

    def _check(self, manifest: dict[str, Any]) -> None:
        if manifest.get("sink") != self._sink:
            raise TargetChanged(f'the files at "{self._folder.uri}" are not of this sink')

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            raise TargetUnavailable(
                f'cannot write files at "{self._folder.uri}"', detail=str(failure)
            ) from failure
