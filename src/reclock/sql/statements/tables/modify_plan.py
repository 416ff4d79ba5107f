"""INSERT, UPDATE, DELETE, TRUNCATE: the change of a table as one plan, of the rows to remove and
the rows to add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

from sqlglot import exp

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import Column, RelationDesc, ScalarType
from reclock.algebra.zones import UTC_NAME
from reclock.catalog.objects import ItemType
from reclock.errors import SqlSyntaxError, SystemObjectProtected, UnsupportedSql, WrongObjectType
from reclock.plan.build import ONE_ROW, compute
from reclock.plan.relational import Constant, Plan, Union
from reclock.plan.rules import optimize
from reclock.plan.scalars import Cast, ColumnRef, Literal, Scalar
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.foreign_keys import keys_into
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, parts
from reclock.sql.planning.registry import plans
from reclock.sql.queries.assignment import assign
from reclock.sql.queries.attach import attach
from reclock.sql.queries.coercion import coerce
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import ExprContext, scalar
from reclock.sql.queries.planned import TypedExpr, scalars_of
from reclock.sql.queries.query import new_context, plan_query
from reclock.sql.queries.scope import Scope
from reclock.sql.queries.session_functions import answered
from reclock.sql.queries.subqueries import SubqueryPlanner
from reclock.sql.queries.subquery_syntax import answers_rows
from reclock.sql.session_zone import planned_in
from reclock.sql.statements.sequences.calls import sequence_named
from reclock.sql.statements.tables.computed import with_computed
from reclock.sql.statements.tables.generated import (
    GeneratedValues,
    check_always,
    find_sequence,
    generated_by_default,
    is_identity,
    without_sequences,
)
from reclock.sql.statements.tables.inserted_parts import has_inserted_parts, with_whole_columns
from reclock.sql.statements.tables.matching import matching, returned_of_others
from reclock.sql.statements.tables.modify_syntax import (
    DeleteStatement,
    InsertStatement,
    TruncateStatement,
    UpdateStatement,
)
from reclock.sql.statements.tables.on_conflict_plan import ConflictAction, plan_on_conflict
from reclock.sql.statements.tables.plan import default_value
from reclock.sql.statements.tables.targets import (
    assigned_value,
    assigned_values,
    column_refs,
    plan_returning,
    plan_returning_written,
    target_columns,
)
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.places import at


def table_named(node: exp.Table, catalog: PlannerCatalog, session: SessionNames) -> RelationEntry:
    """The table. Raises ``UnknownRelation``, or ``WrongObjectType`` for a relation that cannot be
    changed."""
    with at(node):
        entry = catalog.resolve(parts(node), session)
    if entry.is_system:
        raise SystemObjectProtected(str(entry.name))
    if entry.type is not ItemType.TABLE:
        raise WrongObjectType(str(entry.name), "table", entry.type.value.replace("_", " "))
    return entry


@plans(InsertStatement, returns_rows=True)
def insert(node: InsertStatement, catalog: PlannerCatalog, session: SessionNames) -> Modify:
    return plan_insert(node, new_context(catalog, session))


def plan_insert(node: InsertStatement, context: Context) -> Modify:
    catalog, session = context.catalog, context.session
    table = table_named(node.this, catalog, session)
    if (alias := node.this.args.get("alias")) is not None:
        consume(alias)  # which only RETURNING and ON CONFLICT could name
    if has_inserted_parts(node):
        node = with_whole_columns(node, table)
    positions = target_columns(node.args.get("columns"), table)
    plan, generated, is_assigned = _source_rows(node, positions, table, context)
    assigned: dict[int, Any] = {}
    for i, (position, column) in enumerate(zip(positions, plan.desc.columns, strict=False)):
        target = table.desc.columns[position]
        with at(_item(node, i)):
            assigned[position] = assign(
                ColumnRef(i, column.type), replace(target, limit=None) if is_assigned else target
            )
    if node.args.get("overriding") == "USER":
        ignored = {i for i in assigned if is_identity(table, i)}
        assigned = {i: value for i, value in assigned.items() if i not in ignored}
        generated = [values for values in generated if values.position not in ignored]
    defaults = (
        generated_by_default(table, i, catalog) for i in range(len(table.desc)) if i not in assigned
    )
    generated += [values for values in defaults if values is not None]
    added = new_rows(plan, assigned, table, session)
    is_computed = table.table is not None and bool(table.table.computed)
    if not isinstance(added, Constant) and any(values.rows for values in generated):
        raise UnsupportedSql(
            "a column of VALUES with nextval or DEFAULT in some rows needs constants in the others",
            hint="write an INSERT for each kind of row",
        )
    on_conflict = plan_on_conflict(node, table, context)
    returning, written = None, None
    if on_conflict is not None:
        returning = on_conflict.returning.desc if on_conflict.returning is not None else None
    elif generated or is_computed:
        written, returning = plan_returning_written(node, table, context)
    else:
        added, returning = plan_returning(node, added, 0, table, context)
    return Modify(
        "INSERT",
        table.id,
        table.desc,
        optimize(added),
        returning=returning,
        depends_on=frozenset(context.depends_on),
        on_conflict=on_conflict,
        generated=tuple(generated),
        returned=optimize(written) if written is not None else None,
    )


def _item(node: InsertStatement, position: int) -> exp.Expr:
    """What an INSERT writes into a column, if its query has an item for each; or the query."""
    query: exp.Expr = node.args["query"] if node.args.get("query") is not None else node
    items = query.expressions if isinstance(query, exp.Select) else []
    return items[position] if len(items) > position and not query.find(exp.Star) else query


def _source_rows(
    node: InsertStatement, positions: Sequence[int], table: RelationEntry, context: Context
) -> tuple[Plan, list[GeneratedValues], bool]:
    """The rows of VALUES or of the query, the columns that sequences fill in them, and whether the
    values already have the types of the columns."""
    plan: Plan = ONE_ROW
    query, copied = without_sequences(node.args.get("query"))
    values = query.unnest() if isinstance(query, exp.Subquery) else query
    is_assigned = False
    generated: list[GeneratedValues] = []
    if isinstance(values, exp.Values) and not any(
        values.args.get(name) for name in ("order", "limit", "offset")
    ):
        is_assigned = True
        check_always(node, values, positions, table)
        plan, generated = _values(values, positions, table, context)
    elif query is not None:
        generated = [
            GeneratedValues(positions[i], find_sequence(name, context.catalog, context.session).id)
            for i, name in copied.items()
            if i < len(positions)
        ]
        plan = plan_query(query, context, hints=[table.desc.types[i] for i in positions]).embedded
        check_always(node, None, positions[: len(plan.desc)], table)
    if len(plan.desc) > len(positions):
        raise SqlSyntaxError("INSERT has more expressions than target columns")
    if (
        query is not None
        and len(plan.desc) < len(positions)
        and node.args.get("columns") is not None
    ):
        with at(node.args["columns"][len(plan.desc)]):
            raise SqlSyntaxError("INSERT has more target columns than expressions")
    return plan, generated, is_assigned


def new_rows(
    plan: Plan, assigned: Mapping[int, Any], table: RelationEntry, session: SessionNames
) -> Plan:
    """Whole rows of the table, from ``plan``'s rows: the scalars given by position, for other
    columns their defaults."""
    scalars = [
        assigned[i]
        if i in assigned
        else default_of(table, i, session) or Literal(None, column.type)
        for i, column in enumerate(table.desc.columns)
    ]
    return _folded(plan, scalars, table.desc.names) or compute(plan, scalars, table.desc.names)


@plans(UpdateStatement, returns_rows=True)
def update(node: UpdateStatement, catalog: PlannerCatalog, session: SessionNames) -> Modify:
    return plan_update(node, new_context(catalog, session))


def plan_update(node: UpdateStatement, context: Context) -> Modify:
    table = table_named(node.this, context.catalog, context.session)
    assigned = assigned_values(node.args["assignments"], table, node.this)
    positions, values = list(assigned), list(assigned.values())
    if any(map(answers_rows, values)):
        raise UnsupportedSql("set-returning functions are not allowed in UPDATE")
    width = len(table.desc)
    hints: list[ScalarType | None] = [None] * width
    hints += [table.desc.types[i] for i in positions]
    other_scope, named = returned_of_others(node, context)
    plan = matching(node, table, context, [*values, *named], [*hints, *(None for _ in named)])
    new: list[Any] = column_refs(table.desc)
    for k, position in enumerate(positions):
        column = table.desc.columns[position]
        with at(values[k]):
            new[position] = assign(ColumnRef(width + k, plan.desc.types[width + k]), column)
    matched = [
        ColumnRef(width + len(values) + i, column.type)
        for i, column in enumerate(other_scope.columns)
    ]
    names = [*table.desc.names, *table.desc.names, *(column.name for column in other_scope.columns)]
    changed = compute(plan, [*column_refs(table.desc), *new, *matched], names)
    changed = with_computed(changed, table, width)
    wide, returning = plan_returning(node, changed, width, table, context, other_scope)
    return Modify(
        "UPDATE",
        table.id,
        table.desc,
        optimize(wide),
        returning=returning,
        depends_on=frozenset(context.depends_on),
    )


@plans(DeleteStatement, returns_rows=True)
def delete(node: DeleteStatement, catalog: PlannerCatalog, session: SessionNames) -> Modify:
    return plan_delete(node, new_context(catalog, session))


def plan_delete(node: DeleteStatement, context: Context) -> Modify:
    table = table_named(node.this, context.catalog, context.session)
    relations, named = returned_of_others(node, context)
    removed = matching(node, table, context, named, [None] * (len(table.desc) + len(named)))
    wide, returning = plan_returning(node, removed, 0, table, context, relations)
    return Modify(
        "DELETE",
        table.id,
        table.desc,
        optimize(wide),
        returning=returning,
        depends_on=frozenset(context.depends_on),
    )


@plans(TruncateStatement)
def truncate(node: TruncateStatement, catalog: PlannerCatalog, session: SessionNames) -> Truncate:
    emptied_tables: dict[GlobalId, Modify] = {}
    for name in node.args["names"]:
        emptied = delete(DeleteStatement(this=name), catalog, session)
        emptied_tables[emptied.table] = emptied
    while keys := keys_into(emptied_tables, catalog):
        key = keys[0]
        if node.args.get("behavior") == "CASCADE":
            cascaded = delete(DeleteStatement(this=key.table.name.to_table()), catalog, session)
            emptied_tables[cascaded.table] = cascaded
            continue
        raise UnsupportedSql(
            "cannot truncate a table referenced in a foreign key constraint",
            detail=f'Table "{key.table.name.item}" references "{key.target.name.item}".',
            hint=f'Truncate table "{key.table.name.item}" at the same time, or use TRUNCATE ... '
            "CASCADE.",
        )
    restarted: list[GlobalId] = []
    if node.args.get("identity") == "RESTART IDENTITY":
        for table in emptied_tables:
            owner = catalog.relation(table).name
            restarted += [sequence.id for sequence in catalog.sequences(owner)]
    return Truncate(tuple(emptied_tables.values()), tuple(restarted))


# --- parts ---


def _values(
    node: exp.Values, positions: Sequence[int], table: RelationEntry, context: Context
) -> tuple[Plan, list[GeneratedValues]]:
    """Rows of constants and expressions, each value cast to the type of its column, and which
    values a sequence generates."""
    expr_context = ExprContext(Scope(), SubqueryPlanner(context), "VALUES")
    rows: list[list[TypedExpr]] = []
    sequences: dict[tuple[int, GlobalId], list[int]] = {}
    for number, row in enumerate(node.expressions):
        _check_row(row, len(node.expressions[0].expressions), len(positions))
        targets = [(i, table.desc.columns[i]) for i in positions[: len(row.expressions)]]
        written = [
            assigned_value(value, i, table)
            for value, (i, _) in zip(row.expressions, targets, strict=True)
        ]
        values: list[TypedExpr] = []
        for value, (position, column) in zip(written, targets, strict=True):
            named = sequence_named(value)
            if named is None:
                with at(value):
                    values.append(assign(scalar(value, expr_context), column))
                continue
            sequence = find_sequence(named, context.catalog, context.session)
            sequences.setdefault((position, sequence.id), []).append(number)
            values.append(Literal(None, column.type))
        rows.append(values)
    names = [table.desc.names[i] for i in positions[: len(rows[0])]]
    types = [table.desc.types[i] for i in positions[: len(rows[0])]]
    desc = RelationDesc(tuple(Column(name, type) for name, type in zip(names, types, strict=True)))
    generated = [
        GeneratedValues(
            position,
            sequence,
            tuple(numbers) if len(numbers) < len(rows) else None,
            is_identity(table, position),
        )
        for (position, sequence), numbers in sequences.items()
    ]
    constants = [tuple(value.value for value in row if isinstance(value, Literal)) for row in rows]
    if all(len(values) == len(row) for values, row in zip(constants, rows, strict=True)):
        return Constant(tuple(constants), desc), generated
    parts = []
    for row in rows:
        plan, values = attach(ONE_ROW, row)
        parts.append(compute(plan, scalars_of(values), names))
    return Union(tuple(parts), desc) if len(parts) > 1 else parts[0], generated


def _check_row(row: exp.Expr, width: int, most: int) -> None:
    """Raises ``SqlSyntaxError`` if a row of VALUES does not have as many values as the first one, or
    has more than there are columns."""
    if not isinstance(row, exp.Tuple):
        raise SqlSyntaxError("a row of VALUES is written in parentheses")
    if len(row.expressions) != width:
        with at(row):
            raise SqlSyntaxError("VALUES lists must all be the same length")
    if len(row.expressions) > most:
        with at(row.expressions[most]):
            raise SqlSyntaxError("INSERT has more expressions than target columns")


def default_of(table: RelationEntry, position: int, session: SessionNames) -> Scalar | None:
    """The default of a column; None if it has none, or takes it from a sequence."""
    assert table.table is not None
    node = table.table.default(position)
    column = table.desc.columns[position]
    if node is None or position in table.table.generated:
        return None
    with planned_in(UTC_NAME):
        return default_value(node, column, partial(answered, session=session))


def _folded(plan: Plan, scalars: Sequence[Scalar], names: Sequence[str]) -> Constant | None:
    """The rows that the scalars make of constants, if no engine is needed to compute them."""
    if not isinstance(plan, Constant):
        return None
    rows = []
    for row in plan.rows:
        values = [_constant(scalar, row) for scalar in scalars]
        constants = tuple(value.value for value in values if isinstance(value, Literal))
        if len(constants) < len(values):
            return None
        rows.append(constants)
    columns = (
        Column(name, scalars[i].type, any(row[i] is None for row in rows))
        for i, name in enumerate(names)
    )
    return Constant(tuple(rows), RelationDesc(tuple(columns)))


def _constant(value: Scalar, row: Sequence[Any]) -> Scalar:
    match value:
        case ColumnRef(index=index, type=type):
            return Literal(row[index], type)
        case Cast(operand=ColumnRef(index=index, type=operand_type), type=type):
            return coerce(Literal(row[index], operand_type), type)
        case _:
            return value


@dataclass(frozen=True, slots=True)
class Modify:
    """A change of one table's rows: ``kind`` is ``INSERT``, ``UPDATE`` or ``DELETE``.

    The columns of ``plan`` are, for each changed row, the row before if ``removes``, the row after
    if ``adds``, and what is returned of it, described by ``returning``. As in a Select, views are
    ``Get``s of their own ids.
    """

    kind: str
    table: GlobalId
    desc: RelationDesc
    plan: Plan
    _: KW_ONLY
    returning: RelationDesc | None = None
    depends_on: frozenset[GlobalId] = frozenset()
    on_conflict: ConflictAction | None = None
    """Of an INSERT. It says then what is returned; the plan does not."""
    generated: tuple[GeneratedValues, ...] = ()
    """What the session takes from sequences: the plan has NULL there."""
    returned: Plan | None = None
    """What is returned of the ``WRITTEN`` rows, if some of their values are generated or
    computed."""

    @property
    def removes(self) -> bool:
        return self.kind != "INSERT"

    @property
    def adds(self) -> bool:
        return self.kind != "DELETE"

    @property
    def tag(self) -> str:
        return "INSERT 0" if self.kind == "INSERT" else self.kind


@dataclass(frozen=True, slots=True)
class Truncate:
    """Empty all these tables at one time. Then the sequences ``restarted`` begin again."""

    parts: tuple[Modify, ...]
    restarted: tuple[GlobalId, ...] = ()
    tag: str = "TRUNCATE TABLE"
