"""The planner's expressions have a closed type: functions that return `Any` are few and known."""

from __future__ import annotations

import ast
from collections import Counter

from fixtures.syntax_trees import syntax_trees

RETURN_ANY = {
    "__init__": 1,  # what is imported when it is first used
    "adapter": 1,  # an answer of any kind
    "airflow": 1,  # JSON
    "algebra": 1,  # JSON
    "catalog": 4,  # any kind of object
    "client": 2,  # polars, which need not be installed
    "connectors": 7,  # clients without types
    "consensus": 1,
    "formats": 2,  # a client without types, decoded records
    "protocol": 2,  # JSON
    "server": 3,  # JSON
    "sinks": 2,  # clients without types
    "sql": 2,  # the arguments of a syntax node, which sqlglot does not type
}
"""How many functions of a package may return `Any`, and why. What the planner makes of expressions
is `Planned`, and what a plan has is `Scalar`: see `sql/queries/planned.py`."""


def _returns_any(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.returns is None:
        return False
    return ast.unparse(node.returns) in ("Any", "Any | None")


def test_few_functions_return_any() -> None:
    counts: Counter[str] = Counter()
    for path, tree in syntax_trees().items():
        package = path.parts[1].removesuffix(".py")
        counts[package] += sum(map(_returns_any, ast.walk(tree)))
    more = {name: count for name, count in counts.items() if count > RETURN_ANY.get(name, 0)}
    assert more == {}


def test_functions_that_return_any_are_seen() -> None:
    assert _returns_any(ast.parse("def f() -> Any | None: ...").body[0])
    assert not _returns_any(ast.parse("def f() -> dict[str, Any]: ...").body[0])
