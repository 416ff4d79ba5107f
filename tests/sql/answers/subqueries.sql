SELECT a, EXISTS (SELECT FROM u WHERE u.a > t.a) FROM t
SELECT a, NOT EXISTS (SELECT FROM u WHERE u.a > t.a AND u.b < t.b) FROM t
SELECT a FROM t WHERE a = 5 OR EXISTS (SELECT FROM u WHERE u.a < t.a)
SELECT CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.a > t.a) THEN b ELSE 'none' END FROM t
SELECT a, a IN (SELECT u.a FROM u WHERE u.b <> t.b) FROM t
SELECT a, a NOT IN (SELECT u.a FROM u WHERE u.b <> t.b) FROM t
SELECT a, a IN (SELECT a FROM u) OR f, a NOT IN (SELECT a FROM w) FROM t
SELECT a, a > ANY (SELECT a FROM u), a > ALL (SELECT a FROM u), a <= ALL (SELECT a FROM w) FROM t
SELECT a, a = ALL (SELECT a FROM nothing), a < ANY (SELECT a FROM nothing), a <> ANY (SELECT a FROM u), a = ANY (SELECT a FROM w) FROM t
SELECT a, a >= ALL (SELECT w.a FROM w WHERE w.a < t.a) FROM t
SELECT a, b LIKE ANY (SELECT b FROM u), b NOT LIKE ALL (SELECT y FROM w) FROM t
SELECT (a, b) IN (SELECT a, b FROM u) FROM t
SELECT (a, b) NOT IN (SELECT a, b FROM u) FROM t
SELECT a FROM t WHERE (a, b) IN (SELECT a, b FROM u) OR a IS NULL
SELECT (a, b) = ANY (SELECT a, b FROM u), (a, b) < ALL (SELECT a, y FROM w) FROM t
SELECT a FROM t WHERE ROW(a, b) > ROW(1, 'one')
SELECT (a, g) < (2, 25), (a, g) <= (2, 20), (a, b) >= (2, 'two'), (a, b) <> (2, NULL), (1, NULL) < (a, 3) FROM t
SELECT a, (SELECT count(*) FROM u WHERE u.a > t.a), (SELECT max(u.b) FROM u WHERE u.a <> t.a) FROM t
SELECT a, (SELECT u.b FROM u WHERE u.a < t.a ORDER BY u.b LIMIT 1) FROM t
SELECT a, (SELECT DISTINCT length(u.b) FROM u WHERE u.a = t.a AND u.b IS NOT NULL AND u.a <> 2) FROM t
SELECT a, (SELECT count(DISTINCT u.b) FROM u WHERE u.a >= t.a GROUP BY u.a HAVING count(*) > 1) FROM t
SELECT a, (SELECT sum(k) FROM (SELECT u.a AS k FROM u WHERE u.a < t.a) s) FROM t
SELECT a, (SELECT max(k) FROM (SELECT a AS k FROM u WHERE u.a < t.a UNION SELECT w.a FROM w WHERE w.a > t.a) s) FROM t
SELECT a, (SELECT u.a FROM u WHERE u.a = t.a AND u.b = t.b UNION ALL SELECT w.a FROM w WHERE w.a = t.a AND w.a = 7) FROM t
SELECT a FROM t WHERE a = (SELECT min(u.a) FROM u WHERE u.a >= t.a AND u.b > 'f')
SELECT t.a, x.* FROM t, LATERAL (SELECT u.b FROM u WHERE u.a = t.a UNION ALL SELECT w.y FROM w WHERE w.a = t.a) x
SELECT t.a, x.* FROM t LEFT JOIN LATERAL (SELECT u.a FROM u WHERE u.a > t.a EXCEPT SELECT w.a FROM w WHERE w.a <= t.a) x ON true
SELECT t.a, x.* FROM t, LATERAL (VALUES (t.a, 1), (t.a + 1, 2)) x(p, q)
SELECT t.a, x.* FROM t, LATERAL (SELECT a FROM u WHERE u.a > t.a UNION SELECT a FROM w ORDER BY a LIMIT 2) x
SELECT t.a, x.* FROM t, LATERAL ((SELECT u.a FROM u WHERE u.a > t.a ORDER BY 1 LIMIT 1) UNION ALL (SELECT w.a FROM w ORDER BY 1 DESC LIMIT 1)) x
SELECT a, count(*) FROM t GROUP BY a HAVING count(*) > (SELECT count(*) FROM w WHERE w.a = t.a)
SELECT a, count(*) FROM t GROUP BY a HAVING count(*) IN (SELECT w.a FROM w)
SELECT a, count(*) FROM t GROUP BY a HAVING EXISTS (SELECT FROM u WHERE u.a > t.a)
SELECT a, max(g) > ALL (SELECT u.a * 10 FROM u WHERE u.a IS NOT NULL AND u.a <> t.a) FROM t GROUP BY a
SELECT a FROM t GROUP BY a HAVING sum(g) > ANY (SELECT u.a FROM u WHERE u.a > t.a)
VALUES ((SELECT max(a) FROM t), 1), (2, (SELECT count(*) FROM u))
VALUES (1 IN (SELECT a FROM t)), (EXISTS (SELECT FROM nothing))
SELECT * FROM (VALUES ((SELECT max(a) FROM t))) v(x)
SELECT a, (SELECT x FROM (VALUES (t.a), (3)) v(x) ORDER BY x LIMIT 1) FROM t
SELECT a, EXISTS (SELECT FROM u WHERE EXISTS (SELECT FROM w WHERE w.a > u.a AND w.a > t.a)) FROM t
SELECT a, (SELECT count(*) FROM u WHERE u.a > (SELECT min(w.a) FROM w WHERE w.a > t.a)) FROM t
SELECT a, (SELECT count(*) FROM u WHERE u.a IN (SELECT w.a FROM w WHERE w.a > t.a)) FROM t
SELECT t.a, u.b FROM t JOIN u ON t.a = u.a AND u.a IN (SELECT a FROM w)
SELECT t.a, u.b FROM t LEFT JOIN u ON t.a = u.a AND u.a IN (SELECT a FROM w)
SELECT t.a, u.b FROM t LEFT JOIN u ON t.a = u.a AND t.a > (SELECT min(a) FROM w)
SELECT t.a, u.b FROM t LEFT JOIN u ON t.a = u.a AND EXISTS (SELECT FROM w WHERE w.a = u.a)
SELECT t.a, u.b FROM t FULL JOIN u ON t.a = u.a AND t.a IN (SELECT a FROM w)
SELECT t.a, u.b FROM t JOIN u ON EXISTS (SELECT FROM w WHERE w.a = t.a AND w.a < u.a)
SELECT t.a FROM t WHERE EXISTS (SELECT FROM u JOIN w ON u.a = w.a AND w.a > t.a)
SELECT t.a FROM t WHERE EXISTS (SELECT FROM u LEFT JOIN w ON u.a = w.a AND w.a > t.a WHERE w.a IS NULL)
SELECT t.a, (SELECT count(w.a) FROM u LEFT JOIN w ON u.a = w.a AND w.a > t.a) FROM t
SELECT a, ARRAY(SELECT u.b FROM u WHERE u.a >= t.a ORDER BY u.b) FROM t
SELECT a, ARRAY(SELECT DISTINCT u.a FROM u WHERE u.a >= t.a ORDER BY 1) FROM t
SELECT (SELECT t.a + g FROM (SELECT 1) s) FROM t
SELECT a, (SELECT a) FROM t
SELECT a, (SELECT sum(x) FROM generate_series(1, t.a) x) FROM t
SELECT a, (SELECT row_number() OVER (ORDER BY u.a) FROM u WHERE u.a > t.a ORDER BY 1 LIMIT 1) FROM t
SELECT a, EXISTS (SELECT u.a FROM u GROUP BY u.a HAVING count(*) > t.a) FROM t
SELECT a, EXISTS (SELECT FROM u WHERE u.a > t.a LIMIT 1), EXISTS (SELECT FROM u WHERE u.a > t.a OFFSET 2) FROM t
SELECT a, a IN (SELECT u.a FROM u WHERE u.a > t.g UNION SELECT 1) FROM t
SELECT a, 3 IN (SELECT u.a + t.a FROM u) FROM t
SELECT a, (SELECT u.b FROM u WHERE u.a = t.a ORDER BY u.b DESC OFFSET 1) FROM t
SELECT a, NULL IN (SELECT a FROM u), NULL IN (SELECT a FROM nothing), NULL = ALL (SELECT u.a FROM u WHERE u.a > t.a) FROM t
SELECT a, '1' = ANY (SELECT u.a FROM u WHERE u.a <= t.a) FROM t
SELECT t.a, x FROM t LEFT JOIN LATERAL generate_series(2, t.a) x ON true
SELECT t.a, x FROM t LEFT JOIN LATERAL generate_series(1, t.a) x ON x > 1 AND t.f
SELECT t.a, s.x FROM w, t LEFT JOIN LATERAL generate_series(1, w.a) s(x) ON t.a = s.x
SELECT t.a, x FROM t JOIN LATERAL generate_series(1, t.a) x ON x > 1
SELECT t.a, x FROM t LEFT JOIN LATERAL unnest(ARRAY[t.a, 7]) x ON x IN (SELECT a FROM w)
SELECT a, (SELECT count(*) FROM (VALUES (t.a), (2)) v(x) JOIN u ON u.a = v.x) FROM t
SELECT max(a) IN (SELECT u.a FROM u), sum(g) > ANY (SELECT a FROM w) FROM t
SELECT b, EXISTS (SELECT a FROM u WHERE u.b > t.b) FROM t GROUP BY b HAVING (SELECT count(*) FROM (SELECT a FROM u WHERE u.b < t.b) s) < 2
SELECT a, CASE WHEN a <> 4 THEN (SELECT sum(10 / (u.a - 4)) FROM u WHERE u.a = t.a) END FROM t
SELECT a, (SELECT sum(10 / (u.a - 4)) FROM u WHERE u.a = w.a), a > 1 AND (SELECT min(10 / (u.a - 1)) FROM u WHERE u.a = w.a) > 5 FROM w
SELECT a, a = 1 OR (SELECT min(10 / (u.a - 1)) FROM u WHERE u.a = w.a) > 5, coalesce(nullif(a, 2), (SELECT max(10 / (u.a - 1)) FROM u WHERE u.a = w.a)) FROM w
SELECT a FROM w WHERE a NOT IN (SELECT 10 / (u.a - 4) FROM u WHERE u.a = w.a)
SELECT a, CASE WHEN a > 1 THEN a IN (SELECT 10 / (u.a - 1) FROM u WHERE u.a = w.a) END FROM w
SELECT a, (SELECT max(x) FROM (SELECT u.a, sum(10 / (u.a - 4)) AS x FROM u GROUP BY u.a) v WHERE v.a = w.a) FROM w
SELECT a, CASE WHEN (SELECT min(u.a) FROM u WHERE u.a = w.a) > 1 THEN (SELECT sum(10 / (u.a - 1)) FROM u WHERE u.a = w.a) END FROM w
SELECT w.a, x FROM w LEFT JOIN (SELECT a, 10 / (a - 4) AS x FROM u) s ON s.a = w.a
SELECT w.a, x FROM w JOIN (SELECT a, 10 / (a - 4) AS x FROM u) s USING (a)
SELECT s.* FROM (SELECT a, 10 / (a - 4) AS x FROM u) s WHERE a IN (SELECT a FROM w)
SELECT t.a, w.a, w.y FROM t LEFT JOIN w ON EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.b = w.y)
SELECT t.a, t.g, w.y FROM t RIGHT JOIN w ON t.a IN (SELECT u.a FROM u WHERE u.a <= w.a)
SELECT t.a, t.g, w.a, w.y FROM t FULL JOIN w ON t.a = w.a AND t.a + w.a IN (SELECT 2 * u.a FROM u WHERE u.b IS DISTINCT FROM w.y)
SELECT t.a, w.a FROM t LEFT JOIN w ON t.a < (SELECT max(u.a) FROM u WHERE u.a <= w.a OR u.b = t.b)
SELECT t.a, x.* FROM t, LATERAL (SELECT u.a AS k, u.b FROM u ORDER BY u.a, u.b LIMIT t.a OFFSET 1) x
SELECT t.a, x.* FROM t, LATERAL (SELECT u.a AS k FROM u ORDER BY u.a NULLS FIRST OFFSET t.a) x
SELECT t.a, x.* FROM t LEFT JOIN LATERAL (SELECT u.a AS k FROM u UNION SELECT 9 ORDER BY k LIMIT t.a - 1) x ON true
SELECT t.a, x.* FROM t, LATERAL (VALUES (t.a), (t.a + 1), (7) ORDER BY 1 DESC LIMIT t.a) x(p)
SELECT t.a, x.* FROM t, LATERAL (SELECT w.y, count(*) FROM w JOIN u ON true GROUP BY w.y ORDER BY w.y LIMIT 2 * t.a OFFSET t.a - 1) x
SELECT t.a, x.* FROM t, LATERAL (SELECT DISTINCT z::date FROM u ORDER BY 1 LIMIT (SELECT count(*) FROM w WHERE w.a <= t.a)) x
SELECT a, (SELECT u.b FROM u ORDER BY u.a, u.b OFFSET t.a LIMIT 1), ARRAY(SELECT u.b FROM u ORDER BY u.a, u.b LIMIT t.a) FROM t
SELECT a, EXISTS (SELECT FROM u OFFSET t.a + 2), EXISTS (SELECT FROM u LIMIT t.a - 1) FROM t
SELECT a FROM t WHERE a IN (SELECT u.a FROM u WHERE u.a IS NOT NULL ORDER BY u.a LIMIT t.g / 10)
SELECT a FROM u ORDER BY a LIMIT (SELECT min(a) + 1 FROM t) OFFSET length('x')
SELECT a FROM w ORDER BY a FETCH FIRST (SELECT 2) ROWS ONLY
SELECT x.* FROM t, LATERAL (WITH c(m) AS (SELECT max(u.a) FROM u WHERE u.a < t.a) SELECT t.a, c.m, d.m AS n FROM c JOIN c d ON c.m = d.m OR t.a = 1) x
SELECT t.a, x.* FROM t, LATERAL (WITH c(m) AS (SELECT max(u.a) FROM u WHERE u.a < t.a) SELECT c.m, s.* FROM c JOIN (SELECT (SELECT m FROM c) AS k, y FROM w) s ON true) x
SELECT t.a, x.* FROM t, LATERAL (WITH c AS (SELECT u.a FROM u WHERE u.a < t.a) SELECT w.a AS k, c.a AS m FROM w LEFT JOIN c ON c.a = w.a) x
SELECT t.a, x.* FROM t, LATERAL (WITH c(m) AS (SELECT u.a FROM u WHERE u.a < t.a) SELECT (SELECT count(*) FROM c), EXISTS (SELECT FROM c WHERE m = 2), 2 IN (SELECT m FROM c), ARRAY(SELECT m FROM c ORDER BY 1)) x
SELECT t.a, x.* FROM t, LATERAL (WITH c(m) AS (SELECT u.a FROM u WHERE u.a < t.a), d AS (SELECT m + 1 AS n FROM c JOIN w ON w.a >= t.a) SELECT * FROM c, d WHERE m < n) x
SELECT a, (WITH c AS (SELECT u.a FROM u WHERE u.a <= t.a) SELECT count(*) FROM c JOIN c AS d ON c.a < d.a OR c.a = t.a) FROM t
SELECT a, (WITH c AS (SELECT t.a + 1 AS n) SELECT sum(n) FROM c, u WHERE u.a > (SELECT min(n) FROM c) - 2) FROM t
SELECT a FROM t WHERE a IN (WITH c AS (SELECT t.a AS b, t.b AS x) SELECT u.a FROM u WHERE u.a IN (SELECT b FROM c WHERE x <> 'one'))
SELECT a FROM t WHERE EXISTS (WITH c AS (SELECT t.a AS b) SELECT FROM u JOIN c ON c.b = u.a WHERE EXISTS (SELECT FROM w, c AS d WHERE w.a = d.b))
SELECT a FROM t WHERE a IN (WITH c AS (SELECT t.a AS k) SELECT r.a FROM (SELECT u.a FROM u JOIN (SELECT s.a FROM (SELECT w.a FROM w JOIN c ON c.k = w.a WHERE w.a IN (SELECT k FROM c)) s) q ON q.a = u.a) r)
SELECT * FROM generate_series(1, 2) g, LATERAL (SELECT a, b FROM u) x NATURAL RIGHT JOIN w
SELECT t.a, x.a FROM t FULL JOIN LATERAL (SELECT a FROM u) x ON x.a = t.a
SELECT a, x.b FROM t JOIN LATERAL (SELECT a, b FROM u WHERE u.a > 1) x USING (a)
SELECT t.a, n, z FROM t CROSS JOIN (w AS o(n, y) JOIN LATERAL (SELECT u.b FROM u WHERE u.a = o.n) x(z) ON z > 'e')
SELECT t.a, n, h FROM t CROSS JOIN (w AS o(n, y) LEFT JOIN generate_series(1, n) AS h ON h > 1)
SELECT a FROM t WHERE (a, b) = (SELECT u.a, u.b FROM u WHERE u.a = 1)
SELECT a, (a, b) = (SELECT w.a, w.y FROM w WHERE w.a = t.a), (a, 'p') <= (SELECT w.a, w.y FROM w WHERE w.a + 1 = t.a), (a, b) <> (SELECT 1, 'one') FROM t
SELECT (1, 2) = (SELECT 1, 2), (1, 2) <> (SELECT 1, 3), (1, 2) < (SELECT 1, 3), ROW(1, 2) >= (SELECT 1, 3), (1, 2) = (SELECT 1, 2 WHERE false), (1, NULL) = (SELECT 1, 2), (1, NULL) = (SELECT 2, 2), ('1', 2) = (SELECT 1, 2), ROW(1) = (SELECT 1)
SELECT a FROM t WHERE NOT (a, b) < (SELECT 2, 'two')
SELECT ARRAY(SELECT * FROM (VALUES (1), (2)) AS v (x) ORDER BY x DESC), ARRAY(SELECT v.* FROM (VALUES ('a'), (NULL)) AS v (x) ORDER BY x)
SELECT a, ARRAY(SELECT * FROM generate_series(1, t.a)) FROM t
SELECT a FROM w ORDER BY a LIMIT 1.5
SELECT a FROM w ORDER BY a LIMIT 1.4 OFFSET 0.6
SELECT a FROM w ORDER BY a LIMIT (SELECT 1.5) OFFSET 0.5::float8
SELECT a FROM w ORDER BY a FETCH FIRST (3.0 / 2) ROWS ONLY
SELECT a, (SELECT w.a FROM w ORDER BY w.a LIMIT d - 9.25) FROM t WHERE d > 10
SELECT t.a, g.g FROM (t CROSS JOIN LATERAL generate_series(1, t.a) AS g) WHERE t.a < 4
SELECT t.a, g.g FROM (t LEFT OUTER JOIN LATERAL generate_series(2, t.a) AS g ON true) WHERE t.a < 4
SELECT t.a, s.c FROM (t CROSS JOIN LATERAL (SELECT t.a + 1 AS c) AS s) WHERE t.a < 4
SELECT array_agg(b) FROM (SELECT b FROM t ORDER BY d DESC NULLS FIRST, g) s
SELECT a, array_agg(g), string_agg(b, ','), jsonb_agg(g)::text FROM (SELECT * FROM t ORDER BY g DESC) s GROUP BY a
SELECT f, array_agg(x), count(*) FROM (SELECT g + 1 AS x, f FROM t ORDER BY d, g) AS s (x, f) GROUP BY f HAVING array_agg(x) <> '{}'
SELECT string_agg(b, '-' ORDER BY b), string_agg(b, '-'), array_agg(DISTINCT a) FROM (SELECT a, b FROM t ORDER BY g DESC LIMIT 4) s WHERE a IS NOT NULL
SELECT s.*, (SELECT array_agg(y) FROM (SELECT y FROM w ORDER BY a, y DESC) v) FROM (SELECT a FROM u ORDER BY x, b) s
SELECT array_agg(k) FILTER (WHERE k > 10), array_agg(s) FROM (SELECT g AS k, -g AS s FROM t ORDER BY 2) s
SELECT jsonb_agg(g)::text, jsonb_agg((g, a))::text FROM (SELECT g, a FROM t ORDER BY a NULLS FIRST, g DESC) s
SELECT array_agg(n) FROM (SELECT a AS n FROM t UNION ALL SELECT a FROM w ORDER BY n DESC NULLS LAST) s
SELECT array_agg(b) FROM (SELECT b, max(g) FROM t GROUP BY b ORDER BY max(g) DESC) s (b, m)
SELECT a, (SELECT array_agg(t.b) FROM (SELECT b FROM u ORDER BY b DESC) s LIMIT 1) FROM t GROUP BY a
SELECT array_agg(s)::text FROM (SELECT a, b FROM u ORDER BY b) s
SELECT * FROM (SELECT a, g FROM t ORDER BY g DESC) s LIMIT 2
SELECT * FROM (SELECT * FROM (SELECT a, g FROM t ORDER BY g DESC) s WHERE a > 0) s2 LIMIT 2
SELECT a FROM (SELECT a, g FROM t ORDER BY g DESC) s LIMIT 2
SELECT a FROM (SELECT a FROM t ORDER BY g DESC) s LIMIT 2
SELECT a FROM (SELECT a FROM t ORDER BY g DESC LIMIT 4) s OFFSET 1 LIMIT 2
SELECT x FROM (SELECT a FROM t ORDER BY b NULLS FIRST, g DESC LIMIT 4) s(x) OFFSET 1 LIMIT 2
SELECT a + 1 FROM (SELECT a, g FROM t ORDER BY g DESC) s WHERE a > 1 LIMIT 2
SELECT a, (SELECT w.y FROM w WHERE w.a = s.a) FROM (SELECT a, g FROM t ORDER BY g DESC) s LIMIT 3
SELECT DISTINCT a FROM (SELECT a, g FROM t ORDER BY g DESC) s ORDER BY a LIMIT 3
SELECT count(*) FROM (SELECT a, g FROM t ORDER BY g DESC) s LIMIT 3
SELECT array_agg(a) FROM (SELECT a, g FROM t ORDER BY g DESC) s LIMIT 3
SELECT row_number() OVER (), g FROM (SELECT a, g FROM t ORDER BY g DESC) s LIMIT 3
SELECT row_number() OVER (ORDER BY a), g FROM (SELECT a, g FROM t ORDER BY g DESC) s LIMIT 3
SELECT (SELECT a FROM (SELECT a, g FROM t ORDER BY g DESC) s LIMIT 1)
SELECT w.a, (SELECT x.a FROM (SELECT a, g FROM t ORDER BY g DESC) x WHERE x.a = w.a LIMIT 1) FROM w
SELECT * FROM w WHERE a = (SELECT x.a FROM (SELECT a, g FROM t ORDER BY g) x LIMIT 1)
SELECT ARRAY(SELECT x.a FROM (SELECT a, g FROM t ORDER BY g DESC) x)
SELECT a FROM (SELECT a, g FROM t ORDER BY g DESC) s UNION ALL SELECT 7
SELECT a FROM (VALUES (1), (3), (2) ORDER BY 1 DESC) v(a) LIMIT 2
SELECT a FROM (SELECT a FROM t UNION SELECT a FROM w ORDER BY a DESC) v LIMIT 2
SELECT s.* FROM (SELECT a FROM t ORDER BY g DESC) s LIMIT 2
SELECT a FROM (SELECT a, g FROM t ORDER BY g DESC) s FETCH FIRST 2 ROWS ONLY
SELECT a FROM (SELECT a, g FROM t ORDER BY g DESC) s LIMIT (SELECT 2)
SELECT row_number() OVER (), g FROM (SELECT a, g FROM t ORDER BY g DESC) s WHERE a > 1
SELECT row_number() OVER (), lag(a) OVER (), g FROM (SELECT a, g FROM t ORDER BY g DESC) s ORDER BY 3
SELECT g, first_value(g) OVER (), last_value(g) OVER (), nth_value(g, 2) OVER () FROM (SELECT a, g FROM t ORDER BY g DESC) s
WITH s AS (SELECT g FROM t ORDER BY g DESC) SELECT g, first_value(g) OVER (RANGE UNBOUNDED PRECEDING), last_value(g) OVER (ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM s
SELECT row_number() OVER (PARTITION BY a), g FROM (SELECT a, g FROM t ORDER BY g DESC) s ORDER BY 2
SELECT rank() OVER (), g FROM (SELECT a, g FROM t ORDER BY g DESC) s ORDER BY 2
SELECT ntile(2) OVER (), g FROM (SELECT a, g FROM t ORDER BY g DESC) s
SELECT lead(g) OVER (ROWS CURRENT ROW), g FROM (SELECT a, g FROM t ORDER BY g DESC) s
SELECT count(*), row_number() OVER () FROM (SELECT a, g FROM t ORDER BY g DESC) s
SELECT a, row_number() OVER () FROM (SELECT a, g FROM t ORDER BY g DESC) s GROUP BY a HAVING a > 3
SELECT lead(g) OVER (ORDER BY g ROWS CURRENT ROW), g FROM (SELECT a, g FROM t ORDER BY g DESC) s
SELECT max((SELECT w.a FROM w)) FILTER (WHERE g > 1000) FROM t
SELECT max((SELECT w.a FROM w)) FILTER (WHERE false) FROM t
SELECT g, max((SELECT w.a FROM w WHERE w.a < t.g / 10)) FILTER (WHERE g <= 20) FROM t GROUP BY g
SELECT max((SELECT u.a FROM u WHERE u.a = t.a)) FILTER (WHERE a <> 2) FROM t
WITH o AS (SELECT a, g FROM t ORDER BY g DESC) SELECT a FROM o LIMIT 2
WITH o AS (SELECT a FROM t ORDER BY b NULLS FIRST, g DESC LIMIT 4) SELECT * FROM o OFFSET 1 LIMIT 2
WITH o (x, y) AS (SELECT a, g FROM t ORDER BY f, g DESC) SELECT p.z + 1, y FROM o AS p (z) LIMIT 2
WITH o AS (SELECT a, g FROM t ORDER BY g DESC), p AS (SELECT g FROM o WHERE a > 1) SELECT * FROM p LIMIT 2
WITH o AS (SELECT a, g FROM t ORDER BY g DESC) SELECT * FROM (SELECT g FROM o) AS s LIMIT 2
SELECT * FROM (WITH o AS (SELECT g FROM t ORDER BY g DESC), p AS (SELECT g FROM o) SELECT * FROM p) AS s LIMIT 2
WITH o AS (SELECT g FROM t ORDER BY g DESC) SELECT * FROM (WITH o AS (SELECT g FROM t ORDER BY g) SELECT * FROM o) AS s LIMIT 2
WITH o AS (SELECT g FROM t ORDER BY g DESC) SELECT * FROM (WITH o AS (SELECT min(g) AS g FROM t) SELECT g FROM o) AS s
WITH o AS (SELECT b FROM t ORDER BY d DESC NULLS FIRST, g) SELECT array_agg(b), string_agg(b, ',') FROM o
WITH o AS MATERIALIZED (SELECT g FROM t ORDER BY g DESC) SELECT g, row_number() OVER (), lag(g) OVER () FROM o
WITH RECURSIVE o AS (SELECT g FROM t ORDER BY g DESC) SELECT g FROM o LIMIT 2
WITH o AS (VALUES (1), (3), (2) ORDER BY 1 DESC) TABLE o LIMIT 1
WITH o AS (SELECT a FROM t UNION SELECT a FROM w ORDER BY a DESC) SELECT (SELECT a FROM o LIMIT 1), (SELECT array_agg(a) FROM o)
WITH o AS (SELECT g FROM t ORDER BY g DESC) SELECT count(*) FROM o AS q, o AS p WHERE q.g = p.g
SELECT a, (SELECT p FROM (SELECT t.a AS g) x, (SELECT g AS p) y) FROM t
SELECT a, (SELECT p + q FROM (SELECT t.a AS g) x, (SELECT g AS p, a AS q) y) FROM t
SELECT a, (SELECT count(*) FROM (VALUES (7)) AS x(g), (SELECT a WHERE g > 15) y) FROM t
SELECT (SELECT count(*) FROM u WHERE u.a = t.a) AS n, count(*) FROM t GROUP BY (SELECT count(*) FROM u WHERE u.a = t.a)
SELECT (SELECT max(u.b) FROM u WHERE u.a = t.a), sum(g) FROM t GROUP BY 1 ORDER BY (SELECT max(u.b) FROM u WHERE u.a = t.a) NULLS FIRST
SELECT 1 + (SELECT count(*) FROM u WHERE u.a = t.a) FROM t GROUP BY (SELECT count(*) FROM u WHERE u.a = t.a) HAVING (SELECT count(*) FROM u WHERE u.a = t.a) < 2
SELECT EXISTS (SELECT FROM w WHERE w.a = t.a), count(*) FROM t GROUP BY EXISTS (SELECT FROM w WHERE w.a = t.a)
SELECT a IN (SELECT a FROM w), count(*) FROM t GROUP BY a IN (SELECT a FROM w)
(SELECT g FROM t LIMIT 1) ORDER BY g DESC
(SELECT g FROM t LIMIT 2) ORDER BY -a NULLS LAST, g
((SELECT g FROM t) LIMIT 2) ORDER BY g
(SELECT a FROM t UNION SELECT a FROM w LIMIT 2) ORDER BY a
SELECT (SELECT g FROM t LIMIT 1), ((SELECT g FROM t LIMIT 1) ORDER BY g DESC) FROM (SELECT 1) x WHERE false
SELECT ((SELECT g FROM t LIMIT 1) ORDER BY g DESC)
SELECT a, ((SELECT g FROM t AS r WHERE r.a = t.a LIMIT 1) ORDER BY g) FROM t
SELECT * FROM ((SELECT g FROM t LIMIT 1) ORDER BY g DESC) x
SELECT array_agg(g) FROM ((SELECT g FROM t) ORDER BY g DESC) x
WITH o AS ((SELECT g FROM t LIMIT 2) ORDER BY g DESC) SELECT g FROM o
(WITH o AS (SELECT g FROM t) (SELECT g FROM o LIMIT 1)) ORDER BY g DESC
SELECT a, (a, g) IN ((1, 10), NULL), (a, g) NOT IN ((1, 10), NULL), (1, 2) IN (NULL) FROM t
SELECT a, (SELECT count(*) FROM u RIGHT JOIN w ON u.a = w.a AND w.a > t.a) FROM t
SELECT a, (SELECT count(u.b) FROM u FULL JOIN w ON u.a = w.a AND t.b > 'o') FROM t
SELECT a, (SELECT count(*) FROM (SELECT t.a + 1 AS a) x JOIN w USING (a)) FROM t
SELECT a, (SELECT max(y) FROM (SELECT t.a AS a) x NATURAL JOIN w) FROM t
SELECT a, (SELECT max(a) FROM (SELECT t.a + 10 AS a) x FULL JOIN w USING (a)) FROM t
SELECT a, (SELECT min(a) FROM (SELECT t.a + 1 AS a) x RIGHT JOIN w USING (a) LEFT JOIN u USING (a)) FROM t
SELECT a, EXISTS (SELECT FROM u, w RIGHT JOIN u AS v ON w.a = v.a AND w.a = t.a WHERE w.y > 'a') FROM t
SELECT a, (SELECT count(*) FROM u RIGHT JOIN (SELECT w.a FROM w WHERE w.a > t.a) x ON u.a = x.a) FROM t
SELECT t.g, x.* FROM t, LATERAL (SELECT u.a AS p, y FROM u FULL JOIN w ON u.a = w.a AND u.a = t.a) x
SELECT a, (SELECT count(w.y) FROM w LEFT JOIN (u JOIN u AS v ON u.a = v.a AND u.a >= t.a) ON w.a = u.a) FROM t
SELECT a, (SELECT count(j.y) FROM (u RIGHT JOIN w ON u.a = w.a AND u.a = t.a) AS j) FROM t
SELECT a, (SELECT count(u.a) FROM u RIGHT JOIN w ON (SELECT max(v.a) FROM u AS v WHERE v.a <= t.a) = u.a) FROM t
SELECT ARRAY(VALUES (2), (3), (1) ORDER BY 1 DESC) AS found
SELECT a FROM t WHERE EXISTS (SELECT DISTINCT ON (u.b) u.a FROM u WHERE u.a = t.a)
SELECT a FROM t WHERE NOT EXISTS (SELECT DISTINCT ON (u.b) u.a FROM u WHERE u.a = t.a ORDER BY u.b, u.a)
SELECT a FROM t WHERE a IN (SELECT DISTINCT ON (u.a) u.a FROM u WHERE u.b = t.b)
SELECT e.a FROM (SELECT a FROM t WHERE a > 1000) AS e WHERE e.a > (SELECT 1 / count(*) FROM u WHERE u.a > 1000)
SELECT a FROM t WHERE a > 1000 AND a > (SELECT 1 / count(*) FROM u WHERE u.a > 1000)
SELECT b, count(*) FROM t WHERE a > 1000 GROUP BY b HAVING count(*) >= (SELECT count(*) / count(DISTINCT a) FROM t WHERE a > 1000)
SELECT a FROM t WHERE a > (SELECT 1 / count(*) FROM u)
SELECT a FROM t WHERE a >= (SELECT 10 / count(*) - 1 FROM u) AND a < (SELECT 100 / count(*) FROM u)
