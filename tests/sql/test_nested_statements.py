"""What it takes to read a statement grows with its length, whatever is within what."""

from __future__ import annotations

import pytest
from sqlglot import exp

from reclock.sql.syntax.expressions import QueryParser
from reclock.sql.syntax.parse import parse_one

FORMS = {
    # what stands before, what opens, what is within, what closes, and what stands after
    "calls": ("SELECT ", "f(", "a", ")", ""),
    "calls with more arguments": ("SELECT ", "replace(", "a", ", 'x', 'y')", ""),
    "calls with more arguments before": ("SELECT ", "f(1, ", "a", ")", ""),
    "calls by full names": ("SELECT ", "pg_catalog.f(", "a", ")", ""),
    "named arguments": ("SELECT ", "f(x => ", "a", ")", ""),
    "parentheses": ("SELECT ", "(", "a", ")", ""),
    "operators": ("SELECT ", "(1 + ", "a", ")", ""),
    "rows": ("SELECT ", "(1, ", "a", ")", ""),
    "fields": ("SELECT ", "(", "a", ").f", ""),
    "rows with their word": ("SELECT ", "ROW(", "a", ")", ""),
    "CASE": ("SELECT ", "CASE WHEN b THEN ", "a", " END", ""),
    "CASE in a condition": ("SELECT ", "CASE WHEN ", "a", " THEN 1 ELSE 2 END = 1", ""),
    "CASE of a value": ("SELECT ", "CASE ", "a", " WHEN 1 THEN 2 END", ""),
    "casts": ("SELECT ", "CAST(", "a", " AS int)", ""),
    "casts by colons": ("SELECT ", "(", "a", ")::int", ""),
    "arrays": ("SELECT ", "ARRAY[", "a", "]", ""),
    "brackets": ("SELECT ARRAY", "[", "a", "]", ""),
    "lists": ("SELECT ", "LIST[", "a", "]", ""),
    "maps": ("SELECT ", "MAP['a' => ", "a", "]", ""),
    "subscripts": ("SELECT ", "a[", "1", "]", ""),
    "slices": ("SELECT ", "a[1:", "1", "]", ""),
    "aggregates": ("SELECT ", "string_agg(", "a", ", ',' ORDER BY b)", ""),
    "distinct aggregates": ("SELECT ", "count(DISTINCT ", "a", ")", ""),
    "filters": ("SELECT ", "sum(a) FILTER (WHERE ", "a", ")", ""),
    "windows": ("SELECT ", "sum(", "a", ") OVER (PARTITION BY b)", ""),
    "extract": ("SELECT ", "extract(year FROM ", "a", ")", ""),
    "substring": ("SELECT ", "substring(", "a", " FROM 1 FOR 2)", ""),
    "trim": ("SELECT ", "trim(both 'x' from ", "a", ")", ""),
    "overlay": ("SELECT ", "overlay(", "a", " placing 'x' from 1)", ""),
    "lists of IN": ("SELECT 1 WHERE ", "a IN (1, ", "a", ")", ""),
    "BETWEEN": ("SELECT ", "a BETWEEN 1 AND (", "a", ")", ""),
    "scalar subqueries": ("SELECT ", "(SELECT ", "a", ")", ""),
    "EXISTS": ("SELECT 1 WHERE ", "EXISTS (SELECT 1 FROM t WHERE ", "a", ")", ""),
    "subqueries of IN": ("SELECT 1 WHERE ", "a IN (SELECT a FROM t WHERE ", "a", ")", ""),
    "subqueries of arrays": ("SELECT ", "ARRAY(SELECT ", "a", ")", ""),
    "subqueries in FROM": ("SELECT * FROM ", "(SELECT * FROM ", "t", ") AS x", ""),
    "LATERAL": ("SELECT * FROM ", "a, LATERAL (SELECT * FROM ", "t", ") AS x", ""),
    "joins in parentheses": ("SELECT * FROM ", "(", "t", " JOIN b USING (c))", ""),
    "set operations": ("", "(", "SELECT 1", " UNION SELECT 2)", ""),
    "WITH": ("", "WITH x AS (", "SELECT 1", ") SELECT 2", ""),
    "grouping sets": ("SELECT 1 FROM t GROUP BY ", "GROUPING SETS (", "a", ")", ""),
    "views": ("CREATE VIEW v AS SELECT ", "f(", "a", ")", ""),
    "conditions of a table": ("CREATE TABLE t (a int CHECK (", "(", "a", ")", "))"),
    "assigned values": ("UPDATE t SET a = ", "(", "1", ")", ""),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_within_is_read_once(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start, opening, inner, closing, end = FORMS[form]
    real, steps = QueryParser._advance, 0

    def counted(self: QueryParser, times: int = 1) -> None:
        nonlocal steps
        steps += 1
        real(self, times)

    monkeypatch.setattr(QueryParser, "_advance", counted)

    def steps_at(depth: int) -> int:
        nonlocal steps
        steps = 0
        parse_one(f"{start}{opening * depth}{inner}{closing * depth}{end}")
        return steps

    assert steps_at(12) < 4 * steps_at(6)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES " + ", ".join(["(1, NULL, 'a')"] * 100),
        f"SELECT 1 FROM t WHERE a IN ({', '.join(map(str, range(300)))})",
    ],
)
def test_literals_of_a_long_list_do_not_go_through_all_levels_of_precedence(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, levels = QueryParser._parse_disjunction, 0

    def counted(self: QueryParser) -> exp.Expr | None:
        nonlocal levels
        levels += 1
        return real(self)

    monkeypatch.setattr(QueryParser, "_parse_disjunction", counted)
    parse_one(text)
    assert levels < 10
