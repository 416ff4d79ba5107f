"""The Delta table of a catalog in the lake: its newest state, and commits at exact versions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from reclock.algebra.timestamps import system_clock
from reclock.catalog import update_files
from reclock.catalog.objects import APPEND_ONLY
from reclock.catalog.persist_state import PersistState, read_state
from reclock.catalog.update_files import SCHEMA, Holds
from reclock.collections.delta_log import DeltaLog, add, remove
from reclock.collections.files import DataFile, StagedFile
from reclock.collections.folder import DATA, LOG, Folder, fsync
from reclock.errors import CatalogCorrupt, CatalogError
from reclock.failpoints import failpoint

Action = AddAction | RemoveAction

ATTEMPTS = 1000
"""How often a write may lose its version to a commit that leaves the upper as it is, and how often
a read may lose its files to a merge."""

_ATTEMPTS_WITHOUT_ANSWER = 3

LARGEST_MERGE_ROWS = 100_000
"""A file with more updates is not merged again, so that no commit waits long for a merge."""

_UNKNOWN = "it is unknown whether the catalog was written"

_PROPERTIES = {
    # A reader that is behind the oldest log entry or file starts again from a checkpoint.
    # each commit lists the log, so a long log would slow it down
    "delta.logRetentionDuration": "interval 1 minutes",
    "delta.deletedFileRetentionDuration": "interval 0 hours",
}


class PersistTable:
    """The table in ``folder``, which may not exist yet. Its user holds a lock around each call but
    ``write_merged``."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.state = PersistState()
        """As of the last ``refresh``."""
        self._opened: DeltaLog | None = None

    def refresh(self) -> PersistState:
        """The state at the newest version, which is durable no matter who committed it. Raises
        ``CatalogCorrupt``."""
        try:
            return self._read_newest()
        except (DeltaError, ValueError):
            self._opened = None  # log entries that it needs may be gone since a checkpoint
        try:
            return self._read_newest()
        except (DeltaError, ValueError) as broken:
            raise CatalogCorrupt("file", LOG, detail=str(broken).partition("\n")[0]) from broken

    def _read_newest(self) -> PersistState:
        if self._opened is None:
            if not self._table_exists():
                return self.state
            self._opened = DeltaLog.open(self.folder)
        elif not self.folder.exists(LOG):
            raise CatalogCorrupt("file", LOG, detail="it is missing")
        if self._log.refresh() != self.state.version:
            self._log.make_durable()
            self.state = read_state(self._log)
        return self.state

    def _table_exists(self) -> bool:
        if DeltaLog.exists(self.folder):
            return True
        if self.folder.walk(DATA):
            raise CatalogCorrupt("file", LOG, detail="it is missing, though there are data files")
        return False

    @property
    def _log(self) -> DeltaLog:
        assert self._opened is not None
        return self._opened

    def read(
        self, state: PersistState, only: Collection[str] | None, times: pc.Expression
    ) -> pa.Table:
        """The updates in the files of ``state``, of the kinds ``only``, at some ``times``."""
        paths = [file.path for file in state.files if update_files.may_hold(file.path, only)]
        return update_files.read(self.folder, paths, times & update_files.chosen(only))

    def create(self) -> None:
        """Create the table, durably."""
        parents = self.folder.make()
        DeltaLog.create(self.folder, SCHEMA, _PROPERTIES)
        failpoint("catalog.persist.create.landed")
        for path in parents:
            fsync(path)

    def commit(
        self,
        state: PersistState,
        check: Callable[[PersistState], None],
        actions: Sequence[Action],
        next_state: Callable[[PersistState], PersistState],
        added_rows: int,
        mark: str,
    ) -> None:
        """Commit ``actions`` exactly once, if ``check`` allows them in the state that the commit
        follows. It has allowed them in ``state``. The mark tells whether a commit that got no
        answer landed.

        ``next_state`` gives the state after the commit. The table grows by ``added_rows`` updates.
        """
        unanswered = 0
        for _ in range(ATTEMPTS):
            version = state.version + 1
            try:
                if self._log.commit(
                    actions, next_state(state).transactions(state.rows + added_rows), mark=mark
                ):
                    return
            except (DeltaError, OSError) as failure:
                unanswered += 1
                if unanswered == _ATTEMPTS_WITHOUT_ANSWER:
                    raise CatalogError(_UNKNOWN, detail=str(failure)) from failure
            state = self.refresh()
            if state.version >= version:
                is_ours = self._log.is_marked(version, mark)
                if is_ours is None:
                    raise CatalogError(
                        _UNKNOWN, detail=f"the log entry of version {version} is gone"
                    )
                if is_ours:
                    return
            check(state)
        raise CatalogError("the catalog cannot be written: its files are merged again and again")

    def try_commit(self, actions: Sequence[Action], state: PersistState) -> bool:
        """Commit ``actions``, which change neither state nor updates, at the version after
        ``state``. False if another writer has committed that version."""
        return self._log.commit(actions, state.transactions(state.rows))

    def write_merged(self, table: pa.Table, number: int) -> list[StagedFile]:
        """Write these updates to files, with append-only kinds in files of their own."""
        tables = {
            Holds.OBJECTS: table.filter(update_files.chosen(None)),
            Holds.EVENTS: table.filter(update_files.chosen(APPEND_ONLY)),
        }
        unique = uuid4().hex
        return [
            update_files.write(
                self.folder, rows.slice(start, LARGEST_MERGE_ROWS), holds, number, unique
            )
            for holds, rows in tables.items()
            for start in range(0, rows.num_rows, LARGEST_MERGE_ROWS)
        ]

    def delete_garbage(self) -> None:
        """Delete files that merges have replaced or that crashed writers left. A reader of one
        starts again."""
        state = self.refresh()
        live_paths = {file.path for file in state.files}
        for info in self.folder.walk(DATA):
            if info.path not in live_paths and update_files.is_garbage(
                info.path, upper=state.upper, version=state.version
            ):
                self.folder.delete([info.path])
                failpoint("catalog.persist.merge.deleted")

    def missing_file(self, state: PersistState) -> str:
        """A file of ``state`` that does not exist."""
        sizes = self.folder.sizes(file.path for file in state.files)
        return next((file.path for file in state.files if file.path not in sizes), DATA)


def replacing(removed: Sequence[DataFile], added: Sequence[StagedFile]) -> list[Action]:
    """The actions of a commit that changes the content at no readable time."""
    now = system_clock()
    return [
        *(remove(file, now) for file in removed),
        *(add(file, is_new_data=False) for file in added),
    ]
