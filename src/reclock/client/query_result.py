"""The result of a statement, in the forms that Python programs use."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reclock.adapter.context.results import python_values
from reclock.adapter.context.texts import text_of
from reclock.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

DISPLAYED_ROWS = 50
"""How many rows ``print`` and notebooks show of a result."""

_UNFOLDED = 1 << 20
"""A width in which no line is folded."""


def table_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of the table as Python values."""
    if not table.num_columns:
        return [()] * table.num_rows
    return list(zip(*(python_values(column) for column in table.columns), strict=True))


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """The table as a Polars frame. Raises ``ConfigurationError`` if Polars is not installed."""
    try:
        from polars import from_arrow
    except ImportError:
        raise ConfigurationError(
            "polars is not installed", hint="pip install polars, or use arrow() or pandas()"
        ) from None
    return from_arrow(table)


def html_table(table: pa.Table) -> str:
    """What a notebook displays: the first rows, as SQL writes their values."""
    return _html_rows(table, _count(table))


def text_table(table: pa.Table) -> str:
    """What ``print`` shows: the first rows, as SQL writes their values, however wide."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.ASCII2)
    for name, field in zip(table.column_names, table.schema, strict=True):
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        is_right = is_number or pa.types.is_decimal(field.type)
        grid.add_column(Text(name), justify="right" if is_right else "left")
    for values in _displayed(table):
        grid.add_row(*map(Text, values))
    text = StringIO()
    Console(file=text, width=_UNFOLDED).print(grid)
    return f"{text.getvalue()}({_count(table)})"


def html_head(head: pa.Table) -> str:
    """As ``html_table``, of the first rows of a relation: all of them, or more than are displayed,
    in which case the number of its rows is unknown."""
    if head.num_rows <= DISPLAYED_ROWS:
        return html_table(head)
    return _html_rows(head, f"the first {DISPLAYED_ROWS} rows")


class QueryResult:
    """The rows of a query, in memory, or the command tag of a statement that answers no rows. It
    can be read repeatedly."""

    def __init__(self, tag: str, table: pa.Table | None) -> None:
        self.tag = tag
        """What was done, such as ``INSERT 0 3``."""
        self._table = table if table is not None else pa.table({})

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order. A query may use a name twice."""
        return list(self._table.column_names)

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of Python values."""
        return table_rows(self._table)

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._table

    def pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self._table.to_pandas()

    def polars(self) -> pl.DataFrame:
        """The rows as a Polars frame. Raises ``ConfigurationError`` if Polars is not installed."""
        return polars_frame(self._table)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows())

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        if not self._table.num_columns:
            return f"<QueryResult {self.tag}>"
        return (
            f"<QueryResult of {len(self)} {'row' if len(self) == 1 else 'rows'}: "
            f"{', '.join(self.columns)}>"
        )

    def __str__(self) -> str:
        """``text_table`` of the rows, or the tag of a statement without rows."""
        return text_table(self._table) if self._table.num_columns else self.tag

    def _repr_html_(self) -> str:
        """``html_table`` of the rows, or the tag of a statement without rows."""
        if not self._table.num_columns:
            return f"<pre>{escape(self.tag)}</pre>"
        return html_table(self._table)


def _count(table: pa.Table) -> str:
    shown = f", the first {DISPLAYED_ROWS} shown" if table.num_rows > DISPLAYED_ROWS else ""
    return f"{table.num_rows} {'row' if table.num_rows == 1 else 'rows'}{shown}"


def _displayed(table: pa.Table) -> Iterator[list[str]]:
    """The texts of the first rows."""
    for row in table_rows(table.slice(0, DISPLAYED_ROWS)):
        yield ["NULL" if value is None else text_of(value) for value in row]


def _html_rows(table: pa.Table, caption: str) -> str:
    head = _html_row("th", table.column_names)
    body = "".join(_html_row("td", values) for values in _displayed(table))
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{caption}</p>"


def _html_row(cell: str, values: list[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(value)}</{cell}>" for value in values) + "</tr>"
