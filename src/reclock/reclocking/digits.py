"""Increments that 64 bits cannot hold, as digits: whoever sums diffs sums these exactly, and knows nothing of it.

A number is the sum of ``digit * BASE ** place``. A digit that is a sum of digits may exceed ``BASE``; 64 bits hold the sum of 9
billion of them.
"""

from __future__ import annotations

BASE = 10**9


def digits(number: int) -> list[tuple[int, int]]:
    """The places of a number that is not negative, from the lowest, with their digits that are not 0."""
    places, place = [], 0
    while number:
        number, digit = divmod(number, BASE)
        if digit:
            places.append((place, digit))
        place += 1
    return places


def worth(place: int) -> int:
    """What a digit at that place counts."""
    return int(BASE**place)
