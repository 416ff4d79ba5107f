"""The catalog at one moment, in memory. A snapshot is immutable, and shares unchanged parts with
the previous one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Self

from rpds import HashTrieMap

from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.catalog.encoding import ObjectChange, encode
from reclock.catalog.kinds import SPECS, CatalogObject, Key, Reference, identity, key_order, spec_of
from reclock.catalog.objects import (
    APPEND_ONLY,
    Cluster,
    ClusterReplica,
    Config,
    Database,
    Item,
    Kind,
    Role,
    Schema,
)
from reclock.errors import CatalogCorrupt

CACHED = tuple(kind for kind in Kind if kind not in APPEND_ONLY)

Identity = tuple[Kind, Key]

_RECENT_CHANGES = 64
"""So many of a snapshot's last changes are known to it."""


@dataclass(frozen=True, slots=True)
class CatalogSnapshot:
    """Every object of the cached kinds, after all updates at times below ``upper``.

    A change costs the logarithm of the catalog's size: the maps are hash tries that share their
    unchanged parts. ``content_upper`` is the smallest upper at which the content is known to have
    been the same.
    """

    upper: Timestamp
    content_upper: Timestamp
    _objects: HashTrieMap[Kind, HashTrieMap[Key, Any]]
    _names: HashTrieMap[tuple[Kind, Any], Key]
    _referrers: HashTrieMap[Reference, int]
    content: object = field(default_factory=object, compare=False, repr=False)
    """Only snapshots that have the same content have the same."""
    _recent: tuple[tuple[object, Identity], ...] = field(default=(), compare=False, repr=False)
    """The last changes: the ``content`` before each, and the object that it changed."""

    @classmethod
    def empty(cls) -> Self:
        return cls.of((), MINIMUM)

    @classmethod
    def of(cls, catalog_objects: Iterable[CatalogObject], upper: Timestamp) -> Self:
        """The snapshot of these objects. Raises ``CatalogCorrupt`` if two share a unique name."""
        objects: dict[Kind, dict[Key, Any]] = {kind: {} for kind in CACHED}
        names: dict[tuple[Kind, Any], Key] = {}
        referrers: dict[Reference, int] = {}
        for catalog_object in catalog_objects:
            spec = spec_of(catalog_object)
            key = spec.key_of(catalog_object)
            objects[spec.kind][key] = catalog_object
            if (
                spec.unique
                and names.setdefault((spec.kind, spec.name_of(catalog_object)), key) != key
            ):
                raise CatalogCorrupt(
                    spec.kind, encode(catalog_object)[1], detail="another object has the same name"
                )
            for reference in spec.references(catalog_object):
                referrers[reference] = referrers.get(reference, 0) + 1
        tries = HashTrieMap({kind: HashTrieMap(by_key) for kind, by_key in objects.items()})
        return cls(upper, upper, tries, HashTrieMap(names), HashTrieMap(referrers))

    # --- reading ---

    def get(self, kind: Kind, key: Key) -> Any | None:
        return self._objects[kind].get(key)

    def by_name(self, kind: Kind, name: Any) -> Any | None:
        """The object whose unique fields (one value, or the tuple of several) are ``name``."""
        key = self._names.get((kind, name))
        return None if key is None else self._objects[kind][key]

    def all(self, kind: Kind) -> Mapping[Key, Any]:
        """Every object of a cached kind by key, in no particular order."""
        return self._objects[kind]

    def sorted(self, kind: Kind) -> list[Any]:
        """Every object of a cached kind in order of its key; ids in order of their number."""
        return sorted(
            self._objects[kind].values(),
            key=lambda catalog_object: key_order(spec_of(catalog_object).key_of(catalog_object)),
        )

    def is_referred_to(self, kind: Kind, key: Key) -> bool:
        return (kind, key) in self._referrers

    def referrers(self, kind: Kind, key: Key) -> list[CatalogObject]:
        """The objects that need this one. Searches the whole catalog: for messages and CASCADE."""
        if not self.is_referred_to(kind, key):
            return []
        return [
            catalog_object
            for objects in self._objects.values()
            for catalog_object in objects.values()
            if (kind, key) in spec_of(catalog_object).references(catalog_object)
        ]

    @property
    def items(self) -> Mapping[GlobalId, Item]:
        return self._objects[Kind.ITEM]

    @property
    def schemas(self) -> Mapping[int, Schema]:
        return self._objects[Kind.SCHEMA]

    @property
    def databases(self) -> Mapping[int, Database]:
        return self._objects[Kind.DATABASE]

    @property
    def clusters(self) -> Mapping[int, Cluster]:
        return self._objects[Kind.CLUSTER]

    @property
    def cluster_replicas(self) -> Mapping[int, ClusterReplica]:
        return self._objects[Kind.CLUSTER_REPLICA]

    @property
    def roles(self) -> Mapping[str, Role]:
        return self._objects[Kind.ROLE]

    def item_by_name(self, schema_id: int, name: str) -> Item | None:
        return self.by_name(Kind.ITEM, (schema_id, name))

    def schema_by_name(self, database_id: int | None, name: str) -> Schema | None:
        """``database_id`` is None for the system schemas."""
        return self.by_name(Kind.SCHEMA, (database_id, name))

    def database_by_name(self, name: str) -> Database | None:
        return self.by_name(Kind.DATABASE, name)

    def replica_by_name(self, cluster_id: int, name: str) -> ClusterReplica | None:
        return self.by_name(Kind.CLUSTER_REPLICA, (cluster_id, name))

    def role_by_name(self, name: str) -> Role | None:
        return self.by_name(Kind.ROLE, name)

    def config(self, key: str) -> int | None:
        config: Config | None = self.get(Kind.CONFIG, key)
        return None if config is None else config.value

    def changed_since(self, earlier: CatalogSnapshot) -> frozenset[Identity] | None:
        """The objects that may differ from those of ``earlier``; None if that is not known, because
        this snapshot was not made from it by a few changes."""
        if self.content is earlier.content:
            return frozenset()
        for index, (before, _) in enumerate(self._recent):
            if before is earlier.content:
                return frozenset(changed for _, changed in self._recent[index:])
        return None

    # --- changing ---

    def at(self, upper: Timestamp) -> Self:
        """The same content, complete below ``upper`` and not known to have been the same before."""
        return replace(self, upper=upper, content_upper=upper)

    def with_change(self, before: CatalogObject | None, after: CatalogObject | None) -> Self:
        """This snapshot with one object replaced, added or removed. The caller has checked keys and
        names."""
        objects, names, referrers = self._objects, self._names, self._referrers
        content, recent = self.content, self._recent
        for catalog_object, sign in ((before, -1), (after, 1)):
            if catalog_object is None:
                continue
            spec = spec_of(catalog_object)
            key = spec.key_of(catalog_object)
            by_key, name = objects[spec.kind], (spec.kind, spec.name_of(catalog_object))
            objects = objects.insert(
                spec.kind, by_key.insert(key, catalog_object) if sign > 0 else by_key.remove(key)
            )
            if spec.unique:
                names = names.insert(name, key) if sign > 0 else names.remove(name)
            for reference in spec.references(catalog_object):
                count = referrers.get(reference, 0) + sign
                referrers = (
                    referrers.insert(reference, count) if count else referrers.remove(reference)
                )
            recent = (*recent[1 - _RECENT_CHANGES :], (content, (spec.kind, key)))
            content = object()
        return replace(
            self,
            _objects=objects,
            _names=names,
            _referrers=referrers,
            content=content,
            _recent=recent,
        )

    def apply(self, changes: Iterable[ObjectChange], upper: Timestamp) -> Self:
        """The snapshot at ``upper``: this one with all ``changes``, whose times lie in
        ``[self.upper, upper)``.

        Changes of append-only kinds are ignored. Raises ``CatalogCorrupt`` if a retraction does not
        match the object, or if the key or unique name of a new object is taken.
        """
        cached = sorted(
            (c for c in changes if spec_of(c.object).kind not in APPEND_ONLY), key=lambda c: c.ts
        )
        after = self
        for at, group in groupby(cached, key=lambda c: c.ts):
            if not self.upper <= at < upper:
                raise CatalogCorrupt(
                    "update", str(at), detail=f"its time is not in [{self.upper}, {upper})"
                )
            for change in sorted(group, key=lambda c: c.diff):
                after = (
                    after._retract(change.object) if change.diff < 0 else after._add(change.object)
                )
        return replace(after, upper=upper, content_upper=upper if cached else self.content_upper)

    def _retract(self, catalog_object: CatalogObject) -> Self:
        kind, key = identity(catalog_object)
        if self.get(kind, key) != catalog_object:
            raise CatalogCorrupt(kind, str(key), detail="an update retracts what is not there")
        return self.with_change(catalog_object, None)

    def _add(self, catalog_object: CatalogObject) -> Self:
        kind, key = identity(catalog_object)
        if self.get(kind, key) is not None:
            raise CatalogCorrupt(kind, str(key), detail="an update adds it a second time")
        if (
            SPECS[kind].unique
            and self.by_name(kind, SPECS[kind].name_of(catalog_object)) is not None
        ):
            raise CatalogCorrupt(kind, str(key), detail="another object has the same name")
        return self.with_change(None, catalog_object)
