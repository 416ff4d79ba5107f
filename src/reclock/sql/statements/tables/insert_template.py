"""INSERT of one row of VALUES as a template: planned once, for all values of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from reclock.algebra.relations import Column, RelationDesc, ScalarType, TypeName
from reclock.plan.relational import Constant
from reclock.plan.scalars import Literal
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import types_of
from reclock.sql.names import SessionNames, fold
from reclock.sql.parameters import Parameters, constant
from reclock.sql.queries.assignment import assign
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.planned import Planned
from reclock.sql.queries.scope import Scope
from reclock.sql.session_zone import planned_in
from reclock.sql.statements.tables.inserted_parts import has_inserted_parts
from reclock.sql.statements.tables.modify_plan import Modify
from reclock.sql.statements.tables.modify_syntax import InsertStatement


@dataclass(frozen=True, slots=True)
class InsertTemplate:
    """An INSERT whose row is known but for the columns that depend on parameters."""

    modify: Modify
    """The INSERT with the values of one execution."""
    plan: Constant
    """Its plan, of one row."""
    types: tuple[ScalarType, ...]
    """The types of the parameters."""
    expressions: Mapping[int, exp.Expr]
    """What the columns that depend on parameters are set to, by their positions."""

    @classmethod
    def of(
        cls, node: exp.Expr, modify: object, types: tuple[ScalarType, ...]
    ) -> InsertTemplate | None:
        """The template of an INSERT that was planned for one execution as ``modify``. None unless it
        adds one row of VALUES that needs no engine, and returns nothing."""
        if (
            not isinstance(node, InsertStatement)
            or not isinstance(modify, Modify)
            or not isinstance(modify.plan, Constant)
            or len(modify.plan.rows) != 1
            or modify.returning is not None
            or modify.on_conflict is not None
            or node.args.get("overriding")
            or has_inserted_parts(node)
            or not isinstance(node.args.get("query"), exp.Values)
        ):
            return None
        [row] = node.args["query"].expressions
        columns = node.args.get("columns")
        names = modify.desc.names if columns is None else [fold(column) for column in columns]
        expressions = {
            modify.desc.names.index(name): expression
            for name, expression in zip(names, row.expressions, strict=False)
            if expression.find(exp.Parameter) is not None
        }
        return cls(modify, modify.plan, types, expressions)

    def with_values(
        self, values: Sequence[Any], catalog: PlannerCatalog, names: SessionNames
    ) -> Modify | None:
        """The INSERT with these values for its parameters. None if an engine has to compute one
        of its columns. May raise what planning the execution raises."""
        computed = self.columns([[value] for value in values], 1, catalog, names)
        if computed is None:
            return None
        [first] = self.plan.rows
        row = tuple(computed[i][0] if i in computed else value for i, value in enumerate(first))
        columns = tuple(
            replace(column, is_nullable=value is None)
            for column, value in zip(self.plan.desc.columns, row, strict=True)
        )
        return replace(self.modify, plan=Constant((row,), RelationDesc(columns)))

    def columns(
        self,
        parameters: Sequence[Sequence[Any]],
        count: int,
        catalog: PlannerCatalog,
        names: SessionNames,
    ) -> Mapping[int, list[Any]] | None:
        """What each of ``count`` executions stores in the columns that depend on parameters, by
        their positions. ``parameters`` has the values of each parameter.

        None if an engine has to compute a value. Raises what planning the executions raises.
        """
        stored: dict[int, list[Any]] = {}
        with planned_in(names.zone, names.now), types_of(catalog, names):
            for position, expression in self.expressions.items():
                column = self.modify.desc.columns[position]
                values = _stored(expression, column, self.types, parameters, count)
                if values is None:
                    return None
                stored[position] = values
        return stored


def _stored(
    expression: exp.Expr,
    column: Column,
    types: Sequence[ScalarType],
    parameters: Sequence[Sequence[Any]],
    count: int,
) -> list[Any] | None:
    """The value of the expression in each execution; None if one of them is not a constant."""
    scalars: list[Planned]
    if isinstance(expression, exp.Parameter):
        number = int(expression.this.name) - 1
        values, type = parameters[number], types[number]
        is_checked = column.limit is not None or type.name in (TypeName.NUMERIC, TypeName.BPCHAR)
        if type == column.type and not is_checked:
            return list(values)
        scalars = [constant(value, type) for value in values]
    else:
        bound = [
            Parameters(list(types), [values[i] for values in parameters], is_open=False)
            for i in range(count)
        ]
        scalars = [
            scalar(expression, ExprContext(Scope(), NoSubqueries(bound_value), "VALUES"))
            for bound_value in bound
        ]
    assigned = [assign(value, column) for value in scalars]
    constants = [value.value for value in assigned if isinstance(value, Literal)]
    return constants if len(constants) == len(assigned) else None
