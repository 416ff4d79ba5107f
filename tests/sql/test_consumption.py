"""Whatever is written is planned or refused: a part of a statement that the planner does not look
at is an error."""

from __future__ import annotations

import pytest
from fixtures.planning import new_york
from sql.compared import COLUMNS, queries
from sql.test_statements_survive_anything import SEEDS
from sqlglot import exp

from reclock.errors import ReclockError, UnsupportedSql
from reclock.sql.planning.statement import plan_statement
from reclock.sql.syntax.consumption import TrackedArgs
from reclock.sql.syntax.parse import ParsedStatement, parse

WORLD = new_york()
for name, columns in COLUMNS.items():
    WORLD.execute(f"CREATE TABLE {name} ({columns})")
WORLD.execute("CREATE TABLE target (a int, b text)")
CHANGES = [
    "DELETE FROM target WHERE a IN (SELECT a FROM u) RETURNING a",
    "DELETE FROM target AS g USING u, w WHERE u.a = g.a AND w.a = 1",
    (
        "UPDATE target SET a = u.a + 1, b = 'x' FROM u JOIN w ON u.a = w.a WHERE target.a = "
        "u.a RETURNING target.b"
    ),
    "INSERT INTO target (b) SELECT b FROM u ORDER BY a LIMIT 3",
    "INSERT INTO target VALUES (1, DEFAULT), (1 + 1, upper('x')) RETURNING a, b AS c",
    (
        "MERGE INTO target AS g USING (SELECT a, b FROM u) AS s ON g.a = s.a WHEN MATCHED AND s.b = "
        "'x' THEN UPDATE SET b = s.b || 'y' WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED "
        "THEN INSERT (a, b) VALUES (s.a + 1, DEFAULT) RETURNING merge_action() AS what, g.a"
    ),
    "MERGE INTO target USING u JOIN w ON u.a = w.a ON target.a = u.a WHEN MATCHED THEN DO NOTHING",
    (
        "CREATE TABLE keyed (a int CONSTRAINT k PRIMARY KEY, b int REFERENCES keyed ON "
        "DELETE CASCADE, UNIQUE (a, b), CHECK (a > b))"
    ),
]


PLANNED = [
    *queries("same")[::8],
    *(seed for seed in SEEDS if "SHOW CREATE MATERIALIZED" not in seed),
    *CHANGES,
]


@pytest.mark.parametrize("sql", PLANNED)
def test_a_part_that_the_planner_does_not_know_is_refused_wherever_it_stands(sql: str) -> None:
    """Each node of the statement in turn gets an argument that no code reads."""
    parsed = parse(sql)[0]
    plan_statement(parsed, WORLD.catalog, WORLD.session)
    for number, _ in enumerate(parsed.node.walk()):
        planted = ParsedStatement(parsed.node.copy(), sql, 1)
        for node in planted.node.walk():
            node.args = TrackedArgs(node.args)
        node = list(planted.node.walk())[number]
        node.args["planted"] = exp.to_identifier("planted")
        with pytest.raises(ReclockError):
            plan_statement(planted, WORLD.catalog, WORLD.session)


@pytest.mark.parametrize(
    ("sql", "clause"),
    [
        ("SELECT * FROM (TABLE t) AS x TABLESAMPLE SYSTEM (10)", "TABLESAMPLE"),
        (
            (
                "DELETE FROM target WHERE a IN (SELECT a FROM ((SELECT a FROM u) x "
                "TABLESAMPLE SYSTEM (10)))"
            ),
            "TABLESAMPLE",
        ),
        ("SELECT DISTINCT a FROM t FOR UPDATE SKIP LOCKED", "FOR UPDATE"),
        ("SELECT count(*) FROM (SELECT DISTINCT a FROM t FOR UPDATE) AS x", "FOR UPDATE"),
        ("SELECT a FROM t QUALIFY row_number() OVER () = 1", "QUALIFY"),
        ("SELECT * EXCEPT (a) FROM t", "EXCEPT"),
        ("SELECT sum(a) IGNORE NULLS OVER (ORDER BY b) FROM t", ""),
    ],
)
def test_the_error_names_the_clause(sql: str, clause: str) -> None:
    with pytest.raises(ReclockError) as error:
        plan_statement(parse(sql)[0], WORLD.catalog, WORLD.session)
    assert clause in str(error.value)
    assert isinstance(error.value, UnsupportedSql) or error.value.sqlstate == "42601"
