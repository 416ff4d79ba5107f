"""Where a sequence is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SequencePosition:
    """``last_value`` is the value that was reserved last or, unless it ``is_called``, the next."""

    last_value: int
    is_called: bool
