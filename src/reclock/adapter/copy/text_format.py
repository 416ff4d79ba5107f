"""The text and CSV formats of COPY, as PostgreSQL defines them: values to lines, and lines to
fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.context.texts import joined, texts
from reclock.algebra.relations import TEXT, ScalarType
from reclock.algebra.text_style import PLAIN_TEXT, TextStyle
from reclock.errors import BadCopyData
from reclock.sql.statements.copy.formats import LineFormat

Fields = list[str | None]

_ESCAPED = {
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
}
_UNESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
END_OF_DATA = "\\."


def encode(
    batch: pa.RecordBatch,
    types: Sequence[ScalarType],
    format: LineFormat,
    style: TextStyle = PLAIN_TEXT,
) -> pa.LargeBinaryArray:
    """A line for each row, in the style."""
    fields = []
    for position, (column, type) in enumerate(zip(batch.columns, types, strict=True)):
        values = texts(column, type, style)
        if not format.is_csv:
            written = _text_fields_of(values, format)
        else:
            written = _csv_fields_of(values, format, is_quoted=position in format.always_quoted)
        fields.append(written.fill_null(format.null))
    parts = [part for field in fields for part in (format.delimiter, field)]
    return joined([*parts[1:], "\n"], batch.num_rows)


def header(names: Sequence[str], format: LineFormat) -> pa.LargeBinaryArray:
    """The line of the columns' names, which are quoted only where they must be."""
    return encode(
        pa.record_batch([[name] for name in names], names=list(names)),
        [TEXT] * len(names),
        replace(format, always_quoted=frozenset()),
    )


def _text_fields_of(texts: pa.LargeStringArray, format: LineFormat) -> pa.LargeStringArray:
    escaped = {"\\": _ESCAPED["\\"], format.delimiter: f"\\{format.delimiter}", **_ESCAPED}
    if _any(texts, "".join(escaped)):
        for character, written in escaped.items():
            texts = pc.replace_substring(texts, character, written)
    return texts


def _csv_fields_of(
    texts: pa.LargeStringArray, format: LineFormat, *, is_quoted: bool
) -> pa.LargeStringArray:
    """CSV fields, quoted all (``is_quoted``), or where they would be read differently otherwise."""
    quote, escape = format.quote, format.escape
    if is_quoted:
        must = pc.is_valid(texts)
    else:
        is_word = pc.is_in(texts, pa.array([format.null, END_OF_DATA], pa.large_string()))
        special = pc.match_substring_regex(texts, _one_of(quote + format.delimiter + "\n\r"))
        must = pc.or_(is_word, special)
    if not must.true_count:
        return texts
    escaped = pc.replace_substring(texts, escape, escape * 2) if escape != quote else texts
    quoted = [
        pa.scalar(quote, pa.large_string()),
        pc.replace_substring(escaped, quote, escape + quote),
    ]
    return pc.if_else(
        must,
        pc.binary_join_element_wise(*quoted, quoted[0], pa.scalar("", pa.large_string())),
        texts,
    )


def _any(texts: pa.LargeStringArray, characters: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, _one_of(characters))).as_py())


def _one_of(characters: str) -> str:
    return "[" + "".join(f"\\x{{{ord(character):x}}}" for character in characters) + "]"


class Records:
    """Splits data that arrives in any pieces into records, and records into fields. Raises
    ``BadCopyData``."""

    def __init__(self, format: LineFormat) -> None:
        self._format = format
        self._bytes = b""
        self._open = ""
        """Lines of a record whose quotes are not closed yet."""
        self._is_over = False
        self.line = 0
        """The line, counted from 1, at which the last record began."""
        self._next_line = 1

    @property
    def is_between(self) -> bool:
        """Whether the next byte begins a record."""
        return not (self._bytes or self._open or self._is_over)

    def skip(self, lines: bytes) -> None:
        """Count whole records that were read elsewhere."""
        self._next_line += lines.count(b"\n")

    def feed(self, data: bytes) -> Iterator[Fields]:
        *lines, self._bytes = (self._bytes + data).split(b"\n")
        for line in lines:
            yield from self._take(line)

    def finish(self) -> Iterator[Fields]:
        """The last record, if its line is not terminated."""
        if self._bytes:
            rest, self._bytes = self._bytes, b""
            yield from self._take(rest)
        if self._open:
            raise BadCopyData("unterminated CSV quoted field", line=self.line)

    def _take(self, line: bytes) -> Iterator[Fields]:
        try:
            written = line.decode()
        except UnicodeDecodeError as error:
            raise BadCopyData(
                "invalid byte sequence for encoding UTF8", line=self._next_line, sqlstate="22021"
            ) from error
        number, self._next_line = self._next_line, self._next_line + 1
        if self._is_over:
            return
        text = written.removesuffix("\r")  # part of the line end, unless a quote is open
        if not self._open:
            self.line = number
            if text == END_OF_DATA:
                self._is_over = True
                return
        if not self._format.is_csv:
            if not (self._format.has_header and number == 1):
                yield _text_fields(text, self._format)
            return
        record = f"{self._open}\n{written}" if self._open else written
        if _is_open(record, self._format):
            self._open = record
            return
        record = record.removesuffix("\r")
        self._open = ""
        if not (self._format.has_header and self.line == 1):
            yield _with_forced_nulls(_csv_fields(record, self._format, self.line), self._format)


def _with_forced_nulls(fields: Fields, format: LineFormat) -> Fields:
    """The fields of a record, with the text of NULL read as the options of its columns say."""
    for position in format.never_null | format.null_in_quotes:
        if position >= len(fields):
            continue
        if fields[position] is None:
            if position in format.never_null:
                fields[position] = format.null
        elif position in format.null_in_quotes and fields[position] == format.null:
            fields[position] = None
    return fields


def _text_fields(line: str, format: LineFormat) -> Fields:
    if "\\" not in line:
        return [None if field == format.null else field for field in line.split(format.delimiter)]
    delimiter = re.escape(format.delimiter)
    written = re.findall(rf"(?:\A|{delimiter})((?:\\.|[^\\{delimiter}]|\\\Z)*)", line, re.DOTALL)
    return [None if field == format.null else _ESCAPE.sub(_unescape, field) for field in written]


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    return chr(int(code, 8)) if code[0] in "01234567" else _UNESCAPED.get(code, code)


def _is_open(record: str, format: LineFormat) -> bool:
    """Whether a quote is open at the end, so that the record continues in the next line."""
    if format.escape == format.quote:
        return record.count(format.quote) % 2 == 1
    unescaped = re.sub(
        rf"{re.escape(format.escape)}[{re.escape(format.quote + format.escape)}]", "", record
    )
    return unescaped.count(format.quote) % 2 == 1


@lru_cache
def _csv_pattern(format: LineFormat) -> re.Pattern[str]:
    quote, escape, delimiter = (
        re.escape(character) for character in (format.quote, format.escape, format.delimiter)
    )
    quoted = rf"{quote}(?>{escape}[{quote}{escape}]|[^{quote}])*+{quote}"
    return re.compile(rf"(?:{quoted}|[^{quote}{delimiter}])*", re.DOTALL)


def _csv_fields(record: str, format: LineFormat, line: int) -> Fields:
    pattern, fields, at = _csv_pattern(format), [], 0
    while True:
        match = pattern.match(record, at)
        assert match is not None  # the pattern matches the empty text too
        fields.append(_csv_value(match[0], format))
        at = match.end()
        if at == len(record):
            return fields
        if record[at] != format.delimiter:
            raise BadCopyData("unterminated CSV quoted field", line=line)
        at += 1


def _csv_value(written: str, format: LineFormat) -> str | None:
    quote, escape = format.quote, format.escape
    if quote not in written:
        return None if written == format.null else written
    value, is_quoted, at = [], False, 0
    while at < len(written):
        character = written[at]
        if (
            is_quoted
            and character == escape
            and written[at + 1 : at + 2] in (quote, escape)
            and at + 1 < len(written)
        ):
            value.append(written[at + 1])
            at += 1
        elif character == quote:
            is_quoted = not is_quoted
        else:
            value.append(character)
        at += 1
    return "".join(value)
