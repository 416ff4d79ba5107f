"""The output of results and errors: tables for people, CSV and JSON for programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, is_dataclass
from enum import StrEnum
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reclock.adapter.context.results import Result
from reclock.adapter.context.texts import text_of
from reclock.adapter.context.texts import writer as text_writer
from reclock.algebra.relations import RelationDesc
from reclock.errors import InvalidOption, ReclockError


class Format(StrEnum):
    TABLE = "table"
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


def error_lines(error: ReclockError) -> Iterator[str]:
    """The error as psql prints it: the message with its SQLSTATE, then detail and hint."""
    yield f"ERROR:  {error.sqlstate}: {error.message}"
    if error.detail:
        yield f"DETAIL:  {error.detail}"
    if error.hint:
        yield f"HINT:  {error.hint}"


def print_notice(message: str) -> None:
    print(f"NOTICE:  {message}", file=sys.stderr)


def print_result(result: Result, output: Format, *, to: TextIO | None = None) -> None:
    """Print rows in the requested format, or the command tag, to standard output by default."""
    to = to or sys.stdout
    if result.desc is None:
        if output is Format.TABLE:
            print(result.tag, file=to)
    elif output is Format.TABLE:
        count = _print_table(result.desc, result.rows(), to)
        print(f"({count} {'row' if count == 1 else 'rows'})", file=to)
    elif output is Format.CSV:
        writer = csv.writer(to, lineterminator="\n")
        writer.writerow(result.desc.names)
        writer.writerows(_texts(result.desc, row) for row in result.rows())
    else:
        for row in result.rows():
            print(
                json.dumps(
                    dict(zip(result.desc.names, row, strict=True)),
                    default=text_of,
                    ensure_ascii=False,
                ),
                file=to,
            )


def _texts(desc: RelationDesc, row: Sequence[Any]) -> list[str]:
    """NULL is empty."""
    writers = map(text_writer, desc.types)
    return [
        "" if value is None else write(value) for write, value in zip(writers, row, strict=True)
    ]


def _print_table(desc: RelationDesc, rows: Iterator[tuple[Any, ...]], to: TextIO) -> int:
    table = Table(box=box.ASCII2 if not to.isatty() else box.ROUNDED, header_style="bold")
    for column in desc.columns:
        table.add_column(
            Text(column.name), justify="right" if column.type.is_number else "left", overflow="fold"
        )
    count = 0
    for row in rows:
        table.add_row(*map(Text, _texts(desc, row)))
        count += 1
    width = None if to.isatty() else 10_000
    Console(file=to, width=width, highlight=False).print(table)
    return count
