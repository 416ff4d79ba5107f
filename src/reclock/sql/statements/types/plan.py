"""CREATE TYPE and ALTER TYPE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from reclock.algebra.defined_types import EnumType
from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import NAME
from reclock.catalog.objects import Item
from reclock.errors import (
    DuplicateObject,
    InvalidEnumDefinition,
    UnknownEnumLabel,
    UnsupportedSql,
    WrongObjectType,
    quoted_name,
)
from reclock.sql.catalog.entries import EnumEntry, IndexEntry, RelationEntry, TypeEntry
from reclock.sql.catalog.lookups import dependents_closure, find_object
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import DEFAULT_SCHEMA, QualifiedName, SessionNames, parts, quote
from reclock.sql.planning.definitions import check_free, definition_text
from reclock.sql.planning.registry import Skipped, plans, plans_item
from reclock.sql.statements.types.syntax import (
    AddValueStatement,
    CreateTypeStatement,
    RenameValueStatement,
)


@plans(CreateTypeStatement)
def create_type(
    node: CreateTypeStatement, catalog: PlannerCatalog, session: SessionNames
) -> CreateType:
    name = catalog.locate(parts(node.this), session)
    if name.is_temporary:
        raise UnsupportedSql("temporary types are not supported")
    check_free(name, catalog)
    labels = _labels(node)
    for label in labels:
        _check_label(label)
        if labels.count(label) > 1:
            raise InvalidEnumDefinition(f'enum label "{label}" used more than once')
    return CreateType(name, _text(name, labels))


@plans_item(CreateTypeStatement)
def type_entry(
    node: CreateTypeStatement, item: Item, name: QualifiedName, catalog: PlannerCatalog
) -> EnumEntry:
    enum = EnumType(item.id, *shown_name(name), tuple(_labels(node)))
    return EnumEntry(item.id, name, enum, item.create_sql or "")


def shown_name(name: QualifiedName) -> tuple[str, tuple[str, ...]]:
    """The name of a type as SQL writes it, with the schema unless that is ``public``, and the parts
    of the full name."""
    qualified = parts(name.to_table())
    shown = qualified[-1:] if name.schema == DEFAULT_SCHEMA else qualified[-2:]
    return ".".join(map(quote, shown)), qualified


@plans(AddValueStatement)
def add_value(
    node: AddValueStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterType | Skipped:
    entry = _enum(node.this, catalog, session)
    labels, label = list(entry.enum.labels), node.args["label"].name
    if label in labels:
        if node.args.get("exists"):
            return Skipped("ALTER TYPE", f'enum label "{label}" already exists, skipping')
        raise DuplicateObject("enum label", label)
    _check_label(label)
    place = len(labels)
    if (side := node.args.get("side")) is not None:
        place = _place(node.args["beside"].name, labels) + (side == "AFTER")
    labels.insert(place, label)
    return AlterType(entry.id, entry.name, _text(entry.name, labels), built_again(entry, catalog))


@plans(RenameValueStatement)
def rename_value(
    node: RenameValueStatement, catalog: PlannerCatalog, session: SessionNames
) -> AlterType:
    """Raises ``UnsupportedSql`` if an object has the type: its rows hold the label."""
    entry = _enum(node.this, catalog, session)
    labels, to = list(entry.enum.labels), node.args["to"].name
    place = _place(node.args["label"].name, labels)
    if to in labels:
        raise DuplicateObject("enum label", to)
    _check_label(to)
    dependents = catalog.dependents(entry.id)
    if dependents:
        raise UnsupportedSql(
            f'a value of type "{entry.name.item}" cannot be renamed, because '
            f"{quoted_name(dependents[0].name)} uses the type",
            hint="add the new value, update the rows, and leave the old value",
        )
    labels[place] = to
    return AlterType(entry.id, entry.name, _text(entry.name, labels), ())


def _enum(name: exp.Table, catalog: PlannerCatalog, session: SessionNames) -> EnumEntry:
    entry = find_object(parts(name), "TYPE", catalog, session)
    if not isinstance(entry, EnumEntry):
        raise WrongObjectType(str(entry.name), "enum", "domain")
    return entry


def _labels(node: CreateTypeStatement) -> list[str]:
    return [label.name for label in node.args.get("labels") or ()]


def _check_label(label: str) -> None:
    if len(label.encode()) > NAME.characters:
        raise InvalidEnumDefinition(
            f'invalid enum label "{label}"',
            detail=f"Labels must be {NAME.characters} bytes or less.",
            sqlstate="42602",
        )


def _place(label: str, labels: Sequence[str]) -> int:
    if label not in labels:
        raise UnknownEnumLabel(label)
    return labels.index(label)


def _text(name: QualifiedName, labels: Sequence[str]) -> str:
    literals = [exp.Literal.string(label) for label in labels]
    return definition_text(CreateTypeStatement(this=name.to_table(), labels=literals))


def built_again(entry: TypeEntry, catalog: PlannerCatalog) -> tuple[tuple[GlobalId, str], ...]:
    """The indexes of views that depend on the type, and their definitions: a replica maintains
    them by the labels or constraints that the type had."""
    ids, _ = dependents_closure({entry.id}, catalog)
    indexes = [index for index in map(catalog.entry, ids) if isinstance(index, IndexEntry)]
    return tuple(
        (index.id, index.create_sql)
        for index in sorted(indexes, key=lambda index: int(index.id[1:]))
        if _is_on_view(index, catalog)
    )


def _is_on_view(index: IndexEntry, catalog: PlannerCatalog) -> bool:
    on = catalog.entry(index.on)
    return isinstance(on, RelationEntry) and on.query is not None


@dataclass(frozen=True, slots=True)
class CreateType:
    name: QualifiedName
    create_sql: str
    tag: str = "CREATE TYPE"


@dataclass(frozen=True, slots=True)
class AlterType:
    """The type gets other labels. The indexes ``built_again`` are replaced by new ones."""

    id: GlobalId
    name: QualifiedName
    create_sql: str
    built_again: tuple[tuple[GlobalId, str], ...]
    tag: str = "ALTER TYPE"
