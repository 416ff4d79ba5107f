"""A name means one thing in the project."""

from __future__ import annotations

import ast
from collections import defaultdict

from fixtures.syntax_trees import syntax_trees


def test_no_two_public_classes_share_a_name() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for path, tree in syntax_trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(str(path))
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
