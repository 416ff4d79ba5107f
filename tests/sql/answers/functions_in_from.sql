SELECT * FROM unnest(ARRAY[1, 2, 3], ARRAY['a', 'b']) AS x(n, s)
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a']) WITH ORDINALITY AS x(n, s, o)
SELECT * FROM ROWS FROM (generate_series(1, 2), unnest(ARRAY['a', 'b', 'c'])) AS x(n, s)
SELECT * FROM ROWS FROM (generate_series(1, 3), generate_series(5, 6)) WITH ORDINALITY AS x(a, b, o) WHERE b IS NULL OR o < 2
SELECT t.a, x.* FROM t, ROWS FROM (generate_series(1, t.a), upper(t.b)) AS x(n, s)
SELECT t.a, x.* FROM t LEFT JOIN LATERAL unnest(ARRAY[t.a], ARRAY[t.b, 'z']) AS x(n, s) ON x.n IS NOT NULL
SELECT s FROM string_to_table('a,b,c', ',') AS s
SELECT b, string_to_table(b, 'e') FROM t
SELECT k FROM generate_series(1, (SELECT max(a) FROM t)) AS k
SELECT t.a, k FROM t, generate_series(1, (SELECT count(*) FROM u WHERE u.a = t.a)) AS k
SELECT x FROM upper((SELECT max(b) FROM t)) AS x
SELECT a, (SELECT sum(n) FROM unnest(ARRAY[t.a, 2], ARRAY[t.g, 3]) AS x(n, m)) FROM t
SELECT a, (SELECT count(*) FROM generate_series(1, t.a) AS g, generate_series(1, 2) AS h) FROM t
SELECT * FROM ROWS FROM (length('abc'), generate_series(1, 2)) AS x
SELECT * FROM generate_series(1, 2) AS a, unnest(ARRAY[a, a * 10]) WITH ORDINALITY AS b(v, o)
