"""Finds where records end: at a newline, but in CSV not at one within quotes. Pure, and fast even
for quoted text."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from reclock.algebra.relations import RelationDesc
from reclock.definitions.formats import CsvFormat, JsonFormat, LineFormat
from reclock.errors import HeaderMismatch

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def quote_of(format: LineFormat) -> bytes | None:
    """The character within which newlines do not end a record. JSON has no newlines in strings, so
    it needs none."""
    return format.quote.encode() if isinstance(format, CsvFormat) and format.quote else None


def last_end(chunk: bytes, quote: bytes | None, is_open: bool) -> tuple[int, bool]:
    """The exclusive end of the last complete record in ``chunk`` (0 if none ends there), and
    whether the chunk ends within quotes.

    ``is_open`` says whether it begins within quotes. A doubled quote closes and opens again, so
    only parity matters.
    """
    if quote is None:
        return chunk.rfind(b"\n") + 1, False
    is_open_at_end = is_open ^ bool(chunk.count(quote) & 1)
    inside, end = is_open_at_end, len(chunk)
    while True:  # from the back, one stretch between two quotes at a time
        previous = chunk.rfind(quote, 0, end)
        newline = -1 if inside else chunk.rfind(b"\n", previous + 1, end)
        if newline >= 0:
            return newline + 1, is_open_at_end
        if previous < 0:
            return 0, is_open_at_end
        inside, end = not inside, previous


def record_ends(buffer: bytes, quote: bytes | None) -> npt.NDArray[np.int64]:
    """The exclusive ends of all records in a buffer that begins with a record, ascending."""
    characters = np.frombuffer(buffer, np.uint8)
    newlines = np.flatnonzero(characters == ord("\n"))
    if quote is not None:
        quotes = np.flatnonzero(characters == ord(quote))
        newlines = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    return newlines + 1


def row_ranges(
    buffer: bytes,
    format: LineFormat,
    width: int,
    *,
    offset: int,
    skips: Sequence[tuple[int, int]] = (),
) -> Iterator[tuple[int, int]]:
    """The bytes of each record that ``decode`` makes a row of, in order. The buffer begins with a
    record at byte ``offset``, and its records have ``width`` fields."""
    start = offset
    if offset == 0 and buffer.startswith(BYTE_ORDER_MARK):
        start = len(BYTE_ORDER_MARK)
    for end in record_ends(buffer, quote_of(format)).tolist():
        lower, upper = start, offset + end
        start = upper
        is_skipped = any(low < upper and high > lower for low, high in skips)
        if not is_skipped and not _is_blank(buffer[lower - offset : end], format, width):
            yield lower, upper


def _is_blank(record: bytes, format: LineFormat, width: int) -> bool:
    """Whether a record is an empty line, which yields no row."""
    match format:
        case JsonFormat():
            return not record.strip(b" \t\r\n")
        case CsvFormat():
            return width > 1 and record in (b"\n", b"\r\n")
        case _:
            return False


def parse_header(record: bytes, key: str, format: CsvFormat, desc: RelationDesc) -> tuple[str, ...]:
    """The names in the first record of the object ``key``: the declared columns, each once, in any
    order, and perhaps others, which are not read.

    Raises ``HeaderMismatch`` if a declared column is not there once.
    """
    try:
        text = record.removeprefix(BYTE_ORDER_MARK).decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise HeaderMismatch(key, detail=f"the header is not UTF-8: {error.reason}") from error
    if format.quote:
        rows = list(csv.reader([text], delimiter=format.delimiter, quotechar=format.quote))
    else:
        rows = [text.split(format.delimiter)]
    names = tuple(name.strip() for name in rows[0]) if rows else ()
    if any(names.count(name) != 1 for name in desc.names):
        raise HeaderMismatch(key, detail=_mismatch(names, format, desc))
    return names


def _mismatch(names: Sequence[str], format: CsvFormat, desc: RelationDesc) -> str:
    """How the header differs from the columns."""
    missing = [name for name in desc.names if name not in names]
    unknown = [name for name in names if name not in desc.names]
    repeated = [name for name in desc.names if names.count(name) > 1]
    parts = [
        f"columns of the source: {_quoted(desc.names)}",
        f"header: {_quoted(names)}",
        *([f"missing: {_quoted(missing)}"] if missing else []),
        *([f"not declared: {_quoted(unknown)}"] if unknown else []),
        *([f"named more than once: {_quoted(repeated)}"] if repeated else []),
    ]
    if {name.lower() for name in unknown} & {name.lower() for name in missing}:
        parts.append("upper and lower case count; CREATE SOURCE keeps those of a quoted name")
    if len(names) == 1 < len(desc.names):
        parts.append(
            f"the header has no delimiter '{format.delimiter}'; DELIMITED BY names another"
        )
    return "; ".join(parts)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
