"""Results as row messages, in pieces that are computed as the client takes them."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from reclock.adapter.context.results import Result, slices
from reclock.algebra.relations import Column
from reclock.errors import ProtocolViolation
from reclock.server.messages import Field
from reclock.server.values import MessageBuffer, encoder, field

_PIECE_BYTES = 1 << 18
_COUNTED = frozenset({"SELECT", "FETCH"})


class DataRows:
    """The rows of one result as ``DataRow`` messages. Not thread-safe."""

    def __init__(self, result: Result, formats: Sequence[int]) -> None:
        assert result.desc is not None
        self.result = result
        self.fields = fields(result.desc.columns, formats)
        self.count = 0
        self.is_done = False
        self.is_waiting = False
        """Whether the result has no more rows yet, but may have later."""
        self._messages = self._encoded([field.format for field in self.fields])
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

    def _encoded(self, formats: Sequence[int]) -> Generator[MessageBuffer]:
        assert self.result.desc is not None
        encode = encoder(self.result.desc.types, formats, self.result.zone)
        for batch in self.result.batches:
            if self.result.is_live and not batch.num_rows:
                yield encode(batch)
            for part in slices(batch):
                yield encode(part)


def fields(columns: Sequence[Column], formats: Sequence[int]) -> list[Field]:
    """The columns in the requested formats: none means text for all, one applies to all. Raises
    ``ProtocolViolation``."""
    if len(formats) not in (0, 1, len(columns)):
        raise ProtocolViolation(
            f"bind message has {len(formats)} result formats but query has {len(columns)} columns"
        )
    codes = formats if len(formats) == len(columns) else [*formats, 0][:1] * len(columns)
    return [field(column, code) for column, code in zip(columns, codes, strict=True)]
