"""Functions that build plans. None of them adds a node that would change nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reclock.algebra.relations import Column, RelationDesc
from reclock.plan.functions.aggregates import COUNTS
from reclock.plan.functions.intervals import SPAN, compared_type
from reclock.plan.properties import unique_key
from reclock.plan.relational import (
    Constant,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Map,
    Plan,
    Project,
    Reduce,
    Union,
)
from reclock.plan.scalar_trees import columns_of, is_nullable, is_random, move_columns
from reclock.plan.scalars import Aggregate, Call, ColumnRef, Literal, Scalar
from reclock.plan.totality import could_error

ONE_ROW = Constant(rows=((),), desc=RelationDesc(()))
"""The input of a SELECT without FROM."""


def filter_rows(plan: Plan, predicates: Iterable[Scalar]) -> Plan:
    kept_predicates = tuple(
        predicate for predicate in predicates if predicate != Literal(True, predicate.type)
    )
    return Filter(plan, kept_predicates) if kept_predicates else plan


def map_columns(plan: Plan, scalars: Sequence[Scalar], names: Sequence[str] | None = None) -> Plan:
    """``plan`` with ``scalars`` appended to its columns."""
    if not scalars:
        return plan
    columns = plan.desc.columns
    column_names = names or [f"column{len(columns) + i + 1}" for i in range(len(scalars))]
    added = tuple(
        Column(name, scalar.type, is_nullable(scalar, columns))
        for name, scalar in zip(column_names, scalars, strict=True)
    )
    return Map(plan, tuple(scalars), RelationDesc(columns + added, plan.desc.key))


def project(plan: Plan, indexes: Sequence[int], names: Sequence[str] | None = None) -> Plan:
    """The columns of ``plan`` at ``indexes``, renamed to ``names`` if given.

    It adds no node if nothing changes, and merges two projections into one.
    """
    columns = tuple(plan.desc.columns[i] for i in indexes)
    if names is not None:
        columns = tuple(
            replace(column, name=name) for name, column in zip(names, columns, strict=True)
        )
    if isinstance(plan, Project):
        return project(
            plan.input, [plan.indexes[i] for i in indexes], [column.name for column in columns]
        )
    if tuple(indexes) == tuple(range(len(plan.desc))) and columns == plan.desc.columns:
        return plan
    key = unique_key(plan)
    has_key = key is not None and set(key) <= set(indexes)
    key_names = tuple(columns[list(indexes).index(i)].name for i in key or ()) if has_key else None
    return Project(plan, tuple(indexes), RelationDesc(columns, key_names))


def compute(plan: Plan, scalars: Sequence[Scalar], names: Sequence[str] | None = None) -> Plan:
    """A plan whose columns are exactly ``scalars``, computed from the rows of ``plan``. Equal
    scalars are computed once, if their values are equal."""
    width = len(plan.desc)
    computed: list[Scalar] = []
    places: dict[Scalar, int] = {}
    indexes = []
    for scalar in scalars:
        if isinstance(scalar, ColumnRef):
            indexes.append(scalar.index)
            continue
        place = None if is_random(scalar) else places.get(scalar)
        if place is None:
            place = places[scalar] = len(computed)
            computed.append(scalar)
        indexes.append(width + place)
    names = (
        names if names is not None else [_name(plan, scalar, i) for i, scalar in enumerate(scalars)]
    )
    shown = dict(zip(reversed(indexes), reversed(names), strict=True))
    mapped_names = [shown[width + place] for place in range(len(computed))]
    return project(map_columns(plan, computed, mapped_names), indexes, names)


def _name(plan: Plan, scalar: Scalar, position: int) -> str:
    return (
        plan.desc.columns[scalar.index].name
        if isinstance(scalar, ColumnRef)
        else f"column{position + 1}"
    )


def reduce(
    plan: Plan,
    group_by: Sequence[int],
    aggregates: Sequence[Aggregate],
    names: Sequence[str] | None = None,
) -> Plan:
    """One row a group: the columns ``group_by``, then the ``aggregates``."""
    if not group_by and not aggregates:
        return ONE_ROW
    column_names = names or [aggregate.function for aggregate in aggregates]
    wide, spans = with_spans(plan, group_by)
    if wide is plan:
        return _reduce(plan, group_by, aggregates, column_names)
    # Intervals are grouped by their spans, and of those in a group the smallest is shown.
    intervals = [index for index, key in zip(group_by, spans, strict=True) if index != key]
    displayed = [
        Aggregate("min", (ColumnRef(index, plan.desc.types[index]),), plan.desc.types[index])
        for index in intervals
    ]
    displayed_names = [plan.desc.names[index] for index in intervals]
    grouped = _reduce(wide, spans, [*displayed, *aggregates], [*displayed_names, *column_names])
    width = len(group_by)
    places = [
        width + intervals.index(index) if index in intervals else place
        for place, index in enumerate(group_by)
    ]
    return project(grouped, [*places, *range(width + len(displayed), len(grouped.desc))])


def with_spans(plan: Plan, indexes: Sequence[int]) -> tuple[Plan, list[int]]:
    """``plan`` with columns that engines can group by, and the places of these columns: of an
    interval its span."""
    intervals = [index for index in dict.fromkeys(indexes) if plan.desc.types[index].has_intervals]
    scalars = [
        Call(SPAN, (ColumnRef(index, type),), compared_type(type))
        for index, type in ((index, plan.desc.types[index]) for index in intervals)
    ]
    width = len(plan.desc)
    return map_columns(plan, scalars), [
        width + intervals.index(index) if index in intervals else index for index in indexes
    ]


def _reduce(
    plan: Plan,
    group_by: Sequence[int],
    aggregates: Sequence[Aggregate],
    column_names: Sequence[str],
) -> Reduce:
    keys = tuple(plan.desc.columns[i] for i in group_by)
    results = tuple(
        Column(name, a.type, a.function not in COUNTS)
        for name, a in zip(column_names, aggregates, strict=True)
    )
    key_names = tuple(column.name for column in keys)
    is_key = len(set(key_names) | {column.name for column in results}) == len(keys) + len(results)
    return Reduce(
        plan,
        tuple(group_by),
        tuple(aggregates),
        RelationDesc(keys + results, key_names if is_key else None),
    )


def union(plans: Sequence[Plan]) -> Plan:
    """All rows of ``plans``, whose types agree. The columns are named as in the first plan."""
    if len(plans) == 1:
        return plans[0]
    columns = []
    for i, column in enumerate(plans[0].desc.columns):
        merged_columns = [plan.desc.columns[i] for plan in plans]
        limit = (
            column.limit if all(other.limit == column.limit for other in merged_columns) else None
        )
        columns.append(
            Column(
                column.name, column.type, any(other.is_nullable for other in merged_columns), limit
            )
        )
    inputs = tuple(
        part for plan in plans for part in (plan.inputs if isinstance(plan, Union) else (plan,))
    )
    return Union(inputs, RelationDesc(tuple(columns)))


def distinct(plan: Plan) -> Plan:
    if any(type.has_intervals for type in plan.desc.types):
        return reduce(plan, range(len(plan.desc)), [])
    return plan if isinstance(plan, Distinct) else Distinct(plan)


# --- joins ---


def join(left: Plan, right: Plan, kind: JoinKind, conditions: Iterable[Scalar]) -> Plan:
    """The join on ``conditions``, which address the left columns followed by the right ones.

    An equality between the two sides becomes a join key. Expressions that are keys become columns,
    which are projected away again. A condition on one side alone filters that side, if the kind of
    join allows it and the condition cannot fail. All other conditions are residual.
    """
    width, right_width = len(left.desc), len(right.desc)
    keys: list[tuple[Scalar, Scalar]] = []
    residual: list[Scalar] = []
    to_left: list[Scalar] = []
    to_right: list[Scalar] = []
    for condition in conditions:
        columns = columns_of(condition)
        key = join_key(condition, width)
        if key is not None:
            keys.append(key)
        elif (
            columns
            and max(columns) < width
            and kind in (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI)
            and not could_error(condition)
        ):
            to_left.append(condition)
        elif (
            columns
            and min(columns) >= width
            and kind not in (JoinKind.RIGHT, JoinKind.FULL)
            and not could_error(condition)
        ):
            to_right.append(move_columns(condition, lambda i: i - width))
        else:
            residual.append(condition)
    left, right = filter_rows(left, to_left), filter_rows(right, to_right)
    wide_left, left_keys = _with_keys(left, [key for key, _ in keys])
    wide_right, right_keys = _with_keys(right, [key for _, key in keys])
    added_count = len(wide_left.desc) - width
    shifted = tuple(
        move_columns(condition, lambda i: i if i < width else i + added_count)
        for condition in residual
    )
    joined = Join(
        left=wide_left,
        right=wide_right,
        kind=kind,
        keys=tuple(dict.fromkeys(zip(left_keys, right_keys, strict=True))),
        residual=shifted,
        desc=join_desc(wide_left, wide_right, kind),
    )
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return project(joined, range(width))
    wide_width = len(wide_left.desc)
    return project(joined, [*range(width), *range(wide_width, wide_width + right_width)])


def join_key(condition: Scalar, width: int) -> tuple[Scalar, Scalar] | None:
    """The left and the right expression, if ``condition`` can be a join key; the right one
    addresses the right columns alone.

    A join key is an equality between the two sides that cannot fail, of two expressions of one
    type.
    """
    if not isinstance(condition, Call) or condition.function != "=" or could_error(condition):
        return None
    a, b = condition.arguments
    sides = [columns_of(a), columns_of(b)]
    if not all(sides):
        return None
    if max(sides[1]) < width <= min(sides[0]):
        a, b, sides = b, a, sides[::-1]
    if not (max(sides[0]) < width <= min(sides[1])) or a.type != b.type:
        return None
    return a, move_columns(b, lambda i: i - width)


def _with_keys(plan: Plan, keys: Sequence[Scalar]) -> tuple[Plan, list[int]]:
    computed = list(dict.fromkeys(key for key in keys if not isinstance(key, ColumnRef)))
    width = len(plan.desc)
    indexes = [
        key.index if isinstance(key, ColumnRef) else width + computed.index(key) for key in keys
    ]
    return map_columns(plan, computed), indexes


def join_desc(left: Plan, right: Plan, kind: JoinKind) -> RelationDesc:
    """The columns of a join: those of a side that is filled up may be NULL."""
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left.desc
    left_may_miss = kind in (JoinKind.RIGHT, JoinKind.FULL)
    right_may_miss = kind in (JoinKind.LEFT, JoinKind.FULL)
    columns = [replace(c, is_nullable=c.is_nullable or left_may_miss) for c in left.desc.columns]
    columns += [replace(c, is_nullable=c.is_nullable or right_may_miss) for c in right.desc.columns]
    return RelationDesc(tuple(columns))
