"""What all controllers have in common: they follow the catalog, and callers wait for their catalog
frontier."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from reclock.algebra.timestamps import MINIMUM, Timestamp
from reclock.errors import StatementTimeout
from reclock.sql.catalog.planner_catalog import PlannerCatalog

CurrentCatalog = Callable[[], PlannerCatalog]
"""The catalog with every change that was committed before the call. All threads of a process share
the copy."""

Pause = Callable[[float, str], None]
"""Waits so many seconds; the text says for what. Raises if the caller should stop waiting."""

_POLL_S = 0.01
PATIENCE_S = 60.0


class Controller(ABC):
    """One controller, as one process knows it. Safe for threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._frontier = MINIMUM

    @property
    def frontier(self) -> Timestamp:
        """What the catalog implies below this is carried out, as far as this process knows. Only
        grows."""
        return self._frontier

    def await_frontier(self, to: Timestamp, pause: Pause | None = None) -> None:
        """Returns once ``frontier`` is at least ``to``, where the catalog was seen; at once,
        without I/O, if it is already."""
        if self._frontier >= to:
            return
        pause = pause or patiently()
        while not self.try_advance(to):
            pause(
                _POLL_S,
                (
                    f"the {self.name} controller has not reached {to} in the catalog "
                    f"yet{self._trouble()}"
                ),
            )

    @abstractmethod
    def try_advance(self, to: Timestamp) -> bool:
        """Do what this process can do now, without waiting; answers whether the frontier has
        reached ``to``."""

    def _trouble(self) -> str:
        return ""

    def _learn(self, frontier: Timestamp) -> None:
        self._frontier = max(self._frontier, frontier)


def patiently(within_s: float = PATIENCE_S) -> Pause:
    """A pause for callers without a statement timeout: it waits ``within_s`` in all, then raises
    ``StatementTimeout``."""
    deadline = time.monotonic() + within_s

    def pause(seconds: float, waiting_for: str) -> None:
        if time.monotonic() >= deadline:
            raise StatementTimeout(int(within_s * 1000), detail=waiting_for)
        time.sleep(seconds)

    return pause
