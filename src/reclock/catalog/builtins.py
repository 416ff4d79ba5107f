"""Builtin objects: their definitions live in the program, their ids and fingerprints in the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reclock.catalog.objects import Kind, SystemObjectMapping
from reclock.catalog.transaction import CatalogTransaction


@dataclass(frozen=True, slots=True)
class BuiltinObject:
    """``fingerprint`` changes whenever the definition does. One that ``is_stored`` has a collection under its id."""

    schema: str
    type: str
    name: str
    fingerprint: str
    is_stored: bool = False


def register_builtins(tx: CatalogTransaction, builtins: Sequence[BuiltinObject]) -> None:
    """Afterwards exactly ``builtins`` are mapped: a new one to a new ``s…`` id, a changed one to its old id with the new
    fingerprint, or to a new id if rows of the old definition are stored under it. Nothing is touched if they are mapped so already.
    """
    wanted = {(builtin.schema, builtin.type, builtin.name) for builtin in builtins}
    for key, mapping in list(tx.snapshot.all(Kind.SYSTEM_OBJECT_MAPPING).items()):
        if key not in wanted:
            tx.delete(mapping)
    for builtin in builtins:
        key = (builtin.schema, builtin.type, builtin.name)
        mapping = tx.snapshot.get(Kind.SYSTEM_OBJECT_MAPPING, key)
        if mapping is None:
            tx.insert(SystemObjectMapping(*key, tx.allocate_system_id(), builtin.fingerprint))
        elif mapping.fingerprint != builtin.fingerprint:
            id = tx.allocate_system_id() if builtin.is_stored else mapping.id
            tx.update(replace(mapping, id=id, fingerprint=builtin.fingerprint))
