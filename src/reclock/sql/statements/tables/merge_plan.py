"""MERGE: the pairs of a source's rows and a table's rows, and what each becomes.

The rows of the source are read first, and numbered, so that they are read once. Everything else is
planned over these rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, BOOLEAN, INTEGER, TEXT, Column, RelationDesc
from reclock.errors import DuplicateAlias, SqlSyntaxError, UnsupportedSql
from reclock.plan.build import compute, join
from reclock.plan.relational import Filter, Finishing, Get, JoinKind, Plan
from reclock.plan.rules import optimize
from reclock.plan.scalars import Call, Case, ColumnRef, Literal, Scalar
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames
from reclock.sql.planning.registry import plans
from reclock.sql.queries.assignment import assign
from reclock.sql.queries.attach import attach
from reclock.sql.queries.coercion import expect
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.joins import join_conditions
from reclock.sql.queries.planned import (
    OuterRef,
    SubqueryValue,
    TypedExpr,
    has,
    move_columns,
    scalars_of,
)
from reclock.sql.queries.query import new_context
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan
from reclock.sql.queries.select_items import select_list
from reclock.sql.queries.subqueries import SubqueryPlanner
from reclock.sql.queries.tables import plan_from
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.sequences.calls import sequence_named
from reclock.sql.statements.tables.generated import (
    GeneratedValues,
    check_always,
    find_sequence,
    generated_by_default,
    is_identity,
)
from reclock.sql.statements.tables.matching import from_clause
from reclock.sql.statements.tables.merge_syntax import (
    BY_SOURCE,
    BY_TARGET,
    MATCHED,
    MergeClause,
    MergeStatement,
)
from reclock.sql.statements.tables.modify_plan import default_of, table_named
from reclock.sql.statements.tables.targets import (
    assigned_value,
    assigned_values,
    column_refs,
    target_columns,
)
from reclock.sql.syntax.consumption import tracked_copy

PROVIDED = StorageCollectionId(GlobalId("t0"))
"""The rows of the source with their numbers, and later those that RETURNING answers of."""

_ACTION = "mz_merge"


@dataclass(frozen=True, slots=True)
class MergeAction:
    """``kind`` is UPDATE, DELETE or INSERT; sequences give an INSERT the ``generated`` values."""

    kind: str
    generated: tuple[GeneratedValues, ...] = ()


@dataclass(frozen=True, slots=True)
class MergePart:
    """The rows of one kind of match. The columns of ``plan`` are the table's row that was there, the
    row that comes, the row of the source and its number, each NULL where there is none, and the
    place of the action among the ``actions``."""

    plan: Plan
    actions: tuple[MergeAction | None, ...]
    target: Plan
    """Where ``plan`` reads the table."""
    keys: tuple[tuple[int, int], ...]
    """Columns of the table that are equal to columns of the source in every match: only rows with
    these values need to be read."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A change of one table by the rows of ``source``. ``returned`` answers RETURNING over rows of
    the source, of the table, and the name of what was done."""

    table: GlobalId
    name: QualifiedName
    desc: RelationDesc
    source: Select
    parts: tuple[MergePart, ...]
    returned: Plan | None
    depends_on: frozenset[GlobalId] = frozenset()
    tag: str = "MERGE"

    @property
    def returning(self) -> RelationDesc | None:
        return self.returned.desc if self.returned is not None else None

    @property
    def kinds(self) -> frozenset[str]:
        """What it may do to rows of the table."""
        actions = (action for part in self.parts for action in part.actions)
        return frozenset(action.kind for action in actions if action is not None)


@plans(MergeStatement, returns_rows=True)
def merge(node: MergeStatement, catalog: PlannerCatalog, session: SessionNames) -> Merge:
    return plan_merge(node, new_context(catalog, session))


def plan_merge(node: MergeStatement, context: Context) -> Merge:
    table = table_named(node.this, context.catalog, context.session)
    read = plan_from(exp.Select(**from_clause([tracked_copy(node.args["source"])])), context)
    target = plan_from(exp.Select(from_=exp.From(this=tracked_copy(node.this))), context)
    relations = target.scope.relations
    if shared := [name for name in read.scope.relations if name in relations]:
        raise DuplicateAlias(shared[0])
    columns = [Column(f"s{i}", type) for i, type in enumerate(read.plan.desc.types)]
    numbered = RelationDesc((*columns, Column("mz_number", BIGINT)))
    source = ScopedPlan(Get(PROVIDED, "source", numbered), read.scope)
    planner = _MergePlanner(
        table, node.this, target, source, tracked_copy(node.args["on"]), context
    )
    parts = []
    for match in (MATCHED, BY_SOURCE, BY_TARGET):
        clauses = [tracked_copy(c) for c in node.args["clauses"] if c.args["match"] == match]
        _check_reachable(clauses, match)
        if clauses:
            parts.append(planner.part(match, clauses))
    returned = planner.returned(node)
    depends_on = frozenset(context.depends_on | {table.id})
    plan = optimize(compute(read.plan, column_refs(read.plan.desc), [c.name for c in columns]))
    return Merge(
        table.id,
        table.name,
        table.desc,
        Select(plan, Finishing(), plan.desc, depends_on=depends_on),
        tuple(parts),
        returned,
        depends_on,
    )


def _check_reachable(clauses: Sequence[MergeClause], match: str) -> None:
    unconditional = [i for i, clause in enumerate(clauses) if not clause.args.get("condition")]
    if unconditional and unconditional[0] < len(clauses) - 1:
        raise SqlSyntaxError("unreachable WHEN clause specified after unconditional WHEN clause")


@dataclass(frozen=True, slots=True)
class _MergePlanner:
    table: RelationEntry
    named: exp.Table
    target: ScopedPlan
    source: ScopedPlan
    on: exp.Expr
    context: Context
    _conditions: list[Scalar] = field(init=False)

    def __post_init__(self) -> None:
        both = self.target.scope.beside(self.source.scope)
        conditions = join_conditions(self.on, both, self.context)
        if any(
            has(condition, SubqueryValue) or has(condition, OuterRef) for condition in conditions
        ):
            raise UnsupportedSql("a subquery in ON of MERGE is not supported")
        width = len(self.target.plan.desc)
        # the table's columns may have hidden ones after them
        assert width >= len(self.table.desc)
        object.__setattr__(self, "_conditions", scalars_of(conditions))

    def part(self, match: str, clauses: Sequence[MergeClause]) -> MergePart:
        rows, scope, old, source = self._rows(match)
        conditions: list[TypedExpr] = []
        values: list[list[TypedExpr] | None] = []
        actions: list[MergeAction | None] = []
        expr_context = ExprContext(scope, SubqueryPlanner(self.context), "MERGE WHEN")
        for clause in clauses:
            written = clause.args.get("condition")
            conditions.append(
                expect(scalar(written, expr_context), BOOLEAN, "argument of WHEN")
                if written is not None
                else Literal(True, BOOLEAN)
            )
            action, new = self._action(clause, expr_context, old)
            actions.append(action)
            values.append(new)
        width = len(self.table.desc)
        flat = [*conditions, *(value for new in values if new is not None for value in new)]
        wide, placed = attach(rows, flat)
        scalars = scalars_of(placed)
        branches = tuple(
            (condition, Literal(i if actions[i] is not None else -1, INTEGER))
            for i, condition in enumerate(scalars[: len(clauses)])
        )
        chosen = Case(branches, Literal(None, INTEGER), INTEGER)
        names = [f"c{i}" for i in range(len(wide.desc) + 1)]
        decided = compute(wide, [*column_refs(wide.desc), chosen], names)
        place = ColumnRef(len(wide.desc), INTEGER)
        decided = Filter(decided, (Call(">=", (place, Literal(0, INTEGER)), BOOLEAN),))
        new_rows: dict[int, list[Scalar]] = {}
        start = len(clauses)
        for i, new in enumerate(values):
            if new is not None:
                new_rows[i] = scalars[start : start + width]
                start += width
        new_values: list[Scalar] = []
        for position, column in enumerate(self.table.desc.columns):
            chosen_values: tuple[tuple[Scalar, Scalar], ...] = tuple(
                (Call("=", (place, Literal(i, INTEGER)), BOOLEAN), new[position])
                for i, new in new_rows.items()
            )
            null = Literal(None, column.type)
            new_values.append(Case(chosen_values, null, column.type) if chosen_values else null)
        row = [*(old or _nulls(self.table.desc)), *new_values, *source, place]
        names = [f"c{i}" for i in range(len(row))]
        plan = compute(decided, row, names)
        keys = () if match == BY_SOURCE else tuple(self._keys())
        return MergePart(plan, tuple(actions), self.target.plan, keys)

    def _rows(self, match: str) -> tuple[Plan, Scope, list[Scalar], list[Scalar]]:
        """The rows of that kind, what may be named of them, and the columns of the table and of the
        source in them; of the table none if there is no such row."""
        target, source = self.target.plan, self.source.plan
        width, source_width = len(target.desc), len(source.desc)
        if match == MATCHED:
            pairs = join(target, source, JoinKind.INNER, self._conditions)
            refs = column_refs(pairs.desc)
            scope = self.target.scope.beside(self.source.scope)
            return pairs, scope, refs[: len(self.table.desc)], refs[width:]
        if match == BY_SOURCE:
            alone = join(target, source, JoinKind.ANTI, self._conditions)
            refs = column_refs(alone.desc)[: len(self.table.desc)]
            return alone, self.target.scope, refs, _nulls(source.desc)
        moved = scalars_of(
            move_columns(condition, lambda i: i - width if i >= width else i + source_width)
            for condition in self._conditions
        )
        alone = join(source, target, JoinKind.ANTI, moved)
        return alone, self.source.scope, [], column_refs(source.desc)

    def _action(
        self, clause: MergeClause, context: ExprContext, old: list[Scalar]
    ) -> tuple[MergeAction | None, list[TypedExpr] | None]:
        """What the clause does, and the row that comes."""
        kind = clause.args["action"]
        if kind == "INSERT":
            return self._insert(clause, context)
        if kind == "DELETE":
            return MergeAction(kind), None
        if kind == "DO NOTHING":
            return None, None
        values = assigned_values(clause.args["assignments"], self.table, self.named)
        new: list[TypedExpr] = list(old)
        for position, value in values.items():
            new[position] = assign(scalar(value, context), self.table.desc.columns[position])
        return MergeAction(kind), new

    def _insert(
        self, clause: MergeClause, context: ExprContext
    ) -> tuple[MergeAction, list[TypedExpr]]:
        table, catalog, session = self.table, self.context.catalog, self.context.session
        values: list[exp.Expr] = clause.args.get("values") or []
        positions = target_columns(clause.args.get("columns"), table)
        if len(values) > len(positions):
            raise SqlSyntaxError("INSERT has more expressions than target columns")
        if values and clause.args.get("columns") and len(values) < len(positions):
            raise SqlSyntaxError("INSERT has more target columns than expressions")
        row = exp.Values(expressions=[exp.Tuple(expressions=[v.copy() for v in values])])
        check_always(clause, row, positions, table)
        ignores_identity = clause.args.get("overriding") == "USER"
        new: dict[int, TypedExpr] = {}
        generated: list[GeneratedValues] = []
        for written, position in zip(values, positions, strict=False):
            column = table.desc.columns[position]
            value = assigned_value(written, position, table)
            named = sequence_named(value)
            if named is not None:
                sequence = find_sequence(named, catalog, session)
                is_own = is_identity(table, position)
                generated.append(GeneratedValues(position, sequence.id, None, is_own))
                new[position] = Literal(None, column.type)
            elif not (ignores_identity and is_identity(table, position)):
                new[position] = assign(scalar(value, context), column)
        for position, column in enumerate(table.desc.columns):
            if position in new:
                continue
            by_default = generated_by_default(table, position, catalog)
            if by_default is not None:
                generated.append(by_default)
            default = default_of(table, position, session)
            new[position] = default if default is not None else Literal(None, column.type)
        row_that_comes = [new[position] for position in range(len(table.desc))]
        return MergeAction("INSERT", tuple(generated)), row_that_comes

    def _keys(self) -> Sequence[tuple[int, int]]:
        width = len(self.target.plan.desc)
        keys = []
        for condition in self._conditions:
            match condition:
                case Call("=", (ColumnRef(left, type), ColumnRef(right, other))) if type == other:
                    low, high = sorted((left, right))
                    if low < len(self.table.desc) and high >= width:
                        keys.append((low, high - width))
        return keys

    def returned(self, node: MergeStatement) -> Plan | None:
        """RETURNING over the rows of the source, of the table, and the name of the action."""
        written = node.args.get("returning")
        if not written:
            return None
        width, source_width = len(self.table.desc), len(self.source.scope.columns)
        source = self.source.plan.desc.columns[:source_width]
        action = Column("merge_action", TEXT)
        desc = RelationDesc(
            (
                *(replace(column, name=f"s{i}") for i, column in enumerate(source)),
                *(
                    replace(c, name=f"t{i}", limit=None)
                    for i, c in enumerate(self.table.desc.columns)
                ),
                action,
            )
        )
        hidden = ScopeColumn(_ACTION, action.name, TEXT, is_merged_away=True)
        scope = self.source.scope.beside(Scope(self.target.scope.columns[:width]))
        items = [tracked_copy(item).transform(_as_column, copy=False) for item in written]
        shown = select_list(items, Scope((*scope.columns, hidden)), self.context, "RETURNING")
        wide, values = attach(Get(PROVIDED, "merged", desc), [value for _, value in shown])
        return optimize(compute(wide, scalars_of(values), [name for name, _ in shown]))


def _as_column(node: exp.Expr) -> exp.Expr:
    """``merge_action()`` as the column that holds it."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "merge_action":
        return exp.column("merge_action", _ACTION)
    return node


def _nulls(desc: RelationDesc) -> list[Any]:
    return [Literal(None, type) for type in desc.types]
