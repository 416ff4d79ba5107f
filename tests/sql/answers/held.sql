SELECT * FROM held
SELECT n FROM held WHERE i = interval '30 days'
SELECT n, i > interval '1 day', i + interval '1 day', -i FROM held
SELECT count(*), count(DISTINCT i) FROM held
SELECT count(*), min(n) FROM held GROUP BY i ORDER BY 2
SELECT h.n, o.n FROM held h JOIN held o USING (i)
SELECT n, rank() OVER (ORDER BY i NULLS FIRST) FROM held ORDER BY i NULLS FIRST, n
SELECT sum(i), avg(i), max(i), min(i) FROM held
SELECT n, a = '{1,NULL,3}', a <> ARRAY[1], k IS NULL, a IS NOT DISTINCT FROM '{}' FROM held
SELECT a, count(*), array_agg(n ORDER BY n) FROM held GROUP BY a ORDER BY 3
SELECT DISTINCT x FROM held
SELECT DISTINCT k, b, m FROM held
SELECT d, count(*) FROM held GROUP BY d
SELECT n FROM held WHERE a = ARRAY[1, 2 - 2 + 1, 3] OR a = ARRAY[2, 1] OR x = '{x}'
SELECT h.n, o.n FROM held h JOIN held o ON h.x = o.x
SELECT n, a[1], a[2], cardinality(a), array_length(k, 1), array_length(x, 1), 1 = ANY (a), x || 'more'::text FROM held
SELECT n, e FROM held, unnest(a) AS e
SELECT n, e FROM held, unnest(x) AS e WHERE e IS NOT NULL
SELECT n, a::text, k::text, x::text, b::text, m::text, i::text FROM held
SELECT n, a::bigint[], k::numeric[], b::text[], a::double precision[], m::int[], a::text[] FROM held
SELECT a FROM held EXCEPT SELECT a FROM held WHERE n > 2
SELECT x FROM held INTERSECT SELECT x FROM held WHERE n = 5
SELECT a FROM held UNION SELECT '{7}'
SELECT n, coalesce(a, '{0}'), CASE WHEN n < 3 THEN x END, coalesce(i, '1 day') FROM held
SELECT count(DISTINCT a), count(DISTINCT x), count(a) FROM held
SELECT max(a), min(x) FROM held
SELECT n FROM held ORDER BY a NULLS FIRST, n
SELECT n, a < ARRAY[1, 2], x >= '{x}' FROM held
SELECT array_append('{1}'::int[], 2), array_prepend(1, '{2}'::int[]), array_cat('{1}'::int[], '{2}'::int[]), array_remove('{1,2}'::int[],1), array_replace('{1,2,1,NULL}'::int[],1,9), array_replace('{1,NULL}'::int[],NULL,9)
SELECT array_append(NULL::int[], 2), array_prepend(1, NULL::int[]), array_cat(NULL::int[], '{2}'::int[]), array_append('{1}'::int[], NULL), array_append('{}'::text[], 'a')
SELECT n, array_ndims(a), array_dims(a), array_reverse(a), array_append(a, n), array_prepend(n, a), array_replace(x, 'x', 'y') FROM held
