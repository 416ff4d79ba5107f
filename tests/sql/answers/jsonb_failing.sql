SELECT 'x'::jsonb
SELECT ''::json
SELECT '{a: 1}'::jsonb
SELECT '[1,]'::jsonb
SELECT '"\u0000"'::jsonb
SELECT '"\ud800"'::jsonb
SELECT '01'::jsonb
SELECT 'NaN'::jsonb
SELECT '1e999999'::jsonb
SELECT '{} {}'::jsonb
SELECT (txt || '}')::jsonb FROM d
SELECT jsonb_array_length(doc) FROM d WHERE doc = '0'
SELECT jsonb_array_length('{}')
SELECT doc - 'a' FROM d WHERE doc = '0'
SELECT doc - 1 FROM d WHERE doc = '{"a": 1}'
SELECT doc #- '{a}' FROM d WHERE doc = 'true'
SELECT doc #- '{x}' FROM d WHERE doc = '[1]'
SELECT doc #- ARRAY['a', NULL] FROM d WHERE doc = '{"a": {}, "b": []}'
SELECT jsonb_build_object(NULL, 1)
SELECT doc::int FROM d WHERE doc = '"1"'
SELECT doc::bigint FROM d WHERE doc = '{}'
SELECT doc::boolean FROM d WHERE doc = '0'
SELECT doc::float8 FROM d WHERE doc = 'true'
SELECT doc::numeric FROM d WHERE doc = '[]'
SELECT doc::smallint FROM d WHERE doc = '100000000000'
SELECT '1e400'::jsonb::float8
SELECT doc - 1.5 FROM d
SELECT '{}' -> 'a'
SELECT doc -> 1::bigint FROM d
SELECT txt -> 'a' FROM d
SELECT doc::date FROM d
SELECT 1::jsonb
SELECT doc LIKE 'x' FROM d
SELECT max(doc) FROM d
SELECT doc + 1 FROM d
SELECT to_jsonb('x')
SELECT doc = 1 FROM d
SELECT jsonb_build_object('a')
SELECT doc = txt FROM d
SELECT upper(doc) FROM d
SELECT * FROM jsonb_array_elements('{}')
SELECT * FROM jsonb_array_elements_text('1')
SELECT * FROM jsonb_each('[1]')
SELECT * FROM jsonb_each_text('"x"')
SELECT * FROM jsonb_object_keys('[1]')
SELECT jsonb_object_keys(doc) FROM d WHERE doc = '0'
SELECT jsonb_object_agg(doc ->> 'a', id) FROM d
SELECT jsonb_agg(id, 2) FROM d
SELECT id FROM d WHERE jsonb_agg(id) IS NULL
SELECT ('[1]'::jsonb)[1.0]
SELECT ('[1]'::jsonb)[0::bigint]
SELECT ('{"a": 1}'::jsonb)[current_date]
SELECT ('[1]'::jsonb)[0:1]
