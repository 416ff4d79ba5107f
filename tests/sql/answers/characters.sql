SELECT n, c, d, b, a FROM codes ORDER BY n
SELECT n FROM codes WHERE c = 'a  '
SELECT n FROM codes WHERE c = 'a'
SELECT n FROM codes WHERE c = 'abcdef'
SELECT n FROM codes WHERE c IN ('a  ', 'abc ', 'abcd')
SELECT n FROM codes WHERE c NOT IN ('a  ', 'abc ')
SELECT n, c = d, c < d, c >= d, c <> b, c IS DISTINCT FROM d, d = b FROM codes ORDER BY n
SELECT n, c = x, c < x, c <> x, x = c, b = x, d IS NOT DISTINCT FROM x FROM codes ORDER BY n
SELECT n, c = v, c < v, c <> v, v = c, c = w, d = w, w = d, b = v FROM codes ORDER BY n
SELECT n, c = 'a  '::text, c = 'a  '::varchar, c = 'a  '::varchar(2), c = 'a  '::bpchar, c = 'a  '::char(9), c = 'ab'::char FROM codes ORDER BY n
SELECT n, c IN ('a  '::text, 'b'), c IN ('a  '::varchar, 'b '), c = ANY (ARRAY['a  ', 'abc']), c = ANY ('{"a  ",b}') FROM codes ORDER BY n
SELECT n, c BETWEEN 'a   ' AND 'abc ', c BETWEEN 'A' AND d FROM codes ORDER BY n
SELECT n, c LIKE 'a', c LIKE 'a  ', c LIKE 'a%', c NOT LIKE 'a__', c ILIKE 'A  ', x LIKE c, c ~ '^a *$', c ~ 'a$', c !~ ' $' FROM codes ORDER BY n
SELECT n, c SIMILAR TO 'a', c SIMILAR TO 'a +', d LIKE 'a\_c  ' FROM codes ORDER BY n
SELECT n, length(c), char_length(d), octet_length(c), octet_length(d), length(b), bit_length(c), octet_length(c::text) FROM codes ORDER BY n
SELECT n, c || '|', c || d, '|' || c || '|', c || n, c::text || '|', c::varchar || '|' FROM codes ORDER BY n
SELECT n, concat(c, '|', d, n), concat_ws('-', c, d), format('%s|%L|%I', c, d, 'x'::char(4)) FROM codes ORDER BY n
SELECT n, upper(c), lower(d), initcap(c), substr(c, 1, 2) || '|', left(c, 2) || '|', rpad(c, 4, '.'), lpad(c, 4, '.'), reverse(c), trim(c) || '|', rtrim(c) || '|', ltrim(c) || '|', replace(c, 'a', 'b'), md5(c), repeat(c, 2) FROM codes ORDER BY n
SELECT n, c::bpchar, c::char(2), c::char(5), d::char(3), c::char, c::text, c::varchar, c::varchar(2) FROM codes ORDER BY n
SELECT 'ab  '::bpchar, 'abcdef'::char(3), 'abc'::character(5), 'abc'::character, ''::char(2), '  '::bpchar, 'a '::char(1)
SELECT 123::char(2), 1.5::char(5), true::char(3), '2020-01-02'::date::char(7), n::char(3), n::bpchar FROM codes
SELECT '12 '::char(5)::int, 't '::char(3)::bool, '2020-01-01'::char(12)::date
SELECT n, x::char(2), v::char(2), w::bpchar = 'b', x::char(2) = 'a' FROM codes ORDER BY n
SELECT c, count(*), min(n) FROM codes GROUP BY c ORDER BY c
SELECT DISTINCT c FROM codes ORDER BY c
SELECT DISTINCT ON (c) c, n FROM codes ORDER BY c DESC, n
SELECT min(c), max(c), min(d), max(d), count(DISTINCT c), min(b) < max(b) FROM codes
SELECT n, c FROM codes ORDER BY c NULLS FIRST, n
SELECT n, d FROM codes ORDER BY d DESC, n
SELECT l.n, r.n FROM codes AS l JOIN codes AS r ON l.c = r.d ORDER BY 1, 2
SELECT l.n, r.n FROM codes AS l JOIN codes AS r ON l.c = r.v ORDER BY 1, 2
SELECT l.n, r.n FROM codes AS l JOIN codes AS r ON l.c = r.x ORDER BY 1, 2
SELECT n, d FROM codes JOIN (SELECT c AS d FROM codes) AS r USING (d) ORDER BY 1
SELECT n FROM codes WHERE c IN (SELECT d FROM codes) ORDER BY n
SELECT n FROM codes WHERE c IN (SELECT x FROM codes) ORDER BY n
SELECT n FROM codes AS o WHERE EXISTS (SELECT 1 FROM codes AS i WHERE i.v = o.c) ORDER BY n
SELECT n, coalesce(c, 'xyz'), coalesce(c, d::char(3)), coalesce(c, x) || '|', coalesce(x, c), nullif(c, 'a '), greatest(c, 'aa '), least(c, 'b  ') FROM codes ORDER BY n
SELECT n, CASE WHEN n < 3 THEN c ELSE 'xyz' END, CASE WHEN n < 3 THEN c ELSE x END, CASE WHEN n < 3 THEN x ELSE c END || '|', CASE c WHEN 'a   ' THEN 1 ELSE 2 END FROM codes ORDER BY n
SELECT c FROM codes UNION SELECT 'a  ' UNION SELECT c FROM codes ORDER BY 1
SELECT c FROM codes EXCEPT SELECT d::char(3) FROM codes ORDER BY 1
SELECT c FROM codes INTERSECT SELECT c FROM codes WHERE n < 4 ORDER BY 1
SELECT c || '|' FROM (SELECT c FROM codes UNION ALL SELECT x FROM codes) AS s
SELECT x || '|' FROM (SELECT x FROM codes UNION ALL SELECT c FROM codes) AS s
SELECT n, c, a[1], a[2], a::text, array_to_string(a, ','), 'a  ' = ANY (a), cardinality(a) FROM codes ORDER BY n
SELECT array_agg(c ORDER BY n), array_agg(DISTINCT c), string_agg(c, ',' ORDER BY n) FROM codes
SELECT n, ARRAY[c, c], ARRAY[c, 'b'] = ARRAY['a', d], a = '{"a  ","b"}' FROM codes ORDER BY n
SELECT n, row(c, d)::text, row(c, d) = row('a ', 'a '), (c, n) < ('abc', 3) FROM codes ORDER BY n
SELECT n, to_jsonb(c), to_jsonb(a), jsonb_build_object('c', c), jsonb_build_array(c, d) FROM codes ORDER BY n
SELECT jsonb_agg(c ORDER BY n), jsonb_object_agg(n, c) FROM codes
SELECT n, lag(c) OVER (ORDER BY n), first_value(d) OVER (ORDER BY n), rank() OVER (ORDER BY c), count(*) OVER (PARTITION BY c) FROM codes ORDER BY n
SELECT n, c FROM (SELECT n, c FROM codes WHERE c >= 'a') AS s ORDER BY n
WITH s AS (SELECT c, n FROM codes) SELECT s.c, t.c FROM s LEFT JOIN codes AS t ON s.c = t.c AND t.n > s.n ORDER BY s.n, t.n
SELECT c.n, v.k FROM codes AS c JOIN (VALUES ('a  '), ('abc ')) AS v (k) ON c.c = v.k ORDER BY 1
SELECT c.n, v.k FROM codes AS c JOIN (VALUES ('a  '::char(3)), ('abc')) AS v (k) ON c.c = v.k ORDER BY 1
SELECT max(x)::varchar, max(x)::varchar(2), min(c)::varchar FROM codes
SELECT n, c = (SELECT max(x)::varchar FROM codes), c = (SELECT v FROM codes AS i WHERE i.n = o.n) FROM codes AS o ORDER BY n
SELECT '{abcdef,NULL,xy}'::varchar(3)[], '{{abcdef,NULL},{xy,1234}}'::varchar(3)[], ARRAY[n, 1234]::varchar(3)[], ARRAY[ARRAY[x], ARRAY['abc']]::varchar(2)[] FROM codes ORDER BY n
SELECT a, b FROM unnest('{abc,d}'::varchar(2)[], '{1,2}'::integer[]) AS t (a, b)
