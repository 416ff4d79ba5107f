"""CREATE SOURCE and ALTER SOURCE."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.statements.sources.formats_syntax import write_formats
from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import clause, joined, listed, when, writes


class RetainHistoryClause(exp.Expression):
    """``RETAIN HISTORY FOR this`` among the options of a source."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class SourceColumn(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "not_null": False}


class Metadata(exp.Expression):
    """A column of ``INCLUDE``: ``kind`` is ``KEY``, ``PARTITION``, ``OFFSET``, ``TIMESTAMP`` or ``HEADERS``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "alias": False}


class SubsourceOf(exp.Expression):
    """A table of the upstream in ``FOR TABLES``; the name of its subsource, if it is another; its columns, and
    the key by which it is replicated, its number there, and those of its entries in the publication, once they are known."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "schema": False,
        "alias": False,
        "columns": False,
        "key": False,
        "oid": False,
        "entries": False,
    }


class CreateSourceStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "exists": False,
        "materialized": False,
        "cluster": False,
        "columns": False,
        "connector": True,
        "format": False,
        "include": False,
        "envelope": False,
        "all_tables": False,
        "tables": False,
        "progress": False,
        "options": False,
    }


class CreateSubsourceStatement(Statement):
    """The text of a subsource in the catalog: ``table`` is its name upstream."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "source": True, "table": True}


class AlterSourceRetryStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class AlterSourceResnapshotStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class AlterSourceWaiveStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "check": True}


class AlterSourceSkipStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition": True, "lower": False, "upper": False}


class AlterSourceRestartStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition": True}


class AlterSourceRetainStatement(Statement):
    """``history`` is a ``RetainHistoryClause``, or nothing to reset it."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "history": False}


@writes(RetainHistoryClause)
def _write_retain_history(write: Generator, node: exp.Expression) -> str:
    return f"RETAIN HISTORY FOR {write.sql(node, 'this')}"


@writes(SourceColumn)
def _write_source_column(write: Generator, node: exp.Expression) -> str:
    return joined(write.sql(node, "this"), write.sql(node, "kind"), when(node, "not_null", "NOT NULL"))


@writes(Metadata)
def _write_metadata(write: Generator, node: exp.Expression) -> str:
    return joined(node.args["kind"], clause(write, "AS", node, "alias"))


@writes(SubsourceOf)
def _write_subsource_of(write: Generator, node: exp.Expression) -> str:
    schema = f"{write.sql(node, 'schema')}." if node.args.get("schema") else ""
    columns = f"({listed(write, node, 'columns')})" if node.args.get("columns") else ""
    key = f"KEY ({listed(write, node, 'key')})" if node.args.get("key") else ""
    entries = f"ENTRY ({listed(write, node, 'entries')})" if node.args.get("entries") else ""
    name = joined(f"{schema}{write.sql(node, 'this')}", clause(write, "AS", node, "alias"))
    return joined(name, columns, key, clause(write, "OID", node, "oid"), entries)


@writes(CreateSubsourceStatement)
def _write_create_subsource(write: Generator, node: exp.Expression) -> str:
    return f"CREATE SUBSOURCE {write.sql(node, 'this')} FROM SOURCE {write.sql(node, 'source')} TABLE {write.sql(node, 'table')}"


@writes(CreateSourceStatement)
def _write_create_source(write: Generator, node: exp.Expression) -> str:
    return joined(
        "CREATE",
        when(node, "materialized", "MATERIALIZED"),
        "SOURCE",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        clause(write, "IN CLUSTER", node, "cluster"),
        f"({listed(write, node, 'columns')})" if node.args.get("columns") else "",
        f"FROM {write.sql(node, 'connector')}",
        write_formats(write, node),
        f"INCLUDE {listed(write, node, 'include')}" if node.args.get("include") else "",
        f"ENVELOPE {node.args['envelope']}" if node.args.get("envelope") else "",
        when(node, "all_tables", "FOR ALL TABLES"),
        f"FOR TABLES ({listed(write, node, 'tables')})" if node.args.get("tables") else "",
        clause(write, "EXPOSE PROGRESS AS", node, "progress"),
        f"WITH ({listed(write, node, 'options')})" if node.args.get("options") else "",
    )


@writes(AlterSourceRetryStatement)
def _write_retry(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SOURCE {write.sql(node, 'this')} RETRY"


@writes(AlterSourceResnapshotStatement)
def _write_resnapshot(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SOURCE {write.sql(node, 'this')} RESNAPSHOT"


@writes(AlterSourceWaiveStatement)
def _write_waive(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SOURCE {write.sql(node, 'this')} WAIVE {write.sql(node, 'check')}"


@writes(AlterSourceSkipStatement)
def _write_skip(write: Generator, node: exp.Expression) -> str:
    skipped = f"ALTER SOURCE {write.sql(node, 'this')} SKIP {write.sql(node, 'partition')}"
    return joined(skipped, clause(write, "FROM", node, "lower"), clause(write, "TO", node, "upper"))


@writes(AlterSourceRestartStatement)
def _write_restart(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SOURCE {write.sql(node, 'this')} RESTART {write.sql(node, 'partition')}"


@writes(AlterSourceRetainStatement)
def _write_retain(write: Generator, node: exp.Expression) -> str:
    history = write.sql(node, "history")
    return f"ALTER SOURCE {write.sql(node, 'this')} {f'SET ({history})' if history else 'RESET (RETAIN HISTORY)'}"
