"""Reads the data of ``COPY … FROM`` into columns: plain pieces with Arrow's reader, others field by
field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from reclock.adapter.copy import text_format
from reclock.algebra.relations import Column, ScalarType, TypeName
from reclock.algebra.zones import UTC_NAME, LocalClock, no_time
from reclock.collections.schema import arrow_type
from reclock.errors import BadCopyData, ReclockError
from reclock.sql.queries.literals import parse_text
from reclock.sql.statements.copy.formats import LineFormat

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class CopyReader:
    """Reads data that arrives in any pieces into tables of ``columns``, in their order. Raises
    errors of the data.

    `text_format.Records` splits the data into fields, and `parse_text` reads their values. Arrow's
    reader is used for pieces that it is sure to read alike. All others, and all pieces with errors,
    are read field by field.
    """

    def __init__(
        self, table: str, columns: Sequence[Column], format: LineFormat, zone: str
    ) -> None:
        """``zone`` is that of moments that name none."""
        self._table, self._columns, self._format = table, columns, format
        self._clock = LocalClock(lambda: zone, no_time)
        self._names = [str(i) for i in range(len(columns))]
        self._records = text_format.Records(format)
        self._waiting = b""

    def feed(self, data: bytes) -> Iterator[pa.Table]:
        complete_lines, line_end, incomplete_line = (self._waiting + data).rpartition(b"\n")
        self._waiting = incomplete_line
        if line_end:
            yield from self._read(complete_lines + line_end)

    def finish(self) -> Iterator[pa.Table]:
        """The last record, if its line is not terminated."""
        yield self._one_by_one(self._records.feed(self._waiting))
        yield self._one_by_one(self._records.finish())

    def _read(self, lines: bytes) -> Iterator[pa.Table]:
        if self._format.has_header and not self._records.line:
            head, line_end, lines = lines.partition(b"\n")
            yield self._one_by_one(self._records.feed(head + line_end))
        table = self._at_once(lines) if self._records.is_between else None
        if table is not None:
            self._records.skip(lines)
        yield self._one_by_one(self._records.feed(lines)) if table is None else table

    def _at_once(self, lines: bytes) -> pa.Table | None:
        """The lines as a table; None if Arrow may read them differently."""
        format = self._format
        if not lines or not _is_plain(lines, format):
            return None
        try:
            texts = csv.read_csv(
                pa.BufferReader(lines),
                csv.ReadOptions(
                    use_threads=False, column_names=self._names, block_size=len(lines) + 1
                ),
                csv.ParseOptions(
                    delimiter=format.delimiter,
                    quote_char=format.quote if format.is_csv else False,
                    newlines_in_values=format.is_csv,
                    ignore_empty_lines=False,
                ),
                csv.ConvertOptions(
                    column_types=dict.fromkeys(self._names, pa.string()),
                    null_values=[format.null],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            ).combine_chunks()
            if not format.is_csv and any(
                pc.any(pc.match_substring(column, "\\")).as_py() for column in texts.columns
            ):
                return None
            arrays = [
                _values(_with_forced_nulls(text.chunk(0), i, format), column.type, self._clock)
                for i, (text, column) in enumerate(zip(texts.columns, self._columns, strict=True))
            ]
        except (pa.ArrowInvalid, ReclockError):
            return None
        return pa.table(arrays, self._names)

    def _one_by_one(self, records: Iterator[text_format.Fields]) -> pa.Table:
        rows = [self._row(fields) for fields in records]
        values = zip(*rows, strict=True) if rows else [()] * len(self._columns)
        return pa.table(
            [
                pa.array(column_values, arrow_type(c.type))
                for column_values, c in zip(values, self._columns, strict=True)
            ],
            self._names,
        )

    def _row(self, fields: text_format.Fields) -> tuple[Any, ...]:
        line = self._records.line
        if len(fields) > len(self._columns):
            raise BadCopyData("extra data after last expected column", line=line)
        if len(fields) < len(self._columns):
            raise BadCopyData(
                f'missing data for column "{self._columns[len(fields)].name}"', line=line
            )
        values = []
        for field, column in zip(fields, self._columns, strict=True):
            try:
                values.append(
                    None if field is None else parse_text(field, column.type, self._clock)
                )
            except ReclockError as error:
                error.detail = f'COPY {self._table}, line {line}, column {column.name}: "{field}"'
                raise
        return tuple(values)


def _is_plain(lines: bytes, format: LineFormat) -> bool:
    """Whether the lines have no escapes, and quotes only around whole fields."""
    if b"\r" in lines or b"\n\n" in lines or lines.startswith((b"\n", _BYTE_ORDER_MARK)):
        return False  # Arrow reads an empty line as a row of NULLs, whatever the width
    if not format.is_csv:  # a backslash may only be part of NULL's representation
        null = format.null.encode()
        return lines.count(b"\\") == (lines.count(null) if null == b"\\N" else 0)
    if text_format.END_OF_DATA.encode() in lines:
        return False
    quote = format.quote.encode()
    return quote not in lines or (
        format.escape == format.quote and _quoted(format).fullmatch(lines) is not None
    )


def _with_forced_nulls(texts: pa.Array, position: int, format: LineFormat) -> pa.Array:
    """As that of `text_format`, for all the fields of a column."""
    is_null_text = pc.equal(texts, format.null)
    if position in format.never_null:
        texts = texts.fill_null(format.null)
    if position in format.null_in_quotes:
        texts = pc.if_else(is_null_text.fill_null(False), pa.scalar(None, pa.string()), texts)
    return texts


def _quoted(format: LineFormat) -> re.Pattern[bytes]:
    quote, delimiter = (
        re.escape(character).encode() for character in (format.quote, format.delimiter)
    )
    field = rb"(?:%b(?:[^%b]|%b%b)*+%b|[^%b%b\n]*+)" % (
        quote,
        quote,
        quote,
        quote,
        quote,
        quote,
        delimiter,
    )
    return re.compile(rb"(?:%b[%b\n])*+" % (field, delimiter), re.DOTALL)


def _values(texts: pa.Array, type: ScalarType, clock: LocalClock) -> pa.Array:
    """`parse_text` of each value."""
    form, convert = _PLAIN.get(type.name, (None, None))
    if type.name is TypeName.TEXT:
        return texts
    if (
        form is not None
        and convert is not None
        and (type.name is not TypeName.TIMESTAMPTZ or clock.zone() == UTC_NAME)
        and pc.all(pc.match_substring_regex(texts, form)).as_py() is not False
    ):
        return convert(texts).cast(arrow_type(type))
    parsed = [None if text is None else parse_text(text, type, clock) for text in texts.to_pylist()]
    return pa.array(parsed, arrow_type(type))


def _same(texts: pa.Array) -> pa.Array:
    return texts


_INTEGER = r"^-?[0-9]{1,18}$", _same
_FLOAT = r"^-?[0-9]{1,30}(\.[0-9]{1,300})?$", lambda texts: texts.cast(pa.float64())
_DAY = r"(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-[0-9]{2}-[0-9]{2}"
_MOMENT = _DAY + r"[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_PLAIN: dict[TypeName, tuple[str, Any]] = {
    TypeName.BOOLEAN: ("^(t|f|true|false)$", lambda texts: pc.starts_with(texts, "t")),
    TypeName.SMALLINT: _INTEGER,
    TypeName.INTEGER: _INTEGER,
    TypeName.BIGINT: _INTEGER,
    TypeName.REAL: _FLOAT,
    TypeName.DOUBLE: _FLOAT,
    TypeName.NUMERIC: (r"^-?[0-9]{1,38}(\.[0-9]{1,38})?$", _same),
    TypeName.DATE: (f"^{_DAY}$", _same),
    TypeName.TIMESTAMP: (f"^{_MOMENT}$", _same),
    TypeName.TIMESTAMPTZ: (
        rf"^{_MOMENT}(Z|\+00(:?00)?)?$",
        lambda texts: pc.replace_substring_regex(texts, r"(Z|\+00(:?00)?)$", "").cast(
            pa.timestamp("us")
        ),
    ),
}
"""Texts that Arrow and PostgreSQL read alike, and how to read them. A number that does not fit is
an error of Arrow."""
