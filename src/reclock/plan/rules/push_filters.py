"""Predicate pushdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from functools import singledispatch

from reclock.plan.build import filter_rows
from reclock.plan.relational import (
    Distinct,
    Filter,
    FlatMap,
    Join,
    JoinKind,
    Map,
    Plan,
    Project,
    Reduce,
    TopK,
    Union,
)
from reclock.plan.scalar_trees import columns_of, is_random, move_columns
from reclock.plan.scalars import Call, ColumnRef, Scalar
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
def _(plan: FlatMap, predicates: Sequence[Scalar], whole: Set[int]) -> Plan:
    """A function in FROM is then not called for rows that no one asks for."""
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
    """To the sides that the join does not fill up with NULLs. What is correlated is computed for
    the rows of a copy of the left side, to which its predicates go as well."""
    width = len(plan.left.desc)
    to_left: list[Scalar] = []
    to_right: list[Scalar] = []
    here = list(predicates)
    if plan.kind not in (JoinKind.RIGHT, JoinKind.FULL):
        to_left, here = _split(here, lambda used: max(used) < width)
    if plan.kind in (JoinKind.INNER, JoinKind.RIGHT):
        to_right, here = _split(here, lambda used: min(used) >= width)
    left = filtered(plan.left, to_left, whole)
    right_predicates = [move_columns(predicate, lambda i: i - width) for predicate in to_right]
    copies = _copied_columns(plan)
    right_predicates += [
        move_columns(predicate, copies.__getitem__)
        for predicate in to_left
        if columns_of(predicate) <= copies.keys() and not is_random(predicate)
    ]
    right = filtered(plan.right, right_predicates, whole)
    return filter_rows(replace(plan, left=left, right=right), here)


def _copied_columns(plan: Join) -> dict[int, int]:
    """The columns of the left side that a row of the right side must have too, to matter, with the
    right side's: those that the join compares such that NULL is a value."""
    if plan.kind in (JoinKind.RIGHT, JoinKind.FULL):
        return {}
    width, copies = len(plan.left.desc), {}
    for condition in plan.residual:
        match condition:
            case Call("is_not_distinct", (ColumnRef(left, type), ColumnRef(right))):
                if (
                    left < width <= right
                    and type.is_keyed
                    and type == plan.right.desc.types[right - width]
                ):
                    copies[left] = right - width
    return copies


def _split(
    predicates: Sequence[Scalar], goes: Callable[[frozenset[int]], bool]
) -> tuple[list[Scalar], list[Scalar]]:
    """Those whose columns ``goes`` accepts (a predicate without columns stays), and the others."""
    below = [
        predicate for predicate in predicates if (used := columns_of(predicate)) and goes(used)
    ]
    return below, [predicate for predicate in predicates if predicate not in below]
