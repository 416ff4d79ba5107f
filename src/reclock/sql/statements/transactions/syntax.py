"""BEGIN, COMMIT, ROLLBACK and savepoints."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql.syntax.nodes import Statement
from reclock.sql.syntax.writing import joined, writes


class TransactionStatement(Statement):
    """``kind`` is ``BEGIN``, ``COMMIT`` or ``ROLLBACK``, ``isolation`` and ``access`` are as written, upper case; or ``kind`` is
    ``SAVEPOINT``, ``RELEASE`` or ``ROLLBACK TO``, and ``this`` names the savepoint; or ``SET TRANSACTION`` or ``SET SESSION
    CHARACTERISTICS AS TRANSACTION``, with the modes of ``BEGIN``."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": False, "isolation": False, "access": False}


@writes(TransactionStatement)
def _write_transaction(write: Generator, node: exp.Expression) -> str:
    isolation = node.args.get("isolation")
    level = f"ISOLATION LEVEL {isolation}" if isolation else ""
    return joined(node.args["kind"], write.sql(node, "this"), level, node.args.get("access") or "")
