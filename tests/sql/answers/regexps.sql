SELECT b, regexp_replace(b, 'o', 'X'), regexp_replace(b, 'o|e', '<\&>', 'g'), regexp_replace(b, '(.)(.)', '\2\1'), regexp_replace(b, '([a-z])(e)', '[\1-\2]\\', 'g') FROM t
SELECT b, regexp_replace(b, 'F', '$1', 'i'), regexp_replace(b, '^', '>'), regexp_replace(b, '[aeiou]', '', 'g'), regexp_replace(b, 'e*', '', 'g'), regexp_replace(b, '(n*)', '\1', 'g') FROM t
SELECT b, regexp_match(b, 'n'), regexp_match(b, '(.)(n)'), regexp_match(b, 'o(n)?'), regexp_match(b, '(o)|(i)'), regexp_match(b, 'FI', 'i') FROM t
SELECT b, regexp_like(b, '^o'), regexp_like(b, 'E$', 'i'), regexp_like(b, '\yone\y'), regexp_like(b, '^\w+$'), regexp_like(b, NULL) FROM t
SELECT b, regexp_count(b, '[eo]'), regexp_count(b, 'n'), regexp_count(b, 'z'), regexp_substr(b, '[a-m]+'), regexp_substr(b, 'q') FROM t
SELECT b, regexp_split_to_array(b, 'n'), regexp_split_to_array(b, '[aeio]+'), regexp_split_to_array('a, b,c', ',\s*') FROM t
SELECT b, p FROM t, regexp_split_to_table(b, 'e') p
SELECT regexp_split_to_table('the quick  fox', '\s+')
SELECT regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g'), regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 'gi'), regexp_match('foobarbequebaz', '(bar)(beque)')
SELECT regexp_match('a.b[c]', '\[([[:alpha:]])\]'), regexp_match('x-1_2', '[[:digit:]_-]+'), regexp_match(E'a\nb', 'a.b'), regexp_match('ab]', '[]]'), regexp_match('aaa', 'a{2}'), regexp_match('foo', 'f|foo')
SELECT regexp_replace('abc', 'B', 'x', 'ic'), regexp_replace('a1b22', '\d+', '#', 'g'), regexp_replace('aXb', '\D', '.', 'g'), regexp_replace('tel: 555', '(\S+)\s', '\1_')
SELECT b SIMILAR TO 'o%', b SIMILAR TO '%(e|o)', b NOT SIMILAR TO '_n_', b SIMILAR TO '[a-z]+', b SIMILAR TO NULL FROM t
SELECT 'abc' SIMILAR TO 'abc', 'abc' SIMILAR TO 'a', 'abc' SIMILAR TO '%(b|d)%', 'abc' SIMILAR TO '(b|c)%', 'a.c' SIMILAR TO 'a.c', 'axc' SIMILAR TO 'a.c', 'a%' SIMILAR TO 'a#%' ESCAPE '#', 'ab' SIMILAR TO 'a#%' ESCAPE '#'
SELECT b, b ^@ 'o', NOT b ^@ 't' FROM t
SELECT s, regexp_replace(s, '^.', '#', 'gn'), regexp_replace(s, '.$', '#', 'gn'), regexp_replace(s, '[^x]+', '#', 'gn'), regexp_match(s, '.+', 'n'), regexp_like(s, '^c', 'n'), regexp_replace(s, '^(c|e)', '<\1>', 'n') FROM (VALUES (E'ab\ncd\n\nef'), (E'a\r\nb'), ('xyz'), (E'\n'), (NULL)) AS v (s)
SELECT s, regexp_replace(s, '^.', '#', 'gm'), regexp_replace(s, '.$', '#', 'gm'), regexp_replace(s, '[^x]+', '#', 'gm'), regexp_match(s, '.+', 'm'), regexp_like(s, '^c', 'm'), regexp_replace(s, '^(c|e)', '<\1>', 'm') FROM (VALUES (E'ab\ncd\n\nef'), (E'a\r\nb'), ('xyz'), (E'\n'), (NULL)) AS v (s)
SELECT s, regexp_replace(s, '^.', '#', 'gp'), regexp_replace(s, '.$', '#', 'gp'), regexp_replace(s, '[^x]+', '#', 'gp'), regexp_match(s, '.+', 'p'), regexp_like(s, '^c', 'p'), regexp_replace(s, '^(c|e)', '<\1>', 'p') FROM (VALUES (E'ab\ncd\n\nef'), (E'a\r\nb'), ('xyz'), (E'\n'), (NULL)) AS v (s)
SELECT s, regexp_replace(s, '^.', '#', 'gw'), regexp_replace(s, '.$', '#', 'gw'), regexp_replace(s, '[^x]+', '#', 'gw'), regexp_match(s, '.+', 'w'), regexp_like(s, '^c', 'w'), regexp_replace(s, '^(c|e)', '<\1>', 'w') FROM (VALUES (E'ab\ncd\n\nef'), (E'a\r\nb'), ('xyz'), (E'\n'), (NULL)) AS v (s)
SELECT s, regexp_replace(s, '^.', '#', 'gs'), regexp_replace(s, '.$', '#', 'gs'), regexp_replace(s, '[^x]+', '#', 'gs'), regexp_match(s, '.+', 's'), regexp_like(s, '^c', 's'), regexp_replace(s, '^(c|e)', '<\1>', 's') FROM (VALUES (E'ab\ncd\n\nef'), (E'a\r\nb'), ('xyz'), (E'\n'), (NULL)) AS v (s)
SELECT s, regexp_count(s, '^[a-z]', 1, 'n'), regexp_substr(s, '[a-z]$', 1, 2, 'n'), regexp_replace(s, 'A.', '-', 'in'), regexp_replace(s, 'b.', '-', 'ns'), regexp_replace(s, '[^]x]', '-', 'n') FROM (VALUES (E'ab\ncd\n\nef'), (E'a\r\nb'), ('xyz'), (E'\n'), (NULL)) AS v (s)
SELECT b, b ~ '[[:alpha:]]', b ~ '^\w+$', b ~ '\yone\y', b ~ 'o$|^t', b !~ '.n', b ~* 'N.?$', b ~ '(?i)^ONE', b ~* '(?c)^ONE' FROM t
SELECT E'a\nb' ~ 'a.b', E'a\nb' ~ '^b', E'a\nb' ~ 'a$', E'b\n' ~ 'b$', E'a\nb' ~ '(?n)a$', E'a\nb' ~ '(?n)a.b', 'ABC' ~ '(?ic)abc', 'a1' ~ '\d\Z', 'x' ~ NULL
SELECT s, p, s ~ p, s ~* p, s !~ p FROM (VALUES ('abc', 'B'), (E'a\nb', 'a.b'), ('x', NULL)) AS v(s, p)
SELECT 'one two' SIMILAR TO '%(o|z)_t%', E'a\nb' SIMILAR TO 'a_b', 'a.b' NOT SIMILAR TO 'a.b', 'axb' SIMILAR TO 'a.b'
SELECT regexp_match('One two', '(?i)oN(.)'), regexp_replace('aXbx', '(?i)x', '-', 'g'), regexp_count('aAa', '(?c)a', 1, 'i'), regexp_split_to_array('a1B2c', '(?i)[b\d]')
SELECT b, b ~ ('(' || '[a-m]+' || ')'), (regexp_match(b, '(' || '([a-z]+)' || ')'))[2], 'a' || 'b' || b, '[' || NULL || ']' FROM t
