"""Blocks of ``WITH MUTUALLY RECURSIVE`` that are a ``WITH RECURSIVE``, which an engine may iterate
within one statement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reclock.compute.steps.new_rows import growing_bindings
from reclock.plan.mutual_recursion import RecursiveBlock, has_blocks, renamed
from reclock.plan.relational import (
    Distinct,
    MutualRecursion,
    Plan,
    Project,
    RecursiveUnion,
    Union,
    WorkTable,
    inputs,
    work_tables,
)
from reclock.plan.traversal import rewritten


def with_linear_recursions(plan: Plan) -> Plan:
    """The plan with a ``RecursiveUnion`` in place of each block that has the same rows as one.

    That is a block of one binding, a set that only gains rows, each part of whose UNION reads it at
    most once. Then what an iteration adds follows from the rows that the one before added.
    """
    unions: dict[MutualRecursion, Plan] = {}

    def as_union(node: Plan) -> Plan:
        if not isinstance(node, MutualRecursion):
            return node
        if node not in unions:  # equal blocks, one for each reader, become one node
            unions[node] = _linear(node) or node
        return unions[node]

    return rewritten(plan, as_union) if has_blocks(plan) else plan


def _linear(node: MutualRecursion) -> RecursiveUnion | None:
    # its iterations count the base and one that adds nothing
    most = node.most_iterations - 2
    block = RecursiveBlock(node.values, node.ids, node.names, node.most_iterations, False)
    if len(node.values) != 1 or node.returns_at_limit or most < 0 or not growing_bindings(block):
        return None
    [id], [name] = node.ids, node.names
    base: list[Plan] = []
    step: list[Plan] = []
    for part in _parts(node.values[0]):
        times = _reads(part, id)
        if times > 1:
            return None
        (step if times else base).append(part)
    if not base or not step or any(has_blocks(part) for part in step):
        return None
    return RecursiveUnion(
        _union(base, node),
        _union(step, node),
        id,
        name,
        True,
        most,
        node.desc,
        node.most_iterations,
    )


def _parts(plan: Plan) -> Iterator[Plan]:
    """Plans whose union has the rows of ``plan`` as a set."""
    match plan:
        case Distinct():
            yield from _parts(plan.input)
        case Union():
            for part in plan.inputs:
                yield from (renamed(linear_part, plan.desc) for linear_part in _parts(part))
        case Project() if isinstance(plan.input, Distinct | Union | Project):
            for part in _parts(plan.input):
                yield replace(plan, input=part)
        case _:
            yield plan


def _reads(plan: Plan, id: int) -> int:
    """In how many places the plan reads the binding; two within another recursion."""
    if isinstance(plan, WorkTable):
        return int(plan.id == id and plan.is_binding)
    if isinstance(plan, RecursiveUnion | MutualRecursion):
        return 2 * (id in work_tables(plan))
    return sum(_reads(part, id) for part in inputs(plan))


def _union(parts: list[Plan], node: MutualRecursion) -> Plan:
    return parts[0] if len(parts) == 1 else Union(tuple(parts), node.desc)
