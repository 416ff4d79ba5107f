"""What the JDBC driver of PostgreSQL says of a database, as tools that are built on it ask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from fixtures.server import SqlServer
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from reclock.clusters import jars

LOCK = Path(__file__).parent.parent / "fixtures" / "jdbc.lock"
DEFINITIONS = """
    CREATE SCHEMA jdbc;
    CREATE TABLE jdbc.people (id bigint NOT NULL, name text NOT NULL DEFAULT 'x', pay numeric(10, 2), born date,
                              "Odd Name" boolean);
    CREATE VIEW jdbc.paid AS SELECT id, pay FROM jdbc.people WHERE pay > 0;
    CREATE INDEX by_name ON jdbc.people (name, born);
    CREATE INDEX by_half ON jdbc.people (id / 2);
    CREATE TABLE jdbc.cities (code char(3) PRIMARY KEY, name varchar(40));
    CREATE TABLE jdbc.trips ("to" char(3) REFERENCES jdbc.cities ON DELETE CASCADE);
"""


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    folder, pinned = jars.default_folder().parent / "jdbc", jars.parse(LOCK.read_text())
    jars.fetch(folder, pinned)
    [py4j] = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    path = os.pathsep.join(str(folder / jar.file_name) for jar in pinned)
    port, token = launch_gateway(
        jarpath=str(py4j),
        classpath=path,
        java_path=jars.java(),
        die_on_exit=True,
        enable_auth=True,
        javaopts=["-Xmx128m"],
    )
    gateway = JavaGateway(
        gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True)
    )
    yield gateway.jvm
    gateway.shutdown()


@pytest.fixture(scope="module")
def jdbc(jvm: Any, sql_server: SqlServer) -> Iterator[Any]:
    properties = jvm.java.util.Properties()
    properties.setProperty("user", "reclock")
    with sql_server.connect() as connection:
        for definition in DEFINITIONS.split(";")[:-1]:
            connection.execute(definition)
        opened = jvm.org.postgresql.Driver().connect(
            f"jdbc:postgresql://127.0.0.1:{sql_server.port}/reclock", properties
        )
        yield opened
        opened.close()
        connection.execute("DROP SCHEMA jdbc CASCADE")


def rows(answer: Any, *columns: str) -> list[tuple[Any, ...]]:
    rows = []
    while answer.next():
        rows.append(tuple(answer.getObject(column) for column in columns))
    answer.close()
    return rows


def test_relations_and_schemas(jdbc: Any) -> None:
    about = jdbc.getMetaData()
    assert rows(about.getTables(None, "jdbc", "%", None), "TABLE_NAME", "TABLE_TYPE") == [
        ("by_half", "INDEX"),
        ("by_name", "INDEX"),
        ("cities_pkey", "INDEX"),
        ("cities", "TABLE"),
        ("people", "TABLE"),
        ("trips", "TABLE"),
        ("paid", "VIEW"),
    ]
    schemas = [name for (name,) in rows(about.getSchemas(), "TABLE_SCHEM")]
    assert {"jdbc", "public", "pg_catalog", "information_schema"} <= set(schemas)
    assert rows(about.getCatalogs(), "TABLE_CAT") == [("reclock",)]
    assert about.getDatabaseProductName() == "PostgreSQL"


def test_columns_and_their_types(jdbc: Any) -> None:
    about = jdbc.getMetaData()
    columns = (
        "COLUMN_NAME",
        "TYPE_NAME",
        "COLUMN_SIZE",
        "DECIMAL_DIGITS",
        "IS_NULLABLE",
        "COLUMN_DEF",
        "ORDINAL_POSITION",
    )
    assert rows(about.getColumns(None, "jdbc", "people", None), *columns) == [
        ("id", "int8", 19, 0, "NO", None, 1),
        ("name", "text", 2147483647, 0, "NO", "'x'", 2),
        ("pay", "numeric", 10, 2, "YES", None, 3),
        ("born", "date", 13, 0, "YES", None, 4),
        ("Odd Name", "bool", 1, 0, "YES", None, 5),
    ]
    types = {name for (name,) in rows(about.getTypeInfo(), "TYPE_NAME")}
    assert {"int4", "int8", "text", "numeric", "bool", "timestamptz", "date", "_text"} <= types


def test_indexes_and_keys(jdbc: Any) -> None:
    about = jdbc.getMetaData()
    columns = ("INDEX_NAME", "NON_UNIQUE", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC")
    found = rows(about.getIndexInfo(None, "jdbc", "people", False, False), *columns)
    assert found == [
        ("by_half", True, 1, "((id / 2))", "A"),
        ("by_name", True, 1, "name", "A"),
        ("by_name", True, 2, "born", "A"),
    ]
    keys = ("COLUMN_NAME", "KEY_SEQ", "PK_NAME")
    assert rows(about.getPrimaryKeys(None, "jdbc", "cities"), *keys) == [("code", 1, "cities_pkey")]
    foreign = (
        "PKTABLE_NAME",
        "PKCOLUMN_NAME",
        "FKTABLE_NAME",
        "FKCOLUMN_NAME",
        "FK_NAME",
        "PK_NAME",
        "DELETE_RULE",
    )
    imported = [("cities", "code", "trips", "to", "trips_to_fkey", "cities_pkey", 0)]
    assert rows(about.getImportedKeys(None, "jdbc", "trips"), *foreign) == imported
    assert rows(about.getExportedKeys(None, "jdbc", "cities"), *foreign) == imported
    assert rows(about.getIndexInfo(None, "jdbc", "cities", True, False), *columns) == [
        ("cities_pkey", False, 1, "code", "A")
    ]
    assert rows(about.getBestRowIdentifier(None, "jdbc", "cities", 0, True), "COLUMN_NAME") == [
        ("code",)
    ]
    sized = ("COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE")
    assert rows(about.getColumns(None, "jdbc", "cities", None), *sized) == [
        ("code", "bpchar", 3),
        ("name", "varchar", 40),
    ]
    nothing = {
        "primary keys": about.getPrimaryKeys(None, "jdbc", "people"),
        "imported keys": about.getImportedKeys(None, "jdbc", "people"),
        "exported keys": about.getExportedKeys(None, "jdbc", "people"),
        "row identifier": about.getBestRowIdentifier(None, "jdbc", "people", 0, True),
        "procedures": about.getProcedures(None, "jdbc", None),
        "functions": about.getFunctions(None, "jdbc", None),
        "types of users": about.getUDTs(None, "jdbc", None, None),
    }
    assert {what: rows(answer) for what, answer in nothing.items()} == {
        what: [] for what in nothing
    }


def test_privileges(jdbc: Any) -> None:
    about = jdbc.getMetaData()
    held = set(rows(about.getTablePrivileges(None, "jdbc", "people"), "GRANTEE", "PRIVILEGE"))
    assert {("reclock", "SELECT"), ("reclock", "INSERT")} <= held


@pytest.mark.parametrize(
    "mode", ["extended", "extendedForPrepared", "extendedCacheEverything", "simple"]
)
def test_a_statement_runs_often_with_strings(jvm: Any, sql_server: SqlServer, mode: str) -> None:
    """From the fifth execution the driver prepares it on the server, and compares the types it
    declared with those described."""
    properties = jvm.java.util.Properties()
    properties.setProperty("user", "reclock")
    properties.setProperty("preferQueryMode", mode)
    opened = jvm.org.postgresql.Driver().connect(
        f"jdbc:postgresql://127.0.0.1:{sql_server.port}/reclock", properties
    )
    try:
        select = opened.prepareStatement("SELECT n FROM numbers WHERE name = ? AND n >= ?")
        for number in range(1, 13):
            select.setString(1, f"number {number}")
            select.setInt(2, number)
            assert rows(select.executeQuery(), "n") == [(number,)]
    finally:
        opened.close()


def test_a_statement_prepared_on_the_server_goes_on_after_its_table_has_changed(jdbc: Any) -> None:
    """The driver prepares it again where the error says, as PostgreSQL's does, that this helps."""
    jdbc.createStatement().execute("CREATE TABLE jdbc.altered (n integer)")
    select = jdbc.prepareStatement("SELECT * FROM jdbc.altered WHERE n = ?")
    for number in range(8):
        select.setInt(1, number)
        assert select.executeQuery().getMetaData().getColumnCount() == 1
    jdbc.createStatement().execute("ALTER TABLE jdbc.altered ADD COLUMN more integer")
    assert select.executeQuery().getMetaData().getColumnCount() == 2


def test_the_words_of_the_language(jdbc: Any) -> None:
    """Those that the SQL standard has not; tools ask this when they connect."""
    words = set(jdbc.getMetaData().getSQLKeywords().split(","))
    assert {"index", "limit", "ilike"} <= words
    assert "select" not in words


def test_statements_with_parameters_and_pieces(jdbc: Any) -> None:
    jdbc.setAutoCommit(False)
    insert = jdbc.prepareStatement(
        "INSERT INTO jdbc.people (id, name, pay) VALUES (?, ?, ?) RETURNING id"
    )
    for number in range(1, 21):
        insert.setLong(1, number)
        insert.setString(2, f"name {number}")
        insert.setObject(3, number)
        assert rows(insert.executeQuery(), "id") == [(number,)]
    jdbc.commit()
    select = jdbc.prepareStatement("SELECT id, name FROM jdbc.people WHERE id > ? ORDER BY id")
    select.setFetchSize(3)
    select.setLong(1, 10)
    assert rows(select.executeQuery(), "id", "name") == [
        (number, f"name {number}") for number in range(11, 21)
    ]
    jdbc.rollback()
    with pytest.raises(Py4JJavaError, match=r"relation .* does not exist"):
        jdbc.createStatement().executeQuery("SELECT * FROM nothing")
    jdbc.rollback()
    jdbc.setAutoCommit(True)
