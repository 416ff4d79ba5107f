"""Constraints in CREATE TABLE: PRIMARY KEY, UNIQUE, FOREIGN KEY and CHECK, of a column or of the table."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.errors import UnsupportedSql
from reclock.sql.statements.tables.constraints_syntax import TableConstraint
from reclock.sql.subscribe_grammar import SubscribeParser

_ACTIONS = (("NO", "ACTION"), ("RESTRICT",), ("CASCADE",), ("SET", "NULL"), ("SET", "DEFAULT"))


class ConstraintParser(SubscribeParser):
    """Parses each constraint to one of the table."""

    def _is_table_constraint(self) -> bool:
        """Whether a constraint begins here, rather than a column, which may be called like one of its words."""
        first = self._index + (2 if self._curr.token_type == TokenType.CONSTRAINT else 0)
        words = [token.text.upper() for token in self._tokens[first : first + 2]]
        if words[:1] in (["PRIMARY KEY"], ["FOREIGN KEY"]):
            return True
        return words in (["UNIQUE", "("], ["UNIQUE", "NULLS"], ["CHECK", "("], ["EXCLUDE", "("], ["EXCLUDE", "USING"])

    def _constraint_name(self) -> exp.Identifier | None:
        return self._name() if self._match(TokenType.CONSTRAINT) else None

    def _table_constraint(self) -> TableConstraint:
        name = self._constraint_name()
        if self._match_text_seq("EXCLUDE"):
            raise UnsupportedSql("EXCLUDE constraints are not supported")
        if self._match(TokenType.FOREIGN_KEY):
            columns = self._parse_wrapped_csv(self._name)
            if not self._match(TokenType.REFERENCES):
                self.raise_error("Expected REFERENCES")
            return self._references(name, columns)
        return self._column_constraint(name, None) or self.raise_error("Expected a constraint")

    def _column_constraint(self, name: exp.Identifier | None, column: exp.Identifier | None) -> TableConstraint | None:
        """The constraint that begins here, if one does, on ``column`` or else on the columns that it lists."""
        if self._match(TokenType.REFERENCES):
            return self._references(name, [column] if column is not None else [])
        if self._match_text_seq("CHECK"):
            check = self._parse_wrapped(lambda: self._parse_disjunction() or self._missing())
            return self._attributes(TableConstraint(this=name, kind="CHECK", check=check))
        if self._match_texts(("PRIMARY KEY", "UNIQUE")):
            kind = self._prev.text.upper()
            are_nulls_equal = kind == "UNIQUE" and self._match_text_seq("NULLS", "NOT", "DISTINCT")
            if kind == "UNIQUE" and not are_nulls_equal:
                self._match_text_seq("NULLS", "DISTINCT")
            columns = [column.copy()] if column is not None else self._parse_wrapped_csv(self._name)
            return self._attributes(TableConstraint(this=name, kind=kind, columns=columns, are_nulls_equal=are_nulls_equal))
        return None

    def _references(self, name: exp.Identifier | None, columns: list[exp.Identifier]) -> TableConstraint:
        target = self._object_name()
        target_columns = self._parse_wrapped_csv(self._name) if self._match(TokenType.L_PAREN, advance=False) else None
        constraint = TableConstraint(
            this=name,
            kind="FOREIGN KEY",
            columns=[column.copy() for column in columns],
            target=target,
            target_columns=target_columns,
        )
        while True:
            if not constraint.args.get("match") and self._match_text_seq("MATCH"):
                constraint.set("match", self._one_of((("FULL",), ("SIMPLE",))))
            elif not constraint.args.get("on_delete") and self._match_text_seq("ON", "DELETE"):
                constraint.set("on_delete", self._one_of(_ACTIONS))
            elif not constraint.args.get("on_update") and self._match_text_seq("ON", "UPDATE"):
                constraint.set("on_update", self._one_of(_ACTIONS))
            else:
                return self._attributes(constraint)

    def _one_of(self, phrases: tuple[tuple[str, ...], ...]) -> str:
        words = next((words for words in phrases if self._match_text_seq(*words)), None)
        if words is None:
            self.raise_error(f"Expected {', '.join(' '.join(words) for words in phrases)}")
        return " ".join(words)

    def _attributes(self, constraint: TableConstraint) -> TableConstraint:
        """When it is checked, and whether: what is the default is not kept."""
        while True:
            if self._match_text_seq("NOT", "ENFORCED"):
                constraint.set("is_not_enforced", True)
            elif self._match_text_seq("ENFORCED"):
                raise UnsupportedSql("constraints that are ENFORCED are not supported", hint="write NOT ENFORCED")
            elif self._match_text_seq("INITIALLY", "DEFERRED"):
                constraint.set("deferrable", "DEFERRABLE INITIALLY DEFERRED")
            elif self._match_text_seq("DEFERRABLE"):
                constraint.set("deferrable", constraint.args.get("deferrable") or "DEFERRABLE")
            elif not (self._match_text_seq("NOT", "DEFERRABLE") or self._match_text_seq("INITIALLY", "IMMEDIATE")):
                return constraint
