SELECT n, i, i::text FROM ids
SELECT n, s::uuid FROM ids WHERE n <> 3
SELECT a.n, b.n FROM ids a JOIN ids b ON a.i = b.i
SELECT n, i FROM ids ORDER BY i DESC NULLS LAST, n
SELECT i, count(*), array_agg(n ORDER BY n) FROM ids GROUP BY i ORDER BY i
SELECT DISTINCT i FROM ids WHERE i IS NOT NULL
SELECT count(DISTINCT i), count(i) FROM ids
SELECT n FROM ids WHERE i = '{01234567-89AB-CDEF-0123-456789ABCDEF}'
SELECT n FROM ids WHERE i IN ('ffffffffffffffffffffffffffffffff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')
SELECT n FROM ids WHERE i > '0fffffff-0000-0000-0000-000000000000' AND i <> (CASE WHEN n <> 3 THEN s END)::uuid
SELECT n, i < 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', i <= i, i IS DISTINCT FROM NULL FROM ids
SELECT n, coalesce(i, '12345678123456781234567812345678'), CASE WHEN n = 1 THEN i END, nullif(i, 'ffffffff-ffff-ffff-ffff-ffffffffffff') FROM ids
SELECT n, 'id ' || i || '!', left(i::text, 8), to_jsonb(i), md5(i::text) FROM ids
SELECT i FROM ids UNION SELECT '11111111-1111-1111-1111-111111111111' UNION SELECT NULL
SELECT array_agg(i ORDER BY n), (array_agg(i ORDER BY n))[1] FROM ids
SELECT n, CASE WHEN n IN (3, 4) THEN NULL ELSE s::uuid END FROM ids
SELECT 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid, CAST('a0eebc999c0b-4ef8bb6d6bb9bd380a11' AS uuid), uuid '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}', NULL::uuid
SELECT '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}'::uuid[], ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid]
SELECT length(gen_random_uuid()::text), substr(gen_random_uuid()::text, 15, 1), gen_random_uuid() <> gen_random_uuid()
SELECT count(DISTINCT u), count(*) FROM (SELECT gen_random_uuid() AS u FROM ids) AS random
SELECT count(*) FROM (SELECT u = u AS same FROM (SELECT gen_random_uuid() AS u FROM ids) AS random) AS compared WHERE same
SELECT count(*) FROM (SELECT gen_random_uuid() AS u, gen_random_uuid() AS v, random() AS r, random() AS s FROM ids) AS random WHERE u = v OR r = s
