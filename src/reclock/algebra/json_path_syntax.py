"""Paths into JSON documents (``jsonpath``), as PostgreSQL reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import NoReturn

from reclock.errors import JsonPathError


@dataclass(frozen=True, slots=True)
class JsonConstant:
    value: object


@dataclass(frozen=True, slots=True)
class JsonRoot:
    """``$``."""


@dataclass(frozen=True, slots=True)
class JsonCurrent:
    """``@``, the item that a filter looks at."""


@dataclass(frozen=True, slots=True)
class JsonLast:
    """``last``, the last index of the array whose subscript it is in."""


@dataclass(frozen=True, slots=True)
class JsonVariable:
    name: str


@dataclass(frozen=True, slots=True)
class JsonMember:
    """``.key``; None is ``.*``."""

    key: str | None


@dataclass(frozen=True, slots=True)
class JsonDescendants:
    """``.**`` of the levels from ``first`` to ``last``; -1 is the deepest."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class JsonElements:
    """``[1, 3 to last]``; no range is ``[*]``."""

    ranges: tuple[tuple[JsonExpression, JsonExpression | None], ...]


@dataclass(frozen=True, slots=True)
class JsonMethod:
    """``.size()``."""

    name: str


@dataclass(frozen=True, slots=True)
class JsonFilter:
    """``? (predicate)``."""

    predicate: JsonExpression


JsonAccessor = JsonMember | JsonDescendants | JsonElements | JsonMethod | JsonFilter


@dataclass(frozen=True, slots=True)
class JsonAccess:
    """What the accessors, one after the other, find in the items of ``of``."""

    of: JsonExpression
    accessors: tuple[JsonAccessor, ...]


@dataclass(frozen=True, slots=True)
class JsonOperation:
    """An operator of arithmetic, a comparison, or another predicate, by its symbol."""

    symbol: str
    operands: tuple[JsonExpression, ...]


@dataclass(frozen=True, slots=True)
class JsonMatches:
    """``like_regex``."""

    operand: JsonExpression
    pattern: str
    flags: str


JsonExpression = (
    JsonConstant
    | JsonRoot
    | JsonCurrent
    | JsonLast
    | JsonVariable
    | JsonAccess
    | JsonOperation
    | JsonMatches
)
COMPARISONS = ("==", "!=", "<>", "<=", ">=", "<", ">")
PREDICATES = frozenset({*COMPARISONS, "&&", "||", "!", "exists", "is unknown", "starts with"})
METHODS = frozenset({"abs", "size", "type", "floor", "double", "ceiling"})
_UNSUPPORTED = frozenset({"keyvalue", "datetime"})


@dataclass(frozen=True, slots=True)
class JsonPath:
    expression: JsonExpression
    is_strict: bool


_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<number>(?:0|[1-9][0-9]*)(?:\.(?![A-Za-z_"*]|\*)[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<variable>\$(?:"(?:[^"\\]|\\.)*"|[^\W\d]\w*))
    |(?P<word>[^\W\d]\w*)
    |(?P<sign>\*\*|==|!=|<>|<=|>=|&&|\|\||[$@.\[\](){}*?!<>+\-/%,]))""",
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=256)
def parsed_path(text: str) -> JsonPath:
    """Raises ``JsonPathError``."""
    return _Parser(text).path()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise self._error(text[position:].strip()[:1])
            self._tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()
        self._at = 0

    def path(self) -> JsonPath:
        is_strict = self._accept("strict")
        if not is_strict:
            self._accept("lax")
        if not self._tokens[self._at :]:
            raise JsonPathError('invalid input syntax for type jsonpath: ""', "22P02")
        expression = self._disjunction()
        if self._at < len(self._tokens):
            self._fail()
        return JsonPath(expression, is_strict)

    # --- tokens ---

    def _error(self, token: str) -> JsonPathError:
        where = f'at or near "{token}"' if token else "at end"
        return JsonPathError(f"syntax error {where} of jsonpath input", "42601")

    def _fail(self) -> NoReturn:
        raise self._error(self._tokens[self._at][1] if self._at < len(self._tokens) else "")

    def _next(self, offset: int = 0) -> tuple[str, str]:
        place = self._at + offset
        return self._tokens[place] if place < len(self._tokens) else ("", "")

    def _accept(self, *texts: str) -> bool:
        for offset, text in enumerate(texts):
            kind, token = self._next(offset)
            if kind not in ("word", "sign") or token.lower() != text:
                return False
        self._at += len(texts)
        return True

    def _accept_any(self, texts: Sequence[str]) -> str | None:
        return next((text for text in texts if self._accept(text)), None)

    def _expect(self, *texts: str) -> None:
        if not self._accept(*texts):
            self._fail()

    def _take(self, kind: str) -> str:
        found_kind, text = self._next()
        if found_kind != kind:
            self._fail()
        self._at += 1
        return text

    # --- predicates ---

    def _disjunction(self) -> JsonExpression:
        left = self._conjunction()
        while self._accept("||"):
            left = JsonOperation("||", (_as_predicate(left), _as_predicate(self._conjunction())))
        return left

    def _conjunction(self) -> JsonExpression:
        left = self._predicate()
        while self._accept("&&"):
            left = JsonOperation("&&", (_as_predicate(left), _as_predicate(self._predicate())))
        return left

    def _predicate(self) -> JsonExpression:
        if self._accept("!"):
            return JsonOperation("!", (_as_predicate(self._predicate()),))
        left = self._sum()
        if (symbol := self._accept_any(COMPARISONS)) is not None:
            return JsonOperation(symbol, (left, self._sum()))
        if self._accept("is", "unknown"):
            return JsonOperation("is unknown", (_as_predicate(left),))
        if self._accept("starts", "with"):
            return JsonOperation("starts with", (left, self._primary()))
        if self._accept("like_regex"):
            pattern = _string(self._take("string"))
            flags = _string(self._take("string")) if self._accept("flag") else ""
            return _matches(left, pattern, flags)
        return left

    # --- items ---

    def _sum(self) -> JsonExpression:
        left = self._product()
        while (symbol := self._accept_any(("+", "-"))) is not None:
            left = JsonOperation(symbol, (left, self._product()))
        return left

    def _product(self) -> JsonExpression:
        left = self._signed()
        while (symbol := self._accept_any(("*", "/", "%"))) is not None:
            left = JsonOperation(symbol, (left, self._signed()))
        return left

    def _signed(self) -> JsonExpression:
        if (symbol := self._accept_any(("+", "-"))) is not None:
            return JsonOperation(symbol, (self._signed(),))
        item = self._primary()
        accessors: list[JsonAccessor] = []
        while (accessor := self._accessor()) is not None:
            accessors.append(accessor)
        return JsonAccess(item, tuple(accessors)) if accessors else item

    def _primary(self) -> JsonExpression:
        kind, text = self._next()
        if self._accept("("):
            inner = self._disjunction()
            self._expect(")")
            return inner
        if self._accept("exists", "("):
            inner = self._sum()
            self._expect(")")
            return JsonOperation("exists", (inner,))
        if self._accept("$"):
            return JsonRoot()
        if self._accept("@"):
            return JsonCurrent()
        if kind == "word" and text.lower() in _WORDS:
            self._at += 1
            return _WORDS[text.lower()]
        match kind:
            case "string":
                item: JsonExpression = JsonConstant(_string(text))
            case "number":
                item = JsonConstant(Decimal(text))
            case "variable":
                name = text[1:]
                item = JsonVariable(_string(name) if name.startswith('"') else name)
            case _:
                self._fail()
        self._at += 1
        return item

    def _accessor(self) -> JsonAccessor | None:
        if self._accept("["):
            return self._elements()
        if self._accept("?", "("):
            predicate = _as_predicate(self._disjunction())
            self._expect(")")
            return JsonFilter(predicate)
        if not self._accept("."):
            return None
        if self._accept("**"):
            return self._descendants()
        if self._accept("*"):
            return JsonMember(None)
        kind, text = self._next()
        if kind == "string":
            self._at += 1
            return JsonMember(_string(text))
        name = self._take("word")
        if self._next()[1] != "(":
            return JsonMember(name)
        if name in _UNSUPPORTED:
            raise JsonPathError(f"jsonpath item method .{name}() is not supported", "0A000")
        if name not in METHODS:
            self._fail()
        self._expect("(", ")")
        return JsonMethod(name)

    def _elements(self) -> JsonElements:
        if self._accept("*", "]"):
            return JsonElements(())
        ranges = [self._range()]
        while self._accept(","):
            ranges.append(self._range())
        self._expect("]")
        return JsonElements(tuple(ranges))

    def _range(self) -> tuple[JsonExpression, JsonExpression | None]:
        first = self._sum()
        return first, self._sum() if self._accept("to") else None

    def _descendants(self) -> JsonDescendants:
        if not self._accept("{"):
            return JsonDescendants(0, -1)
        first = self._level()
        last = self._level() if self._accept("to") else first
        self._expect("}")
        return JsonDescendants(first, last)

    def _level(self) -> int:
        return -1 if self._accept("last") else int(self._take("number"))


_WORDS: dict[str, JsonExpression] = {
    "true": JsonConstant(True),
    "false": JsonConstant(False),
    "null": JsonConstant(None),
    "last": JsonLast(),
}


def _string(token: str) -> str:
    try:
        return str(json.loads(token, strict=False))
    except ValueError:
        raise JsonPathError(f"invalid string {token} of jsonpath input", "42601") from None


def is_predicate(expression: JsonExpression) -> bool:
    return isinstance(expression, JsonMatches) or (
        isinstance(expression, JsonOperation) and expression.symbol in PREDICATES
    )


def _as_predicate(expression: JsonExpression) -> JsonExpression:
    if not is_predicate(expression):
        raise JsonPathError("syntax error in jsonpath input: expected a predicate", "42601")
    return expression


def _matches(operand: JsonExpression, pattern: str, flags: str) -> JsonMatches:
    if unknown := set(flags) - set("ismq"):
        if unknown == {"x"}:
            message = 'XQuery "x" flag (expanded regular expressions) is not implemented'
            raise JsonPathError(message, "0A000")
        raise JsonPathError("invalid input syntax for type jsonpath", "42601")
    if "q" in flags:
        pattern = re.escape(pattern)
    return JsonMatches(operand, pattern, "".join(sorted(set(flags) - {"q"})))
