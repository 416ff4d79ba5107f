"""Calls and constants with a syntax of their own: ``substring``, ``trim``, ``position``, ``overlay``
and ``normalize`` with key words, and intervals with fields."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.algebra.normal_forms import FORMS
from reclock.sql.syntax.json_calls import JsonCallParser
from reclock.sql.syntax.nodes import Variadic

_INTERVAL_FIELDS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_INTERVAL_ENDS = {
    "YEAR": ("MONTH",),
    "DAY": ("HOUR", "MINUTE", "SECOND"),
    "HOUR": ("MINUTE", "SECOND"),
    "MINUTE": ("SECOND",),
}
"""The fields that may follow ``TO`` after the first one."""


class CallParser(JsonCallParser):
    """sqlglot's, with these calls as calls of the functions that they mean."""

    FUNCTION_PARSERS: ClassVar[dict[Any, Any]] = {
        **JsonCallParser.FUNCTION_PARSERS,
        "SUBSTRING": lambda self: self._parse_substring_call(),
        "TRIM": lambda self: self._parse_trim_call(),
        "POSITION": lambda self: self._parse_position_call(),
        "OVERLAY": lambda self: self._parse_overlay_call(),
        "NORMALIZE": lambda self: self._parse_normalize_call(),
    }

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        """An argument of a call. (sqlglot's reads each as the parameters of a lambda first, which
        doubles the work with every call within another.)"""
        if self._curr.token_type != TokenType.IDENTIFIER and self._match_text_seq("VARIADIC"):
            return Variadic(this=self._parse_disjunction() or self.missing())
        if self._next.token_type in (TokenType.FARROW, TokenType.COLON_EQ):
            name = self._parse_id_var(any_token=False) or self.missing()
            self._advance()
            return exp.Kwarg(this=name, expression=self._parse_disjunction() or self.missing())
        if self._match(TokenType.DISTINCT):
            return self._parse_order(
                exp.Distinct(expressions=self._parse_csv(self._parse_disjunction))
            )
        self._match(TokenType.ALL)
        return self._parse_order(self._parse_select_or_expression(alias=alias))

    def _parse_substring_call(self) -> exp.Anonymous:
        arguments = self._parse_csv(self._parse_disjunction)
        start = length = None
        if self._match(TokenType.FOR):
            length = self._parse_bitwise() or self.missing()
        if self._match(TokenType.FROM):
            start = self._parse_bitwise() or self.missing()
        if length is None and self._match(TokenType.FOR):
            length = self._parse_bitwise() or self.missing()
        if length is not None and start is None:
            start = exp.Literal.number(1)
        arguments += [part for part in (start, length) if part is not None]
        return exp.Anonymous(this="substring", expressions=arguments)

    def _parse_trim_call(self) -> exp.Anonymous:
        name = "btrim"
        if self._match_texts(("BOTH", "LEADING", "TRAILING")):
            name = {"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}[
                self._prev.text.upper()
            ]
        first = (
            None
            if self._match(TokenType.FROM, advance=False)
            else self._parse_bitwise() or self.missing()
        )
        if self._match(TokenType.FROM):
            values = self._parse_csv(self._parse_disjunction) or [self.missing()]
            return exp.Anonymous(this=name, expressions=[*values, *([first] if first else [])])
        rest = [self._parse_bitwise() or self.missing()] if self._match(TokenType.COMMA) else []
        return exp.Anonymous(this=name, expressions=[first or self.missing(), *rest])

    def _parse_normalize_call(self) -> exp.Anonymous:
        text = self._parse_disjunction() or self.missing()
        form = None
        if self._match(TokenType.COMMA):
            form = self.text() if self.is_string() else self._normal_form()
            if form is None:
                self.raise_error(f"Expected {', '.join(FORMS)}")
        return exp.Anonymous(
            this="normalize", expressions=[text, form or exp.Literal.string(FORMS[0])]
        )

    def _normal_form(self) -> exp.Literal | None:
        return exp.Literal.string(self._prev.text.upper()) if self._match_texts(FORMS) else None

    def _parse_position_call(self) -> exp.Anonymous:
        """``position(part IN whole)``, or the function as it is written, with the whole first."""
        first = self._parse_bitwise() or self.missing()
        is_written_in = self._match(TokenType.IN)
        if not is_written_in and not self._match(TokenType.COMMA):
            self.raise_error("Expected IN")
        second = self._parse_bitwise() or self.missing()
        arguments = [second, first] if is_written_in else [first, second]
        return exp.Anonymous(this="position", expressions=arguments)

    def _parse_overlay_call(self) -> exp.Anonymous:
        arguments = self._parse_csv(self._parse_disjunction)
        if self._match_text_seq("PLACING"):
            arguments.append(self._parse_bitwise() or self.missing())
            for keyword in (TokenType.FROM, TokenType.FOR):
                if self._match(keyword):
                    arguments.append(self._parse_bitwise() or self.missing())
        return exp.Anonymous(this="overlay", expressions=arguments)

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> exp.Interval | None:
        """``unit`` of the node is what follows the string: the fields, and digits of the
        seconds."""
        start = self._index
        if not self._match(TokenType.INTERVAL):
            return None
        precision = self._interval_precision()
        if self._curr.token_type != TokenType.STRING:
            self._retreat(start)
            return None
        text = self.text()
        fields = f"SECOND{precision}" if precision else self._interval_fields()
        return exp.Interval(this=text, unit=exp.Var(this=fields) if fields else None)

    def _interval_fields(self) -> str:
        """Such as ``YEAR TO MONTH`` or ``SECOND(3)``; empty if there are none."""
        if not self._match_texts(_INTERVAL_FIELDS):
            return ""
        first = last = self._prev.text.upper()
        if first in _INTERVAL_ENDS and self._match_text_seq("TO"):
            if not self._match_texts(_INTERVAL_ENDS[first]):
                self.raise_error("Expected a field of an interval")
            last = self._prev.text.upper()
        fields = first if first == last else f"{first} TO {last}"
        return fields + (self._interval_precision() if last == "SECOND" else "")

    def _interval_precision(self) -> str:
        """``(digits)``; empty if there is none."""
        if self._curr.token_type != TokenType.L_PAREN or self._next.token_type != TokenType.NUMBER:
            return ""
        start = self._index
        self._advance()
        digits = self.integer().name
        if not self._match(TokenType.R_PAREN):
            self._retreat(start)
            return ""
        return f"({digits})"
