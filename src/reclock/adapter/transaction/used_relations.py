"""The relations that a transaction depends on: its commit fails if one of them changed meanwhile."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import pyarrow as pa

from reclock.adapter.transaction.references import EnforcedConstraints
from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import RelationDesc
from reclock.sql.catalog.definitions import TableDefinition
from reclock.sql.catalog.entries import RelationEntry, Scope
from reclock.sql.catalog.planner_catalog import PlannerCatalog


@dataclass(frozen=True, slots=True)
class UsedRelation:
    """A relation that a statement was planned with, as it was then."""

    entry: RelationEntry
    constraints: EnforcedConstraints
    namesakes: Set[GlobalId]
    """The ids of all items of that name, in any schema, itself included."""

    @classmethod
    def of(cls, entry: RelationEntry, catalog: PlannerCatalog) -> UsedRelation:
        return cls(
            entry, EnforcedConstraints.of(entry, catalog), catalog.namesakes(entry.name.item)
        )

    def is_still(
        self, catalog: PlannerCatalog, written: Sequence[pa.Table], searched: Set[Scope]
    ) -> bool:
        """Whether the statement would be planned in the same way on ``catalog``, and the changes
        ``written`` to the relation were checked against all constraints. A new object of the same
        name may take the relation's place if it is in a schema that was ``searched``."""
        entry = catalog.entry(self.entry.id)
        return (
            isinstance(entry, RelationEntry)
            and _definition(entry) == _definition(self.entry)
            and self.constraints.are_still(EnforcedConstraints.of(entry, catalog), written)
            and catalog.namesakes(self.entry.name.item, searched) <= self.namesakes
        )


def _definition(entry: RelationEntry) -> tuple[RelationDesc, TableDefinition | None]:
    """Its columns with their defaults, without constraints."""
    return entry.desc, entry.table and replace(entry.table, constraints=())
