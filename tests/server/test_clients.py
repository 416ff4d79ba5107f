"""What client libraries send and expect beyond plain queries: binary COPY, declared types, arrays of object ids."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from decimal import Decimal

import asyncpg
import psycopg
import pytest
from fixtures.server import SqlServer
from psycopg import pq

VARCHAR, VARCHAR_ARRAY, BPCHAR, NAME, INT8, UNKNOWN, TEXT = 1043, 1015, 1042, 19, 20, 705, 25


@pytest.fixture
def table(sql_server: SqlServer) -> Iterator[psycopg.Connection]:
    with sql_server.connect() as connection:
        connection.execute("CREATE TABLE binary_rows (id bigint NOT NULL, name text, price numeric(10, 2))")
        yield connection
        connection.execute("DROP TABLE binary_rows")


def test_psycopg_copies_both_ways_in_binary(table: psycopg.Connection) -> None:
    rows = [(n, None if n % 7 == 0 else f"é{n}", Decimal(n) / 4) for n in range(1000)]
    with table.cursor().copy("COPY binary_rows FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int8", "text", "numeric"])
        for row in rows:
            copy.write_row(row)
    with table.cursor().copy("COPY (SELECT * FROM binary_rows ORDER BY id) TO STDOUT (FORMAT BINARY)") as copy:
        copy.set_types(["int8", "text", "numeric"])
        assert list(copy.rows()) == rows


def test_asyncpg_copies_records_and_asks_for_types(sql_server: SqlServer, table: psycopg.Connection) -> None:
    async def use() -> tuple[object, ...]:
        connection = await asyncpg.connect(host="127.0.0.1", port=sql_server.port, user="reclock", database="reclock")
        try:
            tag = await connection.copy_records_to_table("binary_rows", records=[(1, "a", Decimal("1.50")), (2, None, None)])
            rows = [tuple(row) for row in await connection.fetch("SELECT * FROM binary_rows ORDER BY id")]
            types = await connection.fetch("SELECT typname FROM pg_type WHERE oid = ANY ($1::oid[]) ORDER BY 1", [16, 23])
            return tag, rows, [name for (name,) in types]
        finally:
            await connection.close()

    assert asyncio.run(use()) == ("COPY 2", [(1, "a", Decimal("1.50")), (2, None, None)], ["bool", "int4"])


def test_a_statement_is_described_with_the_types_its_client_declared(sql_server: SqlServer) -> None:
    """pgjdbc ends the connection when a type that it declared comes back as another."""
    with sql_server.connect() as connection:
        wire, text = connection.pgconn, b"SELECT n FROM numbers WHERE name = $1 AND name = $2 AND n = $3 AND name = $4 LIMIT $5"
        prepared = wire.prepare(b"declared", text, [VARCHAR, NAME, 0, UNKNOWN])
        assert prepared.status == pq.ExecStatus.COMMAND_OK, prepared.error_message
        for _ in range(2):
            described = wire.describe_prepared(b"declared")
            assert [described.param_type(n) for n in range(described.nparams)] == [VARCHAR, NAME, 23, TEXT, INT8]
        wire.prepare(b"array", b"SELECT n FROM numbers WHERE name = ANY ($1) AND name <> $2", [VARCHAR_ARRAY, BPCHAR])
        described = wire.describe_prepared(b"array")
        assert [described.param_type(n) for n in range(described.nparams)] == [VARCHAR_ARRAY, BPCHAR]
        answer = wire.exec_prepared(b"array", [b"{number 5,number 6}", b"number 6"])
        assert [answer.get_value(row, 0) for row in range(answer.ntuples)] == [b"5"]


def test_an_array_of_object_ids_comes_in_binary(sql_server: SqlServer) -> None:
    array = struct.pack("!iiIii", 1, 0, 26, 2, 1) + b"".join(struct.pack("!iI", 4, oid) for oid in (16, 4_000_000_000))
    with sql_server.connect() as connection:
        answer = connection.pgconn.exec_params(b"SELECT $1::oid[]", [array], [1028], [1], 0)
        assert answer.get_value(0, 0) == b"{16,4000000000}", answer.error_message


def test_types_name_their_input_and_output_functions_as_postgresql_does(sql_server: SqlServer, postgres_server) -> None:
    """By which ADBC and Npgsql find out which types have a binary format."""
    query = """SELECT typname::text, typinput::text, typoutput::text, typreceive::text, typsend::text, p.oid::bigint
        FROM pg_catalog.pg_type t JOIN pg_catalog.pg_proc p ON p.oid = t.typsend WHERE typtype = 'b' AND typreceive != 0"""
    with sql_server.connect() as ours, psycopg.connect(postgres_server.dsn()) as theirs:
        found = ours.execute(query).fetchall()
        expected = set(theirs.execute(query).fetchall())
    assert len(found) > 40
    assert [row for row in found if row not in expected] == []
