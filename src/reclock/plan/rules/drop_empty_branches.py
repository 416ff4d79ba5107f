"""Branches of a union that have no rows, whatever the collections hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reclock.algebra.relations import TypeName
from reclock.plan.relational import (
    Distinct,
    Filter,
    Map,
    Plan,
    Project,
    Reduce,
    TopK,
    Union,
)
from reclock.plan.scalar_trees import rewrite
from reclock.plan.scalars import Call, ColumnRef, Literal, Scalar
from reclock.plan.traversal import rewritten

_INEXACT = (TypeName.REAL, TypeName.DOUBLE, TypeName.INTERVAL)
"""Types of which equal values may have unequal representations."""


def drop_empty_branches(plan: Plan) -> Plan:
    """Leave out the inputs of a union that a condition on a constant column excludes.

    A union whose branches mark their rows by a constant, and that is read under a condition on the
    mark, computes only the branches that are asked for.
    """
    return rewritten(plan, _without_empty)


def _without_empty(plan: Plan) -> Plan:
    if not isinstance(plan, Union):
        return plan
    filled = [part for part in plan.inputs if not _never_has_rows(part)] or plan.inputs[:1]
    return plan if len(filled) == len(plan.inputs) else replace(plan, inputs=tuple(filled))


def _never_has_rows(plan: Plan) -> bool:
    match plan:
        case Filter(input=input, predicates=predicates):
            constants = _constants(input)
            return any(
                _is_never_true(predicate, constants) for predicate in predicates
            ) or _never_has_rows(input)
        case Map(input=input) | Project(input=input) | Distinct(input=input) | TopK(input=input):
            return _never_has_rows(input)
        case Reduce(input=input, group_by=group_by):
            return bool(group_by) and _never_has_rows(input)
        case _:
            return False


def _constants(plan: Plan) -> dict[int, Literal]:
    """The columns of ``plan`` that have the same value in each row."""
    match plan:
        case Map(input=input, scalars=scalars):
            computed = enumerate(scalars, start=len(input.desc))
            return _constants(input) | {i: s for i, s in computed if isinstance(s, Literal)}
        case Project(input=input, indexes=indexes):
            below = _constants(input)
            return {i: below[index] for i, index in enumerate(indexes) if index in below}
        case Filter(input=input) | Distinct(input=input) | TopK(input=input):
            return _constants(input)
        case _:
            return {}


def _is_never_true(condition: Scalar, constants: Mapping[int, Literal]) -> bool:
    match rewrite(
        condition, lambda part: constants.get(part.index) if isinstance(part, ColumnRef) else None
    ):
        case Literal(value):
            return value is not True
        case Call("and", parts):
            return any(_is_never_true(part, constants) for part in parts)
        case Call("or", parts):
            return all(_is_never_true(part, constants) for part in parts)
        case Call("=", (Literal(one, type), Literal(other, same))):
            return type == same and type.name not in _INEXACT and one != other
        case _:
            return False
