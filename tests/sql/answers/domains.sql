SELECT n, a, c, q, m, p FROM goods ORDER BY n
SELECT a + 1, c || 'x', q * 2, p[1], length(c), upper(m::text) FROM goods
SELECT n FROM goods WHERE a > 1 AND c >= 'ab'
SELECT n, k::positive FROM goods WHERE n > 1
SELECT k::positive::small FROM goods WHERE k BETWEEN 1 AND 99
SELECT s::small, s::price, s::positive::text FROM goods WHERE n < 3
SELECT (n * 1.239)::price, c::text::code, 'abcd'::code FROM goods WHERE c IS NOT NULL
SELECT NULL::positive, NULL::code, n FROM goods
SELECT max(a), min(c), sum(q), count(m), avg(a) FROM goods
SELECT a, count(*) FROM goods GROUP BY a
SELECT CASE WHEN n > 2 THEN a ELSE k END, coalesce(a, 5), greatest(a, k) FROM goods
SELECT g.n, h.n FROM goods g JOIN goods h ON g.a > h.a
SELECT n, (SELECT a FROM goods h WHERE h.n = g.k) FROM goods g
SELECT m, p, m::mood, p::text FROM goods ORDER BY n DESC
SELECT 1::positive, '7'::small, (1 + 1)::price, 'ok'::fine, '{1,2}'::pair, ARRAY[3]::pair
SELECT x::positive FROM (VALUES ('1'), ('2')) v (x)
SELECT row_number() OVER (ORDER BY n)::positive FROM goods
SELECT DISTINCT (n > 0)::int::positive FROM goods
SELECT n FROM goods WHERE a IN (1, 99) OR c = 'ab' ORDER BY n
