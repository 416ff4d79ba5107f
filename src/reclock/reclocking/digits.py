"""Increments beyond 64 bits, as digits: code that sums diffs also sums these exactly, without
knowing of digits.

A number is the sum of ``digit * BASE ** place``. A digit that is a sum of digits may exceed
``BASE``; 64 bits hold the sum of 9 billion digits.
"""

from __future__ import annotations

BASE = 10**9


def digits(number: int) -> list[tuple[int, int]]:
    """The nonzero digits of a nonnegative number with their places, from the lowest."""
    places, place = [], 0
    while number:
        number, digit = divmod(number, BASE)
        if digit:
            places.append((place, digit))
        place += 1
    return places


def place_value(place: int) -> int:
    """The value of a digit at this place."""
    return int(BASE**place)
