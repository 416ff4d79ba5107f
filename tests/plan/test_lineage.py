"""Which columns the columns of a plan come from, as SQL defines them."""

from __future__ import annotations

import pytest
from fixtures.planning import new_york

from reclock.plan.lineage import Origin, lineage
from reclock.plan.relational import Plan
from reclock.sql.queries.views import expand, expand_views
from reclock.sql.statements.query.values import Explain

WORLD = new_york()
NAMES = {entry.collection: entry.name.item for entry in WORLD.catalog.relations()}

EXAMPLES = [
    (
        "SELECT carrier, distance * 2 AS twice, 1 AS one FROM flights WHERE dep_delay > 3",
        ["flights.carrier identity", "flights.distance transformation", ""],
        "flights.dep_delay filter",
    ),
    (
        "SELECT a.name, max(f.distance + f.flight) AS far FROM flights AS f "
        "JOIN airlines AS a ON a.carrier = f.carrier GROUP BY a.name",
        ["airlines.name identity", "flights.distance aggregation, flights.flight aggregation"],
        "airlines.carrier join, airlines.name group_by, flights.carrier join",
    ),
    (
        "SELECT carrier FROM flights UNION ALL SELECT name FROM airlines",
        ["airlines.name identity, flights.carrier identity"],
        "",
    ),
    (
        "SELECT carrier FROM flights EXCEPT ALL SELECT carrier FROM airlines",
        ["flights.carrier identity"],
        "airlines.carrier filter",
    ),
    (
        "SELECT origin FROM flights AS f WHERE EXISTS "
        "(SELECT 1 FROM airlines AS a WHERE a.carrier = f.carrier)",
        ["flights.origin identity"],
        "airlines.carrier join, flights.carrier join",
    ),
    (
        "SELECT carrier, row_number() OVER (PARTITION BY origin ORDER BY flight) AS n, "
        "lag(distance) OVER (PARTITION BY origin ORDER BY flight) AS before FROM flights",
        ["flights.carrier identity", "", "flights.distance transformation"],
        "flights.flight window, flights.origin window",
    ),
    (
        "WITH RECURSIVE r(c, n) AS (SELECT carrier, 1 FROM airlines UNION "
        "SELECT f.dest, r.n + 1 FROM r JOIN flights AS f ON f.origin = r.c WHERE r.n < 3) "
        "SELECT c FROM r",
        ["airlines.carrier identity, flights.dest identity"],
        "airlines.carrier join, flights.dest join, flights.origin join",
    ),
    (
        "WITH MUTUALLY RECURSIVE a (x text) AS (SELECT carrier FROM airlines UNION SELECT y FROM b), "
        "b (y text) AS (SELECT dest FROM flights JOIN a ON origin = x) SELECT x FROM a",
        ["airlines.carrier identity, flights.dest identity"],
        "airlines.carrier join, flights.dest join, flights.origin join",
    ),
]


def planned(query: str) -> Plan:
    statement = WORLD.plan(f"EXPLAIN OPTIMIZER TRACE FOR {query}")
    assert isinstance(statement, Explain)
    return statement.planned


def text(origins: frozenset[Origin]) -> str:
    words = {f"{NAMES[o.collection]}.{o.column} {o.use.name.lower()}" for o in origins}
    return ", ".join(sorted(words))


@pytest.mark.parametrize(("query", "columns", "rows"), EXAMPLES)
def test_columns_have_the_origins_that_sql_says(query: str, columns: list[str], rows: str) -> None:
    traced = lineage(expand_views(planned(query), WORLD.catalog))
    assert [text(origins) for origins in traced.columns] == columns
    assert text(traced.rows) == rows


@pytest.mark.parametrize(("query", "columns", "rows"), EXAMPLES)
def test_the_optimizer_changes_no_origin_of_a_column(
    query: str, columns: list[str], rows: str
) -> None:
    traced = lineage(expand(planned(query), WORLD.catalog))
    assert [text(origins) for origins in traced.columns] == columns
