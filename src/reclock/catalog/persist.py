"""Persist: the catalog's changelog in one Delta table of the lake.

Every write is one commit at an exact version. Its application transactions carry all that decides
the next write: the upper, the epoch and the deploy generation. So a writer needs only the table's
log, no data. They also carry the number of updates that the table then has. It reveals a log entry
that was later cut or emptied, which Delta itself would ignore.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar
from uuid import UUID, uuid4, uuid5

import pyarrow.compute as pc
import structlog
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from reclock.algebra.relations import TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.catalog import persist_table, update_files
from reclock.catalog.compaction import plan_rewrite
from reclock.catalog.encoding import CatalogUpdate
from reclock.catalog.known_updates import KnownUpdates
from reclock.catalog.log import Beside
from reclock.catalog.objects import APPEND_ONLY
from reclock.catalog.persist_state import PersistState
from reclock.catalog.persist_table import ATTEMPTS, PersistTable, replacing
from reclock.catalog.update_files import Holds
from reclock.collections.delta_log import add
from reclock.collections.files import DataFile
from reclock.collections.folder import Folder
from reclock.consensus.database.store import Consensus
from reclock.consensus.leadership import fence
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import (
    CatalogCorrupt,
    CatalogError,
    ConsensusOutcomeUnknown,
    Fenced,
    InternalError,
    UpperMismatch,
)
from reclock.failpoints import failpoint

T = TypeVar("T")
Action = AddAction | RemoveAction

APPENDS_PER_MERGE = 16
"""How many files of single appends there may be before they are merged."""

COMPACTION_ATTEMPTS = 10
"""How often a compaction may lose its files to merges before it gives up until the next
compaction."""

COMMITS_BESIDE_COMPACTION = 100
"""How many commits other writers may make between a compaction's first file and its commit."""

_ts = pc.field(TIME_COLUMN)

_ENVIRONMENTS = UUID("8d8c1c5e-5b0e-4c34-9d0a-6a7b0b7ad1f3")

_logger = structlog.get_logger(__name__)


def persist_folder(
    lake: str, environment_id: str, storage_options: Mapping[str, str] | None = None
) -> Folder:
    """The folder of an environment's catalog in the lake. It follows from the environment's id, so
    it can be found without consensus."""
    return Folder(
        f"{lake.rstrip('/')}/catalog-{uuid5(_ENVIRONMENTS, environment_id)}", storage_options
    )


class PersistLog:
    """A ``CatalogLog`` in a Delta table, created at the first write. Safe for threads and
    processes.

    It keeps the updates that it has read, and reads only new ones. When a commit gets no answer, it
    looks in the table's log for the outcome.
    """

    def __init__(self, folder: Folder, consensus: Consensus) -> None:
        self._folder = folder
        self._table = PersistTable(folder)
        self._consensus = consensus
        self._lock = threading.RLock()
        self._known: KnownUpdates | None = None

    @property
    def is_in_consensus(self) -> bool:
        return False

    # --- reading ---

    def upper(self) -> Timestamp:
        with self._lock:
            return self._table.refresh().upper

    def since(self) -> Timestamp:
        with self._lock:
            return self._table.refresh().since

    def leadership(self) -> Leadership | None:
        with self._lock:
            return self._table.refresh().leadership

    def snapshot(
        self, *, below: Timestamp | None = None, only: Collection[str] | None = None
    ) -> tuple[Timestamp, list[CatalogUpdate]]:
        def read(state: PersistState) -> tuple[Timestamp, list[CatalogUpdate]]:
            bound = state.upper if below is None else min(below, state.upper)
            state.require_readable(bound)
            known = self._learn_up_to(state)
            if bound >= known.since and not APPEND_ONLY.intersection(only or ()):
                return state.upper, known.summed(bound, only)
            sums = update_files.sums_of(self._table.read(state, only, _ts < bound))
            return state.upper, [CatalogUpdate(*row, bound, total) for row, total in sums.items()]

        return self._consistently(read)

    def updates(
        self, since: Timestamp, *, only: Collection[str] | None = None
    ) -> tuple[Timestamp, list[CatalogUpdate]]:
        def read(state: PersistState) -> tuple[Timestamp, list[CatalogUpdate]]:
            if state.upper <= since:
                return state.upper, []
            state.require_readable(since)
            known = self._learn_up_to(state)
            if since >= known.since:
                return state.upper, known.updates(since, only)
            return state.upper, update_files.updates_of(self._table.read(state, only, _ts >= since))

        return self._consistently(read)

    def _consistently(self, read: Callable[[PersistState], T]) -> T:
        """The result of ``read`` on the newest version. It is repeated if a merge deleted files
        meanwhile."""
        with self._lock:
            for _ in range(ATTEMPTS):
                state = self._table.refresh()
                try:
                    return read(state)
                except FileNotFoundError as missing:
                    if self._table.refresh().version == state.version:
                        raise CatalogCorrupt(
                            "file", self._table.missing_file(state), detail="it is missing"
                        ) from missing
            raise CatalogError("the catalog cannot be read: its files are merged again and again")

    def _learn_up_to(self, state: PersistState) -> KnownUpdates:
        """The known updates, complete below the upper of ``state``. Reads all objects of the cached
        kinds the first time, and after a compaction that it missed; otherwise reads only new
        updates."""
        if self._known is None or self._known.upper < state.since:
            table = self._table.read(state, None, _ts < state.upper)
            self._known = KnownUpdates(update_files.sums_of(table), state.upper)
        cached = self._known
        if state.upper < cached.upper:
            raise CatalogError(
                f"the catalog went back from {cached.upper} to {state.upper}",
                hint="start the process again",
            )
        if state.upper > cached.upper:
            new = [file.path for file in state.files if file.max_time >= cached.upper]
            cached.add(
                update_files.updates_of(update_files.read(self._folder, new, _ts >= cached.upper)),
                state.upper,
            )
        return cached

    # --- writing ---

    def compare_and_append(
        self,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        updates: Sequence[CatalogUpdate],
        leadership: Leadership,
        beside: Beside | None = None,
    ) -> None:
        if beside is not None:
            raise InternalError("a catalog in the lake is not written with consensus")

        def check(state: PersistState) -> None:
            # before the upper: a fenced writer must hear of the fence
            fence.require(leadership, state.leadership)
            state.require_upper(expected_upper)

        self._write("append", check, expected_upper, new_upper, updates, leadership)

    def lead(
        self,
        expected_upper: Timestamp,
        new_upper: Timestamp,
        updates: Sequence[CatalogUpdate],
        leadership: Leadership,
    ) -> None:
        def check(state: PersistState) -> None:
            # before the leadership: two that open at once race, neither is fenced
            state.require_upper(expected_upper)
            if state.leadership is not None and leadership.rank <= state.leadership.rank:
                raise fence.fenced(leadership, state.leadership)

        with self._lock:
            if self._table.refresh().version < 0:
                self._table.state.require_upper(expected_upper)
                self._table.create()
            self._write("lead", check, expected_upper, new_upper, updates, leadership)

    def mirror(self, leadership: Leadership) -> None:
        if self._consensus.read(fence.current) == leadership:
            return
        try:
            try:
                self._consensus.transact(lambda connection: fence.advance(connection, leadership))
            except ConsensusOutcomeUnknown:
                self._consensus.transact(lambda connection: fence.advance(connection, leadership))
        except Fenced as newer:
            if self.leadership() != leadership:
                raise
            newest = (
                f"consensus knows epoch {newer.in_force[0]}, deploy generation {newer.in_force[1]}"
            )
            raise CatalogCorrupt(
                "table", self._folder.uri, detail=f"it is older than what was last led: {newest}"
            ) from newer

    def close(self) -> None:
        """Does nothing: files are open only while they are read."""

    def _write(
        self,
        failpoint_name: str,
        check: Callable[[PersistState], None],
        expected_upper: Timestamp,
        new_upper: Timestamp,
        updates: Sequence[CatalogUpdate],
        leadership: Leadership,
    ) -> None:
        with self._lock:
            state = self._table.refresh()
            check(state)
            mark = uuid4().hex
            table = update_files.table_of(updates)
            try:
                files = (
                    [update_files.write(self._folder, table, Holds.APPEND, expected_upper, mark)]
                    if updates
                    else []
                )
            except FileNotFoundError:
                # another writer has appended there, so the file counted as garbage
                check(self._table.refresh())
                raise
            failpoint(f"catalog.persist.{failpoint_name}.file_written")

            def with_append(before: PersistState) -> PersistState:
                return replace(before, upper=new_upper, leadership=leadership)

            try:
                self._table.commit(
                    state, check, [add(file) for file in files], with_append, len(updates), mark
                )
            except (Fenced, UpperMismatch):
                self._folder.delete(file.path for file in files)
                raise
            failpoint(f"catalog.persist.{failpoint_name}.landed")
            if self._known is not None and self._known.upper == expected_upper:
                self._known.add(update_files.in_order(updates), new_upper)
            if len(state.appended) + 1 >= APPENDS_PER_MERGE:
                self._merge()

    def _merge(self) -> None:
        """Replace many small files by few. A merge changes no content and only makes reads faster,
        so a failure is logged and ignored.

        The appended files are merged with earlier merges that are not larger than what they are
        merged with. So each update is rewritten a logarithmic number of times, and the number of
        files stays logarithmic too.
        """
        try:
            state = self._table.refresh()
            if len(state.appended) < APPENDS_PER_MERGE:
                return
            others = [file for file in state.files if file not in state.appended]
            removed = [
                *state.appended,
                *_to_merge_with(others, sum(file.rows for file in state.appended)),
            ]
            table = update_files.read(
                self._folder, [file.path for file in removed], _ts < state.upper
            )
            added = self._table.write_merged(table, state.version)
            failpoint("catalog.persist.merge.files_written")
            if self._table.try_commit(replacing(removed, added), state):
                failpoint("catalog.persist.merge.landed")
            self._table.delete_garbage()
        except FileNotFoundError:
            return  # another actor has just merged them
        except (DeltaError, OSError, CatalogError) as failure:
            _logger.warning(
                "catalog files were not merged", table=self._folder.uri, error=str(failure)
            )

    # --- compaction ---

    def compact(self, below: Timestamp, leadership: Leadership) -> int:
        def check(state: PersistState) -> None:
            fence.require(leadership, state.leadership)
            if below > state.upper:
                raise CatalogError(
                    f"the catalog cannot be compacted below {below}",
                    detail=f"its upper is {state.upper}",
                )

        with self._lock:
            check(state := self._table.refresh())
            if state.since < below:
                self._table.commit(
                    state,
                    check,
                    [],
                    lambda before: replace(before, since=max(before.since, below)),
                    0,
                    uuid4().hex,
                )
        failpoint("catalog.persist.compact.since_raised")
        for _ in range(COMPACTION_ATTEMPTS):
            with suppress(_FilesReplaced):
                return self._delete_cancelled(below, check)
        _logger.info(
            "catalog was not compacted: its files are merged again and again",
            table=self._folder.uri,
        )
        return 0

    def _delete_cancelled(self, below: Timestamp, check: Callable[[PersistState], None]) -> int:
        """Delete the updates below ``below`` that cancel each other; returns how many. Other
        threads may read and write meanwhile. Raises ``_FilesReplaced`` if another writer merges the
        files, or if there are too many other commits."""
        with self._lock:
            state = self._table.refresh()
        try:
            rewrite = plan_rewrite(self._folder, state.files, below)
        except FileNotFoundError as missing:
            raise _FilesReplaced from missing
        if rewrite is None:
            return 0
        with self._lock:
            last_version = self._table.refresh().version + COMMITS_BESIDE_COMPACTION

        def check_files(state: PersistState) -> None:
            check(state)
            if state.version > last_version or not {file.path for file in rewrite.removed} <= {
                file.path for file in state.files
            }:
                raise _FilesReplaced

        added = self._table.write_merged(rewrite.table, last_version)
        failpoint("catalog.persist.compact.files_written")
        with self._lock:
            try:
                check_files(state := self._table.refresh())
                actions = replacing(rewrite.removed, added)
                self._table.commit(
                    state,
                    check_files,
                    actions,
                    lambda before: before,
                    -rewrite.deleted_updates,
                    uuid4().hex,
                )
            except (_FilesReplaced, Fenced):
                self._folder.delete(file.path for file in added)
                raise
            failpoint("catalog.persist.compact.landed")
            self._table.delete_garbage()
        return rewrite.deleted_updates


class _FilesReplaced(Exception):
    """The table no longer has the files that a compaction was to replace, or other writers may have
    deleted the files that it wrote."""


def _to_merge_with(files: Sequence[DataFile], rows: int) -> list[DataFile]:
    """The files to merge with appends of ``rows`` updates, smallest first: each is no larger than
    the appends and the files before it together."""
    chosen: list[DataFile] = []
    for file in sorted(files, key=lambda file: file.rows):
        if file.rows > rows or rows + file.rows > persist_table.LARGEST_MERGE_ROWS:
            break
        chosen.append(file)
        rows += file.rows
    return chosen
