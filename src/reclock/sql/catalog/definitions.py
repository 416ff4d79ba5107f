"""What sources, sinks and tables say in their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reclock.algebra.ids import GlobalId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.sinks import Target as SinkTarget
from reclock.definitions.sources import Format, Upstream
from reclock.sql.catalog.constraints import Constraint, ConstraintKind


@dataclass(frozen=True, slots=True)
class SourceDefinition:
    """What CREATE SOURCE says of the upstream. ``subsources`` are the tables it has, if it is not one relation; ``depends_on`` the
    connections it names."""

    desc: RelationDesc
    connector: Upstream
    format: Format | None
    subsources: Mapping[str, RelationDesc] = field(default_factory=dict)
    depends_on: frozenset[GlobalId] = frozenset()
    start: Timestamp | None = None
    """Where its history begins, if that is given by a backfill."""
    retain_ms: int | None = None
    """How far back it can be read, if that is its own."""
    host: GlobalId | None = None
    """The source in whose frontier group it is a guest."""

    @property
    def progress_desc(self) -> RelationDesc:
        """The relation that shows its bindings."""
        return self.connector.reclocking.progress_desc


@dataclass(frozen=True, slots=True)
class SinkDefinition:
    """What CREATE SINK says of its target. ``with_snapshot`` begins with the rows there are, not with the first change of them;
    ``uses`` are the connections."""

    target: SinkTarget
    with_snapshot: bool = True
    uses: frozenset[GlobalId] = frozenset()


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """What CREATE TABLE says. ``defaults`` are the expressions of DEFAULT, or None, as syntax.

    A plan may rest only on those ``constraints`` that are enforced.
    """

    desc: RelationDesc
    defaults: tuple[Any, ...]
    constraints: tuple[Constraint, ...] = ()

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Its columns; none if the table has none."""
        keys = (constraint.columns for constraint in self.constraints if constraint.kind is ConstraintKind.PRIMARY_KEY)
        return next(keys, ())
