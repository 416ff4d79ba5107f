"""psql's own commands, as the psql of the tests' PostgreSQL answers them here; ``--rewrite`` writes down what it answers now."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

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
    done = subprocess.run(
        [program, "-X", "-w", "-d", server.dsn(), "-c", command],
        capture_output=True,
        text=True,
        env={"LC_ALL": "C.UTF-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    return "\n".join(line.rstrip() for line in (done.stdout + done.stderr).strip("\n").splitlines())


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_psql_shows(block: str, server: SqlServer, request: pytest.FixtureRequest) -> None:
    command, _, expected = block.partition(f"\n{MARK}")
    assert psql(server, command) == expected.rstrip("\n") or request.config.getoption("--rewrite")


def test_every_answer_is_written(server: SqlServer, request: pytest.FixtureRequest) -> None:
    commands = [block.split(f"\n{MARK}")[0].rstrip("\n") for block in BLOCKS]
    assert len(set(commands)) == len(commands) >= 30
    if request.config.getoption("--rewrite"):
        FILE.write_text("\n====\n".join(f"{command}\n{MARK}{psql(server, command)}" for command in commands) + "\n")


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
    done = subprocess.run(
        [bundled_binaries() / "psql", "-X", "-w", "-A", "-t", "-d", server.dsn(), "-f", "-"],
        input=SCRIPT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == SHOWN
    assert done.stderr.startswith("psql:<stdin>:13: ERROR:  division by zero")


@pytest.mark.parametrize("command", [r"\dx", r"\dD", r"\da", r"\dO", r"\det", r"\do", r"\des", r"\dew", r"\dy", r"\dRp"])
def test_what_there_is_none_of_is_empty(command: str, server: SqlServer) -> None:
    assert "(0 rows)" in psql(server, command)
