"""Schemas: CREATE, RENAME and DROP."""

from __future__ import annotations

from dataclasses import replace

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import Kind, Schema
from reclock.catalog.roles import default_acl
from reclock.sql.statements.schemas.plan import CreateSchema, DropSchemas, RenameSchema


@requires(CreateSchema)
def _(statement: CreateSchema, context: AuthorizationContext) -> Requirements:
    return context.require(context.need((Kind.DATABASE, statement.database_id), Privilege.CREATE))


@defines(CreateSchema)
def _(statement: CreateSchema, change: CatalogChange) -> None:
    owner = change.users.current_id
    privileges = default_acl(change.tx.snapshot, owner, "schema", None, statement.database_id)
    change.tx.insert(
        Schema(
            change.tx.allocate_schema_id(), statement.database_id, statement.name, owner, privileges
        )
    )
    change.audit("create", "schema", statement.name)


@requires(RenameSchema)
def _(statement: RenameSchema, context: AuthorizationContext) -> Requirements:
    may_create = context.need((Kind.DATABASE, statement.database_id), Privilege.CREATE)
    return context.require(may_create, owner_of=((Kind.SCHEMA, statement.id),))


@defines(RenameSchema)
def _(statement: RenameSchema, change: CatalogChange) -> None:
    schema = change.tx.snapshot.schemas[statement.id]
    change.tx.update(replace(schema, name=statement.name))
    for item_id, create_sql in statement.redefined:
        change.redefine(item_id, create_sql)
    change.audit("alter", "schema", schema.name, renamed_to=statement.name)


@requires(DropSchemas)
def _(statement: DropSchemas, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=tuple((Kind.SCHEMA, id) for id in statement.ids))


@defines(DropSchemas)
def _(statement: DropSchemas, change: CatalogChange) -> None:
    for item_id in statement.items:
        change.drop_item(item_id)
    for item_id, create_sql in statement.redefined:
        change.redefine(item_id, create_sql)
    for default in list(change.tx.snapshot.all(Kind.DEFAULT_PRIVILEGE).values()):
        if default.schema_id in statement.ids:
            change.tx.delete(default)
    for schema in [change.tx.snapshot.schemas[id] for id in statement.ids]:
        change.tx.delete(schema)
        change.audit("drop", "schema", schema.name)
