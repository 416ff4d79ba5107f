"""CREATE TYPE … AS LIST and AS MAP: names of types, which are domains without constraints."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from reclock.algebra.defined_types import DefinedName
from reclock.algebra.relations import Column
from reclock.catalog.objects import Item
from reclock.errors import UnsupportedSql
from reclock.sql.catalog.definitions import DomainDefinition
from reclock.sql.catalog.entries import DomainEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, parts
from reclock.sql.planning.definitions import check_free, definition_text
from reclock.sql.planning.registry import plans, plans_item
from reclock.sql.queries.columns import check_stored
from reclock.sql.queries.type_names import scalar_type
from reclock.sql.statements.types.plan import CreateType, shown_name
from reclock.sql.statements.types.syntax import CreateListStatement, CreateMapStatement
from reclock.sql.syntax.consumption import tracked_copy


@plans(CreateListStatement, CreateMapStatement)
def create_type(
    node: CreateListStatement | CreateMapStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateType:
    name = catalog.locate(parts(node.this), session)
    if name.is_temporary:
        raise UnsupportedSql("temporary types are not supported")
    check_free(name, catalog)
    check_stored([Column(name.item, scalar_type(_kind(node)))])
    normal = tracked_copy(node)
    normal.set("this", name.to_table())
    return CreateType(name, definition_text(normal))


@plans_item(CreateListStatement)
@plans_item(CreateMapStatement)
def type_entry(
    node: CreateListStatement | CreateMapStatement,
    item: Item,
    name: QualifiedName,
    catalog: PlannerCatalog,
) -> DomainEntry:
    kind = _kind(node)
    type = replace(scalar_type(kind), domain=DefinedName(item.id, *shown_name(name)))
    definition = DomainDefinition(type, None, kind, None, False, ())
    return DomainEntry(item.id, name, definition, item.create_sql or "")


def _kind(node: CreateListStatement | CreateMapStatement) -> exp.DataType:
    """The list or the map, as the type of a column is written."""
    names = ("element",) if isinstance(node, CreateListStatement) else ("key", "value")
    return exp.DataType(
        this=exp.DType.LIST if isinstance(node, CreateListStatement) else exp.DType.MAP,
        expressions=[tracked_copy(node.args[name]) for name in names],
        nested=True,
    )
