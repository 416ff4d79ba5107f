"""Syntax nodes of the statements that sqlglot does not know. Queries and expressions keep sqlglot's own nodes."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class Statement(exp.Expression):
    """A root: the only class of node that the parser gives back."""

    arg_types: ClassVar[dict[str, bool]] = {}


class QueryStatement(Statement):
    """A query with its ``AS OF``, which belongs to the whole statement."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "as_of": False}


class AsOf(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "at_least": False}


class ExplainStatement(Statement):
    """``kind`` is ``PLAN`` or ``TIMESTAMP``; ``this`` a ``QueryStatement``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


class Option(exp.Expression):
    """One ``name = value`` of a ``WITH`` clause."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "value": True}


class SourceColumn(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "not_null": False}


class ObjectsFrom(exp.Expression):
    """``FROM S3 DISCOVER OBJECTS MATCHING pattern USING BUCKET SCAN bucket``."""

    arg_types: ClassVar[dict[str, bool]] = {"pattern": False, "bucket": True}


class CsvFormatClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"header": False, "columns": False, "delimiter": False, "null_text": False}


class JsonFormatClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {}


class CreateSourceStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "materialized": False,
        "cluster": False,
        "columns": True,
        "connector": True,
        "format": True,
        "progress": False,
        "options": False,
    }


class CreateViewStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "replace": False,
        "materialized": False,
        "cluster": False,
        "columns": False,
        "query": True,
    }


class CreateIndexStatement(Statement):
    """Without ``keys`` it is ``CREATE DEFAULT INDEX``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "cluster": False, "on": True, "keys": False}


class DropStatement(Statement):
    """``kind`` is ``SOURCE``, ``VIEW``, ``MATERIALIZED VIEW`` or ``INDEX``; ``behavior`` is ``CASCADE``, ``RESTRICT`` or absent."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "names": True, "exists": False, "behavior": False}


class AlterSourceRetryStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class AlterSourceWaiveStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "check": True}


class AlterSourceSkipStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition": True, "lower": False, "upper": False}


class AlterSourceRenameStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False, "to": True}


class ShowObjectsStatement(Statement):
    """``within`` names a schema, or for ``INDEXES`` a relation."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "within": False, "cluster": False, "like": False, "where": False}


class ShowColumnsStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "like": False, "where": False}


class ShowCreateStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": True}


class ShowVariableStatement(Statement):
    """Without ``this`` it is ``SHOW ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class SetVariableStatement(Statement):
    """``scope`` is ``SESSION``, ``LOCAL`` or absent. ``values`` holds literals and names; none is ``DEFAULT``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "values": False, "scope": False}


class ResetVariableStatement(Statement):
    """Without ``this`` it is ``RESET ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class TransactionStatement(Statement):
    """``kind`` is ``BEGIN``, ``COMMIT`` or ``ROLLBACK``; ``isolation`` and ``access`` are as written, upper case."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "isolation": False, "access": False}
