"""Lists and maps, Materialize's types, on both engines. PostgreSQL has none, so the answers are
written out, as Materialize's documentation has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.planning import World

from reclock.adapter.context.texts import texts
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.engine import Engine
from reclock.errors import (
    EvaluationError,
    IndeterminateType,
    InvalidText,
    ReclockError,
    TypeMismatch,
    UnknownFunction,
    UnknownOperator,
    UnsupportedSql,
)
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse_one

ROWS = """WITH t AS (SELECT * FROM (VALUES
(1, '{3,1,NULL}'::int list, '{{a},{},NULL,{b,"c d","null",""}}'::text list list,
    '{b=>NULL,a=>1}'::map[text=>int], '{k=>{},"=>"=>{1.50}}'::map[text=>numeric(5,2) list]),
(2, '{}', '{}', '{}', '{}'), (3, NULL, NULL, NULL, NULL),
(4, LIST[3], LIST[['a']], MAP['ä' => 3, 'b' => 2], '{" "=>NULL}')) AS v (id, l, n, m, d))
"""


def answers() -> Iterator[tuple[str, list[str]]]:
    text = (Path(__file__).parent / "answers" / "lists.txt").read_text().split("\n", 1)[1]
    for case in text.strip().split("\n\n"):
        query, *rows = case.split("\n")
        yield query, rows


def printed(world: World, engine: Engine, sql: str) -> list[str]:
    select = world.select(sql)
    rows: list[str] = []
    for batch in engine.run(select.plan, select.finishing, {}, Timestamp(0)).batches:
        columns = [
            texts(column, type).to_pylist()
            for column, type in zip(batch.columns, select.desc.types, strict=True)
        ]
        for row in zip(*columns, strict=True):
            rows.append("|".join("NULL" if value is None else value for value in row))
    return rows


@pytest.mark.spark
@pytest.mark.parametrize(("query", "rows"), answers())
def test_both_engines_answer_as_materialize_documents(
    query: str, rows: list[str], world: World, engine: Engine
) -> None:
    assert printed(world, engine, ROWS + query) == rows


@pytest.mark.parametrize("query", [query for query, _ in answers()])
def test_a_query_prints_to_text_that_means_the_same(query: str) -> None:
    parsed = parse_one(ROWS + query)
    assert parse_one(to_sql(parsed)) == parsed


@pytest.mark.parametrize(
    ("query", "error", "sqlstate"),
    [
        ("SELECT LIST[]", IndeterminateType, "42P18"),
        ("SELECT LIST[1, LIST[2]]", TypeMismatch, "42804"),
        ("SELECT LIST[1][1][1]", TypeMismatch, "42804"),
        ("SELECT LIST[1][date '2020-01-01']", TypeMismatch, "42804"),
        ("SELECT LIST[ARRAY[1]]", UnsupportedSql, "0A000"),
        ("SELECT NULL::char(3) list", UnsupportedSql, "0A000"),
        ("SELECT NULL::varchar(3) list", UnsupportedSql, "0A000"),
        ("SELECT NULL::map[text=>int[]]", UnsupportedSql, "0A000"),
        ("SELECT NULL::map[int=>text]", TypeMismatch, "42804"),
        ("SELECT LIST[1, 2]::int list list", ReclockError, "42846"),
        ("SELECT '{{1}}'::int list", InvalidText, "22P02"),
        ("SELECT '{1'::int list", InvalidText, "22P02"),
        ("SELECT '{a b,}'::text list", InvalidText, "22P02"),
        ("SELECT '{\"a\"b}'::text list", InvalidText, "22P02"),
        ("SELECT '{a}'::map[text=>int]", InvalidText, "22P02"),
        ("SELECT '{a=>b}'::map[text=>int]", InvalidText, "22P02"),
        ("SELECT '{a=>{b=>1}'::map[text=>map[text=>int]]", InvalidText, "22P02"),
        ("SELECT LIST[1] || LIST['a']", UnknownOperator, "42883"),
        ("SELECT LIST[1] = LIST['a']", UnknownOperator, "42883"),
        ("SELECT LIST[1] = ARRAY[1]", UnknownOperator, "42883"),
        ("SELECT LIST[1] @> ARRAY[1]", UnknownOperator, "42883"),
        ("SELECT LIST[1] @> LIST['a']", UnknownOperator, "42883"),
        ("SELECT MAP['a' => 1] @> MAP['a' => true]", UnknownOperator, "42883"),
        ("SELECT MAP['a' => 1] -> 1", UnknownOperator, "42883"),
        ("SELECT MAP['a' => 1] ?& ARRAY[1]", UnknownOperator, "42883"),
        ("SELECT MAP[1 => 1]", TypeMismatch, "42804"),
        ("SELECT MAP(SELECT 1, 1)", TypeMismatch, "42804"),
        ("SELECT MAP(SELECT 'a'::text)", TypeMismatch, "42804"),
        ("SELECT map_agg(1, 2)", UnknownFunction, "42883"),
        ("SELECT map_build(LIST[1])", UnknownFunction, "42883"),
        ("SELECT list_append(LIST[1], LIST[2])", UnknownFunction, "42883"),
        ("SELECT list_cat('{1}', NULL)", UnknownFunction, "42883"),
        ("SELECT list_remove(LIST[1], true)", UnknownFunction, "42883"),
        ("SELECT list_length(ARRAY[1])", UnknownFunction, "42883"),
        ("SELECT list_n_layers(NULL)", UnknownFunction, "42883"),
        ("SELECT map_length(LIST[1])", UnknownFunction, "42883"),
        ("SELECT array_length(LIST[1], 1)", UnknownFunction, "42883"),
        ("SELECT cardinality(LIST[1])", UnknownFunction, "42883"),
        ("SELECT list_length_max(LIST[1], 2)", EvaluationError, "22023"),
        ("SELECT to_jsonb(MAP['a' => 1])", UnsupportedSql, "0A000"),
    ],
)
def test_what_is_no_list_or_map_is_refused(
    query: str, error: type[ReclockError], sqlstate: str, world: World
) -> None:
    with pytest.raises(error) as refused:
        world.select(query)
    assert refused.value.sqlstate == sqlstate
