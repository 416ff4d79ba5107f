"""Filters moved to where they cost least. Nothing that can fail is moved, so no row meets it that SQL would not show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from reclock.algebra.relations import BOOLEAN
from reclock.plan.relational import (
    Constant,
    Distinct,
    Except,
    Filter,
    Get,
    Intersect,
    Join,
    JoinKind,
    Map,
    Plan,
    Project,
    Reduce,
    TopK,
    Union,
)
from reclock.plan.scalars import Call, ColumnRef
from reclock.plan.totality import could_error
from reclock.sql.planner.build import filter_rows, join, project
from reclock.sql.planner.rewrite import columns_of, move_columns


def push_filters(plan: Plan) -> Plan:
    """An equal plan, whose filters stand as near to the inputs as is safe; equalities across a join become its keys. Idempotent."""
    match plan:
        case Get() | Constant():
            return plan
        case Filter(input=input, predicates=predicates):
            return _filtered(push_filters(input), predicates)
        case Join(left=left, right=right):
            return replace(plan, left=push_filters(left), right=push_filters(right))
        case Except(left=left, right=right) | Intersect(left=left, right=right):
            return replace(plan, left=push_filters(left), right=push_filters(right))
        case Union(inputs=inputs):
            return replace(plan, inputs=tuple(push_filters(input) for input in inputs))
        case Project(input=input, indexes=indexes):
            return project(push_filters(input), indexes, plan.desc.names)
        case _:
            return replace(plan, input=push_filters(plan.input))


def _filtered(plan: Plan, predicates: Iterable[Any]) -> Plan:
    """``plan``'s rows that meet ``predicates``: those that cannot fail are sunk, the others stay here."""
    safe: list[Any] = []
    unsafe: list[Any] = []
    for predicate in predicates:
        (unsafe if could_error(predicate) else safe).append(predicate)
    return filter_rows(_sunk(plan, safe) if safe else plan, unsafe)


def _sunk(plan: Plan, predicates: Sequence[Any]) -> Plan:
    match plan:
        case Filter(input=input, predicates=own):
            if any(could_error(each) for each in own):
                return Filter(_filtered(input, predicates), own)
            return _filtered(input, [*own, *(each for each in predicates if each not in own)])
        case Project(input=input, indexes=indexes):
            moved = [move_columns(each, lambda i: indexes[i]) for each in predicates]
            return project(_filtered(input, moved), indexes, plan.desc.names)
        case Map(input=input):
            width = len(input.desc)
            below, here = _split(predicates, lambda used: all(i < width for i in used))
            return filter_rows(replace(plan, input=_filtered(input, below)), here)
        case Distinct(input=input):
            return Distinct(_filtered(input, predicates))
        case Union(inputs=inputs):
            return replace(plan, inputs=tuple(_filtered(input, predicates) for input in inputs))
        case Reduce(input=input, group_by=group_by) if group_by:
            below, here = _split(predicates, lambda used: all(i < len(group_by) for i in used))
            moved = [move_columns(each, lambda i: group_by[i]) for each in below]
            return filter_rows(replace(plan, input=_filtered(input, moved)), here)
        case TopK(input=input, group_by=group_by) if group_by:
            below, here = _split(predicates, lambda used: used <= set(group_by))
            return filter_rows(replace(plan, input=_filtered(input, below)), here)
        case Join():
            return _sunk_in_join(plan, predicates)
        case _:
            return filter_rows(plan, predicates)


def _split(predicates: Sequence[Any], goes: Any) -> tuple[list[Any], list[Any]]:
    """Those whose columns ``goes`` accepts (a predicate without columns stays), and the others."""
    below = [each for each in predicates if columns_of(each) and goes(columns_of(each))]
    return below, [each for each in predicates if each not in below]


def _sunk_in_join(plan: Join, predicates: Sequence[Any]) -> Plan:
    width = len(plan.left.desc)
    to_left, rest = _split(predicates, lambda used: max(used) < width)
    if plan.kind in (JoinKind.RIGHT, JoinKind.FULL):
        to_left, rest = [], list(predicates)
    to_right: list[Any] = []
    if plan.kind in (JoinKind.INNER, JoinKind.RIGHT):
        to_right, rest = _split(rest, lambda used: min(used) >= width)
    left = _filtered(plan.left, to_left) if to_left else plan.left
    right = _filtered(plan.right, [move_columns(each, lambda i: i - width) for each in to_right]) if to_right else plan.right
    if plan.kind is not JoinKind.INNER or not rest:
        return filter_rows(replace(plan, left=left, right=right), rest)
    types = (*plan.left.desc.types, *plan.right.desc.types)
    keys = [Call("=", (ColumnRef(a, types[a]), ColumnRef(width + b, types[width + b])), BOOLEAN) for a, b in plan.keys]
    return join(left, right, JoinKind.INNER, [*keys, *plan.residual, *rest])
