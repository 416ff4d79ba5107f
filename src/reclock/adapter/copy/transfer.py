"""COPY: the answers of a session for data that goes to, or comes from, the client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from reclock.adapter.context.results import Result, slices
from reclock.adapter.context.texts import joined
from reclock.adapter.copy import binary_format, text_format
from reclock.adapter.copy.binary_format import BinaryReader
from reclock.adapter.copy.reader import CopyReader
from reclock.algebra.relations import ScalarType
from reclock.algebra.text_style import TextStyle
from reclock.errors import CopyAbandoned
from reclock.sql.statements.copy.formats import BinaryFormat, CopyFormat, LineFormat
from reclock.sql.statements.copy.plan import CopyFrom


class CopyOut:
    """``COPY … TO STDOUT``. ``lines`` is the data in the requested format, as arrays of lines or
    binary rows, to be iterated once. An empty array says that nothing more is known yet."""

    def __init__(self, result: Result, format: CopyFormat, style: TextStyle) -> None:
        result = result.with_blanks()
        assert result.desc is not None
        self.width = len(result.desc)
        """The number of columns of a line."""
        self.is_binary = isinstance(format, BinaryFormat)
        self.rows = 0
        """The number of rows so far."""
        self.lines: Iterator[pa.LargeBinaryArray] = self._encoded(result, format, style)

    @property
    def tag(self) -> str:
        """``COPY n``, after the last line."""
        return f"COPY {self.rows}"

    def close(self) -> None:
        """Discard the remaining data."""
        close = getattr(self.lines, "close", None)
        if close is not None:
            close()

    def _encoded(
        self, result: Result, format: CopyFormat, style: TextStyle
    ) -> Iterator[pa.LargeBinaryArray]:
        assert result.desc is not None
        try:
            match format:
                case BinaryFormat():
                    yield from self._binary_rows(result, result.desc.types)
                case LineFormat():
                    if format.has_header:
                        yield text_format.header(result.desc.names, format)
                    yield from self._encoded_parts(
                        result,
                        partial(
                            text_format.encode,
                            types=result.desc.types,
                            format=format,
                            style=style,
                        ),
                    )
        finally:
            result.close()

    def _encoded_parts(
        self, result: Result, encode: Callable[[pa.RecordBatch], pa.Array]
    ) -> Iterator[pa.Array]:
        for batch in result.batches:
            if result.is_live and not batch.num_rows:
                yield pa.array([], pa.large_binary())
            for part in slices(batch):
                self.rows += part.num_rows
                yield encode(part)

    def _binary_rows(
        self, result: Result, types: Sequence[ScalarType]
    ) -> Iterator[pa.LargeBinaryArray]:
        """The rows in the binary format. As in PostgreSQL, the first message is the header with the
        first row, which clients rely on."""
        header = binary_format.HEADER
        for rows in self._encoded_parts(result, partial(binary_format.encode, types=types)):
            if header and len(rows):
                first, rest = joined([header, rows[:1]], 1), rows[1:]
                rows, header = pa.concat_arrays([first, rest]), b""
            yield rows
        yield pa.array([header + binary_format.TRAILER], pa.large_binary())


class CopyIn:
    """``COPY … FROM STDIN``: ``write`` data in pieces of any size, then ``finish``, or ``fail`` if the
    client gives up.

    Each of the three raises the errors of the data and of the table. After an error nothing is
    written.
    """

    def __init__(
        self, statement: CopyFrom, insert: Callable[[pa.Table], None], failed: Callable[[], None]
    ) -> None:
        """``insert`` writes the rows that were received; ``failed`` is called if there is an error
        before that."""
        self.width = len(statement.columns)
        self._insert = insert
        self._failed = failed
        self.is_binary = isinstance(statement.format, BinaryFormat)
        self._reader = _reader(statement)
        self._parts: list[pa.Table] = []

    def write(self, data: bytes) -> None:
        self._guarded(lambda: self._parts.extend(self._reader.feed(data)))

    def finish(self) -> Result:
        """Write all rows; in a transaction block they become durable at its COMMIT. The tag is
        ``COPY n``."""

        def work() -> None:
            self._parts.extend(self._reader.finish())
            self._insert(pa.concat_tables(self._parts))

        self._guarded(work)
        return Result(f"COPY {sum(part.num_rows for part in self._parts)}")

    def fail(self, reason: str) -> None:
        """Discard the data. Raises ``CopyAbandoned``."""
        self._failed()
        raise CopyAbandoned(reason)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException:
            self._parts = []
            self._failed()
            raise


def _reader(statement: CopyFrom) -> CopyReader | BinaryReader:
    match statement.format:
        case BinaryFormat():
            return BinaryReader(statement.name.item, statement.columns)
        case LineFormat() as format:
            return CopyReader(statement.name.item, statement.columns, format, statement.zone)
