"""Computes the changes of a maintained plan from the changes of its inputs, by the delta rule of
each operator."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeGuard

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute import rendering
from reclock.compute.distinct_arguments import over_distinct_arguments
from reclock.compute.narrowing import narrowed
from reclock.compute.operators import (
    delta,
    get,
    has_delta,
    is_monotone,
    matched_columns,
    origin,
    snapshot,
)
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
    columns,
    consolidated,
    select_list,
)
from reclock.plan.functions.sql_names import literal
from reclock.plan.relational import (
    Filter,
    Get,
    Join,
    Map,
    Plan,
    Project,
    inputs,
)
from reclock.plan.temporal import due_between, is_temporal_filter
from reclock.plan.totality import could_error

_NAME = re.compile(r"\bn\d+\b")
"""Matches the names of relations that a step defines. A user's column with such a name only makes a
step longer."""

_INLINED_EXPRESSIONS = 32
"""How many expressions more than once a step may compute for one that it does not store. The least
plan that needs it, an aggregate over an outer join, has 58 and takes Spark minutes to plan."""

RESULT = StorageCollectionId(GlobalId("result"))
"""The name of the maintained result among the relations of a step."""


def has_delta_rules(plan: Plan, *, is_kept: bool = True) -> bool:
    """Whether the plan's changes can be computed from those of its inputs: every operator has a
    rule that applies. ``is_kept`` says that the previous result can be read."""
    plan = over_distinct_arguments(plan)
    shown = _shown(plan, plan.desc) if is_kept else {}
    nodes: dict[int, Plan] = {}
    rendering.list_nodes(plan, nodes)
    return all(has_delta(node, key in shown) for key, node in nodes.items())


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


class StepReads(Protocol):
    """The reads, other than scans, of an engine that can execute a step part by part."""

    def matching(self, node: Get, columns: tuple[int, ...], keys: str) -> EngineRelation | None:
        """The collection's updates of rows whose ``columns`` have a value of the stored relation
        ``keys``, possibly with others. None if a scan is better."""
        ...

    def store(self, name: str, select: str) -> None:
        """Compute ``select``, and store its rows as the relation ``name`` until the step ends."""
        ...

    def open_groups(self, place: int, node: Plan, partials: Callable[[], str]) -> str | None:
        """The table of the partial aggregates of the node's groups, complete before the step.

        ``place`` is the node's place in the plan. ``partials`` answers the SELECT that computes
        them. None if they are not kept.
        """
        ...

    def add_to_groups(self, place: int, changes: str) -> None:
        """Add the stored relation ``changes`` to the partial aggregates."""
        ...

    def confirm_groups(self, place: int) -> None:
        """Record that the step does not change the partial aggregates, if there are any."""
        ...


def render(
    plan: Plan,
    desc: RelationDesc | None,
    engine: str,
    step_inputs: DeltaInputs,
    reads: StepReads | None = None,
) -> str:
    """The changes of the plan's rows from ``before`` to ``as_of``: columns ``c0`` …, in a step by
    time ``mz_timestamp``, and ``mz_diff``, which is never zero.

    ``RESULT`` among the relations of ``step_inputs`` is the previous result, a collection of
    ``desc`` with the plan's rows before; without a desc there is none. The plan must be one that
    ``has_delta_rules``. With ``reads`` parts of the step are carried out while it is written, and
    the statement reads what these have stored.
    """
    step, shown, summed = _written(plan, desc, engine, step_inputs, reads)
    return _statement(step, shown, summed)


def render_for_inlining(
    plan: Plan, desc: RelationDesc | None, engine: str, step_inputs: DeltaInputs, scratch: str
) -> rendering.EngineStatement:
    """As ``render``, for an engine that computes a common table expression once for each place
    where it is read. Large ones that are read several times are stored, as relations whose names
    begin with ``scratch``."""
    step, shown, summed = _written(plan, desc, engine, step_inputs, None)
    shared = step.share(summed, scratch)
    return rendering.EngineStatement(_statement(step, shown, summed), shared=shared)


def _statement(step: _Step, shown: list[str], summed: str) -> str:
    return f"{step.with_clause(summed)}SELECT {', '.join(shown)} FROM ({summed}) AS changed"


def _written(
    plan: Plan,
    desc: RelationDesc | None,
    engine: str,
    step_inputs: DeltaInputs,
    reads: StepReads | None,
) -> tuple[_Step, list[str], str]:
    """The step, the columns of its statement, and the SELECT that these read."""
    plan = narrowed(over_distinct_arguments(plan))
    step = _Step(plan, desc, engine, step_inputs, reads)
    changes = step.changes(plan)
    if changes is None and step.by_time:
        raise NoRuleByTime
    names = columns(plan)
    if changes is None:
        changes = step.define(
            f"SELECT *, CAST(0 AS BIGINT) AS n FROM {step.rows(plan, InputVersion.NOW)} "
            "AS i WHERE FALSE"
        )
    step.confirm_unchanged_groups()
    if not step.by_time:
        summed = consolidated(f"SELECT * FROM {changes}", names)
        return step, [*names, f"n AS {DIFF_COLUMN}"], summed
    keys = ", ".join([*names, "t"])
    summed = (
        f"SELECT {keys}, CAST(sum(n) AS BIGINT) AS n FROM {changes} GROUP BY {keys} "
        "HAVING sum(n) <> 0"
    )
    return step, [*names, f"t AS {TIME_COLUMN}", f"n AS {DIFF_COLUMN}"], summed


class _Step:
    """Writes common table expressions on demand, each once."""

    def __init__(
        self,
        plan: Plan,
        desc: RelationDesc | None,
        engine: str,
        step_inputs: DeltaInputs,
        reads: StepReads | None,
    ) -> None:
        nodes: dict[int, Plan] = {}
        rendering.list_nodes(plan, nodes)
        wanted, self._shown = (
            rendering.wanted_columns(plan, nodes),
            {} if desc is None else _shown(plan, desc),
        )
        for shown in self._shown.values():
            wanted[id(shown.input)] = frozenset(range(len(shown.input.desc)))
        self._inputs = step_inputs
        self.rendering = Rendering(
            engine,
            step_inputs.as_of,
            step_inputs.relations,
            wanted,
            rendering.pushed_predicates(nodes),
        )
        self._before = replace(self.rendering, as_of=step_inputs.before)
        self._names: dict[object, str] = {}
        self._reads = reads
        self._nodes = list(nodes.values())
        self._group_states: dict[int, GroupState | None] = {}
        self._expressions: dict[str, str] = {}
        """The expressions that are not stored, by name. Each reads only earlier ones."""
        self._parts: dict[str, frozenset[str]] = {}
        """By name: the relations that each of these reads itself."""
        self._few: set[str] = set()
        """The relations whose size follows that of the change: changes, keys, and rows found by
        keys."""
        self._thin: set[str] = set()
        """The relations that are another one's rows, chosen or rearranged: cheaper to read than to
        store."""
        self._found: dict[tuple[int, KeyFilter], EngineRelation | None] = {}
        """The rows of a Get that were looked up by key. They serve both versions."""
        self._changed: dict[int, bool] = {}
        self._defined: dict[str, str] = {}
        """The names of all relations that were defined. Equal ones are one relation."""

    def changes(self, node: Plan) -> str | None:
        if not self._is_changed(node):
            return None
        if self._is_in_input(node):
            return self.changes(node.input)
        return self._once(
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
        read = self.rendering.wanted[id(node)]
        names = [
            f"c{i}" if i in read else literal(self.rendering.engine, None, type)
            for i, type in enumerate(node.desc.types)
        ]
        return self._once(
            (id(node), "net"), lambda: consolidated(f"SELECT * FROM {changes}", names), is_few=True
        )

    def rows(self, node: Plan, state: InputVersion, key_filter: KeyFilter | None = None) -> str:
        if not self._is_changed(node):
            state = InputVersion.NOW  # one relation is both versions
        if self._is_in_input(node):
            return self.rows(node.input, state, key_filter)
        key = (id(node), state, key_filter)
        if key not in self._names:
            select, is_few = self._select(node, state, key_filter)
            self._once(
                key, lambda: select, is_few=is_few, is_thin=isinstance(node, Filter | Project)
            )
        return self._names[key]

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
        shown = self._shown.get(id(node))
        return None if shown is None else self.rows(shown, InputVersion.BEFORE, key_filter)

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
        return self._once((id(join), side, keys), lambda: select, is_few=True)

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

    def define(self, select: str, *, is_few: bool = False, is_thin: bool = False) -> str:
        name = self._defined.get(select)
        if name is None:
            name = self._defined[select] = f"n{len(self._defined)}"
            self._parts[name] = frozenset(_NAME.findall(select)) & self._parts.keys()
            self._expressions[name] = select
            if is_thin:
                self._thin.add(name)
        if is_few:
            self._few.add(name)
        return name

    def with_clause(self, select: str) -> str:
        """The WITH clause of ``select``: the expressions that it needs and that are not stored."""
        needed = self._needed(frozenset(_NAME.findall(select)))
        chain = ",\n".join(
            f"{name} AS ({self._expressions[name]})" for name in self._expressions if name in needed
        )
        return f"WITH {chain}\n" if chain else ""

    def share(self, select: str, scratch: str) -> tuple[tuple[str, str], ...]:
        """Replace the expressions that would be computed too often for ``select`` by reads of
        stored relations. Returns these: their names and SELECTs, in order."""
        needed = self._needed(frozenset(_NAME.findall(select)))
        reads = {
            name: [
                part for part in _NAME.findall(self._expressions[name]) if part in self._parts[name]
            ]
            for name in needed
        }
        uses = Counter(_NAME.findall(select))
        uses.update(part for parts in reads.values() for part in parts)
        sizes: dict[str, int] = {}
        shared = []
        for name in [name for name in self._expressions if name in needed]:
            sizes[name] = 1 + sum(sizes[part] for part in reads[name])
            is_stored = name in self._few and name not in self._thin
            if is_stored and sizes[name] * (uses[name] - 1) > _INLINED_EXPRESSIONS:
                expression = self._expressions[name]
                shared.append((f"{scratch}{name}", self.with_clause(expression) + expression))
                self._expressions[name] = f"SELECT * FROM {scratch}{name}"
                self._parts[name] = frozenset()
                sizes[name] = 1
        return tuple(shared)

    def _needed(self, names: frozenset[str]) -> set[str]:
        """Which of the relations ``names``, and of those that these read, are not stored."""
        needed: set[str] = set()
        queue = list(names)
        while queue:
            name = queue.pop()
            if name in self._expressions and name not in needed:
                needed.add(name)
                queue += self._parts[name]
        return needed

    def _select(
        self, node: Plan, version: InputVersion, key_filter: KeyFilter | None
    ) -> tuple[str, bool]:
        """The SELECT of the node's rows, and whether they are few."""
        rendered = self.rendering if version is InputVersion.NOW else self._before
        if isinstance(node, Get):
            if key_filter is not None and (found := self._matching(node, key_filter)) is not None:
                rendered = replace(
                    rendered, relations={**rendered.relations, str(node.collection): found}
                )
                return get.rows(node, rendered, key_filter), True
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
        are_few = all(name in self._few for name in relations)
        if isinstance(node, Filter):
            relations = [guarded(node, rendered.engine, relations[0])]
        select = snapshot(node, rendered, relations)
        if key_filter is None or is_exact:
            return select, are_few
        return (
            (
                f"SELECT * FROM ({select}) AS i WHERE "
                f"{key_filter.condition([f'i.{name}' for name in columns(node)])}"
            ),
            are_few,
        )

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
            return rows, key_filter.keys in self._few and len(key_filter.columns) == len(keys)
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
            return self.with_clause(rows) + rows

        table = self._reads.open_groups(place, node, select)
        changed = self.changes(part)
        if table is None or changed is None:
            return None if table is None else GroupState(table, None, self._inputs.before)
        by = ("t",) if self.by_time else ()
        changes = self.define(partials.of_changes(self.rendering.engine, changed, by), is_few=True)
        self._store(changes)
        self._reads.add_to_groups(place, changes)
        return GroupState(table, changes, self._inputs.before)

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
        own = [(place, column) for place, column in enumerate(origins) if column is not None]
        if not own:
            return None
        places, own_columns = zip(*own, strict=True)
        if len(own) == len(origins):
            return KeyFilter(own_columns, key_filter.keys)
        keys = (
            f"SELECT DISTINCT {select_list([f'c{place}' for place in places])} FROM "
            f"{key_filter.keys}"
        )
        return KeyFilter(
            own_columns,
            self._once(
                (key_filter.keys, places), lambda: keys, is_few=key_filter.keys in self._few
            ),
        )

    def _matched(
        self, node: Plan, side: int, filters: Sequence[KeyFilter | None], state: InputVersion
    ) -> KeyFilter | None:
        """Of the input ``side`` only the rows that match those of the other one, where its filter
        leaves few of these."""
        other = 1 - side
        if filters[other] is None or (matched := matched_columns(node, other)) is None:
            return None
        found = self.rows(inputs(node)[other], state, filters[other])
        if found not in self._few:
            return None
        own, columns = matched
        keys = f"SELECT DISTINCT {select_list([f'c{index}' for index in own])} FROM {found}"
        return KeyFilter(columns, self._once((found, own), lambda: keys, is_few=True))

    def _matching(self, node: Get, key_filter: KeyFilter) -> EngineRelation | None:
        if self._reads is None or key_filter.keys not in self._few:
            return None
        key = (id(node), key_filter)
        if key not in self._found:
            self._store(key_filter.keys)
            self._found[key] = self._reads.matching(node, key_filter.columns, key_filter.keys)
        return self._found[key]

    def _store(self, name: str) -> None:
        """Store the relation ``name``, and the relations that it is made of, if they are small."""
        assert self._reads is not None
        if name not in self._expressions:
            return
        needed = self._needed(frozenset({name}))
        for part in [part for part in self._expressions if part in needed]:
            if part == name or part in self._few - self._thin:
                select = self._expressions[part]
                self._reads.store(part, f"{self.with_clause(select)}{select}")
                del self._expressions[part]

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

    def _once(
        self, key: object, select: Callable[[], str], *, is_few: bool = False, is_thin: bool = False
    ) -> str:
        if key not in self._names:
            self._names[key] = self.define(select(), is_few=is_few, is_thin=is_thin)
        return self._names[key]


def _shown(plan: Plan, desc: RelationDesc) -> dict[int, Project]:
    """The nodes, by ``id``, whose columns are all in the result, each with the projection of the
    result that gives its rows."""
    result, shown = Get(RESULT, "result", desc), {}
    node, places = plan, tuple(range(len(desc)))
    while True:
        shown[id(node)] = Project(result, places, node.desc)
        match node:
            case Project():
                if set(node.indexes) < set(range(len(node.input.desc))):
                    return shown
                places = tuple(
                    places[node.indexes.index(index)] for index in range(len(node.input.desc))
                )
            case Map():
                places = places[: len(node.input.desc)]
            case _:
                return shown
        node = node.input
