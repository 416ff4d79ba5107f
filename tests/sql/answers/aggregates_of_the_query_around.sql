SELECT (SELECT max(t.a)) FROM t
SELECT (SELECT max(t.a) FROM nothing) FROM t
SELECT (SELECT count(*) FILTER (WHERE t.a > 1) FROM nothing) FROM t
SELECT (SELECT max((SELECT w.y FROM w WHERE w.a = t.a))) FROM t
