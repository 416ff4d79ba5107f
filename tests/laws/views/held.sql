-- Views over times of day, intervals and arrays that tables hold.
CREATE TABLE shifts (id int, begins time, lasts interval, tags text[], marks int[]);
CREATE TABLE readings (id int, samples double precision[], amounts numeric(6, 2)[], every interval);
INSERT INTO shifts VALUES (1, '6:00', '1 mon', '{a,"b c",NULL}', '{1,2}'), (2, '14:00', '30 days', '{}', '{1,NULL}'), (3, '06:00:00.5', NULL, NULL, '{1,2}'), (4, NULL, '720:00', '{a,"b c",NULL}', NULL), (5, '24:00', '-1 day', '{x}', '{}');
INSERT INTO readings VALUES (1, '{0,NaN,1.5}', '{1,2.345}', '1 day'), (2, '{-0,NaN,1.5}', '{}', '24:00'), (3, NULL, '{1,2.35}', NULL), (4, '{}', NULL, '1 day -1 us');

SELECT begins, begins + lasts AS ends, date '2024-01-31' + begins AS at, extract(minute FROM begins) AS minute, begins - '01:00' AS before FROM shifts;
SELECT lasts, count(*), min(begins), max(begins), sum(lasts) FROM shifts GROUP BY lasts;
SELECT DISTINCT lasts, tags FROM shifts;
SELECT tags, marks, count(*), max(lasts), array_agg(id ORDER BY id) FROM shifts GROUP BY tags, marks;
SELECT samples, count(*) FROM readings GROUP BY samples;
SELECT DISTINCT amounts, every FROM readings;
SELECT s.id, r.id AS reading FROM shifts s JOIN readings r ON s.lasts = r.every * 30;
SELECT a.id, b.id AS other FROM shifts a LEFT JOIN shifts b ON a.tags = b.tags AND a.id < b.id;
SELECT id, tag FROM shifts, unnest(tags) AS tag;
SELECT marks FROM shifts EXCEPT SELECT marks FROM shifts WHERE id > 2;
SELECT tags FROM shifts UNION SELECT '{new}';
SELECT id, row_number() OVER (PARTITION BY lasts ORDER BY begins, id) AS n FROM shifts;
SELECT DISTINCT ON (lasts) lasts, begins FROM shifts ORDER BY lasts, begins, id;
SELECT count(DISTINCT lasts), count(DISTINCT tags), count(DISTINCT begins) FROM shifts;
SELECT id, tags || 'more'::text AS more, marks[1] AS first, 'a' = ANY (tags) AS has, tags::text FROM shifts WHERE lasts > '1 day' OR marks = '{}';
