"""Lookups: reads that name values of a column find the updates of those rows in memory, in place of the whole collection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, RelationDesc, TypeName
from reclock.algebra.timestamps import Timestamp
from reclock.collections.arrangements import Arrangements
from reclock.compute.engines.engine import Answer, CollectionInput, Inputs, TableInput, result_schema
from reclock.compute.rendering import list_nodes, pushed_predicates, visible
from reclock.plan.relational import Filter, Finishing, Get, Plan, Project
from reclock.plan.scalars import Call, Cast, ColumnRef, Literal, Scalar
from reclock.plan.totality import could_error

NAME = "memory"

Values: TypeAlias = frozenset[Any]

_ORDERED = frozenset({TypeName.SMALLINT, TypeName.INTEGER, TypeName.BIGINT, TypeName.TEXT, TypeName.BYTEA})
"""Types whose values are equal, and ordered, in Arrow and Python as they are in SQL."""

_FEW = 100
"""Of how many values each is looked for; more are found by a scan."""

_AT_ONCE = 1_000
"""How many updates are looked through without an engine."""


def narrow_inputs(plan: Plan, given: Inputs, as_of: Timestamp, arrangements: Arrangements) -> Inputs:
    """The inputs, those whose rows the plan names by values reduced to these rows' updates, where that is the better way."""
    found = {}
    for get, column, values in point_lookups(plan):
        read = given[get.collection]
        if isinstance(read, CollectionInput):
            updates = _having(read, get.desc.names[column], values, as_of, arrangements)
            if updates is not None:
                found[get.collection] = TableInput(updates, has_updates=True)
    return {**given, **found} if found else given


def answer_from_memory(plan: Plan, finishing: Finishing, given: Inputs, as_of: Timestamp) -> Answer | None:
    """The plan's rows without any engine, if it asks no more of updates that were found than some of their columns."""
    shown = _shown(plan)
    if shown is None or finishing.order or finishing.limit is not None or finishing.offset:
        return None
    get, named, indexes = shown
    read = given[get.collection]
    if not isinstance(read, TableInput) or not read.has_updates or read.table.num_rows > _AT_ONCE:
        return None
    rows = read.table.filter(pc.less_equal(read.table[TIME_COLUMN], as_of))
    for column, values in named:
        rows = _rows_with(rows, get.desc.names[column], values)
    rows = _repeated(rows, get.desc)
    if rows is None:
        return None
    columns = visible(plan.desc, finishing)
    schema = result_schema(columns)
    table = pa.Table.from_arrays([rows.column(index) for index in indexes[: len(columns)]], schema=schema)
    return Answer(NAME, columns, pa.RecordBatchReader.from_batches(schema, table.to_batches()), lambda: None)


def point_lookups(plan: Plan) -> Iterator[tuple[Get, int, Values]]:
    """Each collection that is read once, and a column whose values in all rows that count are named: one of a key, if there is."""
    nodes: dict[int, Plan] = {}
    list_nodes(plan, nodes)
    reads = [node for node in nodes.values() if isinstance(node, Get)]
    kept = pushed_predicates(nodes)
    for get in reads:
        if sum(each.collection == get.collection for each in reads) > 1:
            continue
        named = [each for each in map(_values, kept.get(id(get), ())) if each is not None]
        of_key = [each for each in named if get.desc.names[each[0]] in (get.desc.key or ())]
        for column, values in (of_key or named)[:1]:
            if len(values) <= _FEW:
                yield get, column, values


def _values(predicate: Scalar) -> tuple[int, Values] | None:
    """The column, and the values, none NULL, of which the predicate says it has one. Integers are equal whatever their width."""
    match predicate:
        case Call("=", (side, Literal(value, of)) | (Literal(value, of), side)) if value is not None:
            if isinstance(side, Cast) and side.type.is_integer and side.operand.type.is_integer and not could_error(side):
                side = side.operand
            if isinstance(side, ColumnRef) and side.type.name in _ORDERED and (of == side.type or of.is_integer):
                return side.index, frozenset({value})
        case Call("or", parts):
            found = [_values(part) for part in parts]
            columns = {each[0] for each in found if each is not None}
            if None not in found and len(columns) == 1:
                return columns.pop(), frozenset().union(*(each[1] for each in found if each is not None))
    return None


def _having(given: CollectionInput, column: str, values: Values, as_of: Timestamp, arrangements: Arrangements) -> pa.Table | None:
    updates = arrangements.having(given.version, given.files(as_of), column, values)
    if updates is None or given.tail is None:
        return updates
    return pa.concat_tables([updates, _rows_with(given.tail, column, values).select(updates.column_names)])


def _rows_with(updates: pa.Table, column: str, values: Values) -> pa.Table:
    named = pa.array(values)
    return updates.filter(pc.is_in(updates[column].cast(named.type), named))


def _shown(plan: Plan) -> tuple[Get, Sequence[tuple[int, Values]], Sequence[int]] | None:
    """What is read, which values it must have, and the columns that are shown of it."""
    match plan:
        case Project(inner, indexes) if (shown := _shown(inner)) is not None:
            get, named, columns = shown
            return get, named, [columns[index] for index in indexes]
        case Filter(Get() as get, predicates) if not any(column.type.is_float for column in get.desc.columns):
            found = [each for each in map(_values, predicates) if each is not None]
            return (get, found, range(len(get.desc))) if len(found) == len(predicates) else None
    return None


def _repeated(updates: pa.Table, desc: RelationDesc) -> pa.Table | None:
    """Each row as often as its diffs sum to; None if that is below zero, which an engine tells of."""
    rows = updates.select(desc.names)
    if pc.all(pc.equal(updates[DIFF_COLUMN], 1)).as_py() or not updates.num_rows:
        return rows
    summed = updates.group_by(list(desc.names)).aggregate([(DIFF_COLUMN, "sum")])
    counts = summed[f"{DIFF_COLUMN}_sum"].to_numpy()
    if (counts < 0).any():
        return None
    return summed.select(desc.names).take(np.repeat(np.arange(len(counts)), counts))
