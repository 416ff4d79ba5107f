"""Statements that write to tables with constraints do what they do in PostgreSQL, and fail as they
fail there."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.side_by_side import assert_same_answers

KEYS = """
    CREATE TABLE parts (id int PRIMARY KEY, code text UNIQUE, left_in_stock int DEFAULT 5 CHECK (left_in_stock >= 0));
    INSERT INTO parts VALUES (1, 'nut', 10), (2, 'bolt', 20), (3, NULL, DEFAULT);
    INSERT INTO parts (id) VALUES (3);
    INSERT INTO parts (id, code) VALUES (4, 'nut');
    INSERT INTO parts (id, code) VALUES (4, 'gear'), (4, 'cog');
    INSERT INTO parts VALUES (4, 'gear', -1);
    INSERT INTO parts VALUES (NULL, 'gear', 1);
    INSERT INTO parts VALUES (4, NULL, NULL), (5, NULL, 0);
    UPDATE parts SET left_in_stock = left_in_stock - 6;
    UPDATE parts SET id = 1 WHERE id = 2;
    UPDATE parts SET code = 'nut' WHERE code IS NULL AND id = 3;
    UPDATE parts SET left_in_stock = left_in_stock - 1 WHERE left_in_stock > 0;
    DELETE FROM parts WHERE id = 1;
    INSERT INTO parts VALUES (1, 'nut', 3) RETURNING id, code;
    INSERT INTO parts SELECT id + 2, code FROM parts WHERE id = 2;
    START TRANSACTION READ WRITE;
    DELETE FROM parts WHERE id = 2;
    INSERT INTO parts VALUES (2, 'bolt', 7);
    SAVEPOINT here;
    INSERT INTO parts VALUES (2, 'bolt', 7);
    ROLLBACK TO here;
    UPDATE parts SET code = 'BOLT' WHERE id = 2;
    INSERT INTO parts VALUES (6, 'bolt', 1);
    COMMIT;
    SELECT * FROM parts ORDER BY id
"""
OTHER_KEYS = """
    CREATE TABLE seats (hall text, number int, guest text, UNIQUE NULLS NOT DISTINCT (hall, number),
        CONSTRAINT one_each UNIQUE (guest), CHECK (number > 0 OR hall = 'none'), CHECK (length(guest) < 9));
    INSERT INTO seats VALUES ('a', 1, 'ada'), ('a', 2, 'bob'), ('b', 1, NULL), (NULL, 1, NULL);
    INSERT INTO seats VALUES ('a', 2, 'eve');
    INSERT INTO seats VALUES (NULL, 1, 'eve');
    INSERT INTO seats VALUES ('c', 1, 'ada');
    INSERT INTO seats VALUES ('none', 0, NULL);
    INSERT INTO seats VALUES ('c', 0, NULL);
    INSERT INTO seats VALUES ('c', 1, 'much too long');
    INSERT INTO seats VALUES (NULL, NULL, NULL);
    INSERT INTO seats VALUES (NULL, NULL, 'fay');
    SELECT * FROM seats ORDER BY hall, number, guest;
    CREATE TABLE kinds (d date UNIQUE, n numeric(6, 2) UNIQUE, f float8 UNIQUE, b boolean, t timestamp, UNIQUE (b, t));
    INSERT INTO kinds VALUES ('2020-02-29', 1.50, 0, true, '2020-02-29 12:00'), ('2020-03-01', -1.5, 'NaN', true, NULL);
    INSERT INTO kinds (d) VALUES ('2020-02-29');
    INSERT INTO kinds (n) VALUES (1.5);
    INSERT INTO kinds (f) VALUES ('NaN');
    INSERT INTO kinds (b, t) VALUES (true, '2020-02-29 12:00:00');
    INSERT INTO kinds (b, t) VALUES (true, NULL);
    SELECT count(*) FROM kinds
"""
ELEMENTS = """
    CREATE TABLE lists (id int PRIMARY KEY, a int[], t text[]);
    INSERT INTO lists VALUES (1, '{1,2,3}', '{a}'), (2, '{4}', '{b,c}'), (3, '{5,6}', '{d}');
    UPDATE lists SET a[2] = a[1] * 10, a[1] = a[2], t[1] = upper(t[1]);
    SELECT * FROM lists ORDER BY id;
    UPDATE lists SET a[5] = 1.6, t[1] = id WHERE id <> 2;
    UPDATE lists AS l SET a[1] = o.id, t[3] = NULL FROM lists o WHERE o.id = l.id + 1;
    SELECT * FROM lists ORDER BY id;
    INSERT INTO lists VALUES (3, '{7,8}') ON CONFLICT (id) DO UPDATE SET a[2] = excluded.a[2], t[2] = lists.t[1] RETURNING *;
    MERGE INTO lists USING (VALUES (2, 'm')) AS s (id, t) ON lists.id = s.id WHEN MATCHED THEN UPDATE SET t[2] = s.t, a[2] = s.id;
    UPDATE lists SET a[1] = 1, a[2] = 2, a[3] = 3, a[4] = 4, a[5] = 5, a[6] = 6, a[7] = 7, a[8] = 8, a[9] = 9 WHERE id = 1;
    UPDATE lists SET a[1] = 'x';
    UPDATE lists SET a = NULL, a[1] = 2;
    UPDATE lists SET id[1] = 2;
    SELECT * FROM lists ORDER BY id
"""
FORMS = """
    CREATE TABLE forms (a serial2, b serial4, c serial8, d int array, e varchar(3) array[4]);
    INSERT INTO forms AS f (d) VALUES ('{1}');
    INSERT INTO forms AS f (d) VALUES ('{2}') RETURNING f.a, f.d;
    CREATE TABLE numbers (x int, y int);
    INSERT INTO numbers VALUES (1, 2);
    UPDATE numbers SET (y, x) = (SELECT * FROM numbers);
    UPDATE numbers SET (y, x) = (SELECT n.* FROM numbers AS n WHERE x > 5);
    UPDATE numbers SET (y, x) = (SELECT *, 1 FROM numbers);
    UPDATE numbers SET (y, x) = (SELECT * FROM (SELECT 1) AS one);
    SELECT * FROM numbers
"""
CHANGED = """
    CREATE TABLE changed (a int, b int[]);
    PREPARE adds AS INSERT INTO changed (a) VALUES (1) RETURNING *;
    PREPARE reads AS SELECT b FROM changed;
    EXECUTE adds;
    EXECUTE reads;
    ALTER TABLE changed ALTER COLUMN b TYPE text[], ADD COLUMN c int;
    EXECUTE adds;
    EXECUTE reads;
    SELECT * FROM changed
"""
SEQUENCES = """
    CREATE SEQUENCE s MAXVALUE 20;
    ALTER SEQUENCE s START WITH 4;
    ALTER SEQUENCE s INCREMENT BY 2 START WITH 6;
    SELECT nextval('s');
    ALTER SEQUENCE s START WITH 8;
    SELECT nextval('s');
    ALTER SEQUENCE s RESTART;
    SELECT nextval('s');
    SELECT setval('s', 12);
    ALTER SEQUENCE s MAXVALUE 10;
    ALTER SEQUENCE s MINVALUE 15 START WITH 16;
    ALTER SEQUENCE s MAXVALUE 10 RESTART;
    SELECT nextval('s');
    CREATE SEQUENCE unused MAXVALUE 30 START WITH 20;
    ALTER SEQUENCE unused START WITH 2 MAXVALUE 10;
    ALTER SEQUENCE unused START WITH 2 MAXVALUE 10 RESTART;
    SELECT nextval('unused');
    CREATE TABLE numbered (id serial, a int);
    ALTER SEQUENCE numbered_id_seq START WITH 100;
    INSERT INTO numbered (a) VALUES (1) RETURNING id
"""
ON_CONFLICT = """
    CREATE TABLE words (word text PRIMARY KEY, number int UNIQUE, count int NOT NULL DEFAULT 1);
    INSERT INTO words VALUES ('one', 1), ('two', 2) ON CONFLICT (word) DO UPDATE SET count = words.count + 1;
    INSERT INTO words VALUES ('two', 2), ('three', 3) ON CONFLICT (word) DO UPDATE SET count = words.count + excluded.count;
    INSERT INTO words AS w VALUES ('two', 7) ON CONFLICT (word) DO UPDATE SET number = excluded.number RETURNING w.*, number * 2;
    INSERT INTO words VALUES ('one', 9), ('nine', 9), ('ten', 9) ON CONFLICT DO NOTHING RETURNING word;
    INSERT INTO words VALUES ('four', 4), ('four', 5) ON CONFLICT (word) DO NOTHING;
    INSERT INTO words VALUES ('five', 5), ('five', 6) ON CONFLICT (word) DO UPDATE SET number = excluded.number;
    INSERT INTO words VALUES ('one', 3) ON CONFLICT (word) DO UPDATE SET number = excluded.number;
    INSERT INTO words VALUES ('six', 3) ON CONFLICT (word) DO NOTHING;
    INSERT INTO words VALUES ('one', 3, NULL) ON CONFLICT (word) DO NOTHING;
    INSERT INTO words VALUES ('one', 3) ON CONFLICT (count) DO NOTHING;
    INSERT INTO words VALUES ('one', 3) ON CONFLICT ON CONSTRAINT nobody DO NOTHING;
    INSERT INTO words VALUES ('one', 3) ON CONFLICT (nothing) DO NOTHING;
    INSERT INTO words VALUES ('one', 3) ON CONFLICT DO UPDATE SET count = 1;
    INSERT INTO words VALUES ('one', 3) ON CONFLICT (word) DO UPDATE SET count = count + 1;
    INSERT INTO words VALUES ('one', 1) ON CONFLICT ON CONSTRAINT words_number_key DO UPDATE SET word = 'ONE', count = DEFAULT;
    INSERT INTO words VALUES ('x', 1) ON CONFLICT (number) DO UPDATE SET (word, count) = (excluded.word, 40)
        WHERE words.count > 1000;
    INSERT INTO words VALUES ('x', 1) ON CONFLICT (number) DO UPDATE SET (word, count) = (excluded.word, 40) WHERE words.count = 1;
    INSERT INTO words SELECT 'w' || g, g + 100 FROM generate_series(1, 300) AS s (g) ON CONFLICT DO NOTHING;
    INSERT INTO words SELECT 'w' || g, g FROM generate_series(200, 400) AS s (g) ON CONFLICT (word)
        DO UPDATE SET number = NULL, count = (SELECT max(count) FROM words) + excluded.number WHERE excluded.number < 250;
    SELECT count(*), sum(count), count(number), sum(number) FROM words;
    BEGIN;
    INSERT INTO words VALUES ('a', 1), ('one', 2), ('two', 3), ('three', 4), ('four', 5) ON CONFLICT (word)
        DO UPDATE SET count = words.count + 1;
    INSERT INTO words VALUES ('new', 5000) ON CONFLICT (word) DO UPDATE SET count = 0;
    INSERT INTO words VALUES ('new', 5001) ON CONFLICT (word) DO UPDATE SET number = excluded.number RETURNING *;
    INSERT INTO words VALUES ('newer', 5001) ON CONFLICT (number) DO NOTHING;
    COMMIT;
    SELECT * FROM words WHERE word NOT LIKE 'w%' ORDER BY word
"""
UPDATE = """
    CREATE TABLE pairs (a int, b int, c int DEFAULT 3);
    INSERT INTO pairs VALUES (1, 2), (3, 4);
    UPDATE pairs SET (a, b) = (b, a), c = DEFAULT WHERE a = 1;
    UPDATE pairs SET (a, b) = ROW (10, DEFAULT) WHERE a = 3;
    UPDATE pairs SET (a, b) = (1, 2, 3);
    UPDATE pairs SET (a, a) = (1, 2);
    SELECT * FROM pairs ORDER BY a
"""
TYPES = """
    CREATE TABLE coded (n int, code varchar(5), item oid, word text);
    INSERT INTO coded VALUES (1, 'a', 7, 'b') RETURNING *, code || 'x', code AS again;
    INSERT INTO coded VALUES (1, 'abcdef', 7, 'b');
    INSERT INTO coded SELECT 2, word, (n - 2)::oid FROM coded RETURNING code, item;
    INSERT INTO coded (item) VALUES ((2::bigint ^ 32)::bigint::oid);
    UPDATE coded SET code = 'c' FROM (VALUES (1, 'z')) AS v (k, z) WHERE n = k RETURNING coded.code, z, item;
    DELETE FROM coded WHERE item = 7 RETURNING code, n
"""
ARRAYS = """
    CREATE TABLE tagged (n int, tags varchar(3)[], codes char(2)[], pairs varchar(2)[][]);
    INSERT INTO tagged VALUES (1, '{abc,NULL,"ab   "}', '{a,bc}', '{{a,b},{cc,dd}}'), (2, ARRAY['a', 'b'], ARRAY['x'], NULL);
    INSERT INTO tagged VALUES (3, '{}', '{}', '{}'), (4, NULL, NULL, NULL);
    INSERT INTO tagged (tags) VALUES ('{abcd}');
    INSERT INTO tagged (tags) VALUES (ARRAY['a', 'abcd']);
    INSERT INTO tagged (tags) SELECT ARRAY[n::text || 'abc'] FROM tagged;
    INSERT INTO tagged (n, tags) SELECT n + 10, ARRAY[n::text || 'a  '] FROM tagged WHERE n < 3;
    INSERT INTO tagged (codes) VALUES ('{abc}');
    INSERT INTO tagged (codes) SELECT ARRAY[n::text || 'ab'] FROM tagged;
    INSERT INTO tagged (pairs) VALUES ('{{a,b},{cc,ddd}}');
    UPDATE tagged SET tags = tags || 'wxyz'::text WHERE n = 1;
    UPDATE tagged SET tags = array_append(tags, 'w') WHERE n = 1 RETURNING tags, tags[3] || '|';
    SELECT n, tags, codes, pairs FROM tagged ORDER BY n;
    SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = 'tagged'::regclass AND attnum BETWEEN 1 AND 3 ORDER BY attnum;
    SELECT column_name::text, data_type::text, udt_name::text FROM information_schema.columns
        WHERE table_name = 'tagged' ORDER BY column_name
"""
WORDS_OF_TIME = """
    CREATE TABLE met (n int, d date, l timestamp, at timestamptz);
    INSERT INTO met VALUES (1, 'today', 'tomorrow', 'yesterday 10:00'), (2, 'now', 'now', 'now');
    INSERT INTO met (n, d, l) SELECT 3, 'yesterday', 'Today 12:30:15';
    SELECT n, d - current_date, l - current_date, at < now() FROM met WHERE n <> 2 ORDER BY n;
    SELECT n, d = current_date, l = at::timestamp, at <= now() FROM met WHERE n = 2;
    SELECT n FROM met WHERE d BETWEEN 'yesterday' AND 'today' AND l >= 'today' AND at IS NULL;
    UPDATE met SET d = 'tomorrow' WHERE d = 'today' RETURNING n, d - current_date;
    DELETE FROM met WHERE d IN ('tomorrow', 'yesterday');
    SELECT n FROM met;
    SELECT n FROM met WHERE d = 'some day';
    PREPARE met_on (date) AS SELECT $1 - current_date;
    EXECUTE met_on ('tomorrow')
"""
WIDE_NUMBERS = """
    CREATE TABLE wide (n int, a numeric(65, 30), b numeric(100), c numeric(39, 38));
    INSERT INTO wide VALUES (1, 1.5, 10, 0.1), (2, 12345678.123456789012345678901234567891, -7.5, NULL);
    SELECT n, a, b, c, a + 1 FROM wide ORDER BY n;
    CREATE TABLE wider (a numeric(1001, 2));
    CREATE TABLE wider (a numeric(0))
"""
QUERIES_IN_PARENTHESES = """
    CREATE TABLE words (a int, "values" int, "table" int);
    INSERT INTO words (VALUES (1, 2), (3, 4));
    INSERT INTO words (values, a) VALUES (5, 6) RETURNING *;
    INSERT INTO words ("table") (VALUES (7));
    INSERT INTO words ((SELECT 8, 9));
    INSERT INTO words (TABLE words);
    INSERT INTO words (SELECT 1, 2, 3 UNION ALL (VALUES (4, 5, 6))) RETURNING *;
    SELECT * FROM words ORDER BY a, 2, 3;
    CREATE RECURSIVE VIEW steps (n, "Twice") AS VALUES (1, 2) UNION ALL SELECT n + 1, "Twice" * 2 FROM steps WHERE n < 5;
    SELECT * FROM steps ORDER BY n;
    CREATE OR REPLACE RECURSIVE VIEW steps (n, "Twice") AS SELECT 7, 8 UNION SELECT n, 8 FROM steps;
    TABLE steps;
    CREATE RECURSIVE VIEW without_names AS SELECT 1;
    CREATE RECURSIVE VIEW too_many (a, b) AS SELECT 1
"""

EXECUTED = """
    PREPARE p (int, text, numeric, date, int[], interval, timestamp) AS SELECT $1 + 1, $2 || '!', $3, $4, $5, $6::text, $7;
    EXECUTE p (1 + 1, upper('a') || 'b', 1.5 * 2, date '2020-01-31' + 1, ARRAY[1, 2 + 3], interval '1 day' * 3,
        timestamp '2020-01-01' + interval '1 month');
    EXECUTE p (NULL, NULL, -abs(-1.5), make_date(2020, 1 + 1, 29), '{1}', '1 mon', NULL::timestamp);
    EXECUTE p (length('abc')::bigint, NULLIF('a', 'a'), CASE WHEN true THEN 7 END, current_date - current_date + date '2020-01-01',
        NULL, now() - now(), '2020-01-01');
    EXECUTE p (1, 'a', 1, '2020-02-' || 29, NULL, NULL, NULL);
    EXECUTE p (upper('1'), 'a', 1, NULL, NULL, NULL, NULL);
    EXECUTE p (1.6 + 1, 'a', 1, NULL, NULL, NULL, NULL);
    EXECUTE p (1 / (length('a') - 1), 'a', 1, NULL, NULL, NULL, NULL);
    EXECUTE p ((SELECT 1), 'a', 1, NULL, NULL, NULL, NULL);
    EXECUTE p (count(*), 'a', 1, NULL, NULL, NULL, NULL);
    EXECUTE p (a, 'a', 1, NULL, NULL, NULL, NULL);
    EXECUTE p;
    EXECUTE p (1, 'a', 1);
    DEALLOCATE p
"""

INSERTED_PARTS = """
    CREATE TYPE money_of AS (p int, q numeric(6,2), y text); CREATE TYPE deeper AS (c money_of, n int);
    CREATE TABLE purses (a int, c money_of, d money_of, l int[], e deeper, z int DEFAULT 7);
    INSERT INTO purses (a, c.p, c.q) VALUES (1, 2, 3);
    INSERT INTO purses (c.q, a) VALUES (2, 3), (4.567, 5);
    INSERT INTO purses (c.q, a) SELECT 7, 8;
    INSERT INTO purses (c.q, d.y) SELECT 7, 'y';
    INSERT INTO purses (z, c.q) VALUES (DEFAULT, 1) RETURNING c::text, z;
    INSERT INTO purses (l[1], l[2]) VALUES (4, 5), (6, 7);
    INSERT INTO purses (e.c.y, e.n) VALUES ('x', '5');
    INSERT INTO purses (c.q, a) SELECT a, a + 1 FROM purses WHERE a > 3 RETURNING a, (c).q;
    SELECT a, c::text, d::text, l, e::text, z FROM purses ORDER BY a, c, l, e;
    INSERT INTO purses (c.q, c) VALUES (7, NULL);
    INSERT INTO purses (c, c.q) VALUES (NULL, 7);
    INSERT INTO purses (a, a) VALUES (1, 2);
    INSERT INTO purses (c.nope) VALUES (7);
    INSERT INTO purses (a.nope) VALUES (7);
    INSERT INTO purses (nope.nope) VALUES (7);
    INSERT INTO purses (c.q) VALUES (DEFAULT);
    INSERT INTO purses (l[1]) VALUES (DEFAULT);
    INSERT INTO purses (c.p) VALUES ('x');
    INSERT INTO purses (c.q, a) VALUES (1);
    INSERT INTO purses (c.q) VALUES (1, 2);
    CREATE TABLE keyed_purses (k int PRIMARY KEY, c money_of);
    PREPARE put (int, int) AS INSERT INTO keyed_purses (k, c.p) VALUES ($1, $2);
    EXECUTE put (1, 2);
    EXECUTE put (3, 4);
    DEALLOCATE put;
    INSERT INTO keyed_purses (k, c.p) VALUES (1, 5) ON CONFLICT (k) DO UPDATE SET c.q = (excluded.c).p;
    WITH w AS (SELECT 9 AS n) INSERT INTO keyed_purses (k, c.p) SELECT n, n FROM w RETURNING k, c::text;
    SELECT k, c::text FROM keyed_purses ORDER BY k
"""

KEYS_OF_ENUMS = """
    CREATE TYPE shade AS ENUM ('light', 'dark');
    CREATE TABLE walls (room int, shade shade, note text, PRIMARY KEY (room, shade));
    INSERT INTO walls VALUES (1, 'light', 'a'), (1, 'dark', 'b');
    INSERT INTO walls VALUES (1, 'light', 'c');
    INSERT INTO walls VALUES (1, 'dark', 'd') ON CONFLICT (room, shade) DO UPDATE SET note = excluded.note;
    UPDATE walls SET shade = 'dark' WHERE shade = 'light';
    UPDATE walls SET shade = 'light', room = 2 WHERE shade = 'dark';
    SELECT room, note FROM walls WHERE room = 2 AND shade = 'light';
    SELECT shade::text, count(*) FROM walls GROUP BY shade ORDER BY shade;
    CREATE TABLE paints (shade shade PRIMARY KEY, price int);
    CREATE UNIQUE INDEX ON paints (coalesce(shade, 'dark')) WHERE price > 1;
    INSERT INTO paints VALUES ('light', 1);
    CREATE TABLE orders (paint shade REFERENCES paints);
    INSERT INTO orders VALUES ('light'), (NULL);
    INSERT INTO orders VALUES ('dark');
    DELETE FROM paints;
    INSERT INTO paints VALUES (NULL, 1);
    SELECT shade::text, price, room FROM paints JOIN walls USING (shade) ORDER BY room
"""

STRINGS_OF_SEVERAL_LINES = r"""
    SELECT 'a'
        'b' AS ab, E'c\n'   -- the next line goes on
        'd\t', U&'\0061'

        'b', 'it''s'
        -- so does this
        ' one' || 'x';
    SELECT 'a' 'b';
    SELECT 'a' /* no end of a line */ 'b';
    SELECT $$a$$
        'b';
    SELECT 'a'
        E'b'
"""

INTERVALS_OF_ISO_8601 = """
    SET intervalstyle = 'iso_8601';
    CREATE TABLE spans (n int, i interval);
    INSERT INTO spans VALUES (1, '0'), (2, '1-2'), (3, '1 2:03:04'), (4, '2:03:04.45679'), (5, NULL), (6, '-0.1 s'),
        (7, interval '1-2' + '3 4:05:06.7'), (8, interval '1-2' - '3 4:05:06.7'), (9, interval '-1-2' + '3 4:05:06.7'),
        (10, '-1 mon'), (11, '100 hours'), (12, '-59 min -1 s'), (13, '13 mons -400 days'), (14, 'P1Y2M3DT4H5M6S'),
        (15, '1 hour 1 ms');
    SELECT n, i::text, (i * 2)::text, -i || '' FROM spans ORDER BY n;
    SELECT array_agg(i::text ORDER BY n)::text, (interval '90 days 1 h')::text FROM spans;
    RESET intervalstyle;
    SELECT n, i::text FROM spans ORDER BY n;
    SET IntervalStyle TO postgres
"""

TEMPORARY = """
    CREATE TEMP TABLE passing (a int, b text);
    INSERT INTO passing VALUES (1, 'x'), (2, NULL);
    CREATE TEMP VIEW shown AS SELECT a, b FROM passing;
    ALTER TABLE passing ADD COLUMN c int DEFAULT 5, ADD COLUMN s serial;
    ALTER TABLE passing ADD PRIMARY KEY (a);
    INSERT INTO passing VALUES (1, 'again');
    ALTER TABLE passing ALTER b SET NOT NULL;
    ALTER TABLE passing ALTER c TYPE numeric(6, 2), ALTER b SET DEFAULT 'new';
    INSERT INTO passing (a) VALUES (3) RETURNING *;
    CREATE INDEX ON passing (b);
    CREATE UNIQUE INDEX by_lower ON passing (lower(b));
    INSERT INTO passing VALUES (4, 'NEW');
    ALTER TABLE passing RENAME b TO d;
    ALTER TABLE passing DROP COLUMN c;
    ALTER TABLE passing RENAME TO passed;
    SELECT * FROM passed ORDER BY a;
    SELECT * FROM shown ORDER BY a;
    BEGIN;
    ALTER TABLE passed ADD COLUMN e int DEFAULT 1;
    SELECT * FROM passed ORDER BY a;
    ROLLBACK;
    SELECT * FROM passed ORDER BY a;
    CREATE TEMP TABLE gone (a int) ON COMMIT DROP;
    SELECT * FROM gone;
    BEGIN;
    CREATE TEMP TABLE gone (a serial, b int) ON COMMIT DROP;
    CREATE TEMP VIEW of_gone AS SELECT b FROM gone;
    CREATE TEMP TABLE emptied ON COMMIT DELETE ROWS AS SELECT 1 AS a;
    CREATE TEMP TABLE lasting (a int) WITH (fillfactor = 70) ON COMMIT PRESERVE ROWS;
    INSERT INTO gone (b) VALUES (1), (2);
    INSERT INTO lasting VALUES (1);
    SELECT * FROM gone, emptied, of_gone ORDER BY 1, 2, 4;
    COMMIT;
    SELECT * FROM gone;
    SELECT * FROM of_gone;
    SELECT (SELECT count(*) FROM emptied), (SELECT count(*) FROM lasting);
    INSERT INTO emptied VALUES (1);
    SELECT * FROM emptied;
    CREATE TABLE permanent (a int) ON COMMIT DROP;
    DROP TABLE passed, emptied, lasting CASCADE
"""

SELECTED_INTO = """
    SELECT n, 'x' || n AS name INTO made FROM generate_series(1, 3) AS n;
    SELECT * FROM made ORDER BY n;
    SELECT n INTO made FROM generate_series(1, 3) AS n;
    SELECT n INTO TABLE other FROM made WHERE n > 1 UNION ALL SELECT 7;
    WITH w AS (SELECT max(n) AS n FROM other) SELECT n INTO TEMP TABLE passing FROM w;
    SELECT * FROM other, passing ORDER BY 1;
    SELECT 1 UNION SELECT 2 AS n INTO wrong;
    SELECT n FROM (SELECT n INTO wrong FROM made) AS s
"""

RETYPED = """
    CREATE TABLE retyped (id int, a varchar(10), b text, c varchar(10)[], s char(5), m numeric(12,3));
    INSERT INTO retyped VALUES (1, 'abcdef', 'xyz', '{abcdef}', 'ab', 1.256), (2, 'ab ', '12', '{a}', 'abcde', 2);
    ALTER TABLE retyped ALTER COLUMN a TYPE varchar(3);
    ALTER TABLE retyped ALTER COLUMN a TYPE varchar(3) USING a || 'x';
    ALTER TABLE retyped ALTER COLUMN b TYPE varchar(2);
    ALTER TABLE retyped ALTER COLUMN c TYPE varchar(3)[];
    ALTER TABLE retyped ALTER COLUMN s TYPE char(2);
    SELECT * FROM retyped ORDER BY id;
    ALTER TABLE retyped ALTER COLUMN a TYPE varchar(3) USING substr(a, 1, 3), RENAME TO again;
    ALTER TABLE retyped ALTER COLUMN a TYPE varchar(3) USING substr(a, 1, 3);
    ALTER TABLE retyped ALTER COLUMN a TYPE int USING a;
    ALTER TABLE retyped ALTER COLUMN c TYPE varchar(3)[] USING c::varchar(3)[];
    ALTER TABLE retyped ALTER COLUMN a TYPE int USING length(a), ALTER COLUMN m TYPE numeric(10, 1);
    SELECT * FROM retyped ORDER BY id
"""

IDENTITIES = """
    CREATE TABLE numbered_later (id int NOT NULL, a int, b int NOT NULL DEFAULT 1);
    INSERT INTO numbered_later VALUES (1, 1), (2, 2);
    ALTER TABLE numbered_later ALTER COLUMN id DROP IDENTITY;
    ALTER TABLE numbered_later ALTER COLUMN id DROP IDENTITY IF EXISTS;
    ALTER TABLE numbered_later ALTER COLUMN id SET GENERATED ALWAYS;
    ALTER TABLE numbered_later ALTER COLUMN a ADD GENERATED BY DEFAULT AS IDENTITY;
    ALTER TABLE numbered_later ALTER COLUMN b ADD GENERATED BY DEFAULT AS IDENTITY;
    ALTER TABLE numbered_later ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (START WITH 7);
    ALTER TABLE numbered_later ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY;
    INSERT INTO numbered_later (a) VALUES (3) RETURNING id;
    INSERT INTO numbered_later (id, a) VALUES (9, 4) RETURNING id;
    ALTER TABLE numbered_later ALTER COLUMN id SET GENERATED ALWAYS;
    INSERT INTO numbered_later (id, a) VALUES (10, 4) RETURNING id;
    INSERT INTO numbered_later (a) VALUES (5) RETURNING id;
    ALTER TABLE numbered_later ALTER COLUMN id DROP IDENTITY;
    INSERT INTO numbered_later (a) VALUES (6);
    SELECT nextval('numbered_later_id_seq');
    ALTER TABLE numbered_later ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
    SELECT * FROM numbered_later ORDER BY id;
    ALTER TABLE numbered_later ALTER COLUMN id DROP IDENTITY IF EXISTS;
    INSERT INTO numbered_later (a) VALUES (7);
    CREATE UNIQUE INDEX of_numbers ON numbered_later (a) NULLS DISTINCT
"""

JOINED_TO_TARGETS = """
    CREATE TABLE t (i int, n int);
    CREATE TABLE a (x int);
    CREATE TABLE b (y int);
    INSERT INTO t VALUES (1, 0), (2, 0), (3, 0);
    INSERT INTO b VALUES (1), (2);
    UPDATE t SET n = 1 FROM (VALUES (1), (2), (3)) AS v (k) JOIN b ON v.k = b.y WHERE t.i = v.k;
    UPDATE t SET n = n + 10 FROM unnest(ARRAY[2, 3], ARRAY['x', 'y']) WITH ORDINALITY AS u (k, w, o)
        JOIN b ON b.y = u.o WHERE t.i = u.k;
    UPDATE t SET n = n + 100 FROM generate_series(2, 4) AS g (k) LEFT JOIN b ON b.y = g.k, LATERAL (SELECT b.y + 1)
        AS l (z) CROSS JOIN a WHERE t.i = l.z;
    UPDATE t SET n = n + 1000 FROM a RIGHT JOIN b ON a.x = b.y WHERE t.i = b.y;
    UPDATE t SET n = n + 10000 FROM b AS c, a FULL JOIN b ON a.x = b.y WHERE t.i = b.y + c.y;
    SELECT * FROM t ORDER BY i;
    MERGE INTO t USING (VALUES (1), (2)) AS v (k) JOIN b ON b.y = v.k ON t.i = v.k WHEN MATCHED THEN UPDATE SET n = 0;
    DELETE FROM t USING (VALUES (1)) AS v (k) FULL JOIN b ON v.k = b.y WHERE t.i = v.k;
    SELECT * FROM t ORDER BY i
"""
MESSAGES = ("23502", "23505", "23514", "21000", "42P10")
"""SQLSTATEs whose messages are PostgreSQL's."""


@pytest.mark.parametrize(
    "script",
    [
        *(KEYS, OTHER_KEYS, ELEMENTS, ON_CONFLICT, UPDATE, TYPES, EXECUTED),
        *(ARRAYS, WORDS_OF_TIME, WIDE_NUMBERS, QUERIES_IN_PARENTHESES, FORMS, CHANGED, SEQUENCES),
        *(
            INSERTED_PARTS,
            KEYS_OF_ENUMS,
            SELECTED_INTO,
            STRINGS_OF_SEVERAL_LINES,
            INTERVALS_OF_ISO_8601,
            TEMPORARY,
            RETYPED,
            IDENTITIES,
            JOINED_TO_TARGETS,
        ),
    ],
)
def test_statements_answer_as_in_postgresql(
    ours: psycopg.Connection, theirs: psycopg.Connection, script: str
) -> None:
    assert_same_answers(ours, theirs, script, messages=MESSAGES)


def test_intervals_are_sent_in_the_style_of_the_session(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    query = (
        b"SELECT i, ARRAY[i, NULL], ROW(1, i) FROM (VALUES (interval '1 mon -3 days'), "
        b"(interval '-1:02:03.5'), ('0')) AS v (i)"
    )
    sent = []
    for connection in (ours, theirs):
        connection.execute("SET intervalstyle TO iso_8601")
        result = connection.pgconn.exec_(query)
        places = [(row, column) for row in range(3) for column in range(3)]
        sent.append([result.get_value(*place) for place in places])
        with connection.cursor().copy("COPY (SELECT interval '1 day 2 h') TO STDOUT") as copy:
            sent[-1].append(b"".join(map(bytes, copy)))
    assert sent[0] == sent[1]
