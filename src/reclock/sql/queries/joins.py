"""Joins of two relations of FROM: their conditions, USING, and subqueries in ON."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import BOOLEAN, ScalarType
from reclock.errors import (
    DuplicateAlias,
    DuplicateColumn,
    SqlSyntaxError,
    UnknownColumn,
    UnsupportedSql,
)
from reclock.plan.build import (
    compute,
    distinct,
    filter_rows,
    join,
    map_columns,
    project,
    union,
)
from reclock.plan.relational import JoinKind, Plan
from reclock.plan.scalar_trees import move_columns
from reclock.plan.scalars import Call, ColumnRef, Literal, Scalar
from reclock.sql.names import fold, nearest
from reclock.sql.queries.attach import attach, rewrite_own
from reclock.sql.queries.coercion import coerce, common_type, equal
from reclock.sql.queries.context import Context
from reclock.sql.queries.expressions import ExprContext, condition, reject_unsupported, split
from reclock.sql.queries.outer_aggregates import without_aggregates
from reclock.sql.queries.overloads import call
from reclock.sql.queries.planned import OuterRef, SubqueryValue, TypedExpr, has, scalars_of, walk
from reclock.sql.queries.scope import Scope, ScopeColumn, ScopedPlan
from reclock.sql.queries.subqueries import SubqueryPlanner
from reclock.sql.queries.subquery_rows import correlated_error

JOIN_KINDS = {
    "": JoinKind.INNER,
    "LEFT": JoinKind.LEFT,
    "RIGHT": JoinKind.RIGHT,
    "FULL": JoinKind.FULL,
}


def join_relations(
    left: ScopedPlan, right: ScopedPlan, node: exp.Join, context: Context, around: int = 0
) -> ScopedPlan:
    """The join. The first ``around`` columns of both sides are the row around that their rows are
    for; the join has them once."""
    reject_unsupported(node, "this", "kind", "side", "method", "on", "using", "using_alias")
    side, kind, method = join_words(node)
    check_names(left, right)
    left, right = with_missing_rows(left, right, JOIN_KINDS[side])
    using = [fold(column) for column in node.args.get("using") or []]
    for i, name in enumerate(using):
        if name in using[:i]:
            raise DuplicateColumn(name)
    if method == "NATURAL":
        theirs = {
            column.name
            for column in right.scope.columns
            if not column.is_merged_away and not column.is_around
        }
        using = [
            column.name
            for column in left.scope.columns
            if column.name in theirs and not column.is_merged_away
        ]
    if using:
        joined = _using(left, right, JOIN_KINDS[side], using, around)
        alias = node.args.get("using_alias")
        return joined if alias is None else _with_alias(joined, len(using), fold(alias))
    on = node.args.get("on")
    if on is None and kind != "CROSS" and method != "NATURAL":
        raise SqlSyntaxError("a join needs ON or USING", hint="write CROSS JOIN for all pairs")
    unnamed = [ScopeColumn(None, "", column.type) for column in right.scope.columns[:around]]
    scope = left.scope.beside(Scope((*unnamed, *right.scope.columns[around:])))
    conditions = join_conditions(on, scope, context)
    if any(has(condition, OuterRef) for condition in conditions):
        raise correlated_error()
    if around:
        return _using(left, right, JOIN_KINDS[side], [], around, conditions)
    return ScopedPlan(joined_on(left.plan, right.plan, JOIN_KINDS[side], conditions), scope)


def join_words(node: exp.Join) -> tuple[str, str, str]:
    """Side, kind and method of a join, as far as they are written. Raises ``UnsupportedSql``."""
    side, kind, method = (
        (node.args.get(name) or "").upper() for name in ("side", "kind", "method")
    )
    if (
        side not in JOIN_KINDS
        or kind not in ("", "INNER", "OUTER", "CROSS")
        or method not in ("", "NATURAL")
    ):
        raise UnsupportedSql(
            f"{' '.join(word for word in (method, side, kind, 'JOIN') if word)} is not supported"
        )
    return side, kind, method


def with_missing_rows(
    left: ScopedPlan, right: ScopedPlan, kind: JoinKind
) -> tuple[ScopedPlan, ScopedPlan]:
    """The two sides with the scopes that they have after a join of this kind."""
    if kind in (JoinKind.RIGHT, JoinKind.FULL):
        left = replace(left, scope=left.scope.with_missing_rows())
    if kind in (JoinKind.LEFT, JoinKind.FULL):
        right = replace(right, scope=right.scope.with_missing_rows())
    return left, right


def join_conditions(on: exp.Expr | None, scope: Scope, context: Context) -> list[TypedExpr]:
    expr_context = ExprContext(scope, SubqueryPlanner(context), "JOIN/ON")
    with without_aggregates(scope, "JOIN conditions"):
        return [condition(term, expr_context) for term in split(on)] if on is not None else []


def filtered(relation: ScopedPlan, conditions: Sequence[TypedExpr]) -> ScopedPlan:
    """The rows of ``relation`` that meet ``conditions``, which may have subqueries."""
    if any(has(condition, OuterRef) for condition in conditions):
        raise correlated_error()
    plan, placed = attach(relation.plan, conditions)
    return ScopedPlan(
        project(filter_rows(plan, scalars_of(placed)), range(len(relation.plan.desc))),
        relation.scope,
    )


def joined_on(left: Plan, right: Plan, kind: JoinKind, conditions: Sequence[TypedExpr]) -> Plan:
    """The join on ``conditions``. A subquery in one of them is computed for the rows of the side
    that it names, or for the pairs of rows that meet the other conditions."""
    plain = scalars_of(term for term in conditions if not has(term, SubqueryValue))
    with_subqueries = [condition for condition in conditions if has(condition, SubqueryValue)]
    width, right_width = len(left.desc), len(right.desc)
    if kind is JoinKind.INNER and with_subqueries:
        joined, placed = attach(join(left, right, kind, plain), with_subqueries)
        return project(filter_rows(joined, scalars_of(placed)), range(width + right_width))
    of_left, of_right = list[TypedExpr](), list[TypedExpr]()
    for term in with_subqueries:
        used = _all_columns_of(term)
        if all(column < width for column in used):
            of_left.append(term)
        elif all(column >= width for column in used):
            of_right.append(_moved(term, -width))
        else:
            return _joined_to_pairs(left, right, kind, conditions)
    wide_left, wide_right = _with_columns(left, of_left), _with_columns(right, of_right)
    left_places = range(len(wide_left.desc) - len(of_left), len(wide_left.desc))
    start = len(wide_left.desc)
    end = start + len(wide_right.desc)
    flags = [ColumnRef(i, BOOLEAN) for i in (*left_places, *range(end - len(of_right), end))]
    moved = [
        move_columns(condition, lambda i: i if i < width else i - width + start)
        for condition in plain
    ]
    joined = join(wide_left, wide_right, kind, [*moved, *flags])
    return project(joined, [*range(width), *range(start, start + right_width)])


def _joined_to_pairs(
    left: Plan, right: Plan, kind: JoinKind, conditions: Sequence[TypedExpr]
) -> Plan:
    """The outer join, by the pairs of rows that meet ``conditions``: in the pairs each distinct row
    of an outer side appears once."""
    width, right_width = len(left.desc), len(right.desc)
    ends = range(width), range(width, width + right_width)
    if kind is JoinKind.RIGHT:
        pairs = joined_on(left, distinct(right), JoinKind.INNER, conditions)
        joined = join(pairs, right, kind, same_values(pairs, ends[1], right, range(right_width)))
        return project(joined, [*ends[0], *range(len(pairs.desc), len(pairs.desc) + right_width)])
    pairs = joined_on(distinct(left), right, JoinKind.INNER, conditions)
    joined = join(left, pairs, JoinKind.LEFT, same_values(left, range(width), pairs, ends[0]))
    left_joined = project(joined, [*range(width), *range(2 * width, len(joined.desc))])
    if kind is JoinKind.LEFT:
        return left_joined
    alone = join(
        right, pairs, JoinKind.ANTI, same_values(right, range(right_width), pairs, ends[1])
    )
    nulls = [Literal(None, type) for type in left.desc.types]
    columns = [ColumnRef(i, type) for i, type in enumerate(right.desc.types)]
    return union([left_joined, compute(alone, [*nulls, *columns])])


def same_values(
    left: Plan, of_left: Sequence[int], right: Plan, of_right: Sequence[int]
) -> list[Scalar]:
    """The conditions that the columns of a row on the left are those of a row on the right."""
    width = len(left.desc)
    return [
        Call(
            "is_not_distinct",
            (ColumnRef(i, left.desc.types[i]), ColumnRef(width + j, right.desc.types[j])),
            BOOLEAN,
        )
        for i, j in zip(of_left, of_right, strict=True)
    ]


def _with_columns(plan: Plan, expressions: Sequence[TypedExpr]) -> Plan:
    """``plan`` with the values of ``expressions``, which have subqueries, as its last
    columns."""
    wide, placed = attach(plan, expressions)
    return map_columns(wide, scalars_of(placed))


def _all_columns_of(expression: TypedExpr) -> list[int]:
    """The columns that ``expression``, and the subqueries in it, name."""
    columns: list[int] = []
    for part in walk(expression):
        if isinstance(part, ColumnRef):
            columns.append(part.index)
        elif isinstance(part, SubqueryValue):
            for of_subquery in (*part.conditions, *part.domain, part.result):
                columns += [ref.index for ref in walk(of_subquery) if isinstance(ref, OuterRef)]
    return columns


def _moved(expression: TypedExpr, by: int) -> TypedExpr:
    """``expression`` over columns that are ``by`` further to the right, also as its subqueries name
    them."""
    return rewrite_own(
        expression,
        lambda part: ColumnRef(part.index + by, part.type) if isinstance(part, ColumnRef) else None,
    )


def _using(
    left: ScopedPlan,
    right: ScopedPlan,
    kind: JoinKind,
    names: Sequence[str],
    around: int = 0,
    conditions: Sequence[TypedExpr] = (),
) -> ScopedPlan:
    """The row around and the columns of USING once, first; then the others of both sides; last
    those that a qualified name alone reaches."""
    width = len(left.plan.desc)
    rows_around = [(i, width + i) for i in range(around)]
    named = [
        (_merged(left.scope, name, "left"), width + _merged(right.scope, name, "right"))
        for name in names
    ]
    pairs = [*rows_around, *named]
    columns = left.scope.beside(right.scope).columns
    same = same_values(left.plan, range(around), right.plan, range(around))
    equalities = [
        equal(ColumnRef(a, columns[a].type), ColumnRef(b, columns[b].type)) for a, b in named
    ]
    plan = joined_on(left.plan, right.plan, kind, [*same, *equalities, *conditions])
    types = [common_type([columns[i].type for i in pair], "JOIN/USING") for pair in pairs]
    shared = [_shown_of(pair, kind, columns, type) for pair, type in zip(pairs, types, strict=True)]
    is_cast = any(
        columns[i].type.name is not type.name for i, type in zip(shared, types, strict=True)
    )
    if kind is JoinKind.FULL or is_cast:
        values = pairs if kind is JoinKind.FULL else [(i,) for i in shared]
        merged = [
            call("coalesce", [coerce(ColumnRef(i, columns[i].type), type) for i in value])
            for value, type in zip(values, types, strict=True)
        ]
        plan = map_columns(plan, scalars_of(merged), [columns[i].name for i, _ in pairs])
        shared = [len(columns) + i for i in range(len(pairs))]
        of_row_around = [replace(columns[i], may_be_missing=False) for i in range(around)]
        columns += tuple(of_row_around) + tuple(
            ScopeColumn(None, name, value.type)
            for name, value in zip(names, merged[around:], strict=True)
        )
    once = {i for pair in rows_around for i in pair}
    return _arranged(ScopedPlan(plan, Scope(columns)), pairs, shared, once)


def _arranged(
    joined: ScopedPlan,
    pairs: Sequence[tuple[int, int]],
    shared: Sequence[int],
    once: Collection[int],
) -> ScopedPlan:
    """``joined`` with the columns ``shared``, which show the values of ``pairs``, first, and what a
    qualified name alone reaches last. Nothing reaches the other columns ``once``."""
    columns = joined.scope.columns
    away = [i for pair in pairs for i in pair if i not in shared]
    merged_away = [i for i, column in enumerate(columns) if column.is_merged_away]
    elsewhere = {*shared, *away, *merged_away}
    unmerged = [i for i in range(len(columns)) if i not in elsewhere]
    hidden = [*(i for i in away if i not in once), *merged_away]
    order = [*shared, *unmerged, *hidden]
    moved = tuple(replace(columns[i], is_merged_away=i in hidden) for i in order)
    return ScopedPlan(project(joined.plan, order), Scope(moved))


def _with_alias(relation: ScopedPlan, count: int, alias: str) -> ScopedPlan:
    """``relation`` of a USING, whose merged columns, the first ``count``, ``alias`` names too."""
    if any(column.relation == alias and not column.is_around for column in relation.scope.columns):
        raise DuplicateAlias(alias)
    named = tuple(
        ScopeColumn(alias, column.name, column.type, position=i, is_merged_away=True)
        for i, column in enumerate(relation.scope.columns[:count])
    )
    order = [*range(len(relation.scope.columns)), *range(count)]
    return ScopedPlan(project(relation.plan, order), Scope(relation.scope.columns + named))


def _shown_of(
    pair: tuple[int, int], kind: JoinKind, columns: Sequence[ScopeColumn], type: ScalarType
) -> int:
    """The column of a pair of USING that shows its value: of an inner join the one that need not be
    cast to their ``type``."""
    left, right = pair
    if kind is JoinKind.RIGHT:
        return right
    is_cast = columns[left].type.name is not type.name
    return (
        right
        if kind is JoinKind.INNER and is_cast and columns[right].type.name is type.name
        else left
    )


def _merged(scope: Scope, name: str, side: str) -> int:
    index = scope.find(name)
    if index is None:
        hint = nearest(name, [column.name for column in scope.columns])
        raise UnknownColumn(name, wording=_IN_USING.format(name, side), hint=hint)
    return index


_IN_USING = 'column "{}" specified in USING clause does not exist in {} table'


def check_names(left: ScopedPlan, right: ScopedPlan) -> None:
    ours, theirs = (
        {
            (column.relation, column.qualified)
            for column in side.scope.columns
            if column.relation is not None and not column.is_around
        }
        for side in (left, right)
    )
    for name, qualified in sorted(theirs, key=str):
        if any(
            name == other and (qualified is None or of is None or qualified == of)
            for other, of in ours
        ):
            raise DuplicateAlias(str(name))
