CREATE TABLE t (a int, b text);
CREATE TABLE u (a int, b text);
INSERT INTO t VALUES (1, 'one'), (2, NULL), (NULL, 'none');
INSERT INTO u VALUES (1, 'one'), (2, 'deux'), (NULL, NULL);
SELECT a, (a, b) NOT IN (SELECT a, b FROM u) OR EXISTS (SELECT FROM u WHERE u.a < t.a) FROM t;
SELECT a > ALL (SELECT u.a FROM u WHERE u.b <> t.b), (SELECT DISTINCT u.b FROM u WHERE u.a = t.a AND u.b > 'p') FROM t;
SELECT t.a, x.* FROM t LEFT JOIN LATERAL (SELECT a FROM u WHERE u.a > t.a UNION SELECT t.a + 1 ORDER BY 1 LIMIT 1) x ON x.a > 1;
SELECT t.a, u.b FROM t LEFT JOIN u ON t.a = u.a AND u.b IN (SELECT b FROM t);
