"""What client libraries send and expect beyond plain queries: binary COPY, declared types, arrays
of object ids."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)

import asyncpg
import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa
from fixtures.server import SqlServer
from psycopg import pq
from psycopg.types.range import Range, RangeInfo

VARCHAR, VARCHAR_ARRAY, BPCHAR, NAME, INT8, UNKNOWN, TEXT = 1043, 1015, 1042, 19, 20, 705, 25


@pytest.fixture
def table(sql_server: SqlServer) -> Iterator[psycopg.Connection]:
    with sql_server.connect() as connection:
        connection.execute(
            "CREATE TABLE binary_rows (id bigint NOT NULL, name text, price numeric(10, 2))"
        )
        yield connection
        connection.execute("DROP TABLE binary_rows")


def test_psycopg_copies_both_ways_in_binary(table: psycopg.Connection) -> None:
    rows = [(n, None if n % 7 == 0 else f"é{n}", Decimal(n) / 4) for n in range(1000)]
    with table.cursor().copy("COPY binary_rows FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int8", "text", "numeric"])
        for row in rows:
            copy.write_row(row)
    with table.cursor().copy(
        "COPY (SELECT * FROM binary_rows ORDER BY id) TO STDOUT (FORMAT BINARY)"
    ) as copy:
        copy.set_types(["int8", "text", "numeric"])
        assert list(copy.rows()) == rows


def test_asyncpg_copies_records_and_asks_for_types(
    sql_server: SqlServer, table: psycopg.Connection
) -> None:
    async def use() -> tuple[object, ...]:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=sql_server.port, user="reclock", database="reclock"
        )
        try:
            tag = await connection.copy_records_to_table(
                "binary_rows", records=[(1, "a", Decimal("1.50")), (2, None, None)]
            )
            rows = [
                tuple(row)
                for row in await connection.fetch("SELECT * FROM binary_rows ORDER BY id")
            ]
            types = await connection.fetch(
                "SELECT typname FROM pg_type WHERE oid = ANY ($1::oid[]) ORDER BY 1", [16, 23]
            )
            return tag, rows, [name for (name,) in types]
        finally:
            await connection.close()

    assert asyncio.run(use()) == (
        "COPY 2",
        [(1, "a", Decimal("1.50")), (2, None, None)],
        ["bool", "int4"],
    )


RECORDS = """SELECT ROW(n, 'a "b"', NULL, ARRAY[n, NULL]) AS r, ARRAY[(n, 'x'), (n + 1, NULL)] AS many,
x AS whole FROM (SELECT n, n > 1 AS is_more FROM generate_series(1, 2) AS n) AS x ORDER BY n"""


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_records(table: psycopg.Connection, binary: bool) -> None:
    cursor = table.cursor(binary=binary)
    rows = cursor.execute(RECORDS).fetchall()
    assert [column.type_code for column in cursor.description or ()] == [2249, 2287, 2249]
    if binary:
        assert rows == [
            ((1, 'a "b"', None, [1, None]), [(1, "x"), (2, None)], (1, False)),
            ((2, 'a "b"', None, [2, None]), [(2, "x"), (3, None)], (2, True)),
        ]
    else:  # the text of a record does not say the types of its fields
        assert rows == [
            (("1", 'a "b"', None, "{1,NULL}"), [("1", "x"), ("2", None)], ("1", "f")),
            (("2", 'a "b"', None, "{2,NULL}"), [("2", "x"), ("3", None)], ("2", "t")),
        ]


def test_asyncpg_reads_records(sql_server: SqlServer) -> None:
    async def use() -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=sql_server.port, user="reclock", database="reclock"
        )
        try:
            rows = await connection.fetch(RECORDS.replace("ARRAY[n, NULL]", "n + 0.5"))
            return [(tuple(r), list(map(tuple, many)), tuple(whole)) for r, many, whole in rows]
        finally:
            await connection.close()

    assert asyncio.run(use()) == [
        ((1, 'a "b"', None, Decimal("1.5")), [(1, "x"), (2, None)], (1, False)),
        ((2, 'a "b"', None, Decimal("2.5")), [(2, "x"), (3, None)], (2, True)),
    ]


def test_the_catalog_has_the_type_of_records(table: psycopg.Connection) -> None:
    types = table.execute(
        "SELECT oid::int, typname, typtype, typcategory, typlen, typelem::int, typarray::int FROM pg_type "
        "WHERE typname LIKE '%record' ORDER BY oid"
    ).fetchall()
    assert types == [
        (2249, "record", "p", "P", -1, 0, 2287),
        (2287, "_record", "p", "P", -1, 2249, 0),
    ]
    names = table.execute(
        "SELECT pg_typeof(ROW(1, 2))::text, pg_typeof(ARRAY[(1, 2)])::text, format_type(2249, -1), "
        "pg_typeof((ROW(1, 2.5)).f2)::text"
    ).fetchall()
    assert names == [("record", "record[]", "record", "numeric")]


def test_asyncpg_sends_and_reads_arrays(sql_server: SqlServer) -> None:
    """It looks their types up with a recursive query over pg_type, of which one in a subquery names
    the query around it."""

    async def use() -> list[object]:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=sql_server.port, user="reclock", database="reclock"
        )
        try:
            return [
                await connection.fetchval(
                    "SELECT array_agg(n ORDER BY n) FROM numbers WHERE n = ANY ($1::int[])",
                    [3, 1, 7],
                ),
                await connection.fetchval("SELECT $1::bigint[]", [1, None, 2**40]),
                await connection.fetchval("SELECT $1::numeric[]", [Decimal("1.5"), None]),
                await connection.fetchval("SELECT $1::timestamp[]", [datetime(2024, 2, 29, 12)]),
                await connection.fetchval("SELECT $1::boolean[]", [True, False]),
                await connection.fetchval("SELECT $1::int[]", [[1, 2], [3, None]]),
                await connection.fetchval("SELECT $1 || ARRAY[[5, 6]]", [[1, 2]]),
            ]
        finally:
            await connection.close()

    expected = [
        [1, 3, 7],
        [1, None, 2**40],
        [Decimal("1.5"), None],
        [datetime(2024, 2, 29, 12)],
        [True, False],
        [[1, 2], [3, None]],
        [[1, 2], [5, 6]],
    ]
    assert asyncio.run(use()) == expected


def test_a_pool_of_asyncpg_gives_back_connections_as_new(sql_server: SqlServer) -> None:
    """Its reset says ``SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL``, as far
    as the server says it may."""

    async def use() -> list[object]:
        where = {
            "host": "127.0.0.1",
            "port": sql_server.port,
            "user": "reclock",
            "database": "reclock",
        }
        answers: list[object] = []
        async with asyncpg.create_pool(**where, min_size=1, max_size=2) as pool:
            async with pool.acquire() as connection:
                await connection.execute("SET search_path = nowhere")
                async with connection.transaction():
                    answers.append(
                        [
                            n
                            async for (n,) in connection.cursor(
                                "SELECT n FROM public.numbers ORDER BY n LIMIT 3"
                            )
                        ]
                    )
            answers.append(
                await asyncio.gather(
                    *(
                        pool.fetchval("SELECT max(n) FROM numbers WHERE n < $1", n)
                        for n in (5, 7, 9)
                    )
                )
            )
            await pool.execute("UNLISTEN *")
        return answers

    assert asyncio.run(use()) == [[1, 2, 3], [4, 6, 8]]


@pytest.mark.parametrize("how", ["append", "replace", "fail"])
@pytest.mark.parametrize("method", [None, "multi"])
def test_pandas_writes_and_reads_a_table(
    sql_server: SqlServer, how: str, method: str | None
) -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "name": ["ada", None, "Ünal"],
            "share": [0.5, float("nan"), -1e300],
            "is_new": [True, False, True],
            "at": [pd.Timestamp("2013-01-01 05:30"), None, pd.Timestamp("2014-12-31 23:59:59.5")],
        }
    )
    engine = sa.create_engine(f"postgresql+psycopg://reclock@127.0.0.1:{sql_server.port}/reclock")
    try:
        if how == "replace":
            frame.assign(more="x").to_sql("framed", engine, index=False)
        frame.to_sql("framed", engine, index=False, if_exists=how, method=method)
        read = pd.read_sql("SELECT * FROM framed ORDER BY id", engine)
        whole = pd.read_sql_table("framed", engine).sort_values("id", ignore_index=True)
        for found in (read, whole):
            pd.testing.assert_frame_equal(found, frame, check_dtype=False)
        with pytest.raises(ValueError, match="already exists"):
            frame.to_sql("framed", engine, index=False)
    finally:
        engine.dispose()
        with sql_server.connect() as connection:
            connection.execute("DROP TABLE framed")


@pytest.mark.parametrize("number", ["1E-39", "0.1E-60", "1E+38"])
def test_a_numeric_parameter_has_38_digits_at_most(sql_server: SqlServer, number: str) -> None:
    with (
        sql_server.connect() as connection,
        pytest.raises(psycopg.errors.NumericValueOutOfRange, match="38 digits at most"),
    ):
        connection.execute("SELECT %b::numeric", [Decimal(number)])


def test_parameters_of_functions_with_side_effects_have_their_types(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection:
        connection.pgconn.prepare(
            b"calls",
            b"SELECT pg_terminate_backend($1, $2), set_config('app.x', $3, $4), pg_sleep($5)",
        )
        described = connection.pgconn.describe_prepared(b"calls")
        assert [described.param_type(i) for i in range(described.nparams)] == [23, 20, 25, 16, 701]


def test_the_columns_of_an_answer_have_their_lengths(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection:
        connection.execute("CREATE TABLE sized (a varchar(10), b char(3), c text, d varchar)")
        connection.execute(
            "CREATE VIEW sized_view AS SELECT b AS e, x.a FROM sized x LEFT JOIN numbers "
            "ON a = name"
        )
        try:
            for query, expected in {
                "SELECT * FROM sized": [(VARCHAR, 10), (BPCHAR, 3), (TEXT, None), (TEXT, None)],
                "SELECT * FROM sized_view WHERE e <> '' ORDER BY 2 LIMIT 3": [
                    (BPCHAR, 3),
                    (VARCHAR, 10),
                ],
                "SELECT a || '', DISTINCTED.b FROM (SELECT DISTINCT a, b FROM sized) distincted": [
                    (TEXT, None),
                    (BPCHAR, 3),
                ],
                "SELECT a FROM sized UNION ALL SELECT a FROM sized_view": [(VARCHAR, 10)],
                "SELECT a FROM sized UNION ALL SELECT b FROM sized": [(TEXT, None)],
                "SELECT max(a), b FROM sized GROUP BY b": [(TEXT, None), (BPCHAR, 3)],
            }.items():
                described = connection.execute(query).description or ()
                assert [
                    (column.type_code, column.display_size) for column in described
                ] == expected, query
            connection.execute("CREATE TABLE copy_of AS SELECT a, b, c FROM sized")
            columns_query = """SELECT column_name, data_type, character_maximum_length, udt_name, format_type(atttypid, atttypmod)
                FROM information_schema.columns, pg_attribute JOIN pg_class ON pg_class.oid = attrelid
                WHERE relname = table_name AND attname = column_name
                AND table_name IN ('sized', 'sized_view', 'copy_of') ORDER BY table_name, ordinal_position"""
            a = ("a", "character varying", 10, "varchar", "character varying(10)")
            b = ("b", "character", 3, "bpchar", "character(3)")
            c = ("c", "text", None, "text", "text")
            assert connection.execute(columns_query).fetchall() == [
                a,
                b,
                c,
                a,
                b,
                c,
                ("d", *c[1:]),
                ("e", *b[1:]),
                a,
            ]
        finally:
            connection.execute("DROP TABLE IF EXISTS sized, copy_of CASCADE")


def test_a_statement_is_described_with_the_types_its_client_declared(sql_server: SqlServer) -> None:
    """pgjdbc ends the connection when a type that it declared comes back as another."""
    with sql_server.connect() as connection:
        wire = connection.pgconn
        text = (
            b"SELECT n FROM numbers WHERE name = $1 AND name = $2 AND n = $3 AND name = $4 LIMIT $5"
        )
        prepared = wire.prepare(b"declared", text, [VARCHAR, NAME, 0, UNKNOWN])
        assert prepared.status == pq.ExecStatus.COMMAND_OK, prepared.error_message
        for _ in range(2):
            described = wire.describe_prepared(b"declared")
            assert [described.param_type(n) for n in range(described.nparams)] == [
                VARCHAR,
                NAME,
                23,
                TEXT,
                INT8,
            ]
        wire.prepare(
            b"array",
            b"SELECT n FROM numbers WHERE name = ANY ($1) AND name <> $2",
            [VARCHAR_ARRAY, BPCHAR],
        )
        described = wire.describe_prepared(b"array")
        assert [described.param_type(n) for n in range(described.nparams)] == [
            VARCHAR_ARRAY,
            BPCHAR,
        ]
        answer = wire.exec_prepared(b"array", [b"{number 5,number 6}", b"number 6"])
        assert [answer.get_value(row, 0) for row in range(answer.ntuples)] == [b"5"]


def test_an_array_of_object_ids_comes_in_binary(sql_server: SqlServer) -> None:
    array = struct.pack("!iiIii", 1, 0, 26, 2, 1) + b"".join(
        struct.pack("!iI", 4, oid) for oid in (16, 4_000_000_000)
    )
    with sql_server.connect() as connection:
        answer = connection.pgconn.exec_params(b"SELECT $1::oid[]", [array], [1028], [1], 0)
        assert answer.get_value(0, 0) == b"{16,4000000000}", answer.error_message


def test_types_name_their_input_and_output_functions_as_postgresql_does(
    sql_server: SqlServer, postgres_server
) -> None:
    """By which ADBC and Npgsql find out which types have a binary format."""
    query = """SELECT typname::text, typinput::text, typoutput::text, typreceive::text, typsend::text, p.oid::bigint
        FROM pg_catalog.pg_type t JOIN pg_catalog.pg_proc p ON p.oid = t.typsend WHERE typtype = 'b' AND typreceive != 0"""
    with sql_server.connect() as ours, psycopg.connect(postgres_server.dsn()) as theirs:
        found = ours.execute(query).fetchall()
        expected = set(theirs.execute(query).fetchall())
    assert len(found) > 40
    assert [row for row in found if row not in expected] == []


def test_asyncpg_sends_and_reads_ranges(sql_server: SqlServer) -> None:
    day, moment = date(2024, 2, 29), datetime(2024, 2, 29, 12, 30, tzinfo=UTC)

    async def use() -> list[object]:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=sql_server.port, user="reclock", database="reclock"
        )
        try:
            return [
                await connection.fetchval("SELECT $1::int4range", asyncpg.Range(1, 5)),
                await connection.fetchval("SELECT $1::numrange", asyncpg.Range(Decimal("1.5"))),
                await connection.fetchval("SELECT $1::daterange", asyncpg.Range(day, None)),
                await connection.fetchval("SELECT $1::tstzrange", asyncpg.Range(None, moment)),
                await connection.fetchval("SELECT '[1,5)'::int8range * '[5,9)'::int8range"),
                await connection.fetchval("SELECT $1::int4range[]", [asyncpg.Range(1, 3), None]),
                await connection.fetch(
                    "SELECT n::int FROM numbers WHERE $1::int8range @> n ORDER BY n",
                    asyncpg.Range(3, 5, upper_inc=True),
                ),
            ]
        finally:
            await connection.close()

    assert asyncio.run(use()) == [
        asyncpg.Range(1, 5),
        asyncpg.Range(Decimal("1.5")),
        asyncpg.Range(day, None),
        asyncpg.Range(None, moment),
        asyncpg.Range(empty=True),
        [asyncpg.Range(1, 3), None],
        [(3,), (4,), (5,)],
    ]


@pytest.mark.parametrize("is_binary", [False, True])
def test_psycopg_sends_and_reads_ranges(sql_server: SqlServer, is_binary: bool) -> None:
    at = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
    numbers, moments = Range(1, 5, "[)"), Range(None, at, "(]")
    with sql_server.connect() as connection, connection.cursor(binary=is_binary) as cursor:
        for type, value in (
            ("int8range", numbers),
            ("int4range", Range(empty=True)),
            ("int4range", Range(None, None, "()")),
            ("numrange", Range(Decimal("-1.5"), Decimal("20000.25"), "[]")),
            ("daterange", Range(date(2024, 2, 29), None, "[)")),
            ("tsrange", Range(datetime(2024, 2, 29), datetime(2024, 3, 1), "[)")),
            ("tstzrange", moments),
        ):
            for placeholder in ("%t", "%b"):
                query = f"SELECT {placeholder}::{type}".encode()
                assert cursor.execute(query, [value]).fetchone() == (value,)
        cursor.execute(
            "SELECT array_agg(n ORDER BY n) FROM numbers WHERE %s::int8range @> n", [numbers]
        )
        assert cursor.fetchone() == ([1, 2, 3, 4],)
        cursor.execute("SELECT ARRAY[%s::int8range, NULL]", [numbers])
        assert cursor.fetchone() == ([numbers, None],)
        known = RangeInfo.fetch(connection, "tstzrange")
        assert known is not None
        assert (known.oid, known.array_oid, known.subtype_oid) == (3910, 3911, 1184)


@pytest.mark.parametrize("is_binary", [False, True])
def test_psycopg_sends_and_reads_addresses(sql_server: SqlServer, is_binary: bool) -> None:
    with sql_server.connect() as connection, connection.cursor(binary=is_binary) as cursor:
        for value in (
            IPv4Address("10.0.0.1"),
            IPv4Interface("10.0.0.1/8"),
            IPv6Address("2001:db8::1"),
            IPv6Interface("::ffff:102:304/96"),
            IPv4Network("10.0.0.0/8"),
            IPv6Network("2001:db8::/32"),
        ):
            for placeholder in ("%t", "%b"):
                row = cursor.execute(f"SELECT {placeholder}".encode(), [value]).fetchone()
                assert row == (value,)
        cursor.execute("SELECT ARRAY[%s::inet, NULL], 'A0-B1-C2-D3-E4-F5'::macaddr::text", ["::1"])
        assert cursor.fetchone() == ([IPv6Address("::1"), None], "a0:b1:c2:d3:e4:f5")
