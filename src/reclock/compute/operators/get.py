"""Get: a collection's rows at the plan's time, each as often as its diffs sum to."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, Column, TypeName
from reclock.compute.expressions import to_sql
from reclock.compute.functions.spelling import identifier, literal, raised, type_sql
from reclock.compute.operators.rules import Rendering, demand, select_list, snapshot
from reclock.compute.plan import Get


@snapshot.register
def _(node: Get, rendering: Rendering, inputs: Sequence[str]) -> str:
    engine = rendering.engine
    relation = rendering.relations[str(node.collection)]
    wanted = rendering.wanted[id(node)]
    read = [stored(engine, column) if i in wanted else None for i, column in enumerate(node.desc.columns)]
    if not relation.is_counted:
        return f"SELECT {select_list(_all(node, engine, read))} FROM {relation.name}"
    # A row is there with all of its updates or with none: what is known of rows that are kept leaves out updates too.
    kept = [to_sql(each, engine, [expression or "" for expression in read]) for each in rendering.kept.get(id(node), ())]
    until = " AND ".join([f"{TIME_COLUMN} <= {rendering.as_of:d}", *kept])
    if relation.is_single:
        return f"SELECT {select_list(_all(node, engine, read))} FROM {relation.name} WHERE {until}"
    if relation.is_monotonic:
        rows = select_list(_all(node, engine, read))
        counted = f"SELECT {rows}, {DIFF_COLUMN} AS n FROM {relation.name} WHERE {until} AND {DIFF_COLUMN} <> 1"
        return (
            f"SELECT {rows} FROM {relation.name} WHERE {until} AND {DIFF_COLUMN} = 1 "
            f"UNION ALL {_repeated(engine, node, counted, [f'c{i}' for i in range(len(node.desc))])}"
        )
    keys = [f"{expression} AS c{i}" for i, expression in enumerate(read) if expression is not None]
    groups = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    counted_columns = ", ".join([*keys, f"CAST(sum({DIFF_COLUMN}) AS BIGINT) AS n"])
    counted = f"SELECT {counted_columns} FROM {relation.name} WHERE {until}{groups} HAVING sum({DIFF_COLUMN}) <> 0"
    named = [None if expression is None else f"c{i}" for i, expression in enumerate(read)]
    return _repeated(engine, node, counted, _all(node, engine, named))


@demand.register
def _(node: Get, wanted: frozenset[int]) -> tuple[frozenset[int], ...]:
    return ()


def stored(engine: str, column: Column) -> str:
    """A stored column as a value of the plan: no negative zero, and moments with a zone as they are in UTC."""
    name = identifier(engine, column.name)
    if column.type.is_float:
        return f"(CASE WHEN {name} = 0 THEN CAST(0 AS {type_sql(engine, column.type)}) ELSE {name} END)"
    if engine == "duckdb" and column.type.name is TypeName.TIMESTAMPTZ:
        return f"make_timestamp(epoch_us({name}))"
    return name


def _all(node: Get, engine: str, read: Sequence[str | None]) -> list[str]:
    """A column for every column of the desc; those that nobody reads are NULL."""
    types = node.desc.types
    return [literal(engine, None, types[i]) if expression is None else expression for i, expression in enumerate(read)]


def _repeated(engine: str, node: Get, counted: str, expressions: Sequence[str]) -> str:
    """The rows of ``counted``, each ``n`` times. A negative count means that the collection is broken."""
    broken = raised(engine, "XX000", "'a row of a collection has a negative multiplicity'")
    if engine == "duckdb":
        times = f"unnest(range(CASE WHEN n < 0 THEN {broken} ELSE n END))"
        inner = f"SELECT *, {times} AS copy FROM ({counted})"
        return f"SELECT {select_list(expressions)} FROM ({inner})"
    times = f"sequence(1L, CASE WHEN n < 0 THEN CAST({broken} AS BIGINT) ELSE n END)"
    return f"SELECT {select_list(expressions)} FROM ({counted}) LATERAL VIEW explode({times}) copies AS copy"
