SELECT (SELECT max(t.a)) FROM t
SELECT (SELECT max(t.a) FROM nothing) FROM t
SELECT (SELECT max(t.a) FROM w LIMIT 1) FROM t
SELECT (SELECT count(*) FILTER (WHERE t.a > 1) FROM nothing) FROM t
SELECT (SELECT max((SELECT w.y FROM w WHERE w.a = t.a))) FROM t
SELECT b, (SELECT sum(t.a)) FROM t GROUP BY b ORDER BY b
SELECT b, (SELECT sum(t.a) + 1 AS n) FROM t GROUP BY b ORDER BY 1
SELECT b FROM t GROUP BY b HAVING EXISTS (SELECT 1 FROM w WHERE w.a = sum(t.a))
SELECT b FROM t GROUP BY b HAVING EXISTS (SELECT 1 FROM u WHERE u.a = count(t.a))
SELECT b FROM t GROUP BY b HAVING NOT EXISTS (SELECT 1 FROM u WHERE u.a = count(t.a))
SELECT b FROM t GROUP BY b HAVING count(*) IN (SELECT a FROM u WHERE u.a <= max(t.a))
SELECT b, (SELECT count(*) FROM w WHERE w.a < sum(t.a)) FROM t GROUP BY b
SELECT b, (SELECT max(w.y) FROM w WHERE w.a = max(t.a)) FROM t GROUP BY b
SELECT b, (SELECT w.y FROM w WHERE w.a = max(t.a)) FROM t GROUP BY b
SELECT b, (SELECT w.y FROM w WHERE w.a >= min(t.a) ORDER BY w.a LIMIT 1) FROM t GROUP BY b
SELECT b, ARRAY(SELECT w.a + max(t.a) FROM w ORDER BY 1) FROM t GROUP BY b
SELECT b, (SELECT sum(t.a)::bigint) FROM t GROUP BY b
SELECT b, (SELECT (SELECT sum(t.a))) FROM t GROUP BY b
SELECT b, (SELECT (SELECT sum(t.a) FROM u WHERE u.a = 1) FROM w WHERE w.a = 2) FROM t GROUP BY b
SELECT b, (SELECT (SELECT sum(w.a)) FROM w WHERE w.a > max(t.a)) FROM t GROUP BY b
SELECT b, (SELECT (SELECT sum(w.a) + max(t.a)) FROM w) FROM t GROUP BY b
SELECT b, (SELECT sum(w.a + t.a) FROM w) FROM t GROUP BY b, t.a
SELECT b, (SELECT sum(w.a + (SELECT max(t.g))) FROM w) FROM t GROUP BY b
SELECT b, (SELECT sum(w.a) FROM w WHERE w.a > (SELECT min(t.a))) FROM t GROUP BY b
SELECT (SELECT sum(w.a) FROM w WHERE w.a IN (SELECT count(t.b))) FROM t
SELECT count(*), (SELECT max(t.a) + count(*) FROM w) FROM t
SELECT (SELECT string_agg(t.b, ',' ORDER BY t.b)) FROM t
SELECT (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t.c)) FROM t
SELECT (SELECT count(DISTINCT t.a)) FROM t
SELECT (SELECT any_value(t.f)) IS NULL FROM t
SELECT b, grouping(b), (SELECT grouping(t.b) + count(*) FROM w) FROM t GROUP BY ROLLUP (b)
SELECT b, (SELECT sum(t.a) FROM w WHERE w.a = 1) FROM t GROUP BY ROLLUP (b)
SELECT max(a) FROM t ORDER BY (SELECT max(t.g))
SELECT b FROM t GROUP BY b ORDER BY (SELECT max(t.g)), b
SELECT b FROM t GROUP BY b ORDER BY (SELECT max(t.g) FROM w WHERE w.a = 1) DESC, b
SELECT DISTINCT ON ((SELECT max(t.g) > 20)) b FROM t GROUP BY b ORDER BY (SELECT max(t.g) > 20), b
SELECT b, sum(a), rank() OVER (ORDER BY (SELECT sum(t.a))) FROM t GROUP BY b
SELECT b, (SELECT sum(t.g) OVER ()) FROM t
SELECT b, (SELECT sum(t.g) OVER () FROM w LIMIT 1) FROM t
SELECT (SELECT max(t.a)) + (SELECT max(t.a)), (SELECT min(t.a)) FROM t
SELECT CASE WHEN EXISTS (SELECT 1 FROM w WHERE w.a = max(t.a)) THEN 1 ELSE 0 END FROM t
SELECT (SELECT max(t.a) UNION ALL SELECT 1 FROM nothing) FROM t
SELECT (VALUES (max(t.a))) FROM t
SELECT (SELECT sum(w.a + sum(t.a)) FROM w) FROM t
SELECT t.a, x.m FROM t, LATERAL (SELECT (SELECT max(w.a)) AS m FROM w WHERE w.a <= t.a) x
SELECT t.a, x.m FROM t LEFT JOIN LATERAL (SELECT w.a, (SELECT count(w.y)) AS m FROM w WHERE w.a <= t.a GROUP BY w.a) x ON true
SELECT t.a, x.m FROM t, LATERAL (SELECT count(*) IN (SELECT u.a FROM u) AS m FROM w WHERE w.a = t.a) x
SELECT t.a, (SELECT (max(w.a) IN (SELECT a FROM u)) FROM w WHERE w.a = t.a) FROM t
SELECT t.a, (SELECT (max(w.a) IN (SELECT a FROM u)) FROM w WHERE w.a <= t.a) FROM t
SELECT t.a, (SELECT max(w.a) + (SELECT count(*) FROM u WHERE u.a = max(w.a)) FROM w WHERE w.a = t.a) FROM t
SELECT t.a, (SELECT max(w.a) + (SELECT count(*) FROM u WHERE u.a = max(w.a)) FROM w WHERE w.a <= t.a) FROM t
SELECT t.a, EXISTS (SELECT 1 FROM w WHERE w.a <= t.a GROUP BY w.y HAVING EXISTS (SELECT 1 FROM u WHERE u.a = max(w.a))) FROM t
SELECT w.a FROM w WHERE w.a IN (SELECT t.a FROM t GROUP BY t.a HAVING EXISTS (SELECT 1 FROM u WHERE u.a = count(t.b)))
SELECT w.a FROM w WHERE EXISTS (SELECT t.b FROM t GROUP BY t.b HAVING EXISTS (SELECT 1 FROM u WHERE u.a = max(t.a) AND u.a = w.a))
WITH x AS (SELECT t.b, (SELECT max(t.a)) AS m FROM t GROUP BY t.b) SELECT * FROM x
SELECT b, (SELECT array_agg(t.a ORDER BY t.a)) FROM t GROUP BY b
SELECT (SELECT sum(x) FROM (SELECT max(t.a) AS x) y) FROM t
SELECT (SELECT sum(y.x) FROM (SELECT w.a AS x FROM w WHERE w.a < max(t.a)) y) FROM t
SELECT (SELECT w.y FROM w JOIN u ON u.a = w.a AND w.a = min(t.a)) FROM t
SELECT (SELECT w.y FROM w ORDER BY max(t.a), w.a LIMIT 1) FROM t
SELECT (SELECT w.y FROM w GROUP BY w.y HAVING max(w.a) = max(t.a)) FROM t
SELECT f, (SELECT count(*) FROM w GROUP BY max(t.a)) FROM t GROUP BY f
SELECT b, sum(a) FROM t GROUP BY b HAVING sum(a) > ALL (SELECT w.a FROM w WHERE w.a < count(t.a))
SELECT b, sum(a) = ANY (SELECT max(t.a) FROM w) FROM t GROUP BY b
SELECT b, (SELECT sum(a) FROM w) FROM t GROUP BY b
SELECT a, (SELECT count(*) FROM w GROUP BY t.a) FROM t
SELECT a, (SELECT max(w.a) IN (SELECT u.a FROM u) FROM w WHERE w.a < t.a) FROM t
SELECT (VALUES (1))
SELECT b, x FROM (SELECT b, (SELECT sum(t.a)) AS x FROM t GROUP BY b) q WHERE x > 1
SELECT b, sum(a) FROM t GROUP BY b HAVING (SELECT sum(t.a)) > 1 ORDER BY (SELECT -sum(t.a))
SELECT w.a, (SELECT max(x.s) FROM (SELECT t.b, (SELECT sum(t.a)) AS s FROM t WHERE t.a <= w.a GROUP BY t.b) x) FROM w
SELECT w.a, (SELECT (SELECT sum(t.a) + w.a) FROM t WHERE t.a <= w.a) FROM w
SELECT w.a, (SELECT (SELECT sum(t.a + w.a)) FROM t WHERE t.a <= w.a) FROM w
SELECT max(w.a), (SELECT (SELECT sum(t.a) + max(w.a)) FROM t) FROM w
SELECT max(w.a), (SELECT (SELECT sum(t.a) + max(w.a) FROM u WHERE u.a = max(w.a) - 3) FROM t) FROM w
SELECT (SELECT count(*) FROM (SELECT 1 WHERE max(t.a) > 1) x) FROM t
SELECT CASE WHEN max(a) > (SELECT min(t.a) FROM u LIMIT 1) THEN 'x' END FROM t
SELECT b, (SELECT array_agg(w.a ORDER BY w.a) FROM w WHERE w.a <= count(t.a)) FROM t GROUP BY b
SELECT b, (SELECT bool_or(w.a = max(t.a)) FROM w) FROM t GROUP BY b
SELECT b, (SELECT count(*) FROM w, u WHERE w.a = u.a AND u.a <= max(t.a)) FROM t GROUP BY b
SELECT b, (WITH q AS (SELECT w.a FROM w WHERE w.a <= max(t.a)) SELECT count(*) FROM q) FROM t GROUP BY b
SELECT b, (SELECT count(*) FROM w FULL JOIN u ON u.a = w.a WHERE w.a <= max(t.a)) FROM t GROUP BY b
SELECT b, (SELECT sum(t.a) UNION SELECT sum(t.a)) FROM t GROUP BY b
SELECT b, EXISTS (SELECT sum(t.a)) FROM t GROUP BY b
SELECT b, EXISTS (SELECT sum(t.a) FROM nothing) FROM t GROUP BY b
SELECT max(w.a), (SELECT (SELECT sum(t.a) + max(w.a)) FROM t WHERE t.a < max(w.a)) FROM w
SELECT w.a, (SELECT (SELECT sum(t.a) + w.a) FROM t) FROM w
SELECT w.a, (SELECT (SELECT sum(t.a) + w.a FROM u WHERE u.a = 1) FROM t) FROM w
SELECT w.a, (SELECT sum(t.a) + w.a FROM t) FROM w
SELECT w.a, x.m FROM w, LATERAL (SELECT (SELECT sum(t.a) + w.a) AS m FROM t) x
SELECT a, b, count(*), grouping(a, b) FROM t GROUP BY a, ROLLUP (a, b)
SELECT a, b, count(*), grouping(b), grouping(a) FROM t GROUP BY ROLLUP (a, a, b)
SELECT a, count(*), grouping(a) FROM t GROUP BY GROUPING SETS (a, a)
SELECT a, b, grouping(a, b, a) FROM t GROUP BY CUBE (a, b)
SELECT a, b FROM t GROUP BY ROLLUP (a, b), CUBE (a, b)
SELECT a, b FROM t GROUP BY DISTINCT ROLLUP (a, b), CUBE (a, b)
SELECT a, count(*) FROM t GROUP BY a, ROLLUP (a) HAVING grouping(a) = 0
SELECT a, grouping(a), rank() OVER (PARTITION BY grouping(a) ORDER BY count(*)) FROM t GROUP BY ROLLUP (a)
SELECT a IS NULL, count(*) FROM t GROUP BY ROLLUP (a IS NULL)
SELECT DISTINCT a, grouping(a) FROM t GROUP BY a, ROLLUP (a, b)
SELECT x.a, x.n FROM w, LATERAL (SELECT t.a, count(*) AS n FROM t WHERE t.a <= w.a GROUP BY ROLLUP (t.a)) x
SELECT w.a, x.n FROM w, LATERAL (SELECT count(*) AS n FROM t WHERE t.a <= w.a GROUP BY GROUPING SETS ((), ())) x
SELECT w.a, (SELECT string_agg(n::text, ',' ORDER BY n) FROM (SELECT count(*) AS n FROM t WHERE t.a <= w.a GROUP BY ROLLUP (t.a)) x) FROM w
SELECT sum(sum(g)) OVER (PARTITION BY grouping(a)) FROM t GROUP BY ROLLUP (a)
SELECT a AS x, a AS y, count(*) FROM t GROUP BY x, ROLLUP (y)
SELECT a AS x, a AS y, count(*) FROM t GROUP BY y, ROLLUP (a)
SELECT a AS x, a AS y, count(*) FROM t GROUP BY ROLLUP (1, 2)
SELECT a AS x, a AS y, count(*), grouping(a) FROM t GROUP BY ROLLUP (x, y)
SELECT a AS x, a AS y, count(*), grouping(a) FROM t GROUP BY ROLLUP (y, x)
SELECT a AS x, a AS y, a + 1, count(*) FROM t GROUP BY ROLLUP (y, x)
SELECT a AS x, a AS y, a + 1, count(*) FROM t GROUP BY ROLLUP (y, x) HAVING a > 1
SELECT a AS x, a AS y, count(*) FROM t GROUP BY ROLLUP (y)
SELECT a AS x, a AS y, count(*) FROM t GROUP BY CUBE (x, y)
SELECT a AS x, a AS y, count(*) FROM t GROUP BY x, y
SELECT a AS x, a AS y, count(*) FROM t GROUP BY GROUPING SETS (x, y)
SELECT upper(b) AS x, upper(b) AS y, count(*) FROM t GROUP BY GROUPING SETS (x, y, ())
SELECT a AS x, a AS y, rank() OVER (ORDER BY a) FROM t GROUP BY GROUPING SETS (x, y)
SELECT t.a AS p, u.a AS q FROM t JOIN u ON t.a = u.a GROUP BY p, ROLLUP (q)
SELECT ARRAY(SELECT s.a) FROM t AS s
SELECT ARRAY(SELECT s.a FROM w WHERE w.a < 3 ORDER BY s.a DESC) FROM t AS s
SELECT s.a, ARRAY(SELECT s.a + max(w.a) FROM w) FROM t AS s
SELECT s.a, ARRAY(SELECT max(w.a) FROM w WHERE w.a > s.a), ARRAY(SELECT count(*) FROM nothing) FROM t AS s
