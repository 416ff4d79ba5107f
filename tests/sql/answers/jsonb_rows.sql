SELECT * FROM jsonb_array_elements('[1, "a", null, [2]]')
SELECT * FROM jsonb_array_elements_text('[1, "a", null, [2]]') AS e
SELECT * FROM jsonb_each('{"b": 1, "a": {"c": null}}')
SELECT * FROM jsonb_each_text('{"b": 1, "a": "x", "c": null}') AS m(k, v)
SELECT k FROM jsonb_object_keys('{"b": 1, "aa": 2}') AS k
SELECT jsonb_array_elements(doc) FROM d WHERE jsonb_typeof(doc) = 'array'
SELECT id, jsonb_object_keys(doc) FROM d WHERE jsonb_typeof(doc) = 'object'
SELECT d.id, e ->> 'a' AS a FROM d, jsonb_array_elements(d.doc) AS e WHERE d.doc = '[{"a": 1}, {"a": 2, "b": null}]'
SELECT d.id, e.value, value FROM d, LATERAL jsonb_array_elements(CASE jsonb_typeof(doc) WHEN 'array' THEN doc ELSE '[]' END) AS e
SELECT id, key, value, m.key FROM d CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(doc) WHEN 'object' THEN doc END) AS m
SELECT id, e.n, x FROM d, jsonb_array_elements_text(CASE jsonb_typeof(doc) WHEN 'array' THEN doc END) WITH ORDINALITY AS e(x, n)
SELECT e, count(*) FROM d, jsonb_array_elements(CASE jsonb_typeof(doc) WHEN 'array' THEN doc END) AS e GROUP BY e
SELECT key, count(*) FROM d, jsonb_each(CASE jsonb_typeof(doc) WHEN 'object' THEN doc END) GROUP BY key
SELECT * FROM jsonb_array_elements(NULL)
SELECT jsonb_agg(id ORDER BY id DESC) FROM d WHERE id < 4
SELECT jsonb_typeof(doc) AS kind, jsonb_agg(doc ORDER BY id) AS docs FROM d GROUP BY 1
SELECT jsonb_agg(doc ORDER BY id) FILTER (WHERE id > 3), jsonb_agg(DISTINCT id % 2), count(*) FROM d WHERE id < 9
SELECT jsonb_agg(id) AS none FROM d WHERE id > 1000
SELECT jsonb_object_agg(id, doc) AS o FROM d
SELECT jsonb_typeof(doc) AS kind, jsonb_object_agg(txt, id ORDER BY id) AS o FROM d WHERE id > 5 GROUP BY 1
SELECT jsonb_object_agg(key, value ORDER BY id) AS last FROM d, jsonb_each(CASE jsonb_typeof(doc) WHEN 'object' THEN doc END)
SELECT jsonb_agg(id ORDER BY id) -> 0 AS first FROM d
SELECT id, row_number() OVER (ORDER BY doc, id) AS place FROM d
SELECT id, rank() OVER (ORDER BY doc DESC NULLS LAST) AS place FROM d WHERE id < 20
SELECT doc -> 'a' AS a, count(*) FROM d GROUP BY 1 ORDER BY 1 DESC LIMIT 3
SELECT string_agg(doc::text, ' ' ORDER BY doc DESC) FROM (VALUES ('false'::jsonb), ('null'), ('{}'), ('10'), ('9'), ('-1'), ('"a"'), ('[]'), ('[9]'), ('[10]'), ('"ab"')) AS t (doc) WHERE doc > 'null'
SELECT DISTINCT ON (doc) doc, id FROM (VALUES ('10'::jsonb, 1), ('9', 2), ('10', 0)) AS t (doc, id) ORDER BY doc, id
SELECT JSON_OBJECT('a' VALUE n, n VALUE NULL RETURNING jsonb), JSON_OBJECT('a': n, 'b': NULL ABSENT ON NULL RETURNING jsonb) FROM generate_series(1, 2) AS n
SELECT JSON_ARRAY(n, NULL, 'x', '{"a": [1]}' FORMAT JSON RETURNING jsonb), JSON_ARRAY(n, NULL NULL ON NULL RETURNING jsonb), JSON_ARRAY(RETURNING jsonb) FROM generate_series(1, 2) AS n
SELECT JSON_OBJECT('k' VALUE JSON_ARRAY(1, n) WITHOUT UNIQUE KEYS RETURNING jsonb) -> 'k' -> 0, JSON_OBJECT('a' VALUE n RETURNING text)::jsonb, JSON_OBJECT()::jsonb, json_object('{a,1}'::text[])::jsonb FROM generate_series(1, 2) AS n
