-- Views over arrays of several dimensions that tables hold.
CREATE TABLE boards (id int, cells int[][], labels text[][], marks int[]);
INSERT INTO boards VALUES (1, '{{1,2},{3,4}}', '{{a,"b c"},{NULL,""}}', '{1,2}'), (2, '{{1},{2},{3},{4}}', '{{a}}', '{3,4}'), (3, '{}', '{}', '{}'), (4, NULL, NULL, NULL), (5, '{{1,2},{3,4}}', '{{a}}', '{1,2}'), (6, '{{1,NULL}}', '{{x}}', '{5,6}');

SELECT id, cells, cells[1][1] AS first, cells[1:1] AS top, array_dims(cells) AS dims, cells::text FROM boards;
SELECT cells, count(*), min(id), array_agg(id ORDER BY id) AS ids FROM boards GROUP BY cells;
SELECT DISTINCT labels FROM boards;
SELECT min(cells), max(cells), count(DISTINCT cells) FROM boards;
SELECT a.id, b.id AS other FROM boards a JOIN boards b ON a.cells = b.cells AND a.id < b.id;
SELECT id, cell FROM boards, unnest(cells) AS cell;
SELECT id, i, j, cells[i][j] AS cell FROM boards, generate_subscripts(cells, 1) AS i, generate_subscripts(cells, 2) AS j;
SELECT array_agg(marks ORDER BY id) AS marks FROM boards WHERE cardinality(marks) = 2;
SELECT id, ARRAY[marks, marks] AS twice, marks || cells AS more FROM boards WHERE cardinality(marks) = 2 AND array_length(cells, 2) = 2;
SELECT cells FROM boards EXCEPT SELECT cells FROM boards WHERE id > 4;
SELECT id, row_number() OVER (PARTITION BY cells ORDER BY id) AS n FROM boards;
SELECT id FROM boards ORDER BY cells, id LIMIT 2;
SELECT id, to_jsonb(labels) AS document, 3 = ANY (cells) AS has FROM boards;
