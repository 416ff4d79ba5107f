"""The contents of a catalog after opening: a pure function, which ``open`` and ``check_open``
share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.catalog.builtins import BuiltinObject, register_builtins
from reclock.catalog.encoding import ObjectChange, Rows, decode, decode_rows, encode, encode_rows
from reclock.catalog.initial import CATALOG_VERSION, initial_objects
from reclock.catalog.integrity import check_integrity
from reclock.catalog.kinds import CatalogObject
from reclock.catalog.migrations import migrate
from reclock.catalog.objects import Config, Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.catalog.transaction import CatalogTransaction
from reclock.consensus.leadership.fence import Leadership
from reclock.errors import CatalogCorrupt, CatalogVersionUnsupported

SEAL = Config("sealed", 1)
"""Marks a catalog that is being converted, or was: nobody can join it. Opening it removes the seal,
and fences the conversion."""

EPOCH_BEFORE_FIRST = 1
"""The epoch of a catalog that has none, so the first open sets epoch 2."""


@dataclass(frozen=True, slots=True)
class Header:
    """The part of a catalog that can be read in every layout. ``version`` is None if the catalog is
    not initialised."""

    version: int | None
    epoch: int
    deploy_generation: int | None
    is_sealed: bool = False


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The contents after opening: ``rows``, which is the same mapping as before if nothing changes,
    and the decoded snapshot, at no particular upper."""

    rows: Rows
    snapshot: CatalogSnapshot


def read_header(rows: Rows) -> Header:
    """Raises ``CatalogCorrupt`` if the catalog has objects but no version, or a version but no
    epoch or generation."""
    version, epoch, generation, seal = (
        read_config(rows, key) for key in ("version", "epoch", "deploy_generation", SEAL.key)
    )
    if version is None and any(kind != Kind.CONFIG for kind, _ in rows):
        raise _missing("version", "the catalog holds other objects")
    if version is not None and epoch is None:
        raise _missing("epoch", "the catalog is initialized")
    if version is not None and generation is None:
        raise _missing("deploy_generation", "the catalog is initialized")
    return Header(
        version,
        EPOCH_BEFORE_FIRST if epoch is None else epoch,
        generation,
        is_sealed=seal is not None,
    )


def _missing(key: str, though: str) -> CatalogCorrupt:
    return CatalogCorrupt(
        Kind.CONFIG, encode(Config(key, 0))[1], detail=f"it is missing, though {though}"
    )


def read_config(rows: Rows, key: str) -> int | None:
    """The number of a config object; None if it does not exist. Config has the same shape in every
    layout."""
    kind, stored_key, _ = encode(Config(key, 0))
    value = rows.get((kind, stored_key))
    if value is None:
        return None
    return cast(Config, decode(kind, stored_key, value)).value


def leadership_objects(leadership: Leadership) -> list[CatalogObject]:
    """The objects in which a catalog records its leadership."""
    return [
        Config("epoch", leadership.epoch),
        Config("deploy_generation", leadership.deploy_generation),
    ]


def without_seal(rows: Rows) -> Rows:
    seal = encode(SEAL)[:2]
    return {row: value for row, value in rows.items() if row != seal}


def require_version(header: Header, *, exactly: bool) -> None:
    """Raises ``CatalogVersionUnsupported`` for a newer layout, and if ``exactly`` for an older one
    too."""
    version = header.version
    if version is not None and (
        version > CATALOG_VERSION or (exactly and version < CATALOG_VERSION)
    ):
        raise CatalogVersionUnsupported(version=version, supported=CATALOG_VERSION)


def upgrade(
    rows: Rows, builtins: Sequence[BuiltinObject] | None, *, events: Rows | None = None
) -> Upgrade:
    """The contents after opening: initialised if need be, migrated, with ``builtins`` registered
    (none are changed if None). ``events`` is the audit log, which some migrations need.

    Raises ``CatalogVersionUnsupported``, ``MigrationFailed``, ``CatalogCorrupt``.
    """
    header = read_header(rows)
    if header.is_sealed:
        rows = without_seal(rows)
    if header.version is None:
        target: Rows = {**rows, **encode_rows(initial_objects())}
    elif header.version != CATALOG_VERSION:
        target = migrate(
            rows, from_version=header.version, to_version=CATALOG_VERSION, events=events
        )
    else:
        target = rows
    tx = CatalogTransaction(load(target, MINIMUM))
    if builtins is not None:
        register_builtins(tx, builtins)
    return Upgrade(_with_changes(target, tx.changes()), tx.snapshot)


def load(rows: Rows, upper: Timestamp) -> CatalogSnapshot:
    """The snapshot of ``rows``, checked. Raises ``CatalogCorrupt``."""
    snapshot = CatalogSnapshot.of(decode_rows(rows), upper)
    check_integrity(snapshot)
    return snapshot


def _with_changes(rows: Rows, changes: Sequence[ObjectChange]) -> Rows:
    """``rows`` after ``changes``; the same mapping if there are none."""
    if not changes:
        return rows
    after = dict(rows)
    for change in changes:
        kind, key, value = encode(change.object)
        if change.diff > 0:
            after[kind, key] = value
        else:
            del after[kind, key]  # if the object only changed, its addition follows
    return after
