"""The syntax of range literals, such as ``[1,5)`` or ``["2024-01-01 10:00",]``, and the flags of
bounds. Source: ``range_parse`` of PostgreSQL's ``rangetypes.c``."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.errors import EvaluationError, InvalidRange


@dataclass(frozen=True, slots=True)
class WrittenRange:
    """The texts of the bounds; None is no bound."""

    lower: str | None
    upper: str | None
    includes_lower: bool
    includes_upper: bool


FLAGS = ("[]", "[)", "(]", "()")
NULL_FLAGS = "null"
"""What stands for a third argument that is NULL."""


def with_flags(lower: str | None, upper: str | None, flags: str) -> WrittenRange:
    """The bounds with a constructor's third argument. Raises ``EvaluationError``."""
    if flags == NULL_FLAGS:
        raise EvaluationError("range constructor flags argument must not be null")
    if flags not in FLAGS:
        hint = 'valid values are "[]", "[)", "(]", and "()"'
        raise EvaluationError("invalid range bound flags", sqlstate="42601", hint=hint)
    return WrittenRange(lower, upper, flags[0] == "[", flags[1] == "]")


def parse_literal(text: str) -> WrittenRange | None:
    """The range that ``text`` writes; None if it is ``empty``. Raises ``InvalidRange``."""
    stripped = text.strip()
    if stripped[:5].lower() == "empty":
        if len(stripped) > 5:
            raise InvalidRange(text, 'Junk after "empty" key word.')
        return None
    if stripped[:1] not in ("[", "("):
        raise InvalidRange(text, "Missing left parenthesis or bracket.")
    reader = _BoundReader(text, stripped)
    lower = reader.bound()
    if not reader.take(","):
        raise InvalidRange(text, "Missing comma after lower bound.")
    upper = reader.bound()
    if reader.take(","):
        raise InvalidRange(text, "Too many commas.")
    if reader.at + 1 < len(stripped):
        raise InvalidRange(text, "Junk after right parenthesis or bracket.")
    return WrittenRange(lower, upper, stripped[0] == "[", stripped[-1] == "]")


@dataclass(slots=True)
class _BoundReader:
    """Reads the bounds of a literal, which begins with a parenthesis or bracket."""

    literal: str
    stripped: str
    at: int = 1

    def take(self, mark: str) -> bool:
        """Whether ``mark`` is next. It is passed over."""
        is_next = self._next() == mark
        self.at += is_next
        return is_next

    def bound(self) -> str | None:
        """Up to a comma, or the parenthesis or bracket at the end, that is not in quotes."""
        if self._next() in _ENDS:
            return None
        characters, is_quoted = list[str](), False
        while is_quoted or self._next() not in _ENDS:
            character = self._next()
            self.at += 1
            if character == "\\":
                characters.append(self._next())
                self.at += 1
            elif character != '"':
                characters.append(character)
            elif is_quoted and self.stripped[self.at : self.at + 1] == '"':
                characters.append('"')
                self.at += 1
            else:
                is_quoted = not is_quoted
        return "".join(characters)

    def _next(self) -> str:
        if self.at >= len(self.stripped):
            raise InvalidRange(self.literal, "Unexpected end of input.")
        return self.stripped[self.at]


_ENDS = (",", ")", "]")
