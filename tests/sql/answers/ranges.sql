SELECT n, i, b, m, d, s, z FROM spans
SELECT n, i::text, b::text, m::text, d::text, s::text, z::text FROM spans
SELECT n, x::int4range, x::int8range, x::numrange FROM spans
SELECT n, i FROM spans ORDER BY i, n
SELECT n, m FROM spans ORDER BY m DESC NULLS LAST, n
SELECT n, b FROM spans ORDER BY b, n
SELECT n, d FROM spans ORDER BY d, n
SELECT n, s, z FROM spans ORDER BY s, z, n
SELECT n, i FROM spans WHERE i IS NOT NULL ORDER BY i DESC, n LIMIT 3
SELECT i, count(*), array_agg(n ORDER BY n) FROM spans GROUP BY i ORDER BY i
SELECT DISTINCT i FROM spans
SELECT DISTINCT ON (i) i, n FROM spans ORDER BY i, n DESC
SELECT count(DISTINCT i), count(i), count(DISTINCT m) FROM spans
SELECT a.n, b.n FROM spans a JOIN spans b ON a.i = b.i
SELECT a.n, b.n FROM spans a JOIN spans b ON a.i && b.i AND a.n < b.n
SELECT a.n, b.n FROM spans a LEFT JOIN spans b ON a.i @> b.e
SELECT a.n, b.n, a.i = b.i, a.i <> b.i, a.i < b.i, a.i <= b.i, a.i > b.i, a.i >= b.i FROM spans a, spans b
SELECT a.n, b.n, a.m = b.m, a.m <> b.m, a.m < b.m, a.m <= b.m, a.m > b.m, a.m >= b.m FROM spans a, spans b
SELECT a.n, b.n, a.d < b.d, a.d >= b.d, a.s < b.s, a.s >= b.s, a.z < b.z, a.z >= b.z, a.b < b.b FROM spans a, spans b
SELECT a.n, b.n, a.i @> b.i, a.i <@ b.i, a.i && b.i, a.i << b.i, a.i >> b.i, a.i &< b.i, a.i &> b.i, a.i -|- b.i, a.i * b.i FROM spans a, spans b
SELECT a.n, b.n, a.m @> b.m, a.m <@ b.m, a.m && b.m, a.m << b.m, a.m >> b.m, a.m &< b.m, a.m &> b.m, a.m -|- b.m, a.m * b.m FROM spans a, spans b
SELECT a.n, b.n, a.d @> b.d, a.d && b.d, a.d << b.d, a.d &< b.d, a.d -|- b.d, a.d * b.d FROM spans a, spans b
SELECT a.n, b.n, a.s @> b.s, a.s && b.s, a.s << b.s, a.s &> b.s, a.s -|- b.s, a.s * b.s FROM spans a, spans b
SELECT a.n, b.n, a.z @> b.z, a.z && b.z, a.z >> b.z, a.z &> b.z, a.z -|- b.z, a.z * b.z FROM spans a, spans b
SELECT a.n, b.n, a.b @> b.b, a.b && b.b, a.b >> b.b, a.b &> b.b, a.b -|- b.b, a.b * b.b, range_merge(a.b, b.b) FROM spans a, spans b
SELECT a.n, b.n, a.i + b.i FROM spans a, spans b WHERE a.i && b.i OR a.i -|- b.i OR isempty(a.i)
SELECT a.n, b.n, a.m - b.m FROM spans a, spans b WHERE NOT (a.m @> b.m) OR a.m = b.m
SELECT a.n, b.n, range_merge(a.i, b.i), range_merge(a.m, b.m), range_merge(a.s, b.s) FROM spans a, spans b
SELECT n, i @> e, e <@ i, b @> e::bigint, m @> e::numeric, i @> 3, 3 <@ i, m @> 1.5, m @> 2.250, m @> -1.5 FROM spans
SELECT n, d @> date '2024-01-31', date '2024-02-01' <@ d, s @> timestamp '2024-01-01', s @> timestamp '2024-01-01 12:30:00.5', z @> timestamptz '2024-01-01 13:30+01' FROM spans
SELECT n, i @> NULL::int, i @> NULL::int4range, NULL::int4range && i, i && '[2,3)', '[2,3)' <@ i, i = '[1,4]', i @> '(1,2]' FROM spans
SELECT n, lower(i), upper(i), lower(b), upper(b), lower(d), upper(d), lower(s), upper(s), lower(z), upper(z) FROM spans
SELECT n, lower(m), upper(m), lower(m) + 1 FROM spans
SELECT n, isempty(i), lower_inc(i), upper_inc(i), lower_inf(i), upper_inf(i) FROM spans
SELECT n, isempty(m), lower_inc(m), upper_inc(m), lower_inf(m), upper_inf(m) FROM spans
SELECT n, isempty(s), lower_inc(s), upper_inc(z), lower_inf(s), upper_inf(z) FROM spans
SELECT n, int4range(-10, e), int4range(NULL, e, '[]'), int4range(e, NULL, '()'), int8range(e, 9000, '(]') FROM spans WHERE n NOT IN (7, 8)
SELECT n, numrange(0, abs(e), '[]'), numrange(e, e, '[]'), numrange(e, e), daterange('2024-01-01', date '2024-01-01' + abs(e)) FROM spans
SELECT n, int4range(e, e, '[]') && i, int4range(e, e + 1) <@ i FROM spans
SELECT n, CASE WHEN e > 0 THEN int4range(0, e) END, CASE WHEN n IN (1, 4) THEN x::int4range END FROM spans
SELECT n, tsrange(lower(s), upper(s), '(]'), tstzrange(lower(z), NULL), daterange(lower(d), upper(d), '[]') FROM spans
SELECT n, coalesce(i, '[1,1]'), nullif(i, '[1,4]'), greatest(i, '[1,4)'), least(i, int4range(1, 4), NULL) FROM spans
SELECT n, 'range ' || i || '!', left(i::text, 2), to_jsonb(i), length(z::text) FROM spans
SELECT i FROM spans UNION SELECT '[1,4]' UNION SELECT NULL ORDER BY i
SELECT i FROM spans EXCEPT SELECT int4range(1, 5)
SELECT n FROM spans WHERE i IN ('[1,4]', 'empty', '[5,9]')
SELECT n FROM spans WHERE i > int4range(1, 4) AND i < '[5,11)'
SELECT n FROM spans WHERE i BETWEEN '(,)' AND '[1,5)'
SELECT n, i IS NULL, i IS DISTINCT FROM '[1,5)', i IS NOT DISTINCT FROM NULL FROM spans
SELECT array_agg(i ORDER BY n), (array_agg(i ORDER BY n))[1], array_agg(m ORDER BY m, n) FROM spans
SELECT n, row_number() OVER (ORDER BY i, n), lag(i) OVER (ORDER BY i, n), count(*) OVER (PARTITION BY i) FROM spans
SELECT n, rank() OVER (ORDER BY m), dense_rank() OVER (ORDER BY i DESC) FROM spans
SELECT n, (i, n) < ('[1,5)', 5), (i, n) = (int4range(1, 5), 1) FROM spans
SELECT string_agg(i::text, ' ' ORDER BY i, n), min(lower(i)), max(upper(m)) FROM spans
SELECT a.n, (SELECT count(*) FROM spans b WHERE b.i @> a.e) FROM spans a
SELECT n FROM spans a WHERE EXISTS (SELECT 1 FROM spans b WHERE b.i -|- a.i)
SELECT '(1,5]'::int4range, '[1,1)'::int8range, '[2024-01-01,2024-01-31]'::daterange, int4range '(,3)', daterange '(,)', CAST('[1.5,2]' AS numrange)
SELECT '["2024-01-01 10:00", "2024-01-01 11:00:00.25")'::tsrange, '[2024-01-01 10:00+02,]'::tstzrange, '(Jan 1 2024,"2024-01-02")'::tsrange
SELECT ' empty '::int4range, 'EMPTY'::numrange, '( 1 , 3 )'::int4range, '["1","3"]'::int4range, '(1\2,"1""3"]'::text
SELECT int4range(1, 5), int4range(1, 5, '[]'), int4range(1, 5, '()'), int4range(1, 5, '(]'), int4range(NULL, NULL), int4range(3, 3), int4range(3, 3, '[]')
SELECT numrange(1.5, 2.5), numrange(-1.5, NULL, '(]'), int8range(1, 9000000000), daterange('2024-01-01', '2024-03-01', '[]'), tsrange('2024-01-01', '2024-01-02'), tstzrange('2024-01-01+00', NULL)
SELECT '{"[1,3)",empty,NULL,"(,)"}'::int4range[], ARRAY[int4range(1, 3), 'empty'], ARRAY[tsrange('2024-01-01', NULL)]
SELECT int4range(1, 3) = ANY (ARRAY['[1,2]'::int4range, 'empty']), '[5,6)' = ANY (ARRAY[int4range(1, 3)]), ARRAY[int4range(1, 2)] @> ARRAY['[1,2)'::int4range]
SELECT lower('ABC'), upper('abc'), lower('[1,2)'::int4range), upper('[1,2)'::numrange)
SELECT range_merge('[1,2)'::int4range, '[5,6)'), '[1,2)'::int4range + '[2,3)', '[1,5)'::int4range - '[3,9)', '[1,5)'::int4range * '[3,9)', '[1,5)'::int4range - 'empty', '[1,5)'::numrange - '[0,2]'
SELECT r FROM (VALUES ('[1,2)'::int4range), ('empty'), (NULL), ('(,)')) AS v (r) ORDER BY r NULLS FIRST
SELECT numrange(-1, 1) @> 0.0, numrange(10, 20) && numrange(15.5, NULL), '[100,200)'::numrange < '[20,30)', '[-100,0)'::numrange < '[-20,0)', '[-1.5,0)'::numrange < '[-1.25,0)', '[0.01,1)'::numrange > '[0.001,1)'
