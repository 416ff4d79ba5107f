"""Statements that mean nothing are refused when they are planned, with their code and with help."""

from __future__ import annotations

import pytest
from fixtures.planning import S3, World

from reclock.errors import ReclockError

REFUSED = {
    "CREATE VIEW flights AS SELECT 1 AS a": (
        "42P07",
        'relation "flights" already exists',
    ),
    "CREATE VIEW IF NOT EXISTS flights AS SELECT 1 AS a": ("42P07", "already exists"),
    "CREATE OR REPLACE VIEW flights AS SELECT 1 AS a": (
        "42809",
        '"flights" is not a view',
    ),
    "CREATE VIEW nowhere.v AS SELECT 1 AS a": ("3F000", 'schema "nowhere" does not exist'),
    "CREATE VIEW nowhere.public.v AS SELECT 1 AS a": ("3D000", 'database "nowhere" does not exist'),
    "CREATE VIEW mz_catalog.v AS SELECT 1 AS a": ("42501", '"mz_catalog" is a system object'),
    "CREATE VIEW v AS SELECT 1 AS a, 2 AS a": ("42701", 'column "a" specified more than once'),
    'CREATE TABLE v ("case" int, "CASE" int)': ("42701", 'column "CASE" specified more than once'),
    'CREATE TABLE v AS SELECT 1 AS a, 2 AS "A"': ("42701", 'column "A" specified more than once'),
    'CREATE MATERIALIZED VIEW v AS SELECT 1 AS a, 2 AS "A"': ("42701", 'column "A" specified'),
    f'CREATE SOURCE s (a int, "A" int) {S3} FORMAT JSON': ("42701", 'column "A" specified'),
    "CREATE TABLE v AS SELECT * FROM flights_progress": (
        "42939",
        'the name "mz_timestamp" is reserved',
    ),
    "CREATE VIEW v AS SELECT 1 AS mz_diff": ("42939", 'the name "mz_diff" is reserved'),
    "CREATE VIEW v (a, b) AS SELECT 1": ("42601", "more column names than columns"),
    "CREATE VIEW v AS SELECT a FROM nothing": ("42P01", 'relation "nothing" does not exist'),
    "CREATE VIEW v AS SELECT * FROM m_idx": ("42P01", 'relation "m_idx" does not exist'),
    "CREATE MATERIALIZED VIEW v IN CLUSTER bad AS SELECT 1 AS a": (
        "42704",
        'cluster "bad" does not exist',
    ),
    f"CREATE SOURCE s (a int, a text) {S3} FORMAT JSON": ("42701", "more than once"),
    f"CREATE SOURCE s (mz_diff int) {S3} FORMAT JSON": ("42939", "reserved"),
    f"CREATE SOURCE s (a frob) {S3} FORMAT JSON": ("42704", 'type "frob" does not exist'),
    f"CREATE SOURCE s (a varchar(0)) {S3} FORMAT JSON": (
        "22023",
        "length for type varchar must be from 1",
    ),
    f"CREATE SOURCE s (a bigint(10)) {S3} FORMAT JSON": ("0A000", "not supported"),
    f"CREATE SOURCE s (a numeric(1001)) {S3} FORMAT JSON": ("22023", "precision 1001"),
    f"CREATE SOURCE s (a xml) {S3} FORMAT JSON": ("0A000", "type xml is not supported"),
    f"CREATE SOURCE s (a int) {S3} FORMAT CSV DELIMITED BY ';;'": ("22023", "one ASCII character"),
    f"CREATE SOURCE s (a int) {S3} FORMAT CSV WITH 2 COLUMNS": ("22023", "but 1 columns"),
    f"CREATE SOURCE s (a int) {S3} FORMAT JSON WITH (frob = 'x')": (
        "22023",
        'unknown option "frob"',
    ),
    f"CREATE SOURCE s (a int) {S3} FORMAT JSON EXPOSE PROGRESS AS flights": (
        "42P07",
        "already exists",
    ),
    f"CREATE SOURCE s (a int) {S3} FORMAT JSON EXPOSE PROGRESS AS s": ("42P07", "already exists"),
    f"CREATE SOURCE s (a int) {S3} FORMAT JSON EXPOSE PROGRESS AS lab.p": (
        "22023",
        "schema of its source",
    ),
    (
        "CREATE SOURCE s (a int) FROM S3 DISCOVER OBJECTS MATCHING 'a**' USING BUCKET SCAN "
        "'b' FORMAT JSON"
    ): (
        "22023",
        "invalid object pattern",
    ),
    "CREATE SOURCE s (a int) FROM S3 DISCOVER OBJECTS USING BUCKET SCAN '' FORMAT JSON": (
        "22023",
        "bucket",
    ),
    "CREATE INDEX i ON delays (nothing)": ("42703", 'column "nothing" does not exist'),
    "CREATE INDEX i ON delays (carrier, carrier)": ("42701", "more than once"),
    "CREATE INDEX m_idx ON delays (carrier)": (
        "42P07",
        'relation "m_idx" already exists',
    ),
    "CREATE INDEX i ON mz_sources (name)": ("42501", "system object"),
    "CREATE INDEX i ON m_idx (key)": ("42P01", "does not exist"),
    "DROP VIEW flights": ("42809", '"flights" is not a view'),
    "DROP SOURCE flights_progress": ("42809", "is not a source"),
    "DROP MATERIALIZED VIEW plain": ("42809", "is not a materialized view"),
    "DROP VIEW nothing": ("42P01", 'view "nothing" does not exist'),
    'CREATE CLUSTER ""': ("42601", "zero-length delimited identifier"),
    'CREATE VIEW v AS SELECT 1 AS ""': ("42601", "zero-length delimited identifier"),
    "REFRESH MATERIALIZED VIEW delays": ("42809", "is not"),
    "REFRESH MATERIALIZED VIEW nothing": ("42P01", "does not exist"),
    "DROP INDEX nothing": ("42704", 'index "nothing" does not exist'),
    "DROP INDEX delays": ("42809", "is not an index"),
    "ALTER SOURCE delays RETRY": ("42809", "is not a source"),
    "ALTER SOURCE nothing RETRY": ("42P01", "does not exist"),
    "ALTER SOURCE flights RENAME TO weather": ("42P07", "already exists"),
    "ALTER SOURCE flights SKIP 'a' FROM 5 TO 5": ("22023", "cannot skip"),
    "ALTER SOURCE flights SKIP 'b', 'a' FROM 1 TO 5, FROM 7 TO 5": ("22023", "cannot skip from 7"),
    "ALTER SOURCE flights WAIVE ''": ("22023", "cannot be empty"),
    "SHOW SOURCES IN CLUSTER default": ("42601", "takes no IN CLUSTER"),
    "SHOW SOURCES FROM nowhere": ("3F000", 'schema "nowhere" does not exist'),
    "SHOW INDEXES FROM nothing": ("42P01", "does not exist"),
    "SHOW INDEXES IN CLUSTER bad": ("42704", 'cluster "bad" does not exist'),
    "SHOW CREATE VIEW flights": ("42809", "is not a view"),
    "SHOW COLUMNS FROM nothing": ("42P01", "does not exist"),
    "SELECT 1 AS OF -1": ("22023", "is not a timestamp"),
    "SELECT 1 AS OF 'soon'": ("22007", "invalid input syntax"),
    "SELECT 1 AS OF (SELECT 1)": ("0A000", "subquery"),
    "SELECT 1 AS OF (1 + 1)": ("0A000", "not supported"),
    "SELECT 1 AS OF 99999999999999999999": ("22023", "is not a timestamp"),
    "SELECT $1": ("42P02", "there is no parameter"),
    "CREATE MATERIALIZED VIEW v AS SELECT now()": (
        "0A000",
        "now is not supported where changes are followed",
    ),
    "CREATE VIEW v AS SELECT 'now'::timestamptz": ("0A000", "the constant 'now'"),
    "CREATE VIEW v AS SELECT DATE 'Today '": ("0A000", "the constant 'today'"),
    "SELECT CURRENT_TIME": ("0A000", "not supported"),
    "CREATE MATERIALIZED VIEW v AS SELECT current_database()": (
        "0A000",
        "current_database is not supported where changes are followed",
    ),
    "SELECT generate_series(1, 2) FROM flights WHERE generate_series(1, 2) > 1": (
        "0A000",
        "which answers rows",
    ),
    "SELECT carrier FROM flights WHERE row_number() OVER () > 1": (
        "42P20",
        "window functions are not allowed in WHERE",
    ),
    "SELECT carrier COLLATE klingon FROM flights": ("42704", 'collation "klingon" does not exist'),
    "SELECT 'a' LIKE 'b' ESCAPE lower(carrier) FROM flights": ("0A000", "an ESCAPE that is not"),
    "SELECT 'a' LIKE 'b' ESCAPE": ("42601", "syntax error at end of input"),
    "CREATE TEMPORARY TABLE s ()": (
        "0A000",
        "a temporary table without columns is not supported",
    ),
    "SELECT ARRAY[]": ("42P18", "cannot determine type of empty array"),
    "SELECT 'nothing'::regclass": ("42P01", 'relation "nothing" does not exist'),
    "SELECT 'nothing'::regtype": ("42704", 'type "nothing" does not exist'),
    "SELECT carrier::regtype FROM flights": ("0A000", "of what is no constant"),
    "CREATE TABLE s (a interval PRIMARY KEY)": ("0A000", "interval, which is not supported in"),
    "CREATE TABLE s (a int, b text[], UNIQUE (a, b))": ("0A000", "text[], which is not supported"),
    "CREATE TABLE s (a interval[])": ("0A000", "interval[], which cannot be stored"),
    "CREATE MATERIALIZED VIEW s AS SELECT ARRAY[interval '1 day'] AS a": (
        "0A000",
        "interval[], which cannot be stored",
    ),
    "CREATE MATERIALIZED VIEW s AS SELECT flights AS f FROM flights": (
        "42P16",
        'column "f" has pseudo-type record',
    ),
    "CREATE TABLE s AS SELECT ARRAY[(flight, carrier)] AS f FROM flights": (
        "42P16",
        'column "f" has pseudo-type record[]',
    ),
    "SELECT (flights).nothing FROM flights": (
        "42703",
        "column flights.nothing does not exist",
    ),
    "SELECT ROW(1, nowhere.*) FROM flights": ("42P01", 'entry for table "nowhere"'),
    "SELECT 1 FROM flights WHERE nowhere.* IS NULL": ("42P01", 'entry for table "nowhere"'),
    "SELECT (flight).a FROM flights": ("42809", "which is not a composite type"),
    "SELECT (flight).* FROM flights": ("42809", "type integer is not composite"),
    "SELECT min(flights) FROM flights": ("42883", "min(record)"),
    "SELECT ROW() FROM flights": ("0A000", "records without fields"),
    "SELECT flights = ROW(1, 2) FROM flights": ("42883", "record = record"),
    "SELECT flights = '(1,2)' FROM flights": ("0A000", "input of anonymous composite types"),
    f"CREATE SOURCE s (a interval[]) {S3} FORMAT JSON": (
        "0A000",
        "interval[], which cannot be stored",
    ),
    "SELECT nth_value(flight, 0) OVER (ORDER BY carrier) FROM flights": ("22016", "nth_value"),
    "SELECT ntile(0) OVER (ORDER BY carrier) FROM flights": ("22014", "greater than zero"),
    "SELECT sum(DISTINCT flight) OVER () FROM flights": ("0A000", "DISTINCT"),
    "SELECT array_agg(flight ORDER BY flight) OVER () FROM flights": ("0A000", "ORDER BY"),
    "SELECT percentile_cont(flight, 0.5) OVER () FROM flights": ("0A000", "percentile_cont"),
    "SELECT sum(flight) OVER w FROM flights": ("42704", 'window "w"'),
    "SELECT sum(flight) OVER (w ORDER BY flight) FROM flights WINDOW w AS (ORDER BY carrier)": (
        "42P20",
        "has that already",
    ),
    "SELECT sum(flight) OVER (ORDER BY carrier GROUPS flight PRECEDING) FROM flights": (
        "0A000",
        "frame offset",
    ),
    "SELECT sum(flight) OVER (ROWS 2 PRECEDING EXCLUDE TIES) FROM flights": (
        "0A000",
        "EXCLUDE TIES in a frame of ROWS",
    ),
    "SELECT sum(flight) OVER (ORDER BY carrier RANGE 1 PRECEDING) FROM flights": (
        "0A000",
        "column type text",
    ),
    "SELECT sum(rank() OVER ()) OVER () FROM flights": (
        "42P20",
        "not allowed in a window function",
    ),
    "SELECT sum(flight) OVER (ORDER BY flight ROWS UNBOUNDED FOLLOWING) FROM flights": (
        "42P20",
        "frame start",
    ),
    "SELECT nth_value(flight, carrier) OVER (ORDER BY carrier) FROM flights": (
        "42883",
        "nth_value(integer, text)",
    ),
    "SELECT lead(flight, 1, 'none') OVER (ORDER BY carrier) FROM flights": ("22P02", "integer"),
    "SELECT rank(flight) OVER (ORDER BY carrier) FROM flights": ("42883", "rank(integer)"),
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL (WITH RECURSIVE s(i) AS (SELECT i FROM r "
    "UNION ALL SELECT i + 1 FROM s)"
    " SELECT i FROM s)) SELECT * FROM r": ("0A000", "must not read that one"),
    "SELECT * FROM json_each(1, 2) AS g": ("42883", "does not exist"),
    "SELECT DISTINCT day FROM flights FOR UPDATE": ("0A000", "DISTINCT clause"),
    "CREATE MATERIALIZED VIEW v AS SELECT * FROM flights TABLESAMPLE SYSTEM (1)": (
        "0A000",
        "random",
    ),
    "SELECT * FROM flights TABLESAMPLE NONE (1)": (
        "42704",
        'tablesample method "none" does not exist',
    ),
    "SELECT * FROM flights TABLESAMPLE SYSTEM (101) REPEATABLE (1)": ("2202H", "0 and 100"),
    "SELECT * FROM flights TABLESAMPLE SYSTEM (NULL)": ("0A000", "TABLESAMPLE with NULL"),
    "SELECT interval '1 month' INTERSECT SELECT interval '30 days'": ("0A000", "intervals"),
    "SELECT percentile_cont(0.5) FROM flights": ("42809", "WITHIN GROUP is required"),
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY flight, day) FROM flights": (
        "0A000",
        "one value in an order",
    ),
    "SELECT rank(flight) WITHIN GROUP (ORDER BY flight) FROM flights": ("0A000", "of columns"),
    "SELECT rank(1, 2) WITHIN GROUP (ORDER BY flight) FROM flights": (
        "42883",
        "function rank(integer, integer) does not exist",
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_and_why(text: str, world: World) -> None:
    world.execute(
        "CREATE VIEW plain AS SELECT 1 AS a; CREATE VIEW m AS SELECT 1 AS a; CREATE "
        "INDEX m_idx ON m (a)"
    )
    sqlstate, message = REFUSED[text]
    with pytest.raises(ReclockError) as error:
        world.plan(text)
    assert error.value.sqlstate == sqlstate, error.value
    assert message in error.value.message


HINTS = {
    "SELECT carier FROM flights": 'did you mean "carrier"?',
    "SELECT f.carier FROM flights f": 'did you mean "carrier"?',
    "SELECT * FROM flight": 'did you mean "flights"?',
    "SELECT * FROM public.airline": 'did you mean "airlines"?',
    "SELECT flihts.day FROM flights": 'did you mean "flights"?',
    "CREATE INDEX i IN CLUSTER defualt ON delays (carrier)": 'did you mean "default"?',
    "CREATE INDEX i ON delays (carier)": 'did you mean "carrier"?',
    "SELECT * FROM pulic.flights": 'there is no schema "pulic"',
    "SELECT * FROM m_idx": '"m_idx" is of type index',
    "SELECT airlins.carrier FROM flights, airlines": '"airlines"',
    "SELECT carrier FROM flights, airlines": "put the relation's name in front",
    "DROP SOURCE flights": "CASCADE",
    "CREATE SOURCE s (a int) FROM FILES (PATH 'landing') FORMAT CSV": "S3 also reads files",
    "DESCRIBE flights": "SHOW COLUMNS",
    "OPTIMIZE flights": "reclock maintain",
    "REINDEX TABLE flights": "by themselves",
    "CLUSTER flights USING m_idx": "by themselves",
    "CREATE TABLE p (a int) PARTITION BY RANGE (a)": "UNION ALL",
    "CREATE TABLE p PARTITION OF flights DEFAULT": "UNION ALL",
    "CREATE TABLE p (a int) INHERITS (flights)": "UNION ALL",
    "IMPORT FOREIGN SCHEMA public FROM SERVER s INTO public": "CREATE SOURCE",
    "SELECT carrier FROM flights TIMESTAMP AS OF '2026-01-01'": "at the end of the query",
    "SELECT carrier FROM flights QUALIFY row_number() OVER () = 1": "a query around",
    "SELECT * EXCEPT (carrier) FROM flights": "name the columns",
}


@pytest.mark.parametrize("text", HINTS)
def test_an_error_helps_on(text: str, world: World) -> None:
    world.execute("CREATE VIEW m AS SELECT 1 AS a; CREATE INDEX m_idx ON m (a)")
    with pytest.raises(ReclockError) as error:
        world.plan(text)
    assert HINTS[text] in (error.value.hint or "")
