SELECT max(b COLLATE "C"), max(b) FILTER (WHERE (b COLLATE "POSIX") > 'o') FROM t
WITH s AS MATERIALIZED (SELECT * FROM t) SELECT a, (SELECT y FROM w WHERE w.a = s.a) FROM s
WITH s AS NOT MATERIALIZED (SELECT a FROM t) SELECT x.a FROM s x JOIN s y USING (a)
SELECT a, b, count(*) FROM t GROUP BY ALL ROLLUP (a, b), ROLLUP (a)
SELECT a FROM t GROUP BY ALL a
SELECT a FROM t WINDOW o AS (PARTITION BY b ORDER BY g)
SELECT b, count(*) FROM t GROUP BY b WINDOW o AS (ORDER BY count(*))
SELECT g, sum(a) OVER (ORDER BY g, a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE NO OTHERS) FROM t
SELECT E'\101\x42\u0043\U00000044 \303\244 \uD83D\uDE00 \b\f\n\r\t \q\\ \' ; ''x'
SELECT '16777217'::real::int, 16777217::real = 16777216::real, '36854775807.0'::real::bigint FROM t
SELECT 0.1::float(24)::text, 0.1::float(25)::text, 0.1::float::text, CAST(c AS float(53)) FROM t
SELECT g, sum(a) OVER (ORDER BY g, a ROWS BETWEEN 0 PRECEDING AND 1 PRECEDING) FROM t
SELECT g, count(*) OVER (ORDER BY g, a ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING), count(*) OVER (ORDER BY g, a) FROM t
SELECT g, first_value(a) OVER (ORDER BY g, a ROWS BETWEEN 3 FOLLOWING AND 1 FOLLOWING) FROM t
SELECT g, row_number() OVER (ORDER BY g, a ROWS BETWEEN 0 PRECEDING AND 1 PRECEDING) FROM t
SELECT g, lag(a) OVER (ORDER BY g, a ROWS BETWEEN 3 PRECEDING AND 5 PRECEDING) FROM t
SELECT g, count(a) FILTER (WHERE f) OVER (ORDER BY g, a ROWS BETWEEN 0 PRECEDING AND 1 PRECEDING) FROM t
SELECT g, sum(a) OVER (ORDER BY g, a ROWS BETWEEN 0 FOLLOWING AND 1 FOLLOWING) FROM t
SELECT g, sum(a) OVER (ORDER BY g, a ROWS BETWEEN 0 PRECEDING AND 0 FOLLOWING) FROM t
SELECT t.* FROM t JOIN u USING (b)
SELECT u.*, t.* FROM t JOIN u USING (b)
SELECT u.*, t.* FROM t NATURAL JOIN u
SELECT u.*, t.* FROM t RIGHT JOIN u USING (b)
SELECT u.*, t.* FROM t FULL JOIN u USING (b)
SELECT u.*, w.*, t.* FROM t FULL JOIN u USING (b) LEFT JOIN w ON w.a = u.a
SELECT u.*, w.* FROM (t JOIN u USING (b)) JOIN w ON w.a = t.a
SELECT x.* FROM (t JOIN u USING (b)) AS x
SELECT x.b, x.g, x.z FROM (t JOIN u USING (b)) AS x
SELECT * FROM (t FULL JOIN u USING (b)) AS x (k1, k2)
SELECT x.*, w.* FROM (w JOIN (SELECT g, a FROM t) s USING (a)) AS x NATURAL JOIN w
SELECT s.* FROM w JOIN (SELECT g, b, a FROM t) s USING (a)
SELECT * FROM t LEFT JOIN u USING (b, a)
SELECT DISTINCT u.* FROM t JOIN u USING (b) ORDER BY u.x, u.a
SELECT * FROM ((SELECT a AS i1 FROM t) x JOIN u y ON x.i1 = y.a)
SELECT * FROM ((SELECT a AS i1 FROM t) x JOIN u y ON x.i1 = y.a) AS z
SELECT z.i1, z.y FROM (((SELECT a AS i1 FROM t) x JOIN u y ON x.i1 = y.a) JOIN w ON w.a = x.i1) AS z
SELECT x.i1, w.y FROM (((SELECT a AS i1 FROM t) x JOIN u y ON x.i1 = y.a) LEFT JOIN w ON w.a = x.i1) WHERE w.y IS NOT NULL
SELECT a FROM t WHERE a IN (SELECT i1 FROM ((SELECT a AS i1 FROM u) x JOIN w y ON x.i1 = y.a))
SELECT * FROM ((VALUES (1), (2)) v(k) JOIN w ON w.a = v.k)
SELECT * FROM (w JOIN (VALUES (1), (2)) v(k) ON w.a = v.k)
SELECT * FROM ((SELECT 1 AS k) UNION SELECT 2) x CROSS JOIN w
SELECT * FROM w CROSS JOIN ((SELECT 1 AS k) x CROSS JOIN (SELECT 2 AS l) y)
SELECT * FROM ((SELECT a FROM u ORDER BY a NULLS LAST LIMIT 2)) x
SELECT * FROM (SELECT a FROM t) x NATURAL JOIN ((SELECT a, b FROM u) y JOIN (SELECT a AS k FROM w) z ON z.k = y.a)
SELECT (ARRAY((VALUES (1), (2))))[2], (ARRAY(SELECT 5))[1], (ARRAY[7, 8])[2], (ARRAY[(ARRAY[1, 2])[1], 3])[2]
SELECT list[1] FROM (SELECT ARRAY[a] AS list FROM w) AS l
SELECT l.list[1], "array"[2] FROM (SELECT ARRAY[a] AS list, ARRAY[1, a] AS "array" FROM w) AS l
SELECT a, b, count(*) FROM t GROUP BY DISTINCT ROLLUP (a, b), ROLLUP (b, a)
SELECT a, b, count(*) FROM t GROUP BY ROLLUP (a, b), ROLLUP (b, a)
SELECT t.a, x.n FROM t, LATERAL (SELECT count(*) AS n FROM u WHERE u.a > t.a GROUP BY ()) AS x
SELECT t.a, x.y FROM t, LATERAL (SELECT y FROM w WHERE w.a = t.a) AS x
SELECT t.a, x.* FROM t LEFT JOIN LATERAL (SELECT u.b, u.x FROM u WHERE u.a = t.a ORDER BY u.b DESC LIMIT 1) x ON true
SELECT t.a, t.b, x.z FROM t CROSS JOIN LATERAL (SELECT u.a FROM u WHERE u.a > t.a ORDER BY u.a LIMIT 2) AS x(z)
SELECT t.a, x.n, x.m FROM t, LATERAL (SELECT count(*) AS n, max(u.a) AS m FROM u WHERE u.a >= t.a) AS x
SELECT t.a, x.n FROM t LEFT JOIN LATERAL (SELECT count(*) AS n FROM u WHERE u.a = t.a HAVING count(*) > 0) AS x ON x.n < 2
SELECT t.a, x.* FROM t, LATERAL (SELECT u.a, count(*) AS n FROM u WHERE u.a < t.a GROUP BY u.a) AS x
SELECT t.a, x.n FROM t, LATERAL (SELECT DISTINCT length(u.b) AS n FROM u WHERE u.a <= t.a) AS x
SELECT t.a, x.* FROM t, LATERAL (SELECT u.b, row_number() OVER (ORDER BY u.b) AS n FROM u WHERE u.a IN (t.a, 2)) AS x WHERE x.n = 1
SELECT t.a, x.s FROM t, LATERAL (SELECT t.a + 1 AS s) AS x
SELECT t.a, k FROM t, LATERAL generate_series(1, t.a) AS k
SELECT t.a, k FROM t CROSS JOIN LATERAL unnest(ARRAY[t.a, 0]) AS k
SELECT t.a, x.y FROM t, LATERAL (SELECT y FROM w) AS x
SELECT t.a, x.k, y.n FROM t, LATERAL (SELECT t.a * 2 AS k) AS x, LATERAL (SELECT count(*) AS n FROM u WHERE u.a < x.k) AS y
SELECT t.a, x.* FROM t, LATERAL (SELECT a, count(*) FROM u WHERE u.a <= t.g GROUP BY GROUPING SETS (a, (a, b))) AS x
SELECT t.a, x.b FROM t JOIN LATERAL (SELECT DISTINCT ON (u.a) u.a, u.b FROM u WHERE u.a <= t.g ORDER BY u.a, u.b) AS x ON x.a = t.a
SELECT t.a, x.b FROM t LEFT JOIN LATERAL (SELECT b FROM u WHERE u.a = t.a OFFSET 1) AS x ON true WHERE t.f
SELECT a, b, count(*), sum(g) FROM t GROUP BY ROLLUP (a, b)
SELECT a, b, count(*), sum(g), grouping(a), grouping(b, a) FROM t GROUP BY CUBE (a, b)
SELECT a, b, f, count(*) FROM t GROUP BY GROUPING SETS ((a, b), f, (), ROLLUP (f, a))
SELECT a, b, f, count(*) FROM t GROUP BY a, ROLLUP (b, f)
SELECT a + 1 AS k, b, sum(g) FROM t GROUP BY ROLLUP (k, (b, f))
SELECT CASE grouping(b) WHEN 1 THEN 'all' ELSE b END AS x, max(g) FROM t GROUP BY ROLLUP (b) HAVING grouping(b) = 1 OR max(g) > 20
SELECT a, count(*), sum(g), grouping(a) FROM nothing JOIN t USING (a) GROUP BY ROLLUP (a)
SELECT count(*) FROM t GROUP BY ()
SELECT a, grouping(a) FROM t GROUP BY (a)
SELECT a, b, count(*) FROM t GROUP BY ROLLUP (1, 2) ORDER BY grouping(a), a NULLS FIRST, b
SELECT b, sum(g) OVER (PARTITION BY b) FROM (SELECT b, sum(g) AS g FROM t GROUP BY CUBE (b)) AS s
SELECT a, count(*), (SELECT count(*) FROM u WHERE u.a = t.a) FROM t GROUP BY CUBE (a)
SELECT coalesce(b, 'total'), count(DISTINCT a), avg(g) FILTER (WHERE f) FROM t GROUP BY GROUPING SETS ((b), (b), ())
SELECT a, (SELECT y FROM w WHERE w.a = t.a) FROM t
SELECT a, (SELECT max(u.a) FROM u WHERE u.a > t.a) FROM t
SELECT a, (SELECT count(*) FROM u WHERE u.a < t.a OR t.a IS NULL) FROM t
SELECT a, (SELECT count(*) + t.g FROM u WHERE u.a <> t.a) FROM t
SELECT a, (SELECT min(u.a + t.a) FROM u) FROM t
SELECT a, (SELECT t.a + 1) FROM t
SELECT a, (SELECT 'x' FROM w WHERE w.a = t.a AND t.f) FROM t
SELECT a, (SELECT t.b || y FROM w WHERE w.a = t.a) FROM t
SELECT a FROM t WHERE (SELECT count(*) FROM u WHERE u.a >= t.a) > 1
SELECT a, (SELECT (SELECT count(*) FROM w WHERE w.a = u.a + t.a) FROM u WHERE u.a = t.a AND u.b = 'one') FROM t
SELECT a, CASE WHEN a > 1 THEN (SELECT count(*) FROM u WHERE u.b <> t.b) ELSE -1 END FROM t
SELECT a, sum(g), (SELECT count(*) FROM u WHERE u.a > t.a) FROM t GROUP BY a
SELECT a, (SELECT y FROM w WHERE w.a = t.a AND EXISTS (SELECT 1 FROM u WHERE u.a = w.a)) FROM t
SELECT a, ARRAY(SELECT u.b FROM u WHERE u.a = t.a ORDER BY u.b) FROM t
SELECT a, ARRAY(SELECT u.a FROM u WHERE u.a > t.a ORDER BY 1) FROM t
SELECT ARRAY(SELECT a FROM t ORDER BY a), ARRAY(SELECT a FROM nothing), ARRAY(SELECT DISTINCT b FROM t ORDER BY 1)
SELECT ARRAY(SELECT a FROM w UNION ALL SELECT g FROM t ORDER BY 1)
SELECT array_agg(g ORDER BY b, g), array_agg(a ORDER BY g) FILTER (WHERE f), array_agg(a ORDER BY a, g) FROM t
SELECT b, array_agg(g ORDER BY g) FROM t GROUP BY b
SELECT array_agg(a) FROM nothing
SELECT ARRAY[1, 2, NULL], ARRAY['a', b], ARRAY[a, g] FROM t
SELECT ARRAY[1, 2] || 3, 0 || ARRAY[1], ARRAY[1] || ARRAY[2, 3], ARRAY[]::int[] || 1, NULL || ARRAY[1]
SELECT (ARRAY[10, 20, 30])[2], (ARRAY[1])[5], (ARRAY[1])[0], (ARRAY[a, 7])[a] FROM t
SELECT a = ANY (ARRAY[1, 5]), a = ANY (ARRAY[1, NULL]), a <> ALL (ARRAY[1, 5]), a = ANY ('{1,2}'::int[]) FROM t
SELECT b = ANY (ARRAY(SELECT b FROM u)), b <> ALL (ARRAY(SELECT b FROM nothing)) FROM t
SELECT i, s FROM generate_series(1, 2) AS i, upper('x') AS s ORDER BY 1
SELECT array_to_string(ARRAY['a', NULL, 'b'], ','), array_to_string(ARRAY[1, 2], '-'), array_to_string('{}'::text[], ',')
SELECT array_length(ARRAY[1, 2], 1), array_length('{}'::int[], 1), array_upper(ARRAY[1], 1)
SELECT cardinality('{}'::int[]), cardinality(ARRAY[1, NULL])
SELECT array_position(ARRAY['a', 'b'], 'b'), array_position(ARRAY[1], 2), array_remove(ARRAY[1, 2, NULL, 1], 1)
SELECT '{a,"b c",NULL,"q\"u"}'::text[], '{}'::int[], '{ 1 , 2 }'::int[]
SELECT unnest(ARRAY[1, 2, 3])
SELECT a, unnest(ARRAY[a, 9]) FROM t
SELECT unnest(ARRAY[1, 2]), unnest(ARRAY['x']), generate_series(1, 3)
SELECT unnest(ARRAY[a]) + 1 FROM t WHERE a > 1
SELECT generate_series(1, a) FROM t
SELECT DISTINCT unnest(ARRAY[a, 1]) FROM t
SELECT count(*), unnest(ARRAY[1, 2]) FROM t
SELECT * FROM generate_series(timestamp '2013-01-01', '2013-01-02', '6 hours')
SELECT s::text FROM generate_series(timestamptz '2013-01-02 00:00+00', '2013-01-01 12:30+00', interval '-3 hours') s
SELECT generate_series(10, 1, -4), generate_series(1, 3, 5)
SELECT d::date FROM generate_series(timestamp '2013-01-03', timestamp '2013-01-01', interval '1 day') d
SELECT array_lower(ARRAY[3, 4], 1), array_lower('{}'::int[], 1), array_upper(ARRAY[3, 4], 1), array_lower(ARRAY[1], 2)
SELECT b::varchar(2), 'f'::char, b::char(1) = 't', CAST(a AS varchar(1)) FROM t
SELECT count(*) AS select, 1 AS table, 2 AS from, 3 AS order FROM t
SELECT generate_subscripts(ARRAY['x', 'y'], 1), generate_subscripts('{}'::int[], 1)
SELECT * FROM generate_series(2, 4)
SELECT x FROM generate_series(9223372036854775805, 9223372036854775807) x
SELECT * FROM generate_series(7, -7, -5)
SELECT * FROM generate_series(2147483646, 2147483647) UNION ALL SELECT * FROM generate_series(1, 0)
SELECT s, s + 1 FROM generate_series(2, 4) AS s
SELECT g.n FROM generate_series(3, 1) AS g (n)
SELECT t.a, s FROM t, generate_series(1, t.a) s
SELECT t.a, x FROM t CROSS JOIN w, unnest(ARRAY[t.a, w.a]) x
SELECT w.a, s FROM w LEFT JOIN generate_series(1, 2) s ON s = w.a
SELECT a, (SELECT sum(s) FROM generate_series(1, t.a) s) FROM t
SELECT a, (SELECT count(u.b) FROM generate_series(1, t.a) s, u WHERE u.a = s AND u.b < 'p') FROM t
SELECT a, (SELECT u.b FROM u WHERE u.a = t.a ORDER BY u.b DESC LIMIT 1) FROM t
SELECT g, (SELECT u.b FROM u WHERE u.a >= t.a ORDER BY 1 NULLS FIRST OFFSET 1 LIMIT 1) FROM t
SELECT g, (SELECT u.b AS x FROM u WHERE u.a < t.g AND u.b IS NOT NULL ORDER BY x, u.x FETCH FIRST ROW ONLY) FROM t
SELECT a, (SELECT count(*) FROM u WHERE u.a = t.a LIMIT 1), (SELECT u.b FROM u WHERE u.a = t.a LIMIT 0) FROM t
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a LIMIT 1)
SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM w WHERE w.a = t.a ORDER BY 1 LIMIT 2)
SELECT a, EXISTS (SELECT 1 FROM u WHERE u.a = t.a LIMIT 1) FROM t
SELECT t.a, CASE WHEN t.f THEN (SELECT max(u.b) FROM u WHERE u.a > t.a) END FROM t LEFT JOIN u ON u.a = t.a
SELECT a, row_number() OVER (PARTITION BY a ORDER BY g) FROM t
SELECT g, row_number() OVER (ORDER BY g DESC) - 1 FROM t
SELECT a, g, row_number() OVER (PARTITION BY a > 1 ORDER BY b NULLS FIRST, g) FROM t
SELECT * FROM (SELECT g, row_number() OVER (ORDER BY g) AS n FROM t) x WHERE n <= 2
SELECT a, count(*), row_number() OVER (ORDER BY count(*), a) FROM t GROUP BY a
SELECT a, rank() OVER (ORDER BY a), dense_rank() OVER (PARTITION BY f ORDER BY d DESC NULLS LAST), rank() OVER () FROM t
SELECT g, lag(a) OVER (ORDER BY g), lead(b, 2, 'none') OVER (PARTITION BY f ORDER BY g), lag(a, 0) OVER (ORDER BY g) FROM t
SELECT a, first_value(g) OVER (PARTITION BY a % 2 ORDER BY g DESC), g - lag(g, 1, 0.5) OVER (ORDER BY g) FROM t
SELECT a, n - lag(n) OVER (ORDER BY a) FROM (SELECT a, count(*) AS n FROM t GROUP BY a) x
SELECT a, sum(a) OVER (ORDER BY a), count(*) OVER (ORDER BY a), avg(g) OVER (PARTITION BY f ORDER BY a DESC) FROM t
SELECT g, sum(c) OVER (), count(b) OVER (PARTITION BY f), min(b) OVER (ORDER BY g), max(d) OVER (ORDER BY g DESC) FROM t
SELECT g, sum(d) OVER (ORDER BY g), sum(d) OVER (PARTITION BY f), avg(d) OVER (ORDER BY g, a ROWS 1 PRECEDING) FROM t
SELECT g, sum(a) OVER (ORDER BY g, a rows between 1 preceding and 1 following), stddev(a) OVER (ORDER BY g) FROM t
SELECT g, count(*) OVER (ORDER BY g, a ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM t
SELECT g, sum(a) OVER (ORDER BY g, a ROWS 0 PRECEDING) FROM t
SELECT g, sum(a) OVER (ORDER BY g, a ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM t
SELECT g, count(*) OVER (ORDER BY g, a ROWS UNBOUNDED PRECEDING) FROM t
SELECT a, sum(g) OVER (ORDER BY a RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t
SELECT g, last_value(g) OVER (ORDER BY g), last_value(b) OVER (ORDER BY g, a ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM t
SELECT g, last_value(b) OVER (PARTITION BY f ORDER BY g RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM t
SELECT g, first_value(g) OVER (ORDER BY g, a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), ntile(3) OVER (ORDER BY g) FROM t
SELECT g, percent_rank() OVER (ORDER BY a), cume_dist() OVER (PARTITION BY f ORDER BY a) FROM t
SELECT g, count(*) FILTER (WHERE a > 1) OVER (ORDER BY g), sum(a) FILTER (WHERE f) OVER (), bool_or(f) OVER (ORDER BY g) FROM t
SELECT a, count(*), sum(count(*)) OVER (ORDER BY a), count(*) * 1.0 / sum(count(*)) OVER () FROM t GROUP BY a
SELECT g, sum(a) OVER w, rank() OVER w, sum(a) OVER (w ROWS 1 PRECEDING) FROM t WINDOW w AS (PARTITION BY f ORDER BY g)
SELECT sum(a) OVER (v ORDER BY g) FROM t WINDOW w AS (PARTITION BY f), v AS (w)
SELECT b ~ 'o', b ~ '^t', b !~ 'o', b ~* 'FIVE', b !~* '^f' FROM t
SELECT b OPERATOR(pg_catalog.~) '^(one|two)$' COLLATE pg_catalog.default FROM t
SELECT b LIKE '/%%' ESCAPE '/', b NOT LIKE 't/_%' ESCAPE '/', b LIKE 't' || '%' ESCAPE '/' FROM t
SELECT 'int4'::regtype::oid, 'numeric(3,2)'::regtype::oid, 'varchar'::regtype::oid, 'timestamp with time zone'::regtype::oid
SELECT to_regtype('int8')::oid, to_regtype('nowhere')::oid, to_regclass('nowhere')::oid
SELECT quote_ident('plain'), quote_ident('Not plain'), pg_size_pretty(100::bigint), pg_size_pretty(20000::bigint)
SELECT * FROM t
SELECT t.*, u.x FROM t, u WHERE t.a = u.a
SELECT a + 1, a * 2.5, a - g, g / 3, g % 7, -a, a / 2.0, c / 2, d * d, d + 1, d / 3 FROM t
SELECT 7 / 2, -7 / 2, 7 % 3, -7 % 3, 2 ^ 3, 1.5 + 1, 1 + 1.25 * 2, 10 / 4.0
SELECT a FROM t WHERE a > 1 AND c < 5 OR b = 'none'
SELECT a FROM t WHERE NOT (a > 1)
SELECT a FROM t WHERE NOT a = 1 AND b <> 'two'
SELECT a, a IS NULL, a IS NOT NULL, f IS TRUE, f IS NOT TRUE, f IS FALSE, f IS NOT FALSE, f IS UNKNOWN FROM t
SELECT a, a IS DISTINCT FROM 2, a IS NOT DISTINCT FROM NULL, b IS DISTINCT FROM 'two' FROM t
SELECT a = 1 IS NULL, NOT f IS NULL FROM t
SELECT b || '!' || a, b || b LIKE '%oo%', 'x' || NULL, 1 || 'x' FROM t
SELECT b LIKE '%o%', b NOT LIKE 't%', b ILIKE 'F_VE', b LIKE '%o%' IS NULL, 'a%b' LIKE 'a\%b' FROM t
SELECT a BETWEEN 1 AND 2, a NOT BETWEEN 2 AND 3, d BETWEEN -1 AND 8.5 FROM t
SELECT a IN (1, 2, NULL), a NOT IN (1, 5), a IN (1.0, 2.5), b IN ('one', 'two'), a NOT IN (1, NULL) FROM t
SELECT CASE WHEN a > 2 THEN 'big' WHEN a > 0 THEN 'small' END, CASE a WHEN 1 THEN 1.5 WHEN 2 THEN 2 ELSE NULL END FROM t
SELECT COALESCE(a, 0), COALESCE(NULL, b, 'x'), COALESCE(a, 1.5), NULLIF(a, 2), NULLIF(b, 'one') FROM t
SELECT GREATEST(a, 2, NULL), LEAST(a, g), GREATEST(1, 2.5) FROM t
SELECT a::text, '12'::int, CAST(d AS int), c::int, a::numeric(10, 1), d::double precision, f::int, 'true'::boolean FROM t
SELECT (2.5)::int, (-2.5)::int, (2.5::double precision)::int, (3.5::double precision)::int, 1.005::numeric(5, 2)
SELECT CAST('2013-01-05' AS date), DATE '2013-01-05', TIMESTAMP '2013-01-05 10:00', '2013-01-01 05:30'::timestamp = e FROM t
SELECT e FROM t WHERE e >= '2013-01-01' AND e < DATE '2013-02-28' + INTERVAL '1 day'
SELECT extract(year FROM e), extract(month FROM e), extract(day FROM e), extract(hour FROM e), extract(dow FROM e) FROM t
SELECT to_char(e, 'YYYY-MM-DD HH24:MI:SS.MS US'), to_char(z, 'FMMonth FMDD, YY HH12 am "at" Q'), to_char(x, 'Day DY Mon') FROM t, u
SELECT to_char(x, 'IYYY-"W"IW-ID DDD D'), to_char(x, 'month MONTH|FMDay|dy') FROM u
SELECT b, string_to_array(b, 'o'), string_to_array(b, ''), string_to_array(b, NULL) FROM t
SELECT string_to_array('', ','), string_to_array('a.b', '.'), array_length(string_to_array('a,b,', ','), 1)
SELECT 5 * INTERVAL '1 second', INTERVAL '2 hours' * a, e + g * INTERVAL '1 minute' FROM t
SELECT e AT TIME ZONE 'America/New_York', z AT TIME ZONE 'europe/berlin', timezone('UTC', z) FROM t FULL JOIN u ON t.a = u.a
SELECT '2024-10-27 02:30'::timestamp AT TIME ZONE 'Europe/Berlin', '2024-03-31 02:30'::timestamp AT TIME ZONE 'Europe/Berlin'
SELECT '2024-11-03 01:30'::timestamp AT TIME ZONE 'America/New_York' AT TIME ZONE 'Asia/Kolkata' + INTERVAL '1 hour'
SELECT date_trunc('day', '2024-07-01 23:30+00'::timestamptz AT TIME ZONE 'Australia/Lord_Howe') AT TIME ZONE 'Australia/Lord_Howe'
SELECT date_trunc('month', e), date_trunc('hour', e), date_trunc('day', z) FROM t FULL JOIN u ON t.a = u.a
SELECT x + 1, x - DATE '2013-01-01', x + INTERVAL '36 hours', e - INTERVAL '1 hour' FROM t JOIN u USING (a)
SELECT upper(b), lower(b), length(b), substring(b FROM 2 FOR 2), substring(b, 2), trim(BOTH 'o' FROM b), position('o' IN b) AS place FROM t
SELECT concat(a, b, NULL, 'x'), concat(NULL), replace(b, 'o', '0'), round(d), round(d, 1), abs(c) FROM t
SELECT count(*), count(a), count(DISTINCT a), sum(a), sum(g), sum(d), min(b), max(a), min(c) FROM t
SELECT count(*), sum(a), max(b) FROM nothing
SELECT a, count(*) FROM nothing GROUP BY a
SELECT avg(a), avg(c), avg(d) FROM t
SELECT a, count(*), sum(c) FROM t GROUP BY a
SELECT a % 2 AS parity, count(*) FROM t GROUP BY parity
SELECT a % 2, count(*) FROM t GROUP BY 1 HAVING count(*) > 1
SELECT b, sum(a) + 1 FROM t GROUP BY b HAVING max(a) IS NOT NULL ORDER BY b
SELECT count(*) FILTER (WHERE a > 1), sum(a) FILTER (WHERE f) FROM t
SELECT bool_and(f), bool_or(f), string_agg(b, ',') FILTER (WHERE a = 1) FROM t
SELECT a + 1 FROM t GROUP BY a + 1
SELECT t.a, u.b, count(*) FROM t JOIN u ON t.a = u.a GROUP BY t.a, u.b
SELECT DISTINCT a, b FROM t
SELECT DISTINCT a FROM t ORDER BY a
SELECT DISTINCT ON (a) a, b, g FROM t ORDER BY a, g DESC
SELECT a, g FROM t ORDER BY a DESC, g
SELECT a, g FROM t ORDER BY a NULLS FIRST, g DESC LIMIT 3
SELECT a AS x, -g AS y FROM t ORDER BY y, x LIMIT 2 OFFSET 1
SELECT b FROM t ORDER BY a, g, b OFFSET 4
SELECT a FROM t ORDER BY c + 1 NULLS LAST, a LIMIT 3
SELECT a, b FROM t JOIN u USING (a, b)
SELECT * FROM t JOIN w USING (a)
SELECT * FROM w LEFT JOIN u USING (a)
SELECT * FROM w RIGHT JOIN u USING (a)
SELECT * FROM w FULL JOIN u USING (a)
SELECT w.a, u.a, a FROM w FULL JOIN u USING (a)
SELECT * FROM w NATURAL JOIN u
SELECT t.a, u.a FROM t LEFT JOIN u ON t.a = u.a AND u.b <> 'deux'
SELECT t.a, u.a FROM t LEFT JOIN u ON t.a = u.a AND t.g > 10
SELECT t.a, u.a FROM t LEFT JOIN u ON t.a = u.a WHERE u.a IS NULL
SELECT t.a, u.a FROM t RIGHT JOIN u ON t.a = u.a WHERE u.b = 'one' OR t.a IS NULL
SELECT t.a, u.a FROM t FULL JOIN u ON t.a = u.a AND t.g = 20
SELECT t.g, u.b FROM t JOIN u ON t.a < u.a
SELECT t.g, w.y FROM t CROSS JOIN w WHERE t.a = w.a AND w.y = 'q'
SELECT t.g, u.b, w.y FROM t, u, w WHERE t.a = u.a AND w.a = u.a
SELECT w.a, t.g, u.b FROM w, t LEFT JOIN u ON t.a = u.a WHERE w.a = t.a
SELECT w.y, t.g, u.b FROM w, nothing n RIGHT JOIN u ON n.a = u.a JOIN t ON t.a = u.a
SELECT t.g FROM t JOIN (u JOIN w ON u.a = w.a) ON t.a = w.a
SELECT t.g FROM t JOIN u JOIN w ON u.a = w.a ON t.a = w.a
SELECT s.n, s.m FROM (SELECT a AS n, max(g) AS m FROM t GROUP BY a) AS s WHERE s.m > 15
SELECT p, q FROM (SELECT a, b FROM t) AS s (p, q) WHERE p = 2
SELECT count(*) FROM (SELECT a FROM t ORDER BY g LIMIT 3) AS s
SELECT x.a, y.a FROM t x JOIN t y ON x.a = y.a WHERE x.g < y.g
WITH s AS (SELECT a, count(*) AS n FROM t GROUP BY a), r (k) AS (SELECT a FROM s WHERE n > 1) SELECT t.b, k FROM t JOIN r ON t.a = k
WITH t AS (SELECT 1 AS a) SELECT a FROM t UNION ALL (WITH t AS (SELECT 2 AS a) SELECT a FROM t)
SELECT a FROM t UNION SELECT a FROM u
SELECT a, b FROM t UNION ALL SELECT a, b FROM u
SELECT a FROM t EXCEPT SELECT a FROM u
SELECT a FROM t EXCEPT ALL SELECT a FROM u
SELECT a FROM t INTERSECT SELECT a FROM u
SELECT a FROM t INTERSECT ALL SELECT a FROM u
SELECT a FROM t UNION SELECT a FROM u INTERSECT SELECT a FROM w
SELECT a FROM t UNION ALL SELECT 1.5 ORDER BY a LIMIT 3
SELECT NULL UNION SELECT 1 UNION ALL SELECT NULL
(SELECT a FROM t ORDER BY g LIMIT 2) UNION ALL (SELECT a FROM u ORDER BY b LIMIT 1)
VALUES (1, 'a'), (2, NULL), (NULL, 'c')
SELECT k, v FROM (VALUES (1, 1.5), (2, 2)) AS s (k, v) WHERE k > 1
SELECT a FROM t WHERE a IN (SELECT a FROM u)
SELECT a FROM t WHERE a NOT IN (SELECT a FROM u)
SELECT a FROM t WHERE a NOT IN (SELECT a FROM u WHERE a IS NOT NULL)
SELECT a FROM t WHERE a NOT IN (SELECT a FROM nothing)
SELECT a FROM w WHERE a NOT IN (SELECT a FROM t WHERE a IS NOT NULL)
SELECT a FROM t WHERE (a, b) IN (SELECT a, b FROM u)
SELECT a FROM t WHERE (a, b) NOT IN (SELECT a, b FROM u)
SELECT a FROM t WHERE (a, b) NOT IN (SELECT a, b FROM u WHERE a = 1)
SELECT a FROM t WHERE NOT (a IN (SELECT a FROM w)) AND g > 10
SELECT a IN (SELECT a FROM u), a NOT IN (SELECT a FROM w), a IN (SELECT a FROM nothing) FROM t
SELECT a FROM t WHERE a IN (SELECT a FROM w) OR b = 'none'
SELECT a FROM t WHERE a = ANY (SELECT a FROM w)
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)
SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.b <> t.b)
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a > t.a)
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM nothing) OR a = 1
SELECT a, EXISTS (SELECT 1 FROM u WHERE u.a = t.a), NOT EXISTS (SELECT 1 FROM nothing) FROM t
SELECT a FROM t WHERE a IN (SELECT u.a FROM u WHERE u.b = t.b)
SELECT a FROM t WHERE a NOT IN (SELECT u.a FROM u WHERE u.b = t.b)
SELECT a, (SELECT count(*) FROM u WHERE u.a = t.a), (SELECT max(u.b) FROM u WHERE u.a = t.a) FROM t
SELECT a, (SELECT count(*) + 1 FROM u WHERE u.a = t.a AND u.x IS NOT NULL) * 2 FROM t
SELECT a, (SELECT max(a) FROM u), (SELECT a FROM nothing), (SELECT b FROM t ORDER BY g LIMIT 1) FROM t
SELECT a FROM t WHERE g > (SELECT avg(g) FROM t)
SELECT a FROM t WHERE g < (SELECT 0.9 * avg(g) FROM t)
SELECT a FROM t WHERE g = (SELECT max(x.g) FROM t x WHERE x.a = t.a)
SELECT a, sum(g) / (SELECT count(*) FROM u WHERE u.a = t.a) FROM t WHERE a IN (1, 2) GROUP BY a
SELECT a, count(*) FROM t GROUP BY a HAVING count(*) > (SELECT count(*) FROM nothing) + 1
SELECT (SELECT y FROM w WHERE w.a = 1)
SELECT x, count(*) FROM (SELECT (SELECT max(y) FROM w WHERE w.a = t.a) AS x FROM t) AS s GROUP BY x
SELECT a FROM t WHERE b > 'n' AND a > 0 AND 10 / a > 3
SELECT s.q FROM (SELECT a, 10 / a AS q FROM t WHERE a <> 0) AS s WHERE s.a = 2
SELECT s.a FROM (SELECT a, count(*) AS n FROM t GROUP BY a) AS s WHERE s.a = 2 AND n = 2
SELECT s.a FROM (SELECT DISTINCT ON (a) a, g FROM t ORDER BY a, g) AS s WHERE s.g > 10
SELECT s.a FROM (SELECT a FROM t UNION ALL SELECT a FROM u) AS s WHERE s.a > 1
SELECT s.a FROM (SELECT a FROM t EXCEPT SELECT a FROM w) AS s WHERE s.a > 1
SELECT count(*) FROM t WHERE 1 = 2
SELECT count(*) FROM t HAVING count(*) > 100
SELECT 1 HAVING true
SELECT "A"."a" FROM t AS "A" WHERE "A".a = 1
SELECT T.A FROM T
SELECT count(*) FROM t, u
TABLE w
SELECT a FROM t WHERE f
SELECT '1' = 1, 1 = 1.0, 'a' < 'b', true > false, 1e2 = 100, 0.1 + 0.2 = 0.3
SELECT e > x, z > '2013-01-02', x = '2013-01-01' FROM t JOIN u ON t.a = u.a
SELECT sum(a * 1.5), avg(g) - min(g) FROM t
SELECT sum(c::real), avg(c::real), min(c::real), stddev(c::real), sum(c), stddev(c), stddev(a), var_pop(d), variance(g) FROM t
SELECT date_trunc('month', x), date_trunc('day', z), date_trunc('hour', x::timestamp) FROM u
SELECT concat(0.5, 'x%'), concat(true), concat_ws('-', f, d, NULL, 1), 0.5::text, (-0.25)::text, 'is ' || f, format('%s', f) FROM t
SELECT '0.2'::numeric, '1.2e-20'::numeric * 1e15, 0.1::float8::numeric, (1::float8 / 3)::numeric, 1.1::real::numeric
SELECT -12345678901234567890.123456789012345678 + 12345678901234567890, 0.1234567891234 * 1e10, d * d * d * d FROM t
SELECT d * 0.12345678901 * 0.12345678901, round(d / 3, 12), round(d, 4) FROM t
SELECT 'Infinity'::float8 * 2, 'Infinity'::float8 - 'Infinity'::float8, c * 1e300, 1e308::float8 / 10, c < 1e100 FROM t
SELECT a, a FROM t ORDER BY 1, 2
SELECT max(a) FROM t WHERE a IS NOT NULL AND NOT f
SELECT DISTINCT ON (a) a, generate_series(1, 2) AS n FROM t ORDER BY a
SELECT DISTINCT ON (a) a, generate_series(1, 2) AS n FROM t
SELECT DISTINCT ON (a) generate_series(1, 2) AS n, b FROM t ORDER BY a, b
SELECT DISTINCT ON (a) a, unnest(ARRAY[a, g]) FROM t ORDER BY a LIMIT 2
SELECT DISTINCT ON (a) generate_series(1, a) + g AS n, sum(g) OVER (PARTITION BY b) FROM t ORDER BY a, g DESC
SELECT DISTINCT ON (n) generate_series(1, 2) AS n, generate_series(1, 3) AS k, a FROM t ORDER BY n, k, a
SELECT DISTINCT ON (b) b, count(*), generate_series(1, count(*)::int) FROM t GROUP BY b, f ORDER BY b, f
SELECT t.a, s.* FROM t, LATERAL (SELECT DISTINCT ON (u.a) u.b, generate_series(1, t.a) AS n FROM u WHERE u.a = t.a ORDER BY u.a, u.b) s
SELECT power(-8, 2), power(-8, -3), power(0, 0), power(2, 0.5::float8), power(0::float8, 'inf'::float8), power(1, '-inf')
SELECT power(2, '-inf'), power('inf', '-inf'), power(-2, 'inf'), power(-1, '-inf'), power('nan', 0), power(1, 'nan'), power('-inf', 3)
SELECT to_char(e, 'SSSS'), to_char(e, 'SSSSS SS'), to_char(e, 'HH24:MI:SSSS'), to_char(timestamp '1969-12-31 23:59:59.5', 'SSSS') FROM t
SELECT extract(epoch FROM INTERVAL '1 day -0.27 seconds'), extract(epoch FROM INTERVAL '1 day -0.27'), extract(epoch FROM INTERVAL '1 day ago')
SELECT extract(epoch FROM INTERVAL '1 day -00:00:00.27'), extract(epoch FROM INTERVAL '-1 day +02:03'), extract(epoch FROM INTERVAL '1 2:03:04')
SELECT extract(epoch FROM INTERVAL '-1 -2:03:04'), extract(epoch FROM INTERVAL '@ 1 minute'), extract(epoch FROM INTERVAL '1:30')
SELECT extract(epoch FROM INTERVAL '0.5'), extract(epoch FROM INTERVAL '@ 2 days 3 hours ago'), extract(epoch FROM INTERVAL '90')
SELECT * FROM unnest(ARRAY['x', 'y']) WITH ORDINALITY
SELECT * FROM unnest(ARRAY['x', 'y']) WITH ORDINALITY AS v (x, n) WHERE n > 1
SELECT a, k, n FROM t, generate_series(1, a) WITH ORDINALITY AS s (k, n)
SELECT a, s.* FROM t CROSS JOIN LATERAL unnest(ARRAY[g, a]) WITH ORDINALITY AS s (k, n)
SELECT * FROM unnest('{}'::int[]) WITH ORDINALITY AS s
SELECT * FROM generate_series(5, 7) WITH ORDINALITY AS s
SELECT * FROM generate_series(5, 7) WITH ORDINALITY AS s (k)
SELECT s.a, k FROM t AS s CROSS JOIN unnest(ARRAY[a, g]) AS k
SELECT s.a, k, y FROM t AS s CROSS JOIN unnest(ARRAY[a, g]) AS k JOIN w ON w.a = k
SELECT t.a, k FROM t JOIN generate_series(1, 3) AS k ON k = t.a
SELECT t.a, n, o FROM t JOIN generate_series(1, t.a) WITH ORDINALITY AS k (n, o) ON n > 1
SELECT t.a, n FROM u, t INNER JOIN generate_series(1, 2) AS n ON n = t.a WHERE u.a = t.a
SELECT t.a, n FROM t LEFT JOIN generate_series(1, 2) AS n ON n = t.a
SELECT array_to_string(ARRAY[b, 'x', NULL], b), array_to_string(ARRAY[a], b), array_to_string(ARRAY[b], ',') FROM t
SELECT any_value(b), any_value(f), any_value(x) FROM t JOIN u USING (a, b)
SELECT any_value(b) FROM t WHERE a = 1
SELECT bit_and(a), bit_or(a), bit_xor(a), bit_and(g), bit_or(g) FILTER (WHERE f), bit_xor(DISTINCT g), bit_and(a::smallint) FROM t
SELECT f, bit_or(g) OVER (PARTITION BY f ORDER BY g) FROM t
SELECT bit_and(a) FROM nothing
SELECT string_agg(b, ',' ORDER BY g DESC) FROM t
SELECT array_agg(b ORDER BY g DESC), array_agg(a ORDER BY a NULLS FIRST, g DESC), array_agg(a ORDER BY c DESC NULLS LAST, g) FROM t
SELECT sum(a ORDER BY g DESC), count(a ORDER BY b), max(b ORDER BY a) FROM t
SELECT count(DISTINCT a ORDER BY a DESC), array_agg(DISTINCT a ORDER BY a DESC), array_agg(DISTINCT b ORDER BY b NULLS FIRST), string_agg(DISTINCT b, ',' ORDER BY b DESC) FROM t
SELECT string_agg(b, ', ' ORDER BY a NULLS FIRST, g DESC) FILTER (WHERE g > 10), string_agg(b, NULL ORDER BY g) FROM t
SELECT string_agg(b, ',' ORDER BY lower(b) DESC, 1) FROM t
SELECT f, string_agg(b, ';' ORDER BY g DESC), array_agg(g ORDER BY a DESC, g) FROM t GROUP BY f
SELECT ARRAY(SELECT a FROM t ORDER BY a DESC), ARRAY(SELECT a FROM t ORDER BY a NULLS FIRST), ARRAY(SELECT a FROM w UNION ALL SELECT g FROM t ORDER BY 1 DESC)
SELECT a, ARRAY(SELECT u.b FROM u WHERE u.a = t.a ORDER BY u.b DESC) FROM t
SELECT corr(c, g), regr_count(c, g), regr_avgx(c, g), regr_avgy(c, g), regr_slope(c, g), regr_intercept(c, g), regr_r2(c, g), regr_sxx(c, g), regr_syy(c, g), regr_sxy(c, g), covar_pop(c, g), covar_samp(c, g) FROM t
SELECT f, corr(d, a), covar_samp(a, g) FILTER (WHERE a > 1), regr_slope(g, a), regr_r2(a, g), regr_count(a, c) FROM t GROUP BY f
SELECT corr(a, a), regr_count(a, a), covar_pop(a, a), regr_avgx(a, a) FROM nothing
SELECT covar_pop(DISTINCT a, a), corr(c, 'NaN'::float8), regr_avgx(c, 'Infinity'::float8) FROM t
SELECT a, regr_slope(c, g) OVER (PARTITION BY f), corr(g, a) OVER () FROM t
SELECT ascii(b), ascii(''), ascii('é'), ascii('x'), chr(65), chr(233), chr(128512), chr(a + 64) FROM t
SELECT initcap('hello wORLD-x1y 2nd o''neil'), initcap(b), initcap('') FROM t
SELECT translate('12345', '143', 'ax'), translate('aab', 'aa', 'xy'), translate(b, 'one', 'ONE'), translate('abc', 'abc', '') FROM t
SELECT overlay('Txxxxas' PLACING 'hom' FROM 2 FOR 4), overlay('abcdef' PLACING 'zz' FROM 2), overlay('abc', 'xyz', 3, 0), overlay(b PLACING '_' FROM 2 FOR 1) FROM t
SELECT to_hex(a), to_hex(g), to_hex(255), to_hex(-1), to_hex((-1)::bigint), to_hex(0) FROM t
SELECT encode('\x00ff10'::bytea, 'hex'), encode('abc'::bytea, 'base64'), encode('Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor'::bytea, 'base64')
SELECT encode(sha256('abc'::bytea), 'hex'), encode(sha256(''::bytea), 'hex')
SELECT sin(c), cos(c), tan(c), atan(c), sinh(c), cosh(c), tanh(c), asinh(c), degrees(c), radians(c), atan2(c, 2) FROM t
SELECT asin(0.5), acos(-0.5), acosh(2), atanh(0.5), cot(1), cot(0), pi(), log(100), log10(0.001::float8)
SELECT a # 3, 5 # 1, g # 7 FROM t
SELECT a BETWEEN SYMMETRIC 3 AND 1, a NOT BETWEEN SYMMETRIC 5 AND 2, a BETWEEN SYMMETRIC NULL AND 2 FROM t
SELECT a > ANY (ARRAY[2, 4]), a < ALL (ARRAY[4, 3]), a = ALL (ARRAY[2, 2]), a <> ANY (ARRAY[1, 2]), a >= ALL (ARRAY[1, NULL]) FROM t
SELECT b LIKE ANY (ARRAY['t%', 'o%']), b NOT LIKE ALL (ARRAY['t%', 'x%']) FROM t
SELECT U&'d\0061t\+000061', u&'d!0061t!+000061 \0061' UESCAPE '!', U&'\D83D\DE00 ''x'' \\', U&'a' || 'b', U&'!!' UESCAPE '!'
SELECT b, a::text::smallint, (' ' || a::text || ' ')::bigint, (CASE WHEN a > 1 THEN a::text END)::int, ('+' || g::text)::int FROM t WHERE a >= 0 AND g >= 0
SELECT 1.5 + '22.25', 1.5 < '1.55', mod(5.5, '2.25'), greatest(1.5, '22.25'), nullif(1.5, '1.55')
SELECT d + '0.125', d * '0.5', d < '10.255', d = '10.25', coalesce(d, '0.125'), CASE WHEN f THEN d ELSE '22.255' END FROM t
SELECT d FROM t UNION ALL SELECT '2.255'
SELECT x FROM (VALUES (1.5), ('22.25')) v(x)
SELECT array_agg(x), sum(x) FROM (VALUES (1.5), ('22.25'), (NULL)) v(x)
SELECT d IN ('10.255', '10.25'), d IN ('10.250'), lag(d, 1, '0.125') OVER (ORDER BY g) FROM t
SELECT a % -1, (-32768)::smallint % (-1)::smallint, g % (a - 4) FROM t
SELECT x % y FROM (VALUES (-2147483648, -1), (-9223372036854775808, 7), (5, -3)) v(x, y)
SELECT x / y FROM (VALUES ('NaN'::double precision, 0::double precision), (1, 2)) v(x, y)
SELECT sum(1 / (a - 1)) FILTER (WHERE a <> 1), count(1 / (a - 2)) FILTER (WHERE a <> 2), max(10 / c) FILTER (WHERE c > 0) FROM t
SELECT b, array_agg(1 / (a - 1) ORDER BY g) FILTER (WHERE a > 1) FROM t GROUP BY b
SELECT coalesce(x, 0), coalesce(x, 1.5), greatest(x, 1), CASE WHEN x > 1 THEN 1 ELSE x END, nullif(x, 0), ARRAY[x, 1] FROM (VALUES (0.5::real), (2.5)) v(x)
SELECT 0.5::real UNION ALL SELECT 1 UNION ALL SELECT 1.5
SELECT 0.1::real = 0.1, 0.1::real + 1, 0.1::real IN (0.1), 0.1::real IN (0.1, 0.2), lag(0.1::real, 1, 0) OVER ()
SELECT x FROM (VALUES (1)) a(x) LEFT JOIN (VALUES (1::bigint)) b(x) USING (x)
SELECT x, a.x, b.x FROM (VALUES (1)) a(x) JOIN (VALUES (1.5), (1.0)) b(x) USING (x)
SELECT x, a.x, b.x FROM (VALUES (1)) a(x) RIGHT JOIN (VALUES (1.5::real), (1)) b(x) USING (x)
SELECT x, y FROM (VALUES (1, 2), (2, 3)) a(x, y) NATURAL FULL JOIN (VALUES (1::bigint, 5), (7, 3)) b(x, z)
SELECT sqrt(d + 1), ln(d + 1), log(d + 1), exp(d), d ^ 2, power(d, 3), (d + 1) ^ 0.5 FROM t
SELECT round(sqrt(2.0), 5), 2 ^ 0.5, 2 ^ 3, sqrt(2), sqrt(2::real), ln(2.0), exp(1.0), exp(1), 10.0 ^ 15, 7.0 ^ -2, (-8.0) ^ 3, 0.0 ^ 0
SELECT stddev(x::numeric), var_pop(x::numeric) FROM (VALUES (1.5::real), (2.5)) v(x)
SELECT extract(quarter FROM interval '14 months ago'), extract(quarter FROM interval '21 months ago'), extract(quarter FROM interval '1 year ago'), extract(epoch FROM interval '1000000000 days')
SELECT string_agg('a', ','), string_agg('a', ',' ORDER BY 1), array_agg(1), array_agg(DISTINCT 'x'::text ORDER BY 'x'::text) FROM t
SELECT any_value(b ORDER BY g DESC), any_value(b ORDER BY g) FILTER (WHERE g > 20), any_value(e ORDER BY g DESC) FROM t
SELECT -2147483648, -9223372036854775808, -(2147483648), -9223372036854775809, -0.0, -(0), 5 - -3
SELECT generate_series(1, generate_series(1, 3)), generate_series(2, 4)
SELECT CASE WHEN f THEN 1 ELSE a END, CASE a WHEN 1 THEN 2 ELSE g::integer END, CASE WHEN f THEN 1::bigint END, 'x'::text, 5::bigint, 1::real, (a::bigint)::text, (SELECT 1::bigint)::integer, interval '1 day', true::text, e AT TIME ZONE 'UTC', max(a) FILTER (WHERE f)::bigint FROM t GROUP BY 1, 2, a, e, f, g
SELECT repeat('x', 70)::name = repeat('x', 63), length((b || repeat('y', 99))::name) FROM t
SELECT a, repeat(b, 30)::name::text, octet_length((repeat(b, 21) || 'äöü😀')::name), repeat('é', 32)::name::text FROM t
SELECT a, substring(b from 'o'), substring(b, 'n(.)'), substring(b from '(x)|n'), substring(b from 2), substring(b from '2'::int) FROM t
SELECT ARRAY[1, '2', 3.5]::numeric[], ARRAY['1', '2']::bigint[], ARRAY[1, 'NaN']::float8[], ARRAY['2020-01-01', NULL]::date[]
SELECT a, ARRAY[a, g]::text[], ARRAY[b, 'x']::text[] FROM t
SELECT a, extract(year FROM x), extract(epoch FROM x)::text, date_part('hour', x) FROM u
SELECT n, json_build_object('a', '{"b": [1, 2]}'::jsonb, 'm', n, 'f', n > 2, 'k', ARRAY[n, 1])::jsonb::text FROM amounts
SELECT v::float8, v::real FROM (VALUES ('inf'), ('-INFINITY'), ('nan'), ('+Inf')) x (v)
SELECT a, a <> 2 AND 10 / (a - 2) > 0 AS both, a = 2 OR 10 / (a - 2) > 3 OR 1 / (a - 2) = 0 AS either FROM t
SELECT a FROM t WHERE NOT (a = 2 OR 10 / (a - 2) < 0)
SELECT b, count(*) FILTER (WHERE a <> 2 AND 10 / (a - 2) > 0) AS n FROM t GROUP BY b HAVING NOT bool_or(a = 2 OR 10 / (a - 2) > 100)
SELECT (f OR NULL) AND 10 / g > 0 AS x, (NOT f AND NULL) OR 100 / g > 2 AS y, NULL AND 100 / g > 5 AS z FROM t
SELECT a FROM t WHERE a <> 2 AND (SELECT max(w.a / (t.a - 2)) FROM w) > 1
SELECT t.a, w.a AS k FROM t LEFT JOIN w ON NOT (t.a = 2 OR 10 / (t.a - 2) = w.a)
SELECT g, CASE WHEN g > 1000 THEN (SELECT 10 / count(*) FROM nothing) END AS x, coalesce(g, (SELECT 10 / count(*) FROM nothing)) AS y FROM t
SELECT a, (SELECT 10 / count(*) FROM w) AS x, (SELECT 100 / max(w.a) + 1 FROM w) AS y FROM t WHERE a > (SELECT 10 / count(*) - 2 FROM w)
SELECT t.a FROM t JOIN w ON t.a = w.a WHERE 10 / (t.a - 2) > -100 AND t.a <> 2
SELECT t.a FROM t LEFT JOIN (SELECT a FROM w WHERE a <> 1) x ON t.a = x.a WHERE t.a <> 2 AND 10 / (t.a - 2) > -100 AND coalesce(10 / (x.a - 1), 1) > -100
SELECT x.a FROM t x, t y, w WHERE x.a = y.a AND y.a = w.a AND x.a <> 2 AND y.a <> 1 AND 10 / (x.a - 2) > -100 AND 10 / (y.a - 1) > -100 AND 10 / ((x.a - 2) * (y.a - 1)) > -100
SELECT g::oid, (10 - g::int)::oid FROM t
SELECT ARRAY(VALUES (1), (2)), a, ARRAY(VALUES (a), (7)) FROM w
SELECT * FROM (VALUES (1) UNION VALUES (2)) AS v
SELECT v.column1, w.column1 FROM (VALUES (1)) AS v LEFT JOIN (VALUES (1) UNION VALUES (2)) AS w ON v.column1 = w.column1
SELECT * FROM (VALUES (1, 2) UNION ALL SELECT a, a FROM t LIMIT 2) AS v WHERE false
SELECT 1 = SOME (ARRAY[1, 2]), 1 < SOME (VALUES (0), (2)), 3 = SOME (SELECT a FROM t)
SELECT quote_nullable(a), quote_literal(f), quote_nullable(NULL::integer), quote_literal(c), quote_nullable(e) FROM t
SELECT substring(b FOR 2 FROM 2), substring(b FROM 2 FOR 1), substring(b FOR 2), substring(b FROM 2) FROM t
SELECT quote_ident('order'), quote_ident('plain'), quote_ident('user'), quote_ident('Upper'), quote_ident('int'), quote_ident('name'), format('%I', 'select')
SELECT a FROM t ORDER BY g LIMIT (1 + 1) OFFSET 2 - 1
SELECT a FROM t ORDER BY g FETCH FIRST (1 + 1) ROWS ONLY
SELECT 'a' LIKE 'a' ESCAPE NULL, b LIKE 'o%' ESCAPE NULL FROM t
SELECT ~1 + 1, ~(1 + 1), (~1) + 1, ~1 - 2, ~1 | 2, 2 * ~1 + 3, - ~ 3, ~ - 3 * 2, ~1 & ~2
SELECT |/ 4 + 5 AS a, ||/ 8 * 8 - 1 AS b, (|/ 4) + 5 AS c
SELECT NULL::integer[] || NULL::integer[], NULL::integer[] || ARRAY[1], ARRAY[1] || NULL::integer[], array_cat(NULL::text[], '{}')
SELECT pg_size_pretty(v), pg_size_pretty(-v) FROM (VALUES (10::bigint), (10239), (10240), (10485247), (10485248), (10736893951), (10736893952), (1000000000), (1000000000000), (1000000000000000), (1500000000000000000)) AS s (v)
SELECT 33 = ALL ('{1,2,33}'), 33 >= ALL ('{1,2,33}'), NOT a < ALL ('{2,3}') FROM t
SELECT g FROM t ORDER BY g LIMIT 2 * (3 - 1) OFFSET (3 - 1) * 1
SELECT a, EXISTS (VALUES (1)), EXISTS (TABLE nothing) FROM t WHERE EXISTS (VALUES (t.a), (2))
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a UNION SELECT 2 WHERE t.a = 5)
SELECT n, e FROM held LEFT JOIN unnest(a) AS e ON e > 1
SELECT v.x, w.y, e FROM (VALUES (1, ARRAY[10, 20]), (2, ARRAY[20, 30])) AS v (x, l) LEFT JOIN w ON w.a = v.x LEFT JOIN unnest(l) AS e ON e = 20
SELECT t.a, u.x, s FROM t, u LEFT JOIN generate_series(u.a, 3) AS s ON s > 1
SELECT x.a, a, t.a, u.a, x.* FROM t FULL JOIN u USING (a) AS x
SELECT * FROM t JOIN u USING (a, b) AS x JOIN w ON w.a = x.a WHERE x.b > 'a'
SELECT * FROM (VALUES ((SELECT a FROM (VALUES (1), (2)) AS v (a) LIMIT 1), 'x)'), (3, '(')) AS w
SELECT g, lag(g, a) OVER (ORDER BY g, b), lead(g, a - 2, -1::bigint) OVER (ORDER BY g, b) FROM t
SELECT lag(g, NULL) OVER (ORDER BY g, b), lag(g, NULL, 7::bigint) OVER (ORDER BY g), lead(b, (SELECT min(a) FROM u), 'none') OVER (ORDER BY g, b) FROM t
SELECT a, sum(g), lag(sum(g), count(*)::int) OVER (ORDER BY a) FROM t GROUP BY a
SELECT a OPERATOR(pg_catalog.*) 2 AS x, b OPERATOR(PG_CATALOG.||) 'x' AS y FROM t WHERE a OPERATOR(pg_catalog.>=) 2
SELECT '1.5'::pg_catalog.float8 AS a, '{1,2}'::pg_catalog._int8 AS b, '{a,NULL}'::_text AS c, '12.345'::pg_catalog.numeric(4,1) AS d, 'abc'::pg_catalog.varchar(2) AS e, '{3}'::pg_catalog.int4[] AS f, 'abc'::bpchar(2) AS g
SELECT f IS UNKNOWN AS x, f IS NOT UNKNOWN AS y FROM t
SELECT parse_ident('foo.boo[]', false) AS a, parse_ident('abc.def $', false) AS b, parse_ident('🌍.abc') AS c, parse_ident(' "A b" . C ') AS d, parse_ident('a', NULL) AS e
SELECT * FROM (VALUES (2), (1) ORDER BY 1) AS v (x) CROSS JOIN (VALUES (3)) AS w
SELECT DISTINCT ON (row_number() OVER (ORDER BY g)) g FROM t ORDER BY row_number() OVER (ORDER BY g)
SELECT DISTINCT ON (rank() OVER (ORDER BY a)) a, g FROM t ORDER BY rank() OVER (ORDER BY a), g DESC
SELECT DISTINCT ON (1 + lag(g, 1, 0::bigint) OVER (ORDER BY g)) lead(g) OVER (ORDER BY b, g) AS o, g FROM t ORDER BY 1 + lag(g, 1, 0::bigint) OVER (ORDER BY g), o DESC
SELECT 1 FROM t WHERE 1 / (a - a) = 1 HAVING 1 < 2
SELECT 1 FROM t WHERE 1 / (a - a) = 1 GROUP BY ()
SELECT 1 FROM nothing HAVING true
SELECT count(*) FROM (SELECT 1 FROM t HAVING true) s
SELECT a, EXISTS (SELECT 1 FROM w WHERE w.a = t.a HAVING true) FROM t
SELECT position('n' IN b), strpos(b, 'n'), "position"('abc', 'b'), pg_catalog.position(b, 'n') FROM t
SELECT generate_series(1, a) FROM t GROUP BY generate_series(1, a) ORDER BY 1
SELECT generate_series(1, a) AS s, count(*) FROM u GROUP BY 1
SELECT generate_series(1, a) AS s, count(*), sum(g) FROM t GROUP BY s HAVING count(*) > 1 ORDER BY s
SELECT unnest(ARRAY[a, g]) AS n, max(b) FROM t GROUP BY n
SELECT count(*) FROM t GROUP BY generate_series(1, a), b
SELECT b, generate_series(1, a) + 1 AS s, count(*) FROM t GROUP BY b, s
SELECT generate_series(1, a) AS s, unnest(ARRAY['x', 'y']) AS h, count(*) FROM t GROUP BY s, h
SELECT generate_series(1, a) AS s, generate_series(1, 2) AS h, count(*) FROM t GROUP BY s
SELECT w.a, (SELECT count(*) FROM t GROUP BY generate_series(1, w.a) LIMIT 1) FROM w
SELECT (SELECT max(a) FROM t) AS m, generate_series(1, (SELECT max(a) FROM w)) AS s, count(*) FROM t GROUP BY s
SELECT b, right(b, -2147483648), left(b, -2147483648), right(b, -2147483647) FROM t
SELECT count(*), b AS x, g AS y FROM t GROUP BY GROUPING SETS ((x, y), (y), ((x)))
SELECT (a) AS x, count(*) FROM t GROUP BY (x) ORDER BY (count(*)), (x), (1)
SELECT DISTINCT ON ((x)) a AS x FROM t ORDER BY (x)
SELECT a FROM t UNION SELECT g FROM t ORDER BY (a)
SELECT (ARRAY[1, 2, 3])[:a], (ARRAY[1, 2, 3])[:t.a + 1], (ARRAY[1, 2, 3])[a:], (ARRAY[1, 2, 3])[:] FROM t
SELECT array_position(ARRAY['a', b], NULL, NULL), array_position(NULL::text[], b, NULL) FROM t WHERE b IS NOT NULL
SELECT date_trunc(NULL::text, NULL::timestamp), date_trunc(b, NULL::timestamp), date_trunc(b, NULL::timestamptz) FROM t
SELECT 1e3+1e3, -1E3-1e+2, 1.5e3+a, .5e1-2.e1, ARRAY[1e1-1, 2e0+1], a FROM t
SELECT 0xFF, 0o17, 0b101, 1_000, 0x1F_FF, 1_000.5_5e1_0, 0XFFFFFFFFFF, 0x_f - 0B1, a + 0x10 FROM t LIMIT 0b11
SELECT g, a, count(*) OVER w, sum(a) OVER w, max(b) OVER w FROM t WINDOW w AS (ORDER BY g ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES)
SELECT g, a, count(*) OVER w, sum(a) OVER w, nth_value(a, 2) OVER (ORDER BY g, a, b ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP) FROM t WINDOW w AS (PARTITION BY b ORDER BY g ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP)
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY a DESC), percentile_disc(0.25) WITHIN GROUP (ORDER BY a DESC NULLS LAST), percentile_disc(0) WITHIN GROUP (ORDER BY b DESC), percentile_disc(1) WITHIN GROUP (ORDER BY e DESC NULLS FIRST) FROM t
SELECT f, percentile_cont(0.9) WITHIN GROUP (ORDER BY d DESC) FILTER (WHERE a > 0), percentile_disc(ARRAY[0, 0.4, 1]) WITHIN GROUP (ORDER BY g DESC) FROM t GROUP BY f
SELECT to_jsonb(15.87::real)::text, to_jsonb('NaN'::real)::text, jsonb_build_array(0.1::real, 1e20::real, 0.1)::text, jsonb_build_object('r', c::real)::text FROM t
SELECT to_jsonb(ARRAY[c::real, 0.1])::text, to_jsonb(ARRAY[c, NULL])::text, to_jsonb(ARRAY[e, NULL])::text, to_jsonb(ARRAY[e::time])::text, to_jsonb('{}'::real[])::text, to_jsonb(ARRAY[interval '1 day 2 hours'])::text, to_jsonb(ARRAY[b::bytea])::text FROM t
SELECT g, nth_value(g, a) OVER (ORDER BY g ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), nth_value(b, a) OVER (ORDER BY g ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING), nth_value(c, a) OVER (PARTITION BY f ORDER BY g) FROM t
SELECT g, nth_value(g, a) OVER (ORDER BY g RANGE BETWEEN 10 PRECEDING AND 20 FOLLOWING), nth_value(g, (g / 10)::int) OVER (ORDER BY g DESC GROUPS BETWEEN 2 PRECEDING AND CURRENT ROW), nth_value(g, NULL) OVER (ORDER BY g), nth_value(g, '2') OVER (ORDER BY g) FROM t
SELECT extract(julian FROM e), date_part('julian', e), extract(julian FROM e::date), a FROM t
SELECT extract(julian FROM z), extract(julian FROM x), date_part('julian', x), extract(julian FROM timestamp '0001-01-01 00:00:00.000001'), extract(julian FROM date '1969-12-31'), extract(julian FROM timestamp '1969-12-31 23:59:59.999999') FROM u
SELECT a, g FROM t ORDER BY a USING >, g USING < NULLS LAST
SELECT b, array_agg(g ORDER BY g USING >) FROM t GROUP BY b ORDER BY b USING <
WITH v AS (SELECT max(g) AS m FROM t) VALUES (1, (SELECT m FROM v)), (2, 3) ORDER BY 1 DESC
SELECT a, (WITH v (x) AS (VALUES (a + 1)) VALUES ((SELECT x FROM v))) AS up FROM w
SELECT a FROM t ORDER BY a FETCH FIRST 2 ROWS WITH TIES
SELECT a FROM t ORDER BY a DESC NULLS LAST OFFSET 1 FETCH NEXT 2 ROWS WITH TIES
SELECT count(*) AS n FROM t GROUP BY b ORDER BY n FETCH FIRST ROW WITH TIES
SELECT DISTINCT f FROM t ORDER BY f FETCH FIRST (2 - 1) ROWS WITH TIES
SELECT count(*), sum(g) FROM (SELECT g FROM t ORDER BY d FETCH FIRST 1 ROW WITH TIES) AS s
SELECT w.a, s.g FROM w, LATERAL (SELECT g FROM t WHERE t.a >= w.a ORDER BY t.a FETCH FIRST 1 ROW WITH TIES) AS s
SELECT a FROM t UNION ALL SELECT a FROM w ORDER BY a FETCH FIRST 3 ROWS WITH TIES
