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
SELECT x.a, x.b, x.c ->> 'd' AS d, x.e, x.f FROM jsonb_to_recordset('[{"a": 1, "b": "x", "c": {"d": [1]}, "e": "2024-01-01", "f": 1.5}, {"b": null, "c": null}, {"a": "7", "b": 2, "f": true}]') AS x(a int, b text, c jsonb, e date, "f" text)
SELECT t.a, r.n, r.y FROM t, json_to_record(json_build_object('n', t.a, 'y', t.b)) AS r(n bigint, y varchar(5))
SELECT count(*), sum(q) FROM jsonb_to_recordset('[{"q": 1.25}, {"q": 2}]') AS x(q numeric)
SELECT w.a, x.k FROM w LEFT JOIN LATERAL jsonb_to_recordset(jsonb_build_array(jsonb_build_object('k', w.y))) AS x(k text) ON x.k = 'two'
SELECT a, v, n FROM u, LATERAL generate_series(1, a) WITH ORDINALITY AS s (v, n)
SELECT a, v, n FROM u LEFT JOIN LATERAL generate_series(3, a) WITH ORDINALITY AS s (v, n) ON true
SELECT a, s.* FROM u, LATERAL generate_series(1, a) WITH ORDINALITY AS s
SELECT a, v, w, n FROM u, LATERAL ROWS FROM (generate_series(1, a), generate_series(5, 6)) WITH ORDINALITY AS s (v, w, n)
SELECT a, v FROM u LEFT JOIN LATERAL ROWS FROM (generate_series(3, a)) AS s (v) ON true
SELECT * FROM generate_series('2024-06-21 17:36', '2024-06-21 19:36', interval '1 hour') AS s(at)
SELECT generate_subscripts(ARRAY[5, 6, 7], 1, true) AS n, generate_subscripts(ARRAY[[1, 2], [3, 4]], 2, false) AS m
SELECT n FROM generate_subscripts(ARRAY['a', 'b'], 1, true) AS n
SELECT ARRAY(SELECT generate_series(1, 4) ORDER BY 1 DESC) AS x, ARRAY(SELECT unnest(ARRAY[3, 1, 2]) AS u ORDER BY u DESC) AS y
SELECT g, ARRAY(SELECT generate_series(1, a) * 10 ORDER BY 1 DESC) AS x FROM t WHERE a < 4
SELECT * FROM generate_series(0.1, 2.1) AS g
SELECT * FROM generate_series(5, 1.5, -1.25) AS g
SELECT * FROM generate_series(2.5, 1) AS g, generate_series(NULL, 2.5) AS h
SELECT n, g FROM amounts, generate_series(p, p + n, 0.75) AS g
SELECT n, generate_series(n, 4.5) AS g FROM amounts
SELECT x.a, x.b, x.c, x.d, x.e, x.f FROM jsonb_to_record('{"a": ["x", null, 3, {"q": 1}], "b": [1, null, "2"], "c": "{p,q}", "d": null, "f": []}') AS x(a text[], b int[], c text[], d int[], e int[], f bool[])
SELECT w.a, x.k, x.n[1] AS first FROM w, jsonb_to_recordset(jsonb_build_array(jsonb_build_object('k', jsonb_build_array(w.y, w.a), 'n', '[1.5, 2]'::jsonb), '{}'::jsonb)) AS x(k text[], n numeric[])
SELECT t.a, q FROM t LEFT JOIN LATERAL generate_series(1, t.a) AS q ON true
SELECT t.a, q, n FROM t LEFT JOIN LATERAL generate_series(3, t.a) WITH ORDINALITY AS x (q, n) ON true
SELECT t.a, x.* FROM t LEFT JOIN LATERAL unnest(ARRAY[t.b, 'z'], string_to_array(t.b, 'w')) AS x (q, n) ON true
SELECT t.a, q FROM t LEFT JOIN LATERAL unnest(CASE WHEN t.a > 1 THEN ARRAY[t.a, NULL] END) AS q ON true
SELECT t.a, count(q), count(*) FROM t LEFT JOIN LATERAL unnest(string_to_array(t.b, 'o')) AS q ON q <> '' GROUP BY t.a
SELECT t.a, q, w.y FROM t LEFT JOIN LATERAL generate_series(2, t.a) AS q ON true LEFT JOIN w ON w.a = q
SELECT t.a, x.key, x.value::text FROM t LEFT JOIN LATERAL jsonb_each(CASE WHEN t.a = 1 THEN jsonb_build_object('k', t.b) END) AS x ON true
SELECT t.a, q FROM t LEFT JOIN LATERAL generate_series(1, 2) AS q ON q > t.a AND t.b <> 'one'
SELECT t.a, (SELECT sum(q) FROM (VALUES (1), (2)) AS v (n) LEFT JOIN LATERAL generate_series(v.n, t.a) AS q ON true) FROM t
SELECT t.a, x IS NULL FROM t LEFT JOIN LATERAL jsonb_each(CASE WHEN t.a = 1 THEN '{"k": 1}'::jsonb END) AS x ON true
