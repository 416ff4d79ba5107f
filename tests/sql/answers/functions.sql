SELECT c, sind(c * 30), cosd(c * 30), tand(c * 10), cotd(c * 10 + 7), atand(c), atan2d(c, 2), asind(c / 10), acosd(c / 10) FROM t
SELECT sind(30), sind(150), sind(-90), sind(450), cosd(60), cosd(120), cosd(-60), tand(45), tand(-45), asind(0.5), asind(-1), acosd(0.5), acosd(-0.5), atand(1), cotd(45)
SELECT a, g, cbrt(g), pow(a, 2), a ^ 3, |/ g AS r, ||/ g AS s, ~a AS i, div(g, 7), div(-g, 7), div(d, 0.3), gcd(a, g::int), lcm(g, 4), log(2, g) FROM t
SELECT num_nulls(a, b, c), num_nonnulls(a, b, NULL), num_nulls(e) FROM t
SELECT width_bucket(c, -3, 6, 4), width_bucket(c, 6, -3, 4), scale(d), min_scale(d) FROM t
SELECT bit_length(b), quote_nullable(b), casefold(b) FROM t
SELECT isfinite(e), isfinite(x), isfinite(z) FROM t, u
SELECT date_add(z, '1 mon'), date_subtract(z, '1 day 2 hours'), date_add(z, '1 day', 'Europe/Berlin') FROM u
SELECT make_timestamptz(2024, 7, 1, 12, 0, 0, 'Europe/Berlin'), make_timestamptz(2024, a, 1, 12, 0, 0, 'Asia/Kolkata') FROM t WHERE a < 4
SELECT make_interval(days => a), make_interval(years => 1, hours => a), make_interval(1, mins => 5) FROM t
SELECT (e, interval '1 day') OVERLAPS (timestamp '2013-01-01', timestamp '2013-01-02'), (e, e) OVERLAPS (timestamp '2013-01-01 05:30', timestamp '2014-01-01') FROM t
SELECT (x, x + 1) OVERLAPS (date '2013-01-01', date '2013-01-02'), (x, NULL) OVERLAPS (date '2013-01-01', date '2013-01-02') FROM u
SELECT date(e), text(a), int4(c), float8(a), bool(a), int8(d), timestamptz(e) FROM t
SELECT date(z), date('2024-01-05') FROM u
SELECT e::timestamp(0), (e + interval '0.4995 s')::timestamp(3), (e - interval '40 years 0.0005 s')::timestamp(3) FROM t
SELECT z::timestamptz(3), (z + interval '1.55 s')::timestamptz(1), timestamp(3) '2024-01-01 10:00:00.1235', '1969-12-31 23:59:59.5'::timestamp(0), '2000-01-01 00:00:00.5'::timestamp(0) FROM u
SELECT 'epoch'::timestamp, date 'epoch', 'epoch'::timestamptz, date 'today' = current_date, 'now'::timestamp <= localtimestamp, date 'tomorrow' - date 'yesterday'
SELECT n, a[1:2], a[2:], a[:2], a[2:1], a[0:1], a[5:9], x[2:3] FROM held
SELECT n, a && ARRAY[3, 4], a @> ARRAY[1], ARRAY[1, 3] <@ a, a @> '{}', a && '{}', x && ARRAY['x', 'y'], a @> ARRAY[NULL]::int[] FROM held
SELECT n, 2 < ANY (a), 2 > ALL (a), 1 <= ALL (a), 1 <> ANY (a), 'a b' LIKE ANY (x), 'A%' ILIKE ANY (x), 'x' NOT LIKE ALL (x), 'x' NOT LIKE ANY (x) FROM held
SELECT a, b, b LIKE ANY (ARRAY['o%', '%o']), b NOT LIKE ALL (ARRAY['o%', '%o']), b ~ ANY (ARRAY['^o', 'e$']), a = ANY ('{1,2}') FROM t
SELECT n, array_positions(a, 1), array_positions(a, NULL), array_position(a, 1, 2), array_position(a, 3, 1), array_sort(a), trim_array(a, 1) FROM held WHERE cardinality(a) > 0
SELECT n, array_to_string(a, ',', '*'), array_to_string(x, '|', 'none'), array_to_string(m, ';'), array_to_string(m, ';', '?') FROM held
SELECT b, string_to_array(b, 'n', 'o'), string_to_array(b, NULL, 'e') FROM t
SELECT b, p FROM t, string_to_table(b, 'n', 'o') AS p
SELECT regexp_count(b, 'o'), regexp_count(b, 'O', 1, 'i'), regexp_count(b, '[a-z]', 2), regexp_count(b, 'e|n') FROM t
SELECT b, regexp_instr(b, '[a-z]'), regexp_instr(b, '[a-z]', 2), regexp_instr(b, '[en]', 1, 2), regexp_instr(b, '[en]', 1, 2, 1), regexp_instr(b, 'N', 1, 1, 0, 'i') FROM t
SELECT b, regexp_substr(b, '[a-z]', 2), regexp_substr(b, '[a-z]{2}', 1, 2), regexp_substr(b, 'N(.)', 1, 1, 'i'), regexp_substr(b, 'n(.)', 1, 1, '', 1), regexp_substr(b, '(x)?n', 1, 1, 'i', 1) FROM t
SELECT b, regexp_replace(b, '[a-z]', '<\&>', 2), regexp_replace(b, '[a-z]', '<\&>', 1, 2), regexp_replace(b, '([A-Z])', '<\1>', 1, 0, 'i'), regexp_replace(b, 'e', 'x', 2, 2), regexp_replace(b, 'o', 'x', 1, 0) FROM t
SELECT regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 1, 3, 'i'), regexp_replace('abc abc', '(b)(c)', '\2\1', 2, 2), regexp_instr('ABCDEF', 'c(.)(..)', 1, 1, 0, 'i'), regexp_substr('number of your street, town zip, FR', '[^,]+', 1, 2)
SELECT b, regexp_matches(b, '[a-z]') FROM t
SELECT b, regexp_matches(b, '(n)(.)?', 'g') FROM t
SELECT (regexp_matches(b, '(.)(.)', 'g'))[2] FROM t
SELECT b, m FROM t, regexp_matches(b, '[eo].', 'g') AS m
SELECT * FROM regexp_matches('foobarbequebaz', 'ba.', 'g')
SELECT * FROM regexp_matches('foobarbequebazilbarfbonk', '(b[^b]+)(b[^b]+)', 'g') WITH ORDINALITY
SELECT b, regexp_split_to_array(b, ''), regexp_split_to_array('', '') FROM t
SELECT extract(century FROM e), extract(decade FROM e), extract(millennium FROM e), date_part('century', e) FROM t
SELECT extract(century FROM x), extract(decade FROM x), extract(millennium FROM x), extract(century FROM z) FROM u
SELECT date_trunc('century', e), date_trunc('decade', e), date_trunc('millennium', e), date_trunc('quarter', e) FROM t
SELECT extract(century FROM date '2000-12-31'), extract(century FROM date '2001-01-01'), extract(millennium FROM date '2000-12-31'), date_trunc('century', timestamp '2000-05-05'), date_trunc('millennium', timestamp '1000-05-05'), date_trunc('decade', timestamp '1999-05-05')
SELECT json_agg(u ORDER BY b)::jsonb::text, jsonb_agg(u ORDER BY x, b)::text FROM u
SELECT row_to_json(w)::jsonb::text, to_jsonb(w)::text, to_jsonb(w.*)::text, row_to_json(ROW(a, y))::jsonb::text FROM w
SELECT b, (SELECT json_agg(s)::jsonb::text FROM (SELECT y, a FROM w) AS s) FROM t
SELECT json_build_object('a', a, 'w', json_build_array(y, 1))::jsonb::text, json_typeof(to_json(y)), array_to_json(ARRAY[a, 1])::jsonb::text FROM w
SELECT value FROM w, json_array_elements_text(json_build_array(a, y))
SELECT (jsonb_set(to_jsonb(w), '{y}', to_jsonb(a)))::text, (jsonb_set(to_jsonb(w), '{z}', '[1]'))::text, (jsonb_set(to_jsonb(w), '{z}', '[1]', FALSE))::text, (jsonb_set(to_jsonb(w), '{z, a}', '1'))::text FROM w
SELECT (jsonb_set('[1, [2, 3], {"a": 4}]', ARRAY['1', s], to_jsonb(n)))::text, (jsonb_insert('[1, [2, 3], {"a": 4}]', ARRAY['1', s], to_jsonb(n)))::text, (jsonb_insert('[1, [2, 3]]', ARRAY['1', s], to_jsonb(n), TRUE))::text FROM (VALUES (1, '0'), (2, '-1'), (3, '7'), (4, '-7')) AS v (n, s)
SELECT (jsonb_set('[1, 2]', '{}', '3'))::text, (jsonb_set('{"a": {"b": [1]}}', '{a,b,0}', '{"c": null}'))::text, (jsonb_insert('{"a": {"b": [1]}}', '{a,c}', '2'))::text, (('{"a": [1, {"b": 2}]}'::jsonb)['a'][1]['b'])::text
SELECT a, b FROM t WHERE a = 2 FOR UPDATE
SELECT b FROM u WHERE a = (SELECT a FROM w ORDER BY a LIMIT 1 FOR UPDATE SKIP LOCKED)
SELECT t.a FROM t JOIN w ON t.a = w.a FOR NO KEY UPDATE OF t NOWAIT
SELECT parse_ident('"A ""b".c'), parse_ident('x. Y'), clock_timestamp() >= now(), transaction_timestamp() = now()
SELECT width_bucket(c, 5.5, -2.25, 3) AS a, width_bucket('Infinity', c, 100, a) AS b, width_bucket('-Infinity', c, 100, 2) AS c, width_bucket(c, 0, 10, NULL) AS d FROM t
SELECT trim(both from b, 'o'), trim(from b, 'eo'), trim(trailing from b), trim(leading 'o' from b) FROM t
SELECT gamma(g / 10.0), lgamma(c + 10), erf(c), erfc(c), factorial(a), factorial(g - 10) FROM t WHERE a < 4
SELECT jsonb_object(ARRAY[b, a::text, 'k', NULL])::text AS k, jsonb_object(ARRAY['k', 'l', 'k'], ARRAY[b, NULL, 'x'])::text AS l, jsonb_object('{}')::text AS m, jsonb_object('{}', '{}')::text AS n, jsonb_object(NULL::text[])::text AS o FROM t WHERE b IS NOT NULL
SELECT width_bucket(c, ARRAY[-1, 0, 2]), width_bucket(b, ARRAY['a', 'o']), width_bucket(a, '{}'::int[]), width_bucket(d, ARRAY[0.5, 7.1]), width_bucket(e, ARRAY['2013-01-01', '2014-01-01']::timestamp[]) FROM t
SELECT a::smallint || ARRAY[1, 2], ARRAY[a::smallint] || 2, array_append(ARRAY[a::smallint], g), array_prepend(g, ARRAY[a]), ARRAY[a] || NULL FROM t
SELECT log(2.0, 8.0), log(10.0, 1000.0), log(3.0, 27.0), log(1.5, 2.25), log(2.0, 0.125), log(2, 10), log(3, g) FROM t
SELECT ARRAY[a] || ARRAY[g], ARRAY[a::smallint] || ARRAY[1.5], ARRAY[[a]] || ARRAY[g] FROM t WHERE a IS NOT NULL
SELECT width_bucket(0, -1e100::float8, 1, 10), width_bucket(1, 1e100::float8, 0, 10), width_bucket(10.5::float8, -1.797e308, 1.797e308, 2), width_bucket(4.5e307::float8, -9e307, 9e307, 10), width_bucket(1, 1, 0, 2147483647), width_bucket(0.3::float8, 0, 1, 10)
SELECT format('%I.%1$I is %s of %L', b, a, NULL) FROM t WHERE b IS NOT NULL
SELECT to_timestamp('2018-11-02 12:34:56.123456', 'YYYY-MM-DD HH24:MI:SS.FF' || a) FROM t WHERE a < 6
SELECT to_timestamp('2018-11-02 12:34:59.96', 'YYYY-MM-DD HH24:MI:SS.FF1'), to_timestamp('1998-11-02 12:34:56.15', 'YYYY-MM-DD HH24:MI:SS.FF1'), to_date('2016 366', 'YYYY DDD')
SELECT to_char(a, 'f\oo999'), to_char(a, 'f\\oo999'), to_char(a, 'f\\"oo999'), to_char(a, 'f"\\ool"999'), to_char(a, 'f"\"ool"999') FROM t
SELECT regexp_instr('abcabcabc', 'a.c', 1, 2, 0), regexp_instr('abcabcabc', 'a.c', 1, 2, 1), array_fill(a, ARRAY[2, 2], '{1,1}') FROM t
SELECT NULLIF(a, g), NULLIF(a::smallint, 3), NULLIF(g, a), NULLIF(a, d), NULLIF(a::real, c), NULLIF(c, a::real), NULLIF(e::date, e) FROM t
SELECT concat(VARIADIC ARRAY['a', NULL, 'b']), concat(VARIADIC ARRAY['a', b]), concat_ws('-', VARIADIC ARRAY[a, 2]) FROM t
SELECT concat(VARIADIC string_to_array(b, 'a')), concat_ws(',', VARIADIC ARRAY[a]::int[] || 5), concat(VARIADIC NULL::text[]) FROM t
SELECT format('%s %I', VARIADIC ARRAY['a', 'b c']), num_nulls(VARIADIC ARRAY[a, NULL]), num_nonnulls(VARIADIC ARRAY[a, NULL]) FROM t
SELECT jsonb_build_array(VARIADIC ARRAY[1, a])::text, jsonb_build_array(VARIADIC string_to_array('a,b', ','))::text, jsonb_build_object(VARIADIC ARRAY['k', b])::text, jsonb_extract_path_text('{"a": {"b": 3}}', VARIADIC ARRAY['a', 'b']) FROM t
SELECT 'today' = current_date, 'yesterday' < now(), now() >= 'now', 'tomorrow' > localtimestamp, '{today,tomorrow}'::date[] = ARRAY[current_date, current_date + 1], 'tomorrow 12:30' - timestamp 'yesterday' AS i, 'now' = localtimestamp
SELECT '2026-01-02' - date '2026-01-01' AS days, '2026-01-02 12:30' - timestamp '2026-01-01' AS i, '2026-01-02' - timestamptz '2026-01-01' AS z, '2 days' - interval '1 hour' AS h, '12:30' - time '10:00' AS t, '3' - 1 AS n, '3.5' - 1.5 AS m
SELECT jsonb_build_array(VARIADIC '{{1,4},{2,5}}'::int[])::text, jsonb_build_array(VARIADIC NULL::int[])::text AS n, jsonb_build_array(VARIADIC '{a,b}'::text[])::text AS o
SELECT pow(2.0, 3), pow(2, 3) AS i, pow(2.5::numeric(4, 1), -1) AS n, pow(g, 2) AS g FROM t
SELECT to_char(e, 'of|tzh|tzm|OF|TZ') FROM t
SELECT to_char(z, 'of|tzh:tzm|Of|tz|TZ') FROM u
SELECT mode() WITHIN GROUP (ORDER BY a % 2 DESC), mode() WITHIN GROUP (ORDER BY b DESC), mode() WITHIN GROUP (ORDER BY b) FROM t
SELECT booleq(f, a > 1), boolne(f, a > 1), booleq(f, NULL) FROM t
SELECT pg_typeof('a')::text, pg_typeof(NULL)::text
SELECT format('|%10s|%-5s|%3I|%2$-4L|%%', b, g, 'A b'), format('%2s', b) FROM t
SELECT @ -5 AS x, @ d AS y, 2 * @ -3 AS z, @ -3 + 1 AS u, - @ 4 AS v, @1.5 AS w FROM t
SELECT '{1,2}'::int ARRAY AS x, '{a}'::text ARRAY[2] AS y
SELECT d, a, count(*) FROM t GROUP BY (d, (b, a))
SELECT f, a, b, count(*) FROM t GROUP BY ROLLUP (f, (a, (b, g)))
SELECT to_char(i, 'YYYY-MM-DD HH24:MI:SS.US') AS all_parts, to_char(i, 'FMDD "days" FMHH24:MI') AS short, to_char(i, 'DDD CC YYY YY Y') AS more, to_char(i, 'SSSS MS FF2 FMMS FMUS') AS fractions FROM held
SELECT to_char(c, 'HH24:MI:SS.MS') AS clock, to_char(c, 'HH12:MI pm') AS half, to_char(c, 'FMHH24th "hour" A.M.') AS nth FROM clocks
SELECT to_char(at, 'FMHH24:FMMI:FMSS.FMMS FMUS FMFF3') AS x, to_char(l - timestamp '2020-01-01', 'DDD HH24:MI') AS since FROM moments
SELECT extract(timezone FROM at) AS s, extract(timezone_hour FROM at) AS h, date_part('timezone_minute', at) AS m FROM moments
SELECT x::int[], (x::bigint[])[1], 2 = ANY (x::int[]), array_length(x::numeric[], 1) FROM (VALUES ('{1,2}'), ('{}'), (NULL), (' { 3 , NULL } '), ('[1:2]={7,8}')) AS v(x)
SELECT x::text[], x::varchar[], CAST(x AS text[]) FROM (VALUES ('{"a b","c,\"d",NULL,"null",!x,=,\\}'), ('{"",''}')) AS v(x)
SELECT concat('{', coalesce(a, 0), ',"', b, '"}')::text[] FROM t
SELECT asin('NaN'), acos('NaN'), acosh('NaN'), atanh('NaN'), asind('NaN'), acosd('NaN')
