"""EXPLAIN tells and does nothing: no store differs afterwards."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reclock.adapter.session.session import Session
from reclock.errors import ReclockError
from reclock.pipeline import tick
from reclock.plan.rules import RULES
from reclock.runtime.environment import Environment

QUERY = (
    "SELECT t.id, v.n FROM t, (SELECT id, n FROM of_t WHERE n > 1) v WHERE t.id = v.id AND t.id > 0"
)


@pytest.fixture(autouse=True)
def _nothing_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in ("TABLE_APPLY_DELAY_MS", "INTROSPECTION_APPLY_DELAY_MS"):
        monkeypatch.setenv(f"RECLOCK_{setting}", "3600000")


def run(session: Session, text: str) -> list[str]:
    """The first column of the last statement."""
    return [str(row[0]) for row in [list(result.rows()) for result in session.execute(text)][-1]]


def stored(home: Path) -> dict[str, str]:
    """Every file by a hash of its content; databases by that of their rows."""
    hashes = {}
    for path in sorted(path for path in home.rglob("*") if path.is_file()):
        if path.read_bytes()[:15] == b"SQLite format 3":
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
                content = "\n".join(connection.iterdump()).encode()
        elif path.name.endswith(("-wal", "-shm", "-journal")):
            continue
        else:
            content = path.read_bytes()
        hashes[str(path.relative_to(home))] = hashlib.sha256(content).hexdigest()
    return hashes


DEFINITIONS = (
    "CREATE TABLE u AS SELECT * FROM t",
    "CREATE TABLE u (id serial PRIMARY KEY)",
    "CREATE SECRET s AS 'hidden'",
    "CREATE ROLE r LOGIN PASSWORD 'hidden'",
    "CREATE SINK s FROM t INTO DELTA 'out'",
    "ALTER TABLE t ADD CONSTRAINT positive CHECK (id > 0)",
    "DROP TABLE t CASCADE",
)


@pytest.mark.parametrize(
    "explained",
    [f"{kind} FOR {QUERY}" for kind in ("PLAN", "ANALYZE", "TIMESTAMP", "OPTIMIZER TRACE")]
    + ["; EXPLAIN ".join(DEFINITIONS)],
)
def test_explaining_writes_nothing(tmp_path: Path, explained: str) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, "CREATE TABLE t (id int, n int); CREATE VIEW of_t AS SELECT * FROM t")
        run(
            session,
            (
                "CREATE DEFAULT INDEX ON of_t; INSERT INTO t VALUES (1, 1), (2, 2); SELECT * "
                "FROM of_t, t"
            ),
        )
        before = stored(tmp_path)
        assert any("consensus" in name or name.endswith(".db") for name in before)
        assert run(session, f"EXPLAIN {explained}")
        assert tick.explain(environment.stores)
        assert stored(tmp_path) == before


def test_what_the_table_log_holds_is_said_and_not_applied(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(
            session,
            (
                "CREATE TABLE t (id int, n int); INSERT INTO t VALUES (1, 1); INSERT INTO t "
                "VALUES (2, 2)"
            ),
        )
        logged = "  writes in the table log that are not in this version yet: 2"
        assert run(session, "EXPLAIN TIMESTAMP FOR SELECT * FROM t")[-1] == logged
        environment.stores.tables.apply()
        assert "version: " in run(session, "EXPLAIN TIMESTAMP FOR SELECT * FROM t")[-1]


def test_the_trace_has_the_plan_after_every_rule(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(
            session,
            "CREATE TABLE t (id int, n int); CREATE VIEW of_t AS SELECT id, n + 1 AS n FROM t",
        )
        trace = run(session, f"EXPLAIN OPTIMIZER TRACE FOR {QUERY}")
        heads = [
            line.removesuffix(": no change").removesuffix(":")
            for line in trace
            if not line.startswith(" ")
        ]
        rules = [rule.__name__ for rule in RULES]
        assert heads == ["planned", *rules, "views and indexes", *rules]
        plan = run(session, f"EXPLAIN {QUERY}")
        plan = plan[: plan.index("")]
        assert [line.removeprefix("  ") for line in trace if line.startswith(" ")][
            -len(plan) :
        ] == plan


def test_analyzing_runs_the_query_and_says_what_it_took(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, "CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 7)")
        plan = run(session, "EXPLAIN SELECT id FROM t WHERE id > 2")
        lines = run(session, "EXPLAIN ANALYZE SELECT id FROM t WHERE id > 2")
        assert lines[: len(plan)] == plan
        read_at, rows, *times = lines[len(plan) :]
        assert int(read_at.removeprefix("read at: ")) > 0
        assert re.fullmatch(r"rows: 5 \([1-9][0-9]* bytes\)", rows)
        assert [line.split(": ")[0] for line in times] == [
            "time until the first rows",
            "execution time",
        ]
        with pytest.raises(ReclockError, match="division by zero"):
            run(session, "EXPLAIN ANALYZE SELECT 1 / (id - 1) FROM t")
        run(session, "CREATE SEQUENCE s")
        with pytest.raises(ReclockError, match="nextval"):
            run(session, "EXPLAIN ANALYZE SELECT nextval('s')")
        assert run(session, "SELECT nextval('s')") == ["1"]


def test_a_plan_as_json_has_the_same_nodes(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, "CREATE TABLE t (id int, n int); INSERT INTO t VALUES (1, 2)")
        query = "SELECT a.n FROM t a JOIN t b ON a.id = b.n + 1 ORDER BY 1 LIMIT 2"
        plan = run(session, f"EXPLAIN {query}")
        (text,) = run(session, f"EXPLAIN (FORMAT JSON, ANALYZE) {query}")
        (report,) = json.loads(text)
        assert list(_lines(report["Plan"], 0)) == plan[: plan.index("")]
        assert report["Engine"] == "duckdb"
        assert report["Actual Rows"] == 0
        assert report["Execution Time"] >= report["First Rows Time"] > 0
        (text,) = run(session, f"EXPLAIN (FORMAT JSON) {query}")
        assert "Execution Time" not in json.loads(text)[0]


def _lines(node: dict[str, Any], depth: int) -> Iterator[str]:
    yield "  " * depth + " ".join(filter(None, (node["Node Type"], node.get("Detail"))))
    for child in node.get("Plans", ()):
        yield from _lines(child, depth + 1)


def test_a_definition_that_would_be_refused_is_refused(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        run(session, "CREATE TABLE t (id int); CREATE ROLE ada LOGIN")
        other = Session(environment, user="ada")
        for text, state in (
            ("DROP TABLE t", "42501"),
            ("CREATE VIEW v AS SELECT 1", "42501"),
            ("CREATE TABLE x (a nothing)", "42704"),
        ):
            with pytest.raises(ReclockError) as refused:
                run(other, f"EXPLAIN {text}")
            assert refused.value.sqlstate == state


def test_a_secret_whose_creation_is_rolled_back_was_never_stored(tmp_path: Path) -> None:
    with Environment.initialise(tmp_path) as environment:
        session = Session(environment)
        before = stored(tmp_path)
        run(session, "BEGIN; CREATE SECRET s AS 'hidden'; ROLLBACK")
        assert stored(tmp_path) == before
