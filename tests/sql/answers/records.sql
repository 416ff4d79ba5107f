SELECT ROW(1, 'a b', NULL), (1, 2), (1, 'x') AS named
SELECT ROW('', 'NULL', ' ', 'a"b', 'a\b', '(', ')', 'a,b', '{', 'plain'), ROW(NULL), ROW('')
SELECT ROW(true, false, 1.50, date '2024-02-29', timestamp '2024-02-29 10:00', interval '1 day', '{"a": 1}'::jsonb)
SELECT ROW(ROW(1, 'a,b'), ARRAY[1, NULL], ARRAY['x y', '']), (1, (2, (3, NULL)))
SELECT a, (a, b), ROW(a, b, f) FROM t
SELECT t FROM t
SELECT t, u FROM t JOIN u ON t.a = u.a
SELECT u, w FROM u LEFT JOIN w ON u.a = w.a
SELECT count(w), count(w.*), count(*), count(u) FROM u LEFT JOIN w ON u.a = w.a
SELECT t.a, w FROM t FULL JOIN w ON t.a = w.a
SELECT x FROM (SELECT a, b FROM t) AS x
SELECT (t).a, (t).b, (t.*).g FROM t
SELECT (ROW(1, 'a'::text)).f1, (ROW(1, 'a'::text)).f2, ((1, (2, 3))).f2
SELECT (t).*, (u.*).* FROM t JOIN u ON t.a = u.a
SELECT (t.*), 1 FROM t
SELECT (t.*) AS z FROM t
SELECT (x.r).f1, (r).f2, r FROM (SELECT ROW(a, b) AS r FROM t) AS x
SELECT (r).* FROM (SELECT ROW(a, b) AS r FROM t) AS x
SELECT ROW(t.*, 1), ROW(1, w.*) FROM t JOIN w ON t.a = w.a
SELECT (SELECT ROW(a, b) FROM t WHERE g = 10), (SELECT t FROM t WHERE g = 10), (SELECT t FROM t WHERE g = 0)
SELECT (SELECT w FROM w WHERE w.a = t.a) FROM t
SELECT (SELECT t), (SELECT count(*) FROM w WHERE w.a = (t).a) FROM t
SELECT t FROM t ORDER BY t
SELECT ROW(a, b) FROM u ORDER BY ROW(a, b)
SELECT ROW(a, b) FROM u ORDER BY 1 DESC
SELECT r FROM (SELECT (a, b) AS r FROM u UNION ALL SELECT NULL) AS x ORDER BY r NULLS FIRST
SELECT DISTINCT t FROM t
SELECT DISTINCT ROW(a, b) FROM t
SELECT DISTINCT ON (ROW(a, b)) a, b, g FROM t ORDER BY ROW(a, b), g
SELECT t, count(*) FROM t GROUP BY t
SELECT (r).f1, count(*) FROM (SELECT ROW(a, b) AS r FROM t) AS x GROUP BY r
SELECT count(DISTINCT (a, b)), count((a, b)), count(DISTINCT t), count(t.*) FROM t
SELECT a FROM t WHERE t = (SELECT t FROM t WHERE g = 10)
SELECT one.g, other.g FROM t AS one JOIN t AS other ON one = other
SELECT one.g, other.g, one = other, one <> other, one < other, one <= other, one > other, one >= other FROM t AS one, t AS other
SELECT one.g, other.g, one IS DISTINCT FROM other, one IS NOT DISTINCT FROM other FROM t AS one, t AS other
SELECT one.a, other.a, ROW(one.a, one.b) = ROW(other.a, other.b), ROW(one.a, one.b) < ROW(other.a, other.b) FROM u AS one, u AS other
SELECT ROW(1, NULL) = ROW(1, NULL), ROW(1, NULL) = ROW(2, NULL), ROW(1, NULL) IS NOT DISTINCT FROM ROW(1, NULL), (1, 'a') IS DISTINCT FROM (1, 'b')
SELECT r = s, r < s, r IS NOT DISTINCT FROM s FROM (SELECT ROW(1, a) AS r, ROW(1, a) AS s FROM t) AS x
SELECT r IS NULL, r IS NOT NULL, NOT r IS NULL FROM (SELECT ROW(a, b) AS r FROM u UNION ALL SELECT NULL) AS x
SELECT ROW(NULL, NULL) IS NULL, ROW(1, NULL) IS NULL, ROW(1, NULL) IS NOT NULL, ROW(1, 2) IS NOT NULL, (NULL, 1) IS NULL
SELECT ROW(NULL, ROW(NULL, NULL)) IS NULL, ROW(1, ROW(NULL, NULL)) IS NOT NULL
SELECT g, t IS NULL, t IS NOT NULL, t.* IS NULL FROM t
SELECT u.a FROM u LEFT JOIN w ON u.a = w.a WHERE w IS NULL
SELECT u.a FROM u LEFT JOIN w ON u.a = w.a WHERE w.* IS NOT NULL
SELECT a FROM t WHERE (a, b) IN (SELECT a, b FROM u)
SELECT a FROM t WHERE ROW(a, b) IN (SELECT a, b FROM u)
SELECT a FROM t WHERE (a, b) NOT IN (SELECT a, b FROM u WHERE a IS NOT NULL)
SELECT a FROM t WHERE (a, b) IN ((1, 'one'), (2, 'zwei'), (5, 'Five'))
SELECT g FROM t WHERE t IN (SELECT t FROM t WHERE a = 2)
SELECT g FROM t AS x WHERE x NOT IN (SELECT y FROM t AS y WHERE a = 2)
SELECT ROW(a, b) FROM t UNION SELECT ROW(a, b) FROM u
SELECT ROW(a, b) FROM t EXCEPT SELECT ROW(a, b) FROM u
SELECT ROW(a, b) FROM t INTERSECT SELECT ROW(a, b) FROM u
SELECT CASE WHEN a = 1 THEN ROW(a, b) WHEN a = 2 THEN NULL ELSE ROW(0, 'other') END FROM t
SELECT coalesce(r, ROW(0, 'none')) FROM (SELECT CASE WHEN a = 1 THEN ROW(a, b) END AS r FROM t) AS x
SELECT nullif(ROW(a, b), ROW(1, 'one'::text)) FROM t
SELECT greatest(ROW(a, b), ROW(2, 'k'::text)), least(ROW(a, b), ROW(2, 'k'::text)) FROM t WHERE a IS NOT NULL
WITH x AS (SELECT a, t AS r FROM t) SELECT r, (r).b FROM x WHERE (r).a = 2
SELECT array_agg(w ORDER BY a), array_agg((a, y) ORDER BY a DESC) FROM w
SELECT array_agg(u ORDER BY u) FROM u
SELECT ARRAY[(1, 'a b'::text), (2, NULL::text)], (ARRAY[ROW(1, 2), ROW(3, 4)])[2]
SELECT ((array_agg(w ORDER BY a))[1]).y FROM w
SELECT row_to_json(t)::jsonb->'b', to_jsonb(t), to_jsonb(u) FROM t JOIN u ON t.a = u.a
SELECT to_jsonb(ROW(1, 'a', NULL, true, ARRAY[1, 2], ROW(2, 'b'))), jsonb_agg(w ORDER BY a) FROM w
SELECT jsonb_agg(ROW(a, y) ORDER BY a), jsonb_agg((a, y) ORDER BY a) FROM w
SELECT to_jsonb(w) FROM u LEFT JOIN w ON u.a = w.a
SELECT to_jsonb(array_agg(w ORDER BY a)) FROM w
SELECT jsonb_build_object('row', w, 'pair', (a, y)) FROM w
SELECT t::text, ROW(a, b, c)::text, 'is ' || ROW(a, b)::text FROM t
SELECT length(t::text), upper((u.*)::text) FROM t JOIN u ON t.a = u.a
SELECT (jsonb_each('{"a": 1, "b": [2]}')).key, (jsonb_each('{"a": 1, "b": [2]}')).value
SELECT (jsonb_each('{"a": 1, "b": [2]}')).*
SELECT jsonb_each_text('{"a": 1, "b": "x y"}')
SELECT (information_schema._pg_expandarray(ARRAY[7, 8])).*
SELECT i, n, ROW(i, n), (ROW(n, i)).f2 FROM held
SELECT count(*) FROM (SELECT DISTINCT ROW(i, a) FROM held WHERE n < 3) AS x
SELECT ROW(i, 1) = ROW(interval '30 days', 1), h = h FROM held AS h
SELECT h.n, k.n FROM held AS h, held AS k WHERE ROW(h.i, 1) < ROW(k.i, 1)
SELECT count(*) FROM (SELECT ROW(i) AS r FROM held WHERE n <= 3) AS x GROUP BY r
SELECT r FROM (VALUES (ROW(1, 'a')), (ROW(2, 'b')), (NULL)) AS x (r)
SELECT rank() OVER (ORDER BY ROW(a, b)), row_number() OVER (PARTITION BY ROW(a, b) ORDER BY g), a FROM t
SELECT first_value(t) OVER (ORDER BY g), lag(ROW(a, b)) OVER (ORDER BY g) FROM t
SELECT ROW(a, b) = ANY (ARRAY[ROW(1, 'one'::text), ROW(2, 'two'::text)]) FROM t
SELECT l FROM t, LATERAL (SELECT t.a + 1 AS n, t AS r) AS l
SELECT EXISTS (SELECT 1 FROM w WHERE w.a = t.a AND t IS NOT NULL) FROM t
SELECT to_jsonb(i) FROM u i(k, l)
SELECT to_jsonb(i), (i).k, i.l FROM (SELECT a, b FROM t) i(k, l)
SELECT (i).k, (i).l, to_jsonb(i), i FROM u AS i(k, l)
SELECT s.r::text, to_jsonb(s.r) FROM (SELECT i AS r FROM u AS i(k)) AS s
SELECT to_jsonb(u), u IS NULL, count(*) FROM t LEFT JOIN u ON u.a = t.a GROUP BY u
SELECT jsonb_agg(t.a), u::text AS x, to_jsonb(u) FROM t JOIN u ON u.a = t.a GROUP BY u
SELECT count(*) FROM u GROUP BY u HAVING u IS NOT NULL
