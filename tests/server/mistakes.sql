-- One mistake a line, each compared with PostgreSQL: its code, its message and its place.
SELECT id, custmer FROM orders
SELECT o.custmer FROM orders AS o
SELECT 'é' || x.id FROM orders
SELECT x.* FROM orders
SELECT id FROM orders, customers
SELECT o.id FROM orders o JOIN customers c ON o.customer = c.nam
SELECT id FROM ordrs
WITH big AS (SELECT amount FROM orders WHERE amout > 10) SELECT * FROM big
SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM customers c WHERE c.nme = customer)
SELECT id FROM orders ORDER BY amout
SELECT count(*) FROM orders GROUP BY custmer HAVING max(amount) > 1
SELECT lag(amout) OVER (ORDER BY id) FROM orders
SELECT uper(customer) FROM orders
SELECT id + abs(lenght(customer)) FROM orders
SELECT abs(1, 2)
SELECT sum(customer) FROM orders
SELECT public.f(1)
SELECT 1, twice(id, id) FROM orders
CREATE FUNCTION f() RETURNS int LANGUAGE SQL AS 'SELECT nothing'
CREATE FUNCTION f() RETURNS int LANGUAGE SQL RETURN nothing
SELECT customer::itneger FROM orders
SELECT 1, 'one'::int
SELECT CAST('2024-13-01' AS date)
INSERT INTO orders (id, custmer) VALUES (1, 'a')
INSERT INTO orders SELECT idd FROM customers
UPDATE orders SET custmer = 'a'
UPDATE orders SET amount = amout + 1
DELETE FROM orders WHERE custmer = 'a'
CREATE VIEW v AS SELECT custmer FROM orders
CREATE TABLE t (a int, b txt)
SELECT 1; SELECT nothing FROM orders
COPY (SELECT nothing FROM orders) TO STDOUT
EXPLAIN SELECT nothing FROM orders
SELECT customer + 1 FROM orders
SELECT id || amount FROM orders
SELECT id FROM orders WHERE id = 'x'
SELECT id FROM orders WHERE customer = 1
SELECT id FROM orders WHERE id
SELECT id FROM orders WHERE customer > id
SELECT customer, count(*) FROM orders
SELECT o.customer, count(*) FROM orders o GROUP BY o.id
SELECT id FROM orders GROUP BY customer HAVING amount > 1
SELECT id FROM orders WHERE count(*) > 1
SELECT sum(count(*)) FROM orders
SELECT id FROM orders GROUP BY sum(id)
SELECT id FROM orders JOIN customers USING (idd)
SELECT id FROM orders JOIN customers USING (name)
SELECT id FROM orders JOIN customers ON id = 1
SELECT * FROM orders ORDER BY 9
SELECT id FROM orders GROUP BY 3
SELECT id FROM orders UNION SELECT id, name FROM customers
SELECT id FROM orders UNION SELECT name FROM customers
SELECT CASE WHEN id THEN 1 END FROM orders
SELECT CASE id WHEN 1 THEN 'a' ELSE 2 END FROM orders
SELECT coalesce(id, customer) FROM orders
SELECT id IN ('a', 'b') FROM orders
SELECT id IN (customer) FROM orders
SELECT id FROM orders LIMIT -1
SELECT id FROM orders LIMIT 'x'
SELECT * FROM orders o, customers o
SELECT * FROM (SELECT 1)
SELECT * FROM (SELECT 1) x(a, b)
SELECT * FROM nofunction(1)
SELECT rank() FROM orders
SELECT id FROM orders WHERE rank() OVER () = 1
SELECT sum(id) OVER w FROM orders
SELECT id::date FROM orders
SELECT customer::nosuch(3) FROM orders
SELECT ARRAY[1, 'a']
SELECT ARRAY[1, now()]
SELECT interval '1 foo'
SELECT date '2024-02-30'
SELECT '{1,2'::int[]
SELECT 'x'::uuid
SELECT '{'::json
SELECT 'x'::boolean
SELECT '99999999999'::int
SELECT 1/0
SELECT 1 +
SELEC 1
SELECT 'abc
SELECT "abc
SELECT 1)
INSERT INTO orders VALUES (1, 'a', 2, 3)
INSERT INTO orders (id) VALUES (1, 2)
INSERT INTO orders (id, customer) VALUES (1)
INSERT INTO orders (id, id) VALUES (1, 2)
INSERT INTO orders (id) VALUES ('a')
INSERT INTO orders (id) SELECT name FROM customers
INSERT INTO nowhere VALUES (1)
INSERT INTO orders VALUES (1), (1, 2)
INSERT INTO orders VALUES (1) RETURNING x
UPDATE orders SET id = 'a'
UPDATE orders SET id = customer
UPDATE orders SET id = 1, id = 2
UPDATE nowhere SET id = 1
UPDATE orders SET id = 1 WHERE x = 1
UPDATE orders SET id = 1 FROM customers WHERE customers.x = 1
DELETE FROM nowhere
DELETE FROM orders USING customers WHERE id = 1
CREATE TABLE t (a int, a text)
CREATE TABLE t (a int DEFAULT 'x')
CREATE TABLE t (a int CHECK (b > 1))
CREATE TABLE t (a int REFERENCES nowhere)
CREATE VIEW v AS SELECT 1, 2
CREATE VIEW v (a, b) AS SELECT 1
CREATE INDEX i ON orders (nothing)
CREATE INDEX i ON nowhere (id)
ALTER TABLE orders ADD COLUMN id int
ALTER TABLE orders ADD COLUMN x nosuch
ALTER TABLE orders DROP COLUMN x
ALTER TABLE orders ALTER COLUMN x TYPE int
SET nosuch = 1
SHOW nosuch
SELECT 'a'::regclass
EXECUTE p
DEALLOCATE p
CLOSE c
FETCH c
ROLLBACK TO x
GRANT SELECT ON nowhere TO PUBLIC
GRANT SELECT ON orders TO nobody
COMMENT ON TABLE nowhere IS 'x'
COMMENT ON COLUMN orders.x IS 'x'
COPY nowhere TO STDOUT
SELECT id FROM nosch.orders
SELECT generate_series(1, 'x')
SELECT max(id, 1) FROM orders
SELECT string_agg(id) FROM orders
SELECT to_char(1)
SELECT now(1)
SELECT row_number() OVER (PARTITION BY x) FROM orders
SELECT * FROM generate_series(1, 2) AS g(a, b)
VALUES (1), (2, 3)
VALUES (1), ('a')
VALUES (1), (now())
SELECT NOT 1
SELECT 1 AND true
SELECT 1 IS TRUE
SELECT 1 BETWEEN 'a' AND 'b'
SELECT id FROM orders WHERE EXISTS (SELECT x FROM customers)
SELECT * FROM customers c, LATERAL (SELECT * FROM orders WHERE c.x = id) o
MERGE INTO orders USING customers ON id = 1 WHEN MATCHED THEN DELETE
MERGE INTO orders o USING customers c ON o.id = c.id WHEN MATCHED THEN UPDATE SET x = 1
INSERT INTO orders VALUES (1) ON CONFLICT (id) DO NOTHING
SELECT a FROM orders AS o(a, b, c, d)
SELECT jsonb '{"a":'
SELECT '{"a":1}'::jsonb -> 1.5
SELECT 'a' ~ 1
SELECT 1 = ANY ('x')
SELECT 1 = ANY (1)
SELECT ROW(1, 2) = 1
SELECT (SELECT id, customer FROM orders)
SELECT id FROM orders WHERE id IN (SELECT id, name FROM customers)
SELECT id FROM orders WHERE (id, customer) IN (SELECT id FROM customers)
SELECT id FROM orders WHERE (id, customer) IN (SELECT id, name, id FROM customers)
SELECT id FROM orders WHERE id = (SELECT id, name FROM customers)
SELECT id FROM orders WHERE id IN (SELECT name FROM customers)
SELECT id FROM orders WHERE id NOT IN (SELECT name FROM customers)
SELECT id FROM orders WHERE id = ANY (SELECT name FROM customers)
SELECT id FROM orders WHERE id > ALL (SELECT name FROM customers)
SELECT id FROM orders WHERE id = (SELECT name FROM customers)
SELECT ARRAY(SELECT id, name FROM customers)
SELECT id FROM orders o JOIN customers c ON true ORDER BY id
SELECT DISTINCT ON (nothing) id FROM orders
SELECT DISTINCT ON (5) id FROM orders
SELECT id FROM orders UNION SELECT id FROM customers ORDER BY 2
WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a
WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 'a' FROM r) SELECT * FROM r
SELECT id FROM orders OFFSET -1
SELECT id FROM orders LIMIT (SELECT id FROM customers WHERE nothing = 1)
SELECT id FROM orders LIMIT count(*)
SELECT id FROM orders FETCH FIRST 'a' ROWS ONLY
SELECT id[1] FROM orders
SELECT customer[1] FROM orders
SELECT id.x FROM orders
SELECT (id).x FROM orders
SELECT (customer).x FROM orders
SELECT (o).nothing FROM orders o
SELECT tags['a'] FROM things
SELECT tags[1:'b'] FROM things
SELECT doc[1.5] FROM things
SELECT doc.a FROM things
SELECT doc->name->>1.5 FROM things
SELECT doc->>'a' + 1 FROM things
SELECT * FROM customers c JOIN orders o ON o.id = x.id JOIN things x ON true
SELECT id FROM orders GROUP BY GROUPING SETS ((nothing), ())
SELECT id, amount FROM orders GROUP BY ROLLUP (id)
SELECT upper(customer) FILTER (WHERE true) FROM orders
SELECT count(*) FILTER (WHERE id) FROM orders
SELECT count(*) FILTER (WHERE nothing) FROM orders
SELECT count(*) FILTER (WHERE count(*) > 1) FROM orders
SELECT upper(customer) OVER () FROM orders
SELECT upper(DISTINCT customer) FROM orders
SELECT upper(customer ORDER BY id) FROM orders
SELECT upper(*) FROM orders
SELECT count() FROM orders
SELECT sum(*) FROM orders
SELECT sum(DISTINCT customer) FROM orders
SELECT avg(customer) FROM orders
SELECT max(doc) FROM things
SELECT min(active) FROM things
SELECT bool_and(id) FROM orders
SELECT count(DISTINCT id, customer) FROM orders
SELECT sum(id) OVER (ROWS BETWEEN 'x' PRECEDING AND CURRENT ROW) FROM orders
SELECT lag(id, 'x') OVER () FROM orders
SELECT lag(id, 1, 'x') OVER () FROM orders
SELECT percentile_cont(0.5, amount) FROM orders
SELECT percentile_cont('x') WITHIN GROUP (ORDER BY amount) FROM orders
SELECT id FROM orders HAVING id > 1
SELECT id FROM orders HAVING count(*)
SELECT id, count(*) FROM orders ORDER BY id
SELECT count(*) FROM orders ORDER BY id
SELECT customer FROM orders GROUP BY customer ORDER BY amount
SELECT id + amount FROM orders GROUP BY id
SELECT customer c FROM orders WHERE c = 'a'
SELECT amount AS total FROM orders GROUP BY amount HAVING total > 1
SELECT id AS x FROM orders ORDER BY x + 1
SELECT id FROM orders GROUP BY 0
SELECT id FROM orders ORDER BY 0
SELECT id FROM orders WHERE customer LIKE 1
SELECT id FROM orders WHERE id LIKE 'a%'
SELECT id FROM orders WHERE id ILIKE 'a%'
SELECT id FROM orders WHERE customer LIKE '%a' ESCAPE 'ab'
SELECT id FROM orders WHERE id ~ 'a'
SELECT id FROM orders WHERE customer = true
SELECT id FROM orders WHERE id = true
SELECT id FROM orders WHERE id IS TRUE
SELECT id FROM orders WHERE customer IS FALSE
SELECT id FROM orders WHERE customer
SELECT id FROM orders WHERE 'abc'
SELECT id FROM orders WHERE 1
SELECT id FROM orders WHERE NOT customer
SELECT id FROM orders WHERE id = 1 OR customer
SELECT id FROM orders WHERE id BETWEEN 1 AND 'x'
SELECT id FROM orders WHERE id BETWEEN 1 AND customer
SELECT id FROM orders WHERE id IN (1, customer)
SELECT id FROM orders WHERE id IN (1, 'x')
SELECT id FROM orders WHERE (id, customer) = (1, 2)
SELECT id FROM orders WHERE (id, customer) = (1, 'a', 3)
SELECT id FROM orders WHERE (id, customer) IN ((1, 'a', 3))
SELECT id FROM orders WHERE (id, customer) < (1, 2)
SELECT id FROM orders WHERE made = '2024-01-01'
SELECT id FROM things WHERE made = '2024-13-01'
SELECT id FROM things WHERE made = 2024
SELECT id FROM things WHERE made > 'yesterdayy'
SELECT id FROM things WHERE made LIKE '2024%'
SELECT id FROM things WHERE at - made > 5
SELECT id FROM things WHERE made + 1.5 > now()
SELECT id FROM things WHERE made - '1 day' > now()
SELECT id FROM things WHERE at + 1 > now()
SELECT id FROM things WHERE active = 1
SELECT id FROM things WHERE active = 'maybe'
SELECT id FROM things WHERE tags = 'a'
SELECT id FROM things WHERE tags @> 'a'
SELECT id FROM things WHERE 'a' = tags
SELECT id FROM things WHERE 1 = ANY (tags)
SELECT id FROM things WHERE name = ANY ('a')
SELECT id FROM things WHERE doc = 'a'
SELECT id FROM things WHERE doc->'a' = 1
SELECT id FROM things WHERE doc->>'a' = 1
SELECT id FROM things WHERE doc->>'a' > 5
SELECT id FROM things WHERE doc @> 'x'
SELECT id FROM things WHERE doc ? 1
SELECT id FROM things WHERE name || 1 = 2
SELECT -customer FROM orders
SELECT - made FROM things
SELECT ~ customer FROM orders
SELECT id % 'x' FROM orders
SELECT id & amount FROM orders
SELECT customer || NULL || id || made FROM orders, things
SELECT customer * 2 FROM orders
SELECT amount / 'x' FROM orders
SELECT sum(amount) / count(customr) FROM orders
SELECT round(amount, 'x') FROM orders
SELECT round(d, 2) FROM parts
SELECT date_trunc('day', name) FROM things
SELECT datediff('day', made, made) FROM things
SELECT dateadd(day, 1, made) FROM things
SELECT getdate()
SELECT sysdate
SELECT ifnull(name, 'x') FROM things
SELECT nvl(name, 'x') FROM things
SELECT isnull(name, 'x') FROM things
SELECT iif(active, 1, 2) FROM things
SELECT group_concat(name) FROM things
SELECT len(name) FROM things
SELECT concat_ws() FROM things
SELECT substring(name FROM 'x' FOR 'y') FROM things, orders WHERE substring(id FROM 1) = 'a'
SELECT to_date(name) FROM things
SELECT to_timestamp(name) FROM things
SELECT to_number(name) FROM things
SELECT to_char(name, 'YYYY') FROM things
SELECT greatest(id, customer) FROM orders
SELECT greatest(1, 'x')
SELECT least(made, 1) FROM things
SELECT nullif(1, 'x')
SELECT coalesce(id, 'x') FROM orders
SELECT CASE WHEN true THEN id ELSE customer END FROM orders
SELECT CASE WHEN true THEN 1 ELSE 'x' END
SELECT CASE id WHEN 'x' THEN 1 END FROM orders
SELECT CASE WHEN customer THEN 1 END FROM orders
SELECT CASE WHEN 'x' THEN 1 END FROM orders
SELECT generate_series(1, 2, 0)
SELECT unnest('a')
SELECT array_length(tags) FROM things
SELECT array_agg(tags, 1) FROM things
SELECT array_to_string(name, ',') FROM things
SELECT string_to_array(1, ',')
SELECT json_extract(doc, '$.a') FROM things
SELECT * FROM jsonb_to_recordset('[]') AS x(a nosuch)
SELECT * FROM json_each('x')
SELECT * FROM unnest(ARRAY[1]) AS x(a, b)
SELECT * FROM (VALUES (1, 2)) AS x(a, b, c)
SELECT * FROM (VALUES (1), ('x')) AS x(a)
SELECT a.*, b.* FROM orders a
SELECT * FROM orders NATURAL JOIN things t JOIN customers USING (id, nothing)
SELECT * FROM orders JOIN parts USING (thing)
SELECT * FROM orders JOIN customers ON 1
SELECT * FROM orders JOIN customers ON 'x'
SELECT * FROM orders JOIN customers ON orders.id = customers.name
SELECT * FROM
SELECT FROM WHERE id = 1
SELECT * FROM orders WHERE
SELECT id, FROM orders
SELECT * FROM orders ORDER id
SELECT * FROM orders GROUP id
SELECT * FROM orders WHERE id = 1 AND
SELECT TOP 10 * FROM orders
SELECT * FROM "Orders"
SELECT "ID" FROM orders
SELECT * FROM orders o WHERE o."customer " = 'x'
SELECT "" FROM orders
SELECT * FROM orders WHERE customer = "abc"
SELECT * FROM orders WHERE id = ?
SELECT * FROM orders WHERE id = :id
SELECT 1 FROM DUAL
SELECT 1 MINUS SELECT 2
SELECT IF(true, 1, 2)
(SELECT 1
SELECT ((1)
SELECT $$abc
SELECT E'abc
SELECT 1 UNION
SELECT 1 UNION SELECT 1, 2
SELECT 1, 2 UNION ALL SELECT 1
SELECT 1 INTERSECT SELECT 'a'
SELECT id FROM orders EXCEPT SELECT made FROM things
SELECT NULL UNION SELECT 1 UNION SELECT 'a'
SELECT * FROM orders UNION SELECT * FROM customers
SELECT ARRAY[1, 2] UNION SELECT 1
TABLE nowhere
SELECT * FROM ONLY nowhere
SELECT * FROM orders TABLESAMPLE bernoulli (200)
SELECT DISTINCT id FROM orders FOR UPDATE
SELECT ALL id, id FROM orders o1, orders o2
SELECT id FROM orders WHERE id = 1 ORDER BY 1 LIMIT
SELECT x FROM generate_series(1, 2) AS g
SELECT now
SELECT 1 AS "a", 2 AS b WHERE a = 1
SELECT twice('x')
SELECT twice()
SELECT twice(1.5)
SELECT abs('x')
SELECT upper(1)
SELECT upper(id) FROM orders
SELECT length(1)
SELECT length(doc) FROM things
SELECT lower(made) FROM things
SELECT two(1.5)
SELECT two(NULL, NULL)
SELECT pg_sleep('x')
SELECT version(1)
SELECT set_config('nosuch', 'x', false)
SELECT obj_description('orders'::regclasss)
SELECT 'orders.x'::regclass
SELECT 'nosuch'::regproc
SELECT 'nosuch'::regtype
SELECT 'nosuch'::regrole
SELECT 'nosuch'::regnamespace
CREATE TABLE orders (id int)
CREATE TABLE v1 (id int)
CREATE TABLE seq1 (id int)
CREATE TABLE t (id int REFERENCES things (price))
CREATE TABLE t (id text REFERENCES things (id))
CREATE TABLE t (id text, FOREIGN KEY (id) REFERENCES things)
CREATE TABLE t (id int REFERENCES orders)
CREATE TABLE t (id int REFERENCES orders (id))
CREATE TABLE t (a int, b int, FOREIGN KEY (a, b) REFERENCES things (id))
CREATE TABLE t (id int DEFAULT count(*))
CREATE TABLE t (id int DEFAULT now())
CREATE TABLE t (id date DEFAULT 1)
CREATE TABLE t (id int DEFAULT nosuch())
CREATE TABLE t (id int CHECK (id > 'x'))
CREATE TABLE t (id int CHECK (count(*) > 1))
CREATE TABLE t (id int, CHECK (idd > 1))
CREATE TABLE t (id int GENERATED ALWAYS AS (b) STORED)
CREATE TABLE t (id text GENERATED ALWAYS AS IDENTITY)
CREATE TABLE t (id serial DEFAULT 1)
CREATE TABLE t (id)
CREATE TABLE t (id int,)
CREATE TABLE t (id int b text)
CREATE TABLE t id int
CREATE TABLE t (id int AUTO_INCREMENT)
CREATE TABLE t (id varchar(max))
CREATE TABLE orders AS SELECT 1 AS a
CREATE TABLE t AS INSERT INTO orders VALUES (1)
CREATE VIEW orders AS SELECT 1 AS a
CREATE VIEW v1 AS SELECT 1 AS a
CREATE OR REPLACE VIEW orders AS SELECT 1 AS a
CREATE VIEW v AS SELECT * FROM nowhere
CREATE VIEW v AS SELECT id, id FROM orders
CREATE VIEW v (a, a) AS SELECT 1, 2
CREATE VIEW nosch.v AS SELECT 1
CREATE VIEW v AS INSERT INTO orders VALUES (1)
CREATE VIEW v
CREATE VIEW v AS
CREATE MATERIALIZED VIEW mv1 AS SELECT 1 AS a
CREATE MATERIALIZED VIEW orders AS SELECT 1 AS a
CREATE MATERIALIZED VIEW mv AS SELECT nothing FROM orders
CREATE MATERIALIZED VIEW mv AS SELECT * FROM nowhere
CREATE INDEX ix ON orders (id)
CREATE INDEX orders ON orders (id)
CREATE INDEX i ON orders (upper(id))
CREATE INDEX i ON orders USING nosuch (id)
CREATE INDEX i ON orders ()
CREATE INDEX i ON orders (id) WHERE nothing > 1
CREATE INDEX i ON orders id
CREATE SEQUENCE seq1
CREATE SEQUENCE orders
CREATE SEQUENCE nosch.s
CREATE SEQUENCE s INCREMENT 0
CREATE SEQUENCE s MINVALUE 10 MAXVALUE 1
CREATE SEQUENCE s START 0
CREATE SEQUENCE s MAXVALUE 5 START 10
CREATE SEQUENCE s AS text
CREATE SEQUENCE s CACHE 0
ALTER SEQUENCE nosuch RESTART
ALTER SEQUENCE seq1 INCREMENT 0
DROP SEQUENCE nosuch
DROP SEQUENCE orders
CREATE TYPE mood AS ENUM ('a')
CREATE TYPE m AS (a int, a int)
CREATE TYPE nosch.m AS ENUM ('a')
CREATE TYPE pair AS (a int)
ALTER TYPE nosuch ADD VALUE 'x'
ALTER TYPE mood ADD VALUE 'sad'
ALTER TYPE mood ADD VALUE 'x' BEFORE 'nosuch'
ALTER TYPE mood RENAME VALUE 'nosuch' TO 'x'
ALTER TYPE mood RENAME VALUE 'sad' TO 'happy'
DROP TYPE nosuch
DROP TYPE mood, nosuch
CREATE DOMAIN d AS nosuch
CREATE DOMAIN d AS int CHECK (value)
CREATE DOMAIN d AS int DEFAULT 'x'
ALTER DOMAIN nosuch SET NOT NULL
DROP DOMAIN nosuch
DROP DOMAIN mood
CREATE FUNCTION f(x int) RETURNS int LANGUAGE SQL AS 'SELECT now()'
CREATE FUNCTION f(x int) RETURNS int LANGUAGE SQL AS 'SELECT 1, 2'
CREATE FUNCTION f(x int) RETURNS int LANGUAGE SQL AS 'SELEC 1'
CREATE FUNCTION f(x int DEFAULT 'a') RETURNS int LANGUAGE SQL AS 'SELECT 1'
CREATE FUNCTION f(x int) RETURNS int LANGUAGE SQL
CREATE FUNCTION nosch.f() RETURNS int LANGUAGE SQL AS 'SELECT 1'
CREATE OR REPLACE FUNCTION twice(x int) RETURNS text LANGUAGE SQL AS 'SELECT ''a'''
CREATE OR REPLACE FUNCTION twice(y int) RETURNS int LANGUAGE SQL AS 'SELECT 1'
DROP FUNCTION nosuch
DROP FUNCTION nosuch(int)
DROP FUNCTION twice(text)
DROP FUNCTION two
CREATE SCHEMA other
DROP SCHEMA nosuch
DROP SCHEMA side_by_side
DROP SCHEMA orders
ALTER SCHEMA nosuch RENAME TO x
ALTER SCHEMA other RENAME TO side_by_side
DROP TABLE nowhere
DROP TABLE nosch.t
DROP TABLE orders, nowhere
DROP TABLE v1
DROP TABLE mv1
DROP TABLE ix
DROP TABLE seq1
DROP TABLE things
DROP TABLE IF EXISTS v1
DROP TABLE
DROP VIEW nowhere
DROP VIEW orders
DROP MATERIALIZED VIEW nowhere
DROP MATERIALIZED VIEW orders
DROP INDEX nosuch
DROP INDEX orders
ALTER TABLE nowhere RENAME TO x
ALTER TABLE orders RENAME TO customers
ALTER TABLE orders RENAME TO orders
ALTER TABLE orders RENAME COLUMN id TO customer
ALTER TABLE orders ADD COLUMN a int REFERENCES nowhere
ALTER TABLE things ADD COLUMN z int NOT NULL
ALTER TABLE orders DROP COLUMN nothing
ALTER TABLE orders ALTER COLUMN nothing SET NOT NULL
ALTER TABLE orders ALTER COLUMN nothing SET DEFAULT 1
ALTER TABLE orders ALTER COLUMN nothing DROP DEFAULT
ALTER TABLE orders ALTER COLUMN id TYPE nosuch
ALTER TABLE orders ALTER COLUMN customer TYPE int
ALTER TABLE orders ALTER COLUMN id TYPE date
ALTER TABLE things ALTER COLUMN id DROP NOT NULL
ALTER TABLE things ALTER COLUMN made SET NOT NULL
ALTER TABLE things ADD PRIMARY KEY (name)
ALTER TABLE orders ADD UNIQUE (nothing)
ALTER TABLE orders ADD CONSTRAINT c CHECK (id)
ALTER TABLE orders ADD FOREIGN KEY (id) REFERENCES nowhere (id)
ALTER TABLE orders ADD FOREIGN KEY (customer) REFERENCES things (id)
ALTER TABLE things ADD CONSTRAINT things_pkey CHECK (id > 1)
ALTER TABLE orders DROP CONSTRAINT nosuch
ALTER TABLE things DROP CONSTRAINT things_pkey
ALTER TABLE orders VALIDATE CONSTRAINT nosuch
ALTER TABLE orders SET SCHEMA nosuch
ALTER TABLE orders ADD
ALTER TABLE orders FOO
ALTER TABLE orders ADD COLUMN
ALTER TABLE orders MODIFY id text
ALTER TABLE orders DROP id2
ALTER VIEW nowhere RENAME TO x
ALTER VIEW orders RENAME TO x
ALTER INDEX nosuch RENAME TO x
CREATE EXTENSION nosuch
GRANT SELECT ON orders
COMMENT ON VIEW nowhere IS 'x'
COMMENT ON VIEW orders IS 'x'
COMMENT ON INDEX nosuch IS 'x'
COMMENT ON SCHEMA nosuch IS 'x'
COMMENT ON SEQUENCE nosuch IS 'x'
COMMENT ON TYPE nosuch IS 'x'
COMMENT ON COLUMN nowhere.x IS 'x'
COMMENT ON TABLE orders 'x'
COMMENT ON TABLE orders IS x
SELECT CAST('x' AS int)
SELECT CAST('1.5' AS int)
SELECT CAST(id AS date) FROM orders
SELECT CAST(customer AS nosuch) FROM orders
SELECT CAST(active AS numeric) FROM things
SELECT CAST(made AS int) FROM things
SELECT CAST(1 AS date)
SELECT CAST(true AS date)
SELECT 1::boolean::date
SELECT 1.5::boolean
SELECT now()::int
SELECT 'abc'::numeric
SELECT '40000'::smallint
SELECT 'abc'::char(-1)
SELECT 'a'::varchar('x')
SELECT '2024-02-30'::date
SELECT '2024-1'::date
SELECT '2024-01-01 25:00'::timestamp
SELECT '25:00'::time
SELECT 'x'::time
SELECT interval 'abc'
SELECT interval '1 day 2 foo'
SELECT '1 dayy'::interval
SELECT ARRAY[1, 2, 'x']
SELECT ARRAY[[1, 2], [3]]
SELECT '{a,b}'::int[]
SELECT '{1,2}}'::int[]
SELECT '1,2'::int[]
SELECT '{"a'::text[]
SELECT ARRAY['a']::int[]
SELECT '{a: 1}'::json
SELECT '{"a":1'::jsonb
SELECT ''::jsonb
SELECT 'nope'::jsonb
SELECT '[1,]'::jsonb
SELECT json 'x'
SELECT '123'::uuid
SELECT 'g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid
SELECT '(1,2,3)'::pair
SELECT '(x,2)'::pair
SELECT '[1,2'::int4range
SELECT '[5,2]'::int4range
SELECT int4range(5, 2)
SELECT int4range(1, 2, 'x')
SELECT 'empty?'::int4range
SELECT decode('zz', 'hex')
SELECT decode('a', 'nosuch')
SELECT 'x'::oid
SELECT int 'x'
SELECT numeric 'x'
SELECT bool 'x'
SELECT date 'x'
SELECT 1::intt
SELECT CONVERT(int, '1')
SELECT sqrt(-1)
SELECT 1 % 0
SELECT 1.0 / 0
SELECT 1::float8 / 0
SELECT mod(1, 0)
SELECT power(0, -1)
SELECT factorial(-1)
SELECT chr(0)
SELECT chr(-1)
SELECT substring('abc', 1, -1)
SELECT left('abc', 'x')
SELECT 'abc' ~ '('
SELECT to_date('x', 'YYYY')
SELECT to_timestamp('2024-13', 'YYYY-MM')
SELECT to_number('x', '999')
SELECT split_part('a', ',', 0)
SELECT (ARRAY[1,2])['x']
SELECT width_bucket(1, 2, 2, 5)
INSERT INTO orders VALUES ('x')
INSERT INTO orders VALUES (1, 2, 'x')
INSERT INTO orders (id, customer) SELECT 1
INSERT INTO orders (id) SELECT now()
INSERT INTO orders (id) VALUES (now())
INSERT INTO orders (id) VALUES (customer)
INSERT INTO orders (id) VALUES ("abc")
INSERT INTO orders (id) VALUES (count(*))
INSERT INTO orders (id) VALUES (rank() OVER ())
INSERT INTO orders (id) VALUES ((SELECT id, name FROM customers))
INSERT INTO orders (id) VALUES 1
INSERT INTO orders id VALUES (1)
INSERT INTO orders (id,) VALUES (1)
INSERT INTO orders (id) VALUE (1)
INSERT orders VALUES (1)
INSERT INTO orders SET id = 1
INSERT INTO orders
INSERT INTO orders ()
INSERT INTO orders (id) VALUES ()
INSERT INTO nosch.orders VALUES (1)
INSERT INTO parts VALUES (99)
INSERT INTO parts (n) VALUES ('40000')
INSERT INTO parts (d) VALUES ('x')
INSERT INTO gen (a, b) VALUES (1, 2)
INSERT INTO gen (a, c) VALUES (1, 2)
INSERT INTO gen (b) SELECT 1
INSERT INTO orders VALUES (1) RETURNING nothing
INSERT INTO orders VALUES (1) RETURNING count(*)
INSERT INTO orders VALUES (DEFAULT, nothing)
REPLACE INTO things VALUES (1)
UPDATE orders SET id = (SELECT id, name FROM customers)
UPDATE orders SET (id, nothing) = (1, 2)
UPDATE orders SET id = 1 WHERE count(*) > 1
UPDATE orders SET id = 1,
UPDATE orders SET
UPDATE orders id = 1
UPDATE orders SET id = 1 WHERE id
UPDATE orders SET id = 1 WHERE customer = 1
UPDATE orders SET amount = 'x'
UPDATE orders SET amount = customer
UPDATE orders SET id = now()
UPDATE orders SET customer = NULL WHERE made = 1
UPDATE orders SET id = id + 'x'
UPDATE orders SET id = 1 FROM orders
UPDATE orders SET id = 1 FROM nowhere
UPDATE orders SET id = c.x FROM customers c
UPDATE orders SET id = 1 RETURNING nothing
UPDATE orders SET id = 1 LIMIT 1
UPDATE orders SET id = 1 ORDER BY id
UPDATE orders JOIN customers ON true SET id = 1
UPDATE things SET id = NULL
UPDATE things SET price = 0
UPDATE things SET code = 'abcd'
UPDATE things SET made = 'x'
UPDATE things SET id = 5
UPDATE gen SET b = 1
UPDATE gen SET c = 1
UPDATE parts SET thing = 99
DELETE orders
DELETE orders WHERE id = 1
DELETE * FROM orders
DELETE FROM orders WHERE
DELETE FROM orders WHERE id
DELETE FROM orders WHERE customer = 1
DELETE FROM orders WHERE count(*) > 1
DELETE FROM orders USING nowhere
DELETE FROM orders USING orders
DELETE FROM orders USING customers c WHERE c.x = 1
DELETE FROM orders ORDER BY id
DELETE FROM orders RETURNING nothing
DELETE FROM things
TRUNCATE things
MERGE INTO nowhere o USING customers c ON o.id = c.id WHEN MATCHED THEN DELETE
MERGE INTO orders o USING nowhere c ON o.id = c.id WHEN MATCHED THEN DELETE
MERGE INTO orders o USING customers c ON o.id = c.name WHEN MATCHED THEN DELETE
MERGE INTO orders o USING customers c ON o.id = c.nothing WHEN MATCHED THEN DELETE
MERGE INTO orders o USING customers c ON o.id = c.id WHEN MATCHED THEN UPDATE SET id = c.nothing
MERGE INTO orders o USING customers c ON o.id = c.id WHEN NOT MATCHED THEN INSERT (id) VALUES ('x')
MERGE INTO orders o USING customers c ON o.id = c.id WHEN NOT MATCHED THEN UPDATE SET id = 1
MERGE INTO orders o USING customers c ON o.id = c.id WHEN MATCHED AND nothing THEN DELETE
MERGE INTO orders o USING customers c ON id = 1 WHEN MATCHED THEN DELETE
WITH d AS (DELETE FROM orders RETURNING id) SELECT nothing FROM d
SELECT * FROM (DELETE FROM orders RETURNING id) d
UPDATE orders SET id = rank() OVER ()
UPDATE orders SET id = 1 + sum(id) OVER (ORDER BY id)
UPDATE orders SET id = sum(id)
SELECT id FROM orders WHERE id = 1 OR count(*) > 1
SELECT id FROM orders WHERE CASE WHEN rank() OVER () = 1 THEN true END
SELECT id FROM orders WHERE id = 1 AND NOT rank() OVER () = 1
