"""CREATE DATABASE, ALTER DATABASE and DROP DATABASE."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import Database
from reclock.errors import DatabaseInUse, DuplicateObject, UnknownObject
from reclock.sql.catalog.lookups import snapshot_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import DEFAULT_DATABASE, SessionNames, fold, nearest
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.statements.databases.syntax import (
    CreateDatabaseStatement,
    DropDatabaseStatement,
    RenameDatabaseStatement,
)
from reclock.sql.statements.schemas.plan import dropped_inside, redefined_in
from reclock.sql.statements.tables.dropped_keys import Redefined


@plans(CreateDatabaseStatement)
def create_database(
    node: CreateDatabaseStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateDatabase | Skipped:
    name = fold(node.this)
    if name in catalog.databases:
        if node.args.get("exists"):
            return Skipped("CREATE DATABASE", f'database "{name}" already exists, skipping')
        raise DuplicateObject("database", name)
    return CreateDatabase(name)


@plans(RenameDatabaseStatement)
def rename_database(
    node: RenameDatabaseStatement, catalog: PlannerCatalog, session: SessionNames
) -> RenameDatabase:
    """Plan ALTER DATABASE … RENAME TO. Every definition that names an object of the database is
    written again."""
    database, name = _changeable(fold(node.this), "rename", catalog, session), fold(node.args["to"])
    if name in catalog.databases:
        raise DuplicateObject("database", name)
    moved = {
        (database.name, schema): (name, schema)
        for of, schema in catalog.schemas
        if of == database.name
    }
    return RenameDatabase(database.id, name, redefined_in(moved, catalog))


@plans(DropDatabaseStatement)
def drop_database(
    node: DropDatabaseStatement, catalog: PlannerCatalog, session: SessionNames
) -> DropDatabase | Skipped:
    """Plan DROP DATABASE. As in PostgreSQL, its objects go with it; RESTRICT refuses if there are
    any."""
    name = fold(node.this)
    if node.args.get("exists") and name not in catalog.databases:
        return Skipped("DROP DATABASE", f'database "{name}" does not exist, skipping')
    database = _changeable(name, "drop", catalog, session)
    inside = [entry for entry in catalog.entries() if entry.name.database == name]
    cascades = node.args.get("behavior") != "RESTRICT"
    items, redefined = dropped_inside(inside, "database", name, catalog, cascades=cascades)
    return DropDatabase(database.id, items, redefined)


def _changeable(name: str, change: str, catalog: PlannerCatalog, session: SessionNames) -> Database:
    """The database of that name. Raises ``UnknownObject``, ``DatabaseInUse``."""
    database = snapshot_of(catalog).database_by_name(name)
    if database is None:
        raise UnknownObject("database", name, hint=nearest(name, catalog.databases))
    if name == session.database:
        raise DatabaseInUse(
            change, name, "the session is in it", hint="SET database to another one"
        )
    if name == DEFAULT_DATABASE:
        raise DatabaseInUse(change, name, "sessions that name no database begin in it")
    return database


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    name: str
    tag: str = "CREATE DATABASE"


@dataclass(frozen=True, slots=True)
class RenameDatabase:
    """``redefined`` has the new text of every definition that names an object of the database."""

    id: int
    name: str
    redefined: Redefined
    tag: str = "ALTER DATABASE"


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """``items`` go before its schemas, dependents first."""

    id: int
    items: tuple[GlobalId, ...]
    redefined: Redefined = ()
    tag: str = "DROP DATABASE"
