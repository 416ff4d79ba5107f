"""Messages write names of objects by one function, so that no name is in quotes twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.syntax_trees import syntax_trees

from reclock.errors import InputStalled, UnknownRelation, quoted_name, unquoted_name
from reclock.sql.names import QualifiedName

PARAMETERS = {
    "dependent",
    "group",
    "index",
    "name",
    "relation",
    "sink",
    "source",
    "table",
    "target",
    "view",
}
"""How parameters of errors that are names of objects are called."""

NAMED = {
    "entry",
    "host",
    "ingestion",
    "item",
    "sink",
    "source",
    "spec",
    "statement",
    "table",
    "task",
    "view",
}
"""How variables of objects are called whose name may be qualified."""


def quoted_expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """What an f-string writes between double quotes."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        for before, part, after in zip(node.values, node.values[1:], node.values[2:], strict=False):
            if (
                isinstance(part, ast.FormattedValue)
                and isinstance(before, ast.Constant)
                and isinstance(after, ast.Constant)
                and str(before.value).endswith('"')
                and str(after.value).startswith('"')
            ):
                yield part.value


def is_name_of_object(expression: ast.expr, path: Path) -> bool:
    if isinstance(expression, ast.Name):
        return path.parts[:2] == ("reclock", "errors") and expression.id in PARAMETERS
    if not isinstance(expression, ast.Attribute) or expression.attr != "name":
        return False
    return ast.unparse(expression.value).split(".")[-1] in NAMED


def test_no_message_quotes_a_name_by_itself() -> None:
    by_hand = [
        f"{path}:{expression.lineno}: {ast.unparse(expression)}"
        for path, tree in syntax_trees().items()
        for expression in quoted_expressions(tree)
        if is_name_of_object(expression, path)
    ]
    assert by_hand == [], "write it with `quoted_name`"


@pytest.mark.parametrize(
    ("name", "unquoted"),
    [
        ("orders", "orders"),
        ('reclock.public."Orders"', "reclock.public.Orders"),
        ('"My db"."a.b"."say ""hi"""', 'My db.a.b.say "hi"'),
        (QualifiedName("reclock", "public", "Orders"), "reclock.public.Orders"),
        ('we"ird', 'we"ird'),
        ("", ""),
    ],
)
def test_a_name_in_a_message_has_no_quotes_of_its_own(name: object, unquoted: str) -> None:
    assert unquoted_name(name) == unquoted
    assert quoted_name(name) == f'"{unquoted}"'


def test_errors_write_names_as_postgresql_does() -> None:
    assert UnknownRelation('public."Orders"').message == 'relation "public.Orders" does not exist'
    stalled = InputStalled('public."Orders"', "why", detail=None, hint=None, behind="")
    assert stalled.message == '"public.Orders" is stalled: why'
