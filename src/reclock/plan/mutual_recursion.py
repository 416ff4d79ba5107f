"""Blocks of ``WITH MUTUALLY RECURSIVE`` taken out of plans: the bindings are tables for what reads
them, so no other rule has to know of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from reclock.algebra.ids import GlobalId, StorageCollectionId
from reclock.algebra.relations import Column, RelationDesc
from reclock.plan.relational import (
    Get,
    MutualRecursion,
    Plan,
    Project,
    RecursiveUnion,
    WorkTable,
    inputs,
    with_inputs,
    work_tables,
)
from reclock.plan.traversal import nodes_of


@dataclass(frozen=True, slots=True)
class RecursiveBlock:
    """What all bindings of a block share; see ``MutualRecursion``."""

    values: tuple[Plan, ...]
    ids: tuple[int, ...]
    names: tuple[str, ...]
    most_iterations: int
    returns_at_limit: bool

    def reads(self, place: int) -> list[int]:
        """The places of the bindings that the value at ``place`` reads."""
        read = work_tables(self.values[place])
        return [other for other, id in enumerate(self.ids) if id in read]

    def over_tables(self, place: int, prefix: str) -> Plan:
        """The value at ``place`` with a table in place of each binding that it reads."""
        tables = {self.ids[other]: self.table(other, prefix) for other in self.reads(place)}
        return _over_tables(self.values[place], tables)

    def table(self, place: int, prefix: str) -> Get:
        """The table of the binding at ``place``; a ``prefix`` tells tables apart."""
        return table(f"{prefix}.{place}", self.values[place].desc)


def table(name: str, desc: RelationDesc) -> Get:
    """A table in memory, whose columns are named by their places: other names may occur twice."""
    id = StorageCollectionId(GlobalId("mutual_recursion"), output=name)
    return Get(id, name, by_places(desc))


def by_places(desc: RelationDesc) -> RelationDesc:
    return RelationDesc(tuple(Column(f"c{place}", type) for place, type in enumerate(desc.types)))


def renamed(plan: Plan, desc: RelationDesc) -> Project:
    """The same columns, with the names of ``desc``."""
    return Project(plan, tuple(range(len(desc))), desc)


def has_blocks(plan: Plan) -> bool:
    return any(isinstance(node, MutualRecursion) for node in nodes_of(plan))


def without_blocks(plan: Plan, blocks: dict[RecursiveBlock, str]) -> Plan:
    """The plan with a table in place of each binding. The blocks that it reads, with the prefix of
    their tables, are added to ``blocks``."""
    if not has_blocks(plan):
        return plan
    if not isinstance(plan, MutualRecursion):
        return with_inputs(plan, [without_blocks(part, blocks) for part in inputs(plan)])
    block = RecursiveBlock(
        plan.values, plan.ids, plan.names, plan.most_iterations, plan.returns_at_limit
    )
    prefix = blocks.setdefault(block, f"block{len(blocks)}")
    return renamed(block.table(plan.result, prefix), plan.desc)


def parts_without_blocks(plan: Plan) -> Iterator[Plan]:
    """Every plan that is run for ``plan``."""
    blocks: dict[RecursiveBlock, str] = {}
    yield without_blocks(plan, blocks)
    for block, prefix in blocks.items():
        for place in range(len(block.values)):
            yield from parts_without_blocks(block.over_tables(place, prefix))


def _over_tables(plan: Plan, tables: Mapping[int, Get]) -> Plan:
    """The plan with the tables in place of work tables, by id."""
    match plan:
        case WorkTable(id=id) if id in tables:
            return renamed(tables[id], plan.desc)
        case RecursiveUnion():
            inner = {id: table for id, table in tables.items() if id != plan.id}
            return replace(
                plan, base=_over_tables(plan.base, tables), step=_over_tables(plan.step, inner)
            )
        case MutualRecursion():
            tables = {id: table for id, table in tables.items() if id not in plan.ids}
    return with_inputs(plan, [_over_tables(part, tables) for part in inputs(plan)])
