SELECT encode(s, 'hex'), encode(s, 'escape'), encode(s, 'base64'), encode(s, e), length(s), octet_length(s), md5(s) FROM (VALUES ('\x00ff5c41'::bytea, 'Base64'), ('', 'hex'), (NULL, 'hex'), ('abc', 'escape')) AS v (s, e)
SELECT encode((repeat('1234567890abcdef0001', 12))::bytea, 'base64'), decode(encode((repeat('1234567890abcdef0001', 12))::bytea, 'base64'), 'base64')
SELECT decode(s, e) FROM (VALUES ('AP9c QQ==', 'base64'), ('00 fF', 'hex'), ('a\\b\001', 'escape'), (NULL, 'hex'), ('', 'base64')) AS v (s, e)
SELECT substring(s from 2 for 2), substring(s from -1 for 3), substr(s, 3), substring(s, 2), s || s, s || '\xff' FROM (VALUES ('\x01020304'::bytea), ('a'), (''), (NULL)) AS v (s)
SELECT sha224(s), sha256(s), sha384(s), sha512(s) FROM (VALUES ('abc'::bytea), (''), (NULL)) AS v (s)
SELECT get_byte(s, i), set_byte(s, i, 16), set_byte(s, i, 300), set_byte(s, i, -1), get_bit(s, i), get_bit(s, 8 + i) FROM (VALUES ('\x01ff'::bytea, 0), ('\xfe01', 1), (NULL, 0), ('\x00ff', NULL)) AS v (s, i)
SELECT convert_from(s, 'UTF8'), convert_to(convert_from(s, 'utf-8'), 'UTF8') FROM (VALUES ('\x61c3a4'::bytea), (''), (NULL)) AS v (s)
SELECT hashtext(s), hashtextextended(s, k) FROM (VALUES ('', 0), ('a', 0), ('a', -1), ('twelve chars', 42), ('more than twelve characters', 9223372036854775807), ('ä', 7), (NULL, 1)) AS v (s, k)
SELECT b, hashtext(b), array_fill(b, ARRAY[a]), array_fill(a, '{2}'), array_fill(NULL::int, ARRAY[1]), array_fill(1, '{}') FROM t WHERE a < 4
SELECT '{1,2}'::int[3], '{a}'::text[2], ARRAY[1, 2]::int[5], a IN (VALUES (1), (3)), (a, b) IN (VALUES (1, 'one'), (2, 'x')), a = ANY (VALUES (1), (2)), a NOT IN (VALUES (1), (NULL)) FROM t
SELECT '2024-01-01 12:00 Europe/Vienna'::timestamptz, '2024-07-01 12:00:00.5 america/new_york'::timestamptz, '2024-07-01 12:00 PST'::timestamptz, '2024-07-01T12:00 MSK'::timestamptz, timestamptz '2024-10-27 02:30 Europe/Berlin', timestamptz '2024-03-31 02:30 Europe/Berlin', '2024-07-01 12:00 Europe/Vienna'::timestamp
SELECT e AT TIME ZONE 'PST', e AT TIME ZONE 'CET', e AT TIME ZONE 'MSK', z AT TIME ZONE 'EDT' FROM t, u
SELECT s::bytea, length(s::bytea) FROM (VALUES ('\x00 fF'), ('a\\b\001'), (NULL), ('')) AS v (s)
SELECT '2011-03-27 02:30 MSK'::timestamptz, '2014-10-26 01:30 MSK'::timestamptz, '2011-03-27 02:30 Europe/Moscow'::timestamptz, '2014-10-26 01:30 Europe/Moscow'::timestamptz
SELECT position('\x02'::bytea in s) AS p, position('\x'::bytea in s) AS q, position('\x0203'::bytea in s) AS r, btrim(s, '\x00'::bytea), ltrim(s, '\x0001'::bytea), rtrim(s, '\x00'::bytea), trim(both '\x'::bytea from s), reverse(s), bit_count(s), crc32(s), crc32c(s) FROM (VALUES ('\x000102030000'::bytea), ('\xff02'), (''), (NULL)) AS v (s)
SELECT overlay(s placing '\xff'::bytea from 2), overlay(s placing '\xffee'::bytea from 2 for 1), overlay(s placing '\xff'::bytea from 3 for -1), overlay(s placing '\xff'::bytea from 9 for 1), overlay(s placing '\xff'::bytea from 2 for -9) FROM (VALUES ('\x01020304'::bytea), (''), (NULL)) AS v (s)
SELECT set_bit(s, i, 1), set_bit(s, i, 0), set_bit(s, 15, 1), get_bit(set_bit(s, i, 1), i) FROM (VALUES ('\x01ff'::bytea, 0), ('\x1234567890', 30), (NULL, 0), ('\x0000', NULL)) AS v (s, i)
SELECT normalize(s), normalize(s, NFD), normalize(s, nfkc), length(normalize(s, NFKD)), s IS NORMALIZED, s IS NFD NORMALIZED, s IS NOT NFKC NORMALIZED FROM (VALUES ('é'), (E'e\u0301'), ('ﬁ'), (''), (NULL)) AS v (s)
SELECT string_agg(s, '\x00' ORDER BY s DESC), string_agg(s, s ORDER BY n), string_agg(DISTINCT s, ',' ORDER BY s), string_agg(s, NULL ORDER BY n), string_agg(s, ''::bytea) FILTER (WHERE n > 9) FROM (VALUES (1, '\x00ff'::bytea), (2, 'a'), (3, NULL), (4, ''), (5, 'a')) AS v (n, s)
SELECT n, string_agg(s, '-'::bytea) OVER (ORDER BY n) FROM (VALUES (1, '\x00ff'::bytea), (2, NULL), (3, 'b')) AS v (n, s)
SELECT string_agg(NULL, s), string_agg(s, NULL::bytea ORDER BY s) FROM (VALUES ('a'::bytea), ('b')) AS v (s)
