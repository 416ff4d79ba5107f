"""The output of results and errors: tables for people, CSV and JSON for programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from enum import StrEnum
from itertools import repeat
from typing import TYPE_CHECKING, Any, TextIO

from reclock.adapter.context.results import Result, slices
from reclock.adapter.context.texts import text_of, texts
from reclock.algebra.relations import RelationDesc, ScalarType, TypeName
from reclock.cli.tables import Portion, print_records, print_table
from reclock.errors import InvalidOption, ReclockError
from reclock.sql.queries.literals import read_array

if TYPE_CHECKING:
    from reclock.runtime.environment import Environment


class Format(StrEnum):
    TABLE = "table"
    EXPANDED = "expanded"
    CSV = "csv"
    JSON = "json"

    @classmethod
    def named(cls, name: str) -> Format:
        try:
            return cls(name)
        except ValueError:
            raise InvalidOption(
                f'unknown format "{name}"', hint=f"one of {', '.join(cls)}"
            ) from None


def print_json(value: object) -> None:
    """Print one line of JSON. A dataclass becomes an object of its fields."""
    print(json.dumps(value, default=_plain, ensure_ascii=False), flush=True)


def _plain(value: Any) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def error_lines(error: ReclockError, statements: str = "") -> Iterator[str]:
    """The error as psql prints it: the message with its SQLSTATE, the line of the ``statements``
    where the error is, then detail and hint."""
    yield f"ERROR:  {error.sqlstate}: {error.message}"
    if statements and error.position is not None:
        yield from _line_of(statements, error.position - 1)
    if error.detail:
        yield f"DETAIL:  {error.detail}"
    if error.hint:
        yield f"HINT:  {error.hint}"


def _line_of(statements: str, offset: int) -> Iterator[str]:
    """The line with the character at ``offset``, and a mark below that character."""
    before, after = statements[:offset], statements[offset:]
    *earlier, start = before.split("\n")
    number = f"LINE {len(earlier) + 1}: "
    yield number + start + after.split("\n")[0]
    yield " " * len(number) + "".join("\t" if c == "\t" else " " for c in start) + "^"


def print_notice(message: str) -> None:
    print(f"NOTICE:  {message}", file=sys.stderr)


def print_replicas(environment: Environment) -> None:
    """A notice about each replica that was started for this command, and outlives it."""
    linger_s = environment.stores.settings.replica_linger_ms / 1000
    for started in environment.control_plane.replica_processes():
        print_notice(
            f'the replica "{started.replica}" was started for this command and goes on as process '
            f"{started.pid}; it ends when nobody has needed it for {linger_s:g} s"
        )


def print_result(result: Result, output: Format, *, to: TextIO | None = None) -> None:
    """Print rows in the requested format, or the command tag, to standard output by default. Rows
    are printed as they arrive and not kept."""
    to = to or sys.stdout
    if result.desc is None:
        if output in (Format.TABLE, Format.EXPANDED):
            print(result.tag, file=to)
        return
    portions = _portions(result, result.desc)
    match output:
        case Format.TABLE:
            count = print_table(result.desc, portions, to)
            print(f"({count} {'row' if count == 1 else 'rows'})", file=to)
        case Format.EXPANDED:
            count = print_records(result.desc, portions, to)
            print(f"({count} {'row' if count == 1 else 'rows'})", file=to)
        case Format.CSV:
            writer = csv.writer(to, lineterminator="\n")
            writer.writerow(result.desc.names)
            for portion in portions:
                writer.writerows(portion)
                _flush_at_pause(portion, to)
        case Format.JSON:
            for portion in portions:
                to.writelines(_json_lines(result.desc, portion))
                _flush_at_pause(portion, to)


def _flush_at_pause(portion: Portion, to: TextIO) -> None:
    if not portion:
        to.flush()


def _portions(result: Result, desc: RelationDesc) -> Iterator[Portion]:
    """The texts of the rows, and an empty portion if no more are known yet."""
    for batch in result.batches:
        if not batch.num_rows:
            yield []
        for part in slices(batch):
            columns = map(texts, part.columns, desc.types, repeat(result.style))
            rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
            yield rows or [()] * part.num_rows


def _json_lines(desc: RelationDesc, portion: Portion) -> Iterator[str]:
    readers = [_json_reader(type) for type in desc.types]
    for row in portion:
        values = [
            None if text is None else read(text) for read, text in zip(readers, row, strict=True)
        ]
        line = dict(zip(desc.names, values, strict=True))
        yield json.dumps(line, default=text_of, ensure_ascii=False) + "\n"


def _json_reader(type: ScalarType) -> Callable[[str], object]:
    """Reads the text of a value that JSON has as more than a text."""
    if type.is_integer or type.is_object_id:
        return int
    if type.is_float:
        return float
    match type.name:
        case TypeName.BOOLEAN:
            return "t".__eq__
        case TypeName.VECTOR:
            return lambda text: list(map(int, text.split()))
        case TypeName.ARRAY:
            return lambda text: read_array(text, type)[0]
    return str
