"""Templates write the arguments of a node and leave out what the node lacks."""

from __future__ import annotations

import pytest
from sqlglot import exp

from reclock.sql.syntax.dialect import Reclock
from reclock.sql.syntax.templates import template

NODE = exp.Expression(
    this=exp.to_identifier("t"),
    word="CASCADE",
    flag=True,
    off=False,
    none=[],
    items=[exp.Literal.number(1), exp.Literal.number(2)],
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("DROP {this} {word}", "DROP t CASCADE"),
        ("DROP {missing} {this}  {none}", "DROP t"),
        ("{this}.{word}", "t.CASCADE"),
        ("{this}({items})", "t(1, 2)"),
        ("{this} {*items}", "t 1 2"),
        ("SHOW {missing|ALL ROWS} {this|ALL}", "SHOW ALL ROWS t"),
        ("{none|DEFAULT}", "DEFAULT"),
        ("[AS {this}] [OF {missing}]", "AS t"),
        ("[({none})][({items})]", "(1, 2)"),
        ("[IN {word} {none}]{this}", "t"),
        ("[flag: IF EXISTS] [off: NOT] [missing: AS] {this}", "IF EXISTS t"),
        ("[KEY ({items}) [flag: NOT ENFORCED] [AT {missing}]]", "KEY (1, 2) NOT ENFORCED"),
        ("[{missing}.]{this}[.{word}]", "t.CASCADE"),
    ],
)
def test_a_template_writes_what_the_node_has(text: str, written: str) -> None:
    assert template(text)(Reclock().generator(), NODE) == written
