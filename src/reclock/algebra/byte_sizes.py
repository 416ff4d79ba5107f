"""Numbers of bytes, as settings and options write them."""

from __future__ import annotations

import re
from functools import lru_cache

BYTE_UNITS = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


@lru_cache(maxsize=256)
def bytes_of(value: str) -> int:
    """The bytes that the text says. Raises ``ValueError``."""
    match = re.fullmatch(r"(\d{1,12})\s*([kmgt]?b)?", value.strip().lower())
    if match is None:
        raise ValueError("bytes, as a whole number, perhaps with B, kB, MB, GB or TB after it")
    units = {unit.lower(): size for unit, size in BYTE_UNITS.items()}
    return int(match[1]) * units[match[2] or "b"]
