"""Ranges: sets of the values between two bounds, and their text as PostgreSQL writes it.

A bound is a cut: a place before or after a value, or beyond all values. A range is what lies
between two cuts, so that every operator compares cuts, whatever the bounds include.

Functions of this module take the text of a range in normal form: of equal ranges, the texts are
equal. The values of its bounds are compared as numbers if they look like numbers, otherwise as
texts, in whose order dates and timestamps are, as Reclock prints them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from reclock.algebra.number_texts import number_key
from reclock.errors import EvaluationError

EMPTY = "empty"
Value = Decimal | str


@dataclass(frozen=True, slots=True, order=True)
class RangeCut:
    """A place among the values of a type: before or after ``value``, or, without one, before
    (``side`` -1) or after (1) all of them."""

    side: int
    value: Value | None = None
    is_after: bool = False

    @classmethod
    def at(cls, value: Value, *, is_after: bool) -> RangeCut:
        return cls(0, value, is_after)


_BEFORE_ALL, _AFTER_ALL = RangeCut(-1), RangeCut(1)


@dataclass(frozen=True, slots=True)
class Range:
    """The values between two cuts; none if the first is not before the second."""

    lower: RangeCut
    upper: RangeCut

    @property
    def is_empty(self) -> bool:
        return self.lower >= self.upper

    def text(self) -> str:
        """In normal form."""
        if self.is_empty:
            return EMPTY
        is_open = self.lower.side or self.lower.is_after
        return (
            f"{'(' if is_open else '['}{_written(self.lower)},"
            f"{_written(self.upper)}{']' if self.upper.is_after else ')'}"
        )


_NOTHING = Range(_AFTER_ALL, _BEFORE_ALL)
_TEXT = re.compile(r'([\[(])"?([^",]*)"?,"?([^",]*)"?([\])])')
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def parse(text: str) -> Range:
    """The range of a text in normal form."""
    if text == EMPTY:
        return _NOTHING
    matched = _TEXT.fullmatch(text)
    assert matched is not None, text
    opening, lower, upper, closing = matched.groups()
    return between(
        value(lower) if lower else None,
        value(upper) if upper else None,
        includes_lower=opening == "[",
        includes_upper=closing == "]",
    )


def between(
    lower: Value | None, upper: Value | None, *, includes_lower: bool, includes_upper: bool
) -> Range:
    """The range between two values. None is no bound."""
    return Range(
        _BEFORE_ALL if lower is None else RangeCut.at(lower, is_after=not includes_lower),
        _AFTER_ALL if upper is None else RangeCut.at(upper, is_after=includes_upper),
    )


def value(text: str) -> Value:
    """The value of a bound, as it is compared."""
    return Decimal(text) if _NUMBER.fullmatch(text) else text


def _written(cut: RangeCut) -> str:
    """The value, in quotes if it has a blank."""
    match cut.value:
        case None:
            return ""
        case Decimal() as number:
            return format(number, "f")
        case text:
            return f'"{text}"' if " " in text else text


def _of_value(text: str) -> Range:
    at = value(text)
    return Range(RangeCut.at(at, is_after=False), RangeCut.at(at, is_after=True))


# --- order ---


def order_key(text: str) -> str:
    """A text for each range, in whose order, by bytes, ranges are in PostgreSQL's: ``empty`` first,
    then by the lower and the upper cut."""
    of = parse(text)
    return "" if of.is_empty else _cut_key(of.lower) + _cut_key(of.upper)


def _cut_key(cut: RangeCut) -> str:
    if cut.side:
        return str(cut.side + 1)
    key = number_key(cut.value) if isinstance(cut.value, Decimal) else f"{cut.value} "
    return f"1{key}{cut.is_after:d}"


# --- what ranges contain ---


def contains(whole: str, part: str) -> bool:
    """Whether every value of ``part`` is in ``whole``."""
    return _covers(parse(whole), parse(part))


def contains_value(whole: str, element: str) -> bool:
    """Whether the value that ``element`` prints is in ``whole``."""
    return _covers(parse(whole), _of_value(element))


def _covers(whole: Range, part: Range) -> bool:
    if whole.is_empty or part.is_empty:
        return part.is_empty
    return whole.lower <= part.lower and part.upper <= whole.upper


# --- how ranges lie; an empty one lies nowhere ---


def overlaps(left: str, right: str) -> bool:
    return not _intersection(parse(left), parse(right)).is_empty


def is_before(left: str, right: str) -> bool:
    a, b = parse(left), parse(right)
    return not a.is_empty and not b.is_empty and a.upper <= b.lower


def is_after(left: str, right: str) -> bool:
    return is_before(right, left)


def ends_within(left: str, right: str) -> bool:
    """Whether ``left`` does not extend to the right of ``right``."""
    a, b = parse(left), parse(right)
    return not a.is_empty and not b.is_empty and a.upper <= b.upper


def begins_within(left: str, right: str) -> bool:
    """Whether ``left`` does not extend to the left of ``right``."""
    a, b = parse(left), parse(right)
    return not a.is_empty and not b.is_empty and a.lower >= b.lower


def is_adjacent(left: str, right: str) -> bool:
    a, b = parse(left), parse(right)
    return not a.is_empty and not b.is_empty and (a.upper == b.lower or b.upper == a.lower)


# --- ranges of ranges ---


def intersection(left: str, right: str) -> str:
    return _intersection(parse(left), parse(right)).text()


def _intersection(a: Range, b: Range) -> Range:
    return Range(max(a.lower, b.lower), min(a.upper, b.upper))


def span(left: str, right: str) -> str:
    """The smallest range that contains both."""
    return _span(parse(left), parse(right)).text()


def _span(a: Range, b: Range) -> Range:
    if a.is_empty or b.is_empty:
        return b if a.is_empty else a
    return Range(min(a.lower, b.lower), max(a.upper, b.upper))


def union(left: str, right: str) -> str:
    """Raises ``EvaluationError`` if there are other values between the ranges."""
    a, b = parse(left), parse(right)
    if not a.is_empty and not b.is_empty and max(a.lower, b.lower) > min(a.upper, b.upper):
        raise EvaluationError("result of range union would not be contiguous")
    return _span(a, b).text()


def difference(left: str, right: str) -> str:
    """Raises ``EvaluationError`` if two ranges would be left."""
    a, b = parse(left), parse(right)
    if _intersection(a, b).is_empty:
        return left
    if a.lower < b.lower and b.upper < a.upper:
        raise EvaluationError("result of range difference would not be contiguous")
    return (Range(a.lower, b.lower) if a.lower < b.lower else Range(b.upper, a.upper)).text()


# --- bounds ---


def lower_value(text: str) -> str | None:
    """The text of the lower bound; None if there is none."""
    return _value_text(parse(text).lower)


def upper_value(text: str) -> str | None:
    """The text of the upper bound; None if there is none."""
    return _value_text(parse(text).upper)


def _value_text(cut: RangeCut) -> str | None:
    return None if cut.value is None else str(cut.value)
