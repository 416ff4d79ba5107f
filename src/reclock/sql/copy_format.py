"""How COPY writes rows as text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CopyFormat:
    """How COPY writes rows; ``null`` is what stands for NULL. ``quote`` and ``escape`` are CSV's."""

    is_csv: bool
    delimiter: str
    null: str
    has_header: bool
    quote: str
    escape: str
