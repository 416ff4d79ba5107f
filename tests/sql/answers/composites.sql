SELECT n, s, h, l FROM places ORDER BY n
SELECT n, s FROM places ORDER BY s, n
SELECT n, h FROM places ORDER BY h DESC, n
SELECT n, l FROM places ORDER BY l, n
SELECT n, (s).x, (h).at, ((h).at).y, (h).a[1], (l[1]).y, l[2] FROM places
SELECT n, (s).*, (h).* FROM places
SELECT n, s IS NULL, s IS NOT NULL, h IS NULL, h IS NOT NULL FROM places
SELECT n, s = ROW(1, 'a')::spot, s < ROW(1, 'b')::spot, s >= '(1,)'::spot, s <> (h).at FROM places
SELECT n FROM places WHERE s = spot '(1,a)'
SELECT n FROM places WHERE s IN (ROW(1, 'a')::spot, ROW(2, 'a,b')::spot)
SELECT n FROM places WHERE s IS DISTINCT FROM ROW(1, NULL)::spot
SELECT s, count(*), sum(k) FROM places GROUP BY s
SELECT h, min(n) FROM places GROUP BY h
SELECT DISTINCT s FROM places
SELECT DISTINCT ON (s) s, n FROM places ORDER BY s, n DESC
SELECT a.n, b.n FROM places a JOIN places b ON a.s = b.s
SELECT a.n, b.n FROM places a LEFT JOIN places b ON a.s = (b.h).at
SELECT s FROM places UNION SELECT (h).at FROM places
SELECT s FROM places EXCEPT SELECT ROW(1, 'a')::spot
SELECT n, rank() OVER (ORDER BY s), lag(s) OVER (ORDER BY n) FROM places
SELECT coalesce(s, ROW(0, 'none')::spot), CASE WHEN n > 2 THEN s END, nullif(s, ROW(1, 'a')::spot) FROM places
SELECT n, ROW(k, (s).y)::spot, ROW(s, 'ok', d, 1.25, '{1}', 2)::home FROM places, (VALUES (date '2024-01-01')) v (d)
SELECT '(1,"a ""b"" \\ c")'::spot, '("(1,)",ok,2024-01-01,1.5,"{1,2}",Infinity)'::home, NULL::spot
SELECT n, (SELECT b.s FROM places b WHERE b.n = a.k + 1) FROM places a
SELECT n FROM places a WHERE EXISTS (SELECT 1 FROM places b WHERE b.s = (a.h).at)
SELECT n FROM places WHERE spot '(1,a)' = ANY (l)
SELECT n, l || ROW(9, 'z')::spot, cardinality(l) FROM places
SELECT count(s), count(DISTINCT s), count(h) FROM places
SELECT n, u.x, u.y FROM places, unnest(l) u
SELECT s::text, l::text FROM places
SELECT ('(1,a)'::spot).x, ('(1,a)'::spot).*, (('("(1,)",ok,2024-01-01,1.5,"{1,2}",Infinity)'::home).at).x, (NULL::spot).y
SELECT n, to_jsonb('(1,a)'::spot), to_jsonb('(1,"b c")'::spot), to_jsonb(NULL::spot), (CASE WHEN n > 2 THEN '(1,a)'::spot ELSE s END).y FROM places
SELECT n FROM places WHERE (s).x = ('(1,a)'::spot).x
