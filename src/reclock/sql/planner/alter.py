"""ALTER: decisions about a stalled source, and renaming."""

from __future__ import annotations

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.catalog.objects import ItemType
from reclock.definitions.sources import PostgresConnector
from reclock.errors import DuplicateObject, InvalidOption, SystemObjectProtected, WrongObjectType
from reclock.sql import nodes
from reclock.sql.catalog import Entry, PlannerCatalog, RelationEntry
from reclock.sql.dialect import to_sql
from reclock.sql.names import QualifiedName, SessionNames, fold, identifier, parts
from reclock.sql.parse import parse_one
from reclock.sql.planner.drop import find
from reclock.sql.planner.guests import check_history
from reclock.sql.planner.sources import duration_ms
from reclock.sql.statements import (
    Rename,
    ResnapshotSource,
    RestartPartition,
    RetainHistory,
    RetrySource,
    Skipped,
    SkipRange,
    WaiveCheck,
)

OFFSET_DIGITS = 80
"""More digits than an offset of any upstream has."""


def _source(node: nodes.Statement, catalog: PlannerCatalog, session: SessionNames) -> Entry:
    return _named(node, "SOURCE", catalog, session)


def _host(entry: Entry) -> GlobalId | None:
    """Whose claim it is that a decision about a guest is of."""
    return entry.source.host if isinstance(entry, RelationEntry) and entry.source is not None else None


def _named(node: nodes.Statement, kind: str, catalog: PlannerCatalog, session: SessionNames) -> Entry:
    entry = find(parts(node.this), kind, catalog, session)
    if entry.is_system:
        raise SystemObjectProtected(str(entry.name))
    if catalog.is_subsource(entry.id):
        raise WrongObjectType(str(entry.name), "source", "subsource")
    return entry


def retry(node: nodes.AlterSourceRetryStatement, catalog: PlannerCatalog, session: SessionNames) -> RetrySource:
    source = _source(node, catalog, session)
    return RetrySource(_host(source) or source.id, source.name)


def resnapshot(node: nodes.AlterSourceResnapshotStatement, catalog: PlannerCatalog, session: SessionNames) -> ResnapshotSource:
    source = _source(node, catalog, session)
    described = source.source if isinstance(source, RelationEntry) else None
    if described is None or not isinstance(described.connector, PostgresConnector):
        raise InvalidOption(f'source "{source.name}" cannot be copied anew', detail="only a publication's tables can be")
    return ResnapshotSource(source.id, source.name)


def waive(node: nodes.AlterSourceWaiveStatement, catalog: PlannerCatalog, session: SessionNames) -> WaiveCheck:
    source = _source(node, catalog, session)
    if not node.args["check"].name:
        raise InvalidOption("the name of a check cannot be empty")
    return WaiveCheck(_host(source) or source.id, source.name, node.args["check"].name)


def skip(node: nodes.AlterSourceSkipStatement, catalog: PlannerCatalog, session: SessionNames) -> SkipRange:
    source = _source(node, catalog, session)
    described = source.source if isinstance(source, RelationEntry) else None
    if described is not None and (reason := getattr(described.connector, "cannot_skip", "")):
        raise InvalidOption(f'offsets of source "{source.name}" cannot be skipped', detail=reason)
    lower, upper = (_offset(node.args.get(name)) for name in ("lower", "upper"))
    if lower is not None and upper is not None and not lower < upper < 10 ** (OFFSET_DIGITS - 1):
        raise InvalidOption(f"cannot skip from {lower} to {upper}", detail="the end is exclusive and lies behind the start")
    return SkipRange(_host(source) or source.id, source.name, node.args["partition"].name, lower, upper)


def restart(node: nodes.AlterSourceRestartStatement, catalog: PlannerCatalog, session: SessionNames) -> RestartPartition:
    source = _source(node, catalog, session)
    return RestartPartition(_host(source) or source.id, source.name, node.args["partition"].name)


def retain(node: nodes.AlterSourceRetainStatement, catalog: PlannerCatalog, session: SessionNames) -> RetainHistory:
    source, history = _source(node, catalog, session), node.args.get("history")
    assert source.create_sql is not None
    if (host := _host(source)) is not None:
        check_history(catalog.relation(host))
    text = history.this.name if history is not None else None
    if text is not None:
        duration_ms(text)
    created = parse_one(source.create_sql)
    others = [option for option in created.args.get("options") or () if not isinstance(option, nodes.RetainHistoryClause)]
    created.set("options", [*others, *([history.copy()] if history is not None else [])] or None)
    return RetainHistory(source.id, source.name, text, to_sql(created))


def _offset(number: exp.Expression | None) -> int | None:
    return int(number.name[:OFFSET_DIGITS]) if number is not None else None


def rename(node: nodes.AlterRenameStatement, catalog: PlannerCatalog, session: SessionNames) -> Rename | Skipped:
    kind: str = node.args["kind"]
    if node.args.get("exists") and catalog.find(parts(node.this), session) is None:
        return Skipped(f"ALTER {kind}", f'{kind.lower()} "{".".join(parts(node.this))}" does not exist, skipping')
    found = catalog.find(parts(node.this), session)
    if kind == "TABLE" and found is not None and found.type in (ItemType.VIEW, ItemType.INDEX):
        kind = found.type.value.upper()  # as PostgreSQL has it
    source = _named(node, kind, catalog, session)
    to = source.name.sibling(fold(node.args["to"]))
    taken = catalog.within(to.scope).get(to.item)
    if taken is not None:
        raise DuplicateObject(taken.type.value.replace("_", " "), str(to))
    changed: dict[GlobalId, str] = {}
    full = parts(source.name.to_table())
    referencing = [entry for entry in catalog.relations() if _refers(entry, full)]
    for entry in (source, *catalog.dependents(source.id), *referencing):
        if entry.type is not ItemType.SOURCE_PROGRESS and entry.create_sql is not None:
            changed[entry.id] = renamed(entry.create_sql, source.name, to)
    return Rename(kind.lower(), source.id, source.name, to, tuple(changed.items()))


def _refers(entry: RelationEntry, name: tuple[str, ...]) -> bool:
    """Whether a foreign key of the table refers to the table with this full name."""
    return entry.table is not None and any(constraint.target == name for constraint in entry.table.constraints)


def renamed(create_sql: str, name: QualifiedName, to: QualifiedName) -> str:
    """The text of a definition in which the item ``name`` is called ``to``; an alias keeps what it is called within."""
    node = parse_one(create_sql)
    full = parts(name.to_table())
    if isinstance(node, nodes.CreateIndexStatement) and parts(node.args["on"])[:-1] == full[:-1] and fold(node.this) == name.item:
        node.set("this", identifier(to.item))
    for table in list(node.find_all(exp.Table)):
        if parts(table) != full:
            continue
        is_read = isinstance(node, nodes.CreateViewStatement) and table is not node.this
        table.set("this", identifier(to.item))
        if is_read and table.args.get("alias") is None:
            table.set("alias", exp.TableAlias(this=identifier(name.item)))
    for column in node.find_all(exp.Column):
        qualifier = tuple(
            fold(part) for part in (column.args.get("catalog"), column.args.get("db"), column.args.get("table")) if part
        )
        if len(qualifier) > 1 and full[-len(qualifier) :] == qualifier:
            column.set("catalog", None)
            column.set("db", None)
    return to_sql(node)
