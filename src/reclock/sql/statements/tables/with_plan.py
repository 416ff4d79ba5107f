"""WITH before a statement that changes a table, and WITH that holds such statements.

The statements of WITH are executed one after the other, the main statement last. Each reads the
tables as they were before all of them, and finds what an earlier one returned by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import Column, RelationDesc
from reclock.errors import InvalidRecursion, UnsupportedSql
from reclock.plan.build import compute
from reclock.plan.relational import Finishing, Get, Plan
from reclock.plan.rules import optimize
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold
from reclock.sql.planning.registry import plans
from reclock.sql.queries.context import Context
from reclock.sql.queries.mutual_recursion import with_bindings
from reclock.sql.queries.query import ctes_in_order, new_context, with_cte
from reclock.sql.queries.recursion import column_names, references
from reclock.sql.statements.query.plan import plan_query_within
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.tables.merge_plan import Merge, plan_merge
from reclock.sql.statements.tables.merge_syntax import MergeStatement
from reclock.sql.statements.tables.modify_plan import (
    Modify,
    plan_delete,
    plan_insert,
    plan_update,
    table_named,
)
from reclock.sql.statements.tables.modify_syntax import (
    DeleteStatement,
    InsertStatement,
    UpdateStatement,
)
from reclock.sql.statements.tables.targets import column_refs
from reclock.sql.statements.tables.with_syntax import WithStatement
from reclock.sql.syntax.consumption import tracked_copy
from reclock.sql.syntax.nodes import MutuallyRecursive, QueryStatement, Statement

Part = Modify | Merge | Select

_CHANGES: dict[type[exp.Expr], Callable[[Any, Context], Modify | Merge]] = {
    InsertStatement: plan_insert,
    UpdateStatement: plan_update,
    DeleteStatement: plan_delete,
    MergeStatement: plan_merge,
}


@dataclass(frozen=True, slots=True)
class WithStep:
    """A statement of WITH. Later statements read its rows, if it returns any, as ``rows``, whose
    columns are called ``c0``, ``c1``, …"""

    statement: Part
    rows: StorageCollectionId


@dataclass(frozen=True, slots=True)
class With:
    """The steps in their order, and the main statement, which is executed last and gives the
    result."""

    steps: tuple[WithStep, ...]
    main: Part

    @property
    def statements(self) -> tuple[Part, ...]:
        return (*(step.statement for step in self.steps), self.main)

    @property
    def tag(self) -> str:
        return self.main.tag


@plans(WithStatement, returns_rows=True)
def plan_with(
    node: WithStatement, catalog: PlannerCatalog, session: SessionNames
) -> With | Modify | Merge | Select:
    clause, main, context = node.args["with_"], node.this, new_context(catalog, session)
    if main.args.get("as_of") is not None:
        raise UnsupportedSql("AS OF is not supported in a statement that changes tables")
    if isinstance(clause, MutuallyRecursive):
        return _plan_part(main, with_bindings(clause, context))
    ctes, may_recurse = ctes_in_order(clause), bool(clause.args.get("recursive"))
    computed_once = _computed_once(ctes, main)
    steps: list[WithStep] = []
    for cte in ctes:
        rows = StorageCollectionId(GlobalId(f"t-{len(steps) + 1}"))  # no temporary table's
        if isinstance(cte.this, Statement):
            if may_recurse:
                _check_not_recursive(cte)
            step = WithStep(_plan_part(cte.this, context), rows)
            context = _with_returned(step, cte, context)
        else:
            context = with_cte(cte, context, may_recurse=may_recurse)
            if _name(cte) not in computed_once:
                continue
            plan = context.ctes[_name(cte)]
            select = Select(
                optimize(plan), Finishing(), plan.desc, depends_on=frozenset(context.depends_on)
            )
            step = WithStep(select, rows)
            context = context.with_cte(_name(cte), _rows_of(step, plan.desc, plan.desc.names))
        steps.append(step)
    planned = _plan_part(main, context)
    return With(tuple(steps), planned) if steps else planned


def _plan_part(node: exp.Expr, context: Context) -> Part:
    if isinstance(node, QueryStatement):
        return plan_query_within(node, context)
    return _CHANGES[type(node)](_with_full_target(node, context), context)


def _with_full_target(node: exp.Expr, context: Context) -> exp.Expr:
    """The statement with the full name of its table, which a query of WITH cannot hide."""
    table = table_named(node.this, context.catalog, context.session)
    changed = tracked_copy(node)
    full = table.name.to_table()
    for part in ("db", "catalog"):
        changed.this.set(part, full.args.get(part))
    return changed


def _with_returned(step: WithStep, cte: exp.CTE, context: Context) -> Context:
    assert not isinstance(step.statement, Select)
    returned = step.statement.returning
    if returned is None:
        return replace(context, without_rows=context.without_rows | {_name(cte)})
    names = column_names(cte, returned.names)
    return context.with_cte(_name(cte), _rows_of(step, returned, names))


def _rows_of(step: WithStep, desc: RelationDesc, names: Sequence[str]) -> Plan:
    numbered = RelationDesc(
        tuple(Column(f"c{i}", column.type) for i, column in enumerate(desc.columns))
    )
    rows = Get(step.rows, "returned", numbered)
    return compute(rows, column_refs(numbered), names)


def _computed_once(ctes: Sequence[exp.CTE], main: exp.Expr) -> set[str]:
    """The plain queries of WITH that more than one statement reads. The statements must read the
    same rows, even if a LIMIT could choose others."""
    computed_once: set[str] = set()
    readers: dict[str, set[int]] = {}
    for i, cte in reversed(list(enumerate(ctes))):
        if isinstance(cte.this, Statement):
            continue
        name = _name(cte)
        statements = {len(ctes)} if references(main, name) else set[int]()
        for k, other in enumerate(ctes[i + 1 :], i + 1):
            if not references(other.this, name):
                continue
            is_statement = isinstance(other.this, Statement) or _name(other) in computed_once
            statements |= {k} if is_statement else readers[_name(other)]
        readers[name] = statements
        if len(statements) > 1:
            computed_once.add(name)
    return computed_once


def _check_not_recursive(cte: exp.CTE) -> None:
    """Raises ``InvalidRecursion`` if the statement reads what it returns."""
    if any(table is not cte.this.this for table in references(cte.this, _name(cte))):
        raise InvalidRecursion(
            f'recursive query "{_name(cte)}" must not contain data-modifying statements'
        )


def _name(cte: exp.CTE) -> str:
    return fold(cte.args["alias"].this)
