"""CREATE, DROP, ALTER and SHOW: names, defaults, normalised text, dependencies."""

from __future__ import annotations

import pytest
from fixtures.planning import S3, SYSTEM_RELATION, World
from sql.test_planned_statements import rows_of

from reclock.algebra.ids import CollectionType, StorageCollectionId
from reclock.algebra.relations import BIGINT, INTEGER, TEXT, numeric
from reclock.catalog.objects import Cluster
from reclock.definitions.formats import CsvFormat, JsonFormat
from reclock.definitions.sources import ObjectsConnector
from reclock.errors import DependentObjects, ReclockError, RequiredIndex, UnsupportedSql
from reclock.plan.relational import collections
from reclock.sql.names import QualifiedName, SessionNames
from reclock.sql.planning.registry import Skipped
from reclock.sql.queries.views import expand
from reclock.sql.statements.objects.plan import Drop, Rename
from reclock.sql.statements.sources.alter_plan import (
    RetrySource,
    SkipOffsets,
    SkippedPart,
    WaiveCheck,
)
from reclock.sql.statements.sources.plan import CreateSource
from reclock.sql.statements.views.plan import CreateIndex, CreateView

# --- sources ---


def test_a_source_is_kept_as_what_it_says_with_full_names_and_defaults(world: World) -> None:
    statement = world.plan(
        'CREATE SOURCE IF NOT EXISTS Trips (A int NOT NULL, "B" numeric(5,1), c text) '
        f"{S3} FORMAT CSV"
    )
    assert isinstance(statement, CreateSource)
    assert statement.name == QualifiedName("reclock", "public", "trips")
    assert statement.progress_name == QualifiedName("reclock", "public", "trips_progress")
    assert [(c.name, c.type, c.is_nullable) for c in statement.desc.columns] == [
        ("a", INTEGER, False),
        ("B", numeric(5, 1), True),
        ("c", TEXT, True),
    ]
    assert statement.source.connector == ObjectsConnector("b", "**")
    assert statement.source.format == CsvFormat(has_header=False)
    assert statement.source.progress_desc.names == ("mz_timestamp", "key", "byte_offset")
    assert statement.create_sql == (
        'CREATE SOURCE reclock.public.trips (A INT NOT NULL, "B" DECIMAL(5, 1), c TEXT) '
        "FROM S3 DISCOVER OBJECTS MATCHING '**' USING BUCKET SCAN 'b' FORMAT CSV "
        "EXPOSE PROGRESS AS reclock.public.trips_progress"
    )


def test_formats(world: World) -> None:
    def planned(text: str) -> object:
        statement = world.plan(f"CREATE SOURCE s (a int, b int) {S3} FORMAT {text}")
        assert isinstance(statement, CreateSource)
        return statement.source.format

    assert planned("JSON") == JsonFormat()
    assert planned("CSV WITH HEADER NULL AS 'NA'") == CsvFormat(has_header=True, null_text="NA")
    assert planned("CSV WITH 2 COLUMNS DELIMITED BY E'\\t'") == CsvFormat(
        has_header=False, delimiter="\t"
    )


def test_a_progress_relation_gets_the_first_free_name(world: World) -> None:
    world.execute(
        f"CREATE SOURCE s_progress (a int) {S3} FORMAT JSON; CREATE VIEW s_progress1 AS "
        "SELECT 1 AS a"
    )
    statement = world.plan(f"CREATE SOURCE s (a int) {S3} FORMAT JSON")
    assert isinstance(statement, CreateSource)
    assert statement.progress_name.item == "s_progress2"
    explicit = world.plan(f"CREATE SOURCE s (a int) {S3} FORMAT JSON EXPOSE PROGRESS AS p")
    assert isinstance(explicit, CreateSource)
    assert explicit.progress_name.item == "p"


def test_a_progress_relation_reads_the_remap_collection_of_its_source(world: World) -> None:
    select = world.select("SELECT * FROM flights_progress")
    assert collections(select.plan) == {
        StorageCollectionId(world.item("flights").id, CollectionType.REMAPPING)
    }
    assert [(c.name, c.type) for c in select.desc.columns] == [
        ("mz_timestamp", BIGINT),
        ("key", TEXT),
        ("byte_offset", BIGINT),
    ]
    assert select.depends_on == {world.item("flights_progress").id}


# --- views and indexes ---


def test_a_view_is_kept_with_full_names_of_what_it_reads_but_not_of_what_it_defines(
    world: World,
) -> None:
    statement = world.plan(
        """CREATE VIEW v (x) AS WITH flights AS (SELECT name FROM airlines a)
           SELECT flights.name FROM flights, public.weather WHERE weather.origin = name AND EXISTS (SELECT 1 FROM delays)"""
    )
    assert isinstance(statement, CreateView)
    assert statement.create_sql == (
        "CREATE VIEW reclock.public.v (x) AS WITH flights AS (SELECT name FROM "
        "reclock.public.airlines AS a) "
        "SELECT flights.name FROM flights, reclock.public.weather WHERE weather.origin = name "
        "AND EXISTS(SELECT 1 FROM reclock.public.delays)"
    )
    assert statement.depends_on == {
        world.item(name).id for name in ("airlines", "weather", "delays")
    }
    assert statement.desc.names == ("x",)


def test_a_view_means_the_same_when_it_is_read_back(world: World) -> None:
    statement = world.execute(
        "CREATE VIEW v AS SELECT carrier, max(delay) AS d FROM delays WHERE flights NOT "
        "IN (1, 2) = true GROUP BY 1"
    )
    assert isinstance(statement, CreateView)
    entry = world.catalog.relation(world.item("v").id)
    assert entry.query == statement.plan
    assert entry.desc == statement.desc
    assert entry.desc.key == ("carrier",)
    assert entry.depends_on == statement.depends_on


@pytest.mark.parametrize(
    "query",
    [
        (
            "SELECT carrier, grouping(carrier), sum(flights) FROM delays GROUP BY ROLLUP "
            "(carrier), CUBE (flights, delay)"
        ),
        (
            "SELECT carrier, flights FROM delays GROUP BY GROUPING SETS ((carrier, flights), "
            "(), ROLLUP (flights, (carrier, delay)))"
        ),
        (
            "SELECT carrier, flights FROM delays GROUP BY DISTINCT ROLLUP (carrier, "
            "flights), ROLLUP (flights, carrier)"
        ),
        (
            "SELECT a.name, d.* FROM airlines a LEFT JOIN LATERAL (SELECT delay FROM delays "
            "WHERE carrier = name LIMIT 2) d ON true"
        ),
        (
            "SELECT a.name, d.n FROM airlines a, LATERAL (SELECT count(*) FROM delays WHERE "
            "carrier = name) AS d (n)"
        ),
    ],
)
def test_groupings_and_lateral_queries_are_read_back_too(query: str, world: World) -> None:
    statement = world.execute(f"CREATE VIEW v AS {query}")
    assert isinstance(statement, CreateView)
    entry = world.catalog.relation(world.item("v").id)
    assert entry.query == statement.plan
    assert entry.depends_on == statement.depends_on


def test_system_relations_are_in_reach_by_bare_name(world: World) -> None:
    statement = world.plan("CREATE VIEW v AS SELECT name FROM mz_sources")
    assert isinstance(statement, CreateView)
    assert (
        statement.create_sql
        == "CREATE VIEW reclock.public.v AS SELECT name FROM mz_catalog.mz_sources"
    )
    assert statement.depends_on == {SYSTEM_RELATION.id}


def test_a_materialized_view_is_a_view_with_a_default_index_by_its_key(world: World) -> None:
    statement = world.plan(
        "CREATE MATERIALIZED VIEW m AS SELECT carrier, count(*) AS n FROM flights GROUP BY carrier"
    )
    assert isinstance(statement, CreateView)
    assert statement.create_sql.startswith("CREATE VIEW reclock.public.m AS")
    index = statement.index
    assert index is not None
    assert (index.name.item, index.on, index.cluster_id) == ("m_primary_idx", None, 1)
    assert (
        index.create_sql
        == "CREATE INDEX m_primary_idx IN CLUSTER default ON reclock.public.m (carrier)"
    )


def test_a_materialized_source_is_a_source_with_a_default_index_on_all_columns(
    world: World,
) -> None:
    statement = world.plan(
        f"CREATE MATERIALIZED SOURCE s IN CLUSTER other (a int, b int) {S3} FORMAT JSON"
    )
    assert isinstance(statement, CreateSource)
    assert statement.index is not None
    assert (
        statement.index.create_sql
        == "CREATE INDEX s_primary_idx IN CLUSTER other ON reclock.public.s (a, b)"
    )
    assert "MATERIALIZED" not in statement.create_sql
    assert "CLUSTER" not in statement.create_sql


def test_default_names_of_indexes(world: World) -> None:
    names = []
    for text in (
        "DEFAULT INDEX ON delays",
        "DEFAULT INDEX ON delays",
        "INDEX ON delays (flights, carrier)",
        "INDEX ON delays (flights, carrier)",
        "INDEX ON delays (upper(carrier), flights, (flights + 1))",
        "INDEX ON delays ((flights), delays.carrier)",
    ):
        statement = world.execute(f"CREATE {text}")
        assert isinstance(statement, CreateIndex)
        names.append(statement.name.item)
    assert names == [
        "delays_primary_idx",
        "delays_primary_idx1",
        "delays_flights_carrier_idx",
        "delays_flights_carrier_idx1",
        "delays_expr_flights_expr_idx",
        "delays_flights_carrier_idx2",
    ]
    first, *_, expressions, _ = world.catalog.indexes_on(world.item("delays").id)
    assert [(part.position, part.sql, part.column.is_nullable) for part in first.key] == [
        (0, "carrier", False)
    ]
    assert [(part.position, part.sql) for part in expressions.key] == [
        (None, "upper(carrier)"),
        (1, "flights"),
        (None, "(flights + 1)"),
    ]
    listed = [
        row
        for row in rows_of(world, "SHOW INDEXES FROM delays")
        if row[2] == "delays_expr_flights_expr_idx"
    ]
    assert listed == [
        ("default", "delays", "delays_expr_flights_expr_idx", 1, None, "upper(carrier)", True),
        ("default", "delays", "delays_expr_flights_expr_idx", 2, "flights", None, False),
        ("default", "delays", "delays_expr_flights_expr_idx", 3, None, "(flights + 1)", False),
    ]


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("sum(flights)", "aggregate functions are not allowed in index keys"),
        ("(SELECT 1)", "a subquery is not supported here"),
        ("upper(current_user)", "current_user is not supported here"),
        ("flights + nothing", 'column "nothing" does not exist'),
        ("other.flights", 'missing FROM-clause entry for table "other"'),
        ("carrier + 1", "operator does not exist: text + integer"),
        (
            "ARRAY[interval '1 day']",
            'column "expr" has type interval[], which cannot be stored',
        ),
        ("carrier, (carrier)", 'column "carrier" specified more than once'),
    ],
)
def test_a_key_that_makes_no_sense_is_refused(world: World, key: str, complaint: str) -> None:
    with pytest.raises(ReclockError) as error:
        world.plan(f"CREATE INDEX ON delays ({key})")
    assert error.value.message == complaint


@pytest.mark.parametrize(
    "name", ["default", "select", "on", "with", "replica", "A b", 'x"y', "1a", "é"]
)
def test_whatever_a_cluster_is_called_the_text_of_an_index_is_read_as_it_was_meant(
    name: str,
) -> None:
    world = World()
    if name != "default":
        world.objects.append(Cluster(4, name, None, "u1"))
    quoted = '"' + name.replace('"', '""') + '"'
    world.execute("CREATE TABLE t (a int)")
    world.execute(f"CREATE INDEX i IN CLUSTER {quoted} ON t (a)")
    [index] = world.catalog.indexes()
    assert world.catalog.cluster_name(index.cluster_id) == name
    assert ("IN CLUSTER default ON" in index.create_sql) is (name == "default")


def test_an_index_goes_to_the_active_cluster_and_says_so(world: World) -> None:
    world.session = SessionNames(cluster="other")
    statement = world.plan("CREATE INDEX i ON delays (flights)")
    assert isinstance(statement, CreateIndex)
    assert statement.cluster_id == 2
    assert (
        statement.create_sql == "CREATE INDEX i IN CLUSTER other ON reclock.public.delays (flights)"
    )
    world.session = SessionNames(cluster="gone")
    with pytest.raises(ReclockError, match='cluster "gone" does not exist'):
        world.plan("CREATE INDEX i ON delays (flights)")


def test_or_replace_takes_the_old_view_and_its_indexes_along(world: World) -> None:
    world.execute("CREATE MATERIALIZED VIEW m AS SELECT 1 AS a")
    old = world.item("m").id
    statement = world.plan("CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT 2 AS b")
    assert isinstance(statement, CreateView)
    assert statement.replacement.dropped == (world.item("m_primary_idx").id, old)
    assert statement.index is not None
    assert statement.index.name.item == "m_primary_idx"
    with pytest.raises(DependentObjects):
        world.plan("CREATE OR REPLACE VIEW m AS SELECT a FROM m")


def test_or_replace_keeps_what_depends_on_the_view(world: World) -> None:
    world.execute("CREATE TABLE t (a int, b text)")
    world.execute("CREATE VIEW v AS SELECT a FROM t")
    world.execute("CREATE VIEW every AS SELECT * FROM v")
    world.execute(
        "CREATE MATERIALIZED VIEW m AS SELECT v.*, a + 1 AS b FROM v JOIN every USING (a)"
    )
    world.execute("CREATE OR REPLACE VIEW v AS SELECT a + 10 AS a, b, 1 AS c FROM t")
    assert world.catalog.resolve(("every",), world.session).desc.names == ("a",)
    assert world.catalog.resolve(("m",), world.session).desc.names == ("a", "b")
    assert [str(index.name.item) for index in world.catalog.indexes()] == ["m_primary_idx"]
    assert not world.catalog.quarantined()
    world.execute("CREATE OR REPLACE VIEW v AS SELECT a, b, 2 AS c FROM t")  # no text grows
    assert world.item("every").create_sql == (
        "CREATE VIEW reclock.public.every AS SELECT * FROM (SELECT a FROM reclock.public.v) AS v"
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1 AS a", "cannot drop columns from view"),
        ("SELECT 'x' AS b, 1 AS a", 'cannot change name of view column "a" to "b"'),
        (
            "SELECT 'x' AS a, 'y' AS b",
            'cannot change data type of view column "a" from integer to text',
        ),
        ("SELECT a, b FROM over_v", "cannot drop view v because"),
        ("SELECT 1 AS a, name AS b FROM mz_catalog.mz_sources", "an index on a view over"),
    ],
)
def test_or_replace_takes_no_column_from_what_depends_on_the_view(
    world: World, query: str, message: str
) -> None:
    world.execute("CREATE VIEW v AS SELECT 1 AS a, 'x' AS b")
    world.execute("CREATE VIEW over_v AS SELECT * FROM v")
    world.execute("CREATE INDEX ON over_v (a)")
    with pytest.raises(ReclockError, match=message):
        world.plan(f"CREATE OR REPLACE VIEW v AS {query}")


def test_if_not_exists_skips_what_is_there(world: World) -> None:
    skipped = world.plan("CREATE VIEW IF NOT EXISTS delays AS SELECT 1 AS a")
    assert skipped == Skipped(
        "CREATE VIEW", 'view "reclock.public.delays" already exists, skipping'
    )
    assert isinstance(
        world.plan(f"CREATE SOURCE IF NOT EXISTS flights (a int) {S3} FORMAT JSON"), Skipped
    )


# --- dropping ---


def test_a_drop_takes_parts_along_and_wants_cascade_for_the_others(world: World) -> None:
    world.execute(
        "CREATE MATERIALIZED VIEW m AS SELECT * FROM delays; CREATE VIEW n AS SELECT key "
        "FROM flights_progress"
    )
    with pytest.raises(DependentObjects) as error:
        world.plan("DROP SOURCE flights RESTRICT")
    assert error.value.dependents == [
        "reclock.public.n",
        "reclock.public.delays",
        "reclock.public.m",
    ]
    assert error.value.hint
    statement = world.plan("DROP SOURCE flights CASCADE")
    assert isinstance(statement, Drop)
    assert [name.item for name in statement.names] == [
        "n",
        "flights_progress",
        "m_primary_idx",
        "m",
        "delays",
        "flights",
    ]
    alone = world.plan("DROP SOURCE weather")
    assert isinstance(alone, Drop)
    assert [name.item for name in alone.names] == ["weather_progress", "weather"]
    both = world.plan("DROP VIEW delays, m")
    assert isinstance(both, Drop)
    assert [name.item for name in both.names] == ["m_primary_idx", "m", "delays"]


def test_a_materialized_view_keeps_one_index(world: World) -> None:
    world.execute("CREATE MATERIALIZED VIEW m AS SELECT * FROM delays")
    with pytest.raises(
        RequiredIndex, match='"m_primary_idx" because materialized view "m" requires it'
    ):
        world.plan("DROP INDEX m_primary_idx")
    assert isinstance(world.plan("DROP INDEX m_primary_idx CASCADE"), Drop)
    world.execute("CREATE INDEX other ON m (carrier)")
    assert isinstance(world.plan("DROP INDEX m_primary_idx"), Drop)
    with pytest.raises(RequiredIndex):
        world.plan("DROP INDEX other, m_primary_idx")
    refresh = world.plan("REFRESH MATERIALIZED VIEW CONCURRENTLY m")
    assert refresh == Skipped(
        "REFRESH MATERIALIZED VIEW", 'materialized view "m" is always kept up to date'
    )


def test_dropping_what_is_not_there(world: World) -> None:
    assert world.plan("DROP VIEW IF EXISTS nothing") == Skipped(
        "DROP VIEW", 'view "nothing" does not exist, skipping'
    )
    statement = world.plan("DROP VIEW IF EXISTS nothing, delays")
    assert isinstance(statement, Drop)
    assert statement.notices == ('view "nothing" does not exist, skipping',)


# --- ALTER SOURCE ---


def test_decisions_about_a_source(world: World) -> None:
    id, name = world.item("flights").id, QualifiedName("reclock", "public", "flights")
    assert world.plan("ALTER SOURCE flights RETRY") == RetrySource(id, name)
    assert world.plan("ALTER SOURCE flights WAIVE 'x y'") == WaiveCheck(id, name, "x y")
    skips = {
        "'a.csv'": [SkippedPart("a.csv")],
        "'a.csv' FROM 3 TO 9": [SkippedPart("a.csv", 3, 9)],
        "'a' FROM 3 TO 9, FROM 12 TO 13, 'b', 'c' FROM 0 TO 1": [
            SkippedPart("a", 3, 9),
            SkippedPart("a", 12, 13),
            SkippedPart("b"),
            SkippedPart("c", 0, 1),
        ],
        "'a' FROM 3 TO 9, 'a' FROM 3 TO 9": [SkippedPart("a", 3, 9)],
    }
    for text, parts in skips.items():
        assert world.plan(f"ALTER SOURCE flights SKIP {text}") == SkipOffsets(
            id, name, tuple(parts)
        )


def test_a_renamed_source_is_read_by_its_views_as_before(world: World) -> None:
    world.execute(
        """CREATE VIEW v AS
           SELECT flights.carrier, public.flights.day FROM flights JOIN airlines AS a ON a.carrier = flights.carrier;
           CREATE INDEX i ON flights (carrier); CREATE VIEW w AS SELECT f.day FROM flights AS f"""
    )
    before = {
        name: expand(world.select(f"SELECT * FROM {name}").plan, world.catalog)
        for name in ("v", "w", "delays")
    }
    statement = world.execute('ALTER SOURCE flights RENAME TO "Trips"')
    assert isinstance(statement, Rename)
    assert (
        world.item("i").create_sql
        == 'CREATE INDEX i IN CLUSTER default ON reclock.public."Trips" (carrier)'
    )
    assert (
        world.item("w").create_sql
        == 'CREATE VIEW reclock.public.w AS SELECT f.day FROM reclock.public."Trips" AS f'
    )
    for name, plan in before.items():
        after = expand(world.select(f"SELECT * FROM {name}").plan, world.catalog)
        assert collections(after) == collections(plan)
        assert after.desc == plan.desc
    assert world.select('SELECT * FROM "Trips"').depends_on == {statement.id}
    with pytest.raises(ReclockError, match=r"relation .* does not exist"):
        world.plan("SELECT * FROM flights")
    assert isinstance(world.plan("ALTER SOURCE IF EXISTS flights RENAME TO x"), Skipped)


def test_columns_of_sources_have_lengths_and_those_of_publications_do_not() -> None:
    world = World()
    created = world.execute(
        "CREATE SOURCE s (a varchar(3), b char) FROM S3 DISCOVER OBJECTS USING BUCKET "
        "SCAN 'b' FORMAT JSON"
    )
    assert isinstance(created, CreateSource)
    assert [column.sql_type for column in created.source.desc.columns] == [
        "character varying(3)",
        "character(1)",
    ]
    world.execute("CREATE SECRET word AS 'x'")
    world.execute(
        "CREATE CONNECTION pg TO POSTGRES (HOST 'h', USER 'u', PASSWORD SECRET word, DATABASE 'd')"
    )
    with pytest.raises(UnsupportedSql, match="the columns of a publication have no lengths"):
        world.plan(
            "CREATE SOURCE p FROM POSTGRES CONNECTION pg (PUBLICATION 'p') FOR TABLES (t "
            "(a varchar(3)))"
        )
