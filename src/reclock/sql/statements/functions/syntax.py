"""CREATE FUNCTION, and what ALTER FUNCTION changes besides name and owner."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.errors import InvalidFunction, UnsupportedSql
from reclock.sql.statements.functions.names_syntax import typed_parameter
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.parser import CHANGES, StatementParser
from reclock.sql.syntax.registry import parses
from reclock.sql.syntax.writing import generates, joined, list_clause, listed, when, written_as

VOLATILITIES = ("IMMUTABLE", "STABLE", "VOLATILE")


@written_as("{this} {kind} [DEFAULT {default}]")
class ParameterDeclaration(exp.Expression):
    """A parameter, or a column of RETURNS TABLE. ``this`` is its name, if it has one."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "kind": True, "default": False}


class CreateFunctionStatement(Statement):
    """``returns`` is a type, or for a function of rows the name of a type or relation; ``columns``
    are those of RETURNS TABLE. ``query`` is the body, however it was written."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "replace": False,
        "parameters": False,
        "returns": False,
        "is_set": False,
        "columns": False,
        "volatility": False,
        "is_strict": False,
        "query": True,
    }


@parses("CREATE [OR REPLACE] FUNCTION")
def create_function(parser: StatementParser) -> CreateFunctionStatement:
    name = parser.object_name()
    parameters = _parameters(parser)
    returned = _returned(parser)
    options: dict[str, Any] = {}
    while _option(parser, options):
        pass
    if options.get("query") is None:
        raise InvalidFunction("no function body specified")
    options.pop("language", None)
    return CreateFunctionStatement(
        this=name, replace="REPLACE" in parser.phrase, parameters=parameters, **returned, **options
    )


def _parameters(parser: StatementParser) -> list[ParameterDeclaration]:
    parser.open_parenthesis()
    if parser.accept_token(TokenType.R_PAREN):
        return []
    parameters = parser.comma_list(_parameter)
    parser.close_parenthesis()
    return parameters


def _parameter(parser: StatementParser) -> ParameterDeclaration:
    if parser.accept_any(("OUT", "INOUT", "VARIADIC")):
        raise UnsupportedSql(
            f"{parser.last_word} parameters are not supported",
            hint="a function returns what RETURNS says: a type, or TABLE (…)",
        )
    name, kind = typed_parameter(parser)
    has_default = parser.accept("DEFAULT") or parser.accept_token(TokenType.EQ)
    return ParameterDeclaration(
        this=name, kind=kind, default=parser.value() if has_default else None
    )


def _returned(parser: StatementParser) -> dict[str, Any]:
    parser.expect("RETURNS")
    if parser.accept("TABLE"):
        return {"columns": parser.wrapped_list(_column), "is_set": True}
    is_set = parser.accept("SETOF")
    for kind in ("TRIGGER", "VOID", "EVENT_TRIGGER"):
        if parser.accept(kind):
            raise UnsupportedSql(
                f"functions that return {kind.lower()} are not supported",
                detail="a function is a query: it changes nothing",
            )
    return {"returns": parser.data_type() or parser.missing(), "is_set": is_set}


def _column(parser: StatementParser) -> ParameterDeclaration:
    return ParameterDeclaration(this=parser.name(), kind=parser.data_type() or parser.missing())


# --- options and body ---


def _option(parser: StatementParser, options: dict[str, Any]) -> bool:
    """Read the next option, in any order. Raises ``SqlSyntaxError`` if it was given before."""

    def put(name: str, value: object) -> bool:
        if name in options:
            parser.reject("conflicting or redundant options", parser.last_token)
        options[name] = value
        return True

    if parser.accept("LANGUAGE"):
        return put("language", _language(parser))
    if parser.accept_any(VOLATILITIES):
        return put("volatility", parser.last_word)
    if parser.accept_first("STRICT", "RETURNS NULL ON NULL INPUT"):
        return put("is_strict", True)
    if parser.accept("CALLED", "ON", "NULL", "INPUT"):
        return put("is_strict", False)
    if parser.accept_first(*_ADVICE):
        return True
    if parser.accept_any(("COST", "ROWS")):
        parser.number()
        return True
    if parser.accept_first("EXTERNAL SECURITY DEFINER", "SECURITY DEFINER"):
        raise UnsupportedSql(
            "SECURITY DEFINER is not supported",
            hint="a view reads with the rights of its owner",
        )
    if parser.accept_token(TokenType.ALIAS):
        parser.text()
        return put("text", True)  # of another language, or it would have been read as tokens
    if parser.accept("RETURN"):
        return put("query", exp.Select(expressions=[parser.value()]))
    if parser.accept("BEGIN", "ATOMIC"):
        return put("query", _atomic_body(parser))
    return False


_ADVICE = (
    *("EXTERNAL SECURITY INVOKER", "SECURITY INVOKER", "NOT LEAKPROOF", "LEAKPROOF"),
    *("PARALLEL SAFE", "PARALLEL RESTRICTED", "PARALLEL UNSAFE", "WINDOW"),
)
"""Options that change no answer."""


def _language(parser: StatementParser) -> str:
    language = parser.text().name if parser.is_string() else parser.word("a language").name
    if language.upper() != "SQL":
        raise UnsupportedSql(
            f'language "{language}" is not supported',
            detail="a function is planned as a part of the query that calls it, on every engine and "
            "from changes, so its body has to be SQL",
            hint="write LANGUAGE SQL and a body that is one query",
        )
    return language.upper()


def _atomic_body(parser: StatementParser) -> exp.Expr:
    """The body, which is also what a body in a string is read as."""
    is_change = bool(parser.token) and parser.token.text.upper() in CHANGES
    query = exp.Select() if is_change else parser.query()
    while not is_change and parser.accept_token(TokenType.SEMICOLON):
        pass
    if is_change or (parser.last_token.token_type is TokenType.SEMICOLON and not _ends(parser)):
        raise UnsupportedSql(
            "a body of a function that is no single query is not supported",
            detail="a call is planned as its query, which neither changes tables nor has steps",
        )
    parser.expect("END")
    return query


def _ends(parser: StatementParser) -> bool:
    return parser.sees_token(TokenType.END)


@generates(CreateFunctionStatement)
def _write_create_function(write: Generator, node: exp.Expression) -> str:
    returned = list_clause(write, "TABLE", node, "columns") or joined(
        when(node, "is_set", "SETOF"), write.sql(node, "returns")
    )
    return joined(
        "CREATE",
        when(node, "replace", "OR REPLACE"),
        f"FUNCTION {write.sql(node, 'this')}({listed(write, node, 'parameters')})",
        f"RETURNS {returned}",
        "LANGUAGE SQL",
        node.args.get("volatility") or "",
        when(node, "is_strict", "STRICT"),
        f"BEGIN ATOMIC {write.sql(node, 'query')}; END",
    )
