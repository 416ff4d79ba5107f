"""The rows that a plan gains while its inputs only gain rows, and recursions that can be continued
from such rows (semi-naive evaluation).

Rows count as a set here: a plan's rows are those that it has at least once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import BOOLEAN
from reclock.compute.operators import is_monotone
from reclock.plan.mutual_recursion import RecursiveBlock, renamed
from reclock.plan.relational import (
    Distinct,
    Get,
    Join,
    JoinKind,
    Map,
    MutualRecursion,
    Plan,
    Project,
    RecursiveUnion,
    Union,
    collections,
    inputs,
    with_inputs,
    work_tables,
)
from reclock.plan.scalars import Call, ColumnRef
from reclock.plan.temporal import reads_now


def over_new_rows(plan: Plan, new: Mapping[StorageCollectionId, StorageCollectionId]) -> list[Plan]:
    """Plans that together have every row that ``plan`` gains when some collections gain the rows of
    the collections ``new``, and only rows of ``plan``.

    Each reads the new rows in one place, and all rows in the others. Every node between such a
    place and the top must be monotone.
    """
    if isinstance(plan, Get):
        return [replace(plan, collection=new[plan.collection])] if plan.collection in new else []
    parts, plans = inputs(plan), list[Plan]()
    for place, part in enumerate(parts):
        for gained in over_new_rows(part, new):
            if isinstance(plan, Union):
                plans.append(renamed(gained, plan.desc))
            else:
                gained = renamed(gained, part.desc)
                plans.append(with_inputs(plan, [*parts[:place], gained, *parts[place + 1 :]]))
    return plans


def without_rows(plan: Plan, earlier: Plan) -> Plan:
    """The distinct rows of ``plan`` that ``earlier``, which has its types, does not have."""
    width = len(plan.desc)
    equal = tuple(
        Call("is_not_distinct", (ColumnRef(i, type), ColumnRef(width + i, type)), BOOLEAN)
        for i, type in enumerate(plan.desc.types)
    )
    return Join(Distinct(plan), earlier, JoinKind.ANTI, (), equal, plan.desc)


def is_monotone_where(plan: Plan, reads: Callable[[Plan], bool]) -> bool:
    """Whether every node that ``reads`` something, and has inputs, is monotone: more rows there
    never give fewer rows of the plan."""
    parts = inputs(plan)
    return not reads(plan) or (
        (not parts or is_monotone(plan)) and all(is_monotone_where(part, reads) for part in parts)
    )


def growing_bindings(block: RecursiveBlock) -> frozenset[int]:
    """The places of bindings that are sets and only gain rows from iteration to iteration."""
    growing = {
        place
        for place, value in enumerate(block.values)
        if _is_set(value)
        and is_monotone_where(value, lambda part: bool(work_tables(part) & set(block.ids)))
    }
    while lost := {place for place in growing if not growing.issuperset(block.reads(place))}:
        growing -= lost
    return frozenset(growing)


def _is_set(plan: Plan) -> bool:
    """Whether the plan is known to have each row once, and rows are equal where ``IS NOT DISTINCT
    FROM`` says so."""
    if any(type.base.has_intervals for type in plan.desc.types):
        return False
    while isinstance(plan, Project) and _has_all_columns(plan):
        plan = plan.input
    return isinstance(plan, Distinct)


def _has_all_columns(project: Project) -> bool:
    return set(project.indexes) >= set(range(len(project.input.desc)))


def continued_recursion(plan: Plan) -> tuple[Plan, RecursiveBlock] | None:
    """The recursion that the plan shows with all columns, and that can be continued when its inputs
    only gain rows, and its block of one binding; None if there is none."""
    node = plan
    while isinstance(node, Map) or (isinstance(node, Project) and _has_all_columns(node)):
        node = node.input
    match node:
        case RecursiveUnion(is_distinct=True):
            value = Distinct(Union((node.base, node.step), node.desc))
            # the base and one iteration that adds nothing, besides those that the limit counts
            most = node.most_iterations + 2
            block = RecursiveBlock((value,), (node.id,), (node.name,), most, False)
        case MutualRecursion(values=(_,)):
            block = RecursiveBlock(
                node.values, node.ids, node.names, node.most_iterations, node.returns_at_limit
            )
        case _:
            return None
    is_continued = (
        growing_bindings(block)
        and is_monotone_where(block.values[0], lambda part: bool(collections(part)))
        and not reads_now(plan)
    )
    return (node, block) if is_continued else None
