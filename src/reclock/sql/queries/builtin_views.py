"""Builtin views: planned at their first use, once, and taken on by each session that reads them."""

from __future__ import annotations

from collections.abc import Callable

from reclock.plan.calls import replace_calls
from reclock.plan.relational import Plan
from reclock.plan.scalars import Call, Scalar
from reclock.sql.queries.session_functions import is_about_session


def in_session(plan: Plan, answer: Callable[[Call], Scalar]) -> Plan:
    """``plan`` with the session's answers to questions about the session."""
    return replace_calls(plan, lambda call: is_about_session(call.function), answer)
