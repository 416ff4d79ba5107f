"""The system relations, with the ids that the catalog assigned to them."""

from __future__ import annotations

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.catalog.builtins import BuiltinObject
from reclock.catalog.objects import ItemType, Kind
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.collections.tables import table_id
from reclock.errors import CatalogError
from reclock.introspection.builtins import BUILTINS
from reclock.protocol.introspection import IntrospectionType
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.names import QualifiedName

SYSTEM_OBJECTS = tuple(
    BuiltinObject(
        builtin.schema,
        builtin.kind,
        builtin.name,
        builtin.fingerprint,
        is_stored=builtin.managed is not None,
    )
    for builtin in BUILTINS
)


def system_entries(snapshot: CatalogSnapshot) -> list[RelationEntry]:
    """The entries of all system relations. Raises ``CatalogError`` if an older release created the
    catalog."""
    ids = _ids(snapshot)
    for builtin in BUILTINS:
        if (builtin.schema, builtin.name) not in ids:
            raise CatalogError(
                (
                    "the catalog does not know the system relation "
                    f'"{builtin.schema}.{builtin.name}" yet'
                ),
                hint="upgrade the environment with `reclock init` or a tick",
            )
    return [
        RelationEntry(
            id := ids[builtin.schema, builtin.name],
            table_id(id) if builtin.managed is not None else StorageCollectionId(id),
            QualifiedName(None, builtin.schema, builtin.name),
            ItemType(builtin.kind),
            builtin.desc,
            builtin_view=builtin.query,
            follows_catalog=builtin.catalog_rows is not None,
        )
        for builtin in BUILTINS
    ]


def managed_ids(snapshot: CatalogSnapshot) -> dict[IntrospectionType, GlobalId]:
    """The ids of the relations that storage manages."""
    ids = _ids(snapshot)
    return {
        builtin.managed: ids[builtin.schema, builtin.name]
        for builtin in BUILTINS
        if builtin.managed is not None
    }


def _ids(snapshot: CatalogSnapshot) -> dict[tuple[str, str], GlobalId]:
    mappings = snapshot.all(Kind.SYSTEM_OBJECT_MAPPING).values()
    return {(mapping.schema_name, mapping.object_name): mapping.id for mapping in mappings}
