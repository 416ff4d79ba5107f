"""The law of maintained results for views in SQL: over tables, sources that only gain rows, and
sources of upserts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from benchmarks.tpch_queries import TPCH_VIEWS
from fixtures.maintaining import Bench, histories, possible, upserted
from fixtures.planning import World
from hypothesis import given, settings
from hypothesis import strategies as st

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.updates import Update
from reclock.compute.engines.spark import SparkEngine
from reclock.connectors.load_generators.tpch import Tpch
from reclock.definitions.load_generators import GENERATED
from reclock.plan.relational import Get, Plan
from reclock.sql.queries.views import expand

TABLES = """
CREATE TABLE t (k text, n int, m int);
CREATE TABLE adds (k text, n int, x numeric(38, 9));
CREATE TABLE upserts (k text, n int)
"""
"""``adds`` only gains rows, as a log does; of ``upserts`` a new row of a key replaces the one
before."""

VIEWS = (
    (
        "WITH RECURSIVE r (a, b) AS (SELECT n, m FROM t UNION SELECT r.a, t.m FROM r JOIN t ON "
        "t.n = r.b) SELECT b, a FROM r"
    ),
    (
        "WITH MUTUALLY RECURSIVE r (k text) AS (SELECT 'a' UNION SELECT other.k FROM r JOIN adds "
        "USING (k) JOIN adds AS other ON other.n = adds.n) SELECT k FROM r"
    ),
    "SELECT count(*) FROM t",
    "SELECT count(*), sum(n), min(k), max(m) FROM t WHERE n > 1",
    "SELECT k, count(*), sum(n) FROM adds GROUP BY k",
    "SELECT k, count(n), sum(x), max(x) FROM adds GROUP BY k HAVING count(*) > 1",
    "SELECT 1 AS one FROM t HAVING true",
    "SELECT 'many' AS size FROM t HAVING count(*) > 2",
    "SELECT count(*) FROM (SELECT DISTINCT k FROM t) x",
    "SELECT n, count(*) FROM (SELECT DISTINCT k, n FROM adds) x GROUP BY n",
    "SELECT count(*) FROM (SELECT k FROM t UNION SELECT k FROM adds) x",
    "SELECT k, sum(n) FROM (SELECT k, n FROM t UNION ALL SELECT k, n FROM upserts) x GROUP BY k",
    "SELECT count(*) FROM adds JOIN (SELECT DISTINCT k FROM t) x USING (k)",
    "SELECT t.k, sum(upserts.n) FROM t JOIN upserts USING (k) GROUP BY t.k",
    (
        "SELECT t.k, count(upserts.k) FROM t LEFT JOIN upserts ON t.k = upserts.k AND t.n < "
        "upserts.n GROUP BY t.k"
    ),
    "SELECT coalesce(t.k, adds.k), t.m, adds.x FROM t FULL JOIN adds ON t.k = adds.k",
    "SELECT k FROM (SELECT DISTINCT k FROM t) x ORDER BY k LIMIT 2",
    "SELECT k, n FROM adds ORDER BY n DESC, k LIMIT 1",
    "SELECT DISTINCT ON (k) k, n FROM t ORDER BY k, n DESC",
    "SELECT k, n FROM t EXCEPT ALL SELECT k, n FROM upserts",
    "SELECT k FROM adds INTERSECT SELECT k FROM t",
    "SELECT * FROM upserts WHERE k IN (SELECT k FROM adds WHERE n > 0)",
    "SELECT * FROM upserts WHERE NOT EXISTS (SELECT 1 FROM adds WHERE adds.k = upserts.k)",
    "SELECT k, (SELECT max(n) FROM adds WHERE adds.k = upserts.k) FROM upserts",
    "SELECT (SELECT n FROM t WHERE t.k = upserts.k) FROM upserts",
    "SELECT k, 6 / n FROM t",
    "SELECT sum(6 / n) FROM adds WHERE k <> 'b'",
    "SELECT count(*) FROM t WHERE 6 / n > 2",
    "SELECT t.k, 6 / (t.n - upserts.n) FROM t JOIN upserts USING (k)",
    "SELECT k::int + n FROM adds",
    "SELECT sum(n::smallint * 20000::smallint) FROM upserts",
    "SELECT k, row_number() OVER (PARTITION BY k ORDER BY n) FROM t",
    "SELECT k, n, sum(n) OVER (PARTITION BY k ORDER BY n, m) FROM t",
    "SELECT k, n, ntile(abs(m) + 1) OVER (PARTITION BY k ORDER BY n, m) FROM t",
    "SELECT k, count(DISTINCT n) FROM t GROUP BY k",
    "SELECT k, n, count(*) FROM adds GROUP BY ROLLUP (k, n)",
    "SELECT k, g FROM adds, generate_series(1, n) AS g",
    "SELECT avg(x), stddev(n) FROM adds",
    (
        "SELECT k, sum(CASE WHEN n > 1 THEN m ELSE 0 END), sum(m) FILTER (WHERE n > 0) AS "
        "some FROM t GROUP BY k"
    ),
    (
        "SELECT sum(CASE WHEN n > 0 THEN x END), sum(x) FILTER (WHERE k = 'a') AS some, "
        "avg(x) FILTER (WHERE n = 1) FROM adds"
    ),
    "SELECT sum(CASE WHEN n = 0 THEN -9e28 ELSE 9e28 END::numeric(38, 9)) FROM t",
    "SELECT k, sum(DISTINCT x) FROM adds GROUP BY k",
    "SELECT * FROM t WHERE n > (SELECT 0.5 * sum(n) FROM upserts WHERE upserts.k = t.k)",
    "SELECT t.k, t.m FROM t FULL JOIN upserts ON t.k = upserts.k WHERE upserts.n > 0",
    "SELECT t.k, adds.n FROM t LEFT JOIN adds ON t.k = adds.k WHERE 6 / adds.n > 2",
)

keys, numbers = st.sampled_from(["a", "b", "1", None]), st.sampled_from([0, 1, 2, None])
amounts = st.sampled_from([Decimal("0.5"), Decimal("9e28"), Decimal("-9e28"), None])
table_history = histories(st.tuples(keys, numbers, st.integers(0, 1)))
adding_history = st.lists(
    st.tuples(st.tuples(keys, numbers, amounts), st.integers(1, 4), st.integers(1, 2)), max_size=6
).map(possible)
new_row = st.one_of(st.none(), numbers)


@st.composite
def upsert_history(draw: st.DrawFn) -> list[Update]:
    drawn = draw(
        st.dictionaries(
            st.tuples(st.integers(1, 4), st.sampled_from(["a", "b", "1"])), new_row, max_size=6
        )
    )
    return upserted(
        [
            (key, None if number is None else (key, number), time)
            for (time, key), number in drawn.items()
        ]
    )


class Views:
    """Plans of views over some relations, as an index would maintain them."""

    def __init__(self, definitions: str) -> None:
        self.world, self._count = World(), 0
        for definition in definitions.split(";"):
            self.world.execute(definition)

    def plan(self, query: str) -> Plan:
        self._count += 1
        self.world.execute(f"CREATE VIEW v{self._count} AS {query}")
        view = self.world.catalog.relation(self.world.item(f"v{self._count}").id)
        return expand(Get(view.collection, "v", view.desc), self.world.catalog)

    def sides(
        self, updates: Mapping[str, Sequence[Update] | pa.Table]
    ) -> dict[StorageCollectionId, tuple[RelationDesc, Any]]:
        relations = {
            name: self.world.catalog.relation(self.world.item(name).id) for name in updates
        }
        return {
            relations[name].collection: (relations[name].desc, listed)
            for name, listed in updates.items()
        }


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.on_duckdb(tmp_path_factory.mktemp("sql"))


@pytest.fixture(scope="module")
def spark_bench(spark_engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("spark"), spark_engine)


@pytest.fixture(scope="module")
def law_bench(request: pytest.FixtureRequest) -> Bench:
    """``--laws-on-spark``: there, which takes minutes a view."""
    return request.getfixturevalue(
        "spark_bench" if request.config.getoption("laws_on_spark") else "bench"
    )


@cache
def small() -> Views:
    return Views(TABLES)


@pytest.mark.parametrize("query", VIEWS)
def test_a_view_is_maintained_as_its_query_answers(query: str, law_bench: Bench) -> None:
    views = small()
    plan = views.plan(query)

    @settings(max_examples=4)
    @given(table_history, adding_history, upsert_history(), st.sets(st.integers(0, 4), max_size=2))
    def law(t: list[Update], adds: list[Update], upserts: list[Update], skipped: set[int]) -> None:
        law_bench.check(plan, views.sides({"t": t, "adds": adds, "upserts": upserts}), skipped)

    law()


ON_SPARK = (
    (
        "SELECT t.k, count(upserts.k) FROM t LEFT JOIN upserts ON t.k = upserts.k AND t.n < "
        "upserts.n GROUP BY t.k"
    ),
    "SELECT DISTINCT ON (k) k, n FROM t ORDER BY k, n DESC",
    "SELECT t.k, 6 / (t.n - upserts.n) FROM t JOIN upserts USING (k)",
)
UPDATES_ON_SPARK = {
    "t": possible(
        [
            *(
                ((key, number, number % 2), 1, copies)
                for key, number, copies in (("a", 1, 2), ("b", 2, 1), (None, 2, 1))
            ),
            *((("a", 1, 1), 2, -1), (("a", 2, 1), 2, 1), (("b", 2, 0), 3, -1)),
        ]
    ),
    "upserts": upserted([(1, ("a", 1), 1), (2, ("b", 2), 1), (1, ("a", 2), 2), (2, None, 3)]),
}


@pytest.mark.spark
@pytest.mark.parametrize("query", ON_SPARK)
def test_a_view_is_maintained_on_spark_as_its_query_answers(query: str, spark_bench: Bench) -> None:
    views = small()
    spark_bench.check(views.plan(query), views.sides(UPDATES_ON_SPARK), keeps_groups=False)


# --- TPC-H ---


@cache
def tpch() -> tuple[Views, dict[str, pa.Table]]:
    """All tables at the first time; at each later one some orders and their line items are
    replaced."""
    descs = GENERATED["TPCH"]
    columns = {
        name: ", ".join(f"{column.name} {column.type}" for column in desc.columns)
        for name, desc in descs.items()
    }
    views = Views(";".join(f"CREATE TABLE {name} ({listed})" for name, listed in columns.items()))
    parts: dict[str, list[pa.Table]] = {name: [] for name in descs}
    for time, (lower, upper) in enumerate(((0, 1), (1, 30), (30, 31), (31, 90)), start=1):
        for name, table in Tpch(0.0002).read(lower, upper, descs):
            times = pa.repeat(pa.scalar(time, pa.int64()), len(table))
            parts[name].append(table.add_column(len(descs[name]), TIME_COLUMN, times))
    return views, {
        name: pa.concat_tables(listed).select([*descs[name].names, TIME_COLUMN, DIFF_COLUMN])
        for name, listed in parts.items()
    }


@pytest.mark.parametrize("name", TPCH_VIEWS)
def test_a_view_over_tpch_is_maintained_as_its_query_answers(name: str, bench: Bench) -> None:
    views, updates = tpch()
    bench.check(views.plan(TPCH_VIEWS[name]), views.sides(updates), must_answer=True, in_files=True)
