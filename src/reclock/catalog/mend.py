"""Changing the stored catalog by hand, in any layout and even if it is broken: pure decisions about
the stored objects.

A catalog that could be opened before an edit can be opened after it. A broken one is mended one
object at a time, so each of its objects only has to be valid by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.catalog.encoding import CatalogUpdate, decode, encode, encode_rows, rows_of
from reclock.catalog.initial import CATALOG_VERSION
from reclock.catalog.kinds import SPECS, CatalogObject
from reclock.catalog.objects import APPEND_ONLY, AuditEvent, Config, IdAllocator, Kind, StorageUsage
from reclock.catalog.readable import to_json
from reclock.catalog.transaction import GUARDED_CONFIG
from reclock.catalog.upgrade import EPOCH_BEFORE_FIRST, Header, upgrade
from reclock.errors import (
    CatalogCorrupt,
    CatalogError,
    CatalogUninitialized,
    EditRefused,
    UnknownObject,
)

T = TypeVar("T", bound=CatalogObject)

Stored = Sequence[CatalogUpdate]
"""The sums of a changelog, unchecked: a key may occur twice, or with another diff than 1."""

NewValues = Mapping[tuple[str, str], str | None]
"""The new values of stored objects, by kind and key; None deletes the object."""


IN_EVERY_LAYOUT = APPEND_ONLY | {Kind.CONFIG, Kind.ID_ALLOCATOR}
"""Kinds that have the same shape in every layout."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The wanted value of one object, as stored text; None deletes the object."""

    kind: str
    key: str
    value: str | None

    @property
    def row(self) -> tuple[str, str]:
        return self.kind, self.key


@dataclass(frozen=True, slots=True)
class Mended:
    """The edit is stored, under ``epoch``. ``problem`` says why the catalog still cannot be opened;
    None if it can."""

    epoch: int
    problem: CatalogError | None


def decide(stored: Stored, edit: Edit) -> CatalogError | None:
    """Check that the edit may be made. Returns the problem that the catalog will still have, or
    None.

    Raises ``UnknownObject`` if there is no such kind or no object to delete; ``EditRefused`` if the
    value is no valid object, the object is protected, or the catalog can be opened now but could
    not after the edit; ``CatalogUninitialized``; and ``CatalogCorrupt`` if the version has to be
    mended first.
    """
    existing = copies(stored, *edit.row)
    if edit.kind not in SPECS and (edit.value is not None or not existing):
        raise UnknownObject("object kind", edit.kind, hint=f"one of {', '.join(Kind)}")
    if edit.value is None and not existing:
        raise UnknownObject(
            edit.kind, edit.key, hint='write the key as "reclock catalog dump" prints it'
        )
    after = edited(stored, edit)
    version = read_config(after, "version")
    if version is None and all(update.kind == Kind.CONFIG for update in stored):
        raise CatalogUninitialized()
    if version is None and edit.kind not in IN_EVERY_LAYOUT:
        row = encode(Config("version", 0))
        raise CatalogCorrupt(
            *row[:2], detail="it is missing or cannot be read: mend it before the rest"
        )
    if edit.value is not None and (version == CATALOG_VERSION or edit.kind in IN_EVERY_LAYOUT):
        _require_object(edit, edit.value)
    _require_unprotected(stored, existing, edit)
    problem = find_problem(after)
    if problem is not None and find_problem(stored) is None:
        where = (
            f"{problem.kind} {problem.key}"
            if isinstance(problem, CatalogCorrupt)
            else problem.message
        )
        raise _refused(edit, f"{where}: {problem.detail}")
    return problem


def find_problem(stored: Stored) -> CatalogError | None:
    """The error that opening this catalog would raise; None if it can be opened."""
    try:
        upgrade(rows_of(update for update in stored if update.kind not in APPEND_ONLY), None)
    except CatalogError as problem:
        return problem
    return None


def read_leadership(stored: Stored) -> Header:
    """The header as far as it can be read. Fields that cannot be read count as not written yet."""
    epoch = read_config(stored, "epoch")
    generation = read_config(stored, "deploy_generation")
    return Header(
        read_config(stored, "version"), EPOCH_BEFORE_FIRST if epoch is None else epoch, generation
    )


def read_config(stored: Stored, key: str) -> int | None:
    """The number of a config object, None if it is missing or cannot be read."""
    config = _only(stored, Config(key, 0))
    return None if config is None else config.value


def event_of(stored: Stored, edit: Edit, *, user: str, occurred_at: Timestamp) -> AuditEvent:
    """The audit event of the edit, before its id is allocated."""
    before = [to_json(update.value) for update in copies(stored, *edit.row)]
    details: dict[str, object] = {"before": before[0] if len(before) == 1 else before or None}
    if edit.value is None:
        return AuditEvent(0, "delete", edit.kind, edit.key, details, user, occurred_at)
    return AuditEvent(
        0, "edit", edit.kind, edit.key, {**details, "after": to_json(edit.value)}, user, occurred_at
    )


def audited(stored: Stored, event: AuditEvent) -> dict[tuple[str, str], str]:
    """The rows that add ``event`` to the audit log, under its next id in ``stored``. Raises
    ``CatalogCorrupt`` without that id."""
    allocator = _only(stored, IdAllocator(Kind.AUDIT_LOG, 0))
    if allocator is None:
        detail = (
            "it is missing or cannot be read, and every edit is recorded in the audit log: "
            "mend it before the rest"
        )
        raise CatalogCorrupt(*encode(IdAllocator(Kind.AUDIT_LOG, 0))[:2], detail=detail)
    return encode_rows(
        (replace(event, id=allocator.next_id), replace(allocator, next_id=allocator.next_id + 1))
    )


def edited(stored: Stored, edit: Edit) -> list[CatalogUpdate]:
    """``stored`` after the edit."""
    other_updates = [update for update in stored if (update.kind, update.key) != edit.row]
    return (
        other_updates
        if edit.value is None
        else [*other_updates, CatalogUpdate(*edit.row, edit.value, MINIMUM, 1)]
    )


def corrections(stored: Stored, values: NewValues, at: Timestamp) -> list[CatalogUpdate]:
    """The updates after which each of ``values`` is stored exactly once, or not at all.

    An object that is stored once changes at ``at``. Otherwise one copy is undone at a time, at
    ``at`` and just after, because followers expect only diffs of 1 and -1.
    """
    updates: list[CatalogUpdate] = []
    for (kind, key), value in values.items():
        current = copies(stored, kind, key)
        if [(update.value, update.diff) for update in current] == (
            [] if value is None else [(value, 1)]
        ):
            continue
        undone = [
            (update.value, -1 if update.diff > 0 else 1)
            for update in current
            for _ in range(abs(update.diff))
        ]
        # the retractions last: the new object may appear as the last copy goes
        undone.sort(key=lambda copy: -copy[1])
        updates += [
            CatalogUpdate(kind, key, text, Timestamp(at + n), diff)
            for n, (text, diff) in enumerate(undone)
        ]
        if value is not None:
            is_last_a_retraction = bool(undone) and undone[-1][1] < 0
            updates.append(
                CatalogUpdate(
                    kind, key, value, Timestamp(at + len(undone) - is_last_a_retraction), 1
                )
            )
    return updates


def copies(stored: Stored, kind: str, key: str) -> list[CatalogUpdate]:
    return [update for update in stored if (update.kind, update.key) == (kind, key)]


def _only(stored: Stored, like: T) -> T | None:
    """The object of the same kind and key as ``like``; None unless it is stored once and can be
    read."""
    matching = copies(stored, *encode(like)[:2])
    if len(matching) != 1 or matching[0].diff != 1:
        return None
    return cast("T | None", _read(matching[0]))


def _read(update: CatalogUpdate) -> CatalogObject | None:
    try:
        return decode(update.kind, update.key, update.value)
    except CatalogCorrupt:
        return None


def _require_object(edit: Edit, value: str) -> None:
    try:
        decode(edit.kind, edit.key, value)
    except CatalogCorrupt as invalid:
        raise _refused(edit, invalid.detail) from None


def _require_unprotected(stored: Stored, existing: Stored, edit: Edit) -> None:
    """Raises ``EditRefused`` for objects that transactions protect too, as far as they can be
    read."""
    readable = [
        catalog_object for catalog_object in map(_read, existing) if catalog_object is not None
    ]
    if edit.kind in APPEND_ONLY and (readable or edit.value is not None):
        raise _refused(edit, "events are recorded, never changed")
    for catalog_object in readable:
        if isinstance(catalog_object, Config) and catalog_object.key in GUARDED_CONFIG:
            raise _refused(
                edit, f'config "{catalog_object.key}" changes only when the catalog is opened'
            )
        if isinstance(catalog_object, IdAllocator) and edit.value is None:
            raise _refused(edit, "its ids would be given out again")
    if edit.kind == Kind.ID_ALLOCATOR and edit.value is not None:
        _require_advance(stored, readable, edit, decode(edit.kind, edit.key, edit.value))


def _require_advance(stored: Stored, readable: Sequence[Any], edit: Edit, after: Any) -> None:
    """Raises ``EditRefused`` if the allocator went back, or behind the id of an event.

    Opening the catalog compares it with objects of other kinds.
    """
    events = [(update.kind, _read(update)) for update in stored if update.kind in APPEND_ONLY]
    used = [before.next_id - 1 for before in readable]
    used += [
        event.id
        for kind, event in events
        if kind == after.name and isinstance(event, AuditEvent | StorageUsage)
    ]
    if max(used, default=0) >= after.next_id:
        raise _refused(
            edit, f"id {max(used)} is in use or was, so that the next is {max(used) + 1} or later"
        )


def _refused(edit: Edit, detail: str | None) -> EditRefused:
    return EditRefused(edit.kind, edit.key, is_removal=edit.value is None, detail=detail)
