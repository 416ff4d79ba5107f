"""The families of statements: the packages in ``reclock.sql.statements``, whose modules register
what they add."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

FAMILIES = "reclock.sql.statements"


@cache
def load_syntax() -> None:
    """Import the modules of all families that register nodes, rules and writers: those whose names
    end in ``syntax``."""
    _load(is_syntax=True)


@cache
def load_planners() -> None:
    """Import all other modules of all families, which register planners and definitions."""
    _load(is_syntax=False)


def _load(*, is_syntax: bool) -> None:
    for module in pkgutil.walk_packages(import_module(FAMILIES).__path__, f"{FAMILIES}."):
        if not module.ispkg and module.name.endswith("syntax") == is_syntax:
            import_module(module.name)
