"""What is read at once is what is read field by field, and everything else is left to that."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reclock.adapter.copy.reader import CopyReader
from reclock.algebra import relations as r
from reclock.errors import ReclockError
from reclock.sql.statements.copy.formats import LineFormat

TEXT = LineFormat(False, "\t", "\\N", False, '"', '"')
FORMATS = {
    "text": TEXT,
    "pipes": LineFormat(False, "|", "", True, '"', '"'),
    "csv": LineFormat(True, ",", "", False, '"', '"'),
    "header": LineFormat(True, ";", "NULL", True, '"', '"'),
    "odd": LineFormat(True, ",", "NA", False, "'", "\\"),
}
WRITTEN = {
    r.BOOLEAN: ["t", "false", "yes", "2", "TRUE"],
    r.SMALLINT: ["1", "-5", "+7", "32768", "0x1", "1.5", " 3", "007", "99999999999999999999"],
    r.BIGINT: ["0", "9223372036854775807", "9223372036854775808", "-1"],
    r.REAL: [
        "0.1",
        "1e3",
        "16777217",
        "NaN",
        "-inf",
        "1e-46",
        "3.4028236e38",
        "340282356779733661637539395458142568448",
    ],
    r.DOUBLE: ["0.1", "1e400", ".5", "5.", "-0", "1_000", "123456789.123456789"],
    r.numeric(6, 2): ["1.5", "1.005", "12345.6", "9999.99", "-0.01", "1e2", ""],
    r.TEXT: [
        "a",
        "",
        "\\N",
        "NULL",
        "NA",
        'x"y',
        '"',
        "'",
        "a\\tb",
        "\\.",
        "é",
        " a ",
        "\\",
        "\r",
        ",",
    ],
    r.BYTEA: ["\\x00ff", "\\\\x00ff", "abc"],
    r.UUID: [
        "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
        "a0eebc99",
    ],
    r.TIME: ["04:05:06", "4:05 pm", "25:00", "24:00"],
    r.INTERVAL: ["1 day", "1 mon -2 days", "soon", "P1Y"],
    r.array(r.INTEGER): ["{1,2}", "{}", "{1,NULL}", "1", "{x}"],
    r.DATE: ["2026-01-02", "2026-02-30", "0000-01-01", "0999-12-31", "2026-1-2", "20260102"],
    r.TIMESTAMP: [
        "2026-01-02 03:04:05",
        "2026-01-02T03:04:05.123456",
        "2026-01-02 24:00:00",
        "2026-01-02 03:04:60",
        "2026-01-02",
    ],
    r.TIMESTAMPTZ: [
        "2026-01-02 03:04:05+00",
        "2026-01-02 03:04:05.1Z",
        "2026-01-02 03:04:05+02",
        "2026-01-02 03:04:05",
    ],
}
types = st.sampled_from(list(WRITTEN))


def read(
    columns: Sequence[r.Column], format: LineFormat, data: bytes, cut: int, *, at_once: bool
) -> pa.Table | str:
    reader = CopyReader("t", columns, format, "UTC")
    if not at_once:
        reader._at_once = lambda lines: None
    try:
        parts = [
            part for at in range(0, len(data), cut) for part in reader.feed(data[at : at + cut])
        ]
        return pa.concat_tables([*parts, *reader.finish()]).combine_chunks()
    except ReclockError as error:
        return f"{error.sqlstate} {error} {error.detail}"


@pytest.mark.parametrize("name", FORMATS)
def test_both_ways_find_the_same(name: str) -> None:
    format = FORMATS[name]

    @st.composite
    def cases(draw):
        given_types = draw(st.lists(types, min_size=1, max_size=3))
        plain = draw(st.booleans())

        def field(type: r.ScalarType) -> str:
            text = draw(
                st.sampled_from([*(WRITTEN[type][:2] if plain else WRITTEN[type]), format.null])
            )
            is_quoted = format.is_csv and draw(st.integers(0, 3)) == 0
            return f'"{text.replace(chr(34), chr(34) * 2)}"' if is_quoted else text

        rows = draw(st.integers(0, 6))
        lines = [format.delimiter.join(field(type) for type in given_types) for _ in range(rows)]
        ending = draw(st.sampled_from(["\n", "\n", "\n", "\r\n"]))
        text = "".join(line + ending for line in lines)
        if draw(st.integers(0, 9)) == 0:
            text = draw(st.sampled_from(["\ufeff", "\n", '"', "\\.\n"])) + text
        return given_types, text.removesuffix("\n" if draw(st.booleans()) else "?").encode()

    @given(cases(), st.integers(1, 200))
    @settings(max_examples=300)
    def check(case, cut: int) -> None:
        given_types, data = case
        columns = [r.Column(f"c{i}", type) for i, type in enumerate(given_types)]
        at_once_rows, row_by_row = (
            read(columns, format, data, cut, at_once=at_once) for at_once in (True, False)
        )
        assert str(at_once_rows) == str(row_by_row)
        assert isinstance(at_once_rows, str) or repr(at_once_rows.to_pydict()) == repr(
            row_by_row.to_pydict()
        )

    check()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("text", b"1\ta\tt\n\\N\t\\N\tf\n-3\t\t\\N\n"),
        ("pipes", b"a|b|c\n1|x|true\n||\n"),
        ("csv", b'1,"a, ""b""\n",t\n,,f\n2,"",\n'),
        ("header", b"a;b;c\n1;NULL;t\nNULL;x;f\n"),
    ],
)
def test_what_is_written_plainly_is_read_at_once(name: str, data: bytes) -> None:
    reader = CopyReader(
        "t",
        [r.Column("a", r.INTEGER), r.Column("b", r.TEXT), r.Column("c", r.BOOLEAN)],
        FORMATS[name],
        "UTC",
    )
    batch_sizes: list[int] = []
    row = reader._row
    reader._row = lambda fields: batch_sizes.append(1) or row(fields)
    assert sum(part.num_rows for part in [*reader.feed(data), *reader.finish()]) == (
        3 if name in ("text", "csv") else 2
    )
    assert not batch_sizes


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "data",
    [
        "1,a,t\n\n2,b,f\n",
        "1,a,t\r\n2,b,f\n",
        '1,a"b,t\n2,"c\nd",f\n',
        '1,ab","c,t\n',
        '1,"a"x,t\n',
        "1,a\\tb,t\n",
        "1,\\N,t\n2,x\\Ny,f\n",
        "1,a,t\n\\.\n2,b,f\n",
        "1,a\n",
        "1,a,t,x\n",
        "1,\0,t\n",
    ],
)
def test_what_is_special_means_the_same_both_ways(name: str, data: str) -> None:
    format = FORMATS[name]
    columns = [r.Column("a", r.INTEGER), r.Column("b", r.TEXT), r.Column("c", r.BOOLEAN)]
    written = ("a,b,c\n" * format.has_header + data).replace(",", format.delimiter).encode()
    rows, meant = (
        read(columns, format, written, len(written), at_once=at_once) for at_once in (True, False)
    )
    assert str(rows) == str(meant)
    assert isinstance(rows, str) or rows.to_pydict() == meant.to_pydict()
