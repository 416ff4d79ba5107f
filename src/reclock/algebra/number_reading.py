"""``to_number``: the number that a text spells by a format, as PostgreSQL's ``formatting.c`` reads
it."""

from __future__ import annotations

from reclock.algebra.number_formats import NumberFormat, parsed_format
from reclock.errors import InvalidText

_DATA = "0123456789.,+-"
_SIGNS = ("-", "+")


def number_of(text: str, pattern: str) -> str:
    """The digits of the number, with its sign. Raises ``InvalidNumberFormat``, ``InvalidText``."""
    return _Reader(text, parsed_format(pattern)).read()


class _Reader:
    """Reads a text. The sign is a blank until one was read."""

    def __init__(self, text: str, form: NumberFormat) -> None:
        self._text, self._form, self._at = text, form, 0
        self._sign, self._digits = " ", ""
        self._point: int | None = None
        """How many digits there are before the point."""

    def read(self) -> str:
        for key, is_key in self._form.keys_in_order:
            if self._at >= len(self._text):
                break
            if not is_key:
                self._at += 1  # any character in the place of one that means nothing
            elif key in ("9", "0", ".", "D"):
                self._read_digit(key)
                self._at += 1
            elif self._is_read(key):
                self._at += 1
        whole = self._digits[: self._point]
        fraction = "" if self._point is None else self._digits[self._point :]
        number = f"{self._sign}{whole}{'.' if fraction else ''}{fraction}"
        if not self._digits:
            raise InvalidText("numeric", number)
        return number.strip()

    @property
    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _is_read(self, key: str) -> bool:
        """Read what a key other than a digit or a point stands for, all but its last character;
        returns whether there is one."""
        match key:
            case "," | "G":
                return not self._form.is_filled and self._next == ","
            case "MI" | "PL" | "SG":
                signs = {"MI": "-", "PL": "+", "SG": "+-"}[key]
                if self._next in signs:
                    self._sign = self._next
                    return True
                self._skip(1)
            case "L":
                self._skip(1)
            case "TH" | "th" if self._sign != "-" and not self._form.has_point:
                self._skip(2)
        return False

    def _skip(self, characters: int) -> None:
        for _ in range(characters):
            if self._next and self._next not in _DATA:
                self._at += 1

    def _read_digit(self, key: str) -> None:
        """PostgreSQL's ``NUM_numpart_from_char``: the caller moves on by one character."""
        form = self._form
        if self._next == " ":
            self._at += 1
        if self._sign == " " and key in ("0", "9") and not self._digits:
            is_bracket = "PR" in form.keys and self._next == "<"
            if self._next in _SIGNS or is_bracket:
                self._sign = "-" if is_bracket else self._next
                self._at += 1
        if not self._next:
            return
        is_read = False
        if self._next.isascii() and self._next.isdigit():
            if self._point is not None and len(self._digits) - self._point == form.after:
                return
            self._digits += self._next
            is_read = True
        elif form.has_point and self._point is None and self._next == ".":
            self._point, is_read = len(self._digits), True
        if self._sign == " " and self._digits:
            self._read_sign_behind(is_read=is_read)

    def _read_sign_behind(self, *, is_read: bool) -> None:
        form, following = self._form, self._text[self._at + 1 : self._at + 2]
        if form.sign and is_read and following and not following.isdigit():
            if following in _SIGNS:
                self._sign = following
                self._at += 1
        elif not is_read and form.keys & {"MI", "PL", "SG"} and self._next in _SIGNS:
            self._sign = self._next
