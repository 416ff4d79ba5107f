"""What executing a statement answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from reclock.algebra.relations import TEXT, Column, RelationDesc
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.statements.query.values import Explain, Select
from reclock.sql.statements.session.plan import ShowVariable
from reclock.sql.statements.subscribe.plan import SubscribeQuery
from reclock.sql.statements.tables.modify_plan import Modify

SHOW_ALL = RelationDesc((Column("name", TEXT), Column("setting", TEXT), Column("description", TEXT)))


_SLICE_ROWS, _SLICE_BYTES = 1 << 13, 1 << 18


def slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in parts of a size to be written at once."""
    rows = max(1, min(_SLICE_ROWS, _SLICE_BYTES * batch.num_rows // max(1, batch.nbytes)))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def text_desc(name: str) -> RelationDesc:
    """Lines of text."""
    return RelationDesc((Column(name, TEXT, is_nullable=False),))


def result_desc(statement: PlannedStatement) -> RelationDesc | None:
    """The columns of what executing the statement answers; None if it answers no rows."""
    match statement:
        case Select() | SubscribeQuery():
            return statement.desc
        case Modify():
            return statement.returning
        case Explain():
            return text_desc("Timestamp" if statement.is_timestamp else "Plan")
        case ShowVariable():
            return SHOW_ALL if statement.name is None else text_desc(statement.name.lower())
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Result:
    """A command tag, or rows: ``desc`` says their columns and ``batches`` holds them, to be gone through once."""

    tag: str
    desc: RelationDesc | None = None
    batches: Iterable[pa.RecordBatch] = ()
    is_live: bool = False
    """Whether rows come as they become known: a batch without any says that nothing more is known yet."""

    def close(self) -> None:
        """The rows that are left are not wanted."""
        close = getattr(self.batches, "close", None)
        if close is not None:
            close()

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as Python values."""
        for batch in self.batches:
            columns = [column.to_pylist() for column in batch.columns]
            yield from zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)
