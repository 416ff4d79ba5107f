"""DROP EXTENSION. There are no extensions, so none is dropped."""

from __future__ import annotations

from reclock.errors import UnknownObject
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold
from reclock.sql.planning.registry import Skipped, plans
from reclock.sql.statements.extensions.syntax import DropExtensionsStatement


@plans(DropExtensionsStatement)
def drop_extensions(
    node: DropExtensionsStatement, catalog: PlannerCatalog, session: SessionNames
) -> Skipped:
    names = [fold(name) for name in node.args["names"]]
    if not node.args.get("exists"):
        raise UnknownObject("extension", names[0])
    notices = [f'extension "{name}" does not exist, skipping' for name in names]
    return Skipped("DROP EXTENSION", "; ".join(notices))
