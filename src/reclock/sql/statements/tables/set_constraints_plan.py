"""SET CONSTRAINTS, which checks the names: every constraint is checked at the end of each
statement, whenever it says."""

from __future__ import annotations

from dataclasses import dataclass

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
    tag: str = "SET CONSTRAINTS"


@plans(SetConstraintsStatement)
def set_constraints(
    node: SetConstraintsStatement, catalog: PlannerCatalog, session: SessionNames
) -> SetConstraints:
    consume(node)
    is_deferred = node.args["checked"] == "DEFERRED"
    for name in node.args.get("names") or ():
        *schema, constraint = parts(name)
        found = _constraints(constraint, schema[-1:] or list(session.search_path), catalog, session)
        if not found:
            raise InvalidConstraint(f'constraint "{constraint}" does not exist', sqlstate="42704")
        if is_deferred and not any(declared.is_deferrable for declared in found):
            raise InvalidConstraint(
                f'constraint "{constraint}" is not deferrable', sqlstate="42809"
            )
    return SetConstraints()


def _constraints(
    name: str, schemas: list[str], catalog: PlannerCatalog, session: SessionNames
) -> list[Constraint]:
    """The constraints of that name in the schemas."""
    return [
        constraint
        for schema in schemas
        for entry in catalog.within((session.database, schema)).values()
        if isinstance(entry, RelationEntry) and entry.table is not None
        for constraint in entry.table.constraints
        if constraint.name == name
    ]
