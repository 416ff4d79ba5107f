"""A name means one thing in the project."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"


def test_no_two_public_classes_share_a_name() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(str(path.relative_to(SRC)))
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
