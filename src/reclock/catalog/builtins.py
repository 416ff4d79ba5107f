"""Builtin objects: their definitions live in the program, their ids and fingerprints in the
catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reclock.catalog.objects import Kind, SystemObjectMapping
from reclock.catalog.transaction import CatalogTransaction


@dataclass(frozen=True, slots=True)
class BuiltinObject:
    """``fingerprint`` changes whenever the definition does. If ``is_stored``, the object has a
    collection under its id."""

    schema: str
    type: str
    name: str
    fingerprint: str
    is_stored: bool = False


def register_builtins(tx: CatalogTransaction, builtins: Sequence[BuiltinObject]) -> None:
    """Map exactly ``builtins`` to ids. Changes nothing if they are mapped already.

    A new builtin gets a new ``s…`` id. A changed one keeps its id and gets the new fingerprint; if
    rows of its old definition are stored under that id, it gets a new id too.
    """
    builtin_names = {(builtin.schema, builtin.type, builtin.name) for builtin in builtins}
    for key, mapping in list(tx.snapshot.all(Kind.SYSTEM_OBJECT_MAPPING).items()):
        if key not in builtin_names:
            tx.delete(mapping)
    for builtin in builtins:
        key = (builtin.schema, builtin.type, builtin.name)
        mapping = tx.snapshot.get(Kind.SYSTEM_OBJECT_MAPPING, key)
        if mapping is None:
            tx.insert(SystemObjectMapping(*key, tx.allocate_system_id(), builtin.fingerprint))
        elif mapping.fingerprint != builtin.fingerprint:
            id = tx.allocate_system_id() if builtin.is_stored else mapping.id
            tx.update(replace(mapping, id=id, fingerprint=builtin.fingerprint))
