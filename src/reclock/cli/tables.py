"""Tables for people, printed while their rows arrive: the first rows decide the widths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TextIO

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console

from reclock.algebra.relations import RelationDesc

Row = Sequence[str | None]
Portion = Sequence[Row]

MEASURED_ROWS = 1 << 13
"""How many rows are read before the first is printed, if they come without a pause."""
_BORDERS = 3
"""The characters beside a cell: a line and two spaces."""


def print_table(desc: RelationDesc, portions: Iterable[Portion], to: TextIO) -> int:
    """Print the rows and return their number. An empty portion says that no more rows are known
    yet: those before it are printed.

    On a terminal a table is as wide as the terminal at most, and longer values are folded. In a
    file, a value that is longer than those of the first rows moves the rest of its line.
    """
    remaining = iter(portions)
    first = _measured(remaining)
    table = _Table(desc, first, to)
    count = 0
    if desc.columns:
        print(table.head, file=to)
    for portion in chain([first], remaining):
        count += len(portion)
        if desc.columns:
            to.writelines(table.lines(portion))
        if not portion:
            to.flush()
    if desc.columns:
        print(table.bottom, file=to)
    return count


def print_records(desc: RelationDesc, portions: Iterable[Portion], to: TextIO) -> int:
    """Print each row as lines of a column's name and its value, and return the number of rows. An
    empty portion says that no more rows are known yet: those before it are printed."""
    width = max(map(cell_len, desc.names), default=0)
    count = 0
    for portion in portions:
        for row in portion:
            count += 1
            print(f"-[ RECORD {count} ]-", file=to)
            for name, cell in zip(desc.names, row, strict=True):
                first, *others = _split(cell or "")
                print(f"{name}{_space(name, width)} | {first}".rstrip(), file=to)
                to.writelines(f"{' ' * width} | {line}\n" for line in others)
        if not portion:
            to.flush()
    return count


def _measured(portions: Iterator[Portion]) -> list[Row]:
    """The rows up to the first pause, ``MEASURED_ROWS`` and a portion at most."""
    rows: list[Row] = []
    for portion in portions:
        rows += portion
        if len(rows) >= MEASURED_ROWS or (rows and not portion):
            break
    return rows


class _Table:
    """How the rows of one table are printed."""

    def __init__(self, desc: RelationDesc, first: Portion, to: TextIO) -> None:
        self._is_right = [column.type.is_number for column in desc.columns]
        self._folds = to.isatty()
        console = Console(file=to)
        cells = zip(desc.names, *first, strict=True)
        self._widths = [max(map(_width, column)) for column in cells]
        if self._folds:
            self._widths = _narrowed(self._widths, console.width)
        look = box.ROUNDED.substitute(console.options) if self._folds else box.ASCII2
        spaced = [width + 2 for width in self._widths]
        self._edges = (f"{look.mid_left} ", f" {look.mid_vertical} ", f" {look.mid_right}\n")
        names = "".join(self._folded([self._cell_lines(*cell) for cell in enumerate(desc.names)]))
        self.head = f"{look.get_top(spaced)}\n{names}{look.get_row(spaced, 'head')}"
        self.bottom = look.get_bottom(spaced)

    def lines(self, portion: Portion) -> Iterator[str]:
        """The rows as they are printed, each with its borders and the end of its line."""
        columns = [
            ["" if cell is None else cell for cell in column]
            for column in zip(*portion, strict=True)
        ]
        if not columns:
            return
        if all(self._is_plain(*column) for column in enumerate(columns)):
            left, between, right = self._edges
            padded = [
                [cell.rjust(width) if is_right else cell.ljust(width) for cell in column]
                for column, width, is_right in zip(
                    columns, self._widths, self._is_right, strict=True
                )
            ]
            for row in zip(*padded, strict=True):
                yield left + between.join(row) + right
            return
        for row in zip(*columns, strict=True):
            yield from self._folded([self._cell_lines(*cell) for cell in enumerate(row)])

    def _is_plain(self, index: int, column: Sequence[str]) -> bool:
        """Whether each cell takes one line, and as much space as it has characters."""
        text = "".join(column)
        return (
            text.isascii()
            and text.isprintable()
            and (not self._folds or max(map(len, column)) <= self._widths[index])
        )

    def _cell_lines(self, index: int, cell: str) -> list[str]:
        width = self._widths[index]
        lines = _split(cell)
        if self._folds:
            lines = [part for line in lines for part in chop_cells(line, width) or [""]]
        return [
            f"{_space(line, width)}{line}" if self._is_right[index] else line + _space(line, width)
            for line in lines
        ]

    def _folded(self, cells: Sequence[list[str]]) -> Iterator[str]:
        left, between, right = self._edges
        blank = [" " * width for width in self._widths]
        for line in zip_longest(*cells):
            parts = [part or space for part, space in zip(line, blank, strict=True)]
            yield left + between.join(parts) + right


def _split(cell: str) -> list[str]:
    return [line.rstrip("\r").expandtabs() for line in cell.split("\n")]


def _width(cell: str | None) -> int:
    return max(map(cell_len, _split(cell or "")), default=0)


def _space(line: str, width: int) -> str:
    return " " * (width - cell_len(line))


def _narrowed(widths: list[int], total: int) -> list[int]:
    """The widths with as much taken from the widest columns as a terminal of ``total`` needs."""
    room = total - _BORDERS * len(widths) - 1
    narrowed = [min(width, max(1, total)) for width in widths]
    while sum(narrowed) > room and max(narrowed) > 1:
        narrowed[narrowed.index(max(narrowed))] -= 1
    return narrowed
