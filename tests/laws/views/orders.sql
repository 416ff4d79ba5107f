-- Views that people write over a shop: what they join, count and rank.
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, city text, joined date);
CREATE TABLE orders (id bigint, customer int, placed timestamp, total numeric(12, 2), weight double precision, is_paid boolean);
CREATE TABLE items (order_id bigint, product text, pieces smallint, price numeric);
INSERT INTO customers VALUES (1, 'Ada', 'Turin', '2020-01-05'), (2, 'Bob', NULL, '2020-02-29'), (3, 'Cy', 'Turin', NULL), (4, 'Di', 'Bonn', '2021-07-01');
INSERT INTO orders VALUES (10, 1, '2021-01-01 08:00', 12.50, 0.25, true), (11, 1, '2021-01-01 09:30', 7.25, 1.5, false),
    (12, 2, '2021-03-04 17:45', NULL, -2.0, NULL), (13, NULL, NULL, 99.99, 0, true), (14, 3, '2022-12-31 23:59', 0, NULL, true);
INSERT INTO items VALUES (10, 'pen', 2, 1.25), (10, 'ink', 1, 10), (11, 'pen', 5, 1.45), (12, NULL, 0, 0.000000001), (99, 'ink', 3, 12);

SELECT c.name, count(o.id), sum(o.total), max(o.placed) FROM customers c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.name;
SELECT city, avg(total), min(weight), bool_or(is_paid) FROM customers JOIN orders ON customer = customers.id GROUP BY city HAVING count(*) > 1;
SELECT coalesce(o.id, i.order_id) AS id, o.total, i.price FROM orders o FULL JOIN items i ON i.order_id = o.id AND i.pieces > 1;
SELECT product, sum(pieces * price) AS worth FROM items GROUP BY product ORDER BY worth DESC NULLS LAST LIMIT 1;
SELECT name FROM customers WHERE NOT EXISTS (SELECT FROM orders WHERE customer = customers.id AND is_paid);
SELECT id FROM orders WHERE customer NOT IN (SELECT id FROM customers WHERE city = 'Turin');
SELECT name, (SELECT count(*) FROM orders JOIN items ON order_id = orders.id WHERE customer = customers.id) FROM customers;
SELECT product, price, price - lag(price) OVER (PARTITION BY product ORDER BY price) AS step FROM items;
SELECT id, rank() OVER (ORDER BY total DESC), sum(total) OVER (ORDER BY placed ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders;
SELECT DISTINCT ON (customer) customer, id, total FROM orders ORDER BY customer, total DESC, id;
SELECT city, extract(year FROM joined) AS year, count(*) FROM customers GROUP BY CUBE (city, extract(year FROM joined));
SELECT customer FROM orders UNION SELECT id FROM customers EXCEPT SELECT customer FROM orders WHERE total > 10;
SELECT customer, id FROM orders INTERSECT ALL SELECT customer, id FROM orders WHERE is_paid IS NOT FALSE;
SELECT is_paid, sum(total) FILTER (WHERE weight > 0), sum(CASE WHEN weight > 0 THEN 1 ELSE 0 END) AS heavy FROM orders GROUP BY is_paid;
SELECT count(DISTINCT product), count(DISTINCT order_id), string_agg(product, ',') FROM items;
WITH spent AS (SELECT customer, sum(total) AS total FROM orders GROUP BY customer)
    SELECT name, s.total FROM customers, spent s WHERE s.customer = id AND s.total = (SELECT max(total) FROM spent);
SELECT o.id, x.product FROM orders o, LATERAL (SELECT product FROM items WHERE order_id = o.id ORDER BY pieces DESC LIMIT 1) x;
SELECT total / pieces AS rate FROM orders JOIN items ON order_id = id;
SELECT id, total / nullif(((weight::numeric + total) / 3.0) / 7.0, 0) / 1.5 AS share FROM orders;
SELECT a.customer, a.t / nullif((a.t + b.t) / 3.0, 0) * 100 / 2.0 AS share FROM (SELECT customer, sum(total) AS t FROM orders GROUP BY customer) a, (SELECT order_id, sum(price) AS t FROM items GROUP BY order_id) b WHERE a.t > b.t;
SELECT sum(total / nullif(pieces, 0)), 1 / (count(*) - 3) AS around FROM orders JOIN items ON order_id = id;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY total), stddev(weight), variance(price) FROM orders LEFT JOIN items ON order_id = id;
SELECT order_id, percentile_disc(0.3) WITHIN GROUP (ORDER BY price DESC), mode() WITHIN GROUP (ORDER BY price DESC), dense_rank(2) WITHIN GROUP (ORDER BY price) FROM items GROUP BY order_id;
SELECT order_id, percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY price) FROM items GROUP BY order_id;
SELECT id, piece FROM orders JOIN items ON order_id = id, generate_series(1, pieces) AS piece;
SELECT to_char(placed, 'YYYY-MM'), array_agg(id) IS NULL AS nothing, every(is_paid) FROM orders GROUP BY to_char(placed, 'YYYY-MM');
VALUES (1, 'a'), (2, NULL);
SELECT string_agg(DISTINCT product, ', '), string_agg(DISTINCT product, '-' ORDER BY product DESC), count(DISTINCT price) FROM items;
SELECT array_agg(DISTINCT pieces ORDER BY pieces DESC), max(1), count(DISTINCT 'x'), sum(price) FROM items;
