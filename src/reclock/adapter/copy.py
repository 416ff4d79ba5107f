"""COPY: what a session answers instead of a result when data goes out to, or comes in from, the client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from reclock.adapter.results import Result


class CopyOut(Protocol):
    """``COPY … TO STDOUT``. ``chunks`` holds the data in the format asked for, each chunk whole lines, to be gone through once."""

    width: int
    """How many columns a line has."""
    chunks: Iterator[bytes]

    @property
    def tag(self) -> str:
        """``COPY n``, once all chunks were taken."""
        ...


class CopyIn(Protocol):
    """``COPY … FROM STDIN``: data in any pieces, then ``finish``, or ``fail`` if the client gives up.

    Each of the three raises what is wrong with the data or the table; nothing is written then.
    """

    width: int

    def write(self, data: bytes) -> None: ...

    def finish(self) -> Result:
        """All rows are written (in a transaction block: will be, at its COMMIT). The tag is ``COPY n``."""
        ...

    def fail(self, reason: str) -> None:
        """Nothing is written. Raises ``QueryCanceled``."""
        ...
