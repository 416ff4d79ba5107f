"""Counts in the lines of logs and reports."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """The count, with separators of thousands, and the noun in the singular or plural: ``1 row``,
    ``1,200 rows``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
