"""Ends the planning of a statement that was canceled, or whose time is over.

Planning walks through syntax, plans and scalars, again and again. What each step of such a walk
calls (`plan.relational.inputs`, the walks of `plan.scalar_trees`, the parser's lists) calls
``check``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from reclock.errors import QueryCanceled, StatementTimeout

INTERRUPTIONS = (QueryCanceled, StatementTimeout)
"""The errors that a check raises. They belong to the statement, not to what it plans or waits
for."""

_check: ContextVar[Callable[[], object] | None] = ContextVar("check_planning", default=None)


@contextmanager
def interruptible_planning(check: Callable[[], object]) -> Iterator[None]:
    """Within the block, planning in this thread ends with what ``check`` raises."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check() -> None:
    """Raises if the statement that this thread plans must end."""
    if (current := _check.get()) is not None:
        current()
