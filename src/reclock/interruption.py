"""Ends the planning of a statement that was canceled, or whose time is over.

Planning walks through syntax, plans and scalars, again and again. What each step of such a walk
calls (`plan.relational.inputs`, the walks of `plan.scalar_trees`, the parser's lists) calls
``check``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Generic, TypeVar

from reclock.errors import QueryCanceled, StatementTimeout

Check = Callable[[], object]
T = TypeVar("T")

INTERRUPTIONS = (QueryCanceled, StatementTimeout)
"""The errors that a check raises. They belong to the statement, not to what it plans or waits
for."""

_check: ContextVar[Check | None] = ContextVar("check_planning", default=None)


class ContextValue(Generic[T]):
    """Within the block, a context variable has this value."""

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> None:
        self._token = self._variable.set(self._value)

    def __exit__(self, *outcome: object) -> None:
        self._variable.reset(self._token)


def interruptible_planning(check: Check) -> ContextValue[Check | None]:
    """Within the block, planning in this thread ends with what ``check`` raises."""
    return ContextValue(_check, check)


def check() -> None:
    """Raises if the statement that this thread plans must end."""
    if (current := _check.get()) is not None:
        current()
