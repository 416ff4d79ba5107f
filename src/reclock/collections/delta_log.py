"""The Delta log of one table: every commit at an exact version, durable before it is acknowledged.

By default, delta-rs rebases a commit over others and accepts an application transaction that exists
already. Here a commit is tried once, at the version after the one last seen; if it loses the race,
the caller decides again from the newer version.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import structlog
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN
from reclock.algebra.timestamps import Timestamp
from reclock.collections.files import DataFile, StagedFile
from reclock.collections.folder import LOG, Folder, fsync
from reclock.errors import InternalError
from reclock.failpoints import failpoint

COMMITS_PER_CHECKPOINT = 50
"""How many commits opening the table replays at most, unless checkpoints fail."""

MARK = "reclock.mark"
"""The key of a commit's mark in its log entry."""

_NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
_logger = structlog.get_logger(__name__)


class DeltaLog:
    """A table at the version last seen. Not thread-safe."""

    def __init__(self, folder: Folder, table: DeltaTable) -> None:
        self._folder = folder
        self._table = table
        self._durable_version: int | None = None
        self._transactions: dict[str, int | None] = {}
        """The answers of ``transaction`` at ``_transactions_version``. Each takes delta-rs a
        millisecond."""
        self._transactions_version = table.version()

    @classmethod
    def create(cls, folder: Folder, schema: pa.Schema, properties: Mapping[str, str]) -> bool:
        """Create the table durably; False if it exists.
        Exactly one of several creators gets True."""
        if cls.exists(folder):
            return False
        try:
            DeltaTable.create(
                folder.uri,
                Schema.from_arrow(schema),
                mode="error",
                configuration=_configuration(schema) | dict(properties),
                storage_options=folder.storage_options,
                commit_properties=CommitProperties(max_commit_retries=0),
                raise_if_key_not_exists=False,
            )
        except DeltaError:
            if cls.exists(folder):
                return False
            raise
        return True

    @classmethod
    def open(cls, folder: Folder) -> DeltaLog:
        """The table as it is now. Raises delta-rs's ``TableNotFoundError``."""
        return cls(folder, _open(folder))

    @staticmethod
    def exists(folder: Folder) -> bool:
        """Whether the table exists. (delta-rs's ``is_deltatable`` blocks all Python threads.)"""
        try:
            _open(folder, without_files=True)
        except TableNotFoundError:
            return False
        except DeltaError:
            return True  # a table that cannot be read exists, too
        return True

    @property
    def version(self) -> int:
        return self._table.version()

    @property
    def properties(self) -> Mapping[str, str]:
        return self._table.metadata().configuration

    def transaction(self, application: str) -> int | None:
        """The version that the last commit of ``application`` recorded."""
        if self._transactions_version != self.version:
            self._transactions, self._transactions_version = {}, self.version
        if application not in self._transactions:
            self._transactions[application] = self._table.transaction_version(application)
        return self._transactions[application]

    def refresh(self) -> int:
        """Read all commits up to now. Returns the version."""
        self._table.update_incremental()
        return self._table.version()

    def make_durable(self) -> None:
        """Guarantees that the version last seen survives a loss of power, whoever committed it.

        A commit is made durable before anything is committed on top of it, so the newest ones are
        enough.
        """
        if not self._folder.is_local or self._durable_version == self.version:
            return
        first = self.version if self._durable_version is None else self._durable_version + 1
        for version in range(first, self.version + 1):
            with suppress(FileNotFoundError):  # deleted after a durable checkpoint
                fsync(self._folder.absolute(log_entry(version)))
        fsync(self._folder.absolute(LOG))
        self._durable_version = self.version

    def commit(
        self,
        actions: Sequence[AddAction | RemoveAction],
        transactions: Mapping[str, int],
        *,
        mark: str | None = None,
    ) -> bool:
        """Commit durably at the version after the one last seen; False if another commit has it.

        In that case the other commit has been read. After an error of the store the outcome is
        unknown; ``transaction`` tells it, once the store can be reached again. Where that cannot
        distinguish two writers, ``is_marked`` does, by a ``mark`` that no other commit has.
        """
        self.make_durable()
        read_version = self.version
        try:
            self._table.create_write_transaction(
                list(actions),
                "append",
                self._table.schema(),
                commit_properties=CommitProperties(
                    app_transactions=[
                        Transaction(application, version)
                        for application, version in transactions.items()
                    ],
                    max_commit_retries=0,
                    custom_metadata={MARK: mark} if mark else None,
                ),
                post_commithook_properties=_NO_HOOKS,
            )
        except CommitFailedError:
            if self.refresh() == read_version:
                raise
            return False
        failpoint("collections.commit.landed")
        if self.refresh() == read_version + 1 == self._transactions_version + 1:
            self._transactions |= transactions
            self._transactions_version = self.version
        self.make_durable()
        if (read_version + 1) % COMMITS_PER_CHECKPOINT == 0:
            self._try_checkpoint()
        return True

    def last_transactions(self) -> dict[str, int]:
        """The application transactions of the commit last seen alone.
        Raises ``ValueError`` if its log entry is truncated."""
        transactions = [
            action["txn"] for action in self._entry(self.version) or () if "txn" in action
        ]
        return {transaction["appId"]: transaction["version"] for transaction in transactions}

    def is_marked(self, version: int, mark: str) -> bool | None:
        """Whether the commit ``version`` has this mark; None if the log does not go back so far."""
        entry = self._entry(version)
        return (
            None
            if entry is None
            else any(action.get("commitInfo", {}).get(MARK) == mark for action in entry)
        )

    def files(self) -> tuple[DataFile, ...]:
        """The data files of the version last seen, with their statistics from the log."""
        actions = pa.table(self._table.get_add_actions(flatten=True))
        if not actions.num_rows:
            return ()
        names = ("path", "size_bytes", "num_records", f"min.{TIME_COLUMN}", f"max.{TIME_COLUMN}")
        if not set(names) <= set(actions.column_names) or any(
            actions[name].null_count for name in names
        ):
            raise InternalError(
                f'a file of "{self._folder.uri}" has no statistics',
                detail="it was committed by another program",
            )
        bounds = (f"min.{DIFF_COLUMN}", f"max.{DIFF_COLUMN}")
        if not set(bounds) <= set(actions.column_names):
            actions = actions.append_column(
                bounds[0], nulls := pa.nulls(actions.num_rows)
            ).append_column(bounds[1], nulls)
        return tuple(
            DataFile(
                path,
                self._folder.absolute(path),
                size,
                rows,
                Timestamp(low),
                Timestamp(high),
                *diffs,
            )
            for path, size, rows, low, high, *diffs in zip(
                *(actions[name].to_pylist() for name in names + bounds), strict=True
            )
        )

    def paths(self) -> dict[str, int]:
        """Bytes of each data file of the version last seen, whoever committed it, by path."""
        actions = pa.table(self._table.get_add_actions(flatten=True))
        if not actions.num_rows:
            return {}
        return dict(
            zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True)
        )

    def is_changed_since(self, application: str) -> bool:
        """Whether rows changed after the last commit of ``application``, as far back as the log
        goes."""
        for version in range(self.version, -1, -1):
            actions = self._entry(version)
            if actions is None or any(
                action.get("txn", {}).get("appId") == application for action in actions
            ):
                return False
            if any(
                action[kind].get("dataChange", True)
                for action in actions
                for kind in ("add", "remove")
                if kind in action
            ):
                return True
        return False

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(self._table.schema().to_arrow())

    def dropped_since(self, moment: Timestamp) -> frozenset[str]:
        """The files dropped at the wall-clock time ``moment`` or later, as far back as the log
        goes."""
        dropped: set[str] = set()
        for version in range(self.version, -1, -1):
            actions = self._entry(version)
            if actions is None:
                break
            removes = [action["remove"] for action in actions if "remove" in action]
            dropped.update(r["path"] for r in removes if r["deletionTimestamp"] >= moment)
            if any(
                action["commitInfo"]["timestamp"] < moment
                for action in actions
                if "commitInfo" in action
            ):
                break
        return frozenset(dropped)

    def checkpoint(self) -> None:
        """Durably write the state of the version last seen to one file.
        Log entries older than Delta's log retention are deleted."""
        if self._last_checkpoint() == self.version:
            return
        self._table.create_checkpoint()
        failpoint("collections.checkpoint.written")
        if self._folder.is_local:
            for name in os.listdir(self._folder.absolute(LOG)):
                if name == "_last_checkpoint" or name.startswith(f"{self.version:020}.checkpoint"):
                    fsync(self._folder.absolute(f"{LOG}/{name}"))
            fsync(self._folder.absolute(LOG))
        self._table.cleanup_metadata()

    def _last_checkpoint(self) -> int | None:
        try:
            with self._folder.filesystem.open_input_stream(f"{LOG}/_last_checkpoint") as file:
                return int(json.loads(file.read())["version"])
        except FileNotFoundError:
            return None

    def _entry(self, version: int) -> list[dict[str, Any]] | None:
        """The actions of one commit; None if its log entry does not exist, or no longer."""
        try:
            with self._folder.filesystem.open_input_stream(log_entry(version)) as entry:
                return [json.loads(line) for line in entry.read().splitlines()]
        except FileNotFoundError:
            return None

    def _try_checkpoint(self) -> None:
        """A checkpoint only saves time, so its failure does not fail a commit that succeeded."""
        try:
            self.checkpoint()
        except (DeltaError, OSError) as failure:
            _logger.warning(
                "checkpoint failed",
                table=self._folder.uri,
                version=self.version,
                error=str(failure),
            )


def _open(folder: Folder, *, without_files: bool = False) -> DeltaTable:
    try:
        return DeltaTable(
            folder.uri, storage_options=folder.storage_options, without_files=without_files
        )
    except DeltaError as failure:
        if isinstance(failure, TableNotFoundError) or folder.exists(LOG):
            raise
        raise TableNotFoundError(f'"{folder.uri}" was dropped while it was opened') from failure


def log_entry(version: int) -> str:
    """The log file of one commit, relative to the table's folder."""
    return f"{LOG}/{version:020}.json"


def add(file: StagedFile, *, is_new_data: bool = True) -> AddAction:
    """The action that adds a staged file to the table.
    ``is_new_data`` is false for a rewrite of existing rows."""
    # Delta wants some modification time; nothing here reads it.
    return AddAction(file.path, file.size_bytes, {}, int(file.max_time), is_new_data, file.stats)


def remove(file: DataFile, at: Timestamp) -> RemoveAction:
    """The action by which a rewrite drops a file at the wall-clock time ``at``."""
    return RemoveAction(file.path, False, at, file.size_bytes, {})


def _configuration(schema: pa.Schema) -> dict[str, str]:
    """The table properties that delta-rs needs for a new table."""
    configuration = {}
    if any(pa.types.is_timestamp(field.type) and field.type.tz is None for field in schema):
        # These columns are a table feature, so the protocol must list every feature in use. Without
        # this version, delta-rs omits NOT NULL ("invariants"), and delta-spark refuses the table.
        configuration["delta.minWriterVersion"] = "7"
    return configuration
