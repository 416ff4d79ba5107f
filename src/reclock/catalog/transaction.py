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

    def insert(self, catalog_object: CatalogObject) -> None:
        """Add a new object.

        Raises ``DuplicateObject`` if its key or name is taken, ``CatalogError`` if its id was not
        allocated by this transaction.
        """
        spec = spec_of(catalog_object)
        if spec.allocated is not None and spec.allocated(catalog_object) not in self._allocated:
            raise CatalogError(
                f'the id of {spec.kind} "{label(catalog_object)}" was not allocated by this '
                "transaction"
            )
        if spec.is_append_only:
            self._appended.append(catalog_object)
            return
        if self.snapshot.get(*identity(catalog_object)) is not None:
            raise DuplicateObject(spec.kind, label(catalog_object))
        self._set(identity(catalog_object), catalog_object)

    def update(self, catalog_object: CatalogObject) -> None:
        """Replace the object of the same key. Raises ``UnknownObject``, or ``DuplicateObject`` if
        the new name is taken."""
        before = self._existing(catalog_object)
        if isinstance(catalog_object, IdAllocator) and isinstance(before, IdAllocator):
            _require_forward(before, catalog_object)
        self._set(identity(catalog_object), catalog_object)

    def put(self, catalog_object: CatalogObject) -> None:
        """Replace the object of the same key, or add it if there is none."""
        if (
            not spec_of(catalog_object).is_append_only
            and self.snapshot.get(*identity(catalog_object)) is not None
        ):
            self.update(catalog_object)
        else:
            self.insert(catalog_object)

    def put_all(self, catalog_objects: Iterable[CatalogObject]) -> None:
        for catalog_object in catalog_objects:
            self.put(catalog_object)

    def delete(self, catalog_object: CatalogObject) -> None:
        """Remove the object of this key, and what the catalog says about it (``DEPENDENT``).
        Raises ``UnknownObject``."""
        if isinstance(catalog_object, IdAllocator):
            raise CatalogError(
                f'id allocator "{catalog_object.name}" cannot be dropped',
                detail="its ids would be given out again",
            )
        target = identity(self._existing(catalog_object))
        if self.snapshot.is_referred_to(*target):
            for kind in DEPENDENT:
                for dependent in list(self.snapshot.all(kind).values()):
                    if target in SPECS[kind].references(dependent):
                        self._set(identity(dependent), None)
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
        changes += [ObjectChange(catalog_object, at, -1) for catalog_object in self._expired]
        return changes + [ObjectChange(catalog_object, at, 1) for catalog_object in self._appended]

    # --- inside ---

    def _existing(self, catalog_object: T) -> T:
        """The object as it is now that has the kind and key of ``catalog_object``. Raises
        ``UnknownObject``."""
        spec = spec_of(catalog_object)
        if spec.is_append_only:
            raise CatalogError(f"objects of kind {spec.kind} are never changed")
        before: T | None = self.snapshot.get(*identity(catalog_object))
        if before is None:
            raise UnknownObject(spec.kind, label(catalog_object))
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

    def _check_unreferenced(self, catalog_object: CatalogObject) -> None:
        if self.snapshot.is_referred_to(*identity(catalog_object)):
            dependents = [
                label(referrer) for referrer in self.snapshot.referrers(*identity(catalog_object))
            ]
            raise DependentObjects(
                spec_of(catalog_object).kind, label(catalog_object), sorted(dependents)
            )

    def _check_references(self, catalog_object: CatalogObject) -> None:
        spec = spec_of(catalog_object)
        for kind, key in spec.references(catalog_object):
            if self.snapshot.get(kind, key) is None:
                raise UnknownObject(
                    kind, str(key), detail=f'{spec.kind} "{label(catalog_object)}" refers to it'
                )


def _require_forward(before: IdAllocator, after: IdAllocator) -> None:
    if after.next_id < before.next_id:
        raise CatalogError(
            f'id allocator "{after.name}" cannot go back from {before.next_id} to {after.next_id}'
        )
