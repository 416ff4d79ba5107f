"""Invariants between the objects of a catalog, checked when a catalog is loaded."""

from __future__ import annotations

from reclock.catalog.encoding import encode
from reclock.catalog.kinds import CatalogObject, label, spec_of
from reclock.catalog.objects import Kind
from reclock.catalog.snapshot import CACHED, CatalogSnapshot
from reclock.errors import CatalogCorrupt, CatalogError


def check_integrity(snapshot: CatalogSnapshot) -> None:
    """Raises ``CatalogCorrupt`` if a reference leads to no object, or an allocator would allocate
    an id in use."""
    for kind in CACHED:
        for catalog_object in snapshot.all(kind).values():
            for problem in (
                _dangling(snapshot, catalog_object),
                _unallocated(snapshot, catalog_object),
            ):
                if problem is not None:
                    raise CatalogCorrupt(kind, encode(catalog_object)[1], detail=problem)


def _dangling(snapshot: CatalogSnapshot, catalog_object: CatalogObject) -> str | None:
    for kind, key in spec_of(catalog_object).references(catalog_object):
        if snapshot.get(kind, key) is None:
            return f'"{label(catalog_object)}" refers to {kind} "{key}", which is not there'
    return None


def _unallocated(snapshot: CatalogSnapshot, catalog_object: CatalogObject) -> str | None:
    spec = spec_of(catalog_object)
    if spec.allocated is None:
        return None
    try:
        name, number = spec.allocated(catalog_object)
    except CatalogError as malformed:
        return malformed.message
    allocator = snapshot.get(Kind.ID_ALLOCATOR, name)
    if allocator is None:
        return f'id allocator "{name}" is missing'
    if allocator.next_id <= number:
        return f'id allocator "{name}" would give out its id again: the next is {allocator.next_id}'
    return None
