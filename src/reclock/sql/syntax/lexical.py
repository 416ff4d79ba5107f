"""Tokens as PostgreSQL reads them, where sqlglot's tokenizer reads something else without an
error."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from string import hexdigits

from sqlglot.tokenizer_core import Token, TokenType

from reclock.errors import SqlSyntaxError

_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))|''", re.DOTALL
)
_DECIMAL = r"\d(?:_?\d)*"
_NUMBER = re.compile(
    r"0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+"
    rf"|(?:{_DECIMAL}\.?(?:{_DECIMAL})?|\.{_DECIMAL})(?:[eE][+-]?{_DECIMAL})?",
    re.ASCII,
)
_IN_WORD = re.compile(r"[^\W\d]|_")
_NUMBERS = (TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING)
"""What sqlglot takes a number for: ``0xff`` and ``x'ff'`` are the same to it."""
_NEXT_LINE = re.compile(r"(?:[ \t\f\v]|--[^\n\r]*)*[\n\r](?:\s|--[^\n\r]*[\n\r])*")
"""What is between two parts of one string: at least one end of a line."""
_DIRECTIONS = {TokenType.LT: TokenType.ASC, TokenType.GT: TokenType.DESC}
_CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def read_numbers(
    tokens: Sequence[Token], text: str, tokenize: Callable[[str], list[Token]]
) -> list[Token]:
    """The tokens with numbers as PostgreSQL reads them: ``1e3+2`` is a sum, where sqlglot takes every
    sign behind an exponent for a part of the number; ``0xff``, ``0o17``, ``0b101`` and ``1_000``
    are numbers."""
    read: list[Token] = []
    remaining = list(reversed(tokens))
    while remaining:
        token = remaining.pop()
        read.append(token)
        number = _NUMBER.match(text, token.start) if token.token_type in _NUMBERS else None
        if number is None:
            continue
        end, last = number.end(), token.end
        token.token_type, token.text, token.end = TokenType.NUMBER, _decimal(number[0]), end - 1
        while remaining and remaining[-1].start < end:
            last = remaining.pop().end
        if last < end:
            continue
        # what crosses the end of the number is read again
        following = tokenize(text[end : last + 1])
        for following_token in following:
            following_token.start += end
            following_token.end += end
        remaining += reversed(following)
    return read


def _decimal(number: str) -> str:
    """The number in decimal digits."""
    digits = number.replace("_", "")
    return digits if digits[1:2].lower() not in ("x", "o", "b") else str(int(digits, 0))


def check_numbers(tokens: Sequence[Token], text: str) -> None:
    """Raises ``SqlSyntaxError`` for a letter or underscore right after a number, as in ``1a``: it
    is not an alias."""
    for token, following in zip_longest(tokens, tokens[1:]):
        end = token.end
        if token.token_type is TokenType.NUMBER and following is not None:
            is_joined = following.start == end + 1 and _IN_WORD.match(text, following.start)
            end = following.end if is_joined else end
        is_misread = token.token_type is TokenType.IDENTIFIER and text[token.start].isdigit()
        if end > token.end or is_misread:  # sqlglot takes `0xg` for a quoted name
            raise SqlSyntaxError(
                f'trailing junk after numeric literal at or near "{text[token.start : end + 1]}"',
                position=token.start + 1,
                hint="put a space before an alias",
            )


def read_escapes(tokens: Sequence[Token], text: str) -> None:
    """Give each ``E'…'`` the value that PostgreSQL reads in it. Raises ``SqlSyntaxError`` for an
    escape without a value."""
    for token in tokens:
        if token.token_type is TokenType.BYTE_STRING:
            token.text = _unescaped(text[token.start + 2 : token.end], token.start + 1)


def read_unicode_strings(tokens: Sequence[Token], text: str) -> list[Token]:
    """The tokens with each ``U&'…'`` as a string of the value that PostgreSQL reads in it.

    A ``UESCAPE 'c'`` after it, which names the character that begins an escape, is left out.
    Raises ``SqlSyntaxError`` for an escape without a value.
    """
    read: list[Token] = []
    remaining = list(reversed(tokens))
    while remaining:
        token = remaining.pop()
        read.append(token)
        if token.token_type is not TokenType.UNICODE_STRING:
            continue
        escape = "\\"
        if len(remaining) > 1 and remaining[-1].text.upper() == "UESCAPE":
            remaining.pop()
            escape = remaining.pop().text
        position = token.start + 1
        if len(escape) != 1 or escape in "+'\"" or escape.isspace() or escape in hexdigits:
            raise SqlSyntaxError("invalid Unicode escape character", position=position)
        token.token_type = TokenType.STRING
        token.text = _without_unicode_escapes(text[token.start + 3 : token.end], escape, position)
    return read


def join_strings(tokens: Sequence[Token], text: str) -> list[Token]:
    """The tokens with strings on successive lines as one: ``'a'`` and ``'b'`` on the next are
    ``'ab'``. Only comments of a line may be between them."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        if (
            last is None
            or last.token_type not in (TokenType.STRING, TokenType.BYTE_STRING)
            or token.token_type is not TokenType.STRING
            or not text[last.end] == text[token.start] == "'"
            or not _NEXT_LINE.fullmatch(text, last.end + 1, token.start)
        ):
            joined.append(token)
            continue
        has_escapes = last.token_type is TokenType.BYTE_STRING
        last.text += (
            _unescaped(text[token.start + 1 : token.end], token.start + 1)
            if has_escapes
            else token.text
        )
        last.end = token.end
    return joined


def read_order_operators(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with ``USING <`` and ``USING >`` of ORDER BY as ASC and DESC."""
    read: list[Token] = []
    for token in tokens:
        direction = _DIRECTIONS.get(token.token_type)
        if direction is None or not read or read[-1].token_type is not TokenType.USING:
            read.append(token)
            continue
        read[-1].token_type = direction
        read[-1].text = direction.name
        read[-1].end = token.end
    return read


def _without_unicode_escapes(written: str, escape: str, position: int) -> str:
    character = re.escape(escape)
    pattern = (
        rf"{character}(?:([0-9A-Fa-f]{{4}})|\+([0-9A-Fa-f]{{6}})|({character}))|(''|{character})"
    )

    def read(match: re.Match[str]) -> str:
        short, long, doubled, other = match.groups()
        if short or long:
            code = int(short or long, 16)
            if not 0 < code <= 0x10FFFF:
                raise SqlSyntaxError("invalid Unicode escape value", position=position)
            return chr(code)
        if doubled:
            return escape
        if other == "''":
            return "'"
        hint = "Unicode escapes must be \\XXXX or \\+XXXXXX"
        raise SqlSyntaxError("invalid Unicode escape", position=position, hint=hint)

    value = re.sub(pattern, read, written)
    try:  # halves of a surrogate pair are joined
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise SqlSyntaxError("invalid Unicode surrogate pair", position=position) from error


def _unescaped(written: str, position: int) -> str:
    """The string between the quotes of an ``E'…'``. Octal and hexadecimal escapes are bytes of its
    UTF-8."""
    parts: list[bytes] = []
    copied_to = 0
    for match in _ESCAPE.finditer(written):
        parts += [written[copied_to : match.start()].encode(), _escaped(match, position)]
        copied_to = match.end()
    value = b"".join([*parts, written[copied_to:].encode()])
    try:
        # Halves of a surrogate pair are joined here; one without the other is no text.
        decoded = (
            value.decode("utf-8", "surrogatepass")
            .encode("utf-16", "surrogatepass")
            .decode("utf-16")
        )
    except UnicodeDecodeError as error:
        raise SqlSyntaxError(
            "the escapes of a string are not valid Unicode", position=position
        ) from error
    if "\0" in decoded:
        raise SqlSyntaxError("a string cannot hold a null character", position=position)
    return decoded


def _escaped(match: re.Match[str], position: int) -> bytes:
    octal, hexadecimal, short, long, character = match.groups()
    if octal:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal:
        return bytes([int(hexadecimal, 16)])
    if short or long:
        code = int(short or long, 16)
        if code > 0x10FFFF:
            raise SqlSyntaxError("invalid Unicode escape value", position=position)
        return chr(code).encode("utf-8", "surrogatepass")
    if character in ("u", "U"):
        hint = "Unicode escapes must be \\uXXXX or \\UXXXXXXXX"
        raise SqlSyntaxError("invalid Unicode escape", position=position, hint=hint)
    return _CONTROL.get(character, character).encode() if character else b"'"
