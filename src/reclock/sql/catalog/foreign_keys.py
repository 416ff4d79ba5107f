"""The enforced foreign keys of a catalog, with the tables at both of their ends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from reclock.algebra.ids import GlobalId
from reclock.sql.catalog.constraints import Constraint, ConstraintKind
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import QualifiedName, SessionNames, parts


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """The rows of ``table`` have, in ``columns``, values that a row of ``target`` has in
    ``target_columns``. Both are in the order of the target's key."""

    constraint: Constraint
    table: RelationEntry
    target: RelationEntry
    columns: tuple[str, ...]
    target_columns: tuple[str, ...]

    @property
    def name(self) -> tuple[GlobalId, str]:
        """Identifies the constraint."""
        return self.table.id, self.constraint.name


@dataclass(frozen=True, slots=True)
class ForeignKeys:
    """The foreign keys of a table, and those that refer to it, by the table's id."""

    of: dict[GlobalId, list[ForeignKey]] = field(default_factory=dict)
    to: dict[GlobalId, list[ForeignKey]] = field(default_factory=dict)
    without_target: dict[GlobalId, list[Constraint]] = field(default_factory=dict)
    """Those of a table whose target cannot be planned."""

    def concerning(self, table: GlobalId) -> list[ForeignKey]:
        return [*self.of.get(table, ()), *self.to.get(table, ())]


def foreign_keys(catalog: PlannerCatalog) -> ForeignKeys:
    """All that are enforced, computed once for each moment of the catalog."""
    cached = catalog.planned.get("foreign keys")
    if cached is None:
        cached = catalog.planned["foreign keys"] = _foreign_keys(catalog)
    assert isinstance(cached, ForeignKeys)
    return cached


def _foreign_keys(catalog: PlannerCatalog) -> ForeignKeys:
    keys = ForeignKeys()
    tables: dict[tuple[str, ...], RelationEntry] = {}
    declared: list[tuple[RelationEntry, Constraint]] = []
    for entry in catalog.relations():
        if entry.table is not None:
            tables[parts(entry.name.to_table())] = entry
            declared += (
                (entry, constraint)
                for constraint in entry.table.constraints
                if constraint.kind is ConstraintKind.FOREIGN_KEY and constraint.is_enforced
            )
    for entry, constraint in declared:
        target = tables.get(constraint.target)
        if target is None:
            keys.without_target.setdefault(entry.id, []).append(constraint)
        else:
            key = _in_order_of_key(constraint, entry, target)
            keys.of.setdefault(entry.id, []).append(key)
            keys.to.setdefault(target.id, []).append(key)
    return keys


def _in_order_of_key(
    constraint: Constraint, table: RelationEntry, target: RelationEntry
) -> ForeignKey:
    """The target's index of the key then serves its own constraint and all that refer to it."""
    assert target.table is not None
    columns = dict(zip(constraint.target_columns, constraint.columns, strict=True))
    in_order = next(
        (
            key.columns
            for key in target.table.constraints
            if key.is_key and set(key.columns) == columns.keys()
        ),
        constraint.target_columns,
    )
    return ForeignKey(
        constraint, table, target, tuple(columns[column] for column in in_order), in_order
    )


def referring_keys(
    table: QualifiedName, catalog: PlannerCatalog
) -> Iterator[tuple[RelationEntry, Constraint]]:
    """The foreign keys that refer to the table, enforced or not, and their tables."""
    target = parts(table.to_table())
    for entry in catalog.relations():
        for constraint in entry.table.constraints if entry.table is not None else ():
            if constraint.target == target:
                yield entry, constraint


def targets_of(constraints: Iterable[Constraint], catalog: PlannerCatalog) -> list[GlobalId]:
    """The tables that enforced foreign keys among ``constraints`` refer to and that exist."""
    names = {
        constraint.target
        for constraint in constraints
        if constraint.kind is ConstraintKind.FOREIGN_KEY and constraint.is_enforced
    }
    return [
        entry.id
        for name in sorted(names)
        if (entry := catalog.find(name, SessionNames())) is not None
    ]


def keys_into(dropped: Collection[GlobalId], catalog: PlannerCatalog) -> list[ForeignKey]:
    """The enforced foreign keys of other tables that refer to tables among ``dropped``."""
    keys = foreign_keys(catalog)
    return [key for id in dropped for key in keys.to.get(id, ()) if key.table.id not in dropped]
