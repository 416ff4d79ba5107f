"""SET SCHEMA: which items move with an object, and which definitions name them anew."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.ids import GlobalId
from reclock.errors import DuplicateObject, SystemObjectProtected, UnsupportedSql, quoted_name
from reclock.sql.catalog.entries import (
    Entry,
    FunctionEntry,
    RelationEntry,
    SequenceEntry,
)
from reclock.sql.catalog.lookups import altered_kind, find_named, find_object, snapshot_of
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier
from reclock.sql.planning.definitions import kind_of, skip_missing
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.statements.functions.signatures import object_parts
from reclock.sql.statements.objects.syntax import AlterSchemaStatement
from reclock.sql.statements.schemas.moved_text import with_moved_names
from reclock.sql.statements.tables.dropped_keys import Redefined
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one
from reclock.sql.syntax.temporary import TEMPORARY_SCHEMAS


@dataclass(frozen=True, slots=True)
class SetSchema:
    """The object ``id``, and all that is ``moved`` with it, come into the schema ``to``, a database
    and a name in it. ``redefined`` has the new text of every item that names one of them."""

    kind: str
    id: GlobalId
    name: QualifiedName
    to: tuple[str, str]
    moved: tuple[GlobalId, ...]
    redefined: Redefined

    @property
    def tag(self) -> str:
        return f"ALTER {self.kind.upper()}"


@plans(AlterSchemaStatement)
def set_schema(
    node: AlterSchemaStatement, catalog: PlannerCatalog, session: SessionNames
) -> SetSchema | Skipped:
    kind: str = node.args["kind"]
    name = object_parts(node.this)
    existing = find_named(name, kind, catalog, session)
    skipped = skip_missing(node, kind, existing)
    if skipped is not None:
        return skipped
    entry = find_object(name, altered_kind(name, kind, catalog, session), catalog, session)
    if entry.is_system:
        raise SystemObjectProtected(str(entry.name))
    scope = _schema(fold(node.args["to"]), entry, catalog, session)
    moved = _moved_with(entry, catalog)
    if scope != entry.name.scope:
        for item in moved:
            namesake = catalog.within(scope).get(item.name.item)
            if namesake is not None:
                raise DuplicateObject(kind_of(namesake), str(namesake.name))
    redefined = _redefined(entry, moved, scope, catalog)
    return SetSchema(
        kind.lower(), entry.id, entry.name, scope, tuple(item.id for item in moved), redefined
    )


def _schema(
    name: str, entry: Entry, catalog: PlannerCatalog, session: SessionNames
) -> tuple[str, str]:
    """The database and the name of the schema of that name."""
    if entry.name.is_temporary or name in TEMPORARY_SCHEMAS:
        raise UnsupportedSql("cannot move objects into or out of temporary schemas")
    database, schema = catalog.scope((name,), session)
    if database is None:
        raise SystemObjectProtected(schema)
    return database, schema


def _moved_with(entry: Entry, catalog: PlannerCatalog) -> list[Entry]:
    """The object, its indexes, and the sequences that its columns own."""
    if isinstance(entry, SequenceEntry) and entry.sequence.owner is not None:
        raise UnsupportedSql(
            "cannot move an owned sequence into another schema",
            detail=f'Sequence "{entry.name.item}" is linked to table '
            f'"{entry.sequence.owner[0][-1]}".',
        )
    if not isinstance(entry, RelationEntry):
        return [entry]
    return [entry, *catalog.indexes_on(entry.id), *catalog.sequences(entry.name)]


def _redefined(
    entry: Entry, moved: list[Entry], to: tuple[str, str], catalog: PlannerCatalog
) -> Redefined:
    if isinstance(entry, FunctionEntry):
        return ((entry.id, _moved_function(entry, to[1], catalog)),)
    database = entry.name.database
    assert database is not None
    schema = database, entry.name.schema
    names = {item.name.item for item in moved}
    redefined: list[tuple[GlobalId, str]] = []
    for item in snapshot_of(catalog).items.values():
        text = with_moved_names(item.create_sql or "", schema, to, names)
        if text is not None:
            redefined.append((item.id, text))
    return tuple(redefined)


def _moved_function(entry: FunctionEntry, schema: str, catalog: PlannerCatalog) -> str:
    """The function's new text. Raises ``UnsupportedSql`` if an object calls it."""
    dependents = catalog.dependents(entry.id)
    if dependents:
        raise UnsupportedSql(
            f'function "{entry.function.name}" cannot be moved, because '
            f"{quoted_name(dependents[0].name)} calls it",
            hint="drop what calls it, and create it again afterwards",
        )
    definition = parse_one(entry.create_sql)
    definition.this.set("db", identifier(schema))
    return to_sql(definition)
