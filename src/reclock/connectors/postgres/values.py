"""Converts rows of a PostgreSQL table from the texts of their values. If a value does not fit, the
error names its table and row."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from reclock.algebra.relations import Column, RelationDesc
from reclock.connectors.postgres.pgoutput import Numbers, Texts
from reclock.connectors.postgres.types import to_array
from reclock.errors import OutputFailed

_SHOWN_CHARACTERS = 80
"""The longest part of a value that an error shows."""


def convert(
    table: str, desc: RelationDesc, texts: Sequence[Texts], lsns: Numbers
) -> list[pa.Array]:
    """The columns of ``desc`` from the texts of their values. The commit record of row ``i`` is at
    ``lsns[i]``; 0 means that the row was copied.

    Raises ``OutputFailed`` for the first row of the first column with a value that does not fit.
    """
    arrays = []
    for column, text in zip(desc.columns, texts, strict=True):
        try:
            arrays.append(to_array(text(0, len(lsns)), column.type))
        except ValueError:
            raise _misfit(table, desc, texts, column, lsns) from None
    return arrays


def _misfit(
    table: str, desc: RelationDesc, texts: Sequence[Texts], column: Column, lsns: Numbers
) -> OutputFailed:
    text = texts[desc.names.index(column.name)]
    row = _first_misfit(column, text, len(lsns))
    identifying = desc.key or desc.names
    columns = [
        (name, values)
        for name, values in zip(desc.names, texts, strict=True)
        if name in identifying
    ]
    row_values = ", ".join(f"{name} = {_display(values, row)}" for name, values in columns)
    where = (
        f"committed at LSN {lsns[row] >> 32:X}/{lsns[row] & 0xFFFFFFFF:X}"
        if lsns[row]
        else "copied from the table"
    )
    return OutputFailed(
        f'table "{table}", column "{column.name}": {column.type} cannot hold {_display(text, row)}',
        detail=f"in the row with {row_values}, {where}",
    )


def _first_misfit(column: Column, text: Texts, count: int) -> int:
    lower, upper = 0, count
    while upper - lower > 1:  # the first misfit is in [lower, upper)
        middle = (lower + upper) // 2
        try:
            to_array(text(lower, middle - lower), column.type)
            lower = middle
        except ValueError:
            upper = middle
    return lower


def _display(text: Texts, row: int) -> str:
    try:
        [value] = text(row, 1).to_pylist()
    except ValueError:
        return "a text that is not UTF-8"
    if value is None:
        return "NULL"
    return value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…"
