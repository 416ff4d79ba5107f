"""Results: what executing a statement answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.context.registry import Registry
from reclock.adapter.context.shown_values import ShownBatches, has_blanks
from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.algebra.text_style import PLAIN_TEXT, TextStyle
from reclock.algebra.timestamps import Timestamp
from reclock.errors import EvaluationError
from reclock.sql.planning.registry import PlannedStatement

_SLICE_ROWS, _SLICE_BYTES = 1 << 13, 1 << 18


def slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in slices that are small enough to be written at once."""
    if batch.num_rows == 1:
        yield batch
        return
    rows = max(1, min(_SLICE_ROWS, _SLICE_BYTES * batch.num_rows // max(1, batch.nbytes)))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def text_desc(name: str) -> RelationDesc:
    """One column of text."""
    return RelationDesc((Column(name, TEXT, is_nullable=False),))


describes: Registry[Callable[[Any], RelationDesc | None]] = Registry("a description of its rows")
"""Registers which columns statements of a type answer; other statements answer no rows."""


def result_desc(statement: PlannedStatement) -> RelationDesc | None:
    """The columns that executing the statement answers; None if it answers no rows."""
    return describes[type(statement)](statement) if type(statement) in describes else None


@dataclass(frozen=True, slots=True)
class Result:
    """A command tag, and for a query rows: ``desc`` has their columns, and ``batches`` the rows, to
    be iterated once."""

    tag: str
    desc: RelationDesc | None = None
    batches: Iterable[pa.RecordBatch] = ()
    is_live: bool = False
    """Whether rows arrive over time: an empty batch means that there are no more rows yet."""
    at: Timestamp | None = None
    """The time that a query read at, if its collections have times."""
    style: TextStyle = PLAIN_TEXT
    """How values are written as text."""

    def with_blanks(self) -> Result:
        """The result as a client sees it, with the blanks at the end of ``char(n)``."""
        if self.desc is None or not any(map(has_blanks, self.desc.types)):
            return self
        return replace(self, batches=ShownBatches(self.batches, self.desc.types))

    def close(self) -> None:
        """Discard the remaining rows."""
        close = getattr(self.batches, "close", None)
        if close is not None:
            close()

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as Python values."""
        for batch in self.batches:
            columns = [python_values(column) for column in batch.columns]
            yield from zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values. Raises ``EvaluationError`` if a date or timestamp is not in the years from 1 to
    9999, which Python has."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError) as error:
        raise _year_out_of_range() from error


def check_years(column: pa.Array | pa.ChunkedArray) -> None:
    """Raises ``EvaluationError`` if a date or timestamp is not in the years from 1 to 9999."""
    while pa.types.is_list(column.type):
        column = pc.list_flatten(column)
    if pa.types.is_struct(column.type):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        for field in (field for chunk in chunks for field in chunk.flatten()):
            check_years(field)
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        bounds = pc.min_max(column)
        python_values(pa.array([bounds["min"], bounds["max"]], column.type))


def _year_out_of_range() -> EvaluationError:
    return EvaluationError(
        "date/time field value out of range", detail="years are 1 to 9999", sqlstate="22008"
    )


def text_result(tag: str, desc: RelationDesc, lines: list[str]) -> Result:
    """Lines as rows of the one column of ``desc``."""
    return Result(tag, desc, [pa.record_batch({desc.names[0]: pa.array(lines, pa.string())})])
