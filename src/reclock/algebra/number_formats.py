"""``to_char`` of numbers by a format, as PostgreSQL's ``formatting.c`` does."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache

from reclock.errors import InvalidNumberFormat

_TOKEN = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?P<key>FM|MI|PL|SG|PR|RN|SP|TH|EEEE|[09.,BCDGLSV])'
    r'|(?P<small>fm|mi|pl|sg|pr|rn|sp|th|eeee|[bcdglsv])|(?:\\(?="))?(?P<other>.)',
    re.DOTALL,
)
_DIGITS_OF_DOUBLE = 15
_END = "\0"
"""Written in the place of a digit that the number does not have, and the end of the text."""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """``keys_in_order`` are keywords and single characters. A ``sign`` is ``S`` before or after
    the number, or none."""

    keys_in_order: tuple[tuple[str, bool], ...]
    before: int
    after: int
    zero_start: int
    zero_end: int
    sign: str
    keys: frozenset[str]

    @property
    def has_point(self) -> bool:
        return "." in self.keys

    @property
    def has_zero(self) -> bool:
        return self.zero_start >= 0

    @property
    def is_filled(self) -> bool:
        return "FM" in self.keys


@lru_cache(maxsize=256)
def parsed_format(pattern: str) -> NumberFormat:
    keys_in_order: list[tuple[str, bool]] = []
    keys: set[str] = set()
    before = after = zero_end = sign_place = 0
    zero_start = -1
    sign = ""
    for match in _TOKEN.finditer(pattern):
        if match["quoted"] is not None:
            text = re.sub(r"\\(.)", r"\1", match["quoted"], flags=re.DOTALL)
            keys_in_order += [(character, False) for character in text]
            continue
        if match["other"] is not None:
            keys_in_order.append((match["other"], False))
            continue
        key = (match["key"] or match["small"]).upper()
        if key in ("V", "EEEE", "RN", "B", "C"):
            raise InvalidNumberFormat(f'the format "{key}" of numbers is not supported', "0A000")
        if "PR" in keys and key in ("9", "0", "S", "MI", "PL", "SG"):
            raise InvalidNumberFormat('"PR" must be the last pattern', "42601")
        if key in (".", "D"):
            if "." in keys:
                raise InvalidNumberFormat("multiple decimal points", "42601")
            keys.add(".")
        if key in ("9", "0"):
            if key == "0" and zero_start < 0 and "." not in keys:
                zero_start = before
            if "." in keys:
                after += 1
            else:
                before += 1
            zero_end = before + after if key == "0" else zero_end
        if key == "S":
            if "S" in keys:
                raise InvalidNumberFormat('cannot use "S" twice', "42601")
            if keys & {"MI", "PL", "SG", "PR"}:
                raise InvalidNumberFormat(
                    'cannot use "S" and "PL"/"MI"/"SG"/"PR" together', "42601"
                )
            sign, sign_place = ("POST" if "." in keys else "PRE"), before
        if key == "PR" and keys & {"MI", "PL", "SG"}:
            raise InvalidNumberFormat('cannot use "PR" and "S"/"PL"/"MI"/"SG" together', "42601")
        if key in ("MI", "PL", "SG", "PR") and "S" in keys:
            raise InvalidNumberFormat('cannot use "S" and "PL"/"MI"/"SG"/"PR" together', "42601")
        keys.add(key)
        keys_in_order.append(("th" if key == "TH" and match["small"] else key, True))
    if sign == "PRE" and sign_place == before:
        sign = "POST"
    return NumberFormat(
        tuple(keys_in_order), before, after, zero_start, zero_end, sign, frozenset(keys)
    )


def number_text(number: str, pattern: str) -> str:
    """An exact number, as text, by ``pattern``. Raises ``InvalidNumberFormat``."""
    form = parsed_format(pattern)
    with localcontext() as context:
        context.prec = 200
        rounded = Decimal(number).quantize(Decimal(1).scaleb(-form.after), ROUND_HALF_UP)
    return _Writer(form, f"{rounded if rounded else abs(rounded):f}").write()


def double_text(number: float, pattern: str) -> str:
    """A double by ``pattern``, of 15 digits at most. Raises ``InvalidNumberFormat``."""
    form = parsed_format(pattern)
    if not math.isfinite(number):
        raise InvalidNumberFormat("to_char of NaN or infinity is not supported", "0A000")
    whole = len(f"{abs(number):.0f}")
    after = max(0, min(form.after, _DIGITS_OF_DOUBLE - whole))
    return _Writer(form, f"{number:.{after}f}").write()


class _Writer:
    """The state of PostgreSQL's ``NUM_processor``, by names of its own."""

    def __init__(self, form: NumberFormat, number: str) -> None:
        self.form = form
        self.sign = "-" if number.startswith("-") else "+"
        digits = number.removeprefix("-")
        whole = len(digits.split(".")[0])
        self.blanks = max(0, form.before - whole)
        if whole > form.before:
            digits = "#" * form.before + "." + "#" * form.after
        self.digits, self.at, self.place = digits, 0, 0
        self.has_digit = False
        self.out: list[str] = []
        self.is_bracketed = "PR" in form.keys
        if form.keys & {"MI", "PL", "SG"}:
            self.is_signed = not (form.keys & {"PL"} and not form.keys & {"MI", "SG"})
        else:
            if self.sign == "+" and form.is_filled:
                self.is_bracketed = False
            self.is_signed = self.sign == "+" and form.is_filled and not form.sign
        self.last = self._last_digit() if form.is_filled and form.has_point else None
        self.count = form.before + form.after - 1
        if not self.is_signed and self.blanks == 0:
            self.count += 1

    def _last_digit(self) -> int | None:
        """The place of the last digit that FM shows; None without a point."""
        point = self.digits.find(".")
        if point < 0:
            return None
        last = point
        for place in range(point + 1, len(self.digits)):
            if self.digits[place] != "0":
                last = place
        if self.form.zero_end > self.blanks:
            last = max(last, min(len(self.digits) - 1, self.form.zero_end - self.blanks))
        return last

    def write(self) -> str:
        for key, is_key in self.form.keys_in_order:
            if not is_key:
                self.out.append(key)
            elif key in ("9", "0", ".", "D"):
                self._digit(key)
            elif key in (",", "G"):
                if self.has_digit:
                    self.out.append(",")
                elif not self.form.is_filled:
                    self.out.append(" ")
            elif key == "L":
                self.out.append(" ")
            elif key == "SG":
                self.out.append(self.sign)
            elif key in ("MI", "PL"):
                sign = "-" if key == "MI" else "+"
                if self.sign == sign:
                    self.out.append(sign)
                elif not self.form.is_filled:
                    self.out.append(" ")
            elif key in ("TH", "th"):
                self._ordinal(key)
        return "".join(self.out).partition(_END)[0]

    def _ordinal(self, key: str) -> None:
        if self.sign == "-" or self.form.has_point or self.digits.startswith("#"):
            return
        ends = {"1": "st", "2": "nd", "3": "rd"}
        is_teen = self.digits[-2:-1] == "1"
        end = "th" if is_teen else ends.get(self.digits[-1:], "th")
        self.out.append(end if key == "th" else end.upper())

    @property
    def _is_zero_before_point(self) -> bool:
        return (
            not self.form.has_zero
            and self.at == 0
            and self.digits.startswith("0")
            and self.form.after != 0
        )

    @property
    def _ends_at_point(self) -> bool:
        return self.last is not None and self.digits[self.last] == "."

    def _write_sign(self) -> None:
        if self.form.sign:
            if self.form.sign == "PRE":
                self.out.append(self.sign)
                self.is_signed = True
            return
        if self.is_bracketed:
            self.out.append(" " if self.sign == "+" else "<")
        elif self.sign == "-":
            self.out.append("-")
        elif not self.form.is_filled:
            self.out.append(" ")
        self.is_signed = True

    def _digit(self, key: str) -> None:
        form = self.form
        self.has_digit = False
        starts = self.place >= self.blanks or (form.has_zero and form.zero_start == self.place)
        if (
            not self.is_signed
            and starts
            and (not self._is_zero_before_point or self._ends_at_point)
        ):
            self._write_sign()
        if self.place < self.blanks and (form.zero_start > self.place or not form.has_zero):
            if not form.is_filled:
                self.out.append(" ")
        elif form.has_zero and self.place < self.blanks:
            self.out.append("0")
            self.has_digit = True
        else:
            self._next_character(key)
            self.at += self.at < len(self.digits)
        end = self.count + (self.blanks > 0) + form.has_point
        if self.last is not None and self.last == self.at:
            end = self.place
        if self.place + 1 == end:
            if self.is_signed and self.is_bracketed:
                self.out.append(" " if self.sign == "+" else ">")
            elif form.sign == "POST":
                self.out.append(self.sign)
        self.place += 1

    def _next_character(self, key: str) -> None:
        character = self.digits[self.at : self.at + 1]
        if character == ".":
            self.out.append(".")
        elif self.last is not None and self.at > self.last and key != "0":
            return
        elif self._is_zero_before_point:
            if not self.form.is_filled:
                self.out.append(" ")
            elif self._ends_at_point:
                self.out.append("0")
        else:
            self.out.append(character or _END)
            self.has_digit = True
