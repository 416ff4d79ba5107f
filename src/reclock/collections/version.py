"""One version of a collection's table: immutable, so that all reads of it are consistent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.error_intervals import ErrorIntervals, answered_through
from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, MINIMUM, Timestamp
from reclock.collections.consolidate import (
    advance_updates,
    consolidate_changes,
    consolidate_rows,
    stream_changes,
)
from reclock.collections.files import DataFile
from reclock.collections.folder import Folder
from reclock.collections.schema import arrow_schema
from reclock.errors import NotBegun, NotReadable, OutputFailed, VersionGone

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Version:
    """A collection at the commit ``number``, until vacuum deletes files that later commits dropped.
    The caller knows at which times it is complete: the published upper is in consensus."""

    id: StorageCollectionId
    number: int
    upper: Timestamp
    """The physical upper."""
    since: Timestamp
    """The physical since: times below it may have been merged in this version."""
    rewrites: int
    """How many commits up to this one replaced files."""
    desc: RelationDesc
    is_monotonic: bool
    folder: Folder
    all_files: tuple[DataFile, ...]
    begins: Timestamp = MINIMUM
    """Nothing is or will be known at earlier times. ``MAXIMUM`` until the collection has begun."""
    errors: ErrorIntervals = ()
    """The times at which it has an error instead of rows."""
    errors_path: str | None = None
    """The file that lists ``errors``; None if none was ever written."""

    @property
    def uri(self) -> str:
        return self.folder.uri

    @property
    def error_times(self) -> list[Timestamp]:
        """The times at which an error begins or ends."""
        bounds = [bound for interval in self.errors for bound in (interval.lower, interval.upper)]
        return [bound for bound in bounds if bound is not None]

    @property
    def answered_through(self) -> Timestamp | None:
        """The last time below the physical upper with rows and no error; None if there is none."""
        return answered_through(self.errors, self.upper)

    @property
    def without_errors(self) -> Version:
        """This version, with the rows from before an error during that error."""
        return replace(self, errors=())

    def check(self, at: Timestamp) -> None:
        """Raises ``NotBegun``, ``NotReadable``, ``OutputFailed`` or ``ErrorAtTime`` if it has no
        rows at ``at``."""
        if self.begins == MAXIMUM:
            raise NotBegun(str(self.id))
        if at < self.begins:
            raise NotReadable(str(self.id), at=at, since=self.begins, upper=self.upper)
        self._check_errors(at, Timestamp(at + 1))

    def _check_errors(self, lower: Timestamp, upper: Timestamp) -> None:
        for interval in self.errors:
            if interval.overlaps(lower, upper):
                error = interval.error()
                if isinstance(error, OutputFailed):
                    error.collection = str(self.id)
                raise error

    def files(self, *, lower: Timestamp | None = None, upper: Timestamp) -> list[DataFile]:
        """The files that may hold times in ``[lower, upper)``. They may hold other times too.

        Raises ``OutputFailed``, and ``ErrorAtTime`` if a time in ``[lower, upper)`` has an error;
        without ``lower``, only the last time is checked.
        """
        self.check(Timestamp(upper - 1))
        if lower is not None:
            self._check_errors(lower, upper)
        low = MINIMUM if lower is None else lower
        return [file for file in self.all_files if file.min_time < upper and file.max_time >= low]

    def snapshot(self, as_of: Timestamp) -> pa.Table:
        """The multiset at ``as_of``: the desc's columns and ``mz_diff``, the row's multiplicity,
        never zero.

        Rows are distinct, except in a monotonic collection: its rows come as they were written,
        each with a positive diff.
        """
        self.check(as_of)
        files = [file for file in self.all_files if file.min_time <= as_of]
        columns = arrow_schema(self.desc, with_updates=False)
        with self.reading():
            if not self.is_monotonic:
                return consolidate_rows(self.dataset(files), columns, as_of)
            names = [*self.desc.names, DIFF_COLUMN]
            condition = (
                None
                if all(file.max_time <= as_of for file in files)
                else pc.field(TIME_COLUMN) <= as_of
            )
            return self.dataset(files).to_table(columns=names, filter=condition)

    def changes(self, lower: Timestamp, upper: Timestamp) -> pa.Table:
        """The updates at times in ``[lower, upper)``, consolidated, in order of time.

        The desc's columns, ``mz_timestamp``, ``mz_diff``.
        """
        schema = arrow_schema(self.desc, with_updates=True)
        with self.reading():
            return consolidate_changes(
                self.dataset(self.files(lower=lower, upper=upper)), schema, lower, upper
            )

    def stream_changes(
        self, lower: Timestamp, upper: Timestamp, *, with_snapshot: bool = False
    ) -> pa.RecordBatchReader:
        """As ``changes``, batch by batch.
        ``with_snapshot`` adds all earlier updates, moved up to ``lower``."""
        schema = arrow_schema(self.desc, with_updates=True)
        self._check_errors(lower, upper)
        if with_snapshot:
            return advance_updates(self.dataset(self.files(upper=upper)), schema, lower, upper)
        return stream_changes(
            self.dataset(self.files(lower=lower, upper=upper)), schema, lower, upper
        )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raises ``VersionGone`` if the block fails and files of this version have been deleted."""
        try:
            yield
        except Exception as failure:
            paths = [file.path for file in self.all_files]
            if len(self.folder.sizes(paths)) < len(paths):
                raise VersionGone(str(self.id), version=self.number) from failure
            raise

    def updates(self, *, lower: Timestamp = MINIMUM, upper: Timestamp = MAXIMUM) -> Dataset:
        """The files that may hold times in ``[lower, upper)``, whole and unconsolidated.
        An engine scans them."""
        return self.dataset(self.files(lower=lower, upper=upper))

    def dataset(self, files: list[DataFile]) -> Dataset:
        """Some of this version's files as one Arrow dataset of updates. Reads nothing yet."""
        import pyarrow.dataset as pads  # loads pandas: half a second that only large reads pay

        parquet = pads.ParquetFileFormat()
        fragments = [parquet.make_fragment(file.path, self.folder.filesystem) for file in files]
        schema = arrow_schema(self.desc, with_updates=True)
        return pads.FileSystemDataset(fragments, schema, parquet, self.folder.filesystem)
