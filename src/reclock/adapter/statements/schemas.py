"""Schemas: CREATE, RENAME and DROP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reclock.adapter.planning.authorization import AuthorizationContext, Requirements, requires
from reclock.adapter.transaction.catalog_change import CatalogChange, defines
from reclock.algebra.ids import GlobalId
from reclock.catalog.acl import Privilege
from reclock.catalog.objects import Kind, Schema
from reclock.catalog.roles import default_acl
from reclock.sql.statements.schemas.plan import CreateSchema, DropSchemas, RenameSchemas
from reclock.sql.statements.tables.dropped_keys import Redefined


@requires(CreateSchema)
def _(statement: CreateSchema, context: AuthorizationContext) -> Requirements:
    return context.require(context.need((Kind.DATABASE, statement.database_id), Privilege.CREATE))


@defines(CreateSchema)
def _(statement: CreateSchema, change: CatalogChange) -> None:
    insert_schema(statement.database_id, statement.name, change)


def insert_schema(database_id: int, name: str, change: CatalogChange) -> None:
    owner = change.users.current_id
    privileges = default_acl(change.tx.snapshot, owner, "schema", None, database_id)
    change.tx.insert(Schema(change.tx.allocate_schema_id(), database_id, name, owner, privileges))
    change.audit("create", "schema", name)


@requires(RenameSchemas)
def _(statement: RenameSchemas, context: AuthorizationContext) -> Requirements:
    may_create = context.need((Kind.DATABASE, statement.database_id), Privilege.CREATE)
    return context.require(
        may_create, owner_of=tuple((Kind.SCHEMA, id) for id, _ in statement.renames)
    )


@defines(RenameSchemas)
def _(statement: RenameSchemas, change: CatalogChange) -> None:
    before = change.tx.snapshot.schemas
    for id, name in statement.renames:
        change.tx.update(replace(change.tx.snapshot.schemas[id], name=name))
    for item_id, create_sql in statement.redefined:
        change.redefine(item_id, create_sql)
    for id, name in dict(statement.renames).items():
        change.audit("alter", "schema", before[id].name, renamed_to=name)


@requires(DropSchemas)
def _(statement: DropSchemas, context: AuthorizationContext) -> Requirements:
    return context.require(owner_of=tuple((Kind.SCHEMA, id) for id in statement.ids))


@defines(DropSchemas)
def _(statement: DropSchemas, change: CatalogChange) -> None:
    drop_schemas(statement.ids, statement.items, statement.redefined, change)


def drop_schemas(
    ids: Sequence[int], items: Sequence[GlobalId], redefined: Redefined, change: CatalogChange
) -> None:
    """Drop schemas after the items that go with them, dependents first."""
    for item_id in items:
        change.drop_item(item_id)
    for item_id, create_sql in redefined:
        change.redefine(item_id, create_sql)
    for default in list(change.tx.snapshot.all(Kind.DEFAULT_PRIVILEGE).values()):
        if default.schema_id in ids:
            change.tx.delete(default)
    for schema in [change.tx.snapshot.schemas[id] for id in ids]:
        change.tx.delete(schema)
        change.audit("drop", "schema", schema.name)
