"""Writes a step of a maintained plan as SQL: the relations that the delta rules of its operators
request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeGuard

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute import rendering
from reclock.compute.operators import delta, get, is_monotone, matched_columns, origin, snapshot
from reclock.compute.operators.filter import guarded
from reclock.compute.operators.join import matched_rows, sides_to_count
from reclock.compute.operators.partial_aggregates import PartialAggregates, partial_aggregates
from reclock.compute.operators.rules import (
    EngineRelation,
    GroupState,
    InputVersion,
    KeyFilter,
    NoRuleByTime,
    Rendering,
    behind_barrier,
    columns,
    consolidated,
    select_list,
)
from reclock.compute.steps.common_tables import StepExpressions
from reclock.plan.functions.sql_names import literal
from reclock.plan.properties import could_fail
from reclock.plan.relational import Filter, Get, Join, Map, Plan, Project, inputs
from reclock.plan.temporal import due_between, is_temporal_filter
from reclock.plan.totality import could_error
from reclock.plan.traversal import nodes_by_id

RESULT = StorageCollectionId(GlobalId("result"))
"""The name of the maintained result among the relations of a step."""


@dataclass(frozen=True, slots=True)
class DeltaInputs:
    """The relations of a step, by id as text: the contents of the plan's collections, and the
    updates of the changed ones."""

    relations: Mapping[str, EngineRelation]
    changed: Mapping[str, EngineRelation]
    """Updates at times after ``before`` and up to ``as_of``, possibly with others."""
    before: Timestamp
    as_of: Timestamp
    by_time: bool = False
    """See ``DeltaStep.by_time``."""


@dataclass(frozen=True, slots=True)
class OpenedGroups:
    """The ``table`` of a node's partial aggregates, complete before the step. ``has_step``: it has
    what the step adds too, because that was computed before."""

    table: str
    has_step: bool


class StepReads(Protocol):
    """The reads, other than scans, of an engine that can execute a step part by part."""

    def can_match(self, node: Get, columns: tuple[int, ...]) -> bool:
        """Whether rows of the collection can be looked up by these columns."""
        ...

    def match(self, name: str, node: Get, columns: tuple[int, ...], keys: str) -> None:
        """Make ``name`` the relation of the collection's updates of rows whose ``columns`` have a
        value that the SELECT ``keys`` answers, possibly with a few others."""
        ...

    def store(self, name: str, select: str) -> None:
        """Compute ``select``, and store its rows as the relation ``name`` until the step ends."""
        ...

    def open_groups(
        self, place: int, node: Plan, partials: Callable[[], str]
    ) -> OpenedGroups | None:
        """The table of the partial aggregates of the node's groups, complete before the step.

        ``place`` is the node's place in the plan. ``partials`` answers the SELECT that computes
        them. None if they are not kept.
        """
        ...

    def add_to_groups(self, place: int, changes: str) -> None:
        """Add what the SELECT ``changes`` answers to the partial aggregates."""
        ...

    def confirm_groups(self, place: int) -> None:
        """Record that the step does not change the partial aggregates, if there are any."""
        ...


@dataclass(frozen=True, slots=True)
class StepAction:
    """What is carried out before later relations of a step can be read: ``run`` is called with the
    whole text of ``select``."""

    select: str
    run: Callable[[str], None]


class StepWriter:
    """A ``DeltaStep``. Writes the common table expressions that the delta rules request, each once,
    and lists the actions on the way to them. Nothing is carried out before all is written, so that
    only what several statements read is stored."""

    def __init__(
        self,
        plan: Plan,
        desc: RelationDesc | None,
        engine: str,
        step_inputs: DeltaInputs,
        reads: StepReads | None,
    ) -> None:
        nodes = nodes_by_id(plan)
        required = rendering.required_columns(plan, nodes)
        self._projections = {} if desc is None else result_projections(plan, desc)
        for projection in self._projections.values():
            required[id(projection.input)] = frozenset(range(len(projection.input.desc)))
        self._inputs = step_inputs
        self.rendering = Rendering(
            engine,
            step_inputs.as_of,
            step_inputs.relations,
            required,
            rendering.pushed_predicates(nodes),
        )
        self._before = replace(self.rendering, as_of=step_inputs.before)
        self._reads = reads
        self._nodes = list(nodes.values())
        self._group_states: dict[int, GroupState | None] = {}
        self.expressions = StepExpressions()
        self._actions: list[StepAction] = []
        self._looked_up: dict[tuple[int, tuple[int, ...], str], EngineRelation] = {}
        """The rows of a Get that are looked up by key. They serve both versions."""
        self._changed: dict[int, bool] = {}

    def changes(self, node: Plan) -> str | None:
        if not self._is_changed(node):
            return None
        if self._is_in_input(node):
            return self.changes(node.input)
        return self.expressions.define_once(
            id(node),
            lambda: delta(node, self),
            is_few=True,
            is_thin=isinstance(node, Filter | Project) and not is_temporal_filter(node),
        )

    def net_changes(self, node: Plan) -> str | None:
        if self.by_time:
            raise NoRuleByTime
        changes = self.changes(node)
        if changes is None or isinstance(node, Get):  # its delta rule consolidates
            return changes
        read = self.rendering.required_columns[id(node)]
        names = [
            f"c{i}" if i in read else literal(self.rendering.engine, None, type)
            for i, type in enumerate(node.desc.types)
        ]
        return self.expressions.define_once(
            (id(node), "net"), lambda: consolidated(f"SELECT * FROM {changes}", names), is_few=True
        )

    def rows(self, node: Plan, state: InputVersion, key_filter: KeyFilter | None = None) -> str:
        if not self._is_changed(node):
            state = InputVersion.NOW  # one relation is both versions
        if self._is_in_input(node):
            return self.rows(node.input, state, key_filter)
        key = (id(node), state, key_filter)
        if (name := self.expressions.name_of(key)) is not None:
            return name
        select, is_few = self._select(node, state, key_filter)
        return self.expressions.define_once(
            key, lambda: select, is_few=is_few, is_thin=isinstance(node, Filter | Project)
        )

    @property
    def before(self) -> Timestamp:
        return self._inputs.before

    @property
    def by_time(self) -> bool:
        return self._inputs.by_time

    def due_rows(self, node: Filter) -> str:
        due = due_between(node.predicates, self._inputs.before, self._inputs.as_of)
        if not isinstance(node.input, Get) or could_error(due):
            return self.rows(node.input, InputVersion.BEFORE)
        pushed = (*self.rendering.predicates.get(id(node.input), ()), due)
        rendered = replace(self._before, predicates={id(node.input): pushed})
        return self.define(get.rows(node.input, rendered), is_few=True)

    def result(self, node: Plan, key_filter: KeyFilter) -> str | None:
        projection = self._projections.get(id(node))
        return (
            None if projection is None else self.rows(projection, InputVersion.BEFORE, key_filter)
        )

    def group_state(self, node: Plan) -> GroupState | None:
        partials = None if self._reads is None else partial_aggregates(node)
        if partials is None:
            return None
        return self._groups(self._place(node), partials)

    def matches(self, join: Join, side: int, keys: str) -> str | None:
        partials = partial_aggregates(matched_rows(join, side))
        state = (
            None
            if self._reads is None or partials is None
            else self._groups(self._place_of_matches(join, side), partials)
        )
        if state is None:
            return None
        columns = tuple(range(len(join.keys)))
        names = ", ".join(f"g.c{index}" for index in columns)
        versions = (
            f"coalesce(sum(n) FILTER (WHERE t <= {state.before:d}), 0) > 0 AS was, sum(n) > "
            "0 AS now"
        )
        condition = KeyFilter(columns, keys).condition([f"g.c{index}" for index in columns])
        select = (
            f"SELECT {names}, {versions} FROM {state.table} AS g WHERE {condition} GROUP BY {names}"
        )
        return self.expressions.define_once((id(join), side, keys), lambda: select, is_few=True)

    def confirm_unchanged_groups(self) -> None:
        """Confirm the partial aggregates of the nodes that do not change."""
        if self._reads is None:
            return
        for node in self._nodes:
            if not self._is_changed(node) and partial_aggregates(node):
                self._reads.confirm_groups(self._place(node))
            for side in sides_to_count(node):
                if not self._is_changed(inputs(node)[side]):
                    self._reads.confirm_groups(self._place_of_matches(node, side))

    def updates(self, node: Get) -> tuple[EngineRelation, Timestamp]:
        return self._inputs.changed[str(node.collection)], self._inputs.before

    def only_adds(self, node: Plan) -> bool:
        if not self._is_changed(node):
            return True
        if isinstance(node, Get):
            return self._inputs.changed[str(node.collection)].is_monotonic
        return is_monotone(node) and all(self.only_adds(part) for part in inputs(node))

    def define(self, select: str, *, is_few: bool = False) -> str:
        return self.expressions.define(select, is_few=is_few)

    def keys(self, *sources: tuple[str, Sequence[int]]) -> str:
        values = [
            f"SELECT DISTINCT {select_list([f'c{index}' for index in columns])} FROM {relation}"
            for relation, columns in sources
        ]
        return self.expressions.define(
            " UNION ".join(values),
            is_few=all(self.expressions.is_few(relation) for relation, _ in sources),
            is_thin=self._reads is not None,  # of relations that are stored
        )

    def carry_out(self, last: str) -> None:
        """Carry out the actions, and store what ``last`` reads besides."""
        if self._reads is None:
            return
        selects = [*(action.select for action in self._actions), last]
        stored = self.expressions.read_by_several(selects)
        for action in self._actions:
            self.expressions.store(stored, action.select, self._reads.store)
            action.run(self.expressions.whole(action.select))
        self.expressions.store(stored, last, self._reads.store)

    def _select(
        self, node: Plan, version: InputVersion, key_filter: KeyFilter | None
    ) -> tuple[str, bool]:
        """The SELECT of the node's rows, and whether they are few."""
        rendered = self.rendering if version is InputVersion.NOW else self._before
        if isinstance(node, Get):
            if (
                key_filter is not None
                and (matching := self._matching(node, key_filter)) is not None
            ):
                rendered = replace(
                    rendered, relations={**rendered.relations, str(node.collection): matching}
                )
                return get.rows(node, rendered, key_filter if key_filter.is_exact else None), True
            return get.rows(node, rendered, key_filter), False
        if (state := self.group_state(node)) is not None:
            return self._select_groups(node, state, version, key_filter)
        parts, filters, is_exact = inputs(node), self._filters(node, key_filter), key_filter is None
        if key_filter is not None:
            is_exact = any(
                filter is not None and len(filter.columns) == len(key_filter.columns) > 0
                for filter in filters
            )
        if self._reads is not None and len(parts) == 2:
            filters = [
                filters[0] or self._matched(node, 0, filters, version),
                filters[1] or self._matched(node, 1, filters, version),
            ]
        relations = [
            self.rows(part, version, filter) for part, filter in zip(parts, filters, strict=True)
        ]
        are_few = all(self.expressions.is_few(name) for name in relations)
        if isinstance(node, Filter):
            relations = [guarded(node, rendered.engine, relations[0])]
        select = snapshot(node, rendered, relations)
        if key_filter is None or is_exact:
            return select, are_few
        condition = key_filter.condition([f"i.{name}" for name in columns(node)])
        rows = f"({select})"
        if could_fail(node):
            rows = behind_barrier(rendered.engine, rows)
        return f"SELECT * FROM {rows} AS i WHERE {condition}", are_few

    def _select_groups(
        self, node: Plan, state: GroupState, version: InputVersion, key_filter: KeyFilter | None
    ) -> tuple[str, bool]:
        """As ``_select``, from the partial aggregates of the node's groups."""
        partials = partial_aggregates(node)
        assert partials is not None
        until = self._inputs.as_of if version is InputVersion.NOW else self._inputs.before
        select = f"SELECT * FROM {state.table} AS g WHERE t <= {until:d}"
        keys = range(len(partials.keys))
        is_by_key = key_filter is not None and set(key_filter.columns) <= set(keys)
        if key_filter is not None and is_by_key:
            select += f" AND {key_filter.condition([f'g.c{index}' for index in keys])}"
        engine = self.rendering.engine
        rows = partials.values(engine, partials.summed(engine, select))
        if key_filter is None:
            return rows, False
        if is_by_key:
            are_few = self.expressions.is_few(key_filter.keys)
            return rows, are_few and len(key_filter.columns) == len(keys)
        condition = key_filter.condition([f"i.{name}" for name in columns(node)])
        return f"SELECT * FROM ({rows}) AS i WHERE {condition}", False

    def _place(self, node: Plan) -> int:
        return next(place for place, other in enumerate(self._nodes) if other is node)

    def _place_of_matches(self, join: Plan, side: int) -> int:
        """Behind the places of all nodes: of what is counted for a join."""
        return len(self._nodes) + 2 * self._place(join) + side

    def _groups(self, place: int, partials: PartialAggregates) -> GroupState | None:
        if place not in self._group_states:
            self._group_states[place] = self._open_groups(place, partials)
        return self._group_states[place]

    def _open_groups(self, place: int, partials: PartialAggregates) -> GroupState | None:
        assert self._reads is not None
        node, [part] = partials.node, inputs(partials.node)

        def select() -> str:
            rows = partials.of_rows(self.rendering.engine, self.rows(part, InputVersion.BEFORE))
            return self.expressions.whole(rows)

        opened = self._reads.open_groups(place, node, select)
        if opened is None:
            return None
        before = self._inputs.before
        table = f"(SELECT * FROM {opened.table} WHERE t <= {self._inputs.as_of:d})"
        if not self._is_changed(part):
            return GroupState(table, None, before)
        if not opened.has_step:
            self._add_to_groups(place, partials)
        added = self.expressions.define(
            f"SELECT * FROM {table} WHERE t > {before:d}", is_few=True, is_thin=True
        )
        return GroupState(table, added, before)

    def _add_to_groups(self, place: int, partials: PartialAggregates) -> None:
        assert self._reads is not None
        changed = self.changes(partials.node.input)
        assert changed is not None
        by = ("t",) if self.by_time else ()
        self._actions.append(
            StepAction(
                partials.of_changes(self.rendering.engine, changed, by),
                partial(self._reads.add_to_groups, place),
            )
        )

    def _filters(self, node: Plan, key_filter: KeyFilter | None) -> list[KeyFilter | None]:
        """Of each input, the rows that those of the node with the keys are made of, as far as its
        columns tell."""
        if key_filter is None:
            return [None for _ in inputs(node)]
        if not key_filter.columns:  # all rows, or none
            return [key_filter for _ in inputs(node)]
        origins = [origin(node, column) for column in key_filter.columns]
        return [self._part(key_filter, listed) for listed in zip(*origins, strict=True)]

    def _part(self, key_filter: KeyFilter, origins: Sequence[int | None]) -> KeyFilter | None:
        """The part of the filter on key columns that the input has, by ``origins``."""
        pairs = [(place, column) for place, column in enumerate(origins) if column is not None]
        if not pairs:
            return None
        places, own_columns = zip(*pairs, strict=True)
        if len(pairs) == len(origins):
            return replace(key_filter, columns=own_columns)
        return replace(key_filter, columns=own_columns, keys=self.keys((key_filter.keys, places)))

    def _matched(
        self, node: Plan, side: int, filters: Sequence[KeyFilter | None], state: InputVersion
    ) -> KeyFilter | None:
        """Of the input ``side`` only the rows that match those of the other one, where its filter
        leaves few of these."""
        other = 1 - side
        if filters[other] is None or (matched := matched_columns(node, other)) is None:
            return None
        other_rows = self.rows(inputs(node)[other], state, filters[other])
        if not self.expressions.is_few(other_rows):
            return None
        other_columns, columns = matched
        return KeyFilter(columns, self.keys((other_rows, other_columns)), is_exact=False)

    def _matching(self, node: Get, key_filter: KeyFilter) -> EngineRelation | None:
        if (
            self._reads is None
            or not self.expressions.is_few(key_filter.keys)
            or not self._reads.can_match(node, key_filter.columns)
        ):
            return None
        key = id(node), key_filter.columns, key_filter.keys
        if key not in self._looked_up:
            keyed = replace(
                self.rendering.relations[str(node.collection)],
                name=f"keyed{len(self._looked_up)}",
                is_mostly_single=False,  # which is worth telling apart among many
            )
            match = partial(self._reads.match, keyed.name, node, key_filter.columns)
            self._actions.append(StepAction(f"SELECT * FROM {key_filter.keys}", match))
            self._looked_up[key] = keyed
        return self._looked_up[key]

    def _is_changed(self, node: Plan) -> bool:
        if isinstance(node, Get):
            return str(node.collection) in self._inputs.changed
        if id(node) not in self._changed:
            self._changed[id(node)] = is_temporal_filter(node) or any(
                self._is_changed(part) for part in inputs(node)
            )
        return self._changed[id(node)]

    def _is_in_input(self, node: Plan) -> TypeGuard[Filter]:
        """Whether the node is a filter that its input, a Get, applies already."""
        return isinstance(node, Filter) and len(
            self.rendering.predicates.get(id(node.input), ())
        ) == len(node.predicates)


def result_projections(plan: Plan, desc: RelationDesc) -> dict[int, Project]:
    """The nodes, by ``id``, whose columns are all in the result, each with the projection of the
    result that gives its rows."""
    result, projections = Get(RESULT, "result", desc), {}
    node, places = plan, tuple(range(len(desc)))
    while True:
        projections[id(node)] = Project(result, places, node.desc)
        match node:
            case Project():
                if set(node.indexes) < set(range(len(node.input.desc))):
                    return projections
                places = tuple(
                    places[node.indexes.index(index)] for index in range(len(node.input.desc))
                )
            case Map():
                places = places[: len(node.input.desc)]
            case _:
                return projections
        node = node.input
