"""Results as the shell prints them: while rows arrive, in memory for a portion of them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pyarrow as pa
import pytest

from reclock.adapter.context.results import Result
from reclock.algebra.relations import (
    BOOLEAN,
    INTEGER,
    REAL,
    TEXT,
    Column,
    RelationDesc,
    array,
    numeric,
)
from reclock.cli.output import Format, print_result
from reclock.cli.tables import MEASURED_ROWS, Portion, print_table

TWO = RelationDesc((Column("id", INTEGER), Column("name", TEXT)))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(desc: RelationDesc, *portions: Portion, to: io.StringIO | None = None) -> list[str]:
    out = to or io.StringIO()
    print_table(desc, portions, out)
    return out.getvalue().splitlines()


def test_the_first_rows_decide_the_widths() -> None:
    first = [("7", "seven")] * MEASURED_ROWS
    lines = printed(TWO, first, [("123", "x"), ("5", None)], [("6", "longer")])
    assert lines[:4] == [
        "+----+-------+",
        "| id | name  |",
        "+----+-------+",
        "|  7 | seven |",
    ]
    assert lines[-4:] == [
        "| 123 | x     |",
        "|  5 |       |",
        "|  6 | longer |",
        "+----+-------+",
    ]


def test_small_portions_are_measured_together() -> None:
    assert printed(TWO, [("1", "a")], [("2", "much longer")]) == [
        "+----+-------------+",
        "| id | name        |",
        "+----+-------------+",
        "|  1 | a           |",
        "|  2 | much longer |",
        "+----+-------------+",
    ]


def test_rows_before_a_pause_are_printed_before_the_pause_ends() -> None:
    out = io.StringIO()

    def portions() -> Iterator[Portion]:
        yield [("1", "a")]
        yield []
        assert "|  1 | a    |" in out.getvalue()
        yield [("2", "b")]
        yield []
        assert "|  2 | b    |" in out.getvalue()

    assert print_table(TWO, portions(), out) == 2


def test_lines_tabs_and_wide_characters_keep_the_columns() -> None:
    assert printed(TWO, [("1", "a\nb"), ("2", "漢字\r\n"), ("3", "\tx")]) == [
        "+----+-----------+",
        "| id | name      |",
        "+----+-----------+",
        "|  1 | a         |",
        "|    | b         |",
        "|  2 | 漢字      |",
        "|    |           |",
        "|  3 |         x |",
        "+----+-----------+",
    ]


def test_a_table_is_not_wider_than_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    lines = printed(TWO, [("1", "abcdefghijklmnop")], [("2", "漢字" * 4)], to=Terminal())
    assert [len(line) for line in lines[:5]] == [20] * 5
    assert [line[1:-1].split("│")[-1].strip() for line in lines[3:-1]] == [
        "abcdefghijk",
        "lmnop",
        "漢字漢字漢",
        "字漢字",
    ]


def test_a_relation_without_columns_has_rows() -> None:
    rows = pa.RecordBatch.from_struct_array(pa.nulls(2, pa.struct([])))
    out = io.StringIO()
    print_result(Result("SELECT", RelationDesc(()), [rows]), Format.TABLE, to=out)
    assert out.getvalue() == "(2 rows)\n"


@pytest.mark.parametrize("format", Format)
def test_no_batch_is_taken_before_the_rows_before_it_are_printed(format: Format) -> None:
    out = io.StringIO()

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(4):
            before = out.getvalue()
            yield pa.record_batch({"n": pa.array([number] * MEASURED_ROWS, pa.int32())})
            assert len(out.getvalue()) > len(before)

    print_result(Result("SELECT", RelationDesc((Column("n", INTEGER),)), batches()), format, to=out)
    assert out.getvalue().count("3") >= MEASURED_ROWS


@pytest.mark.parametrize("is_text", [False, True], ids=["embedded", "remote"])
def test_json_has_numbers_truths_and_lists(is_text: bool) -> None:
    """The texts of a server are printed as the values of this process."""
    desc = RelationDesc(
        (
            Column("n", INTEGER),
            Column("r", REAL),
            Column("d", numeric(10, 2)),
            Column("b", BOOLEAN),
            Column("a", array(INTEGER)),
            Column("t", TEXT),
        )
    )
    values = [[3], [0.5], ["1.50"], [True], [[1, None]], [None]]
    texts = [["3"], ["0.5"], ["1.50"], ["t"], ["{1,NULL}"], [None]]
    types = [pa.int32(), pa.float32(), pa.decimal128(10, 2), pa.bool_(), pa.list_(pa.int32())]
    columns = (
        [pa.array(column, pa.large_string()) for column in texts]
        if is_text
        else [
            pa.array(column, pa.string()).cast(type)
            if pa.types.is_decimal(type)
            else pa.array(column, type)
            for column, type in zip(values, [*types, pa.string()], strict=True)
        ]
    )
    out = io.StringIO()
    batch = pa.RecordBatch.from_arrays(columns, list(desc.names))
    print_result(Result("SELECT", desc, [batch]), Format.JSON, to=out)
    assert json.loads(out.getvalue()) == {
        "n": 3,
        "r": 0.5,
        "d": "1.50",
        "b": True,
        "a": [1, None],
        "t": None,
    }
