"""A definite collection in the lake: one Delta table that only compare-and-append changes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from reclock.algebra.error_intervals import ErrorIntervals, decode, encode, with_error, without_past
from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import MAXIMUM, MINIMUM, Timestamp
from reclock.collections.delta_log import DeltaLog, add, remove
from reclock.collections.files import DataFile, StagedFile, read_footer, write_file
from reclock.collections.folder import DATA, LOG, Folder, check_data_path, errors_path, staging_path
from reclock.collections.schema import arrow_schema, decode_desc
from reclock.collections.version import Version
from reclock.errors import (
    CollectionDamaged,
    InternalError,
    NotReadable,
    OutputFailed,
    UnknownCollection,
    UpperMismatch,
)
from reclock.failpoints import failpoint

DESC_PROPERTY = "reclock.desc"
MONOTONIC_PROPERTY = "reclock.is_monotonic"
INCARNATION_PROPERTY = "reclock.incarnation"

_ATTEMPTS = 100
"""After how many conflicting commits that keep the upper a commit gives up."""


class Collection:
    """An append-only changelog, complete below its physical upper.
    Safe for threads and processes."""

    def __init__(self, id: StorageCollectionId, folder: Folder, log: DeltaLog) -> None:
        properties = log.properties
        if DESC_PROPERTY not in properties:
            raise InternalError(f'the table at "{folder.uri}" is not a collection')
        self.id = id
        self.desc: RelationDesc = decode_desc(properties[DESC_PROPERTY])
        self.is_monotonic = properties[MONOTONIC_PROPERTY] == "true"
        self.incarnation = properties.get(INCARNATION_PROPERTY, "")
        self.folder = folder
        self._schema = arrow_schema(self.desc, with_updates=True)
        self._log = log
        self._lock = threading.Lock()
        self._pinned: Version | None = None
        self._complete_below = MINIMUM
        """The pinned version has every update below this time."""

    @property
    def uri(self) -> str:
        return self.folder.uri

    # --- reading ---

    def upper(self) -> Timestamp:
        """The physical upper now, as the last append moved it; 0 before the first.
        It is durable."""
        with self._lock:
            self._refresh()
            self._log.make_durable()
            return self._upper()

    def pin(self) -> Version:
        """The newest version of the table."""
        with self._lock:
            return self._pin()

    def pin_at(self, at: Timestamp, upper: Timestamp) -> Version:
        """A version that is exact at ``at``, below ``upper``, which was published before the call.
        It reads the log only if the pinned version may not reach ``at``. Raises ``NotReadable`` if
        times beyond ``at`` have been merged, and what ``Version.check`` raises."""
        with self._lock:
            version = self._pinned
            if version is None or at >= self._complete_below:
                version = self._pin()
                self._complete_below = max(self._complete_below, upper)
        if at < version.since:
            raise NotReadable(self.id.group, at=at, since=version.since, upper=version.upper)
        version.check(at)
        return version

    def _pin(self) -> Version:
        number = self._refresh()
        if self._pinned is None or self._pinned.number != number:
            with self._naming_damage():
                self._pinned = Version(
                    self.id,
                    number,
                    self._upper(),
                    self._since(),
                    self._rewrites(),
                    self.desc,
                    self.is_monotonic,
                    self.folder,
                    self._log.files(),
                    self._begins(),
                    self._errors(),
                    self._errors_path(),
                )
        return self._pinned

    # --- appending ---

    def append(
        self,
        updates: pa.Table,
        *,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        errors: ErrorIntervals | None = None,
    ) -> None:
        """Append ``updates`` and move the upper, in one durable commit.

        Their times lie in ``[expected_upper, new_upper)``.
        Of all appends at one ``expected_upper`` at most one succeeds; the others raise
        ``UpperMismatch``. An append whose outcome is unknown can safely be repeated: if it was
        committed, the error reports ``new_upper`` as the upper found. ``updates`` has the desc's
        columns, ``mz_timestamp`` and ``mz_diff``, in any order; zero diffs are left out.

        ``errors``, if given, replaces the list of times with an error.
        """
        checked = self._check(updates)
        if not checked.num_rows:
            self.seal(expected_upper=expected_upper, new_upper=new_upper, errors=errors)
            return
        with self._lock:
            self._expect_known(expected_upper)
        path = f"{DATA}/append-{expected_upper}-{uuid4().hex}.parquet"
        failpoint("collections.append.before_write")
        file = write_file(self.folder, path, [checked], self._schema)
        failpoint("collections.append.before_commit")
        self.append_files([file], expected_upper=expected_upper, new_upper=new_upper, errors=errors)
        failpoint("collections.append.after_commit")

    def append_files(
        self,
        files: Sequence[StagedFile],
        *,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        begins: Timestamp | None = None,
        errors: ErrorIntervals | None = None,
    ) -> None:
        """Append the updates in ``files``, from ``staged``. Guarantees what ``append`` does.
        A collection that joined its group late becomes readable from ``begins`` on."""
        if not MINIMUM <= expected_upper < new_upper:
            raise InternalError(
                f'upper of "{self.id}" cannot move from {expected_upper} to {new_upper}'
            )
        self._check_files(files)
        for file in files:
            if not expected_upper <= file.min_time <= file.max_time < new_upper:
                raise InternalError(
                    f'"{file.path}" has times that an append to "{self.id}" cannot have',
                    detail=(
                        f"found [{file.min_time}, {file.max_time}], allowed "
                        f"[{expected_upper}, {new_upper})"
                    ),
                )
        actions = [add(file) for file in files]
        transactions = {str(self.id): new_upper} | (
            {self._begins_key: begins} if begins is not None else {}
        )
        if errors is not None:
            self._write_errors(errors, new_upper)
            transactions[self._errors_key] = new_upper
        with self._lock:
            self._expect_known(expected_upper)
            for _ in range(_ATTEMPTS):
                self._expect(expected_upper)
                if self._log.commit(actions, transactions):
                    return
        raise InternalError(
            f'no append to "{self.id}" in {_ATTEMPTS} attempts, although its upper is '
            f"still {expected_upper}"
        )

    def seal(
        self,
        *,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        errors: ErrorIntervals | None = None,
    ) -> None:
        """Append no updates: there are none at times in ``[expected_upper, new_upper)``."""
        self.append_files([], expected_upper=expected_upper, new_upper=new_upper, errors=errors)

    # --- staging ---

    def staging_uri(self, name: str) -> str:
        """Where a job writes the Parquet files called ``name``.
        Nothing reads them before they are appended."""
        return self.folder.absolute(staging_path(name))

    def staged(self, name: str) -> list[StagedFile]:
        """The staged files called ``name`` that hold rows, described by footer, in order of path.

        They are durable when this returns. Other files that a job left are ignored. Raises
        ``InternalError`` if a file does not have the collection's columns, or has a deletion
        although the collection is monotonic.
        """
        folder = staging_path(name)
        infos = [
            info
            for info in self.folder.walk(folder)
            if info.path.removeprefix(f"{folder}/") == info.base_name
            and info.base_name.endswith(".parquet")
            and not info.base_name.startswith(("_", "."))
        ]
        described = [
            read_footer(self.folder, info.path, info.size, self._schema)
            for info in sorted(infos, key=lambda info: info.path)
        ]
        files = [file for file in described if file is not None]
        self._check_files(files)
        self.folder.sync([file.path for file in files])
        return files

    def discard_staged(self, name: str) -> None:
        """Delete the staged files called ``name``, so that the name can be used again. Files that
        were appended stay."""
        path = staging_path(name)
        appended = {file.path for file in self.pin().all_files if file.path.startswith(f"{path}/")}
        if appended:
            self.folder.delete(
                info.path for info in self.folder.walk(path) if info.path not in appended
            )
        else:
            self.folder.delete_folder(path)

    # --- rewriting ---

    def replace(
        self,
        version: Version,
        removed: Sequence[DataFile],
        added: Sequence[StagedFile],
        *,
        since: Timestamp = MINIMUM,
        at: Timestamp,
    ) -> bool:
        """Replace ``removed``, files of ``version``, by ``added`` at the wall-clock time ``at``.
        The upper stays. Times below ``since`` were merged. Appends since ``version`` do not
        conflict. Returns False if another rewrite came first: decide again on a new version."""
        actions: list[AddAction | RemoveAction] = [remove(file, at) for file in removed]
        actions += [add(file, is_new_data=False) for file in added]
        transactions = {
            self._rewrites_key: version.rewrites + 1,
            self._since_key: max(since, version.since),
        }
        with self._lock:
            self._refresh()
            for _ in range(_ATTEMPTS):
                if self._rewrites() != version.rewrites:
                    return False
                if self._log.commit(actions, transactions):
                    return True
        return False

    def dropped_since(self, moment: Timestamp) -> frozenset[str]:
        """The paths of files that rewrites dropped at the wall-clock time ``moment`` or later."""
        with self._lock:
            self._refresh()
            return self._log.dropped_since(moment)

    def stored_bytes(self) -> int:
        """Bytes of all files of the table's folder, with the log and files that wait for vacuum."""
        return sum(info.size for info in self.folder.walk(""))

    def checkpoint(self) -> None:
        """Write the log's newest state to one file, so that opening stays fast."""
        with self._lock:
            self._refresh()
            self._log.checkpoint()

    # --- inside ---

    @property
    def _rewrites_key(self) -> str:
        return f"{self.id}#rewrites"

    def _rewrites(self) -> int:
        return self._log.transaction(self._rewrites_key) or 0

    @property
    def _since_key(self) -> str:
        return f"{self.id}#since"

    def _since(self) -> Timestamp:
        return Timestamp(self._log.transaction(self._since_key) or 0)

    @property
    def _begins_key(self) -> str:
        return f"{self.id}#begins"

    def _begins(self) -> Timestamp:
        if self.id.guest is None:
            return MINIMUM
        at = self._log.transaction(self._begins_key)
        return MAXIMUM if at is None else Timestamp(at)

    @property
    def _errors_key(self) -> str:
        return f"{self.id}#errors"

    def _errors_path(self) -> str | None:
        """The file that the last append with errors wrote, named by that append's upper."""
        upper = self._log.transaction(self._errors_key)
        return None if upper is None else errors_path(upper)

    def _errors(self) -> ErrorIntervals:
        path = self._errors_path()
        if path is None:
            return self._recorded_failure(())
        with self.folder.filesystem.open_input_stream(path) as file:
            return self._recorded_failure(decode(file.read()))

    def _recorded_failure(self, errors: ErrorIntervals) -> ErrorIntervals:
        """``errors``, and the error that lasts since an earlier release recorded it in a file
        of its own. Later appends with errors include it."""
        at = self._log.transaction(f"{self.id}#failed")
        if at is None or at < (self._log.transaction(self._errors_key) or 0):
            return errors
        with self.folder.filesystem.open_input_stream(f"_failures/{at}.json") as file:
            failure = OutputFailed(**json.loads(file.read()))
        return with_error(errors, Timestamp(at), failure, is_first=False)

    def _write_errors(self, errors: ErrorIntervals, new_upper: Timestamp) -> None:
        """Durable when this returns, so before the commit that names the file.
        Another writer at the same upper would write the same content."""
        self.folder.replace(errors_path(new_upper), encode(without_past(errors, self._since())))

    def _upper(self) -> Timestamp:
        with self._naming_damage():
            return Timestamp(self._log.transaction(str(self.id)) or 0)

    def _refresh(self) -> int:
        if not self.folder.exists(LOG):
            raise UnknownCollection(str(self.id))
        with self._naming_damage():
            return self._log.refresh()

    @contextmanager
    def _naming_damage(self) -> Iterator[None]:
        """Raises ``CollectionDamaged`` where the log cannot be read. An open log has only a part of
        itself in memory."""
        try:
            yield
        except DeltaError as failure:
            raise CollectionDamaged(
                str(self.id), detail=str(failure).partition("\n")[0]
            ) from failure

    def _expect(self, expected_upper: Timestamp) -> None:
        upper = self._upper()
        if upper != expected_upper:
            raise UpperMismatch(str(self.id), expected=expected_upper, found=upper)

    def _expect_known(self, expected_upper: Timestamp) -> None:
        """As ``_expect``, without reading the log if the version last seen has this upper: a commit
        on top of a version that is not the newest fails, and reads the log then."""
        if self._upper() != expected_upper or not self.folder.exists(LOG):
            self._refresh()
            self._expect(expected_upper)

    def _check(self, updates: pa.Table) -> pa.Table:
        """The updates, cast to the collection's schema, without zero diffs.
        Raises ``InternalError``."""
        try:
            rows = updates.select(self._schema.names).cast(self._schema)
        except (KeyError, ValueError, NotImplementedError) as error:
            raise InternalError(f'updates do not fit "{self.id}"', detail=str(error)) from error
        if updates.num_columns != len(self._schema):
            raise InternalError(
                f'updates do not fit "{self.id}"',
                detail=f"they have the columns {updates.column_names}",
            )
        for field in self._schema:
            if not field.nullable and rows[field.name].null_count:
                raise InternalError(
                    f'updates do not fit "{self.id}"', detail=f'column "{field.name}" has NULLs'
                )
        return rows.filter(pc.field(DIFF_COLUMN) != 0)

    def _check_files(self, files: Sequence[StagedFile]) -> None:
        """Raise ``InternalError`` unless every file is whole, in the folder, and fits the desc."""
        sizes = self.folder.sizes([check_data_path(file.path) for file in files])
        required = [column.name for column in self.desc.columns if not column.is_nullable] + [
            TIME_COLUMN,
            DIFF_COLUMN,
        ]
        for file in files:
            if sizes.get(file.path) != file.size_bytes:
                raise InternalError(
                    f'"{file.path}" is missing or cut',
                    detail=f"found {sizes.get(file.path, 0)} of {file.size_bytes} bytes",
                )
            for name in required:
                if file.null_counts.get(name) != 0:
                    raise InternalError(
                        f'"{file.path}" does not fit "{self.id}"',
                        detail=f'column "{name}" may have NULLs',
                    )
            if self.is_monotonic and file.min_diff <= 0:
                raise InternalError(
                    f'"{file.path}" does not fit "{self.id}"',
                    detail="it has deletions, the collection has none",
                )
