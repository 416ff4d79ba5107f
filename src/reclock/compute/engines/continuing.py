"""Changes of a maintained recursion from the rows that its inputs gained: the iteration goes on
from the rows that are there.

The rows of a recursion whose inputs only gain rows are still derived, so the new ones follow from
the new rows of the inputs, and from each other. Where an input lost rows, this says nothing: rows
in a cycle derive each other although nothing else does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute.engines.engine import (
    Answer,
    CollectionInput,
    Engine,
    Input,
    Inputs,
    PreviousResult,
    TableInput,
)
from reclock.compute.engines.fixpoints import FixpointWork, IteratedBinding, block_bindings
from reclock.compute.operators.rules import NoContinuation
from reclock.compute.steps.new_rows import continued_recursion
from reclock.compute.steps.writer import RESULT, result_projections
from reclock.plan.mutual_recursion import RecursiveBlock, renamed
from reclock.plan.relational import Get, Plan, inputs, with_inputs
from reclock.plan.traversal import nodes_of


@dataclass(slots=True)
class RecursionDepths:
    """For each index, at most how many iterations lead to its rows if they begin with none, at its
    last times. So a refresh that continues knows whether the query would exceed its limit.

    Any of them can be missing: the next refresh then computes the recursion from the beginning.
    """

    builds: int = 0
    """How often that was done."""
    _depths: dict[GlobalId, dict[Timestamp, int]] = field(default_factory=dict)

    def at(self, index: GlobalId | None, time: Timestamp) -> int | None:
        return None if index is None else self._depths.get(index, {}).get(time)

    def record(
        self, index: GlobalId | None, before: Timestamp, as_of: Timestamp, depth: int
    ) -> None:
        """Record the depth at ``as_of``. That ``before`` stays known for a refresh that is
        repeated."""
        if index is not None:
            known = self._depths.get(index, {})
            self._depths[index] = {time: known[time] for time in known if time == before}
            self._depths[index][as_of] = depth

    def forget(self, index: GlobalId) -> None:
        self._depths.pop(index, None)


def changes(
    engine: Engine,
    depths: RecursionDepths,
    plan: Plan,
    desc: RelationDesc,
    read: Inputs,
    before: Timestamp,
    as_of: Timestamp,
    previous_result: PreviousResult,
) -> Answer:
    """``Engine.changes`` of a plan with a ``continued_recursion``. Raises ``NoContinuation``, when
    it is read at the latest, if only an evaluation can tell the rows."""
    continued = continued_recursion(plan)
    assert continued is not None
    node, block = continued
    work = FixpointWork(engine, plan)
    [binding] = block_bindings(block, "continued")

    def of(rows: Get) -> Plan:
        return _replaced(plan, node, renamed(rows, node.desc))

    def changed() -> Answer:
        stored = result_projections(plan, desc)[id(node)]
        binding.rows = work.rows(stored, {RESULT: _stored(previous_result)}, before)
        rows_before, depth = len(binding.rows), depths.at(previous_result.index, before)
        if depth is None and rows_before < block.most_iterations:
            depth = rows_before  # each iteration added some
        if depth is None:
            depths.builds += 1
            binding.rows = binding.rows.slice(0, 0)
            depth = work.iterate(block, [binding], read, as_of, 0)
            depths.record(previous_result.index, before, as_of, depth)
            now: Inputs = {binding.get.collection: TableInput(binding.rows)}
            return engine.difference(of(binding.get), desc, now, as_of, previous_result)
        depth += _continue(work, block, binding, read, before, as_of)
        if depth >= block.most_iterations:
            raise NoContinuation("the recursion may exceed its limit")
        depths.record(previous_result.index, before, as_of, depth)
        added: Inputs = {binding.get.collection: TableInput(binding.rows.slice(rows_before))}
        return engine.compare(renamed(of(binding.get), desc), added, as_of, None, {})

    return work.answer(desc.columns, changed, with_diff=True)


def _continue(
    work: FixpointWork,
    block: RecursiveBlock,
    binding: IteratedBinding,
    inputs: Inputs,
    before: Timestamp,
    as_of: Timestamp,
) -> int:
    """Add the rows to the binding that follow from the new rows of the inputs. Returns the number
    of iterations that added rows."""
    [value] = block.values
    changed = frozenset(id for id, input in inputs.items() if input.may_change(before, as_of))
    gets = {get.collection: get for get in _gets(value, changed)}
    gained = {id: _gained(work, get, inputs, before, as_of) for id, get in gets.items()}
    binding.read = [(binding.version, len(binding.rows))] * len(binding.reads)
    binding_inputs = {binding.get.collection: TableInput(binding.rows)}
    if not work.add_rows(binding, gained, {**inputs, **binding_inputs}, as_of, 0):
        return 0
    return 1 + work.iterate(block, [binding], inputs, as_of, 0)


def _gained(
    work: FixpointWork, get: Get, inputs: Inputs, before: Timestamp, as_of: Timestamp
) -> pa.Table:
    """The rows of the collection that came since ``before``. Raises ``NoContinuation`` if some
    went."""
    changes = work.table(work.engine.compare(get, inputs, as_of, before, {}))
    if pc.any(pc.less(changes[DIFF_COLUMN], 0)).as_py():
        raise NoContinuation(f"rows of {get.name} were removed or replaced")
    return changes


def _stored(previous_result: PreviousResult) -> Input:
    if previous_result.version is None:
        return TableInput(previous_result.added, has_updates=True, since=Timestamp(0))
    return CollectionInput(previous_result.version, previous_result.added)


def _gets(plan: Plan, changed: frozenset[StorageCollectionId]) -> list[Get]:
    gets = [node for node in nodes_of(plan) if isinstance(node, Get)]
    return [get for get in gets if get.collection in changed]


def _replaced(plan: Plan, node: Plan, other: Plan) -> Plan:
    """The plan with ``other`` in place of the node, which is below projections alone."""
    if plan is node:
        return other
    return with_inputs(plan, [_replaced(part, node, other) for part in inputs(plan)])
