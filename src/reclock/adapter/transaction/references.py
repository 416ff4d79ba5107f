"""When a transaction checks foreign keys: at the end of each statement, or, those that are deferred,
at the commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from reclock.adapter.transaction.reference_checks import ReferenceChecks
from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import DIFF_COLUMN
from reclock.sql.catalog.constraints import Constraint
from reclock.sql.catalog.entries import RelationEntry
from reclock.sql.catalog.foreign_keys import ForeignKey, foreign_keys
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames

ForeignKeyName = tuple[GlobalId, str]
"""The table and the name of a foreign key."""


@dataclass(frozen=True, slots=True)
class EnforcedConstraints:
    """What the writes to a table were checked against: its constraints, and the foreign keys that
    refer to it, each with its table."""

    constraints: list[Constraint]
    referring: list[tuple[GlobalId, Constraint]]

    @classmethod
    def of(cls, relation: RelationEntry, catalog: PlannerCatalog) -> EnforcedConstraints:
        if relation.table is None:
            return cls([], [])
        referring = foreign_keys(catalog).to.get(relation.id, ())
        return cls(
            [constraint for constraint in relation.table.constraints if constraint.is_enforced],
            [(key.table.id, key.constraint) for key in referring],
        )

    def are_still(self, now: EnforcedConstraints, written: Sequence[pa.Table]) -> bool:
        """Whether the changes ``written`` were checked against all constraints that exist ``now``. A
        foreign key that refers to the table matters only for removed rows."""
        if self.constraints != now.constraints or self.referring == now.referring:
            return self.constraints == now.constraints
        return not any(pc.any(pc.less(rows[DIFF_COLUMN], 0)).as_py() for rows in written)


@dataclass(frozen=True, slots=True)
class PendingReferences:
    """The writes of a transaction at one moment, and the catalog that says what they are checked
    against; None if nothing was written. ``use`` notes a table on which the commit depends."""

    checks: ReferenceChecks
    catalog: PlannerCatalog | None
    use: Callable[[RelationEntry, PlannerCatalog], None]

    def check(
        self, table: GlobalId, rows: Sequence[pa.Table], selects: Callable[[ForeignKey, bool], bool]
    ) -> None:
        """Check the changes ``rows`` of the table against the foreign keys that ``selects`` selects,
        of the table (False) or to it (True). Raises ``ForeignKeyViolation``, ``WriteConflict``."""
        if self.catalog is None or not rows:
            return
        keys = foreign_keys(self.catalog)
        for constraint in keys.without_target.get(table, ()):
            self.catalog.resolve(
                constraint.target, SessionNames()
            )  # raises the error of the missing target
        if not keys.concerning(table):
            return
        changes = pa.concat_tables(rows)
        for key in keys.to.get(table, ()):
            if selects(key, True):
                self._use(key.table, self.catalog)
                self.checks.check_target(key, changes)
        for key in keys.of.get(table, ()):
            if selects(key, False):
                self._use(key.target, self.catalog)
                self.checks.check_referring(key, changes)

    def _use(self, table: RelationEntry, catalog: PlannerCatalog) -> None:
        if table.id not in self.checks.created:
            self.use(table, catalog)


@dataclass(frozen=True, slots=True)
class ReferenceMark:
    """The state of ``References``, for ``rewind``."""

    checked: Mapping[GlobalId, int]
    deferral: Mapping[ForeignKeyName | None, bool]


@dataclass(slots=True)
class References:
    """Which writes of one transaction were checked, and which foreign keys it defers."""

    _checked: dict[GlobalId, int] = field(default_factory=dict)
    """How many writes to a table were checked against the foreign keys that are not deferred."""
    _deferral: dict[ForeignKeyName | None, bool] = field(default_factory=dict)
    """Whether SET CONSTRAINTS deferred a foreign key; None stands for all others."""

    def end_statement(self, pending: PendingReferences) -> None:
        """Check what was written since the last check, except what is deferred."""
        for table, rows in pending.checks.writes.items():
            pending.check(
                table,
                rows[self._checked.get(table, 0) :],
                lambda key, is_target: not self._is_deferred(key, is_target),
            )
            self._checked[table] = len(rows)

    def check_all(self, pending: PendingReferences) -> None:
        """Check also what is deferred."""
        self.end_statement(pending)
        for table, rows in pending.checks.writes.items():
            pending.check(table, rows, self._is_deferred)

    def set(
        self, names: Set[ForeignKeyName] | None, is_deferred: bool, pending: PendingReferences
    ) -> None:
        """Defer the foreign keys, all if ``names`` is None, or check them now and from now on."""
        if not is_deferred:
            for table, rows in pending.checks.writes.items():
                pending.check(
                    table,
                    rows,
                    lambda key, is_target: (
                        self._is_deferred(key, is_target) and (names is None or key.name in names)
                    ),
                )
        if names is None:
            self._deferral = {None: is_deferred}
        else:
            self._deferral = {**self._deferral, **dict.fromkeys(names, is_deferred)}

    def mark(self) -> ReferenceMark:
        return ReferenceMark(dict(self._checked), dict(self._deferral))

    def rewind(self, mark: ReferenceMark) -> None:
        self._checked, self._deferral = dict(mark.checked), dict(mark.deferral)

    def _is_deferred(self, key: ForeignKey, is_target: bool) -> bool:
        """RESTRICT is checked at once, whatever is deferred."""
        constraint = key.constraint
        if is_target and "RESTRICT" in (constraint.on_delete, constraint.on_update):
            return False
        by_default = self._deferral.get(None, constraint.is_deferred)
        return constraint.is_deferrable and self._deferral.get(key.name, by_default)
