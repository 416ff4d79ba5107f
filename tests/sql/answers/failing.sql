SELECT (SELECT x FROM u)
SELECT (SELECT b FROM t) || 'x'
SELECT a, (SELECT u.b FROM u WHERE u.a <= t.a) FROM t
SELECT (SELECT ARRAY[a] FROM t)
SELECT a FROM t WHERE g > (SELECT w.a FROM w)
SELECT ARRAY(SELECT a FROM t ORDER BY 2)
SELECT b COLLATE nowhere FROM t
SELECT percentile_cont(2) WITHIN GROUP (ORDER BY a) FROM t
SELECT generate_series(1, 3, 0)
SELECT generate_series(1, 3.5, 0.0)
SELECT a IS JSON FROM t
SELECT concat(b, a)::int[] FROM t
SELECT concat(chr(123), b, chr(125))::int[] FROM t
SELECT sum(a) OVER (ORDER BY g, a ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM t
SELECT sum(a) OVER (ORDER BY g, a ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW) FROM t
SELECT a, (SELECT u.b FROM u WHERE u.a = t.a LIMIT 2) FROM t
SELECT (SELECT a FROM t)
SELECT (SELECT f FROM t)
SELECT b::int FROM t
SELECT 2147483647 + 1
SELECT c * 1e308 * 1e10 FROM t
SELECT 1e308::float8 + 1e308::float8
SELECT sum(1e308::float8) FROM t
SELECT (c * 1e300)::real FROM t
SELECT exp(c * 1000) FROM t
SELECT power(1e200::float8, 2)
SELECT 3e38::real * 2::real
SELECT 1e400::float8
SELECT a FROM t WHERE 10 / (a - a) > 1
SELECT power(0, '-inf'), power(0::float8, '-infinity'::float8)
SELECT power(c, -1) FROM t
SELECT power(-8, 0.5)
SELECT any_value('x') FROM t
SELECT array_agg(DISTINCT a ORDER BY g) FROM t
SELECT string_agg(DISTINCT b, ',' ORDER BY a) FROM t
SELECT regr_sxx(c, 1e308 * c) FROM t
SELECT bit_and(c) FROM t
SELECT interval '1 fortnight'
SELECT interval ''
SELECT interval '1 day 2 days'
SELECT interval '1 2 3'
SELECT interval 'day'
SELECT interval '1 day ago 2'
SELECT interval '1:2:3:4'
SELECT interval '1-13'
SELECT interval 'P'
SELECT interval 'P1H'
SELECT interval '9999999999 years'
SELECT interval '-.5 day'
SELECT interval '1:60'
SELECT interval '1 day' / a FROM (VALUES (0)) v(a)
SELECT interval '1 day' * interval '1 day'
SELECT interval '1 day' + 1
SELECT 1 - interval '1 day'
SELECT interval '1 day' % 2
SELECT sum(interval '1 day') = 1
SELECT interval '1 day' > 5
SELECT extract(dow FROM interval '1 day')
SELECT date_bin('1 month', e, timestamp '2001-01-01') FROM t
SELECT date_bin('0 days', e, timestamp '2001-01-01') FROM t
SELECT date_trunc('week', interval '1 day')
SELECT chr(0)
SELECT chr(-1)
SELECT overlay('abc' PLACING 'x' FROM 0)
SELECT asin(2)
SELECT acosh(c) FROM t
SELECT log(0)
SELECT date '2026-01-32'
SELECT timestamp '2026-02-30 10:00'
SELECT date 'yesterdayish'
SELECT timestamptz 'x'
SELECT a::date FROM t
SELECT f::double precision FROM t
SELECT mode(a) FROM t
SELECT a << g FROM t
SELECT a >> 1.5 FROM t
SELECT b << 1 FROM t
SELECT (a::text || '9999999999')::int FROM t
SELECT ('-' || a::text || '99999')::smallint FROM t
SELECT (a::text || '99999999999999999999')::bigint FROM t
SELECT (a::text || 'x')::bigint FROM t
SELECT s::uuid FROM ids
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1'::uuid
SELECT '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid
SELECT ' a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid
SELECT '-a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid
SELECT exp(-1000.0::double precision)
SELECT c * 1e-200::double precision * 1e-200::double precision FROM t
SELECT 1e-200::double precision / 1e200::double precision
SELECT power(10::double precision, -400)
SELECT degrees(1e308::double precision)
SELECT -('-9223372036854775808'::bigint)
SELECT -('-32768'::smallint)
SELECT make_date(0, 7, 15)
SELECT make_date(2013, 13, 15)
SELECT sqrt(-1.0)
SELECT ln(0.0)
SELECT (-8.0) ^ 0.5
SELECT a, (SELECT b FROM u WHERE u.a > t.a) FROM t
SELECT regexp_replace('abc', '(', 'x')
SELECT regexp_match('abc', '[a')
SELECT regexp_match('abc', 'a', 'z')
SELECT regexp_match('abc', '*a')
SELECT regexp_match('abc', 'a', 'g')
SELECT regexp_count('abc', 'a{3,1}')
SELECT (SELECT count(t.a) FROM t AS t2) FROM t
SELECT (SELECT sum(g) FROM w) FROM t
SELECT (SELECT sum(g) FROM u) FROM t
SELECT extract(hour FROM x) FROM u
SELECT extract(microseconds FROM date '2020-01-01')
SELECT jsonb_build_object(b, 1) FROM u
SELECT b::time FROM t
SELECT time '25:00'
SELECT time '24:00:01'
SELECT time '12:60'
SELECT time '13:00 pm'
SELECT time 'noonish'
SELECT make_time(24, 0, 1)
SELECT make_time(n, 60, 0) FROM clocks
SELECT 'a\9'::bytea
SELECT '\400'::bytea
SELECT make_timestamp(2024, 1, 1, 25, 0, 0)
SELECT interval '1:20:05 5 microseconds'
SELECT interval '2 ms 1:20'
SELECT 4294967296::bigint::oid
SELECT (g - 11)::bigint::oid FROM t
SELECT jsonb_build_object(jsonb '{"a": 1}', 3)
SELECT jsonb_build_object(ARRAY[1], 3)
WITH q AS (SELECT 1), q AS (SELECT 2) SELECT * FROM q
SELECT to_timestamp('97/Feb/16', 'YYMonDD')
SELECT to_timestamp('19971', 'YYYYMMDD')
SELECT to_timestamp('19971)24', 'YYYYMMDD')
SELECT to_timestamp('Friday 1-January-1999', 'DY DD MON YYYY')
SELECT to_timestamp('2005527', 'YYYYIWID')
SELECT to_timestamp('10000000000', 'FMYYYY')
SELECT to_timestamp('2015-02-11 86401', 'YYYY-MM-DD SSSSS')
SELECT to_timestamp('2016-06-13 15:50:60', 'YYYY-MM-DD HH24:MI:SS')
SELECT to_timestamp('2016-06-13 15:50:55', 'YYYY-MM-DD HH:MI:SS')
SELECT to_date('2016-13-10', 'YYYY-MM-DD')
SELECT to_date('2016-02-30', 'YYYY-MM-DD')
SELECT to_date('2016 367', 'YYYY DDD')
SELECT to_date('100', 'DDD')
SELECT to_date('2016 1 2', 'YYYY MM MM')
SELECT to_date('Jum 12 2000', 'Mon DD YYYY')
SELECT jsonb_set('"a"', '{a}', '1')
SELECT jsonb_set('[1]', '{a}', '1')
SELECT jsonb_insert('{"a": 1}', '{a}', '2')
SELECT trim_array(ARRAY[1], 2)
SELECT make_interval(dayz => 1)
SELECT regexp_instr('abc', 'b', 0)
SELECT regexp_replace('abc', 'b', 'x', 1, -1)
SELECT to_char(1, '9.9.9')
SELECT to_char(1, 'S9S')
SELECT to_char(1, 'S9MI')
SELECT to_char(1, '9PR9')
SELECT decode('0', 'hex')
SELECT decode('0g', 'hex')
SELECT decode('a', 'base64')
SELECT decode(b, 'foo') FROM t
SELECT get_byte('\x01ff'::bytea, 2)
SELECT set_byte('\x01ff'::bytea, -1, 1)
SELECT substring('\x01ff'::bytea, 1, -1)
SELECT convert_from('\xff'::bytea, 'UTF8')
SELECT to_number('', '999')
SELECT to_number(b, '999') FROM t
SELECT array_fill(1, NULL)
SELECT ('\x' || b)::bytea FROM t
SELECT jsonb_path_query('{"a": 1}', 'strict $.b')
SELECT jsonb_path_query('{"a": 1}', '$ ? (@')
SELECT jsonb_path_query('{"a": 1}', '$x')
SELECT jsonb_path_query('1', '$', '[]')
SELECT jsonb_path_query('[1]', 'strict $.a')
SELECT jsonb_path_query('[1]', 'strict $.*')
SELECT jsonb_path_query('[1]', 'strict $[3]')
SELECT jsonb_path_query('1', 'strict $[0]')
SELECT jsonb_path_query('1', 'strict $.size()')
SELECT jsonb_path_query('"a"', '$.abs()')
SELECT jsonb_path_query('"a"', '$ + 1')
SELECT jsonb_path_query('"a"', '-$')
SELECT jsonb_path_query('1', '$ / 0')
SELECT jsonb_path_match('1', '$')
SELECT jsonb_path_query('"a"', '$.double()')
SELECT jsonb_path_query('[1]', '$["a"]')
SELECT '13/45/2024'::date
SELECT 'Jan-32-1999'::date
SELECT '20240230'::date
SELECT 'Jan 5'::date
SELECT '13:00 PM Jan 5 2024'::timestamp
SELECT '12:00 PM'::timestamp
SELECT 'Jan Feb 1999'::date
SELECT '1/2/2024 3/4/2024'::date
SELECT decode('a a', 'hex')
SELECT timestamptz '2020-01-01 00:00:00+16:60'
SELECT timestamptz '2020-01-01 00:00:00+01:60'
SELECT x::interval FROM (VALUES ('1 day'), ('nothing')) v(x)
SELECT x::interval FROM (VALUES ('1 day'), ('999999999999 years')) v(x)
SELECT DATE '2022-08-09' + (-2147483648)
SELECT DATE '2022-08-09' - (-2147483648)
SELECT x + 2147483647 FROM u
SELECT x - (g::int + 2000000000) FROM u, t
SELECT int4range(5, 1)
SELECT int4range(n, 1) FROM spans
SELECT int4range(1, 5, '[')
SELECT int4range(1, 5, 'x' || n) FROM spans
SELECT int4range(1, 5, NULL)
SELECT ''::int4range
SELECT 'empty x'::int4range
SELECT '1,2)'::int4range
SELECT '[1 2)'::int4range
SELECT '[1,2,3)'::int4range
SELECT '[1,2) x'::int4range
SELECT '[1,"2)'::int4range
SELECT '[1,\'::int4range
SELECT '[a,2)'::int4range
SELECT '["",2)'::int4range
SELECT '[3,2)'::int4range
SELECT '[1,2147483647]'::int4range
SELECT '[1,2147483648)'::int4range
SELECT '[1,9223372036854775807]'::int8range
SELECT '[2024-13-01,)'::daterange
SELECT '[x,)'::tsrange
SELECT '[x,)'::numrange
SELECT (x || 'y')::int4range FROM spans
SELECT x::daterange FROM spans
SELECT '[1,2)'::int4range + '[5,6)'
SELECT '[1,9)'::int4range - '[5,6)'
SELECT a.i + b.i FROM spans a, spans b
SELECT a.i - b.i FROM spans a, spans b
SELECT t.a, x.a FROM t, LATERAL (SELECT u.a FROM u LIMIT -t.a) x
SELECT a FROM t OFFSET (SELECT -max(a) FROM w)
SELECT '2007-02-01  T  T  15:04:05'::date
SELECT '2001-01-01 T'::timestamp
SELECT '2001-01-01 10:00 -'::timestamp
SELECT '1.2.3.4'::date
SELECT '!!'::date
SELECT 'nonsense'::text::date
SELECT timestamp '2001-01-01' AT TIME ZONE interval '1 day'
SELECT timestamp '2001-01-01' AT TIME ZONE '168'
SELECT date_trunc(unit, e) FROM t CROSS JOIN (VALUES ('dayz')) AS units (unit)
SELECT interval '1-2-3'
SELECT width_bucket(c, 0, 10, a - 1) FROM t
SELECT width_bucket(c, a, 2, 5) FROM t
SELECT width_bucket('NaN'::float8, c, 10, 5) FROM t
SELECT width_bucket(c, 0, 'Infinity', 5) FROM t
SELECT ARRAY[[1,2],[3]]
SELECT ARRAY[ARRAY[1], NULL::int[]]
SELECT ARRAY[ARRAY[1], ARRAY[[1]]]
SELECT ARRAY[s, ARRAY[1, 2, 3]] FROM grids
SELECT '{{1,2},{3}}'::int[]
SELECT '{{1},2}'::int[]
SELECT '{{1},NULL}'::int[]
SELECT '{1,}'::int[]
SELECT '[1:3]={1,2}'::int[]
SELECT '{{1,2}'::int[]
SELECT array_agg(s ORDER BY n) FROM grids WHERE n IN (1, 2, 4)
SELECT array_agg(s) FROM grids WHERE n = 3
SELECT array_agg(a) FROM grids WHERE n IN (1, 5)
SELECT ARRAY(SELECT s FROM grids WHERE n IN (1, 5))
SELECT ARRAY[[1,2]] || ARRAY[[1]]
SELECT ARRAY[[[1]]] || ARRAY[1]
SELECT a || ARRAY[n] FROM grids WHERE n = 1
SELECT ARRAY[[1]] || 1
SELECT array_append(ARRAY[[1]], 1)
SELECT array_position(ARRAY[[1]], 1)
SELECT array_positions(ARRAY[[1]], 1)
SELECT array_remove(ARRAY[[1]], 1)
SELECT array_fill(1, ARRAY[NULL::int])
SELECT array_fill(1, NULL::int[])
SELECT array_fill(2, ARRAY[-1])
SELECT array_fill(2, ARRAY[99999, 99999])
SELECT array_fill(NULL, ARRAY[3])
SELECT n[1] FROM grids
SELECT (a[1])[1] FROM grids
SELECT n::int2vector FROM grids
SELECT '1 x'::int2vector
SELECT '{1,2}'::int2vector
SELECT (1, 2) = (SELECT a, a FROM t)
SELECT set_bit('\x12'::bytea, 8, 1)
SELECT set_bit('\x12'::bytea, -1, 1)
SELECT set_bit('\x12'::bytea, 3, 2)
SELECT overlay('\x01'::bytea placing '\xff'::bytea from 0)
SELECT normalize('a', NFX)
SELECT gamma(0)
SELECT gamma(200)
SELECT gamma('-Infinity')
SELECT lgamma(-1)
SELECT factorial(-1)
SELECT jsonb_object('{a,b}', '{1}')
SELECT jsonb_object('{a,b,c}')
SELECT jsonb_object(ARRAY[NULL, '1'])
SELECT width_bucket(1, ARRAY[1, NULL])
SELECT log(1.0, 10.0)
SELECT log(2.0, 0)
SELECT format('%I', NULL)
SELECT format('%s %I', a, b) FROM t
SELECT to_date('2015 366', 'YYYY DDD')
SELECT jsonb_path_query('{"a": 10}', '$ ? (@.a < $value)')
SELECT jsonb_path_exists('{"a": 10}', '$ ? (exists (@.a ? (@ < $value)))', '{}', true)
SELECT array_fill(1, ARRAY[2, 2], '{}')
SELECT array_fill(1, ARRAY[3, 3], ARRAY[1, 1, 1])
SELECT regexp_instr('abcabcabc', 'a.c', 1, 1, 2)
SELECT 'abcdefg' SIMILAR TO '_bcd#%' ESCAPE '##'
SELECT make_timestamptz(1973, 7, 15, 8, 15, 55.33, '2')
SELECT make_timestamptz(2014, 12, 10, 10, 10, 10, '+16')
SELECT 0::positive
SELECT k::positive FROM goods
SELECT n::small FROM goods WHERE n::small > 0 AND NULL::small IS NULL
SELECT s::small FROM goods
SELECT (a * 50)::small FROM goods WHERE a IS NOT NULL
SELECT upper(c)::code FROM goods
SELECT (q - 2)::price FROM goods
SELECT m::text::fine FROM moods
SELECT (p || 3)::pair FROM goods
SELECT 'sad'::fine
SELECT 'x'::positive
SELECT 1e9::price
SELECT nosuch(DISTINCT a) FROM t
SELECT nosuch(a ORDER BY a) FROM t
SELECT nosuch(*)
SELECT lower(DISTINCT b) FROM t
SELECT lower(b ORDER BY b) FROM t
SELECT now(*)
SELECT lower(*)
SELECT lower(b) FILTER (WHERE a > 1) FROM t
SELECT nosuch(b) FILTER (WHERE a > 1) FROM t
SELECT lower(b) OVER () FROM t
SELECT nosuch(b) OVER () FROM t
SELECT generate_series(DISTINCT 1, 2)
SELECT date 'now 10:00'
SELECT a FROM t WHERE e > 'todayish'
SELECT rank()
SELECT first_value(a) FROM t
SELECT b LIKE '\' FROM t
SELECT b LIKE 'xx' ESCAPE 'xx' FROM t
SELECT array_fill(1, ARRAY[1, 1, 1, 1, 1, 1, 1])
SELECT array_position(ARRAY['a', 'b'], 'b', NULL)
SELECT array_position(ARRAY[a], a, nullif(a, 1)) FROM t WHERE a = 1
SELECT s.a FROM t AS s WHERE EXISTS (SELECT FROM t AS s (n) WHERE s.a = 1)
SELECT s.a FROM t AS s, LATERAL (SELECT s.a FROM (VALUES (1)) AS s (n)) AS l
SELECT s.a FROM t AS s WHERE (SELECT (SELECT s.a) FROM (VALUES (1)) AS s (n)) = 1
SELECT ntile(a - 1) OVER (ORDER BY g) FROM t
SELECT nth_value(b, a - 2) OVER (ORDER BY g) FROM t
SELECT ntile(2::bigint) OVER (ORDER BY g) FROM t
SELECT nth_value(a, g) OVER (ORDER BY g) FROM t
SELECT repeat('x', 2000000000)
SELECT length(repeat(b, 500000000)) FROM t
SELECT repeat('ä', 536870910)
SELECT lpad('x', 2000000000)
SELECT rpad(b, 268435455, 'ab') FROM t
SELECT a FROM t WHERE a > (SELECT 1 / count(*) FROM u WHERE u.a > 1000)
SELECT jsonb_path_query('1e1000', '$.double()')
SELECT '10.0.0.1/33'::inet
SELECT '10.0.0'::inet
SELECT '10.0.0.256'::inet
SELECT '10.0.0.1/8'::cidr
SELECT '::1/129'::inet
SELECT '::1/08'::inet
SELECT 'fe80::1%eth0'::inet
SELECT ' 10.0.0.1'::inet
SELECT '10.0/24'::inet
SELECT '08:00:2b:01:02'::macaddr
SELECT '08002b01020g'::macaddr
SELECT set_masklen('10.0.0.1'::inet, 33)
SELECT '255.255.255.255'::inet + 1
SELECT '::1'::inet & '1.2.3.4'::inet
SELECT '::ffff'::inet - '1.2.3.4'::inet
SELECT inet_merge('::1', '1.2.3.4')
