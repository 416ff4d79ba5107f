"""The elements of an index: keys, and the order of their entries."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import Token, TokenType

from reclock.algebra.index_keys import COLLATIONS, DEFAULT_ORDER, SHOWN_CLASS_ENDING, KeyOrder
from reclock.sql.syntax.collations import check_collation
from reclock.sql.syntax.parser import StatementParser
from reclock.sql.syntax.writing import joined


def index_elements(parser: StatementParser) -> tuple[list[exp.Expr], str | None]:
    """Names and expressions in parentheses, and the orders of the entries of each, for
    ``key_orders``. Without orders, all are the usual one.

    An index finds rows by equality, so the order says nothing here: it is kept for clients that
    compare indexes with those that they created.
    """
    elements = parser.wrapped_list(_element)
    orders = [order.sql for _, order in elements]
    return [key for key, _ in elements], ",".join(orders) if any(orders) else None


def index_key(parser: StatementParser) -> exp.Expr:
    """A name or an expression, as ``index_elements`` has them."""
    return _element(parser)[0]


def included_columns(parser: StatementParser) -> list[exp.Identifier] | None:
    """What INCLUDE names, if it is next."""
    return parser.wrapped_list(StatementParser.name) if parser.accept("INCLUDE") else None


def key_orders(node: exp.Expr, count: int) -> tuple[KeyOrder, ...]:
    """The orders of the ``count`` keys of an index or a constraint."""
    words: str | None = node.args.get("orders")
    if words is None:
        return (DEFAULT_ORDER,) * count
    return tuple(map(KeyOrder.of, words.split(",")))


def write_elements(write: Generator, node: exp.Expr, keys: str) -> str:
    """The keys of the argument ``keys`` with their orders, in parentheses, and INCLUDE."""
    nodes = node.args.get(keys) or []
    orders = key_orders(node, len(nodes))
    elements = [joined(write.sql(key), order.sql) for key, order in zip(nodes, orders, strict=True)]
    included = ", ".join(write.sql(column) for column in node.args.get("include") or ())
    return joined(f"({', '.join(elements)})", f"INCLUDE ({included})" if included else "")


def _element(parser: StatementParser) -> tuple[exp.Expr, KeyOrder]:
    following = parser.next_token
    is_name = following and (
        following.token_type in (TokenType.COMMA, TokenType.R_PAREN)
        or following.text.upper() in ("ASC", "DESC", "NULLS", "COLLATE")
        or _tokens_of_operator_class(parser, 1)
    )
    key = parser.name() if is_name else parser.value()
    collation, operator_class = "", ""
    if isinstance(key, exp.Collate):
        key, written = key.this, key.expression
        check_collation(written, written.args.get("table"))
        collation = written.name
    elif parser.accept("COLLATE"):
        name = parser.object_name()
        check_collation(name.this, name.args.get("db"))
        collation = name.name
    if count := _tokens_of_operator_class(parser, 0):
        for _ in range(count):
            operator_class = parser.token.text.lower()
            parser.advance()
    if isinstance(key, exp.Paren) and isinstance(key.unnest(), exp.Anonymous):
        key = key.unnest()
    is_descending = parser.accept_first("ASC", "DESC") == "DESC"
    nulls = parser.accept_first("NULLS FIRST", "NULLS LAST")
    return key, KeyOrder(
        COLLATIONS.get(collation.lower(), ""),
        operator_class if operator_class.endswith(SHOWN_CLASS_ENDING) else "",
        is_descending,
        is_descending if nulls is None else nulls == "NULLS FIRST",
    )


def _tokens_of_operator_class(parser: StatementParser, ahead: int) -> int:
    """The number of tokens of the class of operators that begins so many tokens ahead, also of an
    extension, and with its schema: ``gin_trgm_ops``, ``public.gin_trgm_ops``."""
    tokens = parser.tokens[parser.index + ahead : parser.index + ahead + 3]
    count = 3 if len(tokens) == 3 and tokens[1].token_type is TokenType.DOT else 1
    return count if tokens[count - 1 : count] and _is_operator_class(tokens[count - 1]) else 0


def _is_operator_class(token: Token) -> bool:
    return token.text.lower().endswith("_ops")
