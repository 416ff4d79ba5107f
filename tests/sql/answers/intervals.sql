SELECT interval '1 year 2 mons 3 days 04:05:06', interval 'P1Y2M3DT4H5M6S', interval '1-2', interval '-1-2 +3 -4:05:06', interval '1.5 years'
SELECT interval '1.5 mons', interval '0.7 weeks', interval 'P0001-02-03T04:05:06', interval 'P00010203T040506', interval 'PT1.5S', interval '@ 1 min ago'
SELECT interval '1:30.5', interval 'P1.5Y', interval 'P-1Y-2M', interval '2 decades 3 centuries 1 millennium', interval '1 mon -1 day +2:03:04.5'
SELECT interval '3' month, interval '1-2' year to month, interval '1 2:03:04' day to second, interval '1 2:03' day to minute, interval '1 2' day to hour
SELECT interval '1 year 14 mons 3 days 04:05:06' year, interval '1 year 14 mons 3 days 04:05:06' day, interval '1 day 04:05:06' hour, interval '2:03' minute to second
SELECT interval '1.23456' second(3), interval(2) '1 day 00:00:01.23456', interval '5' day, interval '90' minute, interval '1.5' hour, interval '2' year, interval '7' second
SELECT interval '1.1 days', interval '-1.5 mons', interval '0.1 years', interval '1.75 weeks', interval '1.999999 mons', interval '3 msec 5 usec', interval '4 hrs 5 mins'
SELECT date '1994-01-01' + interval '3 month', date '2024-01-31' + interval '1 month', timestamp '2024-03-31 12:00' - interval '1 mon', date '1998-12-01' - interval '90' day
SELECT timestamptz '2024-02-29 23:00+00' + interval '1 year 1 day 02:00', interval '-1 mon' + timestamp '2024-03-31', timestamp '2024-03-31' + interval '1 mon -1 day'
SELECT timestamp '2024-03-01 05:00' - timestamp '2024-02-28 06:30', timestamp '2024-02-28 06:30' - timestamp '2024-03-01 05:00', - interval '1 mon -2 days 3:00'
SELECT interval '1 mon 2 days 03:00' + interval '1 year -5 days', interval '1 mon' - interval '30 days', interval '1 mon 3 days 01:01:01' * 1.5, 2.5 * interval '1 mon', interval '1 year 1 mon' / 7
SELECT interval '1 mon' = interval '30 days', interval '1 mon' < interval '31 days', interval '24 hours' >= interval '1 day', interval '1 year' IN (interval '360 days', interval '1 hour')
SELECT interval '1 mon' IS NOT DISTINCT FROM interval '720 hours', interval '1 day' BETWEEN interval '23 hours' AND interval '25 hours', nullif(interval '1 day', interval '24:00'), greatest(interval '1 mon', interval '29 days 24:00:01', NULL)
SELECT e + interval '1 mon', e - interval '1 year 2 mons', e - timestamp '2013-02-01', (e - timestamp '2013-02-01') * 2, -(e - timestamp '2013-02-01') FROM t
SELECT a * interval '1 mon 1 day', interval '1 mon' * a, interval '1 mon 1 day' * c, interval '1 year' / a FROM t
SELECT x + a * interval '1 month', x - interval '1 month' * a, z + a * interval '1 month 1 hour', x + (a * interval '1 mon' + interval '2 days') FROM u
SELECT sum(a * interval '1 mon 3 days 10:00'), avg(a * interval '1 mon 3 days 10:00'), min(a * interval '1 mon'), max(interval '1 mon' * -a), count(a * interval '1 day') FROM t
SELECT b, sum(e - timestamp '2013-01-01'), avg(e - timestamp '2013-01-01'), max(e - timestamp '2013-01-01') FROM t GROUP BY b
SELECT i, count(*) FROM (SELECT a * interval '1 mon' AS i FROM t UNION ALL SELECT a * interval '1 mon' FROM u) s GROUP BY i ORDER BY i
SELECT count(*), count(DISTINCT i) FROM (VALUES (interval '1 mon'), (interval '30 days'), (interval '720:00'), (interval '1 day'), (NULL)) v(i)
SELECT count(*) FROM (SELECT DISTINCT i FROM (VALUES (interval '1 mon'), (interval '30 days'), (interval '720:00'), (interval '1 day'), (NULL)) v(i)) s
SELECT count(*) FROM (VALUES (interval '1 mon'), (interval '2 days')) v(i) JOIN (VALUES (interval '30 days'), (interval '48:00'), (interval '1 day')) w(i) USING (i)
SELECT count(*) FROM (SELECT interval '1 mon' UNION SELECT interval '30 days' UNION SELECT interval '1 hour') s
SELECT i FROM (VALUES (interval '1 mon'), (interval '29 days 23:00'), (interval '31 days'), (interval '-1 year'), (interval '0')) v(i) ORDER BY i DESC
SELECT i, rank() OVER (ORDER BY i), count(*) OVER (PARTITION BY i) FROM (VALUES (interval '31 days'), (interval '1 mon'), (interval '1 day'), (interval '2 mons')) v(i)
SELECT n, rank() OVER (ORDER BY i), count(*) OVER (PARTITION BY i), min(n) OVER (ORDER BY i) FROM (VALUES (interval '30 days', 1), (interval '1 mon', 2), (interval '1 day', 3), (interval '2 mons', 4)) v(i, n)
SELECT n FROM (SELECT DISTINCT ON (i) i, n FROM (VALUES (interval '30 days', 1), (interval '1 mon', 2), (interval '1 day', 3)) v(i, n) ORDER BY i, n) s
SELECT CASE interval '1 mon' WHEN interval '30 days' THEN 'same' ELSE 'other' END, coalesce(NULL, interval '1 mon'), interval '1 day' = ANY (ARRAY[interval '24:00'])
SELECT s FROM generate_series(timestamp '2024-01-31', timestamp '2024-06-30', interval '1 month') s
SELECT s FROM generate_series(timestamp '2024-06-30', timestamp '2023-11-01', interval '-1 month -1 day') s
SELECT extract(epoch FROM interval '1 year 2 mons 3 days 04:05:06.5'), extract(month FROM interval '14 mons'), extract(year FROM interval '-14 mons'), extract(hour FROM interval '-100:30')
SELECT extract(second FROM interval '1:02:03.5'), extract(minute FROM interval '-1:02:03.5'), extract(milliseconds FROM interval '3.25 sec'), extract(day FROM interval '40 days 25:00'), extract(quarter FROM interval '7 mons')
SELECT (SELECT a * interval '1 mon' FROM w WHERE a = 2), array_agg(a * interval '1 day') FROM t WHERE a = 1
SELECT x FROM u WHERE x < date '2013-01-01' + interval '2 mons' AND x >= date '2013-02-28' - interval '58 days'
SELECT x FROM u WHERE x <= timestamp '2013-02-28 00:00' OR x > timestamp '2013-02-28 00:00:01'
SELECT interval '1 2 hours', interval '- 1 day', interval '1.', interval '.5 day', interval '@1 day, 2 hours', interval '1 day 2'
SELECT interval 'P2W', interval 'P1DT1H', interval 'P1Y-3DT-4H', interval 'P0.5Y', interval 'PT0.000001S', interval 'P1-2-3T1:2:3', interval 'P1-2', interval 'PT1:2'
SELECT interval '1:2:3.4567891', interval '100:59:59', interval '-0:00:01', interval '+1 day', interval '1 day 60 minutes', interval '1 minutes 61 seconds', interval '178000000 years'
SELECT interval 'P1', interval 'P1YT', interval 'PT5', extract(decade FROM interval '25 years'), date_part('second', interval '2:03.5'), date_part('epoch', interval '1 mon')
SELECT justify_hours(i), justify_days(i), justify_interval(i), i::text FROM (VALUES (interval '1 mon -1 hour'), (interval '-35 days 49:00'), (interval '3 days -80:00:00.5'), (interval '-1 year 70 days'), (interval '0'), (NULL)) v(i)
SELECT age(e, timestamp '2011-03-31 06:00'), age(timestamp '2012-02-29', e), age(e, e) FROM t
SELECT age(z, timestamptz '2010-12-31 23:59:59.5+00'), age(x, date '2000-02-29') FROM u
SELECT make_interval(a, 2, 3, 4, 5, 6, c), make_interval(a), make_interval(1, a), make_interval(0, 0, 0, 0, 0, 0, 1.5) FROM t
SELECT date_bin('15 minutes', e, timestamp '2001-01-01'), date_bin('7 days 1 hour', e, timestamp '2020-01-01') FROM t
SELECT date_bin('1 hour 30 minutes', z, timestamptz '2001-01-01 00:10+00') FROM u
SELECT date_trunc('year', i), date_trunc('quarter', i), date_trunc('month', i), date_trunc('day', i), date_trunc('hour', i), date_trunc('second', i) FROM (VALUES (interval '23 mons 5 days 13:14:15.5'), (interval '-23 mons -5 days -13:14:15.5')) v(i)
SELECT i::text, i || '!' FROM (VALUES (interval '1 year 2 mons 3 days 04:05:06.789'), (interval '-1 mon +1 day -0:00:00.000001'), (interval '-1 day +100:00'), (interval '-13 mons +02:00')) v(i)
SELECT (e - timestamp '2012-12-31 12:00:00.25')::text FROM t
SELECT interval '12:34' minute, interval '12:34' minute to second, interval '12:34:56' hour, interval '12:34:56' minute, decode(' ab cd ', 'hex')
SELECT (x || ' days')::interval::text, (x::text || ':30 hours ago')::interval::text, timestamp '2024-03-31' - (x || ' months')::interval FROM (VALUES (1), (2), (NULL)) v(x)
SELECT x::interval::text FROM (VALUES ('1 day'), ('P1Y2M3DT4H5M6S'), (NULL), ('-1-2 +3 -4:05:06'), ('1 week ago')) v(x)
SELECT ('{1 day,NULL,"2 hours"}'::text[])::interval[]::text
SELECT x + a * 100000000 - a * 100000000, a + x, x - a, x + 1000000 - 1000000 FROM u
SELECT interval '1:', interval '1-', interval '1 2:', interval '1- 2 3:', interval ':::1- ::2 ::::3:', interval '1 0:.27', interval '1::2', interval '-1:', interval '-1-', interval '1:2:'
SELECT a, a * interval '3 years 2 mons -5 days 01:02:03.456789', 1073741823 * interval '1 day' * (a % 2), (9007199254740993::bigint * a) * interval '1 microsecond', a::smallint * interval '-00:00:00.000001', NULL::integer * interval '1 day', a * NULL::interval FROM t
SELECT a * i FROM (SELECT a, a * interval '1 day 01:00' AS i FROM t) t
SELECT ARRAY[interval '1 day'] = ARRAY[interval '24 hours'], ARRAY[interval '1 mon'] < ARRAY[interval '31 days'], ARRAY[interval '1 day', NULL] < ARRAY[interval '24 hours', '1 sec'], ARRAY[[interval '1 day']] = ARRAY[[interval '24 hours']], ARRAY[interval '1 day'] IS DISTINCT FROM ARRAY[interval '24 hours']
SELECT array_position(ARRAY[interval '24 hours'], interval '1 day'), array_positions(ARRAY[interval '24 hours', NULL, '1 day', '2 days'], interval '1 day'), ARRAY[interval '1 day'] @> ARRAY[interval '24 hours'], ARRAY[interval '1 day'] <@ ARRAY[interval '24 hours', '3 days'], ARRAY[interval '1 day'] && ARRAY[interval '24 hours']
SELECT count(DISTINCT ARRAY[i]), min(ARRAY[i])::text, max(ARRAY[i])::text FROM held
SELECT min(n), count(*) FROM held GROUP BY ARRAY[i]
SELECT DISTINCT ARRAY[i, i] = ARRAY[i, interval '30 days'] FROM held
SELECT n, rank() OVER (ORDER BY ARRAY[i, interval '1 day']), count(*) OVER (PARTITION BY ARRAY[i]) FROM held
SELECT a.n, b.n FROM held AS a JOIN held AS b ON ARRAY[a.i] = ARRAY[b.i] AND a.n < b.n
SELECT array_agg(n ORDER BY i, n), array_agg(n ORDER BY i DESC, n), array_agg(n ORDER BY ARRAY[i], n DESC), string_agg(n::text, '' ORDER BY i, n DESC) FROM held
SELECT array_agg(n ORDER BY v, n), array_agg(v ORDER BY v DESC, n) FROM (VALUES (0, interval '1 day'), (1, '24:00'), (2, '1 mon'), (3, '30 days'), (4, '-1 sec'), (5, NULL), (6, '40 days')) AS x (n, v)
SELECT '1 day 00:00:01.234567'::interval(6), CAST('00:00:01.5' AS interval(6)), ARRAY['1.000001 sec']::interval(6)[]
