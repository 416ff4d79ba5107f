"""Results as row messages, in pieces that are computed as the client takes them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from reclock.adapter.context.results import Result, slices
from reclock.algebra.relations import Column, RelationDesc
from reclock.algebra.text_style import TextStyle
from reclock.errors import ProtocolViolation
from reclock.server import messages
from reclock.server.values import MessageBuffer, encoder, field

_PIECE_BYTES = 1 << 18
_COUNTED = frozenset({"SELECT", "FETCH"})
_MOST_FORMATS = 64


@dataclass(frozen=True, slots=True)
class RowFormat:
    """How the rows of a result are sent: the message that describes them, and the encoding of
    batches as messages."""

    desc: RelationDesc
    """Held, so that no other description has its identity."""
    description: bytes
    encode: Callable[[pa.RecordBatch], MessageBuffer]


class RowFormats:
    """The formats that one connection uses: repeated statements have the same. Not thread-safe."""

    def __init__(self) -> None:
        self._formats: dict[tuple[int, tuple[int, ...], TextStyle], RowFormat] = {}

    def of(self, desc: RelationDesc, codes: tuple[int, ...], style: TextStyle) -> RowFormat:
        """The format of rows with these columns and format codes; texts are in the style.
        Raises ``ProtocolViolation`` for a wrong number of codes."""
        # by identity: to compare two descriptions costs as much as to make a format
        key = id(desc), codes, style
        if (known := self._formats.get(key)) is not None:
            return known
        if len(self._formats) >= _MOST_FORMATS:
            self._formats.clear()
        made = self._formats[key] = _row_format(desc, codes, style)
        return made


def _row_format(desc: RelationDesc, codes: Sequence[int], style: TextStyle) -> RowFormat:
    fields = _fields(desc.columns, codes)
    encode = encoder(desc.types, [field.format for field in fields], style)
    return RowFormat(desc, messages.row_description(fields), encode)


class DataRows:
    """The rows of one result as ``DataRow`` messages. Not thread-safe."""

    def __init__(self, result: Result, format: RowFormat) -> None:
        self.result = result
        self.format = format
        self.count = 0
        self.is_done = False
        self.is_waiting = False
        """Whether the result has no more rows yet, but may have later."""
        self._messages = self._encoded()
        self._ahead: MessageBuffer | None = None

    def take(self, limit: int = 0) -> tuple[bytes, int]:
        """The next messages in one piece, and their number; a ``limit`` of 0 is none. Raises what
        computing the rows raises."""
        pieces: list[memoryview | bytes] = []
        size = count = 0
        self.is_waiting = False
        while size < _PIECE_BYTES and not (limit and count == limit):
            buffer = self._ahead if self._ahead is not None else next(self._messages, None)
            self._ahead = None
            if buffer is None:
                self.is_done = True
                break
            if not buffer:
                self.is_waiting = True
                break
            if limit and count + len(buffer) > limit:
                remaining = limit - count
                buffer, self._ahead = buffer[:remaining], buffer[remaining:]
            pieces.append(buffer.data)
            size += len(buffer.data)
            count += len(buffer)
        else:
            if self._ahead is None:
                self._ahead = next(self._messages, None)
            self.is_done = self._ahead is None
        self.count += count
        return b"".join(pieces), count

    def tag(self, count: int) -> str:
        """The command tag; that of a query has the number of rows."""
        return f"{self.result.tag} {count}" if self.result.tag in _COUNTED else self.result.tag

    def close(self) -> None:
        """Discard the remaining rows."""
        self.is_done = True
        self._messages.close()
        self.result.close()

    def _encoded(self) -> Generator[MessageBuffer]:
        encode = self.format.encode
        for batch in self.result.batches:
            if self.result.is_live and not batch.num_rows:
                yield encode(batch)
            for part in slices(batch):
                yield encode(part)


def _fields(columns: Sequence[Column], formats: Sequence[int]) -> list[messages.Field]:
    """The columns in the requested formats: none means text for all, one applies to all. Raises
    ``ProtocolViolation``."""
    if len(formats) not in (0, 1, len(columns)):
        raise ProtocolViolation(
            f"bind message has {len(formats)} result formats but query has {len(columns)} columns"
        )
    codes = formats if len(formats) == len(columns) else [*formats, 0][:1] * len(columns)
    return [field(column, code) for column, code in zip(columns, codes, strict=True)]
