"""DROP of what there is none of: extensions, triggers, rules and policies."""

from __future__ import annotations

from reclock.errors import UnknownObject
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold, parts
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.statements.extensions.syntax import (
    DropExtensionsStatement,
    DropTablePartStatement,
)


@plans(DropExtensionsStatement)
def drop_extensions(
    node: DropExtensionsStatement, catalog: PlannerCatalog, session: SessionNames
) -> Skipped:
    names = [fold(name) for name in node.args["names"]]
    if not node.args.get("exists"):
        raise UnknownObject("extension", names[0])
    notices = [f'extension "{name}" does not exist, skipping' for name in names]
    return Skipped("DROP EXTENSION", "; ".join(notices))


@plans(DropTablePartStatement)
def drop_table_part(
    node: DropTablePartStatement, catalog: PlannerCatalog, session: SessionNames
) -> Skipped:
    kind, name, on = node.args["kind"], fold(node.this), parts(node.args["on"])
    if not node.args.get("exists"):
        relation = catalog.resolve(on, session).name.item
        raise UnknownObject(kind.lower(), name, detail=f'It would be one of table "{relation}".')
    notice = f'relation "{".".join(on)}" does not exist, skipping'
    if catalog.find(on, session) is not None:
        notice = f'{kind.lower()} "{name}" for {notice}'
    return Skipped(f"DROP {kind}", notice)
