"""COPY: what a session answers instead of a result when data goes out to, or comes in from, the client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from reclock.adapter import copy_format
from reclock.adapter.results import Result, slices
from reclock.errors import BadCopyData, CopyAbandoned, ReclockError
from reclock.sql.copy_format import CopyFormat
from reclock.sql.planner.literals import parse_text
from reclock.sql.statements import CopyFrom

_ROWS = 10_000
"""How many rows go into one write of the transaction."""


class CopyOut:
    """``COPY … TO STDOUT``. ``lines`` holds the data in the format asked for, arrays of lines, to be gone through once; one that is
    empty says that nothing more is known yet."""

    def __init__(self, result: Result, format: CopyFormat) -> None:
        assert result.desc is not None
        self.width = len(result.desc)
        """How many columns a line has."""
        self.rows = 0
        """How many were handed out so far."""
        self.lines: Iterator[pa.LargeBinaryArray] = self._encoded(result, format)

    @property
    def tag(self) -> str:
        """``COPY n``, once all lines were taken."""
        return f"COPY {self.rows}"

    def close(self) -> None:
        """What is left is not wanted."""
        close = getattr(self.lines, "close", None)
        if close is not None:
            close()

    def _encoded(self, result: Result, format: CopyFormat) -> Iterator[pa.LargeBinaryArray]:
        assert result.desc is not None
        try:
            if format.has_header:
                yield copy_format.header(result.desc.names, format)
            for batch in result.batches:
                if result.is_live and not batch.num_rows:
                    yield pa.array([], pa.large_binary())
                for part in slices(batch):
                    self.rows += part.num_rows
                    yield copy_format.encode(part, result.desc.types, format)
        finally:
            result.close()


class CopyIn:
    """``COPY … FROM STDIN``: data in any pieces, then ``finish``, or ``fail`` if the client gives up.

    Each of the three raises what is wrong with the data or the table; nothing is written then.
    """

    def __init__(
        self,
        statement: CopyFrom,
        insert: Callable[[list[list[tuple[Any, ...]]]], None],
        failed: Callable[[], None],
    ) -> None:
        """``insert`` makes the rows, in batches, one write; ``failed`` is told if it does not come to that."""
        self.width = len(statement.columns)
        self._statement = statement
        self._insert = insert
        self._failed = failed
        self._records = copy_format.Records(statement.format)
        self._batches: list[list[tuple[Any, ...]]] = [[]]

    def write(self, data: bytes) -> None:
        self._guarded(lambda: self._take(self._records.feed(data)))

    def finish(self) -> Result:
        """All rows are written (in a transaction block: will be, at its COMMIT). The tag is ``COPY n``."""

        def work() -> None:
            self._take(self._records.finish())
            self._insert(self._batches)

        self._guarded(work)
        return Result(f"COPY {sum(len(batch) for batch in self._batches)}")

    def fail(self, reason: str) -> None:
        """Nothing is written. Raises ``CopyAbandoned``."""
        self._failed()
        raise CopyAbandoned(reason)

    def _take(self, records: Iterator[copy_format.Fields]) -> None:
        for fields in records:
            if len(self._batches[-1]) >= _ROWS:
                self._batches.append([])
            self._batches[-1].append(self._row(fields))

    def _row(self, fields: copy_format.Fields) -> tuple[Any, ...]:
        table, columns, line = self._statement.name.item, self._statement.columns, self._records.line
        if len(fields) > len(columns):
            raise BadCopyData("extra data after last expected column", line=line)
        if len(fields) < len(columns):
            raise BadCopyData(f'missing data for column "{columns[len(fields)].name}"', line=line)
        values = []
        for field, column in zip(fields, columns, strict=True):
            try:
                values.append(None if field is None else parse_text(field, column.type))
            except ReclockError as error:
                error.detail = f'COPY {table}, line {line}, column {column.name}: "{field}"'
                raise
        return tuple(values)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException:
            self._batches = [[]]
            self._failed()
            raise
