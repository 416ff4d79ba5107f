"""Scalar expressions of a plan: each has a type, and computes a value from one input row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from typing_extensions import TypeVar

from reclock.algebra.relations import ScalarType

Part = TypeVar("Part", covariant=True, default="Scalar")
"""What a scalar may be made of. In a plan these are scalars; while SQL is planned, its expressions
are made of others too (``sql/queries/planned.py``)."""


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """The value of input column ``index`` (0-based)."""

    index: int
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant.

    ``value`` is None (SQL NULL), bool, int, float, Decimal, str, bytes, date, datetime or
    ``Interval``.
    """

    value: Any
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Parameter:
    """``$number`` in a statement that is only described; execution puts a ``Literal`` here."""

    number: int
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Call(Generic[Part]):
    """A call of a scalar function of ``reclock.plan.functions``, by its registered name."""

    function: str
    arguments: tuple[Part, ...]
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Cast(Generic[Part]):
    """``operand`` cast as in PostgreSQL: a value that does not fit is an error, never NULL."""

    operand: Part
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Case(Generic[Part]):
    """The result of the first branch whose condition is true, else ``otherwise``."""

    branches: tuple[tuple[Part, Part], ...]
    otherwise: Part
    type: ScalarType


Scalar = ColumnRef | Literal | Parameter | Call | Cast | Case


@dataclass(frozen=True, slots=True)
class Aggregate(Generic[Part]):
    """An aggregate function of ``reclock.plan.functions`` over the rows of a group.

    ``count`` without arguments is ``count(*)``.
    """

    function: str
    arguments: tuple[Part, ...]
    type: ScalarType
    is_distinct: bool = False
    filter: Part | None = None
