doc::text
doc -> 'a'
doc ->> 'a'
doc -> 'a' -> 'b' ->> 'c'
doc -> 0
doc ->> 0
doc -> -1
doc ->> -2
doc -> 5
doc ->> id
doc -> 'a.b'
doc ->> '$.a'
doc -> ''
doc ->> '1'
doc -> 1 ->> 'a'
doc -> 1 + 1
doc #> '{}'
doc #> '{a}'
doc #> '{a,b}'
doc #>> '{a,b,c}'
doc #>> '{a,1,c}'
doc #> '{0}'
doc #>> '{-1}'
doc #> '{0,a}'
doc #> ARRAY['a', NULL]
doc #> '{a,x}'
doc #>> '{}'
doc #> '{" 1"}'
doc #> '{1x}'
doc ? 'a'
doc ? ''
doc ? '1'
doc ?| ARRAY['x', 'a']
doc ?| '{}'
doc ?& ARRAY['a', 'b']
doc ?& '{}'
doc ?| ARRAY['b', NULL]
doc ?& ARRAY['a', NULL]
NOT doc ? 'a'
doc ? 'a' = true
doc || '{"a": 7}'
doc || '[7]'
doc || '7'
'null'::jsonb || doc
doc || '{}'
doc || '[]'
doc || NULL
doc @> '{"a": 1}'
doc @> '[]'
doc @> '{}'
doc @> '"a"'
doc <@ '[1, 2, "a", null, true]'
doc @> 'null'
jsonb_typeof(doc)
jsonb_typeof(doc -> 'a')
jsonb_strip_nulls(doc)
jsonb_pretty(doc)
jsonb_extract_path(doc, 'a', 'b')
jsonb_extract_path_text(doc, '0')
jsonb_exists(doc, 'a')
CASE WHEN jsonb_typeof(doc) = 'array' THEN jsonb_array_length(doc) END
doc IS NULL
doc -> 'a' IS NULL
CASE WHEN jsonb_typeof(doc) = 'array' THEN doc - 0 END
CASE WHEN jsonb_typeof(doc) = 'array' THEN doc - -1 END
CASE WHEN jsonb_typeof(doc) IN ('array', 'object') THEN doc - 'a' END
CASE WHEN jsonb_typeof(doc) IN ('array', 'object') THEN doc - ARRAY['a', 'b', NULL] END
CASE WHEN jsonb_typeof(doc) IN ('array', 'object') THEN doc #- '{}' END
CASE WHEN jsonb_typeof(doc) = 'object' THEN doc #- '{a}' END
CASE WHEN jsonb_typeof(doc) = 'object' THEN doc #- '{a,0}' END
CASE WHEN jsonb_typeof(doc) = 'array' THEN doc #- '{-1}' END
CASE WHEN jsonb_typeof(doc) = 'array' THEN doc #- '{1,0}' END
CASE WHEN jsonb_typeof(doc) = 'number' AND length(doc::text) < 15 THEN doc::bigint END
CASE WHEN jsonb_typeof(doc) = 'number' AND length(doc::text) < 15 THEN doc::numeric(20, 3) END
CASE WHEN jsonb_typeof(doc) = 'number' THEN doc::double precision END
CASE WHEN jsonb_typeof(doc) = 'number' THEN doc::real::float8 END
CASE WHEN jsonb_typeof(doc) = 'boolean' THEN doc::boolean END
to_jsonb(id)
to_jsonb(doc::text)
to_jsonb(doc)
to_jsonb(id > 3)
to_jsonb(id + 0.5)
to_jsonb(id / 4::float8)
to_jsonb(ARRAY['a', doc ->> 'a'])
to_jsonb(ARRAY[id, 2])
to_jsonb(ARRAY[doc, '1'])
to_jsonb(ARRAY[id > 1, NULL])
to_jsonb(date '2013-01-01')
to_jsonb(timestamp '2013-01-01 10:00:00.25')
to_jsonb(timestamptz '2013-01-01 10:00+02')
to_jsonb(ARRAY[1.5, 2.25])
to_jsonb('NaN'::float8)
to_jsonb('-Infinity'::real)
to_jsonb(1e20::float8)
jsonb_build_object('b', id, 'a', doc, 'x', NULL, id, doc ->> 'a')
jsonb_build_object()
jsonb_build_array()
jsonb_build_object('b', 1, 'b', 2)
jsonb_build_array(id, doc, doc::text, 1.5, NULL, true, ARRAY[1, 2])
doc = '1'
doc = '{"a":1.0}'
doc <> '[ ]'
doc = '{"b": [true, null], "$.a": 3}'
doc IN ('1', 'null')
coalesce(doc -> 'a', '[]')
CASE WHEN id > 3 THEN doc ELSE '{}' END
(doc::text)::jsonb
json '{"b": 1,"a": 2}'::jsonb
doc ->> 'a' LIKE 'x%'
doc ->> 'a' || 'x'
(doc #>> '{a,b}')::jsonb ->> 'c'
nullif(doc, '{}')
jsonb '[1, 2]' ->> 1
CASE WHEN jsonb_typeof(doc) = 'null' THEN doc::int END
CASE WHEN jsonb_typeof(doc) = 'null' THEN doc::boolean END
CASE WHEN doc = '0' THEN 'x' WHEN jsonb_typeof(doc) = 'number' THEN to_jsonb(1 / doc::double precision) ->> 0 END
CASE WHEN id <> 3 THEN jsonb_build_array(6 / (id - 3)) ELSE to_jsonb(6 / id) END
CASE WHEN txt LIKE '{%' THEN txt::jsonb ->> 'a' ELSE (txt || ' ')::jsonb ->> 0 END
'[]'::jsonb #- '{a}'
doc[0]
doc['1']
doc['a']['b']
doc[-1]
doc[id]
doc[1][0]
ARRAY[txt IS JSON, txt IS NOT JSON, txt IS JSON VALUE, txt IS JSON OBJECT, txt IS JSON ARRAY, txt IS JSON SCALAR]
ARRAY[doc IS JSON, doc IS JSON OBJECT, doc IS JSON ARRAY, doc IS NOT JSON SCALAR WITHOUT UNIQUE KEYS]
CASE WHEN txt IS JSON THEN txt::jsonb END
