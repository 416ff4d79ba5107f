"""Objects with an owner and privileges, and their names in SQL."""

from __future__ import annotations

from reclock.catalog.kinds import Owned
from reclock.catalog.objects import Cluster, Item, Schema
from reclock.catalog.roles import Target, type_of
from reclock.catalog.snapshot import CatalogSnapshot
from reclock.errors import quoted_name
from reclock.sql.names import QualifiedName, cluster_identifier, quote
from reclock.sql.syntax.dialect import to_sql


def name_of(snapshot: CatalogSnapshot, object: Owned) -> str:
    """The full name, quoted where needed."""
    match object:
        case Item():
            schema = snapshot.schemas[object.schema_id]
            return str(QualifiedName(_database(snapshot, schema), schema.name, object.name))
        case Schema():
            database = _database(snapshot, object)
            return ".".join(quote(part) for part in (database, object.name) if part is not None)
        case Cluster():
            return to_sql(cluster_identifier(object.name))
        case _:
            return quote(object.name)


def described(snapshot: CatalogSnapshot, target: Target) -> str:
    """The object in messages: ``SOURCE "reclock.public.s"``, ``SYSTEM``."""
    object: Owned | None = snapshot.get(*target) if target is not None else None
    if object is None:
        return "SYSTEM"
    return f"{type_of(object).upper().replace('_', ' ')} {quoted_name(name_of(snapshot, object))}"


def role_name(snapshot: CatalogSnapshot, role_id: str) -> str:
    """The role's name; ``PUBLIC`` for every role."""
    role = snapshot.roles.get(role_id)
    return role.name if role is not None else "PUBLIC"


def _database(snapshot: CatalogSnapshot, schema: Schema) -> str | None:
    return None if schema.database_id is None else snapshot.databases[schema.database_id].name
