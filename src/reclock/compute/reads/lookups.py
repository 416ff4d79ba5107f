"""Point lookups: a read by values of a column uses the updates of those rows in memory, not the
whole collection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.ids import StorageCollectionId
from reclock.algebra.relations import (
    DIFF_COLUMN,
    TIME_COLUMN,
    Column,
    RelationDesc,
    TypeName,
)
from reclock.algebra.textual import TEXTUAL_TYPES
from reclock.algebra.timestamps import Timestamp
from reclock.collections.arrangements import Arrangements, Having
from reclock.collections.schema import arrow_schema
from reclock.compute.engines.engine import (
    Answer,
    CollectionInput,
    Input,
    Inputs,
    TableInput,
    result_schema,
)
from reclock.compute.reads.columns import (
    compute_aggregate,
    compute_column,
    is_computable,
    is_computable_aggregate,
)
from reclock.compute.rendering import pushed_predicates, visible
from reclock.plan.relational import Filter, Finishing, Get, Map, Plan, Project, Reduce
from reclock.plan.scalar_trees import rewrite
from reclock.plan.scalars import Aggregate, Call, Cast, ColumnRef, Literal, Scalar
from reclock.plan.totality import could_error
from reclock.plan.traversal import nodes_by_id

NAME = "memory"

Values: TypeAlias = frozenset[Any]

_ORDERED = frozenset(
    {
        TypeName.SMALLINT,
        TypeName.INTEGER,
        TypeName.BIGINT,
        TypeName.TEXT,
        TypeName.BYTEA,
        *TEXTUAL_TYPES,
    }
)
"""Types whose values are equal, and ordered, in Arrow and Python as they are in SQL."""

_FEW = 100
"""A lookup of more values scans."""

_AT_ONCE = 1_000
"""More updates are left to an engine."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A query that needs no engine: computable scalars over the rows of a collection that have some
    of the values in each of the ``named`` columns; or over the one row of their ``aggregates``, if
    there are any."""

    get: Get
    named: Sequence[tuple[int, Values]]
    columns: Sequence[Scalar]
    aggregates: Sequence[Aggregate[Scalar]] = ()
    finishing: Finishing = field(default_factory=Finishing)
    outputs: tuple[Column, ...] = ()
    """The columns of the answer, which ``columns`` compute."""
    schema: pa.Schema | None = None
    """Of the answer."""


def lookup_of(plan: Plan, finishing: Finishing) -> Lookup | None:
    """The finished plan as a lookup; None if it is another query."""
    lookup = _lookup(plan)
    outputs = visible(plan.desc, finishing)
    if lookup is None or not outputs:  # arrays would not say how many rows there are
        return None
    return replace(
        lookup,
        columns=lookup.columns[: len(outputs)],
        finishing=finishing,
        outputs=outputs,
        schema=result_schema(outputs),
    )


def look_up(
    plan: Plan, finishing: Finishing, inputs: Inputs, as_of: Timestamp, arrangements: Arrangements
) -> tuple[Answer | None, Inputs]:
    """The plan's rows without an engine, and the inputs for an engine where there are none.

    If the plan looks up rows of an input by value, and few match, that input has only the updates
    of these rows. They are answered from memory if the plan only filters them and computes simple
    columns, or simple aggregates, of them.
    """
    lookup = lookup_of(plan, finishing)
    points = point_lookups(plan) if lookup is None else _points(lookup.get, lookup.named)
    narrowed: dict[StorageCollectionId, Input] = {}
    known = None
    for get, column, values in points:
        read = inputs[get.collection]
        if isinstance(read, CollectionInput):
            name = get.desc.names[column]
            updates = _updates_with(read, name, values, as_of, arrangements.having)
            if updates is not None:
                narrowed[get.collection] = TableInput(updates, has_updates=True)
                known = column, values
    if narrowed:
        inputs = {**inputs, **narrowed}
    if lookup is None:
        return None, inputs
    return _answer(lookup, inputs, as_of, known), inputs


def look_up_resident(
    lookup: Lookup, read: CollectionInput, as_of: Timestamp, arrangements: Arrangements
) -> pa.Table | None:
    """The rows of the lookup in this version of its collection. None if they are not all in memory
    yet, too many, or an engine must compute something of them. Reads no file."""
    for get, column, values in _points(lookup.get, lookup.named):
        name = get.desc.names[column]
        updates = _updates_with(read, name, values, as_of, arrangements.resident)
        if updates is not None:
            return _rows(lookup, updates, as_of, (column, values))
    return None


def _answer(
    lookup: Lookup, inputs: Inputs, as_of: Timestamp, known: tuple[int, Values] | None
) -> Answer | None:
    """The answer, if the lookup's collection is in memory and ``_rows`` can compute it."""
    read = inputs[lookup.get.collection]
    if not isinstance(read, TableInput) or not read.has_updates:
        return None
    rows = _rows(lookup, read.table, as_of, known)
    if rows is None:
        return None
    batches = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
    return Answer(NAME, lookup.outputs, batches, lambda: None)


def _rows(
    lookup: Lookup, updates: pa.Table, as_of: Timestamp, known: tuple[int, Values] | None
) -> pa.Table | None:
    """The rows of the lookup among these updates, which all have the ``known`` values in a column.
    None if they are too many, or an engine must compute something of them."""
    if updates.num_rows > _AT_ONCE:
        return None
    present = _until(updates, as_of)
    for named in lookup.named:
        if named != known:
            column, values = named
            present = _rows_with(present, lookup.get.desc.names[column], values)
    rows = _repeated(present, lookup.get.desc)
    if rows is None:
        return None
    finishing = lookup.finishing
    try:
        if lookup.aggregates:
            rows = _reduced(rows, lookup.aggregates)
        if _selects(finishing):
            if rows.num_rows > 1:
                return None
            rows = rows.slice(finishing.offset, finishing.limit)
        arrays = [compute_column(scalar, rows) for scalar in lookup.columns]
    except pa.ArrowInvalid:  # an engine says what is wrong
        return None
    return pa.Table.from_arrays(arrays, schema=lookup.schema)


def point_lookups(plan: Plan) -> Iterator[tuple[Get, int, Values]]:
    """Each collection that is read once, with a column whose values the plan names, preferably one
    of the key."""
    nodes = nodes_by_id(plan)
    reads = [node for node in nodes.values() if isinstance(node, Get)]
    predicates = pushed_predicates(nodes)
    for get in reads:
        if sum(read.collection == get.collection for read in reads) > 1:
            continue
        named = [
            values for values in map(_values, predicates.get(id(get), ())) if values is not None
        ]
        yield from _points(get, named)


def _points(get: Get, named: Sequence[tuple[int, Values]]) -> Iterator[tuple[Get, int, Values]]:
    """The column to look rows up by, of those with ``named`` values, unless it has many."""
    of_key = [
        (column, values)
        for column, values in named
        if get.desc.names[column] in (get.desc.key or ())
    ]
    for column, values in (of_key or named)[:1]:
        if len(values) <= _FEW:
            yield get, column, values


def _values(predicate: Scalar) -> tuple[int, Values] | None:
    """The column and the values, none NULL, that the predicate restricts it to. Integers are equal
    whatever their width, and texts of ``char(n)`` whatever their length."""
    match predicate:
        case Call("=", (side, Literal(value, of)) | (Literal(value, of), side)) if (
            value is not None
        ):
            if isinstance(side, Cast) and _keeps_values(side):
                side = side.operand
            if (
                isinstance(side, ColumnRef)
                and side.type.name in _ORDERED
                and (of == side.type or of.is_integer or of.name is TypeName.BPCHAR)
            ):
                return side.index, frozenset({value})
        case Call("= any", (ColumnRef(index, of), Literal(tuple() as values, array))) if (
            of.name in _ORDERED and array.element == of
        ):
            return index, frozenset(values) - {None}
        case Call("or", parts):
            named = [values for values in map(_values, parts) if values is not None]
            columns = {column for column, _ in named}
            if len(named) == len(parts) and len(columns) == 1:
                return columns.pop(), frozenset().union(*(values for _, values in named))
    return None


def _keeps_values(cast: Cast) -> bool:
    """Whether the cast is among integers, or among ``char(n)``, and changes no value."""
    source, target = cast.operand.type, cast.type
    if source.name is target.name is TypeName.BPCHAR:
        return target.is_unconstrained or target.length is None
    return source.is_integer and target.is_integer and not could_error(cast)


def _updates_with(
    input: CollectionInput,
    column: str,
    values: Values,
    as_of: Timestamp,
    having: Having,
) -> pa.Table | None:
    matching = having(input.version, input.files(as_of), column, values, as_of)
    if matching is None:
        return None
    names = [*input.version.desc.names, TIME_COLUMN, DIFF_COLUMN]
    if input.tail is not None and input.tail.num_rows:
        matching.append(_rows_with(input.tail, column, values).select(names))
    if not matching:
        return arrow_schema(input.version.desc, with_updates=True).empty_table()
    return matching[0] if len(matching) == 1 else pa.concat_tables(matching)


def _until(updates: pa.Table, as_of: Timestamp) -> pa.Table:
    """The updates at times up to ``as_of``. For a few updates, Python is many times as fast as
    Arrow."""
    is_past = [time <= as_of for time in updates[TIME_COLUMN].to_pylist()]
    return updates if all(is_past) else updates.filter(pa.array(is_past))


def _rows_with(updates: pa.Table, column: str, values: Values) -> pa.Table:
    sought = _array(values, updates.schema.field(column).type)
    is_wanted = (
        pc.equal(updates[column], sought[0])
        if len(sought) == 1
        else pc.is_in(updates[column], sought)
    )
    if is_wanted.null_count:
        is_wanted = pc.fill_null(is_wanted, False)
    [indexes] = is_wanted.to_numpy().nonzero()
    if len(indexes) > 1:
        return updates.take(indexes)
    # a slice costs a tenth of what taking one row costs
    return updates.slice(indexes[0] if len(indexes) else 0, len(indexes))


def _array(values: Values, type: pa.DataType) -> pa.Array:
    """The values as an array of the type, without those that the type cannot hold, which no row
    has. This converts a few values instead of many rows."""
    try:
        return pa.array(values, type)
    except (pa.ArrowInvalid, OverflowError):
        info = np.iinfo(type.to_pandas_dtype())
        return pa.array((value for value in values if info.min <= value <= info.max), type)


def _lookup(plan: Plan) -> Lookup | None:
    match plan:
        case Project(inner, indexes) if (lookup := _lookup(inner)) is not None:
            return replace(lookup, columns=[lookup.columns[index] for index in indexes])
        case Map(inner, scalars) if all(map(is_computable, scalars)) and (
            (lookup := _lookup(inner)) is not None
        ):
            computed = [_over(scalar, lookup.columns) for scalar in scalars]
            return replace(lookup, columns=[*lookup.columns, *computed])
        case Reduce(inner, (), aggregates) if aggregates and all(
            map(is_computable_aggregate, aggregates)
        ):
            lookup = _lookup(inner)
            return _aggregated(lookup, aggregates) if lookup is not None else None
        case Filter(Get() as get, predicates) if not any(
            column.type.is_float for column in get.desc.columns
        ):
            named = [values for values in map(_values, predicates) if values is not None]
            columns = [ColumnRef(index, type) for index, type in enumerate(get.desc.types)]
            return Lookup(get, named, columns) if len(named) == len(predicates) else None
    return None


def _over(scalar: Scalar, columns: Sequence[Scalar]) -> Scalar:
    """The scalar with ``columns`` in the place of the references to them."""
    return rewrite(
        scalar, lambda part: columns[part.index] if isinstance(part, ColumnRef) else None
    )


def _aggregated(lookup: Lookup, aggregates: Sequence[Aggregate[Scalar]]) -> Lookup | None:
    """The aggregates over the rows of the lookup, if it has none yet."""
    if lookup.aggregates:
        return None
    over_rows = []
    for aggregate in aggregates:
        arguments = tuple(_over(argument, lookup.columns) for argument in aggregate.arguments)
        over_rows.append(replace(aggregate, arguments=arguments))
    columns = [ColumnRef(index, aggregate.type) for index, aggregate in enumerate(aggregates)]
    return replace(lookup, columns=columns, aggregates=over_rows)


def _reduced(rows: pa.Table, aggregates: Sequence[Aggregate[Scalar]]) -> pa.Table:
    """One row with the values of the aggregates over all of the rows."""
    values = [compute_aggregate(aggregate, rows) for aggregate in aggregates]
    return pa.table(values, [str(index) for index in range(len(values))])


def _selects(finishing: Finishing) -> bool:
    """Whether the order of several rows, or which of them there are, is an engine's to say."""
    return bool(finishing.order or finishing.offset) or finishing.limit is not None


def _repeated(updates: pa.Table, desc: RelationDesc) -> pa.Table | None:
    """Each row as often as its diffs add up to; None if a sum is negative, which an engine
    reports, or if Arrow cannot compare the rows."""
    rows = updates.select(desc.names)
    if all(diff == 1 for diff in updates[DIFF_COLUMN].to_pylist()):
        return rows
    if any(map(pa.types.is_nested, rows.schema.types)):
        return None
    summed = updates.group_by(list(desc.names), use_threads=False).aggregate([(DIFF_COLUMN, "sum")])
    counts = summed[f"{DIFF_COLUMN}_sum"].to_numpy()
    if (counts < 0).any():
        return None
    return summed.select(desc.names).take(np.repeat(np.arange(len(counts)), counts))
