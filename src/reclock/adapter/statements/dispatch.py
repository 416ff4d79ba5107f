"""The families of statements, found in this package, and the execution of a planned statement by
its family."""

from __future__ import annotations

import importlib
import pkgutil

from reclock.adapter import statements
from reclock.adapter.statement_context import Answer, StatementContext, executes
from reclock.adapter.statements.definition import change_catalog
from reclock.errors import NestedTooDeeply
from reclock.sql.planning.registry import PlannedStatement

for _module in pkgutil.walk_packages(statements.__path__, f"{statements.__name__}."):
    importlib.import_module(_module.name)


def execute(statement: PlannedStatement, context: StatementContext) -> Answer:
    """The result of the statement. A type without an execution of its own changes the catalog, as
    its family defines."""
    try:
        if type(statement) in executes:
            return executes[type(statement)](statement, context)
        return change_catalog(statement, context)
    except RecursionError as error:
        raise NestedTooDeeply from error
