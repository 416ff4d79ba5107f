SELECT n, at, at::text, at::timestamp, at::date, at::time FROM moments
SELECT n, l::timestamptz, d::timestamptz, l::timestamptz = at, at > d, at <= l FROM moments
SELECT n, s::timestamptz, s::timestamptz::date FROM moments
SELECT n, date_trunc('day', at), date_trunc('hour', at), date_trunc('minute', at), date_trunc('week', at), date_trunc('month', at), date_trunc('quarter', at), date_trunc('year', at), date_trunc('century', at) FROM moments
SELECT n, extract(hour FROM at), extract(day FROM at), extract(second FROM at), date_part('dow', at), extract(epoch FROM at), extract(isoyear FROM at) FROM moments
SELECT n, at + i, at - i, i + at FROM moments
SELECT n, at + interval '1 day', at - interval '1 month', at + interval '24 hours', at + interval '1 day 2 hours', at + interval '-1 year -1 hour', at + NULL::interval FROM moments
SELECT n, to_char(at, 'YYYY-MM-DD HH24:MI:SS.US'), to_char(at, 'HH12:MI AM TZH:TZM OF "TZ" FMDay'), to_char(at, 'OF') FROM moments
SELECT n, to_timestamp(to_char(l, 'DD.MM.YYYY HH24:MI'), 'DD.MM.YYYY HH24:MI'), to_timestamp(to_char(l, 'DD.MM.YYYY HH24') || ' +02', 'DD.MM.YYYY HH24 TZH'), to_date(to_char(l, 'YYYYMMDD'), 'YYYYMMDD') FROM moments
SELECT n, age(at, '2020-02-29 12:00'), age('2024-12-31', at), at - timestamptz '2022-01-01' FROM moments
SELECT n, date_trunc('day', at, 'Europe/Berlin'), date_trunc('hour', at, 'Asia/Kolkata'), at AT TIME ZONE 'Asia/Kolkata', l AT TIME ZONE 'UTC' FROM moments
SELECT n, date_add(at, i, 'Europe/Berlin'), date_subtract(at, i, 'Europe/Berlin'), date_add(at, i), date_add(at, interval '24 hours', 'Europe/Berlin') FROM moments
SELECT n, 'at ' || at, coalesce(at, '2000-01-01'), CASE WHEN n > 1 THEN at ELSE '2022-07-04' END, greatest(at, '2022-07-04 12:00') FROM moments
SELECT n FROM moments WHERE at IN ('2023-11-05 01:40:00', '1970-01-01 00:00+00')
SELECT n FROM moments WHERE at BETWEEN '2022-01-01' AND '2023-11-05 01:41-07'
SELECT n FROM moments WHERE at >= '2022-01-01' AND at < date '2022-01-02'
SELECT date_trunc('day', at), count(*), min(at), max(at::date) FROM moments GROUP BY 1
SELECT n, count(*) OVER (PARTITION BY at::date) FROM moments
SELECT n, array_agg(at) OVER (ORDER BY n) FROM moments
SELECT n, make_timestamptz(2023, 3, 12, n, 30, 0), make_timestamptz(2023, 3, 12, n, 30, 0, 'Europe/Berlin') FROM moments
SELECT n, date_bin('15 min', at, '2001-01-01') FROM moments
SELECT n, at::timestamptz(0), (at + interval '1 day')::timestamptz(0) FROM moments
SELECT timestamptz '2022-01-01', '2022-01-01 12:00'::timestamptz::date, '2022-01-01 00:00+00'::timestamptz::date, '2022-01-01 00:00+00'::timestamptz::timestamp, timestamptz '2022-01-01 00:00 Europe/Berlin', timestamptz 'epoch'
SELECT timestamptz '2023-03-12 02:30', timestamptz '2023-03-12 02:30' + interval '1 day', timestamptz '2023-03-11 02:30' + interval '1 day', timestamptz '2023-03-12 00:30' + interval '2 hours', timestamptz '2023-11-05 01:30'
SELECT '{2022-01-01,"2022-07-01 12:00",NULL}'::timestamptz[], ARRAY[timestamptz '2022-01-01', '2022-07-01']
SELECT timestamptz '1850-01-01', timestamptz '1919-07-01', timestamptz '1945-08-14 12:00', timestamptz '2024-01-01 01:02:03.45'
SELECT generate_series(timestamptz '2023-03-12 00:00', '2023-03-12 05:00', interval '1 hour')
SELECT date '2023-03-12' + time '02:30', (date '2023-03-12' + time '02:30')::timestamptz
SELECT n, day, number FROM moments, LATERAL generate_series(at, at + interval '3 days 12:00', interval '1 day') WITH ORDINALITY AS days (day, number)
SELECT n, generate_series(date_trunc('month', at), at + interval '3 months', interval '1 month') FROM moments
SELECT * FROM generate_series(timestamptz '2023-11-05 12:00', '2023-11-01', interval '-1 day') AS day
SELECT '["2024-01-01 01:00","2024-07-01 02:00+02")'::tstzrange, '{"[2024-07-01 12:00,)",empty}'::tstzrange[], '(,2024-07-01 PDT]'::tstzrange
SELECT n, at <@ '[2023-03-12, 2023-11-05 02:00)'::tstzrange, tstzrange(at, NULL) FROM moments
SELECT make_timestamptz(2023, 3, 12, 4, 30, 0, '+2'), make_timestamptz(2023, 3, 12, 4, 30, 0, '-05:30'), make_timestamptz(2023, 3, 12, 4, 30, 0, 'PST')
SELECT extract(timezone FROM at) AS s, extract(timezone_hour FROM at) AS h, extract(TIMEZONE_MINUTE FROM at) AS m, date_part('timezone', at) AS d FROM moments
SELECT n, ARRAY[at]::text, ARRAY[at, NULL]::text[], ARRAY[ARRAY[at]]::date[], ARRAY[at]::timestamp[], ARRAY[l]::timestamptz[], ARRAY[d]::timestamptz[], ARRAY[s]::timestamptz[] FROM moments
SELECT n, ROW(at, n)::text, array_to_string(ARRAY[at, NULL], ',', '-'), ('{' || n || '}')::text FROM moments
SELECT n, to_jsonb(at), jsonb_build_object('at', at, 'l', l), jsonb_build_object(at, d), jsonb_build_array(at, d), to_jsonb(ROW(at, n)) FROM moments WHERE n IS NOT NULL AND at IS NOT NULL
SELECT jsonb_agg(at ORDER BY n), jsonb_object_agg(n, at) FROM moments WHERE n IS NOT NULL
SELECT to_jsonb(array_agg(at ORDER BY n)) FROM moments WHERE n IS NOT NULL
