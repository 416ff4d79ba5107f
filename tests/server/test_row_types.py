"""The name of a relation is the type of its rows, and documents fill such rows, as in PostgreSQL."""

from __future__ import annotations

import psycopg
import pytest
from fixtures.side_by_side import assert_same_answers

ROWS = """
    CREATE TABLE t (a int, b text, j jsonb, k int[], n numeric(5, 2));
    INSERT INTO t VALUES (1, 'x', '{"a": 1}'), (2, 'y', NULL), (3, 'z', '[1, 2]');
    SELECT NULL::t IS NULL, (NULL::t).a, NULL::side_by_side.t IS NULL, NULL::t::text;
    SELECT ROW(1, 'x', NULL, '{1}', 2)::t::text, (ROW('1', 'x', NULL, NULL, 1.234)::t).n;
    SELECT ROW(1, 'x')::t;
    SELECT NULL::nothing;
    SELECT * FROM jsonb_populate_record(NULL::t, '{"a": 1, "b": "x", "k": [1, 2], "n": 1.005}');
    SELECT * FROM jsonb_populate_record(ROW(7, 'seven', NULL, NULL, NULL)::t, '{"a": 1, "j": {"x": []}, "other": 2}');
    SELECT * FROM jsonb_populate_record(ROW(7, 'seven', NULL, NULL, NULL)::t, NULL);
    SELECT * FROM jsonb_populate_recordset(NULL::t, '[{"a": 1, "b": "x"}, {"j": [1]}, {"a": null}]');
    SELECT * FROM json_populate_record(NULL::t, '{"a": 1, "b": {"c": true}}') AS r (x, y);
    SELECT r.* FROM json_populate_recordset(NULL::t, '[]') AS r;
    SELECT (jsonb_populate_record(NULL::t, '{"a": 1}')).a, (json_populate_record(NULL::t, '{"b": 1}')).b;
    SELECT t.a, r.a, r.b FROM t, jsonb_populate_record(t, coalesce(j, '{"b": "new"}')) AS r WHERE t.a < 3 ORDER BY 1;
    SELECT t.a, r.b FROM t
        LEFT JOIN LATERAL jsonb_populate_recordset(NULL::t, jsonb_build_array(CASE WHEN t.a = 1 THEN j END)) AS r ON true
        WHERE t.a = 1 ORDER BY 1;
    SELECT * FROM jsonb_populate_record(NULL::t, '[1]');
    SELECT * FROM jsonb_populate_record(NULL::t, '1');
    SELECT * FROM jsonb_populate_record(NULL::t, '{"a": "x"}');
    SELECT jsonb_populate_record(1, '{}');
    INSERT INTO t SELECT * FROM jsonb_populate_recordset(NULL::t, '[{"a": 4, "b": "w"}]');
    SELECT * FROM t WHERE a = 4
"""


LIMITED = """
    CREATE TABLE t (v varchar(3), c char(2), at timestamp(0), d text);
    SELECT v::text, c, at FROM jsonb_populate_record(NULL::t, '{"v": "abc", "c": "x", "at": "2024-01-01 00:00:00.7"}');
    SELECT v::text, c, at FROM jsonb_populate_record(NULL::t, '{"v": "abc   ", "c": "x    "}');
    SELECT v::text, c, at FROM jsonb_populate_record(NULL::t, '{"v": "abcd"}');
    SELECT c FROM jsonb_populate_recordset(NULL::t, '[{"c": "xyz"}]');
    SELECT * FROM jsonb_to_record('{"c": "xyz"}') AS r (c char(2));
    SELECT ((jsonb_populate_record(NULL::t, '{"v": "abcd"}')).v)::text
"""


def test_fields_have_the_lengths_and_precisions_of_columns(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, LIMITED, messages=())


def test_rows_of_relations_are_those_of_postgresql(
    ours: psycopg.Connection, theirs: psycopg.Connection
) -> None:
    assert_same_answers(ours, theirs, ROWS, messages=())


def test_definitions_have_no_types_of_rows(ours: psycopg.Connection) -> None:
    ours.execute("CREATE TABLE t (a int)")
    for definition in ("CREATE VIEW v AS SELECT (NULL::t).a", "CREATE TABLE u (row t)"):
        with pytest.raises(psycopg.errors.UndefinedObject, match='type "t" does not exist'):
            ours.execute(definition)
