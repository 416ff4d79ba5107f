"""CREATE SOURCE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from sqlglot import exp

from reclock.algebra.ids import CollectionType, GlobalId, StorageCollectionId
from reclock.algebra.relations import RelationDesc
from reclock.catalog.objects import Item, ItemType
from reclock.definitions.load_generators import GENERATED_KEYS
from reclock.definitions.sources import LoadGenerator, ObjectsConnector, may_be_negative
from reclock.errors import DuplicateObject, InvalidOption, UnsupportedSql
from reclock.sql.catalog.definitions import SourceDefinition
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier, parts
from reclock.sql.planning.definitions import (
    check_free,
    chosen_cluster,
    definition_text,
    skip_existing,
)
from reclock.sql.planning.registry import Skipped, plans, plans_item
from reclock.sql.statements.sources.checks import declare_checks, reject_checks_of_upstream
from reclock.sql.statements.sources.define import define_source
from reclock.sql.statements.sources.guests import check_guest
from reclock.sql.statements.sources.syntax import (
    CreateSourceStatement,
    CreateSubsourceStatement,
    SubsourceOf,
)
from reclock.sql.statements.sources.upstream_tables import upstream_name
from reclock.sql.statements.tables.declared_constraints import declared_constraints
from reclock.sql.statements.views.plan import CreateIndex, default_index
from reclock.sql.syntax.consumption import tracked_copy


@dataclass(frozen=True, slots=True)
class CreateSubsource:
    """One of several relations of a source. It is created and dropped with the source."""

    name: QualifiedName
    create_sql: str
    desc: RelationDesc


@dataclass(frozen=True, slots=True)
class CreateSource:
    """``progress_name`` is the written name, or the first unused one. ``index`` comes with CREATE
    MATERIALIZED SOURCE."""

    name: QualifiedName
    create_sql: str
    source: SourceDefinition
    progress_name: QualifiedName
    index: CreateIndex | None = None
    subsources: tuple[CreateSubsource, ...] = ()
    depends_on: frozenset[GlobalId] = frozenset()
    tag: str = "CREATE SOURCE"

    @property
    def desc(self) -> RelationDesc:
        return self.source.desc


@plans(CreateSourceStatement)
def create_source(
    node: CreateSourceStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateSource | Skipped:
    name = catalog.locate(parts(node.this), session)
    skipped = skip_existing(node, name, ItemType.SOURCE, catalog)
    if skipped is not None:
        return skipped
    normal = tracked_copy(node)
    reject_checks_of_upstream(normal)
    source = define_source(normal, catalog, session)
    declare_checks(normal, name, source.desc, catalog, session)
    source = replace(source, checks=declared_constraints(normal))
    check_guest(source, catalog)
    progress_name = _progress_name(node, name, catalog, session)
    index = None
    if node.args.get("materialized"):
        taken_names = [name.item, progress_name.item]
        index = default_index(
            name, source.desc, None, chosen_cluster(node, catalog, session), catalog, taken_names
        )
    for argument in ("exists", "materialized", "cluster"):
        normal.set(argument, None)
    normal.set("this", name.to_table())
    normal.set("progress", progress_name.to_table())
    if isinstance(source.connector, ObjectsConnector):
        normal.args["connector"].set("pattern", exp.Literal.string(source.connector.pattern))
    subsources = _subsources(node, name, source, catalog, session)
    if source.subsources:
        _name_tables(normal, name, source, subsources)
    return CreateSource(
        name, definition_text(normal), source, progress_name, index, subsources, source.depends_on
    )


def _progress_name(
    node: CreateSourceStatement, name: QualifiedName, catalog: PlannerCatalog, session: SessionNames
) -> QualifiedName:
    """The name of the source's progress relation, by default a free one after the source's."""
    progress = node.args.get("progress")
    if progress is None:
        default = name.sibling(f"{name.item}_progress")
        return catalog.free_name(default, also_taken=[name.item])
    progress_name = (
        catalog.locate(parts(progress), session)
        if len(parts(progress)) > 1
        else name.sibling(fold(progress.this))
    )
    if progress_name.scope != name.scope:
        raise InvalidOption(
            "a progress relation belongs to the schema of its source",
            hint=f"write {identifier(progress_name.item).sql()}",
        )
    if progress_name == name:
        raise DuplicateObject("source", str(name))
    check_free(progress_name, catalog)
    return progress_name


def _name_tables(
    normal: CreateSourceStatement,
    name: QualifiedName,
    source: SourceDefinition,
    subsources: Sequence[CreateSubsource],
) -> None:
    """Write every table of the source into ``normal``, with the name of its subsource."""
    normal.set("all_tables", None)
    table_clauses = {upstream_name(table): table for table in normal.args.get("tables") or ()}
    tables = []
    for table, subsource in zip(source.subsources, subsources, strict=True):
        part = table_clauses.get(table) or SubsourceOf(this=identifier(table))
        is_default = subsource.name == name.sibling(table.rpartition(".")[2])
        part.set("alias", None if is_default else subsource.name.to_table())
        tables.append(part)
    normal.set("tables", tables)


@plans(CreateSubsourceStatement)
def create_subsource(
    node: CreateSubsourceStatement, catalog: PlannerCatalog, session: SessionNames
) -> NoReturn:
    """Refuses CREATE SUBSOURCE: the text only describes a subsource."""
    raise UnsupportedSql("a subsource is made by its source", hint="CREATE SOURCE … FOR TABLES (…)")


def _subsources(
    node: CreateSourceStatement,
    source_name: QualifiedName,
    source: SourceDefinition,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> tuple[CreateSubsource, ...]:
    """The subsources, named as the upstream's tables unless the statement has other names."""
    aliases = {
        upstream_name(table): table.args.get("alias") for table in node.args.get("tables") or ()
    }
    created: list[CreateSubsource] = []
    for table, desc in source.subsources.items():
        alias = aliases.get(table)
        if alias is None:
            name = source_name.sibling(table.rpartition(".")[2])
        else:
            name = (
                catalog.locate(parts(alias), session)
                if len(parts(alias)) > 1
                else source_name.sibling(fold(alias.this))
            )
        if name == source_name or name in [other.name for other in created]:
            raise DuplicateObject("source", str(name))
        check_free(name, catalog)
        text = CreateSubsourceStatement(
            this=name.to_table(), source=source_name.to_table(), table=exp.Literal.string(table)
        )
        created.append(CreateSubsource(name, definition_text(text), desc))
    return tuple(created)


@plans_item(CreateSourceStatement)
def source_entry(
    node: CreateSourceStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> RelationEntry:
    source = define_source(node, catalog, SessionNames())
    source = replace(source, checks=declared_constraints(node))
    collection, depends_on = StorageCollectionId(source.host or item.id), source.depends_on
    if source.host is not None:
        depends_on |= {source.host}
    return RelationEntry(
        item.id,
        collection,
        name,
        item.type,
        source.desc,
        create_sql=item.create_sql,
        depends_on=depends_on,
        source=source,
        may_be_negative=may_be_negative(source.connector),
    )


@plans_item(CreateSubsourceStatement)
def subsource_entry(
    node: CreateSubsourceStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> RelationEntry:
    of = catalog.resolve(parts(node.args["source"]), SessionNames())
    table = node.args["table"].name
    host = of.source.host if of.source is not None else None
    output = (
        StorageCollectionId(of.id, CollectionType.RECLOCKED, table)
        if host is None
        else StorageCollectionId.of_guest(host, of.id, table)
    )
    desc = of.source.subsources[table] if of.source is not None else of.desc
    connector = of.source.connector if of.source is not None else None
    kind = connector.kind if isinstance(connector, LoadGenerator) else ""
    return RelationEntry(
        item.id,
        output,
        name,
        item.type,
        desc,
        create_sql=item.create_sql,
        depends_on=frozenset({of.id}),
        may_be_negative=of.may_be_negative,
        generated_key=GENERATED_KEYS.get(kind, {}).get(table, ()),
    )
