"""CREATE SCHEMA, ALTER SCHEMA and DROP SCHEMA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import Database, Schema
from reclock.errors import (
    DependentObjects,
    DuplicateObject,
    ReservedName,
    SystemObjectProtected,
    UnknownObject,
)
from reclock.sql.catalog.entries import Entry, Scope
from reclock.sql.catalog.lookups import check_tables_named, dependents_closure, snapshot_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SYSTEM_SCHEMAS, SessionNames, fold, nearest, parts
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.statements.schemas.moved_text import with_moved_names
from reclock.sql.statements.schemas.syntax import (
    CreateSchemaStatement,
    DropSchemasStatement,
    RenameSchemaStatement,
    SwapSchemasStatement,
)
from reclock.sql.statements.tables.dropped_keys import Redefined, keys_dropped_with

_RESERVED_PREFIXES = ("mz_", "pg_")
_SWAPPED = "mz_swapped"
"""The name that a schema has while two swap theirs. No schema has it, for it is reserved."""


@plans(CreateSchemaStatement)
def create_schema(
    node: CreateSchemaStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateSchema | Skipped:
    *qualifier, name = parts(node.this)
    database = qualifier[0] if qualifier else session.database
    if database not in catalog.databases:
        raise UnknownObject("database", database, hint=nearest(database, catalog.databases))
    _check_not_reserved(name)
    if (database, name) in catalog.schemas:
        if node.args.get("exists"):
            return Skipped("CREATE SCHEMA", f'schema "{name}" already exists, skipping')
        raise DuplicateObject("schema", name)
    database_object = snapshot_of(catalog).database_by_name(database)
    if database_object is None:
        raise UnknownObject("database", database)
    return CreateSchema(database_object.id, name)


def _check_not_reserved(name: str) -> None:
    if name in SYSTEM_SCHEMAS or name.startswith(_RESERVED_PREFIXES):
        raise ReservedName(name, hint='names of schemas do not begin with "mz_" or "pg_"')


@plans(RenameSchemaStatement)
def rename_schema(
    node: RenameSchemaStatement, catalog: PlannerCatalog, session: SessionNames
) -> RenameSchemas:
    """Plan ALTER SCHEMA … RENAME TO. Every definition that names an object of the schema is written
    again."""
    database, schema = _changeable(node.this, catalog, session)
    new_name = fold(node.args["to"])
    _check_not_reserved(new_name)
    if (database.name, new_name) in catalog.schemas:
        raise DuplicateObject("schema", new_name)
    return _renamed(database, [(schema, schema.name, new_name)], catalog)


@plans(SwapSchemasStatement)
def swap_schemas(
    node: SwapSchemasStatement, catalog: PlannerCatalog, session: SessionNames
) -> RenameSchemas:
    """Plan ALTER SCHEMA … SWAP WITH, of two schemas of one database."""
    database, one = _changeable(node.this, catalog, session)
    other = _schema((database.name, fold(node.args["other"])), catalog)
    names = [(one, one.name, _SWAPPED), (other, other.name, one.name), (one, _SWAPPED, other.name)]
    return _renamed(database, names if one.id != other.id else [], catalog)


def _changeable(
    name: exp.Table, catalog: PlannerCatalog, session: SessionNames
) -> tuple[Database, Schema]:
    """The schema and its database. Raises ``SystemObjectProtected``, ``UnknownObject``."""
    scope = catalog.scope(parts(name), session)
    database = snapshot_of(catalog).database_by_name(scope[0]) if scope[0] is not None else None
    if database is None:
        raise SystemObjectProtected(scope[1])
    return database, _schema(scope, catalog)


def _renamed(
    database: Database, renames: Sequence[tuple[Schema, str, str]], catalog: PlannerCatalog
) -> RenameSchemas:
    """Each schema is renamed from one name to the next, in this order."""
    moved = {(database.name, name): (database.name, to) for _, name, to in renames}
    ids = tuple((schema.id, to) for schema, _, to in renames)
    return RenameSchemas(database.id, ids, redefined_in(moved, catalog))


def redefined_in(
    moved: Mapping[tuple[str, str], tuple[str, str]], catalog: PlannerCatalog
) -> Redefined:
    """The new text of every definition that names an object of a schema with a new name. The
    schemas are a database and a name in it, before and after, each in its turn."""
    redefined: dict[GlobalId, str] = {}
    for item in snapshot_of(catalog).items.values():
        for schema, to in moved.items():
            text = with_moved_names(redefined.get(item.id, item.create_sql or ""), schema, to)
            if text is not None:
                redefined[item.id] = text
    return tuple(redefined.items())


def _schema(scope: Scope, catalog: PlannerCatalog) -> Schema:
    snapshot = snapshot_of(catalog)
    database = snapshot.database_by_name(scope[0]) if scope[0] is not None else None
    schema = snapshot.schema_by_name(database.id if database is not None else None, scope[1])
    if schema is None:
        raise UnknownObject("schema", scope[1])
    return schema


@plans(DropSchemasStatement)
def drop_schemas(
    node: DropSchemasStatement, catalog: PlannerCatalog, session: SessionNames
) -> DropSchemas | Skipped:
    """Plan DROP SCHEMA. Only CASCADE drops the objects in a schema."""
    schemas: list[Schema] = []
    notices: list[str] = []
    inside: list[Entry] = []
    for name in (parts(table) for table in node.args["names"]):
        if name[-1] in SYSTEM_SCHEMAS:
            raise SystemObjectProtected(name[-1])
        database = name[0] if len(name) == 2 else session.database
        if node.args.get("exists") and (database, name[-1]) not in catalog.schemas:
            notices.append(f'schema "{".".join(name)}" does not exist, skipping')
            continue
        scope = catalog.scope(name, session)
        schemas.append(_schema(scope, catalog))
        inside += catalog.within(scope).values()
    if not schemas:
        return Skipped("DROP SCHEMA", "; ".join(notices))
    cascades = node.args.get("behavior") == "CASCADE"
    ids, redefined = dropped_inside(inside, "schema", schemas[0].name, catalog, cascades=cascades)
    schema_ids = tuple(dict.fromkeys(schema.id for schema in schemas))
    return DropSchemas(schema_ids, ids, tuple(notices), redefined)


def dropped_inside(
    inside: Sequence[Entry], kind: str, name: str, catalog: PlannerCatalog, *, cascades: bool
) -> tuple[tuple[GlobalId, ...], Redefined]:
    """The ids of what is dropped with the items inside a schema or a database, dependents first, and
    the tables that lose a foreign key. Raises ``DependentObjects`` if there are items and the drop
    does not cascade."""
    ids, dependents = dependents_closure([entry.id for entry in inside], catalog)
    foreign_keys, redefined = keys_dropped_with(ids, catalog)
    dependents += foreign_keys
    if (inside or dependents) and not cascades:
        raise DependentObjects(kind, name, [*(str(entry.name) for entry in inside), *dependents])
    check_tables_named(ids, {entry.id for entry in inside}, catalog)
    return ids, redefined


@dataclass(frozen=True, slots=True)
class CreateSchema:
    database_id: int
    name: str
    tag: str = "CREATE SCHEMA"


@dataclass(frozen=True, slots=True)
class RenameSchemas:
    """``renames`` are the ids of schemas and their next names, in this order. ``redefined`` has the
    new text of every definition that names an object of these schemas."""

    database_id: int
    renames: tuple[tuple[int, str], ...]
    redefined: Redefined
    tag: str = "ALTER SCHEMA"


@dataclass(frozen=True, slots=True)
class DropSchemas:
    ids: tuple[int, ...]
    items: tuple[GlobalId, ...]  # they go before the schemas, dependents first
    notices: tuple[str, ...] = ()
    redefined: Redefined = ()
    tag: str = "DROP SCHEMA"
