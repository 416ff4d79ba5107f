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
