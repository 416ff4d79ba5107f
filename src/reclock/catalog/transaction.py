"""A transaction: any number of changes on one snapshot, each checked at once, and committed
together or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.catalog.encoding import ObjectChange
from reclock.catalog.kinds import (
    DEPENDENT,
    SPECS,
    CatalogObject,
    Reference,
    identity,
    label,
    spec_of,
)
from reclock.catalog.objects import AuditEvent, IdAllocator, Kind, StorageUsage
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import CatalogError, DependentObjects, DuplicateObject, UnknownObject

T = TypeVar("T", bound=CatalogObject)

GUARDED_CONFIG = frozenset({"version", "epoch", "deploy_generation", "sealed"})
"""Configuration that only opening the catalog changes: the layout, and who may write."""


class CatalogTransaction:
    """Sees its own changes in ``snapshot``; nothing is durable before ``commit_transaction``.

    Each call checks keys, unique names, allocated ids and protected objects. The commit checks
    references, so objects may be dropped and created in any order. A failed call changes nothing.
    """

    def __init__(self, base: CatalogSnapshot) -> None:
        self.base = base
        self.snapshot = base
        self._touched: dict[Reference, None] = {}
        self._appended: list[CatalogObject] = []
        self._expired: list[CatalogObject] = []
        self._allocated: set[tuple[str, int]] = set()

    def fork(self) -> CatalogTransaction:
        """A copy of this transaction, which can change without changing this one."""
        copy = CatalogTransaction(self.base)
        copy.snapshot = self.snapshot
        copy._touched = dict(self._touched)
        copy._appended = list(self._appended)
        copy._expired = list(self._expired)
        copy._allocated = set(self._allocated)
        return copy

    # --- objects ---

    def insert(self, thing: CatalogObject) -> None:
        """Add a new object.

        Raises ``DuplicateObject`` if its key or name is taken, ``CatalogError`` if its id was not
        allocated by this transaction.
        """
        spec = spec_of(thing)
        if spec.allocated is not None and spec.allocated(thing) not in self._allocated:
            raise CatalogError(
                f'the id of {spec.kind} "{label(thing)}" was not allocated by this transaction'
            )
        if spec.is_append_only:
            self._appended.append(thing)
            return
        if self.snapshot.get(*identity(thing)) is not None:
            raise DuplicateObject(spec.kind, label(thing))
        self._set(identity(thing), thing)

    def update(self, thing: CatalogObject) -> None:
        """Replace the object of the same key. Raises ``UnknownObject``, or ``DuplicateObject`` if
        the new name is taken."""
        before = self._existing(thing)
        if isinstance(thing, IdAllocator) and isinstance(before, IdAllocator):
            _require_forward(before, thing)
        self._set(identity(thing), thing)

    def put(self, thing: CatalogObject) -> None:
        """Replace the object of the same key, or add it if there is none."""
        if not spec_of(thing).is_append_only and self.snapshot.get(*identity(thing)) is not None:
            self.update(thing)
        else:
            self.insert(thing)

    def put_all(self, things: Iterable[CatalogObject]) -> None:
        for thing in things:
            self.put(thing)

    def delete(self, thing: CatalogObject) -> None:
        """Remove the object of this key, and what the catalog says about it (``DEPENDENT``).
        Raises ``UnknownObject``."""
        if isinstance(thing, IdAllocator):
            raise CatalogError(
                f'id allocator "{thing.name}" cannot be dropped',
                detail="its ids would be given out again",
            )
        target = identity(self._existing(thing))
        if self.snapshot.is_referred_to(*target):
            for kind in DEPENDENT:
                for thing_about in list(self.snapshot.all(kind).values()):
                    if target in SPECS[kind].references(thing_about):
                        self._set(identity(thing_about), None)
        self._set(target, None)

    # --- ids, events ---

    def allocate(self, allocator: str, count: int = 1) -> list[int]:
        """``count`` new ids. If this transaction commits, they are never allocated again."""
        current: IdAllocator | None = self.snapshot.get(Kind.ID_ALLOCATOR, allocator)
        if current is None:
            raise UnknownObject("id allocator", allocator)
        ids = list(range(current.next_id, current.next_id + count))
        self._set((Kind.ID_ALLOCATOR, allocator), IdAllocator(allocator, current.next_id + count))
        self._allocated.update((allocator, id) for id in ids)
        return ids

    def allocate_user_id(self) -> GlobalId:
        return GlobalId(f"u{self.allocate('user')[0]}")

    def adopt_user_id(self, id: GlobalId) -> None:
        """Use an id that an earlier transaction allocated, and that no object has, for an object of
        this transaction."""
        self._allocated.add(("user", int(id[1:])))

    def allocate_system_id(self) -> GlobalId:
        return GlobalId(f"s{self.allocate('system')[0]}")

    def allocate_user_role_id(self) -> str:
        return f"u{self.allocate('user_role')[0]}"

    def allocate_cluster_id(self) -> int:
        return self.allocate("cluster")[0]

    def allocate_cluster_replica_id(self) -> int:
        return self.allocate("cluster_replica")[0]

    def allocate_schema_id(self) -> int:
        return self.allocate("schema")[0]

    def audit(
        self,
        event_type: str,
        object_type: str,
        object_name: str,
        *,
        user: str,
        occurred_at: Timestamp,
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Record an audit event, which is committed with the changes. ``event_type`` is create,
        alter, drop, …."""
        [id] = self.allocate("audit_log")
        self.insert(
            AuditEvent(
                id, event_type, object_type, object_name, dict(details or {}), user, occurred_at
            )
        )

    def record_storage_usage(
        self, collection: str, size_bytes: int, *, collected_at: Timestamp
    ) -> None:
        [id] = self.allocate("storage_usage")
        self.insert(StorageUsage(id, collection, size_bytes, collected_at))

    def expire_storage_usage(self, usages: Iterable[StorageUsage]) -> None:
        """Delete measurements that existed when this transaction began.

        It allocates an id, so that of two transactions that delete the same measurements the second
        conflicts.
        """
        self.allocate("storage_usage")
        self._expired += usages

    # --- outcome ---

    def removed(self, kind: Kind) -> list[Any]:
        """The keys of the objects of this kind that the transaction deletes."""
        keys = [key for touched_kind, key in self._touched if touched_kind is kind]
        return [
            key for key in keys if self.base.get(kind, key) and not self.snapshot.get(kind, key)
        ]

    def differences(
        self, base: CatalogSnapshot
    ) -> Iterator[tuple[CatalogObject | None, CatalogObject | None]]:
        """Each object that is not as it was at ``base``, an earlier state of this transaction:
        then and now, None where it does not exist."""
        for kind, key in self._touched:
            before, after = base.get(kind, key), self.snapshot.get(kind, key)
            if before != after:
                yield before, after

    def changes(self, at: Timestamp = MINIMUM) -> list[ObjectChange]:
        """The net changes, all at time ``at``; none for objects that are the same at the end.

        Raises ``UnknownObject`` if an object refers to one that does not exist,
        ``DependentObjects`` if others need a deleted one.
        """
        changes: list[ObjectChange] = []
        for before, after in self.differences(self.base):
            if after is not None:
                self._check_references(after)
            if before is not None:
                if after is None:
                    self._check_unreferenced(before)
                changes.append(ObjectChange(before, at, -1))
            if after is not None:
                changes.append(ObjectChange(after, at, 1))
        changes += [ObjectChange(thing, at, -1) for thing in self._expired]
        return changes + [ObjectChange(thing, at, 1) for thing in self._appended]

    # --- inside ---

    def _existing(self, thing: T) -> T:
        """The object as it is now that has the kind and key of ``thing``. Raises
        ``UnknownObject``."""
        spec = spec_of(thing)
        if spec.is_append_only:
            raise CatalogError(f"objects of kind {spec.kind} are never changed")
        before: T | None = self.snapshot.get(*identity(thing))
        if before is None:
            raise UnknownObject(spec.kind, label(thing))
        return before

    def _set(self, reference: Reference, after: CatalogObject | None) -> None:
        kind, key = reference
        if kind is Kind.CONFIG and key in GUARDED_CONFIG:
            raise CatalogError(f'config "{key}" changes only when the catalog is opened')
        if after is not None and SPECS[kind].unique:
            namesake = self.snapshot.by_name(kind, SPECS[kind].name_of(after))
            if namesake is not None and SPECS[kind].key_of(namesake) != key:
                raise DuplicateObject(kind, label(after))
        self.snapshot = self.snapshot.with_change(self.snapshot.get(kind, key), after)
        self._touched[reference] = None

    def _check_unreferenced(self, thing: CatalogObject) -> None:
        if self.snapshot.is_referred_to(*identity(thing)):
            dependents = [label(referrer) for referrer in self.snapshot.referrers(*identity(thing))]
            raise DependentObjects(spec_of(thing).kind, label(thing), sorted(dependents))

    def _check_references(self, thing: CatalogObject) -> None:
        spec = spec_of(thing)
        for kind, key in spec.references(thing):
            if self.snapshot.get(kind, key) is None:
                raise UnknownObject(
                    kind, str(key), detail=f'{spec.kind} "{label(thing)}" refers to it'
                )


def _require_forward(before: IdAllocator, after: IdAllocator) -> None:
    if after.next_id < before.next_id:
        raise CatalogError(
            f'id allocator "{after.name}" cannot go back from {before.next_id} to {after.next_id}'
        )
