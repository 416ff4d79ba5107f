-- Conditions that keep others from an error.
CREATE TABLE w (k int NOT NULL, v int, tag text);
INSERT INTO w VALUES (1, 1, 'p'), (2, NULL, 'p'), (3, 3, 'q'), (4, 3, NULL), (5, -7, 'q'), (6, 0, 'r');
SELECT k FROM w WHERE v BETWEEN 1 AND 10 / v;
SELECT tag, sum(v) FROM w GROUP BY tag HAVING sum(v) > 0 AND 10 / sum(v) > 1;
SELECT k, v <> 0 AND 10 / v > 1 AS x, CASE WHEN k > 100 THEN (SELECT 10 / count(*) FROM w) END AS y FROM w;
CREATE TABLE u (k int NOT NULL, c int);
INSERT INTO u VALUES (1, 0), (2, 5), (3, 4), (6, 0), (6, 7), (4, 2);
SELECT w.k, c FROM w JOIN u USING (k) WHERE 10 / w.v > 0 AND w.v > 0;
SELECT w.k, c FROM w LEFT JOIN (SELECT * FROM u WHERE c <> 0) u USING (k) WHERE w.v > 0 AND 10 / w.v > 0 AND 100 / (w.v * c) > 0;
SELECT w.k, CASE WHEN v <> 0 THEN (SELECT sum(10 / u.c) FROM u WHERE u.k = w.k) END AS x FROM w;
SELECT k FROM w WHERE v <> 0 AND k IN (SELECT 10 / u.c FROM u WHERE u.k = w.v);
SELECT k FROM w WHERE v <> 0 AND NOT EXISTS (SELECT FROM u WHERE u.k = w.k AND 10 / u.c > 2);
SELECT w.k, x, tag FROM w LEFT JOIN (SELECT k, 10 / c AS x FROM u) s ON s.k = w.v JOIN (SELECT k, 10 / c AS y FROM u) r ON r.k = w.k;
SELECT w.k, c FROM w JOIN u ON u.k = w.k AND w.v + u.c > 3;
SELECT w.k, u.k AS other FROM w JOIN u ON u.k BETWEEN w.k AND w.k + v;
SELECT w.k, c FROM w JOIN u ON u.k = w.k AND 10 / (w.v + u.c) > 1;
SELECT k, CASE WHEN lag(v) OVER x IS NULL AND v > 0 THEN 1 WHEN NOT row_number() OVER x > 2 THEN v ELSE 0 END AS c FROM w WINDOW x AS (PARTITION BY tag ORDER BY k);
