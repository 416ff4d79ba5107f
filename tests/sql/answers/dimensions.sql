SELECT * FROM grids
SELECT ARRAY[[1,2],[3,4]], ARRAY[ARRAY[1,2],ARRAY[3,4]], ARRAY[[[1,2],[3,4]],[[5,6],[7,8]]], ARRAY[['a','b c']], ARRAY[[1,NULL]]
SELECT '{{1,2},{3,4}}'::int[], '{{1}, {2}}'::int[][], '{1,2}'::int[][], ' { { 1 , 2 } , {3,NULL} } '::bigint[], '[1:2][1:1]={{1},{2}}'::int[], '{{a b,"c, d"},{"",null}}'::text[]
SELECT '{}'::int[][], '{{}}'::int[], '{{},{}}'::int[], ARRAY[[]]::int[], ARRAY[[[]]]::int[][], ARRAY[]::int[][]
SELECT ARRAY[ARRAY[1, 2], ARRAY['3', '4']]::int[], ARRAY[[1,2],[3,4]]::bigint[], ARRAY[[1.5,2]]::int[], ARRAY[['1','2']]::numeric[], ARRAY[['1','2']]::int[][], ARRAY['{1,2}', '{3,4}']::text[]
SELECT '{{1,2}}'::text::int[], '{{1,2}}'::int[]::text, ARRAY[[true,false]]::text, ARRAY[['a b']]::text[]::text, ARRAY[[NULL]]::int[]::text
SELECT ARRAY[s, s] FROM grids WHERE n IN (1, 2, 3)
SELECT n, ARRAY[s, s]::bigint[], ARRAY[s, s]::text FROM grids WHERE n <> 7
SELECT ARRAY[NULL::int[], NULL], ARRAY['{}'::int[], NULL], ARRAY[1, 2], ARRAY[ARRAY[1, 2], '{3,4}']
SELECT n, a[1][1], a[2][1], a[1], a[1][2][1], a[3][1], a[0][1], c[1][1][2], c[n][1][1], x[1][1], (ARRAY[[1,2],[3,4]])[2][n] FROM grids
SELECT n, a[1:1], a[1:2][1:1], a[:][2:], a[2], a[1:2][2], a[2:][1:5], a[3:9], a[1:2][3:9], a[1:NULL], a[NULL:][1], a[1:1][1:1][1:1] FROM grids
SELECT n, c[1:1][2:2], c[1:1][2:2][1:1], c[:2], x[1:1], s[1:1][1:1], s[1][1] FROM grids
SELECT ('{{1,2},{3,4}}'::int[])[1:2][1:1], (ARRAY[[1,2],[3,4]])[2:2], (ARRAY[1,2])[1][1], (ARRAY[[1,2],[3,4]])[1]
SELECT n, array_dims(a), array_ndims(a), array_length(a, 1), array_length(a, 2), array_length(a, 3), array_length(a, 0), array_length(a, n), cardinality(a) FROM grids
SELECT n, array_upper(a, 1), array_upper(a, 2), array_lower(a, 1), array_lower(a, 2), array_lower(a, 3), array_dims(c), array_ndims(c), array_length(c, 3), cardinality(c), cardinality(x) FROM grids
SELECT n, e FROM grids, unnest(a) AS e
SELECT n, e, o FROM grids, unnest(c) WITH ORDINALITY AS r (e, o)
SELECT n, unnest(x) FROM grids
SELECT n, i, j, a[i][j] FROM grids, generate_subscripts(a, 1) AS i, generate_subscripts(a, 2) AS j ORDER BY n, i, j
SELECT generate_subscripts(ARRAY[[1,2,3],[4,5,6]], 1), generate_subscripts('{{1,2,3},{4,5,6}}'::int[], 2)
SELECT n, a || a, a || ARRAY[9, 9], ARRAY[9, 9] || a, array_cat(a, '{{8,8}}'), a || '{7,7}' FROM grids WHERE n NOT IN (3, 4, 5, 8)
SELECT n, a || '{}', a || '{}'::int[], '{}'::int[][] || a, a || NULL, NULL || a, ARRAY[1] || '{}'::int[][] FROM grids
SELECT ARRAY[[1,2]] || ARRAY[]::int[], ARRAY[[]]::int[] || ARRAY[1,2], ARRAY[[1,2],[3,4]] || ARRAY[[5,6]], ARRAY[1,2] || ARRAY[[3,4],[5,6]], ARRAY[[[1,2]]] || ARRAY[[3,4]], ARRAY[[[[[]]]]]::int[] || ARRAY[[1,2]], array_cat(ARRAY[[]]::int[], ARRAY[[[[]]]]::int[])
SELECT n, array_cat(c, a), array_cat(a, c) FROM grids WHERE n = 1
SELECT n, array_to_string(a, ','), array_to_string(x, '-', '?'), array_to_string(c, '') FROM grids
SELECT n, array_replace(a, 1, 100), array_replace(x, NULL, 'none'), array_replace(x, 'x', NULL), array_replace(c, NULL, n) FROM grids
SELECT n, 3 = ANY (a), 3 <> ALL (a), n < ANY (c), n >= ALL (a), 'x' = ANY (x), NULL = ANY (a) FROM grids
SELECT 3 = ANY (ARRAY[ARRAY[1, 2], ARRAY[3,4]]), 5 <> ALL (ARRAY[[1, 2], [3,4]]), 3 = ANY ('{{1,2},{3,4}}'), 3 > ALL ('{{1},{2}}'::int[]), 2 = ALL (ARRAY[[2],[2]]), n < ANY (ARRAY[[1,2],[n,9]]) FROM grids
SELECT n, a @> ARRAY[1], a @> '{{4,3}}', a && s, s <@ a, a <@ c FROM grids
SELECT n, a = '{{1,2},{3,4}}', a <> ARRAY[[1,2]], a = ARRAY[1,2,3,4], a IS NOT DISTINCT FROM '{}', a = '{}'::int[], a IS NULL, a = s, a < s, a >= c, s <> c FROM grids
SELECT n, a < '{{1,2}}', a <= ARRAY[[1],[5]], a > '{{1,2},{3,3}}', a >= a, a IS DISTINCT FROM c FROM grids
SELECT g.n, h.n, g.a < h.a, g.a = h.a, g.c < h.c, g.x < h.x, g.m < h.m FROM grids g, grids h
SELECT ARRAY[1] < ARRAY[[1]], ARRAY[1] = ARRAY[[1]], ARRAY[2] > ARRAY[[1]], '{}'::int[] = '{}'::int[][], ARRAY[[1,2],[3,4]] < ARRAY[[1],[2],[3],[4]], ARRAY[[1],[5]] > ARRAY[[1,2]]
SELECT n FROM grids ORDER BY a, n
SELECT n FROM grids ORDER BY c DESC NULLS LAST, n DESC
SELECT n, rank() OVER (ORDER BY a), count(*) OVER (PARTITION BY a) FROM grids
SELECT a, count(*), array_agg(n ORDER BY n) FROM grids GROUP BY a ORDER BY 3
SELECT DISTINCT a FROM grids
SELECT count(DISTINCT a), count(a), min(a), max(a), min(c), max(x) FROM grids
SELECT g.n, h.n FROM grids g JOIN grids h ON g.a = h.a
SELECT g.n, h.n FROM grids g JOIN grids h USING (x)
SELECT a FROM grids EXCEPT SELECT a FROM grids WHERE n > 6
SELECT a FROM grids UNION SELECT '{{7}}'
SELECT n, coalesce(a, '{{0}}'), coalesce(a, '{}'::int[]), CASE WHEN n < 3 THEN a END, CASE WHEN n < 3 THEN a ELSE NULL::int[] END, nullif(a, '{{1,2}}') FROM grids
SELECT n, greatest(a, '{{1,2},{3,3}}'), least(a, '{{2}}') FROM grids
SELECT array_agg(s ORDER BY n) FROM grids WHERE n IN (1, 2, 6)
SELECT n % 2, array_agg(s), array_agg(a ORDER BY n DESC), array_agg(DISTINCT s) FROM grids WHERE n IN (1, 2, 6, 7) AND n <> 6 AND s IS NOT NULL GROUP BY 1
SELECT ARRAY(SELECT s FROM grids WHERE n IN (1, 2, 6) ORDER BY n DESC), ARRAY(SELECT a FROM grids WHERE n IN (1, 7)), ARRAY(SELECT a FROM grids WHERE n > 9)
SELECT array_agg(s ORDER BY n) FILTER (WHERE n < 3), array_agg(s) FILTER (WHERE n > 8) FROM grids
SELECT n, to_jsonb(a), to_jsonb(x), jsonb_build_object('c', c), to_jsonb(m) FROM grids
SELECT array_fill(5, ARRAY[3, 2]), array_fill(7, ARRAY[2]), array_fill('x'::text, ARRAY[1, 2, 3]), array_fill(1, ARRAY[4, 0]), array_fill(1, ARRAY[0, 4]), array_fill(NULL::int, '{2,2}'), array_fill(5, ARRAY[2], ARRAY[1]), array_fill(1, '{}'::int[])
SELECT n, array_fill(n, ARRAY[n % 3, 2]), (array_fill(5, ARRAY[3, 2]))[n][2] FROM grids
SELECT array_length(array_fill(1, ARRAY[99, 101]), 2), cardinality(array_fill(1, ARRAY[9, 11, 3]))
SELECT n, trim_array(a, 1), array_reverse(a) FROM grids WHERE n NOT IN (3)
SELECT n, a::text, a::bigint[], m::int[], x::text, c::text[], a::numeric[][] FROM grids
SELECT n, row(a, n), row(a, n) < row(c, n) FROM grids WHERE false
SELECT n FROM grids WHERE row(a, n) > row('{{1,2},{3,4}}'::int[], 1)
SELECT n, (SELECT a FROM grids h WHERE h.n = g.n - 1), EXISTS (SELECT FROM grids h WHERE h.a = g.a AND h.n <> g.n), a IN (SELECT a FROM grids h WHERE h.n > 4) FROM grids g
SELECT format('%s', ARRAY[[1,2]])
SELECT '1 2 3'::int2vector, ''::int2vector, '7'::oidvector, '1'::text::int2vector, ('1 2 3'::int2vector)[1], '1 2'::int2vector::text, array_length('1 2'::int2vector, 1), array_lower('1 2'::int2vector, 1), array_upper('1 2'::int2vector, 1), array_dims('4 5'::int2vector)
SELECT '{1,2}'::int2[] || '3'::int2vector, array_cat('{1,2}'::int2[], '3'::int2vector), '1 2'::int2vector = '1 2'::int2vector
SELECT ('{1 2 3, 4 5 6}'::int2vector[])[2], (('{1 2 3, 4 5 6}'::int2vector[])[2])[1], ('{1 2 3, 4 5 6}'::int2vector[])[2][1], '{1 2, 3 4}'::int2vector[], ARRAY['1 2'::int2vector, '3 4']::text
SELECT n, e FROM grids, information_schema._pg_expandarray(a) AS r (e, i)
SELECT '{0 second,@ 1 hour @ 42 minutes}'::interval[] AS spans, cardinality('{{1 mon},{2 days}}'::interval[]) AS count
