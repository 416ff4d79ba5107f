"""An environment that a process of Airflow's keeps open between requests, because opening it takes
seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reclock.runtime.environment import Environment
    from reclock.server.pages import HtmlPage


class OpenEnvironment:
    """The environment at ``home``, opened when it is first used, and again after an error: another
    process may have upgraded or restored it. Safe for threads."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._environment: Environment | None = None

    def use(self, answer: Callable[[Environment], HtmlPage]) -> HtmlPage:
        """What ``answer`` makes of the environment, or a page that says why it cannot be read."""
        from reclock.errors import ReclockError
        from reclock.server.pages import unreadable_page

        for is_last in (False, True):
            try:
                return answer(self._opened())
            except ReclockError as error:
                self._drop()
                if is_last:
                    return unreadable_page(error)
        raise AssertionError

    def _opened(self) -> Environment:
        from reclock.runtime.environment import Environment

        with self._lock:
            if self._environment is None:
                self._environment = Environment.open(self._home)
            return self._environment

    def _drop(self) -> None:
        """Not closed: another thread may still use it, and its connections end with it."""
        with self._lock:
            self._environment = None
