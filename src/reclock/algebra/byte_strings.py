"""Operations on bytes, which are given and answered in hexadecimal."""

from __future__ import annotations

import zlib

from reclock.errors import EvaluationError

_CASTAGNOLI = 0x82F63B78
"""The polynomial of CRC-32C, its lowest bit first."""


def position(digits: str, part: str) -> int:
    """The index of the part, from 1; 0 if it is not there."""
    return bytes.fromhex(digits).find(bytes.fromhex(part)) + 1


def trimmed(digits: str, at_ends: str) -> str:
    """Without the bytes of ``at_ends`` at both ends."""
    return bytes.fromhex(digits).strip(bytes.fromhex(at_ends)).hex()


def left_trimmed(digits: str, at_start: str) -> str:
    return bytes.fromhex(digits).lstrip(bytes.fromhex(at_start)).hex()


def right_trimmed(digits: str, at_end: str) -> str:
    return bytes.fromhex(digits).rstrip(bytes.fromhex(at_end)).hex()


def overlaid(digits: str, other: str, start: int, length: int) -> str:
    """``other`` in place of so many bytes from an index, from 1. Raises ``EvaluationError``."""
    if start < 1:
        raise EvaluationError("negative substring length not allowed", sqlstate="22011")
    raw, behind = bytes.fromhex(digits), max(start - 1 + length, 0)
    return (raw[: start - 1] + bytes.fromhex(other) + raw[behind:]).hex()


def with_bit(digits: str, index: str, bit: int) -> str:
    """``set_bit``. Raises ``EvaluationError``."""
    raw, place = bytearray.fromhex(digits), int(index)
    if not 0 <= place < 8 * len(raw):
        raise EvaluationError(
            f"index {place} out of valid range, 0..{8 * len(raw) - 1}", sqlstate="2202E"
        )
    if bit not in (0, 1):
        raise EvaluationError("new bit must be 0 or 1", sqlstate="22023")
    mask = 1 << place % 8
    raw[place // 8] = raw[place // 8] | mask if bit else raw[place // 8] & ~mask
    return raw.hex()


def bit_count(digits: str) -> int:
    return int(digits or "0", 16).bit_count()


def reversed_bytes(digits: str) -> str:
    return bytes.fromhex(digits)[::-1].hex()


def crc32(digits: str) -> str:
    """The checksum in decimal digits."""
    return str(zlib.crc32(bytes.fromhex(digits)))


def crc32c(digits: str) -> str:
    """The checksum in decimal digits."""
    checksum = 0xFFFFFFFF
    for byte in bytes.fromhex(digits):
        checksum ^= byte
        for _ in range(8):
            checksum = (checksum >> 1) ^ (_CASTAGNOLI if checksum & 1 else 0)
    return str(checksum ^ 0xFFFFFFFF)
