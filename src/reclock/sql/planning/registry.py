"""The planners of statements, each registered by its family for the node that it plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Protocol, TypeVar

from reclock.algebra.ids import GlobalId
from reclock.algebra.zones import UTC_NAME
from reclock.catalog.objects import Item
from reclock.errors import ExperimentalFeature
from reclock.sql.catalog.entries import (
    CompositeEntry,
    DomainEntry,
    Entry,
    FunctionEntry,
    IndexEntry,
    RelationEntry,
)
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import types_of
from reclock.sql.names import QualifiedName, SessionNames
from reclock.sql.session_zone import planned_in
from reclock.sql.syntax.families import load_planners
from reclock.sql.syntax.nodes import Statement


class PlannedStatement(Protocol):
    """A statement as a value with all names resolved. Executing it does not need its text."""

    @property
    def tag(self) -> str:
        """The command tag that the client gets."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A statement without effect, such as IF NOT EXISTS for an existing object. ``notice`` says
    why."""

    tag: str
    notice: str


Planner = Callable[[Any, PlannerCatalog, SessionNames], PlannedStatement]
P = TypeVar("P", bound=Planner)
ItemPlanner = Callable[[Any, Item, QualifiedName, PlannerCatalog], Entry]
D = TypeVar("D", bound=ItemPlanner)


@dataclass(frozen=True, slots=True)
class Planning:
    """How a kind of statement is planned. If it ``returns_rows`` or takes parameters, it is planned
    when it is prepared. What a definition means does not depend on the session's time zone."""

    planner: Planner
    returns_rows: bool
    experimental: str | None
    is_definition: bool


_PLANNINGS: dict[type[Statement], Planning] = {}
_ITEM_PLANNERS: dict[type[Statement], ItemPlanner] = {}


def plans(
    *nodes: type[Statement],
    returns_rows: bool = False,
    experimental: str | None = None,
    is_definition: bool = False,
) -> Callable[[P], P]:
    """Registers the planner of statements. ``experimental`` names a feature that needs experimental
    mode."""

    def register(planner: P) -> P:
        for node in nodes:
            assert node not in _PLANNINGS, node
            _PLANNINGS[node] = Planning(planner, returns_rows, experimental, is_definition)
        return planner

    return register


def plans_item(node: type[Statement]) -> Callable[[D], D]:
    """Registers the function that plans the text of an item of the durable catalog to its entry."""

    def register(definition: D) -> D:
        assert node not in _ITEM_PLANNERS, node

        @wraps(definition)
        def planned_in_utc(
            node: Any, item: Item, name: QualifiedName, catalog: PlannerCatalog
        ) -> Entry:
            with planned_in(UTC_NAME), types_of(catalog, SessionNames()) as scope:
                entry = definition(node, item, name, catalog)
            return _with_types(entry, frozenset(scope.used))

        _ITEM_PLANNERS[node] = planned_in_utc
        return definition

    return register


def _with_types(entry: Entry, types: frozenset[GlobalId]) -> Entry:
    """The entry, which depends on these types too."""
    if types and isinstance(entry, RelationEntry | FunctionEntry | DomainEntry | CompositeEntry):
        return replace(entry, depends_on=entry.depends_on | types)
    return replace(entry, types=types) if types and isinstance(entry, IndexEntry) else entry


def planning_of(node: type[Statement]) -> Planning:
    load_planners()
    return _PLANNINGS[node]


def item_planner_of(node: type[Statement]) -> ItemPlanner | None:
    load_planners()
    return _ITEM_PLANNERS.get(node)


def all_plannings() -> dict[type[Statement], Planning]:
    load_planners()
    return dict(_PLANNINGS)


def require_experimental_mode(feature: str, catalog: PlannerCatalog) -> None:
    """Raises ``ExperimentalFeature`` if the environment is not in experimental mode."""
    if not catalog.settings.experimental_mode:
        raise ExperimentalFeature(feature)
