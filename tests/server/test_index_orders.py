"""Clients see the orders, collations and INCLUDE columns of an index as they were written."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.server import SqlServer
from fixtures.side_by_side import assert_same_answers

CATALOG = """
    SELECT indexname::text, indexdef FROM pg_indexes WHERE schemaname = 'side_by_side' ORDER BY 1;
    SELECT indexrelid::regclass::text, indnatts, indnkeyatts, indkey::text, indoption::text, indisunique, indexprs IS NULL
        FROM pg_index WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'side_by_side'::regnamespace) ORDER BY 1;
"""
INDEXES = f"""
    CREATE TABLE t (a int, b text, c text, d text);
    CREATE INDEX orders ON t (a DESC, b NULLS FIRST, c DESC NULLS LAST, d ASC NULLS LAST);
    CREATE INDEX includes ON t (a) INCLUDE (b, c);
    CREATE INDEX collations ON t (b COLLATE "C", lower(c) COLLATE "POSIX" DESC, d COLLATE "default");
    CREATE INDEX collations2 ON t (b COLLATE pg_catalog."C" DESC, (lower(c)) COLLATE "C");
    CREATE INDEX classes ON t (b text_pattern_ops DESC, c text_ops, d varchar_pattern_ops);
    CREATE UNIQUE INDEX keys ON t (a DESC) INCLUDE (d);
    CREATE UNIQUE INDEX partly ON t (a, lower(b) DESC) INCLUDE (c) WHERE a > 0;
    CREATE UNIQUE INDEX collated ON t (b COLLATE "C") NULLS NOT DISTINCT;
    CREATE INDEX ON t (a, b DESC) INCLUDE (d);
    CREATE UNIQUE INDEX ON t (a, lower(b)) INCLUDE (d);
    ALTER TABLE t ADD CONSTRAINT u UNIQUE (a, b) INCLUDE (c);
    ALTER TABLE t ADD UNIQUE NULLS NOT DISTINCT (a) INCLUDE (c, d);
    CREATE TABLE p (a int, b text, PRIMARY KEY (a) INCLUDE (b));
    {CATALOG}
    SELECT indexrelid::regclass::text, indcollation::text FROM pg_index
        WHERE indrelid = 't'::regclass AND indexprs IS NULL ORDER BY 1;
    SELECT c.relname::text, n, pg_get_indexdef(c.oid, n, true), pg_get_indexdef(c.oid, n, false)
        FROM pg_class AS c, generate_series(1, 5) AS n
        WHERE relkind = 'i' AND relnamespace = 'side_by_side'::regnamespace ORDER BY 1, 2;
    SELECT attrelid::regclass::text, attnum, attname::text FROM pg_attribute
        WHERE attrelid IN (SELECT indexrelid FROM pg_index WHERE indexprs IS NULL AND indrelid = 't'::regclass) ORDER BY 1, 2;
    SELECT conname::text, pg_get_constraintdef(oid), conkey::text FROM pg_constraint
        WHERE conrelid = 't'::regclass AND contype <> 'n' ORDER BY 1;
    INSERT INTO t VALUES (1, 'x', 'y', 'z');
    INSERT INTO t VALUES (1, 'x', 'y', 'zz');
    CREATE TABLE copy (LIKE t INCLUDING ALL);
    SELECT indexdef FROM pg_indexes WHERE tablename = 'copy' AND indexdef LIKE '%UNIQUE%' ORDER BY 1;
    DROP TABLE copy;
    ALTER TABLE t RENAME COLUMN c TO e;
    ALTER TABLE t RENAME COLUMN d TO "F";
    {CATALOG}
    ALTER TABLE t DROP COLUMN e;
    SELECT indexname::text, indexdef FROM pg_indexes WHERE schemaname = 'side_by_side' ORDER BY 1;
    INSERT INTO t VALUES (1, 'x', 'zz');
    CREATE INDEX ON t (a) INCLUDE (nothing);
    CREATE UNIQUE INDEX ON t (a) INCLUDE (nothing);
    CREATE INDEX ON t (b COLLATE nothing);
    ALTER TABLE t ADD UNIQUE (a DESC);
    ALTER TABLE t ADD UNIQUE (lower(b))
"""
OF_VIEWS = """
    CREATE TABLE t (a int, b text);
    CREATE MATERIALIZED VIEW m AS SELECT a, count(*) AS n FROM t GROUP BY a WITH NO DATA;
    CREATE UNIQUE INDEX i ON m (a);
    CREATE UNIQUE INDEX ON m (n, a DESC);
    CREATE UNIQUE INDEX IF NOT EXISTS i ON m (a);
    SELECT indexname::text, indexdef FROM pg_indexes WHERE tablename = 'm' ORDER BY 1;
    SELECT indisunique, indimmediate, indisprimary FROM pg_index WHERE indrelid = 'm'::regclass;
    DROP INDEX i;
    REFRESH MATERIALIZED VIEW m;
    SELECT indexname::text FROM pg_indexes WHERE tablename = 'm'
"""


def test_orders_and_included_columns_are_those_of_postgresql(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, INDEXES, messages=())


def test_unique_indexes_of_materialized_views(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, OF_VIEWS, messages=())
    with pytest.raises(psycopg.errors.FeatureNotSupported) as error:
        ours.execute("CREATE UNIQUE INDEX ON m (n)")
    assert error.value.diag.message_hint == "it is known to be unique by a"
    ours.execute("CREATE VIEW v AS SELECT * FROM t")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        ours.execute("CREATE UNIQUE INDEX ON v (a)")


def test_orders_are_in_the_text_of_the_definition(sql_server: SqlServer) -> None:
    with sql_server.connect() as connection:
        connection.execute("CREATE TABLE ordered (a int, b text)")
        connection.execute('CREATE INDEX oi ON ordered (a DESC, b COLLATE "C") INCLUDE (b)')
        connection.execute("CREATE UNIQUE INDEX ou ON ordered (a DESC NULLS LAST, b) INCLUDE (b)")
        try:
            [(_, index)] = connection.execute("SHOW CREATE INDEX oi").fetchall()
            [(_, table)] = connection.execute("SHOW CREATE TABLE ordered").fetchall()
        finally:
            connection.execute("DROP TABLE ordered CASCADE")
    assert index.endswith('(a DESC, b COLLATE "C") INCLUDE (b)')
    assert "UNIQUE (a DESC NULLS LAST, b) INCLUDE (b) AS INDEX" in table
