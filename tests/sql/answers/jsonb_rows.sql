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
