-- Views over graphs and trees, which read themselves.
CREATE TABLE edges (source int, target int, km numeric(8, 2));
CREATE TABLE parts (id int PRIMARY KEY, parent int, name text, pieces int);
INSERT INTO edges VALUES (1, 2, 1.50), (2, 3, 2.25), (3, 1, 0.75), (3, 4, 10), (5, 6, NULL), (NULL, 1, 3), (4, 4, 1);
INSERT INTO parts VALUES (1, NULL, 'car', 1), (2, 1, 'wheel', 4), (3, 1, 'engine', 1), (4, 2, 'bolt', 5), (5, 3, 'bolt', 20), (6, 7, NULL, 2);

WITH RECURSIVE reach(source, target) AS (SELECT source, target FROM edges
    UNION SELECT r.source, e.target FROM reach r JOIN edges e ON e.source = r.target) SELECT source, target FROM reach;
WITH RECURSIVE reach(node) AS (SELECT 1 UNION SELECT target FROM reach JOIN edges ON source = node) SELECT node FROM reach;
WITH RECURSIVE tree(id, path, pieces) AS (SELECT id, name, pieces FROM parts WHERE parent IS NULL
    UNION ALL SELECT p.id, path || '/' || p.name, t.pieces * p.pieces FROM tree t JOIN parts p ON p.parent = t.id WHERE length(path) < 50)
    SELECT id, path, sum(pieces) AS pieces FROM tree GROUP BY id, path;
WITH RECURSIVE walk(node, steps) AS (SELECT DISTINCT source, 0 FROM edges
    UNION ALL SELECT e.target, steps + 1 FROM walk w JOIN edges e ON e.source = w.node WHERE steps < 4)
    SELECT node, min(steps), count(*) FROM walk GROUP BY node;
SELECT count(*) FROM parts WHERE id IN (WITH RECURSIVE up(id) AS (SELECT 5 UNION SELECT parent FROM up JOIN parts USING (id)) SELECT id FROM up);
WITH MUTUALLY RECURSIVE reach (source int, target int) AS (SELECT source, target FROM edges
    UNION SELECT a.source, b.target FROM reach a JOIN reach b ON b.source = a.target) SELECT source, target FROM reach;
WITH MUTUALLY RECURSIVE best (node int, km numeric(8, 2)) AS (SELECT node, min(km) FROM (SELECT 1 AS node, 0 AS km
    UNION ALL SELECT e.target, b.km + e.km FROM best b JOIN edges e ON e.source = b.node) AS steps GROUP BY node) SELECT node, km FROM best;
WITH MUTUALLY RECURSIVE even (node int) AS (SELECT 1 UNION SELECT target FROM odd JOIN edges ON source = node),
    odd (node int) AS (SELECT target FROM even JOIN edges ON source = node)
    SELECT node, count(*) FROM (SELECT node FROM even UNION ALL SELECT node FROM odd) AS either GROUP BY node;
WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT 4) walk (node int, steps int) AS (SELECT DISTINCT source, 0 FROM edges
    UNION ALL SELECT e.target, steps + 1 FROM walk JOIN edges e ON e.source = node) SELECT node, steps, count(*) FROM walk GROUP BY node, steps;
WITH MUTUALLY RECURSIVE (ERROR AT RECURSION LIMIT 3) up (id int) AS (SELECT 4 UNION SELECT parent FROM up JOIN parts USING (id)) SELECT id FROM up;
SELECT id, (WITH MUTUALLY RECURSIVE up (id int) AS (SELECT p.id UNION SELECT parent FROM up JOIN parts USING (id)) SELECT count(*) FROM up) AS depth FROM parts p;
