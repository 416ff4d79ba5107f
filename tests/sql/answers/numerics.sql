SELECT n, m, p, m::text, p::text, 'm=' || m || ' p=' || p FROM amounts
SELECT '0.2'::numeric, '1.10'::numeric, 0.2::numeric, 5::numeric, 1e3::numeric, '-0.050'::numeric, 1.5e-3
SELECT n, s::numeric, p::numeric, k::numeric, n::numeric, m::numeric(30, 2) FROM amounts
SELECT n, m + 1, m - 0.25, -m, abs(m), p + 1, p - 0.125, -p FROM amounts WHERE n < 4
SELECT n, m * 3, p * p, p * 2, m * 0.1 FROM amounts WHERE n < 3
SELECT sum(m), min(m), max(m), count(m) FROM amounts
SELECT sum(p), min(p), max(p), sum(n), sum(k) FROM amounts
SELECT avg(n), avg(p), avg(k) FROM amounts WHERE n > 1
SELECT avg(n) FROM amounts WHERE n = 3
SELECT n, avg(n + 1) OVER (ORDER BY n), sum(m) OVER (ORDER BY n) FROM amounts
SELECT 10 / 4.0, 100 / 3.0, 12345 / 4.0, 1e9 / 7, 123456789.5 / 2, 7.00 / 2, 2.125 / 0.5, -22 / 7.0
SELECT n, p / 4, k / 4.0, p / (k + 1), m / 3, n / 2::numeric FROM amounts WHERE n = 3
SELECT n, round(p / 3, 2), round(m, 2), round(m), round(m, 4), trunc(m, 1), ceil(m), floor(p), round(p, 1) FROM amounts
SELECT round(avg(p), 2), round(avg(n)::numeric, 1), round(sum(m) / 3, 3) FROM amounts
SELECT n, (p / 4)::text, 'ratio ' || k / 4.0 FROM amounts WHERE n = 3
SELECT n, CASE WHEN n = 1 THEN m ELSE p + 0.375 END, coalesce(m, 0.5), greatest(m, 0.25) FROM amounts WHERE n IN (1, 2)
SELECT m FROM amounts WHERE m IN (0.50, 12.1250) ORDER BY m
SELECT DISTINCT m FROM amounts WHERE n < 4 UNION SELECT 0.5
SELECT array_agg(m ORDER BY n), array_agg(p ORDER BY n) FROM amounts
SELECT m, count(*) FROM amounts GROUP BY m ORDER BY m DESC NULLS LAST
SELECT a.m, b.p FROM amounts a JOIN amounts b ON a.m = b.p
SELECT n, to_jsonb(m), to_jsonb(n::numeric), m::int, p::float8, m = p, m > p FROM amounts WHERE n < 4
SELECT n, mod(m, 3), m % 0.5, sign(m), m BETWEEN 0 AND 1 FROM amounts WHERE n < 4
SELECT 0.1::float8::numeric, 1.5::real::numeric, 100::float8::numeric, 12345678901234567890.123456789 + 0.5
SELECT 1.10 + 2, 1.10 * 1.10, 1.10 - 1.10, 3 % 1.25, 2.50 + 0.5, 1.0 = 1.00, 0.00
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY m) FROM amounts
SELECT 1000000.0 / 3, 0.5 / 0.25, 99.99 / 10 * 100, 5 / 2.5 + 1
SELECT round(m, n - 3)::numeric(38, 9), trunc(m, n - 3)::numeric(38, 9), round(p, n - 5)::numeric(38, 9), round(k::numeric, -n)::numeric(38, 9) FROM amounts
SELECT n, round((-2.5 * 10 ^ n)::numeric, -n)::numeric(38, 9), round((0.5 * 10 ^ -n)::numeric, n)::numeric(38, 9), trunc(p * 0.5, n - 3)::numeric(38, 9) FROM amounts
SELECT round(m, NULL), round(m, (SELECT min(n) FROM amounts))::numeric(38, 9), trunc(p, 40 * n - 60)::numeric(38, 9) FROM amounts
SELECT '1.50'::bpchar::numeric, '1.50'::char(4)::numeric, ' 12.00 '::char(10)::numeric
SELECT '1.50'::text::numeric, '1.50'::varchar::numeric, '1.50'::text::numeric(5, 1), NULL::text::numeric
SELECT CASE WHEN false THEN 'x'::text::numeric END
SELECT round((10000.0 / 3) * (2.0 / 3), 6), round((-10000.0 / 3) * (200.0 / 3), 6), round((-1.0 / 3) * (-2.0 / 7), 6), (1e10 / 4) * (1e9 / 8) = 312500000000000000
SELECT n, round((m * 1e9 + n) * (n / 3.0), 3), round((100 * p / 7) * (p * 1e3 / 3), 6), round((m / 8) * (m * 1e12 + 1), 6) FROM amounts WHERE n <> 4
SELECT round(avg(n * 1000) * avg(m * 1000), 3), round(power(10.0, 4) * (avg(p) - 1.0), 3) FROM amounts WHERE n <> 4
SELECT round(avg(n) * 1.1 * 1.1, 12), round((avg(n) / 3 * 1.1 + 1) * 1.21 * avg(n), 12) FROM amounts
SELECT n FROM amounts a WHERE n < (SELECT 1.3 * avg(m) * 1.1 FROM amounts b WHERE b.n >= a.n)
