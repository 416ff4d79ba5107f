SELECT n, i, s::text, x::int4range, x::numrange, lower(i), upper(b), lower(m), upper(d), lower(s), upper(z), isempty(i), lower_inc(m), upper_inc(z), lower_inf(b), upper_inf(s) FROM spans
SELECT a.n, b.n, a.m < b.m, a.m >= b.m, a.m = b.m, a.i @> b.i, a.i <@ b.i, a.m && b.m, a.m << b.m, a.m >> b.m, a.s &< b.s, a.s &> b.s, a.i -|- b.i, a.d * b.d, range_merge(a.z, b.z) FROM spans a, spans b
SELECT n, i @> e, e::numeric <@ m, d @> date '2024-01-31', s @> timestamp '2024-01-01 12:30:00.5', z @> timestamptz '2024-01-01 13:30+01', i - '[3,4)' FROM spans WHERE n NOT IN (1, 4, 5, 7)
SELECT n, int4range(e, e + 2), numrange(NULL, e, '[]'), daterange(lower(d), upper(d), '[]'), tstzrange(lower(z), NULL), CASE WHEN n IN (1, 4) THEN x::int4range + '[1,6)' END, greatest(i, '[1,4)'), least(m, '[1,1]') FROM spans
SELECT i, count(*), array_agg(n ORDER BY m, n) FROM spans GROUP BY i ORDER BY i DESC
SELECT a.n, b.n FROM spans a JOIN spans b ON a.i && b.i AND a.b < b.b
SELECT n, rank() OVER (ORDER BY m), lag(i) OVER (ORDER BY d, n), to_jsonb(i), i IN ('[1,4]', 'empty') FROM spans ORDER BY m, i, n
