"""Repeated executions of prepared statements, recognized in the bytes that a client has sent
ahead."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reclock.errors import ProtocolViolation
from reclock.server import messages

_DESCRIBE = messages.message(b"D", messages.string("P"))
_EXECUTE_HEAD = messages.message(b"E", messages.string("") + bytes(4))[:-4]
_EXECUTE_BYTES = len(_EXECUTE_HEAD) + 4
_int32 = struct.Struct("!i").unpack_from

Parameters = Sequence[bytes | None]


@dataclass(frozen=True, slots=True)
class Executions:
    """Consecutive executions, each by a Bind of the unnamed portal, perhaps a Describe of it, and
    an Execute."""

    statements: Sequence[messages.Bind]
    """The first Bind of each prepared statement."""
    rows: Sequence[tuple[int, Parameters]]
    """Of each execution the index of its statement, and its parameters."""
    after_bind: tuple[messages.Frontend, ...]
    """The messages that follow each Bind."""
    bytes_ahead: int
    """The length of these messages without the first Bind."""

    @property
    def is_described(self) -> bool:
        return len(self.after_bind) > 1

    def rows_of(self, statement: int) -> list[Parameters]:
        return [parameters for index, parameters in self.rows if index == statement]


@dataclass(slots=True)
class _Statement:
    """The bytes that every Bind of one prepared statement has before and after its parameters."""

    index: int
    head: bytes
    foot: bytes
    count: int

    @classmethod
    def of(cls, index: int, bind: messages.Bind) -> _Statement:
        count = len(bind.parameters)
        names = messages.string(bind.portal) + messages.string(bind.statement)
        head = names + _formats(bind.parameter_formats) + count.to_bytes(2, "big")
        return cls(index, head, _formats(bind.result_formats), count)

    def parameters(self, ahead: bytes, begin: int, end: int) -> list[bytes | None] | None:
        """The parameters of the Bind between the two offsets; None if it differs in more than
        these."""
        if not ahead.startswith(self.head, begin) or not ahead.endswith(self.foot, begin, end):
            return None
        return _parameters(ahead, begin + len(self.head), end - len(self.foot), self.count)


def executions_ahead(
    first: messages.Bind, ahead: bytes, is_repeatable: Callable[[str], bool]
) -> Executions | None:
    """The executions from ``first`` on whose messages are complete in ``ahead``, the bytes after
    it.

    They are of prepared statements that are ``is_repeatable``, by their names. None if the next
    execution is another one or has not arrived.
    """
    tail = _tail(ahead)
    if tail is None:
        return None
    binds = [first]
    statements = {first.statement.encode(): _Statement.of(0, first)}
    rows: list[tuple[int, Parameters]] = [(0, first.parameters)]
    at = len(tail)
    while ahead.startswith(b"B", at) and len(ahead) >= at + 5:
        begin, end = at + 5, at + 1 + _int32(ahead, at + 1)[0]
        if end < begin or not ahead.startswith(tail, end):
            break
        name = ahead[begin + 1 : max(begin + 1, ahead.find(b"\0", begin + 1, end))]
        if name not in statements:
            bind = _bind(ahead[begin:end])
            if bind is None or bind.portal or not is_repeatable(bind.statement):
                break
            statements[name] = _Statement.of(len(binds), bind)
            binds.append(bind)
        values = statements[name].parameters(ahead, begin, end)
        if values is None:
            break
        rows.append((statements[name].index, values))
        at = end + len(tail)
    if len(rows) == 1:
        return None
    (limit,) = _int32(tail, len(tail) - 4)
    describe = (messages.Describe("P", ""),) if tail.startswith(_DESCRIBE) else ()
    return Executions(binds, rows, (*describe, messages.Execute("", max(0, limit))), at)


def _bind(body: bytes) -> messages.Bind | None:
    try:
        bind = messages.read(b"B", body)
    except ProtocolViolation:
        return None  # raised when its turn has come
    assert isinstance(bind, messages.Bind)
    return bind


def _tail(ahead: bytes) -> bytes | None:
    """The messages that follow the first Bind."""
    start = len(_DESCRIBE) if ahead.startswith(_DESCRIBE) else 0
    end = start + _EXECUTE_BYTES
    return ahead[:end] if ahead.startswith(_EXECUTE_HEAD, start) and len(ahead) >= end else None


def _formats(formats: Sequence[int]) -> bytes:
    return struct.pack(f"!H{len(formats)}h", len(formats), *formats)


def _parameters(ahead: bytes, at: int, end: int, count: int) -> list[bytes | None] | None:
    """The values between the two offsets; None if these are not exactly ``count`` values."""
    values: list[bytes | None] = []
    for _ in range(count):
        begin = at + 4
        if begin > end:
            return None
        (length,) = _int32(ahead, at)
        at = begin if length == -1 else begin + length
        if length < -1 or at > end:
            return None
        values.append(None if length == -1 else ahead[begin:at])
    return values if at == end else None
