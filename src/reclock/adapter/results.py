"""What executing a statement answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import RelationDesc


@dataclass(frozen=True, slots=True)
class Result:
    """A command tag, or rows: ``desc`` says their columns and ``batches`` holds them, to be gone through once."""

    tag: str
    desc: RelationDesc | None = None
    batches: Iterable[pa.RecordBatch] = ()

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as Python values."""
        for batch in self.batches:
            columns = [column.to_pylist() for column in batch.columns]
            yield from zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)
