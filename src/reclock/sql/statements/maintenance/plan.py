"""VACUUM and ANALYZE. Reclock maintains what it stores by itself, so they only check what they
name."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.catalog.objects import ItemType
from reclock.errors import UnknownRelation, UnsupportedSql
from reclock.sql.catalog.entries import Entry, IndexEntry, RelationEntry, SequenceEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, parts
from reclock.sql.planning.registry import plans
from reclock.sql.statements.maintenance.syntax import (
    BOOLEANS,
    MaintenanceStatement,
    MaintenanceTarget,
)
from reclock.sql.statements.tables.targets import target_columns
from reclock.sql.syntax.consumption import consume


@dataclass(frozen=True, slots=True)
class Maintenance:
    """``tag`` is the command. A notice names each target that PostgreSQL would skip."""

    tag: str
    notices: tuple[str, ...]

    @property
    def is_allowed_in_blocks(self) -> bool:
        return self.tag == "ANALYZE"


@plans(MaintenanceStatement)
def maintain(
    node: MaintenanceStatement, catalog: PlannerCatalog, session: SessionNames
) -> Maintenance:
    consume(node)
    command: str = node.args["command"]
    analyzes = command == "ANALYZE" or any(
        option.this == "ANALYZE" and BOOLEANS[option.args["value"].name.upper()]
        for option in node.args.get("options") or ()
    )
    notices = []
    for target in node.args.get("targets") or ():
        entry = _target(target, catalog, session)
        if not _has_rows(entry, catalog):
            notices.append(
                f'skipping "{entry.name.item}" --- cannot {command.lower()} non-tables or special '
                "system tables"
            )
        if target.args.get("columns") is None:
            continue
        if not analyzes:
            raise UnsupportedSql("ANALYZE option must be specified when a column list is provided")
        if isinstance(entry, RelationEntry):
            target_columns(target.args["columns"], entry)
    return Maintenance(command, tuple(notices))


def _target(target: MaintenanceTarget, catalog: PlannerCatalog, session: SessionNames) -> Entry:
    name = parts(target.this)
    entry = catalog.find(name, session)
    if not isinstance(entry, RelationEntry | IndexEntry | SequenceEntry):
        raise UnknownRelation(".".join(name))
    return entry


def _has_rows(entry: Entry, catalog: PlannerCatalog) -> bool:
    """Whether rows are stored for it: a table, a source or a materialized view."""
    is_view = entry.type is ItemType.VIEW and not catalog.indexes_on(entry.id)
    return isinstance(entry, RelationEntry) and not is_view
