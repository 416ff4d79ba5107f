"""Restore: brings both stores to the state of a backup, under a new epoch.

Consensus is emptied first, so that every process of the environment is fenced, and none can join.
The environment's identity is written last, when everything else is there. So a restore that was
killed can be started again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import MAXIMUM, Timestamp
from reclock.catalog.changelog import DurableCatalog
from reclock.catalog.implementations import open_log
from reclock.catalog.persist import persist_folder
from reclock.collections.folder import Folder
from reclock.collections.table_copy import copy_folder
from reclock.config import Settings
from reclock.consensus.database.copying import clear, copy_all
from reclock.consensus.database.store import Consensus
from reclock.consensus.frontiers.holds import forget_readers
from reclock.consensus.leadership import fence, identity
from reclock.consensus.leadership.identity import EnvironmentMark
from reclock.errors import ConfigurationError
from reclock.failpoints import failpoint
from reclock.oracle.oracle import ConsensusOracle
from reclock.pipeline.backup import CATALOG_FOLDER, CONSENSUS, DATA, FORMAT, LAKE, MANIFEST
from reclock.runtime.environment import Environment
from reclock.runtime.system_relations import SYSTEM_OBJECTS

_LEFT_OUT = (
    "reclock_environment",
    "reclock_leadership",
    "reclock_store_mark",
    "reclock_controller",
)
"""The tables that are not restored: those that let processes join and write come last, with a new
epoch, and the marks of the stores begin anew."""

_OBJECT = re.compile(r"[us]\d+")


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """``time`` is the newest readable time. ``epoch`` fences every earlier process. A copy must not
    tick until it takes the place of the environment that was backed up."""

    time: Timestamp
    epoch: int
    is_copy: bool


def restore(backup: Path, home: Path | str | None, *, may_replace: bool) -> RestoreReport:
    """Bring the environment at ``home`` to the state of the backup. It can be opened when this
    returns. Unless it replaces an environment that is no copy, it is a copy.

    Raises ``ConfigurationError`` if the folder is not a complete backup, or if ``home`` is not
    empty, unless it ``may_replace`` that.
    """
    manifest = _read_manifest(backup)
    settings = Settings.load(home)
    settings.make_folders()
    mark = EnvironmentMark(manifest["environment_id"], manifest["catalog"])
    _require_settings(settings, mark)
    lake = Folder(settings.lake_root, settings.lake_options)
    consensus = Consensus.connect(settings.consensus.get_secret_value())
    try:
        leadership = consensus.read(fence.current)
        if not may_replace and (leadership is not None or _own_folders(lake, settings, mark)):
            raise ConfigurationError(
                "there is an environment already",
                hint="--replace deletes it and puts the backup in its place",
            )
        is_copy = not may_replace or consensus.read(identity.is_copy)
        clear(consensus)
        failpoint("restore.consensus_cleared")
        for name in _own_folders(lake, settings, mark):
            lake.delete_folder(name)
        failpoint("restore.lake_cleared")
        _copy_lake(backup / DATA, lake, settings, mark)
        failpoint("restore.lake_copied")
        _copy_consensus(backup / DATA / CONSENSUS, consensus)
        failpoint("restore.consensus_copied")
        above = max(manifest["epoch"], leadership.epoch if leadership is not None else 0)
        epoch = _lead(settings, consensus, mark, above)
        failpoint("restore.led")
        lake.delete_folder("marks")  # of a process that was writing one when it was fenced
        consensus.transact(lambda connection: identity.establish(connection, mark, is_copy=is_copy))
    finally:
        consensus.close()
    _drop_strays(home)
    return RestoreReport(Timestamp(manifest["time"]), epoch, is_copy)


def _read_manifest(backup: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((backup / MANIFEST).read_text())
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f'"{backup}" is no complete backup', detail=f"its {MANIFEST} cannot be read"
        ) from error
    if manifest["format"] != FORMAT:
        raise ConfigurationError(
            f'"{backup}" has format {manifest["format"]}', detail=f"this program reads {FORMAT}"
        )
    return manifest


def _require_settings(settings: Settings, mark: EnvironmentMark) -> None:
    for name, setting, stored in (
        ("environment_id", settings.environment_id, mark.id),
        ("catalog", settings.catalog, mark.catalog),
    ):
        if setting not in ("", stored):
            raise ConfigurationError(
                f'setting "{name}" is "{setting}", the backup is of "{stored}"'
            )


def _own_folders(lake: Folder, settings: Settings, mark: EnvironmentMark) -> list[str]:
    """The folders of the lake that a restore replaces."""
    catalog = persist_folder(settings.lake_root, mark.id).uri.rpartition("/")[2]
    infos = lake.filesystem.get_file_info(pafs.FileSelector("", allow_not_found=True))
    names = [info.base_name for info in infos if info.type == pafs.FileType.Directory]
    return sorted(name for name in names if _OBJECT.fullmatch(name) or name in ("marks", catalog))


def _copy_lake(data: Path, lake: Folder, settings: Settings, mark: EnvironmentMark) -> None:
    copy_folder(Folder(str(data / LAKE)), lake)
    if mark.catalog != "stash":
        copy_folder(
            Folder(str(data / CATALOG_FOLDER)),
            persist_folder(settings.lake_root, mark.id, settings.lake_options),
        )


def _copy_consensus(file: Path, consensus: Consensus) -> None:
    stored = Consensus.connect(f"sqlite:///{file.absolute()}")
    try:
        copy_all(stored, consensus, but=_LEFT_OUT)
        consensus.transact(forget_readers)
    finally:
        stored.close()


def _lead(settings: Settings, consensus: Consensus, mark: EnvironmentMark, above: int) -> int:
    """Raise the epoch above every one that a process may have, and upgrade the catalog to this
    release's layout."""
    catalog = DurableCatalog(
        open_log(mark.catalog, mark.id, settings, consensus),
        # a backup may be old
        oracle=ConsensusOracle(consensus, consensus.clock, max_clock_jump_ms=MAXIMUM),
        clock=consensus.clock,
        deploy_generation=settings.deploy_generation,
        epoch_above=above,
    )
    try:
        catalog.open(SYSTEM_OBJECTS)
        return catalog.leadership.epoch
    finally:
        catalog.close()


def _drop_strays(home: Path | str | None) -> None:
    """Drop the collections of objects that are not in the catalog: they were being created or
    dropped at the time of the backup."""
    with Environment.open(home) as environment:
        items = environment.stores.catalog.snapshot().items
        for id in environment.stores.lake.list():
            owner: GlobalId = id.guest or id.source_id
            if owner.startswith("u") and owner not in items:
                environment.stores.lake.drop(id)
