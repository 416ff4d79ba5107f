"""Statements: finds the rule whose phrase the tokens spell. What no family registers is refused,
never guessed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NoReturn, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from reclock.errors import SqlSyntaxError, UnsupportedSql
from reclock.sql.syntax.expressions import QUERY_STARTS, QueryParser
from reclock.sql.syntax.nodes import CreateTableAsStatement, QueryStatement, Statement, WithOption
from reclock.sql.syntax.registry import Phrase, phrases_of
from reclock.sql.syntax.temporary import make_temporary

T = TypeVar("T")

_NOTIFICATIONS = (
    "SUBSCRIBE sends the changes of a table or query, also those that were committed before it"
)
_MAINTAINED = "tables and indexes are compacted and ordered by themselves"
_COLUMNS = "SHOW COLUMNS FROM name; or \\d name in the shell"
_UNSUPPORTED = {
    "CALL": None,
    "CLUSTER": _MAINTAINED,
    "DESC": _COLUMNS,
    "DESCRIBE": _COLUMNS,
    "DO": "send the statements one by one, or as CREATE FUNCTION … LANGUAGE SQL what answers rows",
    "LISTEN": _NOTIFICATIONS,
    "NOTIFY": f"insert a row into a table: {_NOTIFICATIONS}",
    "IMPORT": "CREATE SOURCE … FROM POSTGRES reads tables of another server",
    "OPTIMIZE": "maintenance compacts the files: reclock maintain, or the DAG reclock_maintenance",
    "REINDEX": _MAINTAINED,
    "SECURITY": None,
    "USE": "SET search_path = name for a schema, SET cluster = name for a cluster",
}
"""Statements that are SQL, or ours in time, and get a clear answer; and what to do instead."""

_CLAUSES_BEFORE_AS_OF = frozenset(
    {
        "WHERE",
        "GROUP BY",
        "HAVING",
        "WINDOW",
        "ORDER BY",
        "LIMIT",
        "OFFSET",
        "FETCH",
        "JOIN",
        "UNION",
        "EXCEPT",
        "INTERSECT",
    }
)
"""What begins a part of a query that must precede its ``AS OF``."""

CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
"""The statements that WITH may hold and precede, besides queries."""


class StatementParser(QueryParser):
    """Parses one statement. The rules of families are functions that take the parser; its methods
    are what they are made of."""

    phrase: tuple[str, ...] = ()
    """The words that the statement begins with, as its rule was registered for them."""

    def parse_statement(self, tokens: list[Token], text: str) -> Statement:
        """The statement whose tokens, cut out of those of ``text``, are ``tokens``."""
        self.reset()
        self.sql, self._chunks = text, [tokens]
        self._advance_chunk()
        statement = self.statement()
        if self._index < len(self._tokens):
            self.raise_error("Invalid expression")
        return statement

    def statement(self) -> Statement:
        if self._curr.token_type in QUERY_STARTS - {TokenType.WITH}:
            return self.query_statement()
        verb = self._curr.text.upper() if self._curr.token_type != TokenType.IDENTIFIER else ""
        if verb in _UNSUPPORTED:
            raise UnsupportedSql(f"{verb} is not supported", hint=_UNSUPPORTED[verb])
        phrases = phrases_of(verb)
        if not phrases:
            self.raise_error("Invalid expression")
        self._advance()
        phrase = self._longest(phrases)
        if phrase is None:
            self.unsupported(verb)
        outer, self.phrase = self.phrase, (verb, *(word for unit in phrase.units for word in unit))
        try:
            return phrase.rule(self)
        finally:
            self.phrase = outer

    def _longest(self, phrases: list[Phrase]) -> Phrase | None:
        """The longest phrase that the tokens spell, which are then read; without one, those that a
        phrase begins with."""
        start = furthest = end = self._index
        longest: Phrase | None = None
        for phrase in phrases:
            self._retreat(start)
            for unit in phrase.units:
                if not self.accept(*unit):
                    break
                furthest = max(furthest, self._index)
            else:
                if longest is None or self._index > end:
                    longest, end = phrase, self._index
        self._retreat(furthest if longest is None else end)
        return longest

    def query_statement(self) -> QueryStatement | CreateTableAsStatement:
        query = self.query()
        if any(token.token_type is TokenType.INTO for token in self._tokens):
            table = _table_after_into(query)
            if query.find(exp.Into):
                self.reject("SELECT ... INTO is not allowed here")
            if table is not None:
                return CreateTableAsStatement(this=table, query=query)
        as_of = self.as_of() if self.is_as_of() else None
        if as_of is not None and self._curr and self._curr.text.upper() in _CLAUSES_BEFORE_AS_OF:
            raise SqlSyntaxError(
                f'syntax error at or near "{self._curr.text}"',
                position=self._curr.start + 1,
                hint="AS OF comes last: SELECT … WHERE … ORDER BY … LIMIT … AS OF …",
            )
        return QueryStatement(this=query, as_of=as_of)

    # --- where the parser is ---

    @property
    def token(self) -> Token:
        """The next token to read. It is falsy at the end."""
        return self._curr

    @property
    def next_token(self) -> Token:
        """The token after ``token``."""
        return self._next

    @property
    def last_token(self) -> Token:
        """The token that was read last."""
        return self._prev

    @property
    def last_word(self) -> str:
        return self._prev.text.upper()

    @property
    def tokens(self) -> list[Token]:
        return self._tokens

    @property
    def index(self) -> int:
        return self._index

    def advance(self) -> None:
        self._advance()

    def retreat(self, index: int) -> None:
        """Go back to where ``index`` was."""
        self._retreat(index)

    # --- words and signs ---

    def accept(self, *words: str) -> bool:
        """Read these words, if they are next."""
        return bool(self._match_text_seq(*words))

    def accept_any(self, words: Collection[str]) -> bool:
        """Read the next word, if it is one of ``words``."""
        return bool(self._match_texts(tuple(words)))

    def accept_token(self, type: TokenType) -> bool:
        return bool(self._match(type))

    def sees(self, *words: str) -> bool:
        """Whether these words are next."""
        return bool(self._match_text_seq(*words, advance=False))

    def sees_token(self, type: TokenType) -> bool:
        return bool(self._match(type, advance=False))

    def accept_first(self, *phrases: str) -> str | None:
        """Read the first of the phrases that is next."""
        return next((phrase for phrase in phrases if self.accept(*phrase.split())), None)

    def if_exists(self) -> bool:
        return self.accept("IF", "EXISTS")

    def if_not_exists(self) -> bool:
        return self.accept("IF", "NOT", "EXISTS")

    def drop_behavior(self) -> str | None:
        return self.last_word if self.accept_any(("CASCADE", "RESTRICT")) else None

    def open_parenthesis(self) -> None:
        self._match_l_paren()

    def close_parenthesis(self) -> None:
        self._match_r_paren()

    # --- names ---

    def cluster_name(self) -> exp.Identifier:
        return self.word("the name of a cluster")

    def role_name(self) -> exp.Identifier:
        return self.word("the name of a role")

    def column_name(self) -> tuple[exp.Table, exp.Identifier]:
        """The name of a relation, a dot, and the name of a column."""
        names = [self.name()]
        while self.accept_token(TokenType.DOT):
            names.append(self.name())
        if not 2 <= len(names) <= 4:
            self.raise_error("Expected the name of a relation, a dot and a column", self.last_token)
        *qualifiers, relation, column = names
        schema = qualifiers[-1] if qualifiers else None
        database = qualifiers[0] if len(qualifiers) == 2 else None
        return exp.Table(this=relation, db=schema, catalog=database), column

    def any_name(self) -> exp.Expr | None:
        return self._parse_id_var(any_token=True)

    # --- values ---

    def value(self) -> exp.Expr:
        return self._parse_disjunction() or self.missing()

    def operand(self) -> exp.Expr | None:
        return self._parse_bitwise()

    def string(self) -> exp.Expr | None:
        return self._parse_string()

    def number(self) -> exp.Expr | None:
        return self._parse_number()

    def boolean(self) -> exp.Expr | None:
        return self._parse_boolean()

    def condition(self) -> exp.Expr | None:
        return self._parse_disjunction()

    def select_item(self) -> exp.Expr | None:
        return self._parse_expression()

    def order(self) -> exp.Expr | None:
        return self._parse_order()

    def table(self) -> exp.Expr | None:
        return self._parse_table(joins=True)

    def data_type(self) -> exp.Expr | None:
        return self._parse_types(check_func=False)

    # --- lists and options ---

    def comma_list(self, rule: Callable[[StatementParser], T | None]) -> list[T]:
        return self._parse_csv(lambda: rule(self))

    def wrapped_list(self, rule: Callable[[StatementParser], T | None]) -> list[T]:
        """A list in parentheses."""
        return self._parse_wrapped_csv(lambda: rule(self))

    def wrapped(self, rule: Callable[[StatementParser], T]) -> T:
        return self._parse_wrapped(lambda: rule(self))

    def with_clause(self) -> exp.With:
        """The queries of WITH, which was read, and the statements among them that change tables."""
        clause = self._parse_with(skip_with_token=True)
        assert clause is not None
        return clause

    def _parse_statement(self) -> exp.Expr | None:
        # sqlglot calls this for what is in the parentheses of WITH
        if self._prev.token_type == TokenType.L_PAREN and self._curr.text.upper() in CHANGES:
            return self.statement()
        return super()._parse_statement()

    def _parse_wrapped_select(self, table: bool = False) -> exp.Expr | None:
        # sqlglot calls this for what is in the parentheses of FROM
        if table and self._curr.text.upper() == "SHOW" and self._lists_objects():
            return self.statement()
        return super()._parse_wrapped_select(table)

    def _lists_objects(self) -> bool:
        """Whether ``SHOW`` of objects is next, rather than a relation of that name."""
        start, is_word = self._index, self._curr.token_type != TokenType.IDENTIFIER
        self._advance()
        phrase = self._longest(phrases_of("SHOW"))
        self._retreat(start)
        return is_word and phrase is not None and bool(phrase.units)

    def options(self, options: Mapping[str, Callable[[], object]]) -> None:
        """Options in parentheses, each by what reads its value."""

        def option() -> bool:
            name = self.accept_first(*options)
            if name is None:
                self.raise_error(f"Expected {', '.join(options)}")
            self._match(TokenType.EQ)
            options[name]()
            return True

        self._parse_wrapped_csv(option)

    def with_option(self) -> WithOption:
        name = self.name()
        self._match(TokenType.EQ)
        return WithOption(
            this=name, value=self.string() or self.number() or self.boolean() or self.missing()
        )

    # --- errors ---

    def unsupported(self, verb: str, *, hint: str | None = None) -> NoReturn:
        """Raises ``UnsupportedSql``, with the next word, if it is one."""
        if self._curr.text.isalpha() and self._curr.token_type not in (
            TokenType.STRING,
            TokenType.IDENTIFIER,
        ):
            raise UnsupportedSql(f"{verb} {self._curr.text.upper()} is not supported", hint=hint)
        self.raise_error("Invalid expression")


def _table_after_into(query: exp.Expr) -> exp.Table | None:
    """The table that SELECT … INTO creates, which the query loses. Only the first query of a UNION
    may have one."""
    while isinstance(query, exp.SetOperation):
        query = query.left
    into = query.args.get("into")
    if into is None or not isinstance(into.this, exp.Table):
        return None
    query.set("into", None)
    if into.args.get("temporary"):
        make_temporary(into.this)
    table: exp.Table = into.this
    return table
