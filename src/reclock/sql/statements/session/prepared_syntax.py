"""Prepared statements and cursors, DISCARD and UNLISTEN."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import joined, listed, when, writes


class PrepareStatement(Statement):
    """``statement`` is the one to keep; ``types`` those of its parameters, as far as they are written."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "types": False, "statement": True}


class ExecuteStatement(Statement):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "values": False}


class DeallocateStatement(Statement):
    """Without ``this`` it is ``DEALLOCATE ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class DeclareStatement(Statement):
    """``query`` is a ``QueryStatement`` or a ``SubscribeStatement``; a cursor that ``is_held`` outlives the transaction."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "is_held": False, "query": True}


class FetchStatement(Statement):
    """Without ``count`` it is ``FETCH ALL``. ``timeout`` is how long a subscription's next rows are waited for."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "count": False, "timeout": False}


class CloseStatement(Statement):
    """Without ``this`` it is ``CLOSE ALL``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class UnlistenStatement(Statement):
    """Of ``this`` channel, or of all: nothing listens."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False}


class DiscardStatement(Statement):
    """``kind`` is ``ALL``, ``PLANS``, ``SEQUENCES`` or ``TEMP``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True}


@writes(PrepareStatement)
def _write_prepare(write: Generator, node: exp.Expression) -> str:
    types = f"({listed(write, node, 'types')})" if node.args.get("types") else ""
    return joined("PREPARE", write.sql(node, "this"), types, "AS", write.sql(node, "statement"))


@writes(ExecuteStatement)
def _write_execute(write: Generator, node: exp.Expression) -> str:
    values = f"({listed(write, node, 'values')})" if node.args.get("values") else ""
    return joined("EXECUTE", write.sql(node, "this"), values)


@writes(DeallocateStatement)
def _write_deallocate(write: Generator, node: exp.Expression) -> str:
    return f"DEALLOCATE {write.sql(node, 'this') or 'ALL'}"


@writes(DeclareStatement)
def _write_declare(write: Generator, node: exp.Expression) -> str:
    return joined("DECLARE", write.sql(node, "this"), "CURSOR", when(node, "is_held", "WITH HOLD"), "FOR", write.sql(node, "query"))


@writes(FetchStatement)
def _write_fetch(write: Generator, node: exp.Expression) -> str:
    fetched = f"FETCH {write.sql(node, 'count') or 'ALL'} FROM {write.sql(node, 'this')}"
    return joined(fetched, f"WITH (TIMEOUT = {write.sql(node, 'timeout')})" if node.args.get("timeout") else "")


@writes(CloseStatement)
def _write_close(write: Generator, node: exp.Expression) -> str:
    return f"CLOSE {write.sql(node, 'this') or 'ALL'}"


@writes(UnlistenStatement)
def _write_unlisten(write: Generator, node: exp.Expression) -> str:
    return joined("UNLISTEN", write.sql(node, "this") or "*")


@writes(DiscardStatement)
def _write_discard(write: Generator, node: exp.Expression) -> str:
    return f"DISCARD {node.args['kind']}"
