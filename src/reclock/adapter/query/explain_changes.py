"""What EXPLAIN answers about a statement that changes rows of tables."""

from __future__ import annotations

from textwrap import indent
from typing import TypeGuard

from reclock.plan.explain import explain
from reclock.plan.relational import Finishing, Plan
from reclock.plan.rules import optimize
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.queries.views import expand
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.merge_plan import Merge
from reclock.sql.statements.tables.modify_plan import Modify
from reclock.sql.statements.tables.with_plan import Part, With

Changes = Modify | Merge | With


def changes_rows(statement: PlannedStatement) -> TypeGuard[Changes]:
    return isinstance(statement, Changes)


def explain_changes(statement: Changes, catalog: PlannerCatalog) -> list[str]:
    """Each part of the statement, in the order of execution, with the plan of the rows that it
    changes or returns. A part of WITH reads the ``returned`` rows of those before it."""
    lines: list[str] = []
    for part in statement.statements if isinstance(statement, With) else (statement,):
        title, plan, finishing = _described(part, catalog)
        text = explain(optimize(expand(plan, catalog)), finishing)
        lines += [f"{title}:", *indent(text, "  ").splitlines()]
    return lines


def _described(part: Part, catalog: PlannerCatalog) -> tuple[str, Plan, Finishing]:
    match part:
        case Select(plan, finishing):
            return "SELECT", plan, finishing
        case Modify(kind, table):
            return f"{kind} {catalog.relation(table).name}", part.plan, Finishing()
        case Merge(_, name, _, source):
            return f"MERGE {name}", source.plan, source.finishing
