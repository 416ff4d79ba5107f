"""A query means what it means to PostgreSQL: plans run on the small engine, texts on a real server,
over the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from fixtures.planning import World
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.string import TextLoader

from reclock.adapter.context.shown_values import ShownBatches
from reclock.adapter.context.texts import text_of, texts
from reclock.algebra.intervals import Interval
from reclock.algebra.object_ids import enum_rows, type_oid, type_rows
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.schema import arrow_schema
from reclock.compute.engines.duckdb import DuckDbEngine
from reclock.compute.engines.engine import Engine, TableInput
from reclock.compute.engines.spark import SparkEngine
from reclock.errors import ReclockError, UnsupportedSql
from reclock.plan.relational import collections
from reclock.sql.catalog.entries import EnumEntry
from reclock.sql.names import SessionNames
from reclock.sql.queries.views import expand
from reclock.sql.statements.query.values import Select
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one

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
    "grids": "n int, a int[][], c int[][][], x text[][], m numeric[][], s int[]",
    "amounts": "n int, m numeric, p numeric(10, 2), k bigint, s text",
    "moments": "n int, at timestamptz, l timestamp, d date, s text, i interval",
}
_M, _D = [Decimal("1.5"), None, Decimal("-20")], [1.5, None, 0.1]
MOOD = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'a b')"
MOODS = {"moods": "n int, m mood, s text"}
"""The table of the queries about enums."""
DOMAINS = (
    "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
    "CREATE DOMAIN small AS positive NOT NULL CONSTRAINT below CHECK (VALUE < 100)",
    "CREATE DOMAIN code AS varchar(3) CHECK (VALUE ~ '^[a-z]+$')",
    "CREATE DOMAIN price AS numeric(6, 2) CHECK (VALUE >= 0)",
    "CREATE DOMAIN fine AS mood CHECK (VALUE <> 'sad')",
    "CREATE DOMAIN pair AS int[] CHECK (cardinality(VALUE) < 3)",
)
GOODS = {"goods": "n int, a positive, c code, q price, m fine, p pair, s text, k int"}
"""The table of the queries about domains."""
CODES = {
    "codes": "n int, c char(3), d char(5), b bpchar, v varchar(5), w varchar, x text, a char(3)[]"
}
"""The table of the queries about ``char(n)``, which no other queries read."""
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


ANSWERS = (
    "same",
    "intervals",
    "bits",
    "recursive",
    "subqueries",
    "regexps",
    "functions_in_from",
    "outer_aggregates",
    "functions",
    "formats",
    "frames",
    "bytes",
    "read_numbers",
    "json_paths",
    "written_moments",
)
"""Files of queries that are compared."""
ON_SPARK = ("intervals", "bits", "regexps", "frames", "bytes", "read_numbers", "json_paths")
"""Those that both engines compute."""
NOT_ON_SPARK = (
    *("generate_series", "EXCLUDE", "nth_value(g, 1)", "RANGE BETWEEN '"),
    *("t::text", "greatest(ROW", "to_jsonb(array_agg", "greatest(a,", "to_jsonb(a)"),
)


def queries(name: str) -> list[str]:
    """The queries of ``answers/name.sql``, one a line."""
    return (Path(__file__).parent / "answers" / f"{name}.sql").read_text().splitlines()


@pytest.fixture(scope="module")
def server(postgres_server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA answers")
        connection.execute("SET search_path = answers; SET TimeZone = 'UTC'")
        connection.adapters.register_loader("interval", TextLoader)  # Python has no months
        for definition in (MOOD, *DOMAINS):
            connection.execute(definition)
        for name, columns in (COLUMNS | MOODS | GOODS | CODES).items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            for row in ROWS[name]:
                values = [str(value) if isinstance(value, Interval) else value for value in row]
                connection.execute(
                    f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", values
                )
        yield connection
        connection.execute("DROP SCHEMA answers CASCADE")


@pytest.fixture(scope="module")
def world() -> World:
    world = World()
    for definition in (MOOD, *DOMAINS):
        world.execute(definition)
    for name, columns in (COLUMNS | MOODS | GOODS | CODES).items():
        world.execute(f"CREATE TABLE {name} ({columns})")
    return world


@pytest.fixture(scope="module")
def engine() -> DuckDbEngine:
    return DuckDbEngine(threads=1)


@cache
def table(name: str, desc: RelationDesc) -> TableInput:
    rows = [dict(zip(desc.names, row, strict=True)) for row in ROWS[name]]
    return TableInput(pa.Table.from_pylist(rows, arrow_schema(desc, with_updates=False)))


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
    def value(each: Any) -> Any:
        if isinstance(each, Decimal | float) and not isinstance(each, bool):
            return "NaN" if each != each else round(float(each), 9)
        if isinstance(each, dict):
            return text_of(each)
        return tuple(map(value, each)) if isinstance(each, list) else each

    return tuple(value(each) for each in row)


@pytest.mark.parametrize("sql", [sql for name in ANSWERS for sql in queries(name)])
def test_a_query_means_what_it_means_to_postgresql(
    sql: str, server: psycopg.Connection, world: World, engine: DuckDbEngine
) -> None:
    cursor = server.execute(sql.encode())
    names = {each.oid: each.name for each in type_rows()} | {1043: "text"}
    types = [names.get(column.type_code, column.type_code) for column in cursor.description or ()]
    select = world.select(sql)
    desc = select.desc
    assert [names[type_oid(column.type)] for column in desc.columns] == types
    if "(WITH x AS" not in sql:  # the star of a subquery has no name here
        assert list(desc.names) == [column.name for column in cursor.description or ()]
    theirs = [comparable(row) for row in cursor.fetchall()]
    ours = [comparable(row) for row in answer(world, engine, select)]
    assert Counter(ours) == Counter(theirs)
    # so that it can be a view's definition
    parsed = parse_one(sql)
    assert parse_one(to_sql(parsed)) == parsed
    if "ORDER BY" in sql.rsplit(")", 1)[-1]:
        assert ours == theirs


def printed_answer(
    world: World, engine: Engine, select: Select, zone: str = "UTC"
) -> list[tuple[str | None, ...]]:
    types = select.desc.types
    rows: list[tuple[str | None, ...]] = []
    for batch in ShownBatches(run(world, engine, select), types):
        columns = [
            texts(column, type, zone).to_pylist()
            for column, type in zip(batch.columns, types, strict=False)
        ]
        rows += zip(*columns, strict=True)
    return rows


def printed_by_postgresql(cursor: psycopg.Cursor) -> list[tuple[str | None, ...]]:
    result = cursor.pgresult
    assert result is not None
    rows = [
        [result.get_value(row, place) for place in range(result.nfields)]
        for row in range(result.ntuples)
    ]
    return [tuple(None if raw is None else raw.decode() for raw in row) for row in rows]


@cache
def row_types(server: psycopg.Connection) -> dict[int, str]:
    """PostgreSQL's types that are no built-in ones: enums, and those of the rows of each table, which
    are records here."""
    rows = server.execute(
        "SELECT oid, typarray, CASE typtype WHEN 'c' THEN 'record' ELSE typname END FROM pg_type "
        "WHERE typtype IN ('c', 'e') AND typnamespace = 'answers'::regnamespace"
    ).fetchall()
    return {
        oid: name
        for oid, array_oid, type_name in rows
        for oid, name in ((oid, type_name), (array_oid, f"_{type_name}"))
    }


def enum_types(world: World) -> dict[int, str]:
    """The names of the world's enums, and of their arrays, by number."""
    entries = [entry for entry in world.catalog.entries() if isinstance(entry, EnumEntry)]
    return {row.oid: row.name for entry in entries for row in enum_rows(entry.enum)}


PRINTED_BY_BOTH = (
    *(
        "uuids",
        "numerics",
        "times",
        "held",
        "dimensions",
        "ranges_on_both",
        "records",
        "characters",
        "domains",
    ),
)
"""Files of queries whose printed values are compared, which both engines compute."""
PRINTED = (*PRINTED_BY_BOTH, "ranges")


@pytest.mark.parametrize("sql", [sql for name in (*PRINTED, "enums") for sql in queries(name)])
def test_values_are_printed_as_postgresql_prints_them(
    sql: str, server: psycopg.Connection, world: World, engine: DuckDbEngine
) -> None:
    cursor, select = server.execute(sql.encode()), world.select(sql)
    theirs = printed_by_postgresql(cursor)
    ours = printed_answer(world, engine, select)
    assert Counter(ours) == Counter(theirs)
    if "ORDER BY" in sql.rsplit(")", 1)[-1]:
        assert ours == theirs
    names = {each.oid: each.name for each in type_rows()} | {1043: "text"}
    theirs_by_oid = names | row_types(server)
    types = [theirs_by_oid.get(column.type_code) for column in cursor.description or ()]
    ours_by_oid = names | enum_types(world)
    assert [ours_by_oid[type_oid(column.type)] for column in select.desc.columns] == types
    assert list(select.desc.names) == [column.name for column in cursor.description or ()]


ZONE = "America/Los_Angeles"


@pytest.fixture
def abroad(server: psycopg.Connection, world: World) -> Iterator[psycopg.Connection]:
    """The server and the world in another time zone than UTC."""
    server.execute(f"SET TimeZone = '{ZONE}'")
    world.session = SessionNames(zone=ZONE)
    yield server
    server.execute("SET TimeZone = 'UTC'")
    world.session = SessionNames()


@pytest.mark.parametrize("sql", queries("zones"))
def test_moments_in_a_time_zone_are_those_of_postgresql(
    sql: str, abroad: psycopg.Connection, world: World, engine: DuckDbEngine
) -> None:
    theirs = printed_by_postgresql(abroad.execute(sql.encode()))
    assert Counter(printed_answer(world, engine, world.select(sql), ZONE)) == Counter(theirs)


@pytest.mark.spark
def test_moments_in_a_time_zone_are_the_same_on_both_engines(
    abroad: psycopg.Connection, world: World, engine: DuckDbEngine, spark_engine: SparkEngine
) -> None:
    for sql in (sql for sql in queries("zones") if " FROM moments" in sql):
        if "generate_series" in sql:  # by months: such a plan runs on DuckDB
            continue
        select = world.select(sql)
        ours = Counter(printed_answer(world, spark_engine, select, ZONE))
        assert ours == Counter(printed_answer(world, engine, select, ZONE)), sql


def test_quotients_are_printed_as_postgresql_prints_them(
    server: psycopg.Connection, world: World, engine: DuckDbEngine
) -> None:
    @given(
        st.lists(
            st.tuples(st.integers(-(10**18), 10**18), st.integers(1, 10**6)),
            min_size=1,
            max_size=30,
        )
    )
    @settings(max_examples=20)
    def agrees(pairs: list[tuple[int, int]]) -> None:
        known = [
            (a, b)
            for a, b in pairs
            if not any(10**n * b <= abs(a) < 2 * 10**n * b for n in range(0, 20, 4))
        ]
        # see decision 63 about the others
        values = ", ".join(f"({a}.0, {b})" for a, b in known if abs(a) > b)
        sql = f"SELECT a / b, (a / b)::text FROM (VALUES {values or '(7.0, 3)'}) AS pairs (a, b)"
        assert Counter(printed_answer(world, engine, world.select(sql))) == Counter(
            printed_by_postgresql(server.execute(sql.encode()))
        )

    agrees()


@pytest.mark.spark
@pytest.mark.parametrize("name", [*PRINTED_BY_BOTH, "enums"])
def test_types_are_the_same_on_both_engines(
    name: str, world: World, engine: DuckDbEngine, spark_engine: SparkEngine
) -> None:
    for sql in (sql for sql in queries(name) if " FROM " in sql):
        select = world.select(sql)
        theirs = Counter(printed_answer(world, engine, select))
        try:
            ours = Counter(printed_answer(world, spark_engine, select))
        except UnsupportedSql:  # such a plan runs on DuckDB
            assert any(part in sql for part in NOT_ON_SPARK)
            continue
        assert ours == theirs, sql


@pytest.mark.spark
def test_intervals_bytes_patterns_and_frames_are_the_same_on_both_engines(
    world: World, engine: DuckDbEngine, spark_engine: SparkEngine
) -> None:
    among = [sql for name in ON_SPARK for sql in queries(name)]
    for sql in (sql for sql in among if " FROM " in sql):  # others are constants
        select = world.select(sql)
        theirs = Counter(map(comparable, answer(world, engine, select)))
        try:
            ours = Counter(map(comparable, answer(world, spark_engine, select)))
        except UnsupportedSql:  # such a plan runs on DuckDB
            assert any(part in sql for part in NOT_ON_SPARK)
            continue
        assert ours == theirs, sql


@pytest.mark.parametrize("sql", queries("failing"))
def test_what_fails_for_postgresql_fails(
    sql: str, server: psycopg.Connection, world: World, engine: DuckDbEngine
) -> None:
    with pytest.raises(psycopg.Error) as theirs:
        server.execute(sql.encode()).fetchall()
    with pytest.raises(ReclockError) as ours:
        answer(world, engine, world.select(sql))
    if theirs.value.sqlstate != "42601":
        assert ours.value.sqlstate == theirs.value.sqlstate, (ours.value, theirs.value)


@pytest.mark.parametrize("sql", queries("refused"))
def test_what_means_nothing_to_postgresql_is_refused_when_planned_with_its_code(
    sql: str, server: psycopg.Connection, world: World
) -> None:
    with pytest.raises(psycopg.Error) as theirs:
        server.execute(sql.encode())
    with pytest.raises(ReclockError) as ours:
        world.plan(sql)
    assert ours.value.sqlstate[:2] == (theirs.value.sqlstate or "")[:2], (ours.value, theirs.value)


@pytest.mark.spark
@pytest.mark.parametrize("sql", queries("recursive")[3:16:4])
def test_a_recursion_on_spark_means_what_it_means_to_postgresql(
    sql: str, server: psycopg.Connection, world: World, spark_engine: Engine
) -> None:
    theirs = Counter(comparable(row) for row in server.execute(sql.encode()).fetchall())
    ours = answer(world, spark_engine, world.select(sql))
    assert Counter(map(comparable, ours)) == theirs


@pytest.mark.parametrize("sql", queries("refused_recursive"))
def test_a_recursion_that_postgresql_refuses_is_refused_in_its_words(
    sql: str, server: psycopg.Connection, world: World
) -> None:
    with pytest.raises(psycopg.Error) as theirs:
        server.execute(sql.encode())
    with pytest.raises(ReclockError) as ours:
        world.plan(sql)
    if theirs.value.sqlstate in ("42P19", "42804"):
        assert (ours.value.sqlstate, ours.value.message) == (
            theirs.value.sqlstate,
            theirs.value.diag.message_primary,
        )
    elif theirs.value.sqlstate == "0A000":
        assert ours.value.sqlstate == "0A000"
        assert str(theirs.value.diag.message_primary) in ours.value.message
    else:
        assert ours.value.sqlstate[:2] == (theirs.value.sqlstate or "")[:2], (
            ours.value,
            theirs.value,
        )
