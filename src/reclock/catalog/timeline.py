"""The catalog's timeline, of which every write of the catalog takes a time."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.timestamps import CATALOG, Timestamp
from reclock.oracle.oracle import TimestampOracle


@dataclass(frozen=True, slots=True)
class CatalogTimeline:
    """The timeline ``"catalog"`` of the oracle."""

    oracle: TimestampOracle

    def write_ts(self, upper: Timestamp) -> Timestamp:
        """A new time, ``upper`` or later."""
        return max(self.oracle.write_ts(CATALOG), upper)

    def apply_write(self, upper: Timestamp) -> None:
        """Let reads see everything below ``upper``, wherever they happen."""
        if self.oracle.read_ts(CATALOG) < upper:
            self.oracle.apply_write(CATALOG, upper)
