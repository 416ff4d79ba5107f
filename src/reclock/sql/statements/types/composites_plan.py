"""CREATE TYPE … AS (…): records whose type has a name."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from reclock.algebra.defined_types import DefinedName
from reclock.algebra.relations import Column, RecordField, ScalarType, record
from reclock.catalog.objects import Item
from reclock.errors import DuplicateColumn, UnsupportedSql
from reclock.sql.catalog.entries import CompositeEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, parts
from reclock.sql.planning.definitions import check_free, definition_text
from reclock.sql.planning.registry import plans, plans_item
from reclock.sql.queries.columns import check_stored
from reclock.sql.queries.type_names import field_type
from reclock.sql.statements.types.plan import CreateType, shown_name
from reclock.sql.statements.types.syntax import CreateCompositeStatement
from reclock.sql.syntax.consumption import tracked_copy


@plans(CreateCompositeStatement)
def create_type(
    node: CreateCompositeStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateType:
    name = catalog.locate(parts(node.this), session)
    if name.is_temporary:
        raise UnsupportedSql("temporary types are not supported")
    check_free(name, catalog)
    fields = _record(node).fields
    if not fields:
        raise UnsupportedSql(
            "composite types without attributes are not supported",
            hint="give the type an attribute",
        )
    names = [field.name for field in fields]
    for place, field in enumerate(fields):
        if field.name in names[:place]:
            raise DuplicateColumn(field.name)
        check_stored([Column(field.name, field.type)])
    normal = tracked_copy(node)
    normal.set("this", name.to_table())
    return CreateType(name, definition_text(normal))


@plans_item(CreateCompositeStatement)
def type_entry(
    node: CreateCompositeStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> CompositeEntry:
    composite = replace(_record(node), composite=DefinedName(item.id, *shown_name(name)))
    return CompositeEntry(item.id, name, composite, item.create_sql or "")


def _record(node: CreateCompositeStatement) -> ScalarType:
    """Records with the fields that are declared."""
    declared: list[exp.ColumnDef] = node.args.get("fields") or []
    return record(
        RecordField(fold(field.this), field_type(field.args["kind"])) for field in declared
    )
