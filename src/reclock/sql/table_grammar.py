"""Tables: their definition, INSERT, UPDATE, DELETE, TRUNCATE and COPY."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.sql.constraint_grammar import ConstraintParser
from reclock.sql.statements.copy.syntax import CopyStatement
from reclock.sql.statements.tables.constraints_syntax import TableConstraint
from reclock.sql.statements.tables.modify_syntax import (
    Assignment,
    DeleteStatement,
    InsertStatement,
    TruncateStatement,
    UpdateStatement,
)
from reclock.sql.statements.tables.syntax import CreateTableAsStatement, CreateTableStatement, TableColumn
from reclock.sql.syntax import nodes


class TableParser(ConstraintParser):
    """Parses what makes a table and what changes its rows."""

    def _create_table(self) -> CreateTableStatement | CreateTableAsStatement:
        exists = self._match_text_seq("IF", "NOT", "EXISTS")
        name = self._object_name()
        if self._match(TokenType.L_PAREN, advance=False) and not self._is_name_list():
            elements = [element for parsed in self._parse_wrapped_csv(self._table_elements) for element in parsed]
            columns = [element for element in elements if isinstance(element, TableColumn)]
            constraints = [element for element in elements if isinstance(element, TableConstraint)]
            return CreateTableStatement(this=name, exists=exists, columns=columns, constraints=constraints)
        names = self._parse_wrapped_csv(self._name) if self._match(TokenType.L_PAREN, advance=False) else None
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected the list of columns, or AS")
        return CreateTableAsStatement(this=name, exists=exists, names=names, query=self._query(), **self._with_data())

    def _is_name_list(self) -> bool:
        """Whether a list in parentheses begins with a name that has no type."""
        following = self._tokens[self._index + 2] if self._index + 2 < len(self._tokens) else None
        return following is not None and following.token_type in (TokenType.COMMA, TokenType.R_PAREN)

    def _with_data(self) -> dict[str, bool]:
        if not self._match(TokenType.WITH):
            return {}
        is_empty = bool(self._match_text_seq("NO"))
        self._expect("DATA")
        return {"is_empty": is_empty}

    def _table_elements(self) -> list[TableColumn | TableConstraint]:
        """A column and its constraints, or a constraint of the table."""
        if self._is_table_constraint():
            return [self._table_constraint()]
        name = self._name()
        kind = self._parse_types(check_func=False)
        if kind is None:
            self.raise_error("Expected a type")
        not_null, default = None, None
        constraints: list[TableConstraint] = []
        while self._curr and self._curr.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
            constraint_name = self._constraint_name()
            if not_null is None and self._match_text_seq("NOT", "NULL"):
                not_null = True
            elif not_null is None and self._match_text_seq("NULL"):
                not_null = False
            elif default is None and self._match_text_seq("DEFAULT"):
                default = self._parse_bitwise() or self._missing()
            elif (constraint := self._column_constraint(constraint_name, name)) is not None:
                constraints.append(constraint)
            else:
                self.raise_error("Expected NOT NULL, NULL, DEFAULT, a constraint, a comma or the end of the columns")
        if not_null is False and any(constraint.args["kind"] == "PRIMARY KEY" for constraint in constraints):
            self.raise_error(f'conflicting NULL/NOT NULL declarations for column "{name.name}"', self._prev)
        return [TableColumn(this=name, kind=kind, not_null=bool(not_null), default=default), *constraints]

    # --- rows ---

    def _target(self) -> exp.Table:
        """A table that is changed, and what it is called meanwhile."""
        table = self._object_name()
        if self._match(TokenType.ALIAS) or self._is_alias():
            table.set("alias", exp.TableAlias(this=self._name()))
        return table

    def _is_alias(self) -> bool:
        if self._curr.token_type == TokenType.IDENTIFIER:
            return True
        return self._curr.token_type == TokenType.VAR and self._curr.text.upper() not in ("SET", "RETURNING")

    def _insert(self) -> InsertStatement:
        self._expect("INTO")
        table = self._object_name()
        if self._match(TokenType.ALIAS):
            table.set("alias", exp.TableAlias(this=self._name()))
        columns = None
        if self._match(TokenType.L_PAREN, advance=False) and self._next.token_type not in (TokenType.SELECT, TokenType.WITH):
            columns = self._parse_wrapped_csv(self._name)
        query = None if self._match_text_seq("DEFAULT", "VALUES") else self._query()
        return InsertStatement(this=table, columns=columns, query=query, returning=self._returning())

    def _update(self) -> UpdateStatement:
        table = self._target()
        self._expect("SET")
        assignments = self._parse_csv(self._table_assignment)
        others = self._others() if self._match(TokenType.FROM) else None
        return UpdateStatement(
            this=table, assignments=assignments, others=others, where=self._condition(), returning=self._returning()
        )

    def _table_assignment(self) -> Assignment:
        name = self._name()
        if not self._match(TokenType.EQ):
            self.raise_error("Expected =")
        return Assignment(this=name, value=self._parse_disjunction() or self._missing())

    def _delete(self) -> DeleteStatement:
        self._expect("FROM")
        table = self._target()
        others = self._others() if self._match(TokenType.USING) else None
        return DeleteStatement(this=table, others=others, where=self._condition(), returning=self._returning())

    def _others(self) -> list[exp.Expr]:
        """What else the condition, and what is assigned, speak of."""
        return self._parse_csv(lambda: self._parse_table(joins=True) or self._missing())

    def _condition(self) -> exp.Expr | None:
        return (self._parse_disjunction() or self._missing()) if self._match(TokenType.WHERE) else None

    def _returning(self) -> list[exp.Expr] | None:
        return self._parse_csv(self._parse_expression) or [self._missing()] if self._match_text_seq("RETURNING") else None

    def _truncate(self) -> TruncateStatement:
        self._match_text_seq("TABLE")
        return TruncateStatement(names=self._parse_csv(self._object_name))

    # --- COPY ---

    def _copy(self) -> CopyStatement:
        table = columns = query = None
        if self._match(TokenType.L_PAREN):
            is_subscription = self._match_texts(("SUBSCRIBE", "TAIL"))
            query = self._subscribe() if is_subscription else self._query()
            if not self._match(TokenType.R_PAREN):
                self.raise_error("Expected )")
        else:
            table = self._object_name()
            if self._match(TokenType.L_PAREN, advance=False):
                columns = self._parse_wrapped_csv(self._name)
        is_from = table is not None and self._match_text_seq("FROM")
        self._expect("STDIN") if is_from else self._expect("TO", "STDOUT")
        return CopyStatement(this=table, columns=columns, query=query, is_from=is_from, options=self._copy_options())

    def _copy_options(self) -> list[nodes.WithOption]:
        """``(FORMAT csv, HEADER, …)``, or the words of old: ``CSV HEADER DELIMITER ';'``."""
        self._match_text_seq("WITH")
        if self._match(TokenType.L_PAREN, advance=False):
            return self._parse_wrapped_csv(self._copy_option)
        options = []
        while self._curr and self._curr.token_type != TokenType.SEMICOLON:
            if self._match_texts(("CSV", "TEXT", "BINARY")):
                written = exp.to_identifier(self._prev.text.lower())
                options.append(nodes.WithOption(this=exp.to_identifier("format"), value=written))
            elif self._match_text_seq("HEADER"):
                options.append(nodes.WithOption(this=exp.to_identifier("header"), value=exp.true()))
            elif self._match_texts(("DELIMITER", "NULL", "QUOTE", "ESCAPE")):
                name = exp.to_identifier(self._prev.text.lower())
                self._match(TokenType.ALIAS)
                options.append(nodes.WithOption(this=name, value=self._text()))
            else:
                self.raise_error("Expected an option of COPY")
        return options

    def _copy_option(self) -> nodes.WithOption:
        name = self._word("an option of COPY")
        if not self._curr or self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            return nodes.WithOption(this=name, value=exp.true())
        value = self._parse_string() or self._parse_boolean() or self._word("a value")
        return nodes.WithOption(this=name, value=value)
