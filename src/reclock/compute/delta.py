"""The changes of a maintained plan from those of its inputs, as one SQL statement: each operator by its delta rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute import rendering
from reclock.compute.operators import delta, get, has_delta, is_monotone, origin, snapshot
from reclock.compute.operators.rules import EngineRelation, InputVersion, KeyFilter, Rendering, columns, consolidated
from reclock.plan.functions.sql_names import literal
from reclock.plan.relational import (
    Get,
    Map,
    Plan,
    Project,
    inputs,
)

RESULT = StorageCollectionId(GlobalId("result"))
"""The maintained result among the relations of a step."""


def has_delta_rules(plan: Plan, *, is_kept: bool = True) -> bool:
    """Whether the plan's changes can be computed from those of its inputs: every operator has a rule that applies.

    ``is_kept``: the previous result can be read.
    """
    shown = _shown(plan, plan.desc) if is_kept else {}
    nodes: dict[int, Plan] = {}
    rendering.list_nodes(plan, nodes)
    return all(has_delta(node, key in shown) for key, node in nodes.items())


@dataclass(frozen=True, slots=True)
class DeltaInputs:
    """The relations of a step, by id as text: the contents of the plan's collections, and the updates of those that changed."""

    relations: Mapping[str, EngineRelation]
    changed: Mapping[str, EngineRelation]
    """Updates at times after ``before`` and up to ``as_of``, perhaps with others."""
    before: Timestamp
    as_of: Timestamp


def render(plan: Plan, desc: RelationDesc | None, engine: str, step_inputs: DeltaInputs) -> str:
    """The changes of the plan's rows from ``before`` to ``as_of``: columns ``c0`` … and ``mz_diff``, which is never zero.

    ``RESULT`` among the relations of ``step_inputs`` is the previous result, a collection of ``desc`` with the plan's rows before;
    without a desc there is none. The plan must be one that ``has_delta_rules``.
    """
    step = _Step(plan, desc, engine, step_inputs)
    changes = step.changes(plan)
    names = columns(plan)
    if changes is None:
        changes = step.define(f"SELECT *, CAST(0 AS BIGINT) AS n FROM {step.rows(plan, InputVersion.NOW)} AS i WHERE FALSE")
    summed = consolidated(f"SELECT * FROM {changes}", names)
    chain = ",\n".join(step.expressions)
    return f"WITH {chain}\nSELECT {', '.join([*names, f'n AS {DIFF_COLUMN}'])} FROM ({summed}) AS changed"


class _Step:
    """Writes common table expressions on demand, each once."""

    def __init__(self, plan: Plan, desc: RelationDesc | None, engine: str, step_inputs: DeltaInputs) -> None:
        nodes: dict[int, Plan] = {}
        rendering.list_nodes(plan, nodes)
        wanted, self._shown = rendering.wanted_columns(plan, nodes), {} if desc is None else _shown(plan, desc)
        for shown in self._shown.values():
            wanted[id(shown.input)] = frozenset(range(len(shown.input.desc)))
        self._inputs = step_inputs
        self.rendering = Rendering(engine, step_inputs.as_of, step_inputs.relations, wanted, rendering.pushed_predicates(nodes))
        self._before = replace(self.rendering, as_of=step_inputs.before)
        self._names: dict[object, str] = {}
        self.expressions: list[str] = []

    def changes(self, node: Plan) -> str | None:
        if not self._is_changed(node):
            return None
        return self._once(id(node), lambda: delta(node, self))

    def net_changes(self, node: Plan) -> str | None:
        changes = self.changes(node)
        if changes is None or isinstance(node, Get):  # its delta rule consolidates
            return changes
        read = self.rendering.wanted[id(node)]
        names = [f"c{i}" if i in read else literal(self.rendering.engine, None, type) for i, type in enumerate(node.desc.types)]
        return self._once((id(node), "net"), lambda: consolidated(f"SELECT * FROM {changes}", names))

    def rows(self, node: Plan, state: InputVersion, key_filter: KeyFilter | None = None) -> str:
        return self._once((id(node), state, key_filter), lambda: self._select(node, state, key_filter))

    def result(self, node: Plan, key_filter: KeyFilter) -> str | None:
        shown = self._shown.get(id(node))
        return None if shown is None else self.rows(shown, InputVersion.BEFORE, key_filter)

    def updates(self, node: Get) -> tuple[EngineRelation, Timestamp]:
        return self._inputs.changed[str(node.collection)], self._inputs.before

    def only_adds(self, node: Plan) -> bool:
        if not self._is_changed(node):
            return True
        if isinstance(node, Get):
            return self._inputs.changed[str(node.collection)].is_monotonic
        return is_monotone(node) and all(self.only_adds(part) for part in inputs(node))

    def define(self, select: str) -> str:
        name = f"n{len(self.expressions)}"
        self.expressions.append(f"{name} AS ({select})")
        return name

    def _select(self, node: Plan, state: InputVersion, key_filter: KeyFilter | None) -> str:
        rendered = self.rendering if state is InputVersion.NOW else self._before
        if isinstance(node, Get):
            return get.rows(node, rendered, key_filter)
        parts = inputs(node)
        origins = (None,) * len(parts) if key_filter is None else origin(node, key_filter.columns)
        relations = [
            self.rows(part, state, None if key_filter is None or columns is None else KeyFilter(columns, key_filter.keys))
            for part, columns in zip(parts, origins, strict=True)
        ]
        select = snapshot(node, rendered, relations)
        if key_filter is None or any(origin is not None for origin in origins):
            return select
        return f"SELECT * FROM ({select}) AS i WHERE {key_filter.condition([f'i.{name}' for name in columns(node)])}"

    def _is_changed(self, node: Plan) -> bool:
        if isinstance(node, Get):
            return str(node.collection) in self._inputs.changed
        return any(self._is_changed(part) for part in inputs(node))

    def _once(self, key: object, select: Callable[[], str]) -> str:
        if key not in self._names:
            self._names[key] = self.define(select())
        return self._names[key]


def _shown(plan: Plan, desc: RelationDesc) -> dict[int, Project]:
    """The nodes, by ``id``, all of whose columns the result has, each as the projection of the result to its rows."""
    result, shown = Get(RESULT, "result", desc), {}
    node, places = plan, tuple(range(len(desc)))
    while True:
        shown[id(node)] = Project(result, places, node.desc)
        match node:
            case Project():
                if set(node.indexes) < set(range(len(node.input.desc))):
                    return shown
                places = tuple(places[node.indexes.index(index)] for index in range(len(node.input.desc)))
            case Map():
                places = places[: len(node.input.desc)]
            case _:
                return shown
        node = node.input
