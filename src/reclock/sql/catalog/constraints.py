"""The constraints that a table declares, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from reclock.algebra.index_keys import KeyOrder


class ConstraintKind(StrEnum):
    PRIMARY_KEY = "PRIMARY KEY"
    UNIQUE = "UNIQUE"
    UNIQUE_INDEX = "UNIQUE INDEX"
    """Of expressions, or of some rows. It is no key: a plan must not rest on it."""
    FOREIGN_KEY = "FOREIGN KEY"
    CHECK = "CHECK"


@dataclass(frozen=True, slots=True)
class Constraint:
    """``columns`` are the constrained columns, or those in the ``condition`` of a CHECK (as
    syntax), in its order. A unique index has the syntax of its ``keys``, and of the ``predicate``
    that its rows meet.

    A foreign key refers to ``target_columns`` of the table with the full name ``target``. Keywords
    are in upper case.
    """

    name: str
    kind: ConstraintKind
    columns: tuple[str, ...]
    are_nulls_equal: bool = False
    is_index: bool = False
    """Whether it is a UNIQUE that CREATE UNIQUE INDEX made, which clients see as an index alone."""
    target: tuple[str, ...] = ()
    target_columns: tuple[str, ...] = ()
    match: str = "SIMPLE"
    on_update: str = "NO ACTION"
    on_delete: str = "NO ACTION"
    is_deferrable: bool = False
    is_deferred: bool = False
    condition: Any = None
    keys: tuple[Any, ...] = ()
    predicate: Any = None
    is_enforced: bool = False
    is_valid: bool = True
    """Whether the rows that were there before the constraint were checked."""
    comment: str | None = field(default=None, compare=False)
    orders: tuple[KeyOrder, ...] = ()
    """Those of the keys of an index."""
    included: tuple[str, ...] = ()
    """The columns of INCLUDE."""

    @property
    def is_key(self) -> bool:
        """Whether at most one row has each value of the ``columns``."""
        return self.kind in (ConstraintKind.PRIMARY_KEY, ConstraintKind.UNIQUE)

    @property
    def is_unique(self) -> bool:
        return self.is_key or self.kind is ConstraintKind.UNIQUE_INDEX
