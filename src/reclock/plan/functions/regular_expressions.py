"""PostgreSQL's regular expressions, translated to the syntax that RE2 (DuckDB) and Java (Spark)
read in one way.

In both, ``.`` then matches a line break, and ``^`` and ``$`` only the ends of the text, as in
PostgreSQL, unless a flag says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from reclock.errors import EvaluationError, UnsupportedSql

INVALID_REGULAR_EXPRESSION, INVALID_PARAMETER = "2201B", "22023"
_CLASSES = {"d": "0-9", "s": r"\s", "w": r"\p{L}\p{N}_"}
_NAMED_CLASSES = {
    "alpha": r"\p{L}",
    "digit": "0-9",
    "alnum": r"\p{L}\p{N}",
    "upper": r"\p{Lu}",
    "lower": r"\p{Ll}",
    "space": r"\s",
    "blank": r" \t",
    "xdigit": "0-9A-Fa-f",
    "punct": r"!-/:-@\[-`{-~",
    "word": r"\p{L}\p{N}_",
}
_CONTROLS = {
    "n": r"\n",
    "t": r"\t",
    "r": r"\r",
    "f": r"\f",
    "v": r"\x0B",
    "a": r"\x07",
    "e": r"\x1B",
}
_SPECIAL = frozenset(r"\.[]{}()*+?^$|")
_MOST_REPEATS = 255
_EMBEDDED = re.compile(r"\(\?([A-Za-z]+)\)")
"""Options at the beginning of a pattern."""
_EMBEDDABLE = "bceimnpqstwx"
_LINE_START, _LINE_END = "(?m:^)", "(?m:$)"
_DOT_ENDS_AT_LINES, _EDGES_AT_LINES = "nmp", "nmw"
"""Flags by which ``.`` and ``[^…]`` do not match a line feed, and ``^`` and ``$`` match at each."""
_OF_SIMILAR = {"%": ".*", "_": ".", "\\": r"\\", ".": r"\.", "^": r"\^", "$": r"\$", "(": "(?:"}
"""What a character of a pattern of ``SIMILAR TO`` is in a regular expression, if it is not
itself."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group in parentheses. If it ``may_be_skipped``, a match need not go through it; it may also
    match the empty text."""

    may_be_skipped: bool
    may_be_empty: bool


@dataclass(frozen=True, slots=True)
class RegularExpression:
    """A translated regular expression: its ``text`` for both engines, and its groups in order."""

    text: str
    groups: tuple[Group, ...]
    may_be_empty: bool
    has_edges: bool = False
    """Whether what it matches depends on the text around."""

    def written(self, engine: str) -> str:
        """The text for an engine. To Java, a line ends at more characters than a line feed, and none
        begins at the end of the text."""
        if engine != "spark":
            return self.text
        return self.text.replace(_LINE_START, r"(?<=\n|\A)").replace(_LINE_END, r"(?=\n|\z)")


def regular_expression(pattern: str, flags: str = "") -> RegularExpression:
    """``pattern`` as PostgreSQL reads it with ``flags`` (``g`` is the caller's).

    Raises ``EvaluationError`` if it is invalid, ``UnsupportedSql`` for what not both engines have.
    """
    for flag in flags:
        if flag not in "gcisnmpwxqbet":
            raise EvaluationError(
                f'invalid regular expression option: "{flag}"', sqlstate=INVALID_PARAMETER
            )
        if flag not in "gcisnmpw":
            raise UnsupportedSql(
                f'the regular expression option "{flag}" is not supported',
                hint="there are g, i, c, s, n, m, p and w",
            )
    if pattern.startswith("***"):
        raise UnsupportedSql(
            "a director in a regular expression is not supported", hint="leave out the asterisks"
        )
    if options := _EMBEDDED.match(pattern):
        return _with_embedded(options[1], pattern[options.end() :], flags)
    is_case_blind = bool(flags) and "i" in flags and flags.rfind("i") > flags.rfind("c")
    of_lines = next((flag for flag in reversed(flags) if flag in "snmpw"), "s")  # the last counts
    parser = _Parser(pattern, of_lines in _DOT_ENDS_AT_LINES, of_lines in _EDGES_AT_LINES)
    return parser.parse(is_case_blind=is_case_blind)


def _with_embedded(options: str, pattern: str, flags: str) -> RegularExpression:
    """The expression with options at its beginning, which override ``flags``."""
    if set(options) - set(_EMBEDDABLE):
        raise _invalid("invalid embedded option")
    return regular_expression(pattern, flags + options)


def similar_pattern(pattern: str, escape: str) -> str:
    """The regular expression of a pattern of ``SIMILAR TO``."""
    if len(escape) > 1:
        raise EvaluationError("invalid escape string", sqlstate="22025")
    parts: list[str] = []
    characters, in_class = iter(pattern), False
    for character in characters:
        if escape and character == escape:
            following = next(characters, None)
            if following is None:
                raise EvaluationError("invalid escape sequence", sqlstate="22025")
            if following == '"':
                raise UnsupportedSql("an escaped double quote in SIMILAR TO is not supported")
            parts.append(_quoted(following))
        elif in_class:
            in_class = character != "]"
            parts.append("\\\\" if character == "\\" else character)
        else:
            in_class = character == "["
            parts.append(
                {
                    "%": ".*",
                    "_": ".",
                    "\\": r"\\",
                    ".": r"\.",
                    "^": r"\^",
                    "$": r"\$",
                    "(": "(?:",
                }.get(character, character)
            )
    return f"^(?:{''.join(parts)})$"


def replacement(text: str) -> list[str | int]:
    """What ``regexp_replace`` puts in the place of a match: texts, and numbers of groups; 0 is the
    whole match."""
    parts: list[str | int] = []
    characters = iter(text)
    for character in characters:
        following = next(characters, "") if character == "\\" else None
        if following is None:
            parts.append(character)
        elif following == "&":
            parts.append(0)
        elif following.isdigit() and following != "0":
            parts.append(int(following))
        else:
            parts.append("\\" if following in ("\\", "") else f"\\{following}")
    return parts


def _quoted(character: str) -> str:
    return f"\\{character}" if character in _SPECIAL else character


def _invalid(why: str) -> EvaluationError:
    return EvaluationError(
        f"invalid regular expression: {why}", sqlstate=INVALID_REGULAR_EXPRESSION
    )


@dataclass(slots=True)
class _Piece:
    """A part of the expression. ``groups`` are places among all groups; ``literal`` is what it
    matches, if that is one text."""

    text: str
    may_be_empty: bool
    groups: list[int] = field(default_factory=list)
    literal: str | None = None


@dataclass(slots=True)
class _Parser:
    pattern: str
    dot_ends_at_lines: bool
    edges_at_lines: bool
    at: int = 0
    is_skipped: list[bool] = field(default_factory=list)
    is_empty: list[bool] = field(default_factory=list)
    has_edges: bool = False

    def parse(self, *, is_case_blind: bool) -> RegularExpression:
        whole = self._alternatives()
        if self.at < len(self.pattern):
            raise _invalid("parentheses () not balanced")
        groups = tuple(map(Group, self.is_skipped, self.is_empty))
        return RegularExpression(
            f"(?s{'i' if is_case_blind else ''}){whole.text}",
            groups,
            whole.may_be_empty,
            self.has_edges,
        )

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self) -> str:
        character = self._next()
        self.at += 1
        return character

    def _alternatives(self) -> _Piece:
        branches = [self._sequence()]
        while self._next() == "|":
            self.at += 1
            branches.append(self._sequence())
        if len(branches) == 1:
            return branches[0]
        groups = [group for branch in branches for group in branch.groups]
        for group in groups:
            self.is_skipped[group] = True
        # PostgreSQL takes the longest, the engines the first
        if all(branch.literal is not None for branch in branches):
            branches.sort(key=lambda branch: -len(branch.literal or ""))
        text = "|".join(branch.text for branch in branches)
        return _Piece(text, any(branch.may_be_empty for branch in branches), groups)

    def _sequence(self) -> _Piece:
        pieces: list[_Piece] = []
        while self._next() not in ("", "|", ")"):
            pieces.append(self._quantified(self._atom()))
        literals = [piece.literal for piece in pieces]
        literal = "".join(map(str, literals)) if None not in literals else None
        groups = [group for piece in pieces for group in piece.groups]
        return _Piece(
            "".join(piece.text for piece in pieces),
            all(piece.may_be_empty for piece in pieces),
            groups,
            literal,
        )

    def _quantified(self, atom: _Piece) -> _Piece:
        start = self.at
        character = self._next()
        if character in ("*", "+", "?"):
            self.at += 1
            least = 1 if character == "+" else 0
        elif character == "{" and self.pattern[self.at + 1 : self.at + 2].isdigit():
            least = self._bounds()
        else:
            return atom
        if self._next() == "?":
            self.at += 1
        if self._next() in ("*", "+", "?"):
            raise _invalid("quantifier operand invalid")
        if least == 0:
            for group in atom.groups:
                self.is_skipped[group] = True
        return _Piece(
            atom.text + self.pattern[start : self.at], least == 0 or atom.may_be_empty, atom.groups
        )

    def _bounds(self) -> int:
        end = self.pattern.find("}", self.at)
        if end < 0:
            raise _invalid("braces {} not balanced")
        numbers = self.pattern[self.at + 1 : end].split(",")
        if len(numbers) > 2 or not all(
            number.isdigit() or (i and not number) for i, number in enumerate(numbers)
        ):
            raise _invalid("invalid repetition count(s)")
        counts = [int(number) for number in numbers if number]
        if max(counts) > _MOST_REPEATS or counts != sorted(counts):
            raise _invalid("invalid repetition count(s)")
        self.at = end + 1
        return counts[0]

    def _atom(self) -> _Piece:
        character = self._take()
        match character:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escape()
            case "^" | "$":
                self.has_edges = True
                edges = (_LINE_START, _LINE_END) if self.edges_at_lines else (r"\A", r"\z")
                return _Piece(edges["^$".index(character)], True)
            case ".":
                return _Piece(r"[^\n]" if self.dot_ends_at_lines else ".", False)
            case "*" | "+" | "?":
                raise _invalid("quantifier operand invalid")
        return _Piece(_quoted(character), False, literal=character)

    def _group(self) -> _Piece:
        is_captured = self._next() != "?"
        if not is_captured:
            if self.pattern[self.at : self.at + 2] != "?:":
                raise UnsupportedSql("lookaround in a regular expression is not supported")
            self.at += 2
        place = len(self.is_skipped)
        if is_captured:
            self.is_skipped.append(False)
            self.is_empty.append(False)
        inner = self._alternatives()
        if self._take() != ")":
            raise _invalid("parentheses () not balanced")
        if not is_captured:
            return _Piece(f"(?:{inner.text})", inner.may_be_empty, inner.groups)
        self.is_empty[place] = inner.may_be_empty
        return _Piece(f"({inner.text})", inner.may_be_empty, [place, *inner.groups])

    def _escape(self) -> _Piece:
        character = self._take()
        if character == "":
            raise _invalid("invalid escape \\ sequence")
        if character.lower() in _CLASSES:
            negation = "^" if character.isupper() else ""
            return _Piece(f"[{negation}{_CLASSES[character.lower()]}]", False)
        if character in _CONTROLS:
            return _Piece(_CONTROLS[character], False)
        edges = {"y": r"\b", "Y": r"\B", "A": r"\A", "Z": r"\z"}
        if character in edges:
            self.has_edges = True
            return _Piece(edges[character], True)
        if character.isalnum():
            raise UnsupportedSql(f"\\{character} in a regular expression is not supported")
        return _Piece(_quoted(character), False, literal=character)

    def _class(self) -> _Piece:
        parts = ["["]
        if self._next() == "^":
            parts.append(self._take())
            parts += [r"\n"] if self.dot_ends_at_lines else []
        is_first = True
        while (character := self._take()) != "]" or is_first:
            if character == "":
                raise _invalid("brackets [] not balanced")
            parts.append(self._member(character))
            is_first = False
        return _Piece("".join([*parts, "]"]), False)

    def _member(self, character: str) -> str:
        if character == "[" and self._next() in (":", ".", "="):
            end = self.pattern.find(f"{self._next()}]", self.at + 1)
            name = self.pattern[self.at + 1 : end] if end > 0 else ""
            if self._next() != ":" or name not in _NAMED_CLASSES:
                raise _invalid("invalid character class")
            self.at = end + 2
            return _NAMED_CLASSES[name]
        if character == "\\":
            escaped = self._take()
            if escaped in _CLASSES:
                return _CLASSES[escaped]
            if escaped in _CONTROLS:
                return _CONTROLS[escaped]
            if escaped.isalnum():
                raise UnsupportedSql(
                    f"\\{escaped} in a class of a regular expression is not supported"
                )
            return f"\\{escaped}"
        return f"\\{character}" if character in "[]^&~" else character
