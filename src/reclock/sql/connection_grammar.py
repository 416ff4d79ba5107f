"""Secrets and connections: the statements."""

from __future__ import annotations

import secrets
from typing import TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.definitions.connections import ALIASES, OPTIONS
from reclock.errors import SqlSyntaxError
from reclock.sql.statements.connections.syntax import (
    AlterSecretStatement,
    ConnectionOption,
    CreateConnectionStatement,
    CreateSecretStatement,
    SecretName,
    ValidateConnectionStatement,
)
from reclock.sql.syntax import nodes
from reclock.sql.syntax.expressions import QueryParser

_SecretNode = TypeVar("_SecretNode", CreateSecretStatement, AlterSecretStatement)

VALUE = "value"
"""The value of a secret is no argument of its node: no text that is made of the node has it."""


class ConnectionParser(QueryParser):
    """Rules of secrets and connections."""

    def _create_secret(self) -> CreateSecretStatement:
        exists = self._match_text_seq("IF", "NOT", "EXISTS")
        return self._secret_value(CreateSecretStatement(this=self._object_name(), exists=exists))

    def _alter_secret(self, name: exp.Table) -> AlterSecretStatement:
        return self._secret_value(AlterSecretStatement(this=name))

    def _secret_value(self, node: _SecretNode) -> _SecretNode:
        """``AS 'value'``, or ``STORED AS 'reference'``, as the catalog keeps it. No error repeats what stands here."""
        is_stored = self._match_text_seq("STORED")
        if not self._match(TokenType.ALIAS) or not self._is_string():
            raise SqlSyntaxError("the value of a secret is a string: AS '…'", position=self._prev.start + 1)
        position, text = self._prev.start + 1, self._text().name
        if self._curr:
            raise SqlSyntaxError("nothing follows the value of a secret, which is one string", position=position)
        node.set("reference", exp.Literal.string(text if is_stored else secrets.token_hex(16)))
        if not is_stored:
            node.meta[VALUE] = text
        return node

    def _create_connection(self) -> CreateConnectionStatement:
        exists = self._match_text_seq("IF", "NOT", "EXISTS")
        name = self._object_name()
        self._expect("TO")
        kind = next((kind for kind in OPTIONS if self._match_text_seq(*kind.split())), None)
        if kind is None:
            self.raise_error(f"Expected {', '.join(OPTIONS)}")
        options = self._parse_wrapped_csv(lambda: self._connection_option(kind))
        with_ = self._parse_wrapped_csv(self._option) if self._match_text_seq("WITH") else None
        return CreateConnectionStatement(this=name, exists=exists, kind=kind, connection_options=options, options=with_)

    def _connection_option(self, kind: str) -> ConnectionOption:
        aliases = ALIASES.get(kind, {})
        words = sorted((*OPTIONS[kind], *aliases), key=lambda name: -len(name.split()))
        name = next((name for name in words if self._match_text_seq(*name.split())), None)
        if name is None:
            self.raise_error(f"Expected an option of {kind}: {', '.join(OPTIONS[kind])}")
        self._match(TokenType.EQ)
        return ConnectionOption(name=aliases.get(name, name), value=self._connection_value())

    def _connection_value(self) -> exp.Expr:
        if self._match_text_seq("SECRET"):
            return SecretName(this=self._object_name())
        if self._match(TokenType.L_PAREN, advance=False):
            return exp.Literal.string(",".join(each.name for each in self._parse_wrapped_csv(self._text)))
        if self._is_string():
            return self._text()
        number = self._parse_number()
        return exp.Literal.string(number.name) if number is not None else exp.Literal.string(self._word("a value").name)

    def _validate(self) -> ValidateConnectionStatement:
        self._expect("CONNECTION")
        return ValidateConnectionStatement(this=self._object_name())

    def _option(self) -> nodes.WithOption:
        name = self._name()
        self._match(TokenType.EQ)
        return nodes.WithOption(
            this=name, value=self._parse_string() or self._parse_number() or self._parse_boolean() or self._missing()
        )
