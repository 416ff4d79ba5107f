"""Databases: CREATE, RENAME and DROP."""

from __future__ import annotations

from dataclasses import replace

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.statements.schemas import drop_schemas, insert_schema
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import Database, Kind
from reclock.catalog.roles import default_acl
from reclock.sql.names import DEFAULT_SCHEMA
from reclock.sql.statements.databases.plan import CreateDatabase, DropDatabase, RenameDatabase


@requires(CreateDatabase)
def _(statement: CreateDatabase, context: AuthorizationContext) -> Requirements:
    return context.require(context.need(None, Privilege.CREATEDB))


@defines(CreateDatabase)
def _(statement: CreateDatabase, change: CatalogChange) -> None:
    owner = change.users.current_id
    privileges = default_acl(change.tx.snapshot, owner, "database", None, None)
    [id] = change.tx.allocate("database")
    change.tx.insert(Database(id, statement.name, owner, privileges))
    change.audit("create", "database", statement.name)
    insert_schema(id, DEFAULT_SCHEMA, change)


@requires(RenameDatabase)
def _(statement: RenameDatabase, context: AuthorizationContext) -> Requirements:
    may_create = context.need(None, Privilege.CREATEDB)
    return context.require(may_create, owner_of=((Kind.DATABASE, statement.id),))


@defines(RenameDatabase)
def _(statement: RenameDatabase, change: CatalogChange) -> None:
    database = change.tx.snapshot.databases[statement.id]
    change.tx.update(replace(database, name=statement.name))
    for item_id, create_sql in statement.redefined:
        change.redefine(item_id, create_sql)
    change.audit("alter", "database", database.name, renamed_to=statement.name)


@requires(DropDatabase)
def _(statement: DropDatabase, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=((Kind.DATABASE, statement.id),))


@defines(DropDatabase)
def _(statement: DropDatabase, change: CatalogChange) -> None:
    schemas = [
        schema.id
        for schema in change.tx.snapshot.schemas.values()
        if schema.database_id == statement.id
    ]
    drop_schemas(schemas, statement.items, statement.redefined, change)
    for default in list(change.tx.snapshot.all(Kind.DEFAULT_PRIVILEGE).values()):
        if default.database_id == statement.id:
            change.tx.delete(default)
    database = change.tx.snapshot.databases[statement.id]
    change.tx.delete(database)
    change.audit("drop", "database", database.name)
