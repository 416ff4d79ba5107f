"""EXPLAIN."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import writes


class ExplainStatement(Statement):
    """``kind`` is ``PLAN``, ``TIMESTAMP`` or ``OPTIMIZER TRACE``; ``this`` a ``QueryStatement``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


@writes(ExplainStatement)
def _write_explain(write: Generator, node: exp.Expression) -> str:
    return f"EXPLAIN {node.args['kind']} FOR {write.sql(node, 'this')}"
