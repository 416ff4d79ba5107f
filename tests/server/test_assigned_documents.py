"""``SET doc['key'] = value`` assigns to parts of documents, as in PostgreSQL."""

from __future__ import annotations

import psycopg
from fixtures.side_by_side import assert_same_answers

ASSIGNED = """
    CREATE TABLE t (a int, b text, j jsonb, k int[]);
    INSERT INTO t VALUES (1, 'x', '{"a": 1}'), (2, 'y', NULL), (3, 'z', '[1, 2]'), (4, 'w', '5'), (5, 'n', 'null');
    UPDATE t SET j['a'] = '2' WHERE a = 1 RETURNING j;
    UPDATE t SET j['b']['c'] = '"d"' WHERE a = 1 RETURNING j;
    UPDATE t SET j['e'][2]['f'] = '"d"' WHERE a = 1 RETURNING j;
    UPDATE t SET j[1] = '5' WHERE a = 3 RETURNING j;
    UPDATE t SET j['x'] = '1' WHERE a = 2 RETURNING j;
    UPDATE t SET j['a'] = '3', j['z'] = to_jsonb(a) WHERE a = 1 RETURNING j;
    UPDATE t SET j[-1] = '7' WHERE a = 3 RETURNING j;
    UPDATE t SET j[5] = '9' WHERE a = 3 RETURNING j;
    UPDATE t SET j[-9] = '9' WHERE a = 3;
    UPDATE t SET j['a'] = '9' WHERE a = 3;
    UPDATE t SET j['a'] = NULL WHERE a = 1;
    UPDATE t SET j[2] = '1' WHERE a = 1;
    UPDATE t SET j['z'] = to_jsonb(b), j[a + 1] = '[]' WHERE a = 1 RETURNING j;
    UPDATE t SET j['k'] = '1' WHERE a = 4;
    UPDATE t SET j['k'] = '1' WHERE a = 5;
    UPDATE t SET j[0] = '1' WHERE a = 4;
    UPDATE t SET j['a']['b'] = '1' WHERE a = 1;
    UPDATE t SET j[1.5] = '1' WHERE a = 1;
    UPDATE t SET j['a'] = 1 WHERE a = 1;
    UPDATE t SET j['a'] = DEFAULT WHERE a = 1;
    UPDATE t SET b['a'] = '1' WHERE a = 1;
    UPDATE t SET j = NULL WHERE a = 1;
    UPDATE t SET j[2][1] = '1' WHERE a = 1 RETURNING j;
    UPDATE t SET j = NULL WHERE a = 2;
    UPDATE t SET j[-1] = '1' WHERE a = 2;
    UPDATE t SET k[2] = 5, k[1] = 4 WHERE a = 2 RETURNING k;
    INSERT INTO t (a, j['x'], j['y'][1]) VALUES (9, '1', '2') RETURNING j;
    INSERT INTO t (a, j['x']) SELECT 10, '7'::jsonb RETURNING j;
    INSERT INTO t (a, j) VALUES (11, '{}') RETURNING j;
    UPDATE t SET (j['r'], b) = ('8', 'new') WHERE a = 11 RETURNING j, b;
    UPDATE t SET j['nul'] = to_jsonb(NULL::int) WHERE a = 11 RETURNING j;
    SELECT * FROM t ORDER BY a
"""


def test_parts_of_documents_are_assigned(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, ASSIGNED, messages=())
