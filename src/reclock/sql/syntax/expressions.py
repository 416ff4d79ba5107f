"""Queries and expressions: sqlglot's, with our names for things.

Calls keep the name they were written with (no node per function), so that a name means what
``compute.functions`` says and nothing is rewritten on the way; only ``CAST``, ``EXTRACT`` and the
keyword forms of ``substring``, ``trim``, ``position`` and ``overlay`` have a syntax of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.parsers.materialize import MaterializeParser
from sqlglot.tokenizer_core import TokenType

from reclock import interruption
from reclock.algebra.normal_forms import FORMS
from reclock.algebra.relations import RANGES
from reclock.errors import SqlSyntaxError
from reclock.sql.syntax import nodes
from reclock.sql.syntax.operators import OperatorParser
from reclock.sql.syntax.words import OTHER_STRINGS

T = TypeVar("T")

QUERY_STARTS = frozenset(
    {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN, TokenType.TABLE}
)
_AS_OF_STARTS = frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.L_PAREN, TokenType.DASH, TokenType.PARAMETER}
)
_AS_OF_WORDS = frozenset({"AT", "CAST", "TIMESTAMP", "TIMESTAMPTZ", "DATE", "NULL"})


CALLED_TYPES = frozenset(
    ("date", "text", "int2", "int4", "int8", "float4", "float8", "bool", "timestamptz")
) | {"json", "jsonb", "uuid", "bytea", *RANGES}
"""Types whose names are functions that cast, as in ``date(moment)``, or construct a range."""


_IS_BARE = "bare brackets"


def is_word(node: exp.Expr, word: str) -> bool:
    """Whether it is this name, as a word of its own."""
    return (
        isinstance(node, exp.Column)
        and len(node.parts) == 1
        and not node.this.args.get("quoted")
        and node.name.lower() == word
    )


def _as_list(node: exp.Expr) -> exp.Expr:
    """An element of ``LIST[…]``, where brackets without a word are lists too."""
    if not isinstance(node, exp.Array) or _IS_BARE not in node.meta:
        return node
    word = exp.Column(this=exp.to_identifier("LIST"))
    return exp.Bracket(this=word, expressions=list(map(_as_list, node.expressions)))


class QueryParser(OperatorParser):
    """The syntax that all statements share: queries and expressions."""

    FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[Any, Any]] = {
        **OperatorParser.FUNCTION_PARSERS,
        "CAST": lambda self: self._parse_cast(True),
        "EXISTS": lambda self: exp.Exists(this=self.query()),
        "EXTRACT": lambda self: self._parse_extract(),
    }
    STRING_PARSERS: ClassVar[dict[Any, Any]] = {
        **MaterializeParser.STRING_PARSERS,
        **dict.fromkeys(
            OTHER_STRINGS, lambda self, token: self.expression(exp.Literal.string(token.text))
        ),
    }
    PRIMARY_PARSERS: ClassVar[dict[Any, Any]] = {
        **MaterializeParser.PRIMARY_PARSERS,
        **STRING_PARSERS,
        # a bpchar, whose blanks at the end count nowhere
        TokenType.NATIONAL_STRING: lambda self, token: self.expression(
            exp.Literal.string(token.text.rstrip(" "))
        ),
    }
    UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
        **MaterializeParser.UNARY_PARSERS,
        TokenType.RLIKE: lambda self: self.expression(
            exp.BitwiseNot(this=self._parse_term() or self.missing())
        ),
        TokenType.SESSION_PARAMETER: lambda self: self._call_of_operand("abs"),  # `@`
        TokenType.PIPE_SLASH: lambda self: self._call_of_operand("sqrt"),
        TokenType.DPIPE_SLASH: lambda self: self._call_of_operand("cbrt"),
    }
    # sqlglot takes `:name` for one too, which stands behind `[` for the upper end of a slice
    PLACEHOLDER_PARSERS: ClassVar[dict[Any, Any]] = {
        TokenType.PARAMETER: MaterializeParser.PLACEHOLDER_PARSERS[TokenType.PARAMETER]
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[Any, Any]] = {
        "CASE": MaterializeParser.NO_PAREN_FUNCTION_PARSERS["CASE"],
        "ANY": MaterializeParser.NO_PAREN_FUNCTION_PARSERS["ANY"],
        "SOME": MaterializeParser.NO_PAREN_FUNCTION_PARSERS["ANY"],
    }

    JSON_OPERATORS: ClassVar[dict[Any, Any]] = {
        **MaterializeParser.JSON_OPERATORS,
        # sqlglot takes a key for a path, so that "a.b" would be two keys
        TokenType.ARROW: lambda self, this, key: self.expression(
            exp.JSONExtract(this=this, expression=key)
        ),
        TokenType.DARROW: lambda self, this, key: self.expression(
            exp.JSONExtractScalar(this=this, expression=key)
        ),
    }

    RESERVED_TOKENS: ClassVar[Any] = MaterializeParser.RESERVED_TOKENS - {TokenType.SELECT}
    """What cannot be a name after AS: no word."""

    # --- what every rule is built on ---

    def _parse_csv(
        self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA
    ) -> list[T]:
        def item() -> T | None:
            interruption.check()
            is_first = self._prev.token_type != sep
            parsed = parse_method()
            if parsed is None and not is_first:
                self.raise_error("Expected an item after the comma")
            return parsed

        return super()._parse_csv(item, sep)

    def _parse_limit(
        self, this: exp.Expr | None = None, top: bool = False, skip_limit_token: bool = False
    ) -> exp.Expr | None:
        node = super()._parse_limit(this, top, skip_limit_token)
        if isinstance(node, exp.Limit) and node.args.get("offset") is not None:
            raise SqlSyntaxError(
                "LIMIT #,# syntax is not supported", hint="use separate LIMIT and OFFSET clauses"
            )
        return node

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        node = super()._parse_in(this, alias)
        match node.args.get("expressions"):
            case [exp.Values() as values]:
                node.set("expressions", None)
                node.set("query", exp.Subquery(this=values))
        return node

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        between = super()._parse_between(this)
        if not between.args.get("high"):
            self.raise_error("Expected AND")
        return between

    def _parse_escape(self, this: exp.Expr | None) -> exp.Expr | None:
        if not self._match(TokenType.ESCAPE):
            return this
        character = self._parse_bitwise()
        if character is None:
            self.raise_error("Expected a character")
        return self.expression(exp.Escape(this=this, expression=character))

    def _parse_value(self, values: bool = True) -> exp.Tuple | None:
        row = super()._parse_value(values)
        if row is not None and not row.expressions:
            self.raise_error("Expected a value", self._prev)
        return row

    def _parse_table_part(self, schema: bool = False) -> exp.Expr | None:
        is_behind_dot = self._prev.token_type == TokenType.DOT
        part = super()._parse_table_part(schema)
        return self._name_behind_dot() if part is None and is_behind_dot else part

    def in_cluster(self) -> exp.Identifier | None:
        return self.word("the name of a cluster") if self._match_text_seq("IN", "CLUSTER") else None

    # --- where sqlglot takes more than SQL, or loses a meaning ---

    def _build_predicate(
        self,
        klass: type[exp.Binary],
        this: exp.Expr | None,
        expression: exp.Expr | None,
        comments: list[str] | None = None,
        negate: bool = False,
    ) -> exp.Expr:
        # `a NOT IN (1) = b` is printed as `NOT a IN (1) = b`, which means something else.
        left, right = (
            exp.Paren(this=side) if isinstance(side, exp.Not) else side
            for side in (this, expression)
        )
        return super()._build_predicate(klass, left, right, comments=comments, negate=negate)

    def _parse_null(self) -> exp.Expr | None:
        # sqlglot takes UNKNOWN for NULL
        if self._curr.token_type == TokenType.UNKNOWN:
            return None
        return super()._parse_null()

    def _parse_primary(self) -> exp.Expr | None:
        start = self._curr
        primary = super()._parse_primary()
        if isinstance(primary, exp.Concat):  # two strings side by side
            self.raise_error("Expected an operator between strings", start)
        return primary

    def _parse_type(
        self, parse_interval: bool = True, fallback_to_identifier: bool = False
    ) -> exp.Expr | None:
        """In ``date '2013-01-01'::text``, sqlglot would cast the string to text first, and in
        ``date(a)`` it expects a length."""
        start = self._index
        if self._is_empty_list():
            word = exp.Column(this=exp.to_identifier(self._curr.text))
            self._advance(3)
            return self._parse_column_ops(exp.Bracket(this=word, expressions=[]))
        if self._is_constructor():
            return self._parse_column()
        if self._is_type_called():
            name = self._curr.text.lower()
            self._advance(2)
            arguments = self._parse_csv(self._parse_disjunction)
            self._match_r_paren()
            return self._parse_column_ops(exp.Anonymous(this=name, expressions=arguments))
        kind = (
            None
            if self._curr.token_type == TokenType.INTERVAL
            else self._parse_types(check_func=True, allow_identifiers=False)
        )
        if isinstance(kind, exp.DataType) and self._index > start and self.is_string():
            return self._parse_column_ops(exp.Cast(this=self.text(), to=kind))
        self._retreat(start)
        if self._is_typed_string():
            kind = exp.DataType(this=exp.DType.USERDEFINED, kind=self.name())
            return self._parse_column_ops(exp.Cast(this=self.text(), to=kind))
        return super()._parse_type(parse_interval, fallback_to_identifier)

    def _is_typed_string(self) -> bool:
        """Whether a string is next with the name of a user's type before it."""
        is_name = self._curr.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
        return is_name and self._next.token_type in (TokenType.STRING, *OTHER_STRINGS)

    def _is_empty_list(self) -> bool:
        """Whether ``LIST[]`` is next, which sqlglot takes for the name of a type."""
        kinds = tuple(token.token_type for token in self._tokens[self._index : self._index + 3])
        return kinds == (TokenType.LIST, TokenType.L_BRACKET, TokenType.R_BRACKET)

    def _is_constructor(self) -> bool:
        """Whether ``ARRAY[`` or ``LIST[`` is next, whose elements sqlglot would read for the size of a
        type before it reads them again."""
        is_bracket = bool(self._next) and self._next.token_type == TokenType.L_BRACKET
        return is_bracket and self._curr.token_type in (TokenType.ARRAY, TokenType.LIST)

    def _is_type_called(self) -> bool:
        return (
            bool(self._next)
            and self._next.token_type == TokenType.L_PAREN
            and self._curr.token_type in self.TYPE_TOKENS
            and self._curr.text.lower() in CALLED_TYPES
            and not self._is_precise_constant()
        )

    def _is_precise_constant(self) -> bool:
        """Whether what follows is a constant of a type with digits, as in ``timestamptz(0) '…'``."""
        following = tuple(
            token.token_type for token in self._tokens[self._index + 1 : self._index + 5]
        )
        return following[1:3] == (TokenType.NUMBER, TokenType.R_PAREN) and following[3:] in (
            (TokenType.STRING,),
            *((kind,) for kind in OTHER_STRINGS),
        )

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        # sqlglot takes every `array[…]` and `list[…]` for a constructor and loses what stands
        # before the bracket.
        if this is None and self._curr.token_type == TokenType.L_BRACKET:
            return self._bare_brackets()
        if this is None or self._is_array_word() or not self._match(TokenType.L_BRACKET):
            return super()._parse_bracket(this)
        items = self._bracketed()
        if any(isinstance(item, exp.PropertyEQ) for item in items):
            return self._parse_bracket(self._map_of(items, this))
        if is_word(this, "list"):
            items = list(map(_as_list, items))
        if isinstance(this, exp.Array):
            this = exp.Paren(this=this)  # as it is written
        return self._parse_bracket(exp.Bracket(this=this, expressions=items))

    def _bracketed(self) -> list[exp.Expr]:
        """Subscripts, elements, or entries of a map, up to the closing bracket."""

        def item() -> exp.Expr | None:
            value = self._parse_bracket_key_value()
            if value is None or not self._match(TokenType.FARROW):
                return value
            mapped = self._parse_bracket_key_value() or self.missing()
            return exp.PropertyEQ(this=value, expression=mapped)

        items = self._parse_csv(item)
        if not self._match(TokenType.R_BRACKET):
            self.raise_error("Expected ]")
        return items

    def _bare_brackets(self) -> exp.Expr | None:
        """Brackets within those of an array, a list or a map, which mean another one."""
        self._advance()
        items = self._bracketed()
        if any(isinstance(item, exp.PropertyEQ) for item in items):
            return self._map_of(items, None)
        is_query = len(items) == 1 and isinstance(items[0], exp.Query)
        array = exp.Array(expressions=items, value_constructor=is_query)
        array.meta[_IS_BARE] = True
        return self._parse_bracket(array)

    def _map_of(self, items: list[exp.Expr], word: exp.Expr | None) -> exp.ToMap:
        is_map = word is None or is_word(word, "map")
        if not is_map or not all(isinstance(item, exp.PropertyEQ) for item in items):
            self.raise_error("Expected ]")
        return exp.ToMap(this=exp.Struct(expressions=items))

    def _is_array_word(self) -> bool:
        """Whether the token before is ``ARRAY`` as a word of its own, not the last part of a
        name."""
        if self._prev.token_type != TokenType.ARRAY:
            return False
        return self._index < 2 or self._tokens[self._index - 2].token_type != TokenType.DOT

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        window = super()._parse_window(this, alias)
        spec = window.args.get("spec") if isinstance(window, exp.Window) else None
        if spec is not None and spec.args.get("end") is None:  # as it is printed
            spec.set("end", "CURRENT ROW")
        return window

    def _parse_window_spec(self) -> dict[str, str | exp.Expr | None]:
        bound = super()._parse_window_spec()
        if bound["value"] is None:
            self.missing()
        if (bound["side"] is None) != (bound["value"] == "CURRENT ROW"):
            self.raise_error("Expected PRECEDING or FOLLOWING")
        return bound

    def _parse_cube_or_rollup(self, with_prefix: bool = False) -> exp.Cube | exp.Rollup | None:
        for token, kind in ((TokenType.CUBE, exp.Cube), (TokenType.ROLLUP, exp.Rollup)):
            if self._match(token):
                keys = [] if with_prefix else self._parse_wrapped_csv(self._parse_disjunction)
                return self.expression(kind(expressions=keys))
        return None

    def _parse_grouping_set(self) -> exp.Expr | None:
        return (
            self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_disjunction()
        )

    def _parse_type_size(self) -> exp.DataTypeParam:
        return exp.DataTypeParam(this=self.integer())

    def _parse_function_parameter(self) -> exp.Expr:
        return self.name()  # a column in an alias: no type, no mode

    # --- queries ---

    def _parse_with(self, skip_with_token: bool = False) -> exp.With | None:
        start = self._index
        if (skip_with_token or self._match(TokenType.WITH)) and self._match_text_seq(
            "MUTUALLY", "RECURSIVE"
        ):
            limit, action = None, None
            if self._match(TokenType.L_PAREN):
                action = self._prev.text.upper() if self._match_texts(("ERROR", "RETURN")) else None
                self.expect(*(() if action is None else ("AT",)), "RECURSION", "LIMIT")
                self._match(TokenType.EQ)
                limit, action = self.integer(), action or "ERROR"
                self._match_r_paren()
            bindings = self._parse_csv(self._binding)
            return nodes.MutuallyRecursive(expressions=bindings, limit=limit, limit_action=action)
        self._retreat(start)
        clause = super()._parse_with(skip_with_token)
        self.end_of_with = None if clause is None else self._index
        return clause

    def _binding(self) -> exp.CTE:
        """A query of WITH MUTUALLY RECURSIVE: its name, its columns with their types, and it."""
        name, columns = self.name(), self._parse_wrapped_csv(self._typed_column)
        self.expect("AS")
        query = self._parse_wrapped(self._parse_statement)
        return exp.CTE(this=query, alias=exp.TableAlias(this=name, columns=columns))

    def _typed_column(self) -> exp.ColumnDef:
        name, kind = self.name(), self._parse_types(check_func=False)
        if kind is None:
            self.raise_error("Expected the type of a column")
        return exp.ColumnDef(this=name, kind=kind)

    def _parse_statement(self) -> exp.Expr | None:
        # sqlglot comes here for what follows WITH: a query, never another statement.
        if self._curr.token_type not in QUERY_STARTS:
            self.raise_error("Expected a query")
        if self._curr.token_type == TokenType.VALUES and self._index == self.end_of_with:
            return self.rows_after_with()
        return super()._parse_statement()

    def query(self) -> exp.Expr:
        query = self._parse_statement()
        if not isinstance(query, exp.Query | exp.Values):
            self.raise_error("Expected a query")
        if any(
            select.args.get("joins") and not select.args.get("from_")
            for select in query.find_all(exp.Select)
        ):
            self.raise_error("Expected FROM before a join")
        return query

    # --- AS OF is no alias ---

    def is_as_of(self) -> bool:
        if self._curr.token_type != TokenType.ALIAS or self._next.text.upper() != "OF":
            return False
        if self._next.token_type == TokenType.IDENTIFIER or self._index + 2 >= len(self._tokens):
            return False
        third = self._tokens[self._index + 2]
        fourth = self._tokens[self._index + 3] if self._index + 3 < len(self._tokens) else None
        is_call = (
            third.token_type == TokenType.VAR
            and fourth is not None
            and fourth.token_type == TokenType.L_PAREN
        )
        return third.token_type in _AS_OF_STARTS or third.text.upper() in _AS_OF_WORDS or is_call

    def as_of(self) -> nodes.AsOfClause:
        self._advance(2)
        at_least = self._match_text_seq("AT", "LEAST")
        return nodes.AsOfClause(this=self._parse_disjunction() or self.missing(), at_least=at_least)

    def _parse_table_alias(self, alias_tokens: object = None) -> exp.TableAlias | None:
        if self.is_as_of() or self._gives_sizes():
            return None
        return self._record_alias() or super()._parse_table_alias(alias_tokens)  # type: ignore[arg-type]

    def _record_alias(self) -> exp.TableAlias | None:
        """``AS name (column type, …)``, which names the columns of a function of records."""
        start = self._index
        has_as = self._match(TokenType.ALIAS)
        name = self._parse_id_var(any_token=False)
        if (name or has_as) and self._match(TokenType.L_PAREN):
            begin = self._index
            column = self._parse_id_var(any_token=False)
            if column and self._curr.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
                self._retreat(begin)
                columns = self._parse_csv(self._typed_column)
                self._match_r_paren()
                return exp.TableAlias(this=name, columns=columns)
        self._retreat(start)
        return None

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        return this if self.is_as_of() else super()._parse_alias(this, explicit)

    # --- what is another function or operator ---

    def _call_of_operand(self, name: str) -> exp.Anonymous:
        return exp.Anonymous(this=name, expressions=[self._parse_term() or self.missing()])

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
        start = self._index
        is_negated, form = self._match(TokenType.NOT), self._normal_form()
        if not self._match_text_seq("NORMALIZED"):
            self._retreat(start)
            return super()._parse_is(this)
        form = form or exp.Literal.string(FORMS[0])
        result: exp.Expr = exp.Anonymous(this="is_normalized", expressions=[this, form])
        return self._parse_column_ops(exp.Not(this=result) if is_negated else result)
