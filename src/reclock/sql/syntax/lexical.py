"""Tokens as PostgreSQL reads them, where sqlglot's tokenizer reads something else without an
error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from string import hexdigits

from sqlglot.tokenizer_core import Token, TokenType

from reclock.errors import SqlSyntaxError

_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))|''", re.DOTALL
)
_CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def check_numbers(tokens: Sequence[Token], text: str) -> None:
    """Raises ``SqlSyntaxError`` for a letter or underscore right after a number, as in ``1_000``:
    it is not an alias."""
    for number, following in pairwise(tokens):
        if number.token_type is not TokenType.NUMBER or following.start != number.end + 1:
            continue
        first = text[following.start]
        if first.isalpha() or first == "_":
            junk = text[number.start : following.end + 1]
            hint = (
                "write numbers in decimal digits, without underscores; put a space before an alias"
            )
            raise SqlSyntaxError(
                f'trailing junk after numeric literal at or near "{junk}"',
                position=number.start + 1,
                hint=hint,
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
