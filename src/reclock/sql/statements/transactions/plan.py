"""BEGIN, COMMIT, ROLLBACK and savepoints."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold
from reclock.sql.planning.registry import plans
from reclock.sql.statements.transactions.syntax import TransactionStatement


@dataclass(frozen=True, slots=True)
class TransactionControl:
    """``kind`` is ``BEGIN``, ``START TRANSACTION``, ``COMMIT`` or ``ROLLBACK``; or ``SAVEPOINT``,
    ``RELEASE`` or ``ROLLBACK TO``, of ``savepoint``.

    ``SET TRANSACTION`` and ``SET SESSION CHARACTERISTICS AS TRANSACTION`` have the modes of
    ``BEGIN``.
    """

    kind: str
    isolation: str | None = None
    access: str | None = None
    savepoint: str = ""

    @property
    def tag(self) -> str:
        return "SET" if self.kind.startswith("SET ") else self.kind.removesuffix(" TO")


@plans(TransactionStatement)
def plan_transaction(
    node: TransactionStatement, catalog: PlannerCatalog, session: SessionNames
) -> TransactionControl:
    savepoint = fold(node.this) if node.this else ""
    return TransactionControl(
        node.args["kind"], node.args.get("isolation"), node.args.get("access"), savepoint
    )
