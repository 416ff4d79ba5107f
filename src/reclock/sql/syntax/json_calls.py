"""The SQL standard's constructors of documents: ``JSON_OBJECT`` and ``JSON_ARRAY``."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import TokenType

from reclock.sql.syntax.literals import LiteralParser
from reclock.sql.syntax.writing import generates


class JsonConstructor(exp.Expression):
    """``JSON_OBJECT`` of ``keys`` and ``values``, or ``JSON_ARRAY`` of ``values`` alone. Without
    those that are NULL if ``is_absent_on_null``; in another type if it is ``RETURNING`` one."""

    arg_types: ClassVar[dict[str, bool]] = {
        "keys": False,
        "values": False,
        "is_absent_on_null": False,
        "returning": False,
    }

    @property
    def function(self) -> str:
        return "json_array" if self.args.get("keys") is None else "json_object"


class JsonCallParser(LiteralParser):
    FUNCTION_PARSERS: ClassVar[dict[Any, Any]] = {
        "JSON_OBJECT": lambda self: self._parse_json_object_call(),
        "JSON_ARRAY": lambda self: self._parse_json_array_call(),
    }

    def _parse_json_object_call(self) -> exp.Expr:
        """``JSON_OBJECT(key VALUE value, …)``, or a call of the function of this name."""
        keys: list[exp.Expr] = []
        values: list[exp.Expr] = []
        while self._has_member(bool(keys)):
            key = self._parse_disjunction() or self.missing()
            if not (self._match_text_seq("VALUE") or self._match(TokenType.COLON)):
                others = (
                    self._parse_csv(self._parse_disjunction) if self._match(TokenType.COMMA) else []
                )
                return exp.Anonymous(this="json_object", expressions=[key, *others])
            keys.append(key)
            values.append(self._json_value())
        is_absent = self._is_absent_on_null(by_default=False)
        if self._match_text_seq("WITH", "UNIQUE"):
            self.raise_error("JSON_OBJECT WITH UNIQUE KEYS is not supported")
        if self._match_text_seq("WITHOUT", "UNIQUE"):
            self._match_text_seq("KEYS")
        return JsonConstructor(
            keys=keys, values=values, is_absent_on_null=is_absent, returning=self._returning()
        )

    def _parse_json_array_call(self) -> exp.Expr:
        """``JSON_ARRAY(value, …)``."""
        values: list[exp.Expr] = []
        while self._has_member(bool(values)):
            values.append(self._json_value())
        is_absent = self._is_absent_on_null(by_default=True)
        return JsonConstructor(
            values=values, is_absent_on_null=is_absent, returning=self._returning()
        )

    def _has_member(self, has_others: bool) -> bool:
        if has_others:
            return bool(self._match(TokenType.COMMA))
        is_end = self._curr.token_type == TokenType.R_PAREN
        return not is_end and self._curr.text.upper() != "RETURNING"

    def _json_value(self) -> exp.Expr:
        value = self._parse_disjunction() or self.missing()
        if not self._match_text_seq("FORMAT", "JSON"):
            return value
        return exp.Cast(this=value, to=exp.DataType(this=exp.DType.JSONB, nested=False))

    def _is_absent_on_null(self, *, by_default: bool) -> bool:
        if self._match_text_seq("ABSENT", "ON", "NULL"):
            return True
        return not self._match_text_seq("NULL", "ON", "NULL") and by_default

    def _returning(self) -> exp.Expr | None:
        if not self._match_text_seq("RETURNING"):
            return None
        type = self._parse_types() or self.missing()
        self._match_text_seq("FORMAT", "JSON")
        return type


@generates(JsonConstructor)
def _write(write: Generator, node: exp.Expression) -> str:
    assert isinstance(node, JsonConstructor)
    values = [write.sql(value) for value in node.args["values"]]
    keys = node.args.get("keys")
    if keys is not None:
        values = [
            f"{write.sql(key)} VALUE {value}" for key, value in zip(keys, values, strict=True)
        ]
    parts = [", ".join(values)]
    if values:
        parts.append(f"{'ABSENT' if node.args['is_absent_on_null'] else 'NULL'} ON NULL")
    if node.args.get("returning") is not None:
        parts.append(f"RETURNING {write.sql(node, 'returning')}")
    return f"{node.function.upper()}({' '.join(filter(None, parts))})"
