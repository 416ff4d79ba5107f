"""Scalars as trees: their children, a walk through them, and rewriting them.

The SQL planner also registers its own scalars, which exist only during planning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

from reclock.algebra.relations import Column
from reclock.plan.functions.intervals import SPAN
from reclock.plan.scalars import Call, Case, Cast, ColumnRef, Literal


@singledispatch
def children(scalar: Any) -> tuple[Any, ...]:
    """The direct parts of ``scalar``, in order."""
    return ()


@singledispatch
def with_children(scalar: Any, parts: Sequence[Any]) -> Any:
    """The same node over ``parts``, in the order of ``children``."""
    return scalar


@children.register
def _(scalar: Call) -> tuple[Any, ...]:
    return scalar.arguments


@with_children.register
def _(scalar: Call, parts: Sequence[Any]) -> Any:
    return replace(scalar, arguments=tuple(parts))


@children.register
def _(scalar: Cast) -> tuple[Any, ...]:
    return (scalar.operand,)


@with_children.register
def _(scalar: Cast, parts: Sequence[Any]) -> Any:
    return replace(scalar, operand=parts[0])


@children.register
def _(scalar: Case) -> tuple[Any, ...]:
    return (*(part for branch in scalar.branches for part in branch), scalar.otherwise)


@with_children.register
def _(scalar: Case, parts: Sequence[Any]) -> Any:
    pairs = tuple(zip(parts[:-1:2], parts[1:-1:2], strict=True))
    return replace(scalar, branches=pairs, otherwise=parts[-1])


def rewrite(scalar: Any, change: Callable[[Any], Any | None]) -> Any:
    """Rewrite from the top. ``change`` returns a replacement, or None to rewrite the children."""
    changed = change(scalar)
    if changed is not None:
        return changed
    parts = children(scalar)
    return with_children(scalar, [rewrite(part, change) for part in parts]) if parts else scalar


def walk(scalar: Any) -> Iterator[Any]:
    """The scalar and all of its descendants, parents first."""
    yield scalar
    for part in children(scalar):
        yield from walk(part)


def columns_of(scalar: Any) -> frozenset[int]:
    return frozenset(part.index for part in walk(scalar) if isinstance(part, ColumnRef))


def has(scalar: Any, *kinds: type) -> bool:
    return any(isinstance(part, kinds) for part in walk(scalar))


def move_columns(scalar: Any, to: Callable[[int], int]) -> Any:
    """The scalar with every reference to column ``i`` made one to column ``to(i)``."""
    return rewrite(
        scalar,
        lambda part: ColumnRef(to(part.index), part.type) if isinstance(part, ColumnRef) else None,
    )


_STRICT = frozenset(
    [
        "+",
        "-",
        "*",
        "%",
        "&",
        "|",
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "and",
        "or",
        "not",
        "concat",
        "||",
        "like",
        "ilike",
        "negate",
    ]
) | {SPAN}


def is_nullable(scalar: Any, columns: Sequence[Column]) -> bool:
    """Whether the scalar may be NULL over rows of ``columns``; True if unknown."""
    match scalar:
        case ColumnRef(index):
            return columns[index].is_nullable
        case Literal(value):
            return value is None
        case Cast(operand):
            return is_nullable(operand, columns)
        case Call("is_null" | "is_not_distinct"):
            return False
        case Call(function, arguments) if function in _STRICT:
            return any(is_nullable(part, columns) for part in arguments)
        case Case(branches, otherwise):
            return any(is_nullable(result, columns) for _, result in branches) or is_nullable(
                otherwise, columns
            )
        case _:
            return True
