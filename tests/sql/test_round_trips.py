"""Every statement parses to a node of its own and prints to text that parses to an equal node:
nothing is lost on the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import exp

from reclock.errors import SqlSyntaxError
from reclock.sql.syntax import nodes
from reclock.sql.syntax.dialect import to_sql
from reclock.sql.syntax.parse import parse, parse_one


def statements() -> dict[str, str]:
    """The class of each statement of ``round_trips.sql``. There is a blank line between two of them,
    and above those of a class its name."""
    classes, name = {}, ""
    for block in Path(__file__).with_name("round_trips.sql").read_text().strip().split("\n\n"):
        heading = re.match(r"-- (\w+)\n", block)
        if heading:
            name, block = heading[1], block[heading.end() :]
        classes[block] = name
    return classes


STATEMENTS = statements()


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_prints_to_text_that_parses_to_itself(text: str) -> None:
    node = parse_one(text)
    assert type(node).__name__ == STATEMENTS[text]
    printed = to_sql(node)
    assert parse_one(printed) == node, printed
    assert to_sql(parse_one(printed)) == printed


def test_no_statement_is_left_out() -> None:
    def subclasses(kind: type[nodes.Statement]) -> Iterator[str]:
        for subclass in kind.__subclasses__():
            yield subclass.__name__
            yield from subclasses(subclass)

    assert set(subclasses(nodes.Statement)) == set(STATEMENTS.values())


@pytest.mark.parametrize("text", STATEMENTS)
def test_no_part_of_a_statement_is_a_command_that_was_not_parsed(text: str) -> None:
    assert not list(parse_one(text).find_all(exp.Command))


def test_several_statements_are_told_apart_with_their_text_and_place() -> None:
    text = "SELECT 1;\n ;; -- nothing\n SHOW SOURCES ;SELECT ';' "
    parsed = parse(text)
    assert [(statement.text, statement.position) for statement in parsed] == [
        ("SELECT 1", 1),
        ("SHOW SOURCES", text.index("SHOW") + 1),
        ("SELECT ';'", text.index("SELECT ';'") + 1),
    ]
    assert parse("") == parse("; /* nothing */ ;") == []


def test_hints_of_how_large_groups_are_change_no_query() -> None:
    hinted = (
        "SELECT DISTINCT ON (a) a, sum(b) AS s FROM (SELECT * FROM t OPTIONS (LIMIT INPUT GROUP "
        "SIZE = 5) LIMIT 9) AS x GROUP BY a HAVING sum(b) > 1 OPTIONS (AGGREGATE INPUT GROUP SIZE "
        "= 1000, DISTINCT ON INPUT GROUP SIZE 20, EXPECTED GROUP SIZE = 3) ORDER BY a LIMIT 3"
    )
    plain = (
        "SELECT DISTINCT ON (a) a, sum(b) AS s FROM (SELECT * FROM t LIMIT 9) AS x GROUP BY a "
        "HAVING sum(b) > 1 ORDER BY a LIMIT 3"
    )
    assert to_sql(parse_one(hinted)) == plain
    for size in ("0.1", "'many'", ""):
        with pytest.raises(SqlSyntaxError):
            parse_one(f"SELECT a FROM t GROUP BY a OPTIONS (EXPECTED GROUP SIZE = {size})")
