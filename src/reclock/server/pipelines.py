"""Repeated executions of one prepared statement, recognized in the bytes that a client has sent ahead."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from reclock.server import messages

_DESCRIBE = messages.message(b"D", messages.string("P"))
_EXECUTE_HEAD = messages.message(b"E", messages.string("") + bytes(4))[:-4]
_EXECUTE_BYTES = len(_EXECUTE_HEAD) + 4
_int32 = struct.Struct("!i").unpack_from


@dataclass(frozen=True, slots=True)
class Executions:
    """Executions of one prepared statement, each by a Bind of the unnamed portal, perhaps a Describe of it, and an Execute."""

    parameters: Sequence[Sequence[bytes | None]]
    """Of each execution."""
    after_bind: tuple[messages.Frontend, ...]
    """The messages that follow each Bind."""
    bytes_ahead: int
    """The length of these messages without the first Bind."""

    @property
    def is_described(self) -> bool:
        return len(self.after_bind) > 1


def executions_ahead(first: messages.Bind, ahead: bytes) -> Executions | None:
    """The executions from ``first`` on whose messages are complete in ``ahead``, the bytes after it.

    They differ in the values of their parameters only. None if the next execution is another one or has not arrived.
    """
    tail = _tail(ahead)
    if tail is None:
        return None
    head, foot = _around_parameters(first)
    rows: list[Sequence[bytes | None]] = [first.parameters]
    at = len(tail)
    while ahead.startswith(b"B", at) and len(ahead) >= at + 5:
        end = at + 1 + _int32(ahead, at + 1)[0]
        if not (ahead.startswith(head, at + 5) and ahead.startswith(tail, end)):
            break
        values = _parameters(ahead, at + 5 + len(head), end - len(foot), len(first.parameters))
        if values is None or not ahead.endswith(foot, at, end):
            break
        rows.append(values)
        at = end + len(tail)
    if len(rows) == 1:
        return None
    (limit,) = _int32(tail, len(tail) - 4)
    described = (messages.Describe("P", ""),) if tail.startswith(_DESCRIBE) else ()
    return Executions(rows, (*described, messages.Execute("", max(0, limit))), at)


def _tail(ahead: bytes) -> bytes | None:
    """The messages that follow the first Bind."""
    start = len(_DESCRIBE) if ahead.startswith(_DESCRIBE) else 0
    end = start + _EXECUTE_BYTES
    return ahead[:end] if ahead.startswith(_EXECUTE_HEAD, start) and len(ahead) >= end else None


def _around_parameters(bind: messages.Bind) -> tuple[bytes, bytes]:
    """The bytes of the Bind between its length and its parameters, and those after its parameters."""
    names = messages.string(bind.portal) + messages.string(bind.statement)
    count = len(bind.parameters).to_bytes(2, "big")
    return names + _formats(bind.parameter_formats) + count, _formats(bind.result_formats)


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
