"""SET CONSTRAINTS, which defers foreign keys. Other constraints are checked at the end of each
statement, whatever it says."""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.ids import GlobalId
from reclock.errors import InvalidConstraint
from reclock.sql.catalog.constraints import Constraint
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, parts
from reclock.sql.planning.registry import plans
from reclock.sql.statements.tables.set_constraints_syntax import SetConstraintsStatement
from reclock.sql.syntax.consumption import consume


@dataclass(frozen=True, slots=True)
class SetConstraints:
    """``names`` are the constraints, each with its table; None stands for all."""

    is_deferred: bool
    names: frozenset[tuple[GlobalId, str]] | None
    tag: str = "SET CONSTRAINTS"


@plans(SetConstraintsStatement)
def set_constraints(
    node: SetConstraintsStatement, catalog: PlannerCatalog, session: SessionNames
) -> SetConstraints:
    consume(node)
    is_deferred = node.args["checked"] == "DEFERRED"
    if not node.args.get("names"):
        return SetConstraints(is_deferred, None)
    names: set[tuple[GlobalId, str]] = set()
    for name in node.args["names"]:
        *schema, constraint = parts(name)
        constraints = _constraints(
            constraint, schema[-1:] or list(session.search_path), catalog, session
        )
        if not constraints:
            raise InvalidConstraint(f'constraint "{constraint}" does not exist', sqlstate="42704")
        if is_deferred and not any(declared.is_deferrable for _, declared in constraints):
            raise InvalidConstraint(
                f'constraint "{constraint}" is not deferrable', sqlstate="42809"
            )
        names |= {(table, declared.name) for table, declared in constraints}
    return SetConstraints(is_deferred, frozenset(names))


def _constraints(
    name: str, schemas: list[str], catalog: PlannerCatalog, session: SessionNames
) -> list[tuple[GlobalId, Constraint]]:
    """The constraints of that name in the schemas, each with its table."""
    return [
        (entry.id, constraint)
        for schema in schemas
        for entry in catalog.within((session.database, schema)).values()
        if isinstance(entry, RelationEntry) and entry.table is not None
        for constraint in entry.table.constraints
        if constraint.name == name
    ]
