"""Every statement of the dialect is documented by an example, and every example is of the
dialect."""

import re
from pathlib import Path

from reclock.sql.syntax import nodes
from reclock.sql.syntax.parse import parse

DOCUMENT = (Path(__file__).parents[2] / "docs" / "sql.md").read_text()
README = (Path(__file__).parents[2] / "README.md").read_text()
EXAMPLES = re.findall(r"```sql\n(.*?)```", DOCUMENT + README, re.DOTALL)


def test_every_statement_has_an_example() -> None:
    shown = {type(statement.node) for example in EXAMPLES for statement in parse(example)}
    assert shown == set(nodes.Statement.__subclasses__())
