"""DROP and RENAME: which objects are dropped, in which order, and what prevents it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.index_keys import is_default_name
from reclock.catalog.objects import ItemType
from reclock.errors import (
    DependentObjects,
    DuplicateObject,
    RequiredIndex,
    SystemObjectProtected,
    UnsupportedSql,
    quoted_name,
)
from reclock.sql.catalog.entries import Entry, FunctionEntry, IndexEntry, RelationEntry
from reclock.sql.catalog.lookups import (
    check_tables_named,
    dependents_closure,
    find_dropped,
    find_named,
    find_object,
    find_user_object,
)
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import set_parts, written_parts
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier, parts
from reclock.sql.planning.definitions import check_free, skip_missing
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.statements.functions.signatures import object_parts, signature
from reclock.sql.statements.functions.syntax import CreateFunctionStatement
from reclock.sql.statements.objects.syntax import AlterRenameStatement, DropStatement
from reclock.sql.statements.sequences.calls import called_sequences, sequence_parts
from reclock.sql.statements.tables.alter_plan import AlterTable
from reclock.sql.statements.tables.dropped_keys import Redefined, keys_dropped_with
from reclock.sql.statements.tables.unique_indexes import drop_unique_index, rename_unique_index
from reclock.sql.statements.views.syntax import CreateIndexStatement, CreateViewStatement
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one


@plans(DropStatement)
def plan_drop(
    node: DropStatement, catalog: PlannerCatalog, session: SessionNames
) -> Drop | AlterTable | Skipped:
    kind: str = node.args["kind"]
    if kind == "INDEX" and len(node.args["names"]) == 1:
        name = parts(node.args["names"][0])
        unique = (
            drop_unique_index(name, catalog, session)
            if catalog.find(name, session) is None
            else None
        )
        if unique is not None:
            return unique
    targets: dict[GlobalId, Entry] = {}
    notices = []
    for name in map(object_parts, node.args["names"]):
        if node.args.get("exists") and find_named(name, kind, catalog, session) is None:
            notices.append(f'{_noun(kind)} "{".".join(name)}" does not exist, skipping')
            continue
        entry = find_dropped(name, kind, catalog, session)
        if entry.is_system:
            raise SystemObjectProtected(str(entry.name))
        targets[entry.id] = entry
    if not targets:
        return Skipped(f"DROP {kind}", "; ".join(notices))
    if kind == "INDEX" and node.args.get("behavior") != "CASCADE":
        for entry in targets.values():
            _check_not_the_last(entry, targets, catalog)
    ids, dependents = dependents_closure(targets, catalog)
    foreign_keys, redefined = keys_dropped_with(ids, catalog)
    dependents += foreign_keys
    if kind == "SEQUENCE" and dependents and node.args.get("behavior") == "CASCADE":
        raise UnsupportedSql(
            "DROP SEQUENCE … CASCADE is not supported for the default of a column",
            hint=f"ALTER TABLE {dependents[0]} ALTER COLUMN … DROP DEFAULT first",
        )
    if dependents and node.args.get("behavior") != "CASCADE":
        first = next(iter(targets.values()))
        raise DependentObjects(_noun(kind), str(first.name), dependents)
    check_tables_named(ids, targets, catalog)
    names = tuple(dropped.name for id in ids if (dropped := catalog.entry(id)) is not None)
    return Drop(kind.lower(), ids, names, frozenset(targets), tuple(notices), redefined)


def _noun(kind: str) -> str:
    """What messages call an object of the kind: a domain is a type."""
    return "type" if kind == "DOMAIN" else kind.lower()


def _check_not_the_last(
    entry: Entry, targets: Collection[GlobalId], catalog: PlannerCatalog
) -> None:
    """Without its default index, if it has no other, a materialized view would silently be a plain
    one."""
    if not (isinstance(entry, IndexEntry) and is_default_name(entry.name.item)):
        return
    view = catalog.entry(entry.on)
    others = [index for index in catalog.indexes_on(entry.on) if index.id not in targets]
    if view is not None and view.type is ItemType.VIEW and not others:
        raise RequiredIndex(entry.name.item, view.name.item)


@dataclass(frozen=True, slots=True)
class Drop:
    """``ids`` are dropped, dependents before the objects that they depend on: those ``named``, and
    those that cannot exist without them."""

    kind: str
    ids: tuple[GlobalId, ...]
    names: tuple[QualifiedName, ...]
    named: frozenset[GlobalId]
    notices: tuple[str, ...] = ()
    redefined: Redefined = ()

    @property
    def tag(self) -> str:
        return f"DROP {self.kind.upper()}"


@dataclass(frozen=True, slots=True)
class Rename:
    """``kind`` is the kind of the renamed object, ``source`` or ``table``. ``create_sql`` has the
    new text of every item that names it."""

    kind: str
    id: GlobalId
    name: QualifiedName
    to: QualifiedName
    create_sql: tuple[tuple[GlobalId, str], ...]

    @property
    def tag(self) -> str:
        return f"ALTER {self.kind.upper()}"


@plans(AlterRenameStatement)
def rename(
    node: AlterRenameStatement, catalog: PlannerCatalog, session: SessionNames
) -> Rename | AlterTable | Skipped:
    kind: str = node.args["kind"]
    if kind == "FUNCTION":
        return _renamed_function(node, catalog, session)
    existing = catalog.find(parts(node.this), session)
    if kind == "INDEX" and existing is None:
        to_name = fold(node.args["to"])
        unique = rename_unique_index(parts(node.this), to_name, catalog, session)
        if unique is not None:
            return unique
    skipped = skip_missing(node, kind, existing)
    if skipped is not None:
        return skipped
    if (
        kind == "TABLE"
        and existing is not None
        and existing.type in (ItemType.VIEW, ItemType.INDEX)
    ):
        kind = existing.type.value.upper()  # as PostgreSQL has it
    source = find_user_object(node, kind, catalog, session)
    to = source.name.sibling(fold(node.args["to"]))
    namesake = catalog.within(to.scope).get(to.item)
    if namesake is not None:
        raise DuplicateObject(namesake.type.value.replace("_", " "), str(to))
    changed: dict[GlobalId, str] = {}
    full = parts(source.name.to_table())
    referencing = [entry for entry in catalog.relations() if _refers(entry, full)]
    sequences = catalog.sequences(source.name)
    for entry in (source, *catalog.dependents(source.id), *referencing, *sequences):
        if entry.type is not ItemType.SOURCE_PROGRESS and entry.create_sql is not None:
            changed[entry.id] = renamed(entry.create_sql, source.name, to)
    return Rename(kind.lower(), source.id, source.name, to, tuple(changed.items()))


def _renamed_function(
    node: AlterRenameStatement, catalog: PlannerCatalog, session: SessionNames
) -> Rename:
    """Raises ``UnsupportedSql`` if an object calls the function."""
    entry = find_object(object_parts(node.this), "FUNCTION", catalog, session)
    assert isinstance(entry, FunctionEntry)
    dependents = catalog.dependents(entry.id)
    if dependents:
        raise UnsupportedSql(
            f'function "{entry.name.item}" cannot be renamed, because '
            f"{quoted_name(dependents[0].name)} calls it",
            hint="drop what calls it, and create it again afterwards",
        )
    new_name = fold(node.args["to"])
    to = entry.name.sibling(signature(new_name, entry.function.types))
    check_free(to, catalog)
    definition = parse_one(entry.create_sql)
    for column in definition.args["query"].find_all(exp.Column):
        if fold(column.args.get("table")) == entry.function.name:
            raise UnsupportedSql(
                f'function "{entry.name.item}" cannot be renamed, because its body has its name',
                hint="use CREATE FUNCTION, and name parameters without the function",
            )
    definition.this.set("this", identifier(new_name))
    return Rename("function", entry.id, entry.name, to, ((entry.id, to_sql(definition)),))


def _refers(entry: RelationEntry, name: tuple[str, ...]) -> bool:
    """Whether a foreign key of the table refers to the table with this full name."""
    return entry.table is not None and any(
        constraint.target == name for constraint in entry.table.constraints
    )


_READING = (CreateViewStatement, CreateFunctionStatement)
"""The definitions that read relations by name."""


def renamed(create_sql: str, name: QualifiedName, to: QualifiedName) -> str:
    """The text of a definition after the item ``name`` was renamed to ``to``. Where the text has no
    alias for the item, it gets the old name as alias, unless another relation beside it has that
    name too."""
    node = parse_one(create_sql)
    full = parts(name.to_table())
    if (
        isinstance(node, CreateIndexStatement)
        and parts(node.args["on"])[:-1] == full[:-1]
        and fold(node.this) == name.item
    ):
        node.set("this", identifier(to.item))
    # by the id of each SELECT that reads the item, whether it has no alias there
    readers: dict[int, bool] = {}
    for table in list(node.find_all(exp.Table)):
        if parts(table) != full:
            continue
        is_read = isinstance(node, _READING) and table is not node.this
        has_namesake = is_read and _has_namesake(table)
        readers[id(table.find_ancestor(exp.Select))] = has_namesake
        table.set("this", identifier(to.item))
        if is_read and not has_namesake and table.args.get("alias") is None:
            table.set("alias", exp.TableAlias(this=identifier(name.item)))
    for kind in node.find_all(exp.DataType):
        if written_parts(kind) == full:
            set_parts(kind, parts(to.to_table()))
    for literal in called_sequences(node):
        if sequence_parts(literal) == full:
            literal.set("this", str(to))
    for column in node.find_all(exp.Column):
        qualifier = tuple(
            fold(part)
            for part in (
                column.args.get("catalog"),
                column.args.get("db"),
                column.args.get("table"),
            )
            if part
        )
        if len(qualifier) > 1 and full[-len(qualifier) :] == qualifier:
            reader = column.find_ancestor(exp.Select)
            while reader is not None and id(reader) not in readers:
                reader = reader.find_ancestor(exp.Select)
            if readers.get(id(reader)):
                column.set("table", identifier(to.item))
                continue
            column.set("catalog", None)
            column.set("db", None)
    return to_sql(node)


def _has_namesake(table: exp.Table) -> bool:
    """Whether the query reads another relation of that name, and gives neither an alias."""
    select = table.find_ancestor(exp.Select)
    if select is None or table.args.get("alias") is not None:
        return False
    return any(
        other is not table
        and other.find_ancestor(exp.Select) is select
        and fold(other.this) == fold(table.this)
        and other.args.get("alias") is None
        for other in select.find_all(exp.Table)
    )
