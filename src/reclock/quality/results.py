"""What an audit found: one result a source, one check an expectation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["passed", "failed", "waived", "warned"]
"""``waived`` and ``warned`` did not hold either, but block nothing: the first was decided by
``ALTER SOURCE … WAIVE``, the second is a user's expectation of a severity below ``critical``."""


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """One check. ``success`` says that the expectation held; ``status`` what follows from it.

    ``name`` is stable: ``ALTER SOURCE … WAIVE '<name>'`` takes it. ``evidence`` is small and JSON-like.
    """

    name: str
    success: bool
    status: Status
    detail: str
    evidence: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditResult:
    """All checks of one source at one time. ``docs`` is its page, relative to the root of the data docs, if one was written."""

    source: str
    success: bool
    checks: tuple[ExpectationResult, ...]
    docs: str | None = None

    def names(self, status: Status) -> list[str]:
        """The checks that ended as ``status``, in the order in which they ran."""
        return [check.name for check in self.checks if check.status == status]
