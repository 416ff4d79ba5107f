"""Hooks of the docs site (`make site`): the decisions come last in its navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    folder = Path(config.docs_dir)
    decisions = sorted(path.relative_to(folder) for path in folder.glob("decisions/*.md"))
    config.nav = [*config.nav, {"Decisions": [str(path) for path in decisions]}]
    return config
