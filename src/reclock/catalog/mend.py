"""Changing the stored catalog by hand, whatever its layout and however broken: pure decisions about what is stored.

A catalog that could be opened can be opened afterwards. One that could not is mended one object at a time, so there each object
need only be sound by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.catalog.encoding import CatalogUpdate, decode, encode, encode_rows, rows_of
from reclock.catalog.initial import CATALOG_VERSION
from reclock.catalog.kinds import SPECS, CatalogObject
from reclock.catalog.objects import APPEND_ONLY, AuditEvent, Config, IdAllocator, Kind, StorageUsage
from reclock.catalog.readable import to_json
from reclock.catalog.transaction import GUARDED_CONFIG
from reclock.catalog.upgrade import EPOCH_BEFORE_FIRST, Header, upgrade
from reclock.errors import CatalogCorrupt, CatalogError, CatalogUninitialized, EditRefused, UnknownObject

Stored = Sequence[CatalogUpdate]
"""The sums of a changelog as they are: a key may be there twice, or not a whole time."""

Wanted = Mapping[tuple[str, str], str | None]
"""Stored objects, by kind and key, as they are to become; None: gone."""


IN_EVERY_LAYOUT = APPEND_ONLY | {Kind.CONFIG, Kind.ID_ALLOCATOR}
"""Kinds that have always had their present shape."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One object, as stored text, that is to be there with this value; or, if that is None, not to be there."""

    kind: str
    key: str
    value: str | None

    @property
    def row(self) -> tuple[str, str]:
        return self.kind, self.key


@dataclass(frozen=True, slots=True)
class Mended:
    """The edit is stored, under ``epoch``. ``problem`` is why the catalog still cannot be opened; None if it can."""

    epoch: int
    problem: CatalogError | None


def decide(stored: Stored, edit: Edit) -> CatalogError | None:
    """Whether the edit may be made; and if so, what will still be wrong with the catalog.

    Raises ``UnknownObject`` if there is no such kind or nothing to remove; ``EditRefused`` if the object is none, is protected, or
    the catalog can be opened without the edit and could not with it; ``CatalogUninitialized``; and ``CatalogCorrupt`` if the
    version has to be mended first.
    """
    found = copies(stored, *edit.row)
    if edit.kind not in SPECS and (edit.value is not None or not found):
        raise UnknownObject("object kind", edit.kind, hint=f"one of {', '.join(Kind)}")
    if edit.value is None and not found:
        raise UnknownObject(edit.kind, edit.key, hint='write the key as "reclock catalog dump" prints it')
    after = edited(stored, edit)
    version = read_config(after, "version")
    if version is None and all(update.kind == Kind.CONFIG for update in stored):
        raise CatalogUninitialized()
    if version is None and edit.kind not in IN_EVERY_LAYOUT:
        row = encode(Config("version", 0))
        raise CatalogCorrupt(*row[:2], detail="it is missing or cannot be read: mend it before the rest")
    if edit.value is not None and (version == CATALOG_VERSION or edit.kind in IN_EVERY_LAYOUT):
        _require_object(edit, edit.value)
    _require_unprotected(stored, found, edit)
    problem = find_problem(after)
    if problem is not None and find_problem(stored) is None:
        where = f"{problem.kind} {problem.key}" if isinstance(problem, CatalogCorrupt) else problem.message
        raise _refused(edit, f"{where}: {problem.detail}")
    return problem


def find_problem(stored: Stored) -> CatalogError | None:
    """What opening this catalog would raise."""
    try:
        upgrade(rows_of(update for update in stored if update.kind not in APPEND_ONLY), None)
    except CatalogError as problem:
        return problem
    return None


def read_leadership(stored: Stored) -> Header:
    """What can be known of the header; what cannot be read counts as not written yet."""
    epoch = read_config(stored, "epoch")
    generation = read_config(stored, "deploy_generation")
    return Header(read_config(stored, "version"), EPOCH_BEFORE_FIRST if epoch is None else epoch, generation)


def read_config(stored: Stored, key: str) -> int | None:
    """The number of a config object, None if it is missing or cannot be read."""
    found: Config | None = _only(stored, Config(key, 0))
    return None if found is None else found.value


def event_of(stored: Stored, edit: Edit, *, user: str, occurred_at: Timestamp) -> AuditEvent:
    """What the audit log says about the edit; its id is not given yet."""
    before = [to_json(update.value) for update in copies(stored, *edit.row)]
    details: dict[str, object] = {"before": before[0] if len(before) == 1 else before or None}
    if edit.value is None:
        return AuditEvent(0, "delete", edit.kind, edit.key, details, user, occurred_at)
    return AuditEvent(0, "edit", edit.kind, edit.key, {**details, "after": to_json(edit.value)}, user, occurred_at)


def audited(stored: Stored, event: AuditEvent) -> dict[tuple[str, str], str]:
    """What puts ``event`` into the audit log of ``stored``, under its next id. Raises ``CatalogCorrupt`` if that is unknown."""
    allocator: IdAllocator | None = _only(stored, IdAllocator(Kind.AUDIT_LOG, 0))
    if allocator is None:
        detail = "it is missing or cannot be read, and what is done by hand is recorded: mend it before the rest"
        raise CatalogCorrupt(*encode(IdAllocator(Kind.AUDIT_LOG, 0))[:2], detail=detail)
    return encode_rows((replace(event, id=allocator.next_id), replace(allocator, next_id=allocator.next_id + 1)))


def edited(stored: Stored, edit: Edit) -> list[CatalogUpdate]:
    """``stored`` as the edit leaves it."""
    others = [update for update in stored if (update.kind, update.key) != edit.row]
    return others if edit.value is None else [*others, CatalogUpdate(*edit.row, edit.value, MINIMUM, 1)]


def corrections(stored: Stored, wanted: Wanted, at: Timestamp) -> list[CatalogUpdate]:
    """The updates that leave each of ``wanted`` there exactly once, or gone. A sound object changes at ``at``; of another, one copy
    is undone at a time, at ``at`` and just after, since nobody who follows expects other diffs than 1 and -1."""
    updates: list[CatalogUpdate] = []
    for (kind, key), value in wanted.items():
        found = copies(stored, kind, key)
        if [(update.value, update.diff) for update in found] == ([] if value is None else [(value, 1)]):
            continue
        undone = [(update.value, -1 if update.diff > 0 else 1) for update in found for _ in range(abs(update.diff))]
        undone.sort(key=lambda copy: -copy[1])  # the retractions last: the new object may appear as the last copy goes
        updates += [CatalogUpdate(kind, key, text, Timestamp(at + n), diff) for n, (text, diff) in enumerate(undone)]
        if value is not None:
            is_last_a_retraction = bool(undone) and undone[-1][1] < 0
            updates.append(CatalogUpdate(kind, key, value, Timestamp(at + len(undone) - is_last_a_retraction), 1))
    return updates


def copies(stored: Stored, kind: str, key: str) -> list[CatalogUpdate]:
    return [update for update in stored if (update.kind, update.key) == (kind, key)]


def _only(stored: Stored, like: CatalogObject) -> Any | None:
    """The object of the same kind and key as ``like``; None unless it is there once and can be read."""
    found = copies(stored, *encode(like)[:2])
    return _read(found[0]) if len(found) == 1 and found[0].diff == 1 else None


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


def _require_unprotected(stored: Stored, found: Stored, edit: Edit) -> None:
    """What transactions protect is protected here too, as long as it can be read."""
    readable = [thing for thing in map(_read, found) if thing is not None]
    if edit.kind in APPEND_ONLY and (readable or edit.value is not None):
        raise _refused(edit, "events are recorded, never changed")
    for thing in readable:
        if isinstance(thing, Config) and thing.key in GUARDED_CONFIG:
            raise _refused(edit, f'config "{thing.key}" changes only when the catalog is opened')
        if isinstance(thing, IdAllocator) and edit.value is None:
            raise _refused(edit, "its ids would be given out again")
    if edit.kind == Kind.ID_ALLOCATOR and edit.value is not None:
        _require_advance(stored, readable, edit, decode(edit.kind, edit.key, edit.value))


def _require_advance(stored: Stored, readable: Sequence[Any], edit: Edit, after: Any) -> None:
    """An allocator goes neither back nor behind an event; with objects of other kinds it is compared when the catalog is opened."""
    events = [(update.kind, _read(update)) for update in stored if update.kind in APPEND_ONLY]
    used = [before.next_id - 1 for before in readable]
    used += [event.id for kind, event in events if kind == after.name and isinstance(event, AuditEvent | StorageUsage)]
    if max(used, default=0) >= after.next_id:
        raise _refused(edit, f"id {max(used)} is in use or was, so that the next is {max(used) + 1} or later")


def _refused(edit: Edit, detail: str | None) -> EditRefused:
    return EditRefused(edit.kind, edit.key, is_removal=edit.value is None, detail=detail)
