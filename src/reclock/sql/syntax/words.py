"""What every rule of the grammar is built on: names, strings, numbers, and errors with their place."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.materialize import MaterializeParser
from sqlglot.tokenizer_core import Token, TokenType

OTHER_STRINGS = (TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING)
"""Other ways of writing a string: dollar quotes, ``E'…'``. Their escapes are already resolved."""


_NAMES = MaterializeParser.ID_VAR_TOKENS | {TokenType.BETWEEN, TokenType.VALUES}
"""What may be the name of a relation or column without a qualifier."""
_QUOTED = {TokenType.STRING, TokenType.IDENTIFIER, *OTHER_STRINGS}


class Rejected(ParseError):
    """A syntax error with the place it was met at, as a 1-based position in the text; None is the
    end of the statement. ``hint`` says what could stand there."""

    def __init__(self, message: str, position: int | None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.position, self.hint = message, position, hint


class WordParser(MaterializeParser):
    """sqlglot's, with errors in PostgreSQL's words."""

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        token = self._curr if token is None else token
        hint = (
            None
            if message.startswith(("Required", "Invalid expression"))
            else f"{message[:1].lower()}{message[1:].split(' but got <')[0]}"
        )
        if not token or not token.text:
            raise Rejected("syntax error at end of input", None, hint)
        written = f'syntax error at or near "{self._first_word(token)}"'
        raise Rejected(written, token.start + 1, hint)

    def reject(self, message: str, token: Token | None = None) -> NoReturn:
        """Raise an error of the grammar whose ``message`` says all."""
        token = self._curr if token is None else token
        raise Rejected(message, token.start + 1 if token else None)

    def _first_word(self, token: Token) -> str:
        """The token as it is written; of several words, the first."""
        if token.token_type in _QUOTED:
            return self.sql[token.start : token.end + 1] or token.text
        return token.text.split()[0]

    def _advance_any(self, ignore_reserved: bool = False) -> Token | None:
        # sqlglot takes NOT for the sign !
        return super()._advance_any(ignore_reserved or self._curr.text.upper() == "NOT")

    def _warn_unsupported(self) -> None:
        self.raise_error("Invalid expression")

    def missing(self) -> exp.Expr:
        self.raise_error("Expected an expression")

    def expect(self, *words: str) -> None:
        if not self._match_text_seq(*words):
            self.raise_error(f"Expected {' '.join(words)}")

    def name(self) -> exp.Identifier:
        name = self._parse_id_var(any_token=False, tokens=_NAMES)
        if not isinstance(name, exp.Identifier):
            self.raise_error("Expected a name")
        return name

    def word(self, expected: str) -> exp.Identifier:
        """A name, or any word of SQL's own: ``default`` is a good name for a cluster."""
        if not self._curr:
            self.raise_error(f"Expected {expected}", self._curr)
        if (
            self._curr.token_type != TokenType.IDENTIFIER
            and not self._curr.text.replace(".", "_").isidentifier()
        ):
            self.raise_error(f"Expected {expected}")
        name = self._parse_id_var(any_token=True)
        if not isinstance(name, exp.Identifier) or self._prev.token_type == TokenType.STRING:
            self.raise_error(f"Expected {expected}", self._prev)
        return name

    def object_name(self) -> exp.Table:
        parts = [self.name()]
        while self._match(TokenType.DOT):
            parts.append(self._name_behind_dot())
        if len(parts) > 3:
            self.raise_error("A name has at most three parts", self._prev)
        item, schema, database = [*reversed(parts), None, None][:3]
        return exp.Table(this=item, db=schema, catalog=database)

    def table_name(self) -> exp.Table:
        """The name of a table. ONLY before it and an asterisk after it change nothing: no table
        has others that inherit from it."""
        if self._curr.token_type is not TokenType.IDENTIFIER:
            self._match_text_seq("ONLY")
        name = self.object_name()
        self._match(TokenType.STAR)
        return name

    def _name_behind_dot(self) -> exp.Identifier:
        """The part of a name after a dot, which may be any word."""
        name = self._parse_id_var(any_token=False)
        return name if isinstance(name, exp.Identifier) else self.word("a name")

    def is_string(self) -> bool:
        return bool(self._curr) and self._curr.token_type in (TokenType.STRING, *OTHER_STRINGS)

    def text(self) -> exp.Literal:
        if not self.is_string():
            self.raise_error("Expected a string")
        self._advance()
        return exp.Literal.string(self._prev.text).update_positions(self._prev)

    def integer(self) -> exp.Literal:
        number = self._parse_number()
        if not isinstance(number, exp.Literal) or not number.name.isdigit():
            self.raise_error("Expected a whole number", self._prev if number else None)
        return number
