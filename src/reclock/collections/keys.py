"""The rows of a table that a plan may have read: the rows with certain values in one column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Keys:
    """The rows that have one of ``values``, none of them NULL, in ``column``."""

    column: str
    values: frozenset[Any]

    def overlap(self, other: Keys) -> bool:
        """Whether a row can be in both."""
        return self.column != other.column or not self.values.isdisjoint(other.values)

    def union(self, other: Keys) -> Keys | None:
        """The rows in either; None, for all rows, if the columns differ."""
        return (
            Keys(self.column, self.values | other.values) if self.column == other.column else None
        )

    def contain_any(self, rows: Iterable[pa.Table]) -> bool:
        """Whether any of the rows has one of the values."""
        key_values = pa.array(self.values)
        return any(
            pc.any(pc.is_in(part[self.column].cast(key_values.type), key_values)).as_py()
            for part in rows
        )
