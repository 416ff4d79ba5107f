"""The sources of the catalog, as the ingestion step takes them."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.catalog.objects import ItemType
from reclock.controllers.implied import source_spec
from reclock.definitions.sources import SourceSpec
from reclock.errors import SqlSyntaxError, UnknownObject
from reclock.runtime.stores import Stores
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, parts
from reclock.sql.statements.show.syntax import ShowColumnsStatement
from reclock.sql.syntax.parse import parse_one

_NAMES = SessionNames()


def source_specs(stores: Stores, only: Sequence[str] | None = None) -> list[SourceSpec]:
    """Every source except guests, which their hosts bind; or the named ones, qualified or not. In
    order of id.

    Raises ``UnknownRelation``.
    """
    catalog = stores.planner_catalog()
    if only is not None:
        named_sources = [_named(catalog, name) for name in only]
        return [
            source_spec(catalog, entry)
            for entry in {entry.id: entry for entry in named_sources}.values()
        ]
    entries = [
        entry
        for entry in catalog.relations()
        if entry.source is not None and entry.source.host is None
    ]
    return [
        source_spec(catalog, entry)
        for entry in sorted(entries, key=lambda entry: int(entry.id[1:]))
    ]


def _named(catalog: PlannerCatalog, name: str) -> RelationEntry:
    """The source of that name, or its host if it is a guest."""
    entry = catalog.resolve(written_parts(name), _NAMES)
    if entry.type is not ItemType.SOURCE or entry.source is None:
        raise UnknownObject("source", name)
    return entry if entry.source.host is None else catalog.relation(entry.source.host)


def written_parts(name: str) -> tuple[str, ...]:
    """The parts of a name, parsed as SQL. Raises ``SqlSyntaxError``."""
    statement = parse_one(f"SHOW COLUMNS FROM {name}")
    if (
        not isinstance(statement, ShowColumnsStatement)
        or statement.args.get("like")
        or statement.args.get("where")
    ):
        raise SqlSyntaxError(f'"{name}" is not a name')
    return parts(statement.this)
