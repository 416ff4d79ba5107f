"""Protects CASE from Spark's eager calls: Spark calls Python functions for every row, before it
evaluates conditions."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import BOOLEAN, JSONB
from reclock.algebra.textual import textual
from reclock.plan.functions.jsonb import calls_python
from reclock.plan.scalar_trees import children, rewrite, with_children
from reclock.plan.scalars import Call, Case, Cast, Literal, Scalar
from reclock.plan.totality import could_error

_TRUE, _FALSE = Literal(True, BOOLEAN), Literal(False, BOOLEAN)


def shielded(case: Case) -> Case:
    """An equivalent ``case`` whose Python functions get NULL in rows for which their branch is not
    taken, so that they never see an argument that fails."""
    branches: list[tuple[Scalar, Scalar]] = []
    earlier: list[Scalar] = []
    for condition, result in case.branches:
        branches.append(
            (_shield(condition, _guard(earlier, None)), _shield(result, _guard(earlier, condition)))
        )
        earlier.append(condition)
    return Case(tuple(branches), _shield(case.otherwise, _guard(earlier, None)), case.type)


def _guard(earlier: Sequence[Scalar], condition: Scalar | None) -> Scalar:
    """Whether ``condition``, if there is one, is the first true one."""
    excluded = tuple((condition, _FALSE) for condition in earlier)
    if condition is None:
        return Case(excluded, _TRUE, BOOLEAN) if excluded else _TRUE
    return Case((*excluded, (condition, _TRUE)), _FALSE, BOOLEAN)


def _shield(scalar: Scalar, guard: Scalar) -> Scalar:
    def change(part: Scalar) -> Scalar | None:
        if guard == _TRUE or not _is_eager(part) or not any(map(could_error, children(part))):
            return None
        return with_children(part, [_only_if(guard, argument) for argument in children(part)])

    return rewrite(scalar, change)


def _only_if(guard: Scalar, argument: Scalar) -> Scalar:
    if not could_error(argument):
        return argument
    return Case(((guard, argument),), Literal(None, argument.type), argument.type)


def _is_eager(scalar: Scalar) -> bool:
    match scalar:
        case Call(function, arguments):
            return calls_python(function) or any(
                part.type.has_order_key for part in (scalar, *arguments)
            )
        case Cast(operand, type):
            return textual(type) is not None or operand.type == JSONB
        case _:
            return False
