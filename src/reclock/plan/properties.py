"""Properties of every result of a plan, whatever its collections hold: keys, bounds on rows,
conditions that rows fulfil, errors that it could raise."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from reclock.plan.relational import (
    Constant,
    Distinct,
    Filter,
    FlatMap,
    Get,
    Join,
    JoinKind,
    Map,
    Plan,
    Project,
    Reduce,
    TopK,
)
from reclock.plan.scalar_trees import columns_of, move_columns
from reclock.plan.scalars import Scalar
from reclock.plan.totality import could_error


def unique_key(plan: Plan, *, of_now: bool = False) -> tuple[int, ...] | None:
    """Positions of columns in which no two rows agree, or None if no such key is known.

    Keys are part of what a collection is created with, so more cannot be known of a view without
    another collection. ``of_now`` asks for all that is known: keys that rows may not have had at
    earlier times, too. No answer may depend on these.
    """
    match plan:
        case Get(desc=desc) if desc.key is not None:
            return tuple(desc.names.index(name) for name in desc.key)
        case Get(desc=desc, key_of_now=names) if of_now and names and set(names) <= set(desc.names):
            return tuple(desc.names.index(name) for name in names)
        case Reduce(group_by=group_by):
            return tuple(range(len(group_by)))
        case Distinct(input=input):
            return unique_key(input, of_now=of_now) or tuple(range(len(input.desc)))
        case Filter(input=input) | Map(input=input) | TopK(input=input):
            return unique_key(input, of_now=of_now)
        case Project(input=input, indexes=indexes):
            key = unique_key(input, of_now=of_now)
            if key is not None and set(key) <= set(indexes):
                return tuple(indexes.index(i) for i in key)
            if (declared := plan.desc.key) is None:
                return None
            places = tuple(i for i, name in enumerate(plan.desc.names) if name in declared)
            return places if len(places) == len(declared) else None
        case Join(left=left, right=right, kind=kind, keys=keys):
            if kind in (JoinKind.SEMI, JoinKind.ANTI):
                return unique_key(left, of_now=of_now)
            if kind not in (JoinKind.INNER, JoinKind.LEFT):
                return None
            if (key := unique_key(right, of_now=of_now)) is None:
                return None  # before the left side, which is a chain of joins more often
            if (left_key := unique_key(left, of_now=of_now)) is None:
                return None
            if set(key) <= {right_index for _, right_index in keys}:
                return left_key
            right_key = tuple(len(left.desc) + i for i in key)
            is_matched = kind is JoinKind.INNER and set(left_key) <= {i for i, _ in keys}
            return right_key if is_matched and of_now else (*left_key, *right_key)
        case _:
            return None


def most_rows(plan: Plan) -> int | None:
    """An upper bound on the number of rows: 0, 1, or None if it may be more."""
    match plan:
        case Constant(rows=rows):
            return len(rows) if len(rows) < 2 else None
        case Reduce(group_by=()):
            return 1
        case TopK(group_by=(), limit=limit) if limit is not None and limit <= 1:
            return limit
        case (
            Map(input=input)
            | Project(input=input)
            | Filter(input=input)
            | Distinct(input=input)
            | TopK(input=input)
        ):
            return most_rows(input)
        case _:
            return None


def is_exactly_one_row(plan: Plan) -> bool:
    match plan:
        case Constant(rows=rows):
            return len(rows) == 1
        case Reduce(group_by=()):
            return True
        case Map(input=input) | Project(input=input) | Distinct(input=input):
            return is_exactly_one_row(input)
        case _:
            return False


def could_fail(node: Plan) -> bool:
    """Whether an expression of the operator could raise an error for a row of its first input."""
    match node:
        case (
            Map(scalars=scalars)
            | Filter(predicates=scalars)
            | FlatMap(arrays=scalars)
            | Join(residual=scalars)
        ):
            return any(map(could_error, scalars))
        case Reduce(aggregates=aggregates):
            return any(
                could_error(part)
                for aggregate in aggregates
                for part in (*aggregate.arguments, aggregate.filter)
            )
        case _:
            return False


def conditions_of(plan: Plan) -> list[Scalar]:
    """What each row fulfils, since filters below let no other through."""
    match plan:
        case Filter(input=input, predicates=predicates):
            return [*conditions_of(input), *predicates]
        case Map(input=input):
            return conditions_of(input)
        case Project(input=input, indexes=indexes):
            visible = [part for part in conditions_of(input) if columns_of(part) <= set(indexes)]
            return [move_columns(part, indexes.index) for part in visible]
        case Join(left=left, right=right, kind=kind):
            conditions = []
            if kind not in (JoinKind.RIGHT, JoinKind.FULL):
                conditions += conditions_of(left)
            if kind in (JoinKind.INNER, JoinKind.RIGHT):
                width = len(left.desc)
                conditions += [move_columns(part, width.__add__) for part in conditions_of(right)]
            return conditions
        case _:
            return []


def joined_inputs(plan: Plan) -> list[frozenset[int]]:
    """The inputs of the joins that the plan consists of, as numbers, from which each column is
    computed. A plan that joins nothing has one."""
    return _joined_inputs(plan, count())


def _joined_inputs(plan: Plan, numbers: Iterator[int]) -> list[frozenset[int]]:
    match plan:
        case Filter(input=input):
            return _joined_inputs(input, numbers)
        case Project(input=input, indexes=indexes):
            below = _joined_inputs(input, numbers)
            return [below[index] for index in indexes]
        case Map(input=input, scalars=scalars):
            nested = _joined_inputs(input, numbers)
            for scalar in scalars:
                nested.append(frozenset().union(*(nested[index] for index in columns_of(scalar))))
            return nested
        case Join(left=left, right=right, kind=kind):
            of_left, of_right = _joined_inputs(left, numbers), _joined_inputs(right, numbers)
            return of_left if kind in (JoinKind.SEMI, JoinKind.ANTI) else [*of_left, *of_right]
        case _:
            return [frozenset([next(numbers)])] * len(plan.desc)
