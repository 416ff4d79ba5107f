"""Joins and VALUES in FROM, as PostgreSQL writes them; hints of how large groups are."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.syntax.types import TypeParser

_SIZED = (
    ("EXPECTED", "GROUP", "SIZE"),
    ("AGGREGATE", "INPUT", "GROUP", "SIZE"),
    ("DISTINCT", "ON", "INPUT", "GROUP", "SIZE"),
    ("LIMIT", "INPUT", "GROUP", "SIZE"),
)


class JoinParser(TypeParser):
    """sqlglot's, with ``USING (…) AS name``, and with VALUES in parentheses, where a query may go on."""

    end_of_with: int | None = None
    """The index of the token after the clause WITH that was parsed last."""

    def _parse_join(self, *args: Any, **options: Any) -> exp.Join | None:
        node = super()._parse_join(*args, **options)
        if node is None or not node.args.get("using") or self._next.text.upper() == "OF":
            return node
        if self._match(TokenType.ALIAS):
            node.set("using_alias", self._parse_id_var(any_token=False))
            if node.args["using_alias"] is None:
                self.raise_error("Expected a name")
        return node

    def _parse_using_identifiers(self) -> list[exp.Expr]:
        # sqlglot takes `a.b`, and no parentheses
        columns = self._parse_wrapped_csv(lambda: self._parse_id_var(any_token=False))
        if not columns:
            self.raise_error("Expected the name of a column", self._prev)
        return columns

    def _parse_query_modifiers(  # type: ignore[override]
        self, this: exp.Expr | None
    ) -> exp.Expr | None:
        query = super()._parse_query_modifiers(this)
        if not isinstance(query, exp.Select) or not self._gives_sizes():
            return query
        self._advance()
        self._parse_wrapped_csv(self._parse_size)
        return super()._parse_query_modifiers(query)

    def _gives_sizes(self) -> bool:
        """Whether Materialize's hints of how large groups are come next. They change no answer."""
        return any(self._match_text_seq("OPTIONS", "(", *words, advance=False) for words in _SIZED)

    def _parse_size(self) -> exp.Expr | None:
        if not any(self._match_text_seq(*words) for words in _SIZED):
            self.raise_error("Expected the size of a group")
        self._match(TokenType.EQ)
        size = self._parse_number()
        if size is None or not size.name.isdigit():
            self.raise_error("Expected a whole number")
        return size

    def _parse_table(self, *args: Any, **options: Any) -> exp.Expr | None:
        is_bare = self._curr.token_type == TokenType.VALUES and self._prev.token_type in (
            TokenType.FROM,
            TokenType.JOIN,
            TokenType.COMMA,
        )
        if is_bare and self._next.token_type == TokenType.L_PAREN:
            self.raise_error("Expected parentheses around VALUES", self._next)
        if self._match_text_seq("LATERAL", "ROWS", "FROM", advance=False):
            self._advance()  # functions may name what precedes them without the word
        table = super()._parse_table(*args, **options)
        if isinstance(table, exp.Table):
            table.set("only", None)  # it changes nothing: see table_name
        if options.get("joins") and isinstance(table, exp.Values | exp.Unnest | exp.Lateral):
            table.set("joins", list(self._parse_joins()) or None)
        return table

    def _sees_table_called_values(self) -> bool:
        is_word = self._curr.token_type == TokenType.VALUES
        return is_word and self._next.token_type != TokenType.L_PAREN

    def _parse_table_part(self, schema: bool = False) -> exp.Expr | None:
        """sqlglot takes VALUES, which may be the name of a table, for the beginning of rows alone."""
        if self._sees_table_called_values():
            return self._parse_id_var(any_token=True)
        return super()._parse_table_part(schema=schema)

    def rows_after_with(self) -> exp.Expr | None:
        """VALUES after WITH, as a SELECT from them."""
        rows = super()._parse_statement()
        if not isinstance(rows, exp.Values):
            return rows
        rows.set("alias", exp.TableAlias(this=exp.to_identifier("*VALUES*", quoted=True)))
        query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=rows))
        for clause in ("order", "limit", "offset"):
            query.set(clause, rows.args.get(clause))
            rows.set(clause, None)
        return query

    def _parse_derived_table_values(self, allow_value_synonym: bool = False) -> exp.Values | None:
        if self._sees_table_called_values():
            return None
        if self._match_pair(TokenType.L_PAREN, TokenType.VALUES, advance=False):
            depth, rows = 0, self._index + 2
            for token in self._tokens[rows:]:
                if token.token_type == TokenType.L_PAREN:
                    depth += 1
                elif token.token_type == TokenType.R_PAREN:
                    depth -= 1
                    if depth < 0:  # nothing follows the rows
                        break
                elif not depth and token.token_type != TokenType.COMMA:
                    return None  # a query goes on
        return super()._parse_derived_table_values(allow_value_synonym)
