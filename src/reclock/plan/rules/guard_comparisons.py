"""Comparisons with a value of a scalar subquery that could fail, made for each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reclock.algebra.relations import BOOLEAN
from reclock.plan.build import join_desc
from reclock.plan.properties import is_exactly_one_row
from reclock.plan.relational import Join, JoinKind, Map, Plan, Project
from reclock.plan.rules.compute_after_joins import without_projects
from reclock.plan.rules.reduce_outer_joins import is_null_where
from reclock.plan.scalar_trees import columns_of, is_random, move_columns, rewrite, walk
from reclock.plan.scalars import Call, Case, ColumnRef, Literal, Scalar
from reclock.plan.totality import could_error
from reclock.plan.traversal import rewritten


def guard_comparisons(plan: Plan) -> Plan:
    """Compute what an inner join compares with in the comparison itself, if it is the value of a
    scalar subquery and could raise an error. So ``x > (SELECT 1 / count(*) FROM t)`` divides by
    zero only if there is a row with an ``x``, whichever input an engine reads first."""
    return rewritten(plan, _guarded)


def _guarded(join: Plan) -> Plan:
    if not (isinstance(join, Join) and join.kind is JoinKind.INNER):
        return join
    subquery, origins = without_projects(join.right)
    if not (join.residual and isinstance(subquery, Map) and is_exactly_one_row(subquery)):
        return join
    width = len(join.left.desc)

    def place(column: int) -> int:
        """Where a column of the join is if its right input is the whole subquery."""
        return column if column < width else width + origins[column - width]

    computed = {
        i: move_columns(scalar, width.__add__)
        for i, scalar in enumerate(subquery.scalars, width + len(subquery.input.desc))
        if could_error(scalar) and not is_random(scalar)
    }
    compared = tuple(move_columns(part, place) for part in join.residual)
    residual = tuple(_for_each_row(part, computed, width) for part in compared)
    if residual == compared:
        return join
    guarded = replace(
        join,
        right=subquery,
        keys=tuple((left, origins[right]) for left, right in join.keys),
        residual=residual,
        desc=join_desc(join.left, subquery, join.kind),
    )
    return Project(guarded, tuple(map(place, range(len(join.desc)))), join.desc)


def _for_each_row(comparison: Scalar, computed: Mapping[int, Scalar], width: int) -> Scalar:
    """``comparison`` with the expressions of ``computed`` in place of these columns, behind a
    condition on a column of the left input, the first ``width``, without which it is NULL. As it
    is if it reads no column of ``computed``, or has no such condition."""
    columns = columns_of(comparison)
    guards = [
        column
        for column in sorted(columns)
        if column < width and is_null_where(comparison, column.__eq__)
    ]
    if not guards or not columns & computed.keys():
        return comparison
    types = {part.index: part.type for part in walk(comparison) if isinstance(part, ColumnRef)}
    is_null = Call("is_null", (ColumnRef(guards[0], types[guards[0]]),), BOOLEAN)
    whole = rewrite(
        comparison,
        lambda part: computed.get(part.index) if isinstance(part, ColumnRef) else None,
    )
    return Case(((is_null, Literal(None, BOOLEAN)),), whole, BOOLEAN)
