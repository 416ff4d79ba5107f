SELECT n, c, c::text, d + c, c + d FROM clocks
SELECT n, s::time FROM clocks
SELECT n, c + interval '1 hour', c - interval '05:00', interval '30 days 20:00' + c, c - time '01:00', time '24:00' - c FROM clocks
SELECT n, c::interval, (c + interval '0'), interval '25:30:00.5'::time, interval '-1 mon 1 day -01:00'::time FROM clocks
SELECT n FROM clocks WHERE c > '04:05:06' AND c < time '24:00'
SELECT n, c = '04:05:06', c BETWEEN '0:00' AND '4:05:06.4', c IS DISTINCT FROM NULL FROM clocks
SELECT c, count(*), array_agg(n ORDER BY n) FROM clocks GROUP BY c ORDER BY c
SELECT n, c FROM clocks ORDER BY c DESC NULLS LAST, n
SELECT min(c), max(c), count(DISTINCT c) FROM clocks
SELECT sum(c), avg(c) FROM clocks WHERE n < 3
SELECT n, extract(hour FROM c), extract(minute FROM c), extract(second FROM c), extract(milliseconds FROM c), extract(microseconds FROM c), extract(epoch FROM c), date_part('epoch', c) FROM clocks
SELECT n, date_trunc('hour', c), date_trunc('minute', c) FROM clocks
SELECT n, (d + c)::time, (d + c + interval '1 us')::time, (d + c)::timestamptz::time FROM clocks
SELECT n, 'at ' || c || '!', to_jsonb(c), coalesce(c, '12:00'), greatest(c, '05:00') FROM clocks
SELECT a.n, b.n FROM clocks a JOIN clocks b ON a.c = b.s::time
SELECT time '04:05', time '04:05:06.789', time '040506', time '0405', time 'T04:05:06', time '4:05 pm', time '12:00 AM', time '04:05:06 PM'
SELECT time '04:05:06-08', time '04:05:06+05:30', time '04:05:06Z', time '2003-04-12 04:05:06', time '04:05.6', time 'allballs'
SELECT time '23:59:60', time '24:00', time '23:59:59.9999999', time '00:00:60', time '04:05:06.', '04:05'::time, CAST('4:5:6' AS time without time zone), NULL::time
SELECT '{04:05,NULL,"23:00"}'::time[], ARRAY[time '04:05', '05:06']
SELECT make_time(8, 15, 23.5), make_time(0, 0, 0), make_time(24, 0, 0), make_time(n, n, n) FROM clocks
SELECT c FROM clocks UNION SELECT '11:11' UNION SELECT NULL
SELECT timestamp '2024-01-01 10:20:30.5'::time, timestamptz '2024-01-01 10:20:30+02'::time, timestamp '1969-12-31 10:20:30.5'::time, localtime = localtimestamp::time
SELECT n, d - c, timestamp '2024-01-01 12:00' + c, timestamp '2024-01-01 12:00' - c, interval '1 day' - c, c * 2, 1.5 * c, c / 2 FROM clocks
SELECT date_trunc('hour', timestamptz '2023-11-05 01:40:00-07', 'America/Los_Angeles'), date_trunc('hour', timestamptz '2023-11-05 01:40:00-08', 'America/Los_Angeles'), date_trunc('day', timestamptz '2023-11-05 15:40:00-08', 'America/Los_Angeles')
SELECT date_trunc('week', z, 'Europe/Berlin'), date_trunc('minute', z, 'Asia/Kolkata') FROM u
SELECT make_timestamp(2024, 2, 29, 23, 59, 59.5), make_timestamptz(2024, 2, 29, 0, 0, 0), make_timestamp(2023 + a, 1, 1, a, 0, c) FROM t WHERE c > 0
SELECT 'De\123dBeEf'::bytea, 'a\\b'::bytea, '\000\377'::bytea, ''::bytea, 'é'::bytea
SELECT n, c::time(0), c::time(3), (c + interval '0.0996 s')::time(1), '23:59:59.9'::time(0), time(2) '10:00:00.125', (timestamp '2024-01-01 10:00:00.5')::time(0), '10:00:00.4999995'::time(6) FROM clocks
SELECT n, extract(year FROM b), extract(decade FROM b), extract(century FROM b), extract(millennium FROM b), extract(isoyear FROM b), date_part('century', b) FROM (SELECT n, d - years AS b FROM clocks CROSS JOIN (VALUES (interval '1999 years'), ('2023 years'), ('2024 years 3 days'), ('2033 years'), ('2124 years'), ('3024 years')) AS ago (years)) AS before
SELECT n, (d - interval '2500 years')::text, (d - interval '2500 years 00:00:01')::date::text, (d - interval '2024 years 1.5 seconds')::timestamptz::text, d::text FROM clocks
SELECT n, to_char(d - interval '2500 years', 'YYYY-MM-DD BC YYY YY Y Y,YYY IYYY b.c.'), to_char(d, 'YYYY BC ad') FROM clocks
SELECT n, date_trunc('decade', d - interval '2025 years')::text, date_trunc('century', d - interval '2025 years')::text, date_trunc('millennium', d - interval '3025 years')::text, date_trunc('year', d - interval '2025 years')::text FROM clocks
SELECT a, z AT TIME ZONE '+5', z AT TIME ZONE '-5:30', timezone('UTC+5', z), z AT TIME ZONE 'nst', z AT TIME ZONE interval '3:15:20.5', x::timestamp AT TIME ZONE '+05:30:10', x::timestamp AT TIME ZONE '<+03>-3', x::timestamp AT TIME ZONE 'acst' FROM u
SELECT unit, date_trunc(unit, e), date_trunc(unit, e::timestamptz), date_part(unit, e) FROM t CROSS JOIN (VALUES ('day'), ('Months'), ('century'), (NULL), ('ms')) AS units (unit)
SELECT unit, date_trunc(unit, i), date_part(unit, i) FROM held CROSS JOIN (VALUES ('day'), ('Months'), ('century'), (NULL), ('decade')) AS units (unit)
SELECT n, date_trunc('decade', i * 1000), date_trunc('century', i * -1000), date_trunc('millennium', i * 100000) FROM held WHERE n <> 4
SELECT '9::60'::time, '9:59:60'::time, '9::59.999999'::time, '9:'::time, '9::.5'::time
