"""Which columns of collections the columns of a plan come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from reclock.algebra.ids import StorageCollectionId
from reclock.plan.relational import (
    Arrangement,
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
    Ordering,
    Plan,
    Project,
    RecursiveUnion,
    Reduce,
    TopK,
    Union,
    Window,
    WorkTable,
)
from reclock.plan.scalar_trees import columns_of
from reclock.plan.scalars import Aggregate, ColumnRef, Scalar


class Use(IntEnum):
    """How a column is used. The first three are ordered: a value that goes through several of them
    has the last one. The others decide which rows there are, and belong to no column."""

    IDENTITY = 1
    TRANSFORMATION = 2
    AGGREGATION = 3
    JOIN = 4
    GROUP_BY = 5
    FILTER = 6
    SORT = 7
    WINDOW = 8

    @property
    def is_direct(self) -> bool:
        return self <= Use.AGGREGATION


@dataclass(frozen=True, slots=True)
class Origin:
    """A column of a collection, by its name, and how it is used."""

    collection: StorageCollectionId
    column: str
    use: Use = Use.IDENTITY

    def used(self, use: Use) -> Origin:
        return replace(self, use=max(self.use, use) if use.is_direct else use)


Origins = frozenset[Origin]


@dataclass(frozen=True, slots=True)
class Lineage:
    """The origins of each column, in order, and those that decide which ``rows`` there are."""

    columns: tuple[Origins, ...]
    rows: Origins = frozenset()

    def of(self, indexes: Iterable[int], use: Use) -> Origins:
        """What the columns come from, if they are used so."""
        return frozenset(origin.used(use) for index in indexes for origin in self.columns[index])

    def deciding(self, indexes: Iterable[int], use: Use) -> Lineage:
        """The same columns, if these columns decide about rows."""
        return replace(self, rows=self.rows | self.of(indexes, use))

    def followed_by(self, *columns: Origins) -> Lineage:
        return replace(self, columns=self.columns + columns)

    def beside(self, other: Lineage) -> Lineage:
        """The union of both, column by column."""
        both = zip(self.columns, other.columns, strict=True)
        return Lineage(tuple(left | right for left, right in both), self.rows | other.rows)


def lineage(plan: Plan) -> Lineage:
    """The lineage of the plan's columns. A recursion is followed until nothing is added."""
    return _lineage(plan, {})


def _lineage(plan: Plan, work_tables: Mapping[tuple[bool, int], Lineage]) -> Lineage:
    def of(input: Plan) -> Lineage:
        return _lineage(input, work_tables)

    match plan:
        case Get(collection=collection, desc=desc):
            return Lineage(tuple(frozenset({Origin(collection, name)}) for name in desc.names))
        case Constant(desc=desc):
            return _nothing(desc.names)
        case WorkTable(id=id, is_binding=is_binding, desc=desc):
            return work_tables.get((is_binding, id), _nothing(desc.names))
        case Map(input=input, scalars=scalars):
            mapped = of(input)
            for scalar in scalars:  # a scalar may refer to one before it
                mapped = mapped.followed_by(_scalar(mapped, scalar))
            return mapped
        case Filter(input=input, predicates=predicates):
            return of(input).deciding(_columns(predicates), Use.FILTER)
        case Project(input=input, indexes=indexes):
            whole = of(input)
            return replace(whole, columns=tuple(whole.columns[index] for index in indexes))
        case Join():
            return _join(plan, of(plan.left), of(plan.right))
        case Reduce(input=input, group_by=group_by, aggregates=aggregates):
            whole = of(input)
            grouped = whole.deciding(group_by, Use.GROUP_BY)
            columns = [whole.columns[index] for index in group_by]
            columns += [_aggregate(whole, aggregate) for aggregate in aggregates]
            return replace(grouped, columns=tuple(columns))
        case Distinct(input=input) | Arrangement(input=input):
            return of(input)
        case TopK(input=input, group_by=group_by, order=order):
            sorted = of(input).deciding(_positions(order), Use.SORT)
            return sorted.deciding(group_by, Use.GROUP_BY)
        case FlatMap(input=input, arrays=arrays):
            whole = of(input)
            elements = [whole.of(columns_of(array), Use.TRANSFORMATION) for array in arrays]
            return whole.followed_by(*elements)
        case Window():
            return _window(plan, of(plan.input))
        case Union(inputs=inputs):
            first, *others = map(of, inputs)
            for other in others:
                first = first.beside(other)
            return first
        case Except() | Intersect():
            left, right = of(plan.left), of(plan.right)
            deciding = right.of(range(len(right.columns)), Use.FILTER)
            return replace(left, rows=left.rows | right.rows | deciding)
        case RecursiveUnion(base=base, step=step, id=id):
            result = of(base)
            while True:
                tables = {**work_tables, (False, id): result}
                if (wider := result.beside(_lineage(step, tables))) == result:
                    return result
                result = wider
        case MutualRecursion(values=values, ids=ids, result=index):
            bindings = [_nothing(value.desc.names) for value in values]
            while True:
                before = list(bindings)
                for position, value in enumerate(values):
                    named = zip(ids, bindings, strict=True)
                    tables = {**work_tables, **{(True, id): binding for id, binding in named}}
                    bindings[position] = bindings[position].beside(_lineage(value, tables))
                if bindings == before:
                    return bindings[index]


def _nothing(names: Sequence[str]) -> Lineage:
    return Lineage((frozenset(),) * len(names))


def _scalar(input: Lineage, scalar: Scalar) -> Origins:
    use = Use.IDENTITY if isinstance(scalar, ColumnRef) else Use.TRANSFORMATION
    return input.of(columns_of(scalar), use)


def _join(plan: Join, left: Lineage, right: Lineage) -> Lineage:
    pairs = Lineage(left.columns + right.columns, left.rows | right.rows)
    width = len(left.columns)
    keys = [index for a, b in plan.keys for index in (a, width + b)]
    joined = pairs.deciding([*keys, *_columns(plan.residual)], Use.JOIN)
    is_of_left = plan.kind in (JoinKind.SEMI, JoinKind.ANTI)
    return replace(joined, columns=left.columns) if is_of_left else joined


def _aggregate(input: Lineage, aggregate: Aggregate) -> Origins:
    read = [*aggregate.arguments, *([] if aggregate.filter is None else [aggregate.filter])]
    return input.of(_columns(read), Use.AGGREGATION)


def _window(plan: Window, input: Lineage) -> Lineage:
    ordered = input.deciding([*plan.group_by, *_positions(plan.order)], Use.WINDOW)
    function = plan.function
    if isinstance(function, Aggregate):
        return ordered.followed_by(_aggregate(input, function))
    read = (function.value, function.default, function.row_offset)
    used = [index for index in read if index is not None]
    return ordered.followed_by(input.of(used, Use.TRANSFORMATION))


def _columns(scalars: Iterable[Scalar]) -> frozenset[int]:
    return frozenset().union(*(columns_of(scalar) for scalar in scalars))


def _positions(order: Sequence[Ordering]) -> list[int]:
    return [ordering.index for ordering in order]
