"""Tables of each type, and files of queries over them that PostgreSQL answers too.

``answer`` gives a query's rows as Python values, ``printed_answer`` as the texts that clients see.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from fixtures.planning import World

from reclock.adapter.context.shown_values import ShownBatches
from reclock.adapter.context.texts import text_of, texts
from reclock.algebra.intervals import Interval
from reclock.algebra.relations import RelationDesc, ScalarType
from reclock.algebra.text_style import TextStyle
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.compute.engines.engine import Engine, TableInput
from reclock.plan.functions.sql_names import field_names
from reclock.plan.relational import collections
from reclock.sql.queries.views import expand
from reclock.sql.statements.query.values import Select

COLUMNS = {
    "t": (
        "a int, b text, c double precision, d numeric(10, 2), e timestamp, f boolean, g "
        "bigint NOT NULL"
    ),
    "u": "a int, b text, x date, z timestamptz",
    "w": "a int NOT NULL, y text",
    "nothing": "a int, b text",
    "ids": "n int, i uuid, s text",
    "clocks": "n int, c time, d date, s text",
    "held": (
        "n int, i interval, a int[], k bigint[], x text[], b boolean[], m numeric[], "
        "d double precision[]"
    ),
    "spans": (
        "n int, i int4range, b int8range, m numrange, d daterange, s tsrange, z tstzrange, "
        "x text, e int"
    ),
    "hosts": "n int, i inet, c cidr, m macaddr, s text, k int",
    "grids": "n int, a int[][], c int[][][], x text[][], m numeric[][], s int[]",
    "amounts": "n int, m numeric, p numeric(10, 2), k bigint, s text",
    "moments": "n int, at timestamptz, l timestamp, d date, s text, i interval",
}
OF_USERS_TYPES = {
    "moods": "n int, m mood, s text",
    "goods": "n int, a positive, c code, q price, m fine, p pair, s text, k int",
    "codes": (
        "n int, c char(3), d char(5), b bpchar, v varchar(5), w varchar, x text, a char(3)[]"
    ),
    "places": "n int, s spot, h home, l spot[], k int",
}
"""The tables of the queries about the types of users and ``char(n)``, which no other queries
read."""
DEFINITIONS = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'a b')",
    "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
    "CREATE DOMAIN small AS positive NOT NULL CONSTRAINT below CHECK (VALUE < 100)",
    "CREATE DOMAIN code AS varchar(3) CHECK (VALUE ~ '^[a-z]+$')",
    "CREATE DOMAIN price AS numeric(6, 2) CHECK (VALUE >= 0)",
    "CREATE DOMAIN fine AS mood CHECK (VALUE <> 'sad')",
    "CREATE DOMAIN pair AS int[] CHECK (cardinality(VALUE) < 3)",
    "CREATE TYPE spot AS (x int, y text)",
    "CREATE TYPE home AS (at spot, m mood, d date, q numeric(6, 2), a int[], f float8)",
)
"""Of the types of users."""
_M, _D = [Decimal("1.5"), None, Decimal("-20")], [1.5, None, 0.1]
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "t": [
        (1, "one", 1.5, Decimal("10.25"), datetime(2013, 1, 1, 5, 30), True, 10),
        (2, "two", -2.25, Decimal("-0.75"), datetime(2013, 2, 28, 23, 59, 59), False, 20),
        (2, "two", -2.25, Decimal("-0.75"), datetime(2013, 2, 28, 23, 59, 59), False, 20),
        (3, None, None, None, None, None, 30),
        (None, "none", 0.0, Decimal("0.00"), datetime(2014, 12, 31), True, 40),
        (5, "Five", 5.5, Decimal("7.10"), datetime(2013, 1, 1, 6), None, 50),
    ],
    "u": [
        (1, "one", date(2013, 1, 1), datetime(2013, 1, 1, tzinfo=UTC)),
        (2, "zwei", date(2013, 2, 28), datetime(2013, 6, 1, 12, tzinfo=UTC)),
        (2, "deux", None, None),
        (4, "four", date(2016, 2, 29), datetime(2016, 2, 29, 23, 30, tzinfo=UTC)),
        (None, None, date(2013, 1, 1), None),
    ],
    "w": [(1, "p"), (2, "q"), (7, None)],
    "nothing": [],
    "ids": [
        (1, "01234567-89ab-cdef-0123-456789abcdef", "{A0EEBC99-9C0B4EF8-BB6D6BB9-BD380A11}"),
        (2, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"),
        (3, "00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1"),
        (4, "ffffffff-ffff-ffff-ffff-ffffffffffff", None),
        (5, None, "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11"),
        (6, "01234567-89ab-cdef-0123-456789abcdef", "01234567-89ab-cdef-0123-456789ABCDEF"),
    ],
    "clocks": [
        (1, "04:05:06", date(2024, 2, 29), "4:05 PM"),
        (2, "04:05:06.5", date(2024, 2, 28), "040506.7"),
        (3, "00:00:00", None, "2024-01-01 23:59:59.9999999"),
        (4, "24:00:00", date(1999, 12, 31), "allballs"),
        (5, None, date(2024, 1, 1), None),
        (6, "23:59:59.999999", date(2024, 1, 1), " 12:30 am "),
    ],
    "held": [
        (
            1,
            Interval(1),
            [1, None, 3],
            [1, 2],
            ["a b", None, "", '"\\', "null"],
            [True, None],
            _M,
            _D,
        ),
        (2, Interval(0, 30), [1, None, 3], [], ["x"], [False], [], [0.0, 1e300]),
        (3, Interval(0, 29, 86_400_000_000), [], None, [], None, [Decimal(7)], [0.0, 1e300]),
        (4, Interval(0, 0, -1_500_000), [1], [2**62], None, [], None, []),
        (5, None, None, [1, 2], ["a b", None, "", '"\\', "null"], [True, None], _M, None),
        (6, Interval(13, -1, 1), [2, 1], [1], ["{", "}", ","], [True], [None], [float("nan")]),
    ],
    "hosts": [
        (1, "192.168.1.226/24", "192.168.1.0/24", "08:00:2b:01:02:03", "192.168.1.5", 1),
        (2, "192.168.1.226", "192.168.1.226/32", "08:00:2b:01:02:04", "10.1.2.3/8", 255),
        (3, "10.1.2.3/8", "10.0.0.0/8", "ff:ff:ff:ff:ff:ff", "0.0.0.0/0", -1),
        (4, "10.1.2.3/16", "10.1.0.0/16", "00:00:00:00:00:00", "255.255.255.255", 0),
        (5, "9.1.2.3/8", "0.0.0.0/0", None, "2001:DB8::8:800:200C:417A/64", 1000),
        (6, "2001:db8::1/32", "2001:db8::/32", "08:00:2b:01:02:03", "::ffff:1.2.3.4", 7),
        (7, "::ffff:1.2.3.4", "::/0", "a0:b1:c2:d3:e4:f5", "::1.2.3.4/100", 3),
        (8, "::1", "::1/128", "a0:b1:c2:d3:e4:f5", "0:0:1:0:0:1:0:0", 2),
        (9, None, None, None, None, None),
        (10, "192.168.1.226/24", "10.0.0.0/9", "08:00:2b:01:02:03", "10/8", 5),
    ],
    "spans": [
        (
            1,
            "[1,5)",
            "[-9223372036854775808,0)",
            "(1.5,2.25]",
            "[2024-01-01,2024-02-01)",
            '["2024-01-01 00:00:00","2024-01-01 12:30:00.5")',
            '["2024-01-01 00:00:00+00","2024-01-01 12:30:00.5+00"]',
            "[1,5]",
            3,
        ),
        (
            2,
            "[5,10)",
            "(,)",
            "[-2,-1.5)",
            "(,2024-01-15)",
            '("2024-01-01 00:00:00",)',
            '["2024-01-01 12:30:00+00",)',
            " ( 1 , 7 ] ",
            10,
        ),
        (3, "empty", "[0,1)", "[-10,100]", "empty", "empty", "(,)", "EMPTY", 1),
        (4, "[1,)", "[1,)", "[-2,-1.5]", "[2024-01-31,)", "(,)", None, "(,)", 1_000),
        (
            5,
            "(,5)",
            "empty",
            "(0.001,0.002)",
            "[2024-02-01,2024-03-01)",
            '["2024-01-01 12:30:00.5","2024-01-02 00:00:00"]',
            "empty",
            "(2,2)",
            None,
        ),
        (6, None, None, None, None, None, None, None, 4),
        (7, "[1,5)", "[0,1)", "(1.5,)", "[2024-01-01,2024-02-01)", None, None, "[,3)", -5),
        (8, "[1,3)", "[0,2)", "[1.5,2.25]", "(,)", None, None, '["4","5"]', 0),
    ],
    "grids": [
        (
            1,
            [[1, 2], [3, 4]],
            [[[1, 2], [3, 4]], [[5, 6], [7, None]]],
            [["a b", None], ["", '"\\']],
            [list(_M), list(_M)],
            [1, 2],
        ),
        (2, [[1, 2], [3, None]], [[[1], [2]]], [["x", "NULL", "null"]], [[Decimal(7)]], [3, 4]),
        (3, [], [], [], [], []),
        (4, None, None, None, None, None),
        (5, [[1], [5]], [[[1]], [[5]]], [["{"], ["}"], [","]], [[None]], [1]),
        (6, [[1, 2]], [], [["x"]], None, [1, 2]),
        (7, [[1, 2], [3, 4]], [[[1, 2, 3, 4]]], [["a b", None], ["", '"\\']], [_M], None),
        (8, [[1], [2], [3], [4]], [[[1], [2], [3], [4]]], [["x", "y"]], [[Decimal(7)]], [5]),
    ],
    "amounts": [
        (1, Decimal("0.5"), Decimal("0.50"), 10, "0.25"),
        (2, Decimal("12.125"), Decimal("-3.10"), 3, "100"),
        (3, Decimal("-100"), Decimal("100.00"), 7, "-7.125"),
        (4, Decimal("1234567890123456789.000000001"), Decimal("99999999.99"), 10**15, " 3e-4 "),
        (5, None, None, None, None),
        (6, Decimal("0"), Decimal("0.00"), 1, "0"),
    ],
    "codes": [
        (1, "a", "a", "a", "a  ", "a", "a  ", ["a", "b"]),
        (2, "abc", "abc", "abc", "abc", "abc", "abc", [None, "abc"]),
        (3, None, "b", None, None, "b ", "a", None),
        (4, "a", "x", "ab", "a", " a", "a", []),
        (5, " a", "äöü", "", "", "äöü  ", "", [""]),
        (6, "", "", "zz", "zz ", None, None, ["zz"]),
        (7, "a\t", "a_c", "a", "a\t", "a%", "a%", ["a", "a"]),
    ],
    "goods": [
        (1, 1, "abc", Decimal("1.50"), "ok", [1, 2], "5", 0),
        (2, 99, "a", Decimal("0.00"), "happy", [], "7", 1),
        (3, None, None, None, None, None, None, 2),
        (4, 2, "ab", Decimal("9999.99"), "a b", [None], "100", 99),
    ],
    "places": [
        (
            1,
            (1, "a"),
            ((1, 'b "c"'), "ok", date(2024, 2, 29), _M[0], [1, None], 1.5),
            [(1, "a")],
            1,
        ),
        (2, (1, None), (None, "sad", None, None, [], float("nan")), [(2, ""), None], 2),
        (3, (None, None), (None, None, None, None, None, None), [], 3),
        (4, None, None, None, 4),
        (5, (2, "a,b"), ((1, None), "happy", date(1999, 1, 1), _M[2], [1], -0.5), [(1, "a")], 5),
        (6, (1, "a"), ((1, 'b "c"'), "ok", date(2024, 2, 29), _M[0], [1, None], 1.5), None, 6),
        (7, (-3, "a\\b"), ((0, ""), "a b", None, None, None, None), [(None, "x"), (0, "")], 7),
    ],
    "moods": [
        (1, "sad", "ok"),
        (2, "happy", "sad"),
        (3, "ok", "bad"),
        (4, None, None),
        (5, "a b", "OK"),
        (6, "ok", "ok"),
    ],
    "moments": [
        (
            1,
            datetime(2022, 1, 1, 8, tzinfo=UTC),
            datetime(2022, 1, 1),
            date(2022, 1, 1),
            "2022-03-13 02:30:00",
            Interval(0, 1),
        ),
        # two moments with one local time, where clocks are set back
        (
            2,
            datetime(2023, 11, 5, 8, 40, tzinfo=UTC),
            datetime(2023, 11, 5, 1, 40),
            date(2023, 11, 5),
            "2023-11-05 01:40:00-07",
            Interval(1, 2, 10_800_000_000),
        ),
        (
            3,
            datetime(2023, 11, 5, 9, 40, tzinfo=UTC),
            datetime(2023, 3, 12, 2, 30),
            None,
            "2023-07-01 00:00:00Z",
            Interval(0, 0, 90_000_000_000),
        ),
        (
            4,
            datetime(1970, 1, 1, tzinfo=UTC),
            datetime(1969, 12, 31, 16),
            date(1970, 1, 1),
            "1969-07-01",
            Interval(0, -1, -5_400_000_000),
        ),
        (
            5,
            datetime(2023, 3, 12, 9, 59, 59, 500_000, tzinfo=UTC),
            datetime(2024, 2, 29, 23, 59, 59, 500_000),
            date(2024, 2, 29),
            " 2024-02-29 12:00:00.5 +05:30 ",
            Interval(-1, 30, 1),
        ),
        (6, None, None, None, None, None),
    ],
}

ANSWERED_BY_BOTH = (
    "bits",
    "bytes",
    "frames",
    "intervals",
    "json_paths",
    "many",
    "ordered_sets",
    "read_numbers",
    "regexps",
)
"""Files of queries whose values are compared, which both engines compute."""
ANSWERED = (
    *ANSWERED_BY_BOTH,
    "formats",
    "functions",
    "functions_in_from",
    "outer_aggregates",
    "recursive",
    "same",
    "subqueries",
    "written_moments",
)
PRINTED_BY_BOTH = (
    "characters",
    "composites",
    "dimensions",
    "domains",
    "enums",
    "held",
    "networks",
    "numerics",
    "ranges_on_both",
    "records",
    "times",
    "uuids",
)
"""Files of queries whose printed values are compared, which both engines compute."""
PRINTED = (*PRINTED_BY_BOTH, "ranges")
ZONE = "America/Los_Angeles"
"""The time zone of the queries in ``zones``."""
NOT_ON_SPARK = (
    *("generate_series", "EXCLUDE", "nth_value(g, 1)", "RANGE BETWEEN '"),
    *("t::text", "greatest(ROW", "to_jsonb(array_agg", "greatest(a,", "to_jsonb(a)"),
)


def queries(name: str) -> list[str]:
    """The queries of ``answers/name.sql``, one a line."""
    return (Path(__file__).parent / "answers" / f"{name}.sql").read_text().splitlines()


def new_world() -> World:
    """A catalog of the tables and their types."""
    world = World()
    for definition in DEFINITIONS:
        world.execute(definition)
    for name, columns in (COLUMNS | OF_USERS_TYPES).items():
        world.execute(f"CREATE TABLE {name} ({columns})")
    return world


@cache
def table(name: str, desc: RelationDesc) -> TableInput:
    rows = [
        {
            column.name: _as_stored(value, column.type)
            for column, value in zip(desc.columns, row, strict=True)
        }
        for row in ROWS[name]
    ]
    return TableInput(pa.Table.from_pylist(rows, arrow_schema(desc, with_updates=False)))


def _as_stored(value: Any, type: ScalarType) -> Any:
    """A record as the struct that the lake has; any other value itself."""
    if isinstance(value, list) and type.element is not None:
        return [_as_stored(item, type.element) for item in value]
    if not isinstance(value, tuple) or not type.fields:
        return value
    fields = zip(field_names(type), value, type.fields, strict=True)
    return {name: _as_stored(item, field.type) for name, item, field in fields}


def run(world: World, engine: Engine, select: Select) -> Iterator[pa.RecordBatch]:
    plan = expand(select.plan, world.catalog)
    inputs = {}
    for collection in collections(plan):
        entry = world.catalog.relation(collection.source_id)
        inputs[collection] = table(entry.name.item, entry.desc)
    yield from engine.run(plan, select.finishing, inputs, Timestamp(0)).batches


def answer(world: World, engine: Engine, select: Select) -> list[tuple[Any, ...]]:
    batches = list(run(world, engine, select))
    return [
        row
        for batch in batches
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


def comparable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    def value(item: Any) -> Any:
        if isinstance(item, Decimal | float) and not isinstance(item, bool):
            return "NaN" if item != item else round(float(item), 9)
        if isinstance(item, dict):
            return text_of(item)
        return tuple(map(value, item)) if isinstance(item, list) else item

    return tuple(value(each) for each in row)


def printed_answer(
    world: World, engine: Engine, select: Select, zone: str = "UTC"
) -> list[tuple[str | None, ...]]:
    types = select.desc.types
    rows: list[tuple[str | None, ...]] = []
    for batch in ShownBatches(run(world, engine, select), types):
        columns = [
            texts(column, type, TextStyle(zone)).to_pylist()
            for column, type in zip(batch.columns, types, strict=False)
        ]
        rows += zip(*columns, strict=True)
    return rows
