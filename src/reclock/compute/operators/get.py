"""Get: a collection's rows at the plan's time, each as often as its diffs sum to."""

from __future__ import annotations

from collections.abc import Sequence

from reclock.algebra.relations import DIFF_COLUMN, TIME_COLUMN, Column, ScalarType, TypeName
from reclock.compute.expressions.sql import condition_to_sql
from reclock.compute.operators.rules import (
    DeltaStep,
    KeyFilter,
    Rendering,
    delta,
    demand,
    origin,
    select_list,
    snapshot,
)
from reclock.errors import NegativeMultiplicity
from reclock.plan.functions.sql_names import (
    case_sql,
    each_element,
    field_names,
    identifier,
    literal,
    raised,
    struct,
    type_sql,
)
from reclock.plan.relational import Get


@snapshot.register
def _(node: Get, rendering: Rendering, inputs: Sequence[str]) -> str:
    return rows(node, rendering)


def rows(node: Get, rendering: Rendering, key_filter: KeyFilter | None = None) -> str:
    """The collection's rows at the rendering's time, or some of them."""
    engine = rendering.engine
    relation = rendering.relations[str(node.collection)]
    read = _read(node, rendering)
    if not relation.is_counted:
        return f"SELECT {select_list(_all(node, engine, read))} FROM {relation.name}"
    source, until = (
        relation.name,
        " AND ".join([f"{TIME_COLUMN} <= {rendering.as_of:d}", *_pushed(node, rendering, read)]),
    )
    if key_filter is not None:
        inner = [
            f"{expression} AS c{i}" for i, expression in enumerate(read) if expression is not None
        ]
        source = f"(SELECT {', '.join([*inner, DIFF_COLUMN])} FROM {source} WHERE {until}) AS r"
        read = [None if expression is None else f"r.c{i}" for i, expression in enumerate(read)]
        until = key_filter.condition([f"r.c{i}" for i in range(len(read))])
    if id(node) in rendering.signed:
        updates = select_list(_all(node, engine, read))
        return f"SELECT {updates}, {DIFF_COLUMN} AS n FROM {source} WHERE {until}"
    if relation.is_single:
        return f"SELECT {select_list(_all(node, engine, read))} FROM {source} WHERE {until}"
    if relation.is_monotonic:
        row_values = select_list(_all(node, engine, read))
        counted = (
            f"SELECT {row_values}, {DIFF_COLUMN} AS n FROM {source} "
            f"WHERE {until} AND {DIFF_COLUMN} <> 1"
        )
        return (
            f"SELECT {row_values} FROM {source} WHERE {until} AND {DIFF_COLUMN} = 1 "
            f"UNION ALL {repeated(engine, counted, [f'c{i}' for i in range(len(node.desc))])}"
        )
    named = [None if expression is None else f"c{i}" for i, expression in enumerate(read)]
    values = _all(node, engine, named)
    if relation.is_mostly_single and engine == "duckdb" and key_filter is None and any(read):
        return _mostly_single(node, read, f"{source} WHERE {until}", values)
    return repeated(engine, _summed(read, source, until), values)


def _mostly_single(node: Get, read: Sequence[str | None], source: str, values: list[str]) -> str:
    """The SELECT of ``values`` from the updates in ``source``. Updates are summed up only for rows
    of which an update has another diff than one, as far as the key tells rows apart. Each update of
    the other rows is a row."""
    listed = [
        f"{expression} AS c{i}" for i, expression in enumerate(read) if expression is not None
    ]
    updates = f"(SELECT {', '.join([*listed, DIFF_COLUMN])} FROM {source})"
    columns = [i for i, expression in enumerate(read) if expression is not None]
    key = [node.desc.names.index(name) for name in node.desc.key or ()]
    told_apart = key if key and set(key) <= set(columns) else columns
    names = ", ".join(f"c{i}" for i in told_apart)
    same = " AND ".join(f"o.c{i} IS NOT DISTINCT FROM u.c{i}" for i in told_apart)
    named = [None if expression is None else f"u.c{i}" for i, expression in enumerate(read)]
    single = f"SELECT u.* FROM {updates} AS u ANTI JOIN other AS o ON {same}"
    summed = _summed(named, f"{updates} AS u SEMI JOIN other AS o ON {same}", "TRUE")
    return (
        f"WITH other AS MATERIALIZED (SELECT DISTINCT {names} FROM {updates} WHERE {DIFF_COLUMN} <> "
        f"1) SELECT {select_list(values)} FROM ({single}) UNION ALL "
        f"{repeated('duckdb', summed, values)}"
    )


@delta.register
def _(node: Get, step: DeltaStep) -> str:
    relation, before = step.updates(node)
    rendering = step.rendering
    read = _read(node, rendering)
    within = [
        f"{TIME_COLUMN} > {before:d}",
        f"{TIME_COLUMN} <= {rendering.as_of:d}",
        *_pushed(node, rendering, read),
    ]
    named = [None if expression is None else f"c{i}" for i, expression in enumerate(read)]
    summed = _summed(read, relation.name, " AND ".join(within))
    changes = (
        f"SELECT {select_list(_all(node, rendering.engine, named))}, n FROM ({summed}) AS changed"
    )
    return _checked(node, step, changes) if node.may_be_negative else changes


def _checked(node: Get, step: DeltaStep, changes: str) -> str:
    """The changes, with an error in place of one that leaves a row with a negative multiplicity.
    Only the rows that were removed are looked up."""
    rendering, all_columns = step.rendering, tuple(range(len(node.desc)))
    changed = step.define(changes, is_few=True)
    removed = step.define(f"SELECT * FROM {changed} WHERE n < 0", is_few=True)
    key_filter = KeyFilter(all_columns, step.keys((removed, all_columns)))
    values = select_list([stored(rendering.engine, column) for column in node.desc.columns])
    updates = (
        f"SELECT {values}, {DIFF_COLUMN} FROM {rendering.relations[str(node.collection)].name} "
        f"WHERE {TIME_COLUMN} <= {rendering.as_of:d}"
    )
    names = [f"c{i}" for i in all_columns]
    totals = _summed(
        names, f"({updates}) AS r", key_filter.condition([f"r.{name}" for name in names])
    )
    same = " AND ".join(f"o.{name} IS NOT DISTINCT FROM u.{name}" for name in names)
    listed = ", ".join(f"u.{name}" for name in names)
    n = not_negative(rendering.engine, "o.n", "u.n")
    return f"SELECT {listed}, {n} AS n FROM {changed} AS u LEFT JOIN ({totals}) AS o ON {same}"


@origin.register
def _(node: Get, column: int) -> tuple[int | None, ...]:
    return ()


@demand.register
def _(node: Get, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return ()


def stored(engine: str, column: Column) -> str:
    """A stored column as a value of the plan: without negative zeros, and with timestamps with time
    zone in UTC."""
    return _stored(engine, identifier(engine, column.name), column.type)


def _stored(engine: str, value: str, type: ScalarType) -> str:
    if type.element is not None:
        element = _stored(engine, "e", type.element)
        return value if element == "e" else each_element(engine, value, element)
    if type.name is TypeName.RECORD:
        parts = {
            name: _stored(engine, f"{value}.{name}", field.type)
            for name, field in zip(field_names(type), type.fields, strict=True)
        }
        if all(part == f"{value}.{name}" for name, part in parts.items()):
            return value
        return case_sql(engine, f" WHEN {value} IS NOT NULL THEN {struct(engine, parts)}")
    if type.is_float:
        zero = f"CAST(0 AS {type_sql(engine, type)})"
        return case_sql(engine, f" WHEN {value} = 0 THEN {zero} ELSE {value}")
    if engine == "duckdb" and type.name is TypeName.TIMESTAMPTZ:
        return f"make_timestamp(epoch_us({value}))"
    return value


def _read(node: Get, rendering: Rendering) -> list[str | None]:
    """The columns that are read, as SQL; None for others."""
    required = rendering.required_columns[id(node)]
    return [
        stored(rendering.engine, column) if i in required else None
        for i, column in enumerate(node.desc.columns)
    ]


def _pushed(node: Get, rendering: Rendering, read: Sequence[str | None]) -> list[str]:
    """The pushed-down predicates. They depend on the row alone, so they leave out all updates of a
    row or none."""
    spelled = [expression or "" for expression in read]
    return [
        condition_to_sql(predicate, rendering.engine, spelled)
        for predicate in rendering.predicates.get(id(node), ())
    ]


def _summed(read: Sequence[str | None], source: str, within: str) -> str:
    """The columns that are read, as ``c0`` …, and ``n``, the sum of the diffs of equal rows,
    without zero sums."""
    keys = [f"{expression} AS c{i}" for i, expression in enumerate(read) if expression is not None]
    groups = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    summed = ", ".join([*keys, f"CAST(sum({DIFF_COLUMN}) AS BIGINT) AS n"])
    return f"SELECT {summed} FROM {source} WHERE {within}{groups} HAVING sum({DIFF_COLUMN}) <> 0"


def _all(node: Get, engine: str, read: Sequence[str | None]) -> list[str]:
    """Every column of the desc; columns that nothing reads are NULL."""
    types = node.desc.types
    return [
        literal(engine, None, types[i]) if expression is None else expression
        for i, expression in enumerate(read)
    ]


def repeated(
    engine: str, counted: str, expressions: Sequence[str], carried: Sequence[str] = ()
) -> str:
    """The rows of ``counted``, each ``n`` times, followed by its columns ``carried``. A
    negative count means that the collection is damaged."""
    listed = ", ".join([select_list(expressions), *carried])
    n = not_negative(engine, "n", "n")
    if engine == "duckdb":
        inner = f"SELECT *, unnest(range({n})) AS copy FROM ({counted})"
        return f"SELECT {listed} FROM ({inner})"
    times = f"sequence(1L, {n})"
    return f"SELECT {listed} FROM ({counted}) LATERAL VIEW explode({times}) copies AS copy"


def not_negative(engine: str, multiplicity: str, value: str) -> str:
    """``value``, or an error if ``multiplicity`` is negative."""
    broken = raised(engine, NegativeMultiplicity.sqlstate, "'negative multiplicity'")
    return f"CASE WHEN {multiplicity} < 0 THEN CAST({broken} AS BIGINT) ELSE {value} END"
