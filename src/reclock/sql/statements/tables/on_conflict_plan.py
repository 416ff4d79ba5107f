"""ON CONFLICT of INSERT: plans over the table and the rows that would be inserted, which the
execution provides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import BIGINT, BOOLEAN, Column, RelationDesc
from reclock.errors import InvalidConstraint, SqlSyntaxError, UnknownConflictTarget
from reclock.plan.build import compute, join
from reclock.plan.relational import Filter, Get, JoinKind, Plan, inputs, with_inputs
from reclock.plan.scalar_trees import has, move_columns
from reclock.plan.scalars import Call, ColumnRef, Literal, Parameter, Scalar
from reclock.sql.catalog.constraints import Constraint, ConstraintKind
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.names import fold
from reclock.sql.parameters import Parameters
from reclock.sql.queries.assignment import assign
from reclock.sql.queries.attach import attach
from reclock.sql.queries.coercion import expect
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.index_keys import indexed_values
from reclock.sql.queries.planned import scalars_of
from reclock.sql.queries.scope import Scope
from reclock.sql.queries.subqueries import SubqueryPlanner
from reclock.sql.queries.tables import plan_from
from reclock.sql.statements.tables.computed import with_computed
from reclock.sql.statements.tables.on_conflict_syntax import OnConflict
from reclock.sql.statements.tables.targets import (
    assigned_values,
    column_refs,
    plan_returning_written,
    target_columns,
)
from reclock.sql.syntax.consumption import tracked_copy

PROPOSED = StorageCollectionId(GlobalId("t0"))
"""The rows that would be inserted, each with its number as the last column."""


@dataclass(frozen=True, slots=True)
class ConflictPlan:
    """Rows of the table that have a key of ``PROPOSED``, as columns: for DO NOTHING the number of
    the proposed row; for DO UPDATE the row that goes, the row that comes, the number, and whether
    WHERE is true."""

    arbiter: Constraint
    plan: Plan
    target: Plan
    """Where ``plan`` reads the table."""
    keys: Plan | None
    """For a unique index of expressions or of some rows: the number and the key of each row of
    ``PROPOSED`` that has one."""

    def among(self, column: int, values: Sequence[Any]) -> Plan:
        """The plan, if the key's ``column`` of the table has one of the values."""
        return reading_only(self.plan, self.target, column, values)


def reading_only(plan: Plan, target: Plan, column: int, values: Sequence[Any]) -> Plan:
    """``plan`` where its part ``target`` has one of the values in the column."""
    of = target.desc.types[column]
    equal: list[Scalar] = [
        Call("=", (ColumnRef(column, of), Literal(value, of)), BOOLEAN) for value in values
    ]
    condition = equal[0] if len(equal) == 1 else Call("or", tuple(equal), BOOLEAN)

    def visit(plan: Plan) -> Plan:
        if plan is target:
            return Filter(plan, (condition,))
        return with_inputs(plan, [visit(input) for input in inputs(plan)])

    return visit(plan)


@dataclass(frozen=True, slots=True)
class ConflictAction:
    """What becomes of rows whose key is there: nothing, or an update. DO NOTHING may have several
    keys."""

    conflicts: tuple[ConflictPlan, ...]
    is_update: bool
    returning: Plan | None
    """Over ``WRITTEN``."""


def plan_on_conflict(
    node: exp.Expr, table: RelationEntry, context: Context
) -> ConflictAction | None:
    """What the INSERT says, if it has the clause."""
    clause = node.args.get("on_conflict")
    if clause is None:
        return None
    arbiters = _arbiters(clause, table, context.session.parameters)
    is_update = bool(clause.args.get("assignments"))
    plan_conflict = _plan_update if is_update else _plan_match
    conflicts = tuple(plan_conflict(node, clause, arbiter, table, context) for arbiter in arbiters)
    returning, _ = plan_returning_written(node, table, context)
    return ConflictAction(conflicts, is_update, returning)


def _arbiters(clause: OnConflict, table: RelationEntry, parameters: Parameters) -> list[Constraint]:
    """The keys that count. Raises ``UnknownConflictTarget``, ``InvalidConstraint``,
    ``SqlSyntaxError``."""
    assert table.table is not None
    keys = [
        constraint
        for constraint in table.table.constraints
        if constraint.is_unique and constraint.is_enforced
    ]
    if clause.args.get("constraint"):
        name = fold(clause.args["constraint"])
        named = [
            constraint
            for constraint in keys
            if constraint.name == name and constraint.is_key and not constraint.is_index
        ]
        if not named:
            message = f'constraint "{name}" for table "{table.name.item}" does not exist'
            raise InvalidConstraint(message, sqlstate="42704")
        return named
    if clause.args.get("columns"):
        matching = _inferred(clause, keys, table, parameters)
        if not matching:
            raise UnknownConflictTarget
        return matching[:1]
    if clause.args.get("assignments"):
        raise SqlSyntaxError(
            "ON CONFLICT DO UPDATE requires inference specification or constraint name",
            hint="For example, ON CONFLICT (column_name).",
        )
    return keys


def _inferred(
    clause: OnConflict,
    keys: Sequence[Constraint],
    table: RelationEntry,
    parameters: Parameters,
) -> list[Constraint]:
    """The unique indexes that have these keys, and only rows that meet the condition. Before its
    parameters have values, the condition may be that of any such index."""
    written, of_rows = clause.args["columns"], clause.args.get("of_rows")
    names = [node for node in written if isinstance(node, exp.Identifier)]
    target_columns(names, table)
    inferred = Constraint(
        "",
        ConstraintKind.UNIQUE_INDEX,
        (),
        keys=tuple(exp.column(node) if node in names else node for node in written),
        predicate=of_rows,
    )
    inferred_values, condition = indexed_values(inferred, table.desc, parameters)
    conditions = _conjuncts(condition)
    is_open = condition is not None and has(condition, Parameter)
    matching = []
    for constraint in keys:
        values, predicate = _key_values(constraint, table.desc)
        has_same_keys = _are_among(values, inferred_values) and _are_among(inferred_values, values)
        if has_same_keys and (is_open or _are_among(_conjuncts(predicate), conditions)):
            matching.append(constraint)
    return matching


def _are_among(some: Sequence[Scalar], all_: Sequence[Scalar]) -> bool:
    return all(scalar in all_ for scalar in some)


def _conjuncts(condition: Scalar | None) -> list[Scalar]:
    match condition:
        case None:
            return []
        case Call("and", arguments):
            return [part for argument in arguments for part in _conjuncts(argument)]
        case _:
            return [condition]


def _key_values(constraint: Constraint, desc: RelationDesc) -> tuple[list[Scalar], Scalar | None]:
    """The key of a row of the table, and which rows have one."""
    if not constraint.is_key:
        return indexed_values(constraint, desc)
    positions = [desc.names.index(name) for name in constraint.columns]
    return [ColumnRef(i, desc.types[i]) for i in positions], None


def _plan_match(
    node: exp.Expr, clause: OnConflict, arbiter: Constraint, table: RelationEntry, context: Context
) -> ConflictPlan:
    pairs, target, _ = _pairs(node, arbiter, table, context)
    numbers = compute(pairs, column_refs(pairs.desc)[-1:], ["number"])
    return ConflictPlan(arbiter, numbers, target, _proposed_keys(arbiter, table))


def _plan_update(
    node: exp.Expr, clause: OnConflict, arbiter: Constraint, table: RelationEntry, context: Context
) -> ConflictPlan:
    pairs, target, scope = _pairs(node, arbiter, table, context)
    width = len(table.desc)
    values = assigned_values(clause.args["assignments"], table, node.this)
    expr_context = ExprContext(scope, SubqueryPlanner(context), "ON CONFLICT")
    assigned = [
        assign(scalar(value, expr_context), table.desc.columns[position])
        for position, value in values.items()
    ]
    where = clause.args.get("where")
    condition = (
        expect(scalar(where, expr_context), BOOLEAN, "argument of WHERE")
        if where is not None
        else Literal(True, BOOLEAN)
    )
    wide, attached = attach(pairs, [*assigned, condition])
    *news, applies = scalars_of(attached)
    old = column_refs(table.desc)
    new = list[Scalar](old)
    for position, new_value in zip(values, news, strict=True):
        new[position] = new_value
    number = ColumnRef(2 * width, BIGINT)
    names = [f"c{i}" for i in range(2 * width + 2)]
    changed = compute(wide, [*old, *new, number, applies], names)
    keys = _proposed_keys(arbiter, table)
    return ConflictPlan(arbiter, with_computed(changed, table, width), target, keys)


def _proposed_columns(table: RelationEntry) -> RelationDesc:
    return RelationDesc(tuple(Column(column.name, column.type) for column in table.desc.columns))


def _proposed(table: RelationEntry) -> Plan:
    number = Column("mz_number", BIGINT, is_nullable=False)
    return Get(PROPOSED, "excluded", RelationDesc((*_proposed_columns(table).columns, number)))


def _proposed_keys(arbiter: Constraint, table: RelationEntry) -> Plan | None:
    if arbiter.is_key:
        return None
    values, predicate = _key_values(arbiter, table.desc)
    rows = _proposed(table)
    number = column_refs(rows.desc)[-1]
    if predicate is not None:
        rows = Filter(rows, (predicate,))
    names = [f"c{i}" for i in range(len(values))]
    return compute(rows, [number, *values], ["number", *names])


def _pairs(
    node: exp.Expr, arbiter: Constraint, table: RelationEntry, context: Context
) -> tuple[Plan, Plan, Scope]:
    """The table's rows joined with the proposed rows of the same key; where they are read; and what
    expressions may name."""
    target = plan_from(exp.Select(from_=exp.From(this=tracked_copy(node.this))), context)
    width = len(table.desc)
    equal = "is_not_distinct" if arbiter.are_nulls_equal else "="
    values, predicate = _key_values(arbiter, table.desc)

    def of_proposed(value: Scalar) -> Scalar:
        return move_columns(value, lambda position: width + position)

    conditions: list[Scalar] = [
        Call(equal, (value, of_proposed(value)), BOOLEAN) for value in values
    ]
    if predicate is not None:
        conditions += [predicate, of_proposed(predicate)]
    excluded = Scope.of(_proposed_columns(table), "excluded")
    return (
        join(target.plan, _proposed(table), JoinKind.INNER, conditions),
        target.plan,
        target.scope.beside(excluded),
    )
