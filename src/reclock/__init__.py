"""Reclock puts a lakehouse on one clock.

``reclock.connect`` opens a client. Importing ``reclock`` is cheap: each exported name is loaded
when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reclock.client.client import Client
    from reclock.client.connection import connect
    from reclock.errors import ReclockError

__all__ = ["Client", "ReclockError", "connect"]

_LAZY = {
    "Client": ("reclock.client.client", "Client"),
    "ReclockError": ("reclock.errors", "ReclockError"),
    "connect": ("reclock.client.connection", "connect"),
}
"""The module that has each exported name, and the name there."""


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
