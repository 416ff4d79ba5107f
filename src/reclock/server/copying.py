"""COPY on the wire: data out as it is computed, data in until the client finishes or gives up."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.copy.transfer import CopyIn, CopyOut
from reclock.errors import ProtocolViolation
from reclock.server import messages
from reclock.server.statement_runner import Run
from reclock.server.stream import MessageStream
from reclock.server.values import MessageBuffer, framed

_PIECE_BYTES = 1 << 18


async def copy_out(copy: CopyOut, stream: MessageStream, run: Run) -> str:
    """Send the data; returns the command tag. Raises what computing the data raises."""
    stream.send(messages.copy_out_response(copy.width, is_binary=copy.is_binary))
    try:
        while (lines := await run(_next, copy.lines)) is not None:
            stream.send(lines.data)
            await (stream.flush_if_much() if lines else stream.pass_on())
    finally:
        copy.close()
    stream.send(messages.COPY_DONE)
    return copy.tag


async def copy_in(copy: CopyIn, stream: MessageStream, run: Run) -> Result:
    """Receive the data. Raises what is wrong with it, ``CopyAbandoned`` if the client gives up, and
    ``ProtocolViolation``."""
    stream.send(messages.copy_in_response(copy.width, is_binary=copy.is_binary))
    await stream.flush()
    received: list[bytes] = []
    size = 0
    while True:
        message = await stream.message()
        match message:
            case messages.CopyData(data):
                received.append(data)
                size += len(data)
                if size >= _PIECE_BYTES:
                    await run(copy.write, b"".join(received))
                    received, size = [], 0
            case messages.CopyDone():
                if received:
                    await run(copy.write, b"".join(received))
                result: Result = await run(copy.finish)
                return result
            case messages.CopyFail(reason):
                copy.fail(reason)
            case messages.Flush() | messages.Sync():
                pass  # ignored, like in PostgreSQL: some clients send them early
            case _:
                raise ProtocolViolation(
                    f"unexpected message {type(message).__name__} during COPY from stdin"
                )


def _next(lines: Iterator[pa.LargeBinaryArray]) -> MessageBuffer | None:
    """A message for each of the next lines; None at the end."""
    array = next(lines, None)
    return None if array is None else framed(b"d", array)
