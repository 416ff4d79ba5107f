"""The results of audits: one for each source, with one check for each expectation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["passed", "failed", "waived", "warned"]
"""The checks ``waived`` and ``warned`` failed too, but block nothing: the first by the decision
``ALTER SOURCE … WAIVE``, the second because it is a user's expectation with a severity below
``critical``."""


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """One check. ``success`` says whether the expectation held, ``status`` what follows.

    ``name`` is stable: ``ALTER SOURCE … WAIVE '<name>'`` uses it. ``evidence`` is small and
    JSON-like. A check ``is_of_user`` if it is a CHECK constraint or belongs to a user's suite; the
    others are those of every step.
    """

    name: str
    success: bool
    status: Status
    detail: str
    evidence: Mapping[str, Any]
    is_of_user: bool = False


@dataclass(frozen=True, slots=True)
class AuditResult:
    """All checks of one source at one time. ``docs`` is its page, relative to the root of the data
    docs, if one was written."""

    source: str
    success: bool
    checks: tuple[ExpectationResult, ...]
    docs: str | None = None

    def names(self, status: Status) -> list[str]:
        """The checks with this status, in the order in which they ran."""
        return [check.name for check in self.checks if check.status == status]
