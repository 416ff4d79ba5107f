"""The grammar: sqlglot's expressions and queries, our statements. What is not named here is refused, never guessed.

Calls keep the name they were written with (no node per function), so that a name means what ``compute.functions`` says and
nothing is rewritten on the way; only ``CAST``, ``EXTRACT`` and the keyword forms of ``substring``, ``trim`` and ``position``
have a syntax of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.materialize import MaterializeParser
from sqlglot.tokens import Token, TokenType

from reclock.errors import UnsupportedSql
from reclock.sql import nodes

T = TypeVar("T")

_QUERY_STARTS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN, TokenType.TABLE})
_AS_OF_STARTS = frozenset({TokenType.NUMBER, TokenType.STRING, TokenType.L_PAREN, TokenType.DASH, TokenType.PARAMETER})
_AS_OF_WORDS = frozenset({"AT", "CAST", "TIMESTAMP", "TIMESTAMPTZ", "DATE", "NULL"})
_STRINGS = (TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING)
"""Other ways of writing a string: dollar quotes, ``E'…'``. The tokenizer has resolved their escapes."""
_SHOW_LISTS = frozenset({"SOURCES", "VIEWS", "INDEXES", "OBJECTS", "DATABASES", "SCHEMAS", "CLUSTERS"})
_LATER = frozenset("INSERT UPDATE DELETE MERGE COPY TRUNCATE TAIL SUBSCRIBE DECLARE FETCH CLOSE PREPARE EXECUTE DEALLOCATE".split())
_LATER |= frozenset("GRANT REVOKE COMMENT VACUUM ANALYZE DISCARD SAVEPOINT RELEASE LISTEN NOTIFY LOCK CALL DO DESCRIBE USE".split())


class Rejected(ParseError):
    """A syntax error with the place it was met at, as a 1-based position in the text."""

    def __init__(self, message: str, position: int | None) -> None:
        super().__init__(message)
        self.message, self.position = message, position


class ReclockParser(MaterializeParser):
    """Parses one statement to one of ``nodes.Statement``."""

    FUNCTIONS = {}
    FUNCTION_PARSERS = {
        "CAST": lambda self: self._parse_cast(True),
        "EXTRACT": lambda self: self._parse_extract(),
        "SUBSTRING": lambda self: self._parse_substring_call(),
        "TRIM": lambda self: self._parse_trim_call(),
        "POSITION": lambda self: self._parse_position_call(),
    }
    PRIMARY_PARSERS = {
        **MaterializeParser.PRIMARY_PARSERS,
        **dict.fromkeys(_STRINGS, lambda self, token: self.expression(exp.Literal.string(token.text))),
    }
    NO_PAREN_FUNCTION_PARSERS = {
        "CASE": MaterializeParser.NO_PAREN_FUNCTION_PARSERS["CASE"],
        "ANY": MaterializeParser.NO_PAREN_FUNCTION_PARSERS["ANY"],
    }

    # --- what every rule stands on ---

    def raise_error(self, message: str, token: Token | None = None) -> None:  # type: ignore[override]
        token = token or self._curr or None
        about = "" if message.startswith(("Required argument", "Invalid expression")) else f": {message[:1].lower()}{message[1:]}"
        if not token or not token.text:
            raise Rejected(f"syntax error at end of input{about}", len(self.sql) + 1)
        raise Rejected(f'syntax error at or near "{token.text}"{about}', token.start + 1)

    def _warn_unsupported(self) -> None:
        self.raise_error("Invalid expression")

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        def item() -> T | None:
            is_first = self._prev.token_type != sep
            parsed = parse_method()
            if parsed is None and not is_first:
                self.raise_error("Expected an item after the comma")
            return parsed

        return super()._parse_csv(item, sep)

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        between = super()._parse_between(this)
        if not between.args.get("high"):
            self.raise_error("Expected AND")
        return between

    def _expect(self, *words: str) -> None:
        if not self._match_text_seq(*words):
            self.raise_error(f"Expected {' '.join(words)}")

    def _name(self) -> exp.Identifier:
        name = self._parse_id_var()
        if not isinstance(name, exp.Identifier):
            self.raise_error("Expected a name")
        return name  # type: ignore[return-value]

    def _object_name(self) -> exp.Table:
        parts = [self._name()]
        while self._match(TokenType.DOT):
            parts.append(self._name())
        if len(parts) > 3:
            self.raise_error("A name has at most three parts", self._prev)
        item, schema, database = [*reversed(parts), None, None][:3]
        return exp.Table(this=item, db=schema, catalog=database)

    def _text(self) -> exp.Literal:
        text = self._parse_string()
        if not isinstance(text, exp.Literal):
            self.raise_error("Expected a string")
        return text  # type: ignore[return-value]

    def _integer(self) -> exp.Literal:
        number = self._parse_number()
        if not isinstance(number, exp.Literal) or not number.name.isdigit():
            self.raise_error("Expected a whole number", self._prev if number else None)
        return number  # type: ignore[return-value]

    def _cluster(self) -> exp.Identifier | None:
        if not self._match_text_seq("IN", "CLUSTER"):
            return None
        name = self._parse_id_var(any_token=True)
        if not isinstance(name, exp.Identifier):
            self.raise_error("Expected the name of a cluster")
        return name  # type: ignore[return-value]

    # --- roots ---

    def parse_root(self) -> nodes.Statement:
        """One statement, up to the end of its tokens."""
        statement = self._root()
        if self._index < len(self._tokens):
            self.raise_error("Invalid expression")
        return statement

    def _root(self) -> nodes.Statement:
        if self._curr.token_type in _QUERY_STARTS:
            return self._query_statement()
        word = self._curr.text.upper()
        if self._curr.token_type != TokenType.IDENTIFIER:
            rule = self._ROOTS.get(word)
            if rule:
                self._advance()
                return rule(self)
            if word in _LATER:
                raise UnsupportedSql(f"{word} is not supported")
        self.raise_error("Invalid expression")
        raise AssertionError

    def _parse_statement(self) -> exp.Expr | None:
        # sqlglot comes here for what follows WITH: a query, never another statement.
        if self._curr.token_type not in _QUERY_STARTS:
            self.raise_error("Expected a query")
        return super()._parse_statement()

    def _query(self) -> exp.Expr:
        query = self._parse_statement()
        if not isinstance(query, exp.Query | exp.Values):
            self.raise_error("Expected a query")
        return query  # type: ignore[return-value]

    def _query_statement(self) -> nodes.QueryStatement:
        query = self._query()
        as_of = None
        if self._is_as_of():
            self._advance(2)
            at_least = self._match_text_seq("AT", "LEAST")
            time = self._parse_disjunction()
            if time is None:
                self.raise_error("Expected a time")
            as_of = nodes.AsOf(this=time, at_least=at_least)
        return nodes.QueryStatement(this=query, as_of=as_of)

    # --- AS OF is no alias ---

    def _is_as_of(self) -> bool:
        if self._curr.token_type != TokenType.ALIAS or self._next.text.upper() != "OF":
            return False
        if self._next.token_type == TokenType.IDENTIFIER or self._index + 2 >= len(self._tokens):
            return False
        third = self._tokens[self._index + 2]
        fourth = self._tokens[self._index + 3] if self._index + 3 < len(self._tokens) else None
        is_call = third.token_type == TokenType.VAR and fourth is not None and fourth.token_type == TokenType.L_PAREN
        return third.token_type in _AS_OF_STARTS or third.text.upper() in _AS_OF_WORDS or is_call

    def _parse_table_alias(self, alias_tokens: object = None) -> exp.TableAlias | None:
        return None if self._is_as_of() else super()._parse_table_alias(alias_tokens)  # type: ignore[arg-type]

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        return this if self._is_as_of() else super()._parse_alias(this, explicit)

    # --- calls with a syntax of their own ---

    def _parse_substring_call(self) -> exp.Anonymous:
        arguments = self._parse_csv(self._parse_disjunction)
        if self._match(TokenType.FROM):
            arguments += [self._parse_bitwise() or self._missing()]
        elif self._match(TokenType.FOR):
            return exp.Anonymous(this="substring", expressions=[*arguments, exp.Literal.number(1), self._parse_bitwise() or self._missing()])
        if self._match(TokenType.FOR):
            arguments += [self._parse_bitwise() or self._missing()]
        return exp.Anonymous(this="substring", expressions=arguments)

    def _parse_trim_call(self) -> exp.Anonymous:
        name = "btrim"
        if self._match_texts(("BOTH", "LEADING", "TRAILING")):
            name = {"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}[self._prev.text.upper()]
        first = None if self._match(TokenType.FROM, advance=False) else self._parse_bitwise() or self._missing()
        if self._match(TokenType.FROM):
            value = self._parse_bitwise() or self._missing()
            return exp.Anonymous(this=name, expressions=[value, first] if first else [value])
        rest = [self._parse_bitwise() or self._missing()] if self._match(TokenType.COMMA) else []
        return exp.Anonymous(this=name, expressions=[first or self._missing(), *rest])

    def _parse_position_call(self) -> exp.Anonymous:
        part = self._parse_bitwise() or self._missing()
        if not self._match(TokenType.IN):
            self.raise_error("Expected IN")
        return exp.Anonymous(this="strpos", expressions=[self._parse_bitwise() or self._missing(), part])

    def _missing(self) -> exp.Expr:
        self.raise_error("Expected an expression")
        raise AssertionError

    # --- CREATE ---

    def _create(self) -> nodes.Statement:
        replace = self._match_text_seq("OR", "REPLACE")
        materialized = self._match_text_seq("MATERIALIZED")
        if self._match_text_seq("VIEW"):
            return self._create_view(replace, materialized)
        if not replace and self._match_text_seq("SOURCE"):
            return self._create_source(materialized)
        if not replace and not materialized:
            if self._match_text_seq("DEFAULT", "INDEX"):
                cluster = self._cluster()
                self._expect("ON")
                return nodes.CreateIndexStatement(cluster=cluster, on=self._object_name())
            if self._match_text_seq("INDEX"):
                return self._create_index()
        return self._unsupported("CREATE")

    def _unsupported(self, verb: str) -> nodes.Statement:
        if self._curr.text.isalpha() and self._curr.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            raise UnsupportedSql(f"{verb} {self._curr.text.upper()} is not supported")
        self.raise_error("Invalid expression")
        raise AssertionError

    def _create_view(self, replace: bool, materialized: bool) -> nodes.CreateViewStatement:
        exists = self._match_text_seq("IF", "NOT", "EXISTS")
        if replace and exists:
            self.raise_error("OR REPLACE and IF NOT EXISTS exclude each other", self._prev)
        name = self._object_name()
        cluster = self._cluster() if materialized else None
        columns = self._parse_wrapped_csv(self._name) if self._match(TokenType.L_PAREN, advance=False) else None
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS")
        return nodes.CreateViewStatement(
            this=name,
            exists=exists,
            replace=replace,
            materialized=materialized,
            cluster=cluster,
            columns=columns,
            query=self._query(),
        )

    def _create_index(self) -> nodes.CreateIndexStatement:
        name = None if self._match_text_seq("ON", advance=False) or self._match_text_seq("IN", advance=False) else self._name()
        cluster = self._cluster()
        self._expect("ON")
        return nodes.CreateIndexStatement(this=name, cluster=cluster, on=self._object_name(), keys=self._parse_wrapped_csv(self._name))

    def _create_source(self, materialized: bool) -> nodes.CreateSourceStatement:
        exists = self._match_text_seq("IF", "NOT", "EXISTS")
        name = self._object_name()
        cluster = self._cluster() if materialized else None
        if not self._match(TokenType.L_PAREN, advance=False):
            self.raise_error("Expected the list of columns")
        columns = self._parse_wrapped_csv(self._source_column)
        self._expect("FROM")
        return nodes.CreateSourceStatement(
            this=name,
            exists=exists,
            materialized=materialized,
            cluster=cluster,
            columns=columns,
            connector=self._connector(),
            format=self._format(),
            progress=self._object_name() if self._match_text_seq("EXPOSE", "PROGRESS", "AS") else None,
            options=self._parse_wrapped_csv(self._option) if self._match_text_seq("WITH") else None,
        )

    def _source_column(self) -> nodes.SourceColumn:
        name = self._name()
        kind = self._parse_types(check_func=False)
        if kind is None:
            self.raise_error("Expected a type")
        not_null = self._match_text_seq("NOT", "NULL")
        if not not_null:
            self._match_text_seq("NULL")
        return nodes.SourceColumn(this=name, kind=kind, not_null=not_null)

    def _connector(self) -> nodes.ObjectsFrom:
        if not self._match_text_seq("S3"):
            self._unsupported("CREATE SOURCE FROM")
        self._expect("DISCOVER", "OBJECTS")
        pattern = self._text() if self._match_text_seq("MATCHING") else None
        self._expect("USING", "BUCKET", "SCAN")
        return nodes.ObjectsFrom(pattern=pattern, bucket=self._text())

    def _format(self) -> exp.Expression:
        self._expect("FORMAT")
        if self._match_text_seq("JSON"):
            return nodes.JsonFormatClause()
        if not self._match_text_seq("CSV"):
            self._unsupported("FORMAT")
        header, columns = False, None
        if self._match_text_seq("WITH", "HEADER"):
            header = True
        elif self._curr.text.upper() == "WITH" and self._next.token_type == TokenType.NUMBER:
            self._advance()
            columns = self._integer()
            self._expect("COLUMNS")
        delimiter = self._text() if self._match_text_seq("DELIMITED", "BY") else None
        null_text = self._text() if self._match_text_seq("NULL", "AS") else None
        return nodes.CsvFormatClause(header=header, columns=columns, delimiter=delimiter, null_text=null_text)

    def _option(self) -> nodes.Option:
        name = self._name()
        if not self._match(TokenType.EQ):
            self.raise_error("Expected =")
        return nodes.Option(this=name, value=self._parse_string() or self._parse_number() or self._parse_boolean() or self._missing())

    # --- DROP, ALTER ---

    def _drop(self) -> nodes.Statement:
        for words in (("MATERIALIZED", "VIEW"), ("SOURCE",), ("VIEW",), ("INDEX",)):
            if self._match_text_seq(*words):
                exists = self._match_text_seq("IF", "EXISTS")
                names = self._parse_csv(self._object_name)
                behavior = self._prev.text.upper() if self._match_texts(("CASCADE", "RESTRICT")) else None
                return nodes.DropStatement(kind=" ".join(words), names=names, exists=exists, behavior=behavior)
        return self._unsupported("DROP")

    def _alter(self) -> nodes.Statement:
        if not self._match_text_seq("SOURCE"):
            return self._unsupported("ALTER")
        exists = self._match_text_seq("IF", "EXISTS")
        name = self._object_name()
        if self._match_text_seq("RENAME"):
            self._expect("TO")
            return nodes.AlterSourceRenameStatement(this=name, exists=exists, to=self._name())
        if exists:
            self.raise_error("Expected RENAME TO")
        if self._match_text_seq("RETRY"):
            return nodes.AlterSourceRetryStatement(this=name)
        if self._match_text_seq("WAIVE"):
            return nodes.AlterSourceWaiveStatement(this=name, check=self._text())
        if not self._match_text_seq("SKIP"):
            self.raise_error("Expected RETRY, WAIVE, SKIP or RENAME TO")
        partition, lower, upper = self._text(), None, None
        if self._match_text_seq("FROM"):
            lower = self._integer()
            self._expect("TO")
            upper = self._integer()
        return nodes.AlterSourceSkipStatement(this=name, partition=partition, lower=lower, upper=upper)

    # --- SHOW, SET, EXPLAIN, transactions ---

    def _show(self) -> nodes.Statement:
        if self._match_text_seq("CREATE"):
            for words in (("MATERIALIZED", "VIEW"), ("SOURCE",), ("VIEW",), ("INDEX",)):
                if self._match_text_seq(*words):
                    return nodes.ShowCreateStatement(kind=" ".join(words), this=self._object_name())
            return self._unsupported("SHOW CREATE")
        if self._match_text_seq("COLUMNS"):
            if not self._match_texts(("FROM", "IN")):
                self.raise_error("Expected FROM")
            return nodes.ShowColumnsStatement(this=self._object_name(), **self._show_filter())
        if self._match_text_seq("MATERIALIZED"):
            self._expect("VIEWS")
            return self._show_list("MATERIALIZED VIEWS")
        if self._match_texts(("INDEX", "KEYS")):
            return self._show_list("INDEXES")
        if self._match_texts(_SHOW_LISTS):
            return self._show_list(self._prev.text.upper())
        if self._match_text_seq("ALL"):
            return nodes.ShowVariableStatement()
        return nodes.ShowVariableStatement(this=self._variable())

    def _show_list(self, kind: str) -> nodes.ShowObjectsStatement:
        within = None
        if not self._match_text_seq("IN", "CLUSTER", advance=False) and self._match_texts(("FROM", "IN")):
            within = self._object_name()
        return nodes.ShowObjectsStatement(kind=kind, within=within, cluster=self._cluster(), **self._show_filter())

    def _show_filter(self) -> dict[str, exp.Expr | None]:
        if self._match_text_seq("LIKE"):
            return {"like": self._text()}
        if self._match_texts(("WHERE", "EXPR")):
            return {"where": self._parse_disjunction() or self._missing()}
        return {}

    def _variable(self) -> exp.Identifier:
        name = self._parse_id_var(any_token=True)
        if not isinstance(name, exp.Identifier):
            self.raise_error("Expected the name of a variable")
        return name  # type: ignore[return-value]

    def _set(self) -> nodes.SetVariableStatement:
        scope = self._prev.text.upper() if self._match_texts(("SESSION", "LOCAL")) else None
        if self._match_text_seq("TIME", "ZONE"):
            name = exp.to_identifier("timezone")
        else:
            name = self._variable()
            if not self._match(TokenType.EQ) and not self._match_text_seq("TO"):
                self.raise_error("Expected = or TO")
        if self._match_text_seq("DEFAULT"):
            return nodes.SetVariableStatement(this=name, scope=scope)
        return nodes.SetVariableStatement(this=name, scope=scope, values=self._parse_csv(self._setting))

    def _setting(self) -> exp.Expr:
        if self._match(TokenType.DASH):
            return exp.Literal.number(f"-{(self._parse_number() or self._missing()).name}")
        literal = self._parse_string() or self._parse_number() or self._parse_boolean()
        return literal or self._parse_id_var(any_token=True) or self._missing()

    def _reset(self) -> nodes.ResetVariableStatement:
        return nodes.ResetVariableStatement(this=None if self._match_text_seq("ALL") else self._variable())

    def _explain(self) -> nodes.ExplainStatement:
        kind = self._prev.text.upper() if self._match_texts(("PLAN", "TIMESTAMP")) else "PLAN"
        self._match_text_seq("FOR")
        if self._curr.token_type not in _QUERY_STARTS:
            self.raise_error("Expected a query")
        return nodes.ExplainStatement(this=self._query_statement(), kind=kind)

    def _begin(self) -> nodes.TransactionStatement:
        self._match_texts(("WORK", "TRANSACTION"))
        isolation = access = None
        while self._curr:
            if self._match_text_seq("ISOLATION", "LEVEL"):
                levels = (("SERIALIZABLE",), ("REPEATABLE", "READ"), ("READ", "COMMITTED"), ("READ", "UNCOMMITTED"), ("STRICT", "SERIALIZABLE"))
                isolation = next((" ".join(words) for words in levels if self._match_text_seq(*words)), None)
                if isolation is None:
                    self.raise_error("Expected an isolation level")
            elif self._match_text_seq("READ", "ONLY"):
                access = "READ ONLY"
            elif self._match_text_seq("READ", "WRITE"):
                access = "READ WRITE"
            else:
                self.raise_error("Invalid expression")
            self._match(TokenType.COMMA)
        return nodes.TransactionStatement(kind="BEGIN", isolation=isolation, access=access)

    def _start(self) -> nodes.TransactionStatement:
        if not self._match_text_seq("TRANSACTION", advance=False):
            self.raise_error("Expected TRANSACTION")
        return self._begin()

    def _end(self, kind: str) -> nodes.TransactionStatement:
        self._match_texts(("WORK", "TRANSACTION"))
        return nodes.TransactionStatement(kind=kind)

    _ROOTS = {
        "CREATE": _create,
        "DROP": _drop,
        "ALTER": _alter,
        "SHOW": _show,
        "SET": _set,
        "RESET": _reset,
        "EXPLAIN": _explain,
        "BEGIN": _begin,
        "START": _start,
        "COMMIT": lambda self: self._end("COMMIT"),
        "END": lambda self: self._end("COMMIT"),
        "ROLLBACK": lambda self: self._end("ROLLBACK"),
        "ABORT": lambda self: self._end("ROLLBACK"),
    }
