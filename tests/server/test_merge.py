"""MERGE does what it does in PostgreSQL."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.side_by_side import assert_same_answers

STOCK = """
    CREATE TABLE stock (item text PRIMARY KEY, n int NOT NULL DEFAULT 1 CHECK (n >= 0), note text DEFAULT 'new');
    CREATE TABLE moves (item text, change int);
    INSERT INTO stock VALUES ('nut', 10, 'a'), ('bolt', 5, 'b'), ('cog', 1, NULL), ('pin', 7, 'p');
    INSERT INTO moves VALUES ('nut', 5), ('bolt', -5), ('gear', 3), ('axle', NULL), ('cog', 0), (NULL, 1);
    MERGE INTO stock s USING moves m ON s.item = m.item
        WHEN MATCHED AND s.n + m.change = 0 THEN DELETE
        WHEN MATCHED AND m.change = 0 THEN DO NOTHING
        WHEN MATCHED THEN UPDATE SET n = s.n + m.change, note = DEFAULT
        WHEN NOT MATCHED AND m.change > 0 AND m.item IS NOT NULL THEN INSERT VALUES (m.item, m.change)
        WHEN NOT MATCHED BY TARGET AND m.item IS NOT NULL THEN INSERT (note, item) VALUES ('later', item)
        RETURNING merge_action(), s.*, m.change;
    SELECT * FROM stock ORDER BY item;
    MERGE INTO stock USING (SELECT item, sum(change) AS total FROM moves GROUP BY item) AS m ON stock.item = m.item
        WHEN NOT MATCHED BY SOURCE AND n > 6 THEN UPDATE SET n = n - 1, (note) = ROW ('unknown')
        WHEN NOT MATCHED BY SOURCE THEN DELETE
        WHEN MATCHED AND total IS NULL THEN UPDATE SET note = (SELECT max(item) FROM moves)
        RETURNING *;
    SELECT * FROM stock ORDER BY item;
    MERGE INTO stock USING (VALUES ('nut', 1), ('nut', 2)) AS v (item, by) ON stock.item = v.item
        WHEN MATCHED THEN UPDATE SET n = n + v.by;
    MERGE INTO stock USING (VALUES ('nut', 1), ('nut', 1)) AS v (item, by) ON stock.item = v.item
        WHEN MATCHED THEN DELETE;
    MERGE INTO stock USING (VALUES ('nut', 1), ('nut', 2)) AS v (item, by) ON stock.item = v.item AND by = 1
        WHEN MATCHED THEN UPDATE SET n = n + v.by
        WHEN NOT MATCHED AND by = 7 THEN INSERT DEFAULT VALUES;
    MERGE INTO stock USING (VALUES ('nut', 1), ('nut', 2)) AS v (item, by) ON stock.item = v.item
        WHEN MATCHED AND by = 1 THEN UPDATE SET n = 100 / by
        WHEN MATCHED AND 100 / (by - 1) < 0 THEN DELETE WHEN MATCHED THEN DO NOTHING;
    MERGE INTO stock USING (VALUES ('saw'), ('saw')) AS v (item) ON stock.item = v.item
        WHEN NOT MATCHED THEN INSERT VALUES (item);
    MERGE INTO stock USING (VALUES ('saw')) AS v (item) ON stock.item = v.item
        WHEN NOT MATCHED THEN INSERT VALUES (item, NULL);
    MERGE INTO stock USING (VALUES ('nut')) AS v (item) ON stock.item = v.item WHEN MATCHED THEN UPDATE SET n = -1;
    MERGE INTO stock USING (VALUES ('nut')) AS v (item) ON false WHEN NOT MATCHED THEN INSERT DEFAULT VALUES;
    MERGE INTO stock USING moves ON true WHEN MATCHED AND false THEN DELETE RETURNING stock.item;
    BEGIN;
    INSERT INTO stock VALUES ('own', 1);
    MERGE INTO stock USING (SELECT 'own' AS item) AS v ON stock.item = v.item WHEN MATCHED THEN UPDATE SET n = 2;
    MERGE INTO stock USING stock AS other ON stock.item = other.item AND other.n > 1 WHEN MATCHED THEN UPDATE SET n = stock.n * 2
        WHEN NOT MATCHED BY SOURCE THEN DO NOTHING;
    COMMIT;
    SELECT * FROM stock ORDER BY item
"""
COPIES = """
    CREATE TABLE bag (a int, b float8, c numeric(8, 2), d date);
    CREATE TABLE log (id bigint GENERATED ALWAYS AS IDENTITY, a smallint, b text DEFAULT 'x', c varchar(4));
    INSERT INTO bag VALUES (1, 1.5, 2.25, '2020-02-29'), (1, 1.5, 2.25, '2020-02-29'), (2, 'NaN', NULL, NULL);
    MERGE INTO bag USING (SELECT 1 AS a) AS s ON bag.a = s.a WHEN MATCHED THEN UPDATE SET c = s.a, d = d + 1;
    SELECT * FROM bag ORDER BY a;
    MERGE INTO bag USING (SELECT 1 AS a UNION ALL SELECT 1) AS s ON bag.a = s.a WHEN MATCHED THEN UPDATE SET c = s.a;
    MERGE INTO log USING bag ON false WHEN NOT MATCHED AND bag.a = 1 THEN INSERT (a, c) VALUES (bag.a, 'ab')
        WHEN NOT MATCHED THEN INSERT (c, a, b) VALUES ('z', bag.a * 10, DEFAULT);
    MERGE INTO log USING (SELECT 7 AS a) AS s ON log.a = s.a WHEN NOT MATCHED THEN INSERT (id, a) VALUES (100, s.a);
    MERGE INTO log USING (SELECT 7 AS a) AS s ON log.a = s.a
        WHEN NOT MATCHED THEN INSERT (id, a) OVERRIDING SYSTEM VALUE VALUES (100, s.a) RETURNING id, merge_action() AS what, s.a;
    MERGE INTO log USING (SELECT 8 AS a) AS s ON log.a = s.a WHEN NOT MATCHED THEN INSERT (a, c) VALUES (s.a, 'too long');
    MERGE INTO log USING (SELECT 70000 AS a) AS s ON log.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a);
    MERGE INTO log USING (SELECT 8 AS a) AS s ON log.a = s.a WHEN MATCHED THEN UPDATE SET id = 3;
    SELECT count(id), count(DISTINCT id), sum(a), min(b), max(c) FROM log;
    MERGE INTO bag USING generate_series(2, 4) AS g ON bag.a = g WHEN MATCHED THEN DELETE
        WHEN NOT MATCHED THEN INSERT (a) VALUES (g) WHEN NOT MATCHED BY SOURCE THEN UPDATE SET a = -bag.a;
    SELECT * FROM bag ORDER BY a;
    MERGE INTO bag AS t USING bag AS s JOIN log ON s.a = log.a ON t.a = s.a WHEN MATCHED THEN DELETE;
    MERGE INTO bag USING (SELECT g AS a FROM generate_series(1, 1000) AS s (g)) AS s ON bag.a = s.a
        WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.a / 2) WHEN NOT MATCHED BY SOURCE THEN DELETE;
    SELECT count(*), sum(a), sum(b) FROM bag;
    MERGE INTO bag USING (SELECT g AS a FROM generate_series(1, 1000, 3) AS s (g)) AS s ON bag.a = s.a WHEN MATCHED THEN DELETE;
    SELECT count(*), sum(a), sum(b) FROM bag
"""
REFUSED = """
    CREATE TABLE t (a int, b int);
    CREATE TABLE s (a int, c int);
    CREATE VIEW v AS SELECT * FROM t;
    MERGE INTO t USING t ON true WHEN MATCHED THEN DELETE;
    MERGE INTO nothing USING s ON true WHEN MATCHED THEN DELETE;
    MERGE INTO t USING s ON t.a = s.a;
    MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN INSERT VALUES (1);
    MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN DELETE;
    MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE WHEN MATCHED AND c = 1 THEN DELETE;
    MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED BY SOURCE AND c = 1 THEN DELETE;
    MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED AND b = 1 THEN INSERT VALUES (1);
    MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.a, t.b);
    MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (1, 2, 3);
    MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1);
    MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (d) VALUES (1);
    MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES ('x');
    MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET d = 1;
    MERGE INTO t USING s ON t.a = s.a WHEN MATCHED AND sum(c) > 1 THEN DELETE;
    MERGE INTO t USING s ON a = c WHEN MATCHED THEN DELETE
"""
REFERRING = """
    CREATE TABLE p (id int PRIMARY KEY);
    CREATE TABLE c (p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE d (p int REFERENCES p);
    INSERT INTO p VALUES (1), (2), (3), (4);
    INSERT INTO c VALUES (1), (1), (2), (3);
    INSERT INTO d VALUES (3);
    MERGE INTO p USING (VALUES (1), (2), (9)) AS v (id) ON p.id = v.id WHEN MATCHED AND v.id = 1 THEN DELETE
        WHEN MATCHED THEN UPDATE SET id = 20 WHEN NOT MATCHED THEN INSERT VALUES (v.id);
    SELECT * FROM p ORDER BY id;
    SELECT * FROM c ORDER BY p;
    MERGE INTO p USING (VALUES (20)) AS v (id) ON p.id = v.id WHEN NOT MATCHED BY SOURCE THEN DELETE;
    MERGE INTO c USING (VALUES (4), (5)) AS v (id) ON c.p = v.id WHEN NOT MATCHED THEN INSERT VALUES (v.id);
    MERGE INTO c USING (VALUES (4), (9)) AS v (id) ON c.p = v.id WHEN NOT MATCHED THEN INSERT VALUES (v.id);
    SELECT * FROM c ORDER BY p
"""
MESSAGES = ("21000", "23502", "23503", "23505", "23514")
"""SQLSTATEs whose messages are PostgreSQL's."""


@pytest.mark.parametrize("script", [STOCK, COPIES, REFUSED, REFERRING])
def test_merge_is_postgresqls(
    ours: psycopg.Connection, theirs: psycopg.Connection, script: str
) -> None:
    assert_same_answers(ours, theirs, script, messages=MESSAGES, is_ordered=False)
