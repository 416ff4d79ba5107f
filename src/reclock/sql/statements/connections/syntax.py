"""Secrets and connections."""

from __future__ import annotations

import secrets
from base64 import b64decode
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import ClassVar, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.definitions.connections import ALIASES, OPTIONS
from reclock.errors import SqlSyntaxError
from reclock.sql.syntax.nodes import HIDDEN, Statement
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.registry import alters, parses
from reclock.sql.syntax.writing import written_as


@written_as("CREATE SECRET [exists: IF NOT EXISTS] {this} [STORED AS {reference}]")
class CreateSecretStatement(Statement):
    """``reference`` is where the value is kept. The value itself is no argument: the text of the
    statement does not have it."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "reference": True}


@written_as("ALTER SECRET {this} STORED AS {reference}")
class AlterSecretStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "reference": True}


@written_as("SECRET {this}")
class SecretName(exp.Expression):
    """``SECRET name`` as the value of an option."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


@written_as("{name} = {value}")
class ConnectionOption(exp.Expression):
    """``name`` is of ``sources.connections.OPTIONS``; ``value`` a string or a ``SecretName``."""

    arg_types: ClassVar[dict[str, bool]] = {"name": True, "value": True}


@written_as(
    "CREATE CONNECTION [exists: IF NOT EXISTS] {this} TO {kind} ({connection_options}) "
    "[WITH ({options})]"
)
class CreateConnectionStatement(Statement):
    """``options`` are those of WITH."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "kind": True,
        "connection_options": True,
        "options": False,
    }


@written_as("SET ({connection_options})")
class SetConnectionOptions(exp.Expression):
    """Options that a connection gets, or gets other values of."""

    arg_types: ClassVar[dict[str, bool]] = {"connection_options": True}


@written_as("RESET ({names})")
class ResetConnectionOptions(exp.Expression):
    """Options that a connection loses."""

    arg_types: ClassVar[dict[str, bool]] = {"names": True}


@written_as("ALTER CONNECTION [exists: IF EXISTS] {this} {actions} [WITH ({options})]")
class AlterConnectionStatement(Statement):
    """``actions`` are ``SetConnectionOptions`` and ``ResetConnectionOptions``; ``options`` those of
    WITH."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "actions": True,
        "options": False,
    }


@written_as("VALIDATE CONNECTION {this}")
class ValidateConnectionStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


_SecretNode = TypeVar("_SecretNode", CreateSecretStatement, AlterSecretStatement)


@parses("CREATE SECRET")
def create_secret(parser: StatementParser) -> CreateSecretStatement:
    exists = parser.if_not_exists()
    return _with_value(parser, CreateSecretStatement(this=parser.object_name(), exists=exists))


@alters("SECRET")
def alter_secret(parser: StatementParser, name: exp.Table, exists: bool) -> AlterSecretStatement:
    if exists:
        parser.raise_error("Expected RENAME TO")
    return _with_value(parser, AlterSecretStatement(this=name))


def _with_value(parser: StatementParser, node: _SecretNode) -> _SecretNode:
    """``AS 'value'`` or ``AS decode('value', 'base64')``; or ``STORED AS 'reference'``, as the
    catalog keeps it. No error repeats what stands here."""
    is_stored = parser.accept("STORED")
    is_introduced = parser.accept_token(TokenType.ALIAS)
    is_encoded = parser.accept("DECODE", "(")
    if not is_introduced or not parser.is_string():
        raise SqlSyntaxError(
            "the value of a secret is a string: AS '…' or AS decode('…', 'base64')",
            position=parser.last_token.start + 1,
        )
    position, text = parser.last_token.start + 1, parser.text().name
    if is_encoded:
        text = _decoded(parser, text, position)
    if parser.token:
        raise SqlSyntaxError(
            "nothing follows the value of a secret, which is one string", position=position
        )
    node.set("reference", exp.Literal.string(text if is_stored else secrets.token_hex(16)))
    if not is_stored:
        node.meta[HIDDEN] = text
    return node


_DECODERS: Mapping[str, Callable[[str], bytes]] = {
    "base64": partial(b64decode, validate=True),
    "hex": bytes.fromhex,
}


def _decoded(parser: StatementParser, text: str, position: int) -> str:
    """The text whose bytes in UTF-8 ``text`` encodes, as what follows it says."""
    is_complete = parser.accept_token(TokenType.COMMA) and parser.is_string()
    decoder = _DECODERS.get(parser.text().name) if is_complete else None
    if decoder is None or not parser.accept(")"):
        raise SqlSyntaxError(
            "the encoding of a secret is 'base64' or 'hex': AS decode('…', 'base64')",
            position=position,
        )
    try:
        return decoder("".join(text.split())).decode()
    except ValueError:
        raise SqlSyntaxError(
            "the value of a secret is no text in this encoding", position=position
        ) from None


@parses("CREATE CONNECTION")
def create_connection(parser: StatementParser) -> CreateConnectionStatement:
    exists = parser.if_not_exists()
    name = parser.object_name()
    parser.expect("TO")
    kind = parser.accept_first(*OPTIONS)
    if kind is None:
        parser.raise_error(f"Expected {', '.join(OPTIONS)}")
    options = parser.wrapped_list(lambda parser: _option(parser, [kind]))
    return CreateConnectionStatement(
        this=name, exists=exists, kind=kind, connection_options=options, options=_with(parser)
    )


@alters("CONNECTION")
def alter_connection(
    parser: StatementParser, name: exp.Table, exists: bool
) -> AlterConnectionStatement:
    """``SET (option = value, …)`` and ``RESET (option, …)``, which Materialize also calls DROP."""
    actions = parser.comma_list(_alteration)
    return AlterConnectionStatement(
        this=name, exists=exists, actions=actions, options=_with(parser)
    )


def _alteration(parser: StatementParser) -> SetConnectionOptions | ResetConnectionOptions:
    if parser.accept("SET"):
        options = parser.wrapped_list(lambda parser: _option(parser, OPTIONS))
        return SetConnectionOptions(connection_options=options)
    if not parser.accept("RESET") and not parser.accept("DROP"):
        parser.raise_error("Expected RENAME TO, SET (…) or RESET (…)")
    names = parser.wrapped_list(lambda parser: exp.Var(this=_option_name(parser, OPTIONS)))
    return ResetConnectionOptions(names=names)


def _with(parser: StatementParser) -> list[exp.Expr] | None:
    return parser.wrapped_list(StatementParser.with_option) if parser.accept("WITH") else None


def _option(parser: StatementParser, kinds: Collection[str]) -> ConnectionOption:
    name = _option_name(parser, kinds)
    parser.accept_token(TokenType.EQ)
    return ConnectionOption(name=name, value=_option_value(parser))


def _option_name(parser: StatementParser, kinds: Collection[str]) -> str:
    """The name of an option that connections of one of the ``kinds`` have, or an alias of it."""
    names = {name for kind in kinds for name in (*OPTIONS[kind], *ALIASES.get(kind, ()))}
    name = parser.accept_first(*sorted(names, key=lambda name: -len(name.split())))
    if name is None:
        [kind, *others] = kinds
        known = "a connection" if others else f"{kind}: {', '.join(OPTIONS[kind])}"
        parser.raise_error(f"Expected an option of {known}")
    return name


def _option_value(parser: StatementParser) -> exp.Expr:
    if parser.accept("SECRET"):
        return SecretName(this=parser.object_name())
    if parser.sees_token(TokenType.L_PAREN):
        return exp.Literal.string(
            ",".join(text.name for text in parser.wrapped_list(StatementParser.text))
        )
    if parser.is_string():
        return parser.text()
    number = parser.number()
    return (
        exp.Literal.string(number.name)
        if number is not None
        else exp.Literal.string(parser.word("a value").name)
    )


@parses("VALIDATE")
def validate_connection(parser: StatementParser) -> ValidateConnectionStatement:
    parser.expect("CONNECTION")
    return ValidateConnectionStatement(this=parser.object_name())
