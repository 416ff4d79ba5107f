"""psql's own commands, as the psql of the tests' PostgreSQL answers them here; ``--rewrite`` writes
down what it answers now."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from fixtures.postgres import bundled_binaries
from fixtures.server import SqlServer, start_server

FILE = Path(__file__).with_name("psql.txt")
MARK = "----\n"
BLOCKS = FILE.read_text().split("\n====\n")
DEFINITIONS = """
    CREATE TABLE accounts (id integer NOT NULL, owner text NOT NULL DEFAULT 'nobody', balance numeric(12, 2) DEFAULT 0,
                           opened timestamp with time zone, "Odd Name" bigint);
    CREATE VIEW rich AS SELECT id, owner FROM accounts WHERE balance > 1000;
    CREATE MATERIALIZED VIEW totals AS SELECT owner, sum(balance) AS total FROM accounts GROUP BY owner;
    CREATE INDEX accounts_by_owner ON accounts (owner, "Odd Name");
    CREATE TABLE transfers (id integer PRIMARY KEY, code varchar(8) UNIQUE NULLS NOT DISTINCT, day date,
                            amount numeric(12, 2) CHECK (amount > 0), kind char(1), UNIQUE (day, kind) DEFERRABLE);
    CREATE TABLE reversals (transfer integer REFERENCES transfers ON DELETE CASCADE, reason text);
    CREATE ROLE analyst;
    CREATE ROLE ada LOGIN;
    GRANT analyst TO ada;
    GRANT SELECT ON accounts TO analyst;
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlServer]:
    server = start_server(tmp_path_factory.mktemp("psql"))
    try:
        with server.connect() as connection:
            for definition in DEFINITIONS.split(";")[:-1]:
                connection.execute(definition)
        yield server
    finally:
        server.kill()


def psql(server: SqlServer, command: str) -> str:
    program = bundled_binaries() / "psql"
    process = subprocess.run(
        [program, "-X", "-w", "-d", server.dsn(), "-c", command],
        capture_output=True,
        text=True,
        env={"LC_ALL": "C.UTF-8"},
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert "ERROR" not in process.stderr
    return "\n".join(
        line.rstrip() for line in (process.stdout + process.stderr).strip("\n").splitlines()
    )


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_psql_shows(block: str, server: SqlServer, request: pytest.FixtureRequest) -> None:
    command, _, expected = block.partition(f"\n{MARK}")
    assert psql(server, command) == expected.rstrip("\n") or request.config.getoption("--rewrite")


def test_every_answer_is_written(server: SqlServer, request: pytest.FixtureRequest) -> None:
    commands = [block.split(f"\n{MARK}")[0].rstrip("\n") for block in BLOCKS]
    assert len(set(commands)) == len(commands) >= 30
    if request.config.getoption("--rewrite"):
        FILE.write_text(
            "\n====\n".join(f"{command}\n{MARK}{psql(server, command)}" for command in commands)
            + "\n"
        )


SCRIPT = r"""
CREATE TABLE paid (who text, day integer, amount numeric(8, 2));
\copy paid from program 'printf "a\t1\t5\nb\t2\t6.5\n"'
SELECT who, amount FROM paid WHERE day >= $1 AND who = $2 \bind 1 b \g
SELECT who, day, amount FROM paid ORDER BY 1 \crosstabview
SELECT max(amount) AS most FROM paid \gdesc
SELECT max(day) AS last FROM paid \gset
\echo :last
SELECT 'SELECT ' || day FROM paid ORDER BY day \gexec
\copy (SELECT who, day FROM paid ORDER BY day) to stdout csv
\set ON_ERROR_ROLLBACK on
BEGIN;
SELECT 1 / 0;
SELECT count(*) FROM paid;
COMMIT;
\set FETCH_COUNT 1
SELECT day FROM paid ORDER BY day;
DROP TABLE paid;
"""
SHOWN = """\
CREATE TABLE
COPY 2
b|6.50
a|5.00|
b||6.50
most|numeric(8,2)
2
1
2
a,1
b,2
BEGIN
2
COMMIT
1
2
DROP TABLE
"""


def test_a_script_of_what_psql_does_with_queries(server: SqlServer) -> None:
    process = subprocess.run(
        [bundled_binaries() / "psql", "-X", "-w", "-A", "-t", "-d", server.dsn(), "-f", "-"],
        input=SCRIPT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == SHOWN
    assert process.stderr.startswith("psql:<stdin>:13: ERROR:  division by zero")


# Each with all it shows (+) of all there is (S); what there is none of here is empty.
EMPTY = """
    dAc dAf dAo dAp da dc dC dd dD ddp dE det des deu dew dF dFd dFp dFt dl dL do dP drds dRp dRs dX dx dy ds dfw dft
"""
FILLED = "d dA dO dT db dconfig dg di dm dn dp dt du dv drg dtvmsE"
WITHOUT_SYSTEM = "dA dAc dAf dAo dAp ddp det des deu dew dF drds dRp dRs dX dx dy db drg"


def test_every_command_that_describes_is_answered(server: SqlServer) -> None:
    names = f"{EMPTY} {FILLED}".split()
    plus = {name: "+" if name in WITHOUT_SYSTEM.split() else "S+" for name in names} | {"dP": ""}
    process = subprocess.run(
        [bundled_binaries() / "psql", "-X", "-w", "-A", "-d", server.dsn(), "-f", "-"],
        input="\n".join(f"\\echo @{name}\n\\{name}{plus[name]}" for name in names),
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line for line in process.stderr.splitlines() if "Did not find" not in line] == []
    answers = {
        name: rest
        for name, _, rest in (block.partition("\n") for block in process.stdout.split("@")[1:])
    }
    assert {name for name, answer in answers.items() if "(0 rows)" in answer or not answer} == set(
        EMPTY.split()
    )


def test_a_text_is_made_from_a_format_and_values(server: SqlServer) -> None:
    query = (
        r"SELECT format('%s is %I of %L, %2$s 100%%', 1, 'A b', 'it''s'), format('%s|%L', "
        r"NULL, NULL), quote_literal('a\b''')"
    )
    with server.connect() as connection:
        assert connection.execute(query).fetchall() == [
            ("1 is \"A b\" of 'it''s', A b 100%", "|NULL", r"E'a\\b'''")
        ]
        for wrong, sqlstate in (("format('%s')", "22023"), ("format('%*s', 5, 1)", "0A000")):
            with pytest.raises(psycopg.Error) as raised:
                connection.execute(f"SELECT {wrong}")
            assert raised.value.sqlstate == sqlstate


def test_every_row_knows_the_number_of_its_relation(server: SqlServer) -> None:
    query = (
        "SELECT DISTINCT c.tableoid::regclass::text, tableoid = 'pg_class'::regclass FROM "
        "pg_class c"
    )
    with server.connect() as connection:
        assert connection.execute(query).fetchall() == [("pg_class", True)]
