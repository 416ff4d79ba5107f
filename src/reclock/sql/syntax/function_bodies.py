"""Bodies of functions: a body that is written as a string is read as its tokens, so that a mistake
in it is found at its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

_STRINGS = (TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING)


def is_in_body(tokens: Sequence[Token]) -> bool:
    """Whether the tokens, with which a statement begins, end within ``BEGIN ATOMIC … END``."""
    if not _creates_function(tokens):
        return False
    words = [token.text.upper() for token in tokens]
    depth = 0
    for word, previous in zip(words, ["", *words], strict=False):
        if word == "CASE" or (word == "ATOMIC" and previous == "BEGIN"):
            depth += 1
        elif word == "END" and depth:
            depth -= 1
    return depth > 0


def with_bodies(
    tokens: Sequence[Token], text: str, tokenize: Callable[[str], list[Token]]
) -> list[Token]:
    """The tokens of a statement. In CREATE FUNCTION, ``AS $$…$$`` is ``BEGIN ATOMIC … END``, unless
    it is in another language."""
    if not _creates_function(tokens) or _language(tokens) != "SQL":
        return list(tokens)
    read: list[Token] = []
    for token in tokens:
        if token.token_type in _STRINGS and read[-1].text.upper() == "AS":
            alias = read.pop()
            read += [_word("BEGIN", TokenType.BEGIN, alias), _word("ATOMIC", TokenType.VAR, alias)]
            read += _moved(tokenize(token.text), token, text)
            read.append(_word(";", TokenType.SEMICOLON, token))
            read.append(_word("END", TokenType.END, token))
        else:
            read.append(token)
    return read


def _creates_function(tokens: Sequence[Token]) -> bool:
    words = [token.text.upper() for token in tokens[:4]]
    return words[:2] == ["CREATE", "FUNCTION"] or words == ["CREATE", "OR", "REPLACE", "FUNCTION"]


def _language(tokens: Sequence[Token]) -> str:
    for token, following in pairwise(tokens):
        if token.text.upper() == "LANGUAGE" and token.token_type is not TokenType.IDENTIFIER:
            return following.text.upper()
    return "SQL"


def _moved(tokens: Sequence[Token], string: Token, text: str) -> list[Token]:
    """The tokens of the string's value at their places in the text around; a string with escapes
    is one place."""
    offset = text.find(string.text, string.start, string.end + 1)
    for token in tokens:
        token.start, token.end = (
            (string.start, string.end) if offset < 0 else (token.start + offset, token.end + offset)
        )
    return list(tokens)


def _word(text: str, type: TokenType, place: Token) -> Token:
    return Token(type, text, start=place.start, end=place.end)
