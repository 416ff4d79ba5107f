"""Both kinds of client, in this process and over the wire, have one interface and give the same
answers."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fixtures.server import SqlServer

import reclock
from reclock.client.query_result import QueryResult
from reclock.client.statements import statement_text
from reclock.errors import ConfigurationError, InvalidOption, ReclockError

VALUES = """SELECT 1::smallint AS s, 2::integer AS i, 3::bigint AS b, 1.5::real AS r, 2.5::double precision AS d,
  1.10::numeric(10, 2) AS n, 'x' AS t, true AS f, date '2026-11-21' AS day, timestamp '2026-11-21 10:00:00' AS at,
  timestamptz '2026-11-21 10:00:00+00' AS tz, '\\x0102'::bytea AS raw, interval '1 day' AS age, NULL::integer AS nothing"""


def url(server: SqlServer) -> str:
    return f"postgresql://reclock@127.0.0.1:{server.port}/reclock"


@pytest.fixture(params=["embedded", "wire"])
def client(request: pytest.FixtureRequest, sql_server: SqlServer) -> Iterator[reclock.Client]:
    """Two clients of one environment, one after the other."""
    with reclock.connect(
        sql_server.home if request.param == "embedded" else url(sql_server)
    ) as client:
        yield client
    # in a session of its own: the client's may have limits that no statement keeps
    with sql_server.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS orders")


@pytest.fixture
def orders(client: reclock.Client) -> reclock.Client:
    client.sql(
        "CREATE TABLE orders (id integer, item text); INSERT INTO orders VALUES (1, "
        "'cup'), (2, '<pan>')"
    )
    return client


def newest(client: reclock.Client) -> int:
    with client.subscribe("orders") as changes:
        return next(changes).time


def test_a_client_that_nobody_closed_ends_quietly(sql_server: SqlServer) -> None:
    program = "import reclock, sys; print(reclock.connect(sys.argv[1]).sql('SELECT 1').rows())"
    command = [sys.executable, "-c", program, str(sql_server.home)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[(1,)]\n", "")


@pytest.mark.parametrize(
    ("package", "heavy"),
    [
        ("reclock", "'pyarrow', 'pyspark', 'sqlglot', 'duckdb', 'pandas', 'psycopg'"),
        # each process of Spark's imports this, also those that never open an environment
        ("reclock.spark", "'reclock.adapter.session.session', 'reclock.runtime.environment'"),
    ],
)
def test_importing_a_package_imports_nothing_heavy(package: str, heavy: str) -> None:
    program = f"import {package}, sys; print(*{{{heavy}}} & sys.modules.keys())"
    assert (
        subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        ).stdout.strip()
        == ""
    )


def test_both_clients_give_values_the_same_types(sql_server: SqlServer) -> None:
    with reclock.connect(sql_server.home) as embedded, reclock.connect(url(sql_server)) as remote:
        for query in (
            VALUES,
            f"{VALUES} WHERE false",
            "SELECT ARRAY[1, 2] AS a, ARRAY['x', NULL] AS b",
            "SELECT 1 AS a, 2 AS a",
            "SELECT ROW(1, 'a b', true) AS a, ARRAY[(1, NULL)] AS b, NULL::text AS c",
            "SELECT (a, b) AS r FROM (SELECT 1 AS a, 2 AS b) AS x WHERE a > 1",
        ):
            assert embedded.sql(query).arrow() == remote.sql(query).arrow(), query


def test_a_result_has_the_forms_of_python(
    orders: reclock.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = orders.sql("SELECT id, item FROM orders ORDER BY id")
    assert result.rows() == [(1, "cup"), (2, "<pan>")]
    assert (result.columns, len(result)) == (["id", "item"], 2)
    assert result.arrow() == pa.table(
        {"id": pa.array([1, 2], pa.int32()), "item": ["cup", "<pan>"]}
    )
    assert result.pandas().to_dict("list") == {"id": [1, 2], "item": ["cup", "<pan>"]}
    assert "<td>&lt;pan&gt;</td>" in result._repr_html_()
    assert "<p>2 rows</p>" in result._repr_html_()
    assert str(result).splitlines()[1:] == [
        "| id | item  |",
        "+----+-------+",
        "|  1 | cup   |",
        "|  2 | <pan> |",
        "+----+-------+",
        "(2 rows)",
    ]
    deleted = orders.sql("DELETE FROM orders WHERE id = 1")
    assert (str(deleted), deleted._repr_html_()) == ("DELETE 1", "<pre>DELETE 1</pre>")
    long = orders.sql("SELECT repeat('[b]', 99) AS b FROM generate_series(1, 60)")
    assert f"| {'[b]' * 99} |" in str(long)
    assert str(long).endswith("(60 rows, the first 50 shown)")
    assert orders.sql("").rows() == []
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ConfigurationError, match="polars is not installed"):
        result.polars()


def test_parameters_have_the_types_of_their_values(client: reclock.Client) -> None:
    values = [
        7,
        "it's",
        Decimal("1.25"),
        date(2026, 11, 21),
        datetime(2026, 11, 21, tzinfo=UTC),
        b"\x00\x01",
        True,
        2.5,
    ]
    query = (
        "SELECT $1::bigint, $2::text, $3::numeric(10, 2), $4::date, $5::timestamptz, "
        "$6::bytea, $7::boolean, $8::float8"
    )
    assert client.sql(query, values).rows() == [tuple(values)]
    assert client.sql("SELECT $1::integer AS a", [None]).rows() == [(None,)]


@pytest.mark.parametrize("params", [{"id": 1}, "ab", b"ab", 5])
def test_parameters_are_a_list(client: reclock.Client, params: Any) -> None:
    for read in (client.sql, client.subscribe, client.batches):
        with pytest.raises(InvalidOption, match="no list of values") as raised:
            next(iter(read("SELECT $1::text, $2::text", params)))
        assert raised.value.hint == "pass the values of $1, $2, … as a list"


@pytest.mark.parametrize("time", ["soon", "2026-11-21T10:00:00", 1.5, date(2026, 11, 21)])
def test_what_is_no_time_is_refused(client: reclock.Client, time: Any) -> None:
    with pytest.raises(InvalidOption, match="time") as raised:
        client.sql("SELECT 1", as_of=time)
    assert raised.value.hint == "write milliseconds, or a moment such as 2026-11-21T10:00:00+00:00"


def test_what_the_client_returns_shows_itself(orders: reclock.Client) -> None:
    assert re.fullmatch(r"<(Embedded|Remote)Client of \S+>", repr(orders))
    assert repr(orders.table("public.orders").as_of(5)) == "<TableReference public.orders as of 5>"
    with orders.subscribe("orders") as changes:
        batch = next(changes)
    assert repr(batch) == f"<ChangeBatch at {batch.time} with 2 changed rows>"
    assert "<th>mz_diff</th>" in batch._repr_html_()
    assert str(batch).endswith("(2 rows)")
    assert sorted(orders.sql("SELECT * FROM orders")) == [(1, "cup"), (2, "<pan>")]


def test_a_notebook_reads_only_the_rows_of_a_relation_that_it_displays(
    orders: reclock.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = orders.table("orders")
    assert "<p>2 rows</p>" in table._repr_html_()
    orders.sql("INSERT INTO orders SELECT n, 'n' FROM generate_series(3, 90) AS s (n)")
    read = type(orders).sql
    row_counts = []

    def counted(*arguments: Any, **options: Any) -> QueryResult:
        result = read(*arguments, **options)
        row_counts.append(len(result))
        return result

    monkeypatch.setattr(type(orders), "sql", counted)
    for displayed in (table._repr_html_(), table.as_of(newest(orders))._repr_html_()):
        assert "<p>the first 50 rows</p>" in displayed
        assert displayed.count("<tr>") == 51
    assert row_counts == [51, 51]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9187", "file:///lake", "jdbc:postgresql://host"])
def test_a_url_that_is_no_servers_is_no_folder(url: str) -> None:
    with pytest.raises(InvalidOption, match="neither the path") as raised:
        reclock.connect(url)
    assert "postgresql://" in str(raised.value.hint)


def test_only_the_session_parses_a_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long INSERT takes as long to parse as to run."""
    monkeypatch.setattr("reclock.client.statements.parse", pytest.fail)
    text = "INSERT INTO orders VALUES (3, 'jug')"
    assert statement_text(text, None) == text


def test_reads_at_a_time(orders: reclock.Client) -> None:
    before = newest(orders)
    orders.sql("DELETE FROM orders WHERE id = $1", [1])
    moment = datetime.fromtimestamp(before / 1000, UTC)
    times: tuple[Any, ...] = (before, np.int64(before), str(before), moment, moment.isoformat())
    for time in times:
        assert sorted(orders.table("public.orders").as_of(time).rows()) == [
            (1, "cup"),
            (2, "<pan>"),
        ]
    assert orders.sql(
        "SELECT count(*) FROM orders WHERE id > $1; -- all", [0], as_of=before
    ).rows() == [(2,)]
    assert orders.table("orders").rows() == [(2, "<pan>")]


def test_a_subscription_gives_each_time_whole(orders: reclock.Client) -> None:
    with orders.subscribe("SELECT item FROM orders WHERE id <> $1", [2]) as changes:
        first = next(changes)
        assert first.rows() == [(("cup",), 1)]
        orders.sql("UPDATE orders SET item = 'mug' WHERE id = 1")
        second = next(changes)
        assert sorted(second.rows()) == [(("cup",), -1), (("mug",), 1)]
        assert second.arrow().column_names == ["item", "mz_diff"]
    assert list(changes) == []
    bounded = (
        orders.table("orders").as_of(first.time).subscribe(up_to=second.time + 1, snapshot=False)
    )
    assert [(batch.time, len(batch)) for batch in bounded] == [(second.time, 2)]


def test_a_subscription_is_awaited_and_closed_while_it_waits(orders: reclock.Client) -> None:
    async def first_two() -> list[int]:
        async with orders.subscribe("orders") as changes:
            sizes = [len(await anext(changes))]
            orders.sql("INSERT INTO orders VALUES (3, 'jug')")
            return [*sizes, len(await anext(changes))]

    assert asyncio.run(first_two()) == [2, 1]
    changes = orders.subscribe("orders", snapshot=False)
    received: list[object] = []
    reader = threading.Thread(target=lambda: received.extend(changes))
    reader.start()
    changes.close()
    reader.join(60)
    assert not reader.is_alive()
    assert received == []


@pytest.mark.parametrize(
    ("query", "params", "as_of", "sqlstate"),
    [
        ("SELECT nothing FROM numbers", None, None, "42703"),
        ("SELECT 1 / (n - n) FROM numbers", None, None, "22012"),
        ("SELECT 1; SELEC 2", None, None, "42601"),
        ("SELECT $1::integer", ["x"], None, "22P02"),
        ("SELECT $1::integer + $2::integer", [1], None, "08P01"),
        ("SELECT $1::text", [object()], None, "42804"),
        ("SUBSCRIBE numbers", None, None, "0A000"),
        ("COPY numbers TO STDOUT", None, None, "0A000"),
        ("SELECT * FROM numbers AS OF 1", None, 2, "22023"),
        ("CREATE TABLE x (a integer)", None, 2, "22023"),
        ("SELECT * FROM numbers", None, datetime(2026, 1, 1), "22023"),
    ],
)
def test_errors_have_the_same_sqlstate(
    client: reclock.Client, query: str, params, as_of, sqlstate: str
) -> None:
    with pytest.raises(ReclockError) as raised:
        client.sql(query, params, as_of)
    assert raised.value.sqlstate == sqlstate
    assert client.sql("SELECT 1").rows() == [(1,)]


def test_a_traceback_shows_the_detail_and_the_hint(client: reclock.Client) -> None:
    with pytest.raises(ReclockError) as raised:
        client.sql("SELECT n FROM numbers", as_of=1)
    detail, hint = raised.value.detail, raised.value.hint
    assert detail is not None
    assert hint is not None
    shown = traceback.format_exception_only(raised.value)
    assert shown[1:] == [f"detail: {detail}\n", f"hint: {hint}\n"]


@pytest.mark.parametrize(
    "name", ["a; DROP TABLE numbers", "(SELECT 1)", "numbers AS OF 5", "a b", ""]
)
def test_a_table_is_named_by_a_name_alone(client: reclock.Client, name: str) -> None:
    with pytest.raises(ReclockError) as raised:
        client.table(name)
    assert raised.value.sqlstate == "42601"


def test_an_embedded_client_ticks(tmp_path: Path, sql_server: SqlServer) -> None:
    with pytest.raises(ReclockError, match="the catalog is not initialized"):
        reclock.connect(tmp_path)
    with reclock.connect(tmp_path, create=True) as client:
        client.sql(
            "CREATE TABLE t (a integer); CREATE MATERIALIZED VIEW v AS SELECT sum(a) "
            "FROM t; INSERT INTO t VALUES (1), (2)"
        )
        report = client.tick()
        assert report.succeeded
        assert str(report).startswith(f"tick at {report.at}: new data in ")
        assert report._repr_html_() == f"<pre>{report}</pre>"
        assert client.table("v").rows() == [(3,)]
        assert client.status().columns[:3] == ["name", "status", "error"]
        with pytest.raises(ReclockError, match='relation "orders" does not exist'):
            client.tick("orders")
    with (
        reclock.connect(url(sql_server)) as remote,
        pytest.raises(ReclockError, match="cannot tick"),
    ):
        remote.tick()
    with pytest.raises(InvalidOption):
        reclock.connect(url(sql_server), create=True)


def test_large_results_and_changes_come_in_batches(orders: reclock.Client) -> None:
    before = newest(orders)
    orders.sql("INSERT INTO orders SELECT n, name FROM numbers WHERE n > $1", [2])
    # limits of this session, not of the batches'
    orders.sql("SET max_result_size = 1")
    orders.sql("SET statement_timeout = 1")
    read = pa.Table.from_batches(
        orders.batches("SELECT id, item FROM orders WHERE id < $1 ORDER BY id", [5], before)
    )
    assert read.to_pylist() == [{"id": 1, "item": "cup"}, {"id": 2, "item": "<pan>"}]
    assert (
        sum(
            batch.num_rows
            for batch in orders.batches("SELECT * FROM orders, numbers WHERE n <= 20")
        )
        == 20000
    )
    changes = pa.Table.from_batches(orders.changes("orders", as_of=before, up_to=before + 1))
    assert changes.column_names == ["mz_timestamp", "mz_diff", "id", "item"]
    assert sorted(changes["item"].to_pylist()) == ["<pan>", "cup"]
    with pytest.raises(InvalidOption):
        orders.batches("DELETE FROM orders")


def test_a_numeric_without_values_has_the_same_type_in_both_clients(sql_server: SqlServer) -> None:
    query = "SELECT NULL::numeric AS n, 1.5::numeric AS m WHERE false"
    with reclock.connect(sql_server.home) as embedded, reclock.connect(url(sql_server)) as remote:
        assert embedded.sql(query).arrow() == remote.sql(query).arrow()
