-- Views over ranges and enums that tables hold, some of which are replaced.
CREATE TYPE size AS ENUM ('small', 'large', 'huge');
CREATE TABLE stays (id int, rooms int4range, nights daterange, kind size, prices numrange[]);
CREATE TABLE visits (id int, at date, kind size, span tsrange);
INSERT INTO stays VALUES (1, '[1,3)', '[2020-02-28,2020-03-01)', 'small', '{"[1,2]",empty}'), (2, '[1,2]', '[1995-01-01,)', 'huge', '{}'), (3, 'empty', NULL, 'large', NULL), (4, NULL, 'empty', NULL, '{"[1,2]",empty}');
INSERT INTO visits VALUES (1, '2020-02-29', 'huge', '[2020-02-29,2020-03-01)'), (2, '1995-01-01', NULL, '(,)'), (3, NULL, 'small', 'empty');

CREATE VIEW nights AS SELECT id, nights FROM stays;
CREATE OR REPLACE VIEW nights AS SELECT id, nights, upper(nights) - lower(nights) AS count, kind FROM stays;
SELECT kind, sum(count), min(nights), max(nights) FROM nights GROUP BY kind;
SELECT rooms, count(*), min(kind), max(kind) FROM stays GROUP BY rooms;
SELECT DISTINCT prices, kind FROM stays;
SELECT s.id, v.id AS visit FROM stays s JOIN visits v ON s.nights @> v.at;
SELECT s.id, v.id AS visit FROM stays s LEFT JOIN visits v ON s.kind < v.kind;
SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM stays s WHERE s.nights @> v.at);
SELECT id, kind, row_number() OVER (PARTITION BY kind ORDER BY nights, id) AS n FROM stays;
SELECT DISTINCT ON (rooms) rooms, kind, id FROM stays ORDER BY rooms, kind DESC, id;
SELECT kind FROM stays EXCEPT SELECT kind FROM visits WHERE span && '[2020-01-01,2021-01-01)';
SELECT v.id, s.id AS stay FROM visits v FULL JOIN stays s ON v.kind >= s.kind;
