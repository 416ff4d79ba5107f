"""Predicate pushdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from functools import singledispatch

from reclock.plan.build import filter_rows
from reclock.plan.relational import (
    Distinct,
    Filter,
    Join,
    JoinKind,
    Map,
    Plan,
    Project,
    Reduce,
    TopK,
    Union,
)
from reclock.plan.scalar_trees import columns_of, move_columns
from reclock.plan.scalars import Scalar
from reclock.plan.totality import could_error
from reclock.plan.traversal import rewritten_around


def push_filters(plan: Plan) -> Plan:
    """Move each predicate as near to the collections as is safe.

    A predicate that could raise an error stays where it is, and no predicate moves above one that
    could: a row that SQL would not show to an expression never meets it.
    """
    return rewritten_around(plan, _pushed)


def _pushed(node: Plan, whole: Set[int]) -> Plan:
    return filtered(node.input, node.predicates, whole) if isinstance(node, Filter) else node


def filtered(plan: Plan, predicates: Iterable[Scalar], whole: Set[int]) -> Plan:
    """``plan``'s rows that satisfy ``predicates``, those that cannot fail pushed down, but not into
    a node that stays ``whole``."""
    safe: list[Scalar] = []
    unsafe: list[Scalar] = []
    for predicate in predicates:
        (unsafe if could_error(predicate) else safe).append(predicate)
    if safe and id(plan) not in whole:
        return filter_rows(push_into(plan, safe, whole), unsafe)
    return filter_rows(plan, [*safe, *unsafe])


@singledispatch
def push_into(plan: Plan, predicates: Sequence[Scalar], whole: Set[int]) -> Plan:
    """``plan``'s rows that satisfy ``predicates``, none of which can fail. By default they stay
    above the node."""
    return filter_rows(plan, predicates)


@push_into.register
def _(plan: Filter, predicates: Sequence[Scalar], whole: Set[int]) -> Plan:
    if any(could_error(predicate) for predicate in plan.predicates):
        return Filter(filtered(plan.input, predicates, whole), plan.predicates)
    added = [predicate for predicate in predicates if predicate not in plan.predicates]
    return filtered(plan.input, [*plan.predicates, *added], whole)


@push_into.register
def _(plan: Project, predicates: Sequence[Scalar], whole: Set[int]) -> Plan:
    moved = [move_columns(predicate, lambda i: plan.indexes[i]) for predicate in predicates]
    return replace(plan, input=filtered(plan.input, moved, whole))


@push_into.register
def _(plan: Map, predicates: Sequence[Scalar], whole: Set[int]) -> Plan:
    width = len(plan.input.desc)
    below, here = _split(predicates, lambda used: max(used) < width)
    return filter_rows(replace(plan, input=filtered(plan.input, below, whole)), here)


@push_into.register
def _(plan: Distinct, predicates: Sequence[Scalar], whole: Set[int]) -> Plan:
    return Distinct(filtered(plan.input, predicates, whole))


@push_into.register
def _(plan: Union, predicates: Sequence[Scalar], whole: Set[int]) -> Plan:
    return replace(plan, inputs=tuple(filtered(part, predicates, whole) for part in plan.inputs))


@push_into.register
def _(plan: Reduce, predicates: Sequence[Scalar], whole: Set[int]) -> Plan:
    """Whole groups go or stay, so predicates on the keys do; without keys there is a row even for
    no input."""
    below, here = _split(predicates, lambda used: max(used) < len(plan.group_by))
    moved = [move_columns(predicate, lambda i: plan.group_by[i]) for predicate in below]
    return filter_rows(replace(plan, input=filtered(plan.input, moved, whole)), here)


@push_into.register
def _(plan: TopK, predicates: Sequence[Scalar], whole: Set[int]) -> Plan:
    below, here = _split(predicates, lambda used: used <= set(plan.group_by))
    return filter_rows(replace(plan, input=filtered(plan.input, below, whole)), here)


@push_into.register
def _(plan: Join, predicates: Sequence[Scalar], whole: Set[int]) -> Plan:
    """To the sides that the join does not fill up with NULLs."""
    width = len(plan.left.desc)
    to_left: list[Scalar] = []
    to_right: list[Scalar] = []
    here = list(predicates)
    if plan.kind not in (JoinKind.RIGHT, JoinKind.FULL):
        to_left, here = _split(here, lambda used: max(used) < width)
    if plan.kind in (JoinKind.INNER, JoinKind.RIGHT):
        to_right, here = _split(here, lambda used: min(used) >= width)
    left = filtered(plan.left, to_left, whole)
    right = filtered(
        plan.right, [move_columns(predicate, lambda i: i - width) for predicate in to_right], whole
    )
    return filter_rows(replace(plan, left=left, right=right), here)


def _split(
    predicates: Sequence[Scalar], goes: Callable[[frozenset[int]], bool]
) -> tuple[list[Scalar], list[Scalar]]:
    """Those whose columns ``goes`` accepts (a predicate without columns stays), and the others."""
    below = [
        predicate for predicate in predicates if (used := columns_of(predicate)) and goes(used)
    ]
    return below, [predicate for predicate in predicates if predicate not in below]
