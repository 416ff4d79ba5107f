"""Decodes whole records into typed Arrow columns, with Arrow's readers. A value that does not fit
is an error, never NULL.

Usually this is one call into C++ for a whole buffer. Only if that fails are parts of it decoded
again, to find the bad records; the error names their bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from reclock.algebra.json_documents import member_forms
from reclock.algebra.relations import JSONB, Column, RelationDesc, ScalarType, TypeName
from reclock.algebra.textual import textual
from reclock.algebra.textual.description import TextualType
from reclock.collections.schema import arrow_schema
from reclock.collections.text_lengths import within_limit
from reclock.definitions.formats import BytesFormat, CsvFormat, JsonFormat, LineFormat, TextFormat
from reclock.errors import BadRecord, InvalidJson, ReclockError
from reclock.formats.arrow_messages import INVALID, TOO_PRECISE, invalid_value, reason_of
from reclock.formats.bad_records import decoded_in_turn, search
from reclock.formats.composites import of_documents, of_texts
from reclock.formats.records import BYTE_ORDER_MARK, quote_of, record_ends
from reclock.formats.values import Unreadable

_BLANK = re.compile(rb"^[ \t\r]*$", re.MULTILINE)
_NO_OBJECT = re.compile(rb"^[ \t\r]*+(?!\{.*\}[ \t\r]*$|$)", re.MULTILINE)
"""Lines of spaces alone, and other lines that do not begin and end with braces: no JSON value that
has a newline in it has none."""

_SPECIAL = {f'"{text}"': text for text in ("NaN", "Infinity", "-Infinity")}
"""What writers of JSON, such as Debezium and Reclock's sinks, make of floats that are no numbers
there, and what Arrow reads as such floats."""
_HAS_SPECIAL = re.compile("|".join(_SPECIAL).encode())
_NUMBER = re.compile(r"[-+.]*\d")

_TRUE = ("true", "t", "yes", "y", "on", "1")
_FALSE = ("false", "f", "no", "n", "off", "0")


def decode(
    buffer: bytes,
    format: LineFormat,
    desc: RelationDesc,
    header: Sequence[str] | None = None,
    *,
    key: str,
    offset: int,
    skips: Sequence[tuple[int, int]] = (),
) -> pa.Table:
    """The records of ``buffer`` as rows of ``desc``, in order. The buffer begins with a record, at
    byte ``offset`` of the object ``key``.

    ``header`` has the order of the fields in a CSV record, also of those that are no column; None
    means the order of ``desc``. A record with a byte of ``skips`` is left out. Raises ``DecodeFailed`` for the records that do
    not have the format, or do not fit the columns: for the first ``FOUND_RECORDS``.
    """
    mark = len(BYTE_ORDER_MARK) if offset == 0 and buffer.startswith(BYTE_ORDER_MARK) else 0
    buffer, offset = buffer[mark:], offset + mark
    touching = [
        (lower, upper) for lower, upper in skips if lower < offset + len(buffer) and upper > offset
    ]
    if touching:
        ends = [offset + int(end) for end in record_ends(buffer, quote_of(format))]
        remaining = [
            (start, end)
            for start, end in zip([offset, *ends], ends, strict=False)
            if not any(lower < end and upper > start for lower, upper in touching)
        ]
        runs = _joined(remaining)
    else:
        runs = [(offset, offset + len(buffer))] if buffer else []
    tables = decoded_in_turn(
        partial(
            _decode_run, buffer[start - offset : end - offset], format, desc, header, key, start
        )
        for start, end in runs
    )
    return pa.concat_tables([arrow_schema(desc, with_updates=False).empty_table(), *tables])


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges in order, with adjacent ones joined."""
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _decode_run(
    run: bytes,
    format: LineFormat,
    desc: RelationDesc,
    header: Sequence[str] | None,
    key: str,
    offset: int,
) -> pa.Table:
    try:
        return decode_records(run, format, desc, header)
    except Unreadable as failure:
        ends = [int(end) for end in record_ends(run, quote_of(format))]
        starts = [0, *ends[:-1]]

        def attempt(low: int, high: int) -> pa.Table:
            return decode_records(run[starts[low] : ends[high - 1]], format, desc, header)

        def bad_record(index: int, failure: Unreadable) -> BadRecord:
            start, end = starts[index], ends[index]
            reason = _reason(failure.reason, run[start:end], format, desc, header)
            return BadRecord.in_object(key, offset + start, offset + end, reason)

        raise search(len(ends), attempt, failure, bad_record) from failure


def _reason(
    reason: str,
    record: bytes,
    format: LineFormat,
    desc: RelationDesc,
    header: Sequence[str] | None,
) -> str:
    """The reason why a record does not decode, with the column and the value that Arrow does not
    name."""
    reason = _with_digits(reason, record, format, desc, header)
    if not reason.startswith(INVALID):
        return reason
    for column in desc.columns:
        failure = _failure(record, format, RelationDesc((column,)), header) or ""
        if failure.endswith(reason):
            return f'column "{column.name}" of type {column.sql_type}: {reason}'
    return reason


def _with_digits(
    reason: str,
    record: bytes,
    format: LineFormat,
    desc: RelationDesc,
    header: Sequence[str] | None,
) -> str:
    """The reason with the value in it, where Arrow does not say which one has too many digits."""
    if not isinstance(format, CsvFormat) or not reason.endswith(TOO_PRECISE):
        return reason
    for column in desc.columns:
        prefix = f'column "{column.name}" of type {column.sql_type}: '
        if reason == f"{prefix}{TOO_PRECISE}":
            [value] = _texts(record, format, desc, header, column).to_pylist()
            return f"{prefix}{INVALID}'{value}', {TOO_PRECISE.replace('a value', 'which')}"
    return reason


def _failure(
    record: bytes, format: LineFormat, desc: RelationDesc, header: Sequence[str] | None
) -> str | None:
    """Why one record cannot be decoded, or None."""
    try:
        decode_records(record, format, desc, header)
    except Unreadable as failure:
        return str(failure)
    return None


def decode_records(
    run: bytes, format: LineFormat, desc: RelationDesc, header: Sequence[str] | None
) -> pa.Table:
    """The records of ``run`` as rows of ``desc``, in order. Raises ``Unreadable`` if one does not
    have the format, or does not fit the columns."""
    schema = arrow_schema(desc, with_updates=False)
    if not run:
        return schema.empty_table()
    documents: dict[str, pa.ChunkedArray] = {}
    try:
        if isinstance(format, JsonFormat):
            documents = _members(
                run, [column.name for column in desc.columns if _is_document(column.type)]
            )
        try:
            table = _read_moments(run, format, desc, header)
        except pa.ArrowInvalid as error:
            floats = [column for column in desc.columns if column.type.is_float]
            if not (floats and isinstance(format, JsonFormat) and _HAS_SPECIAL.search(run)):
                raise
            documents |= _floats(run, floats, error)
            others = tuple(column for column in desc.columns if column.name not in documents)
            table = _read_moments(run, format, RelationDesc(others), header)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError) as error:
        raise Unreadable(reason_of(str(error), desc, header)) from error
    except InvalidJson as error:
        raise Unreadable(f"{error}: {error.detail}" if error.detail else str(error)) from error
    columns = []
    for column, field in zip(desc.columns, schema, strict=True):
        try:
            read = (
                documents[column.name]
                if column.name in documents
                else _fit(table[column.name], field.type)
                if column.type.is_flat
                else table[column.name]
            )
            if not column.type.is_flat:
                read = _composites(read, format, column.type)
            description = textual(column.type)
            if description is not None and column.name not in documents:
                read = _normal_forms(read, description)
            values = within_limit(read, column)
            if column.type.is_float and pc.any(pc.is_inf(values)).as_py():
                _check_infinite(run, format, desc, header, column)
        except (pa.ArrowInvalid, ValueError, ReclockError) as error:
            raise Unreadable(
                f'column "{column.name}" of type {column.sql_type}: '
                f"{invalid_value(str(error)) or str(error).split(': expected')[0]}"
            ) from error
        if values.null_count and not column.is_nullable:
            raise Unreadable(f'column "{column.name}": null value violates its NOT NULL constraint')
        columns.append(values)
    return pa.table(columns, schema=schema)


def _read_moments(
    run: bytes, format: LineFormat, desc: RelationDesc, header: Sequence[str] | None
) -> pa.Table:
    """The columns of ``desc`` that Arrow's reader has. Arrow insists on a zone; as in PostgreSQL, a
    moment without one is in the session's, which is UTC."""
    try:
        return _read(run, format, _carriers(desc, format, is_lenient=False), header)
    except pa.ArrowInvalid:
        if not any(type.name is TypeName.TIMESTAMPTZ for type in desc.types):
            raise
        return _read(run, format, _carriers(desc, format, is_lenient=True), header)


def _carriers(desc: RelationDesc, format: LineFormat, *, is_lenient: bool) -> pa.Schema:
    """The types that Arrow's reader returns: text for types that it does not have, which ``_fit``
    converts."""

    def carrier(column: ScalarType, type: pa.DataType) -> pa.DataType:
        match column.name:
            case _ if not column.is_flat:
                return pa.string()
            case TypeName.BYTEA if not isinstance(format, BytesFormat):
                return pa.string()
            case TypeName.TIMESTAMPTZ if is_lenient:
                return pa.string()
            case TypeName.DATE if isinstance(format, JsonFormat):
                return pa.string()
            case _:
                return type

    schema = arrow_schema(desc, with_updates=False)
    return pa.schema(
        [
            pa.field(field.name, carrier(type, field.type))
            for field, type in zip(schema, desc.types, strict=True)
            if not (isinstance(format, JsonFormat) and _is_document(type))
        ]
    )


def _is_document(type: ScalarType) -> bool:
    """Whether values are parts of a JSON document, which Arrow cannot keep."""
    return type == JSONB or not type.is_flat


def _composites(texts: pa.ChunkedArray, format: LineFormat, type: ScalarType) -> pa.ChunkedArray:
    """The arrays or intervals that the texts are. Raises ``ValueError``."""
    is_json = isinstance(format, JsonFormat)
    values = (of_documents if is_json else of_texts)(
        texts.to_pylist(), type, partial(_elements, type=type.base, is_json=is_json)
    )
    return pa.chunked_array([values])


def _elements(items: Sequence[str | None], type: ScalarType, is_json: bool) -> pa.Array:
    """The elements of arrays, as records of one column."""
    format = JsonFormat() if is_json else CsvFormat(has_header=False)
    lines = [
        f'{{"element":{item or "null"}}}'
        if is_json
        else ""
        if item is None
        else '"' + item.replace('"', '""') + '"'
        for item in items
    ]
    run = "".join(f"{line}\n" for line in lines).encode()
    table = decode_records(run, format, RelationDesc((Column("element", type),)), None)
    return table["element"].combine_chunks()


def _members(run: bytes, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    """For each line of ``run``, the members with these names of its object, as documents. Raises
    ``InvalidJson``."""
    if not names:
        return {}
    lines = [line for line in run.decode().split("\n") if line.strip(" \t\r")]
    rows = [member_forms(line, names) for line in lines]
    return {
        name: pa.chunked_array([[row[i] for row in rows]], pa.string())
        for i, name in enumerate(names)
    }


def _floats(
    run: bytes, columns: Sequence[Column], error: pa.ArrowInvalid
) -> dict[str, pa.ChunkedArray]:
    """The floating-point columns, where some values are text because JSON has no number for them.
    Raises ``error`` if other values are no numbers either."""
    try:
        documents = _members(run, [column.name for column in columns])
    except InvalidJson as invalid:
        raise error from invalid
    for column in columns:
        values = documents[column.name].to_pylist()
        if any(value not in _SPECIAL and not _NUMBER.match(value or "0") for value in values):
            raise error
        texts = [_SPECIAL.get(value, value) for value in values]
        [field] = arrow_schema(RelationDesc((column,)), with_updates=False)
        documents[column.name] = pc.cast(pa.chunked_array([texts], pa.string()), field.type)
    return documents


def _check_infinite(
    run: bytes,
    format: LineFormat,
    desc: RelationDesc,
    header: Sequence[str] | None,
    column: Column,
) -> None:
    """Raises ``ValueError`` if a number is too large for the floating-point column: Arrow makes
    infinity of it."""
    texts = _texts(run, format, desc, header, column)
    [field] = arrow_schema(RelationDesc((column,)), with_updates=False)
    for number in (text for text in texts.to_pylist() if text and _NUMBER.match(text)):
        if pc.is_inf(pa.scalar(float(number)).cast(field.type)).as_py():
            raise ValueError(f"{number} is out of range")


def _texts(
    run: bytes,
    format: LineFormat,
    desc: RelationDesc,
    header: Sequence[str] | None,
    column: Column,
) -> pa.ChunkedArray:
    """The values of one column as the records have them."""
    if isinstance(format, JsonFormat):
        [texts] = _members(run, [column.name]).values()
        return texts
    carriers = pa.schema([pa.field(name, pa.string()) for name in desc.names])
    return _read(run, format, carriers, header)[column.name]


def _normal_forms(texts: pa.ChunkedArray, description: TextualType) -> pa.ChunkedArray:
    """The values in normal form. Raises a ``ReclockError``."""
    values = [None if text is None else description.normal_form(text) for text in texts.to_pylist()]
    return pa.chunked_array([values], pa.string())


def _read(
    run: bytes, format: LineFormat, carriers: pa.Schema, header: Sequence[str] | None
) -> pa.Table:
    if isinstance(format, JsonFormat):
        run.decode()  # Arrow takes any bytes for text here
        records = run.count(b"\n")
        if not run.count(b"}\n") == records == run.count(b"\n{") + run.startswith(b"{"):
            # Arrow takes null for an object, or crashes if it comes first, and reads on at
            # newrecords
            if _NO_OBJECT.search(run):
                raise pa.ArrowInvalid("a line is not a JSON object")
            records -= len(_BLANK.findall(run, 0, len(run) - 1))
        table = pyarrow.json.read_json(
            pa.BufferReader(run),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(run) + 1),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=carriers, unexpected_field_behavior="ignore"
            ),
        )
        if table.num_rows != records:
            raise pa.ArrowInvalid("more than one object on a line")
        return table
    if isinstance(format, TextFormat | BytesFormat):
        lines = run.decode().split("\n") if isinstance(format, TextFormat) else run.split(b"\n")
        return pa.table([pa.array(lines[:-1], carriers.types[0])], names=carriers.names)
    names = list(header) if header is not None else carriers.names
    return pyarrow.csv.read_csv(
        pa.BufferReader(run),
        read_options=pyarrow.csv.ReadOptions(
            use_threads=False, block_size=len(run) + 1, column_names=names
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=format.delimiter,
            quote_char=format.quote or False,
            double_quote=format.quote is not None,
            newlines_in_values=format.quote is not None,
            ignore_empty_lines=len(names) > 1,
        ),
        convert_options=_conversion(format, carriers),
    )


def _conversion(format: CsvFormat, carriers: pa.Schema) -> pyarrow.csv.ConvertOptions:
    return pyarrow.csv.ConvertOptions(
        column_types=carriers,
        include_columns=carriers.names,
        null_values=[format.null_text],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        true_values=[
            spelling for word in _TRUE for spelling in {word, word.upper(), word.capitalize()}
        ],
        false_values=[
            spelling for word in _FALSE for spelling in {word, word.upper(), word.capitalize()}
        ],
    )


def _fit(values: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    """Text of a type that Arrow's reader does not have, converted to that type; other columns
    unchanged."""
    if values.type == type:
        return values
    if pa.types.is_null(values.type):
        return pa.chunked_array([pa.nulls(len(values), type)])
    if pa.types.is_binary(type):
        return pa.chunked_array(
            [[None if text is None else _bytea(text) for text in values.to_pylist()]], type
        )
    texts = values
    if pa.types.is_timestamp(type):
        has_zone = pc.match_substring_regex(values, r":\d\d(\.\d+)?\s*([zZ]|[+-]\d\d(:?\d\d)?)$")
        is_date = pc.match_substring_regex(values, r"^\s*\d+-\d+-\d+\s*$")
        suffix = pc.if_else(
            is_date, pa.scalar(" 00:00:00Z"), pc.if_else(has_zone, pa.scalar(""), pa.scalar("Z"))
        )
        values = pc.binary_join_element_wise(pc.utf8_trim_whitespace(values), suffix, "")
    try:
        return pc.cast(values, type)
    except pa.ArrowInvalid as error:
        if matched := re.match(
            r"Failed to parse string: '(.*)' as a scalar", str(error), re.DOTALL
        ):
            place = pc.index(values, matched[1]).as_py()
            raise ValueError(f"{INVALID}'{texts[place]}'") from error
        raise


def _bytea(text: str) -> bytes:
    """Bytes from PostgreSQL's hexadecimal form."""
    if not text.startswith("\\x"):
        raise ValueError(f'invalid bytea "{text[:40]}", expected \\x and hexadecimal digits')
    try:
        return bytes.fromhex(text[2:])
    except ValueError as error:
        raise ValueError(f'invalid bytea "{text[:40]}": {error}') from error
