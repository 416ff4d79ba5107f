"""Scalars as trees: their children, a walk through them, and rewriting them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from reclock import interruption
from reclock.algebra.relations import Column
from reclock.plan.functions.intervals import SPAN
from reclock.plan.functions.uuids import RANDOM_FUNCTIONS
from reclock.plan.scalars import Call, Case, Cast, ColumnRef, Literal, Parameter, Scalar

T = TypeVar("T")

Node = ColumnRef | Literal | Parameter | Call[T] | Cast[T] | Case[T]
"""A scalar whose direct parts are of type ``T``."""


def children(scalar: Node[T]) -> tuple[T, ...]:
    """The direct parts of ``scalar``, in order."""
    match scalar:
        case Call():
            return scalar.arguments
        case Cast():
            return (scalar.operand,)
        case Case():
            return (*(part for branch in scalar.branches for part in branch), scalar.otherwise)
        case ColumnRef() | Literal() | Parameter():
            return ()


def with_children(scalar: Node[T], parts: Sequence[T]) -> Node[T]:
    """The same node over ``parts``, in the order of ``children``."""
    match scalar:
        case Call():
            return replace(scalar, arguments=tuple(parts))
        case Cast():
            return replace(scalar, operand=parts[0])
        case Case():
            branches = tuple(zip(parts[:-1:2], parts[1:-1:2], strict=True))
            return replace(scalar, branches=branches, otherwise=parts[-1])
        case ColumnRef() | Literal() | Parameter():
            return scalar


@dataclass
class Trees(Generic[T]):
    """Walks through trees of ``T``, which are scalars of a plan, or those of the SQL planner."""

    children: Callable[[T], tuple[T, ...]]
    with_children: Callable[[T, Sequence[T]], T]

    def rewrite(self, scalar: T, change: Callable[[T], T | None]) -> T:
        """Rewrite from the top. ``change`` returns a replacement, or None to rewrite the
        children."""
        interruption.check()
        changed = change(scalar)
        if changed is not None:
            return changed
        parts = self.children(scalar)
        if not parts:
            return scalar
        return self.with_children(scalar, [self.rewrite(part, change) for part in parts])

    def walk(self, scalar: T) -> Iterator[T]:
        """The scalar and all of its descendants, parents first."""
        waiting = [scalar]
        while waiting:
            interruption.check()
            part = waiting.pop()
            yield part
            waiting += reversed(self.children(part))

    def columns_of(self, scalar: T) -> frozenset[int]:
        return frozenset(part.index for part in self.walk(scalar) if isinstance(part, ColumnRef))

    def has(self, scalar: T, *kinds: type) -> bool:
        return any(isinstance(part, kinds) for part in self.walk(scalar))


_trees = Trees[Scalar](children, with_children)
rewrite, walk, columns_of, has = _trees.rewrite, _trees.walk, _trees.columns_of, _trees.has


def move_columns(scalar: Scalar, to: Callable[[int], int]) -> Scalar:
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


def is_random(scalar: Scalar) -> bool:
    """Whether it has another value each time that it is computed, even for the same row."""
    return any(
        isinstance(part, Call) and part.function in RANDOM_FUNCTIONS for part in walk(scalar)
    )


def is_nullable(scalar: object, columns: Sequence[Column]) -> bool:
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
