-- The objects of a frozen release: columns of most types, views of most operators, some of which pass
-- on the keys of tables and sources, each beside a plain view with the same query, and sinks of every
-- type that needs no message broker.
CREATE TYPE kind AS ENUM ('private', 'company');
CREATE TABLE customers (id int PRIMARY KEY, name varchar(20) NOT NULL, kind kind, address jsonb);
CREATE TABLE orders (
    id bigint PRIMARY KEY, customer int NOT NULL, price numeric(12, 2), discount numeric,
    ratio double precision, placed timestamptz, day date, wait interval, tags text[],
    CHECK (price > 0)
);
CREATE TABLE parts (part int NOT NULL, within int);
INSERT INTO customers VALUES
    (1, 'Ada', 'private', '{"town": "Bonn", "floors": [1, 2]}'), (2, 'Bell & Co', 'company', NULL),
    (3, 'Cyd', NULL, '{"town": "Rome"}');
INSERT INTO orders VALUES
    (1, 1, 10.50, 0.125, 0.1, '2026-01-01 10:00+01', '2026-01-02', '1 day 02:00', '{a,b}'),
    (2, 1, 20.25, NULL, 0.2, '2026-01-01 11:00+01', '2026-01-02', '1 month', '{b}'),
    (3, 2, 7.00, 1.5, 1e100, '2026-02-01 00:00+00', '2026-02-03', NULL, NULL),
    (4, 3, 7.00, 0.333, NULL, NULL, NULL, '-3 hours', '{}');
INSERT INTO parts VALUES (1, NULL), (2, 1), (3, 2), (4, 2), (5, 1);

CREATE SCHEMA tpch;
CREATE SOURCE tpch.warehouse FROM LOAD GENERATOR TPCH (SCALE FACTOR 0.001, TICK INTERVAL '1000d') FOR TABLES (part, supplier, partsupp);
CREATE SOURCE counter FROM LOAD GENERATOR COUNTER (TICK INTERVAL '1000d', MAX CARDINALITY 5);

CREATE VIEW averages_plain AS SELECT customer, avg(price) AS average, 0.9 * avg(price) AS nine_tenths, sum(discount) / count(*) AS discount, avg(ratio) AS ratio, count(*) AS n FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW averages AS SELECT customer, avg(price) AS average, 0.9 * avg(price) AS nine_tenths, sum(discount) / count(*) AS discount, avg(ratio) AS ratio, count(*) AS n FROM orders GROUP BY customer;
CREATE VIEW joined_plain AS SELECT o.id, c.name, c.kind, c.address ->> 'town' AS town, o.price * 1.19 AS gross, o.wait::text AS wait, o.placed, rank() OVER (PARTITION BY o.customer ORDER BY o.price DESC) AS place FROM orders AS o LEFT JOIN customers AS c ON c.id = o.customer;
CREATE MATERIALIZED VIEW joined AS SELECT o.id, c.name, c.kind, c.address ->> 'town' AS town, o.price * 1.19 AS gross, o.wait::text AS wait, o.placed, rank() OVER (PARTITION BY o.customer ORDER BY o.price DESC) AS place FROM orders AS o LEFT JOIN customers AS c ON c.id = o.customer;
CREATE VIEW extremes_plain AS SELECT day, min(price) AS least, max(placed) AS latest, count(DISTINCT customer) AS customers, string_agg(id::text, ',' ORDER BY id) AS ids FROM orders GROUP BY day HAVING count(*) > 0;
CREATE MATERIALIZED VIEW extremes AS SELECT day, min(price) AS least, max(placed) AS latest, count(DISTINCT customer) AS customers, string_agg(id::text, ',' ORDER BY id) AS ids FROM orders GROUP BY day HAVING count(*) > 0;
CREATE VIEW totals_plain AS SELECT sum(price) AS price, avg(price) / 7 AS seventh, stddev(ratio) AS spread FROM orders WHERE id IN (SELECT max(id) FROM orders GROUP BY customer);
CREATE MATERIALIZED VIEW totals AS SELECT sum(price) AS price, avg(price) / 7 AS seventh, stddev(ratio) AS spread FROM orders WHERE id IN (SELECT max(id) FROM orders GROUP BY customer);
CREATE VIEW containment_plain AS WITH RECURSIVE r AS (SELECT part, within FROM parts UNION SELECT p.part, r.within FROM parts AS p JOIN r ON p.within = r.part) SELECT * FROM r WHERE within IS NOT NULL;
CREATE MATERIALIZED VIEW containment AS WITH RECURSIVE r AS (SELECT part, within FROM parts UNION SELECT p.part, r.within FROM parts AS p JOIN r ON p.within = r.part) SELECT * FROM r WHERE within IS NOT NULL;
CREATE VIEW above_average_plain AS SELECT a.customer, a.average FROM averages AS a WHERE a.average > (SELECT avg(average) FROM averages);
CREATE MATERIALIZED VIEW above_average AS SELECT a.customer, a.average FROM averages AS a WHERE a.average > (SELECT avg(average) FROM averages);
CREATE VIEW private_customers_plain AS SELECT id, name, address FROM customers WHERE kind = 'private' OR kind IS NULL;
CREATE MATERIALIZED VIEW private_customers AS SELECT id, name, address FROM customers WHERE kind = 'private' OR kind IS NULL;
CREATE VIEW named_orders_plain AS SELECT o.id, o.price, c.name, c.id AS customer FROM orders AS o JOIN customers AS c ON c.id = o.customer;
CREATE MATERIALIZED VIEW named_orders AS SELECT o.id, o.price, c.name, c.id AS customer FROM orders AS o JOIN customers AS c ON c.id = o.customer;
CREATE VIEW towns_plain AS SELECT DISTINCT c.address ->> 'town' AS town, o.day FROM orders AS o JOIN customers AS c ON c.id = o.customer;
CREATE MATERIALIZED VIEW towns AS SELECT DISTINCT c.address ->> 'town' AS town, o.day FROM orders AS o JOIN customers AS c ON c.id = o.customer;
CREATE VIEW newest_plain AS SELECT DISTINCT ON (customer) customer, id, price FROM orders ORDER BY customer, id DESC;
CREATE MATERIALIZED VIEW newest AS SELECT DISTINCT ON (customer) customer, id, price FROM orders ORDER BY customer, id DESC;
CREATE VIEW dearest_plain AS SELECT id, price FROM orders ORDER BY price DESC, id LIMIT 2;
CREATE MATERIALIZED VIEW dearest AS SELECT id, price FROM orders ORDER BY price DESC, id LIMIT 2;
CREATE VIEW ids_plain AS SELECT id, 'order' AS what FROM orders UNION ALL SELECT id, 'customer' FROM customers;
CREATE MATERIALIZED VIEW ids AS SELECT id, 'order' AS what FROM orders UNION ALL SELECT id, 'customer' FROM customers;
CREATE VIEW unsold_plain AS SELECT id, name FROM customers AS c WHERE NOT EXISTS (SELECT FROM orders AS o WHERE o.customer = c.id AND o.price > 5);
CREATE MATERIALIZED VIEW unsold AS SELECT id, name FROM customers AS c WHERE NOT EXISTS (SELECT FROM orders AS o WHERE o.customer = c.id AND o.price > 5);
CREATE VIEW offers_plain AS SELECT ps.ps_partkey, ps.ps_suppkey, s.s_name, p.p_name, ps.ps_supplycost FROM tpch.partsupp AS ps JOIN tpch.supplier AS s ON s.s_suppkey = ps.ps_suppkey JOIN tpch.part AS p ON p.p_partkey = ps.ps_partkey;
CREATE MATERIALIZED VIEW offers AS SELECT ps.ps_partkey, ps.ps_suppkey, s.s_name, p.p_name, ps.ps_supplycost FROM tpch.partsupp AS ps JOIN tpch.supplier AS s ON s.s_suppkey = ps.ps_suppkey JOIN tpch.part AS p ON p.p_partkey = ps.ps_partkey;
CREATE VIEW cheapest_plain AS SELECT * FROM tpch.partsupp AS ps WHERE ps_supplycost = (SELECT min(ps_supplycost) FROM tpch.partsupp AS other WHERE other.ps_partkey = ps.ps_partkey);
CREATE MATERIALIZED VIEW cheapest AS SELECT * FROM tpch.partsupp AS ps WHERE ps_supplycost = (SELECT min(ps_supplycost) FROM tpch.partsupp AS other WHERE other.ps_partkey = ps.ps_partkey);
CREATE VIEW suppliers_plain AS SELECT s_nationkey, count(*) AS n, sum(s_acctbal) AS balance, count(DISTINCT s_name) AS names FROM tpch.supplier GROUP BY s_nationkey;
CREATE MATERIALIZED VIEW suppliers AS SELECT s_nationkey, count(*) AS n, sum(s_acctbal) AS balance, count(DISTINCT s_name) AS names FROM tpch.supplier GROUP BY s_nationkey;
CREATE VIEW counted_plain AS SELECT counter, counter * 2 AS twice FROM counter WHERE counter > 2;
CREATE MATERIALIZED VIEW counted AS SELECT counter, counter * 2 AS twice FROM counter WHERE counter > 2;
CREATE INDEX orders_by_customer ON orders (customer);
CREATE INDEX named_orders_by_id ON named_orders (id);

CREATE SINK averages_delta FROM averages INTO DELTA 'averages';
CREATE SINK joined_delta FROM joined INTO DELTA 'joined';
CREATE SINK averages_files FROM averages INTO FILES 'averages_files' FORMAT PARQUET;
CREATE SINK averages_iceberg FROM averages INTO ICEBERG (NAMESPACE 'reports', TABLE 'averages');
CREATE SINK averages_postgres FROM averages INTO POSTGRES CONNECTION shop (TABLE 'averages') KEY (customer) NOT ENFORCED;
