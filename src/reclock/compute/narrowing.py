"""Plans without the columns that nothing reads.

The optimizer leaves such columns in plans. An engine skips them when it runs a query, but it must
read and plan a longer statement; a refresh stores what it computes on the way, columns that nothing
reads too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any

from reclock.algebra.relations import RelationDesc
from reclock.compute.rendering import required_columns
from reclock.plan.build import project
from reclock.plan.calls import node_scalars
from reclock.plan.equality import EqualPlans
from reclock.plan.relational import (
    Constant,
    Distinct,
    Except,
    Filter,
    FlatMap,
    Get,
    Intersect,
    Join,
    JoinKind,
    Map,
    MutualRecursion,
    Plan,
    Project,
    RecursiveUnion,
    Reduce,
    TopK,
    Union,
    Window,
    inputs,
    with_inputs,
)
from reclock.plan.scalar_trees import is_random, move_columns
from reclock.plan.scalars import Aggregate
from reclock.plan.traversal import nodes_by_id

_COMPUTING = (Join, Reduce, Distinct, TopK, Window, Except, Intersect)


def narrowed(plan: Plan, *, is_read: bool = False) -> Plan:
    """An equal plan whose nodes have only the columns that something reads, in the same order.

    A node that several nodes read stays one node. Equal nodes become one, unless they draw random
    values, and but for collections: predicates are pushed down to a collection that only one filter
    reads. If the plan ``is_read``, and not maintained, only nodes over joins and groups do: an
    engine reads and filters a collection twice faster than it stores the rows in between. Plans
    with a recursion are returned as they are.
    """
    nodes = nodes_by_id(plan)
    if any(isinstance(node, RecursiveUnion | MutualRecursion) for node in nodes.values()):
        return plan
    required = required_columns(plan, nodes)
    results: dict[int, _Narrowed] = {}
    equal = EqualPlans()
    computing, random = set[int](), set[int]()
    for key, node in nodes.items():
        columns = tuple(sorted(required[key]))
        result = _cut(_narrow(node, columns, [results[id(part)] for part in inputs(node)]), columns)
        below = set(map(id, inputs(node)))
        if isinstance(node, _COMPUTING) or below & computing:
            computing.add(key)
        if any(map(is_random, node_scalars(node))) or below & random:
            random.add(key)
        is_costly = key in computing if is_read else not isinstance(node, Get)
        if is_costly and key not in random:
            result = replace(result, plan=equal.first(result.plan))
        results[key] = result
    return results[id(plan)].plan


@dataclass(frozen=True)
class _Narrowed:
    """A plan whose columns are those at ``columns``, ascending, of the node that it replaces."""

    plan: Plan
    columns: tuple[int, ...]

    @cached_property
    def places(self) -> Mapping[int, int]:
        """Where each column is now."""
        return {column: place for place, column in enumerate(self.columns)}

    def moved(self, scalars: Sequence[Any]) -> tuple[Any, ...]:
        """``scalars`` over the columns of the node, over those of the plan."""
        places = self.places
        return tuple(move_columns(scalar, lambda index: places[index]) for scalar in scalars)


def _cut(narrowed: _Narrowed, columns: Sequence[int]) -> _Narrowed:
    if narrowed.columns == columns:
        return narrowed
    return _Narrowed(
        project(narrowed.plan, [narrowed.places[column] for column in columns]), tuple(columns)
    )


def _only(desc: RelationDesc, columns: Sequence[int]) -> RelationDesc:
    left = tuple(desc.columns[column] for column in columns)
    has_key = desc.key is not None and set(desc.key) <= {column.name for column in left}
    return RelationDesc(left, desc.key if has_key else None)


@singledispatch
def _narrow(node: Plan, required: Sequence[int], parts: Sequence[_Narrowed]) -> _Narrowed:
    """The node over ``parts`` with at least the ``required`` columns. By default it has all of
    them, and needs all of its inputs'."""
    whole = with_inputs(node, [part.plan for part in parts])
    return _Narrowed(whole, tuple(range(len(node.desc))))


@_narrow.register
def _(node: Get, required: Sequence[int], parts: Sequence[_Narrowed]) -> _Narrowed:
    return _Narrowed(replace(node, desc=_only(node.desc, required)), tuple(required))


@_narrow.register
def _(node: Constant, required: Sequence[int], parts: Sequence[_Narrowed]) -> _Narrowed:
    rows = tuple(tuple(row[column] for column in required) for row in node.rows)
    return _Narrowed(Constant(rows, _only(node.desc, required)), tuple(required))


@_narrow.register
def _(node: Filter, required: Sequence[int], parts: Sequence[_Narrowed]) -> _Narrowed:
    [part] = parts
    return _Narrowed(Filter(part.plan, part.moved(node.predicates)), part.columns)


@_narrow.register
def _(node: Map, required: Sequence[int], parts: Sequence[_Narrowed]) -> _Narrowed:
    [part] = parts
    width = len(node.input.desc)
    computed = [column for column in required if column >= width]
    if not computed:
        return part
    columns = (*part.columns, *computed)
    scalars = part.moved([node.scalars[column - width] for column in computed])
    return _Narrowed(Map(part.plan, scalars, _only(node.desc, columns)), columns)


@_narrow.register
def _(node: Project, required: Sequence[int], parts: Sequence[_Narrowed]) -> _Narrowed:
    [part] = parts
    source, indexes = part.plan, [part.places[node.indexes[column]] for column in required]
    if isinstance(source, Project):
        indexes = [source.indexes[index] for index in indexes]
        source = source.input
    return _Narrowed(Project(source, tuple(indexes), _only(node.desc, required)), tuple(required))


@_narrow.register
def _(node: Join, required: Sequence[int], parts: Sequence[_Narrowed]) -> _Narrowed:
    left, right = parts
    width = len(node.left.desc)
    pairs = _Narrowed(node, (*left.columns, *(column + width for column in right.columns)))
    keys = tuple((left.places[i], right.places[j]) for i, j in node.keys)
    columns = left.columns if node.kind in (JoinKind.SEMI, JoinKind.ANTI) else pairs.columns
    joined = Join(
        left.plan,
        right.plan,
        node.kind,
        keys,
        pairs.moved(node.residual),
        _only(node.desc, columns),
    )
    return _Narrowed(joined, columns)


@_narrow.register
def _(node: Reduce, required: Sequence[int], parts: Sequence[_Narrowed]) -> _Narrowed:
    [part] = parts
    width = len(node.group_by)
    columns = (*range(width), *(column for column in required if column >= width))
    aggregates = tuple(
        _moved_aggregate(node.aggregates[column - width], part) for column in columns[width:]
    )
    group_by = tuple(part.places[column] for column in node.group_by)
    return _Narrowed(Reduce(part.plan, group_by, aggregates, _only(node.desc, columns)), columns)


def _moved_aggregate(aggregate: Aggregate, part: _Narrowed) -> Aggregate:
    filter = None if aggregate.filter is None else part.moved([aggregate.filter])[0]
    return replace(aggregate, arguments=part.moved(aggregate.arguments), filter=filter)


@_narrow.register
def _(node: FlatMap, required: Sequence[int], parts: Sequence[_Narrowed]) -> _Narrowed:
    [part] = parts
    columns = (*part.columns, *range(len(node.input.desc), len(node.desc)))
    return _Narrowed(
        FlatMap(part.plan, part.moved(node.arrays), _only(node.desc, columns)), columns
    )


@_narrow.register
def _(node: Union, required: Sequence[int], parts: Sequence[_Narrowed]) -> _Narrowed:
    return _Narrowed(
        Union(
            tuple(_cut(part, tuple(required)).plan for part in parts), _only(node.desc, required)
        ),
        tuple(required),
    )
