"""The changes of a window without groups, from the first row on that changes.

Rows before it, in the window's order, keep their values. The values from there on need of those
rows a number (how many they are, or their sum), or the last few of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from reclock.algebra.relations import ScalarType, TypeName
from reclock.compute.expressions.sql import aggregate_to_sql
from reclock.compute.operators.rules import (
    DeltaStep,
    InputVersion,
    NoRuleByTime,
    columns,
    consolidated,
    select_list,
    snapshot,
)
from reclock.compute.operators.topk import order_by
from reclock.plan.functions.orders import sort_key
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.relational import Frame, Ordering, Window, WindowFunction
from reclock.plan.scalars import Aggregate

_UP_TO_ROW = (Frame(None, 0, is_range=True), Frame(None, 0, is_range=False))
_COMBINED_BY = {
    "count": "{before} + {value}",
    "sum": "CASE WHEN {value} IS NULL THEN {before} ELSE {value} + coalesce({before}, 0) END",
    "min": "least({before}, {value})",
    "max": "greatest({before}, {value})",
}
"""An aggregate of all rows up to one, from that of the rows ``before`` the first change, and the
``value`` of those from there on."""


@dataclass(frozen=True, slots=True)
class _EarlierRows:
    """What the values need of the rows before the first change: the last ``rows`` of them, or the
    ``aggregate`` of all, which ``combined`` combines with a value that was computed without
    them."""

    rows: int = 0
    aggregate: str = ""
    combined: str = ""


def suffix_changes(node: Window, step: DeltaStep) -> str | None:
    """The changes of a window without groups, from those of its input; None if a row's value may
    depend on all other rows."""
    engine = step.rendering.engine
    needed = None if node.group_by else _earlier_rows(node, engine)
    if needed is None:
        return None
    if step.by_time:
        raise NoRuleByTime
    order = order_by(node.order, node.input.desc.types, engine)
    changed = step.net_changes(node.input)
    first = step.define(f"SELECT * FROM {changed} ORDER BY {order} LIMIT 1", is_few=True)

    def part(version: InputVersion, condition: str) -> str:
        """The rows before or from the first change on."""
        rows = step.rows(node.input, version)
        listed = select_list(columns(node.input, "i"))
        return step.define(f"SELECT {listed} FROM {rows} AS i JOIN {first} AS f ON {condition}")

    is_from_first = _is_from_first(node, engine)
    earlier = part(InputVersion.BEFORE, f"NOT {is_from_first}")
    versions = []
    for version, n in ((InputVersion.BEFORE, -1), (InputVersion.NOW, 1)):
        values = _values(node, step, part(version, is_from_first), earlier, needed)
        versions.append(f"SELECT *, CAST({n} AS BIGINT) AS n FROM ({values}) AS v")
    return consolidated(" UNION ALL ".join(versions), columns(node))


def _values(node: Window, step: DeltaStep, rows: str, earlier: str, needed: _EarlierRows) -> str:
    """The window over ``rows``. Rows of ``earlier`` may be among them, with the same values for the
    same rows, right or not."""
    engine = step.rendering.engine
    if needed.rows:
        order = _reversed_order(node, engine)
        last = f"SELECT * FROM {earlier} ORDER BY {order} LIMIT {needed.rows:d}"
        rows = step.define(f"SELECT * FROM {rows} UNION ALL SELECT * FROM ({last}) AS last")
    values = snapshot(node, step.rendering, [rows])
    if not needed.aggregate:
        return values
    *other_columns, value = columns(node, "v")
    combined = needed.combined.format(before="e.before", value=value)
    combined = f"CAST({combined} AS {type_sql(engine, node.desc.types[-1])})"
    return (
        f"SELECT {select_list([*other_columns, combined])} FROM ({values}) AS v CROSS JOIN "
        f"(SELECT {needed.aggregate} AS before FROM {earlier} AS i) AS e"
    )


def _earlier_rows(node: Window, engine: str) -> _EarlierRows | None:
    """What is needed of them; None if more than that."""
    function, frame = node.function, node.frame
    if not all(map(_has_one_order, node.input.desc.types)):
        return None
    match function:
        case WindowFunction("row_number" | "rank"):
            return _EarlierRows(aggregate="count(*)", combined="{before} + {value}")
        case WindowFunction("lag" | "lead") if function.row_offset is None:
            return _EarlierRows(rows=abs(function.offset))
        case Aggregate() if frame in _UP_TO_ROW and _adds_up(function):
            aggregate = aggregate_to_sql(function, engine, columns(node.input, "i"))
            return _EarlierRows(aggregate=aggregate, combined=_COMBINED_BY[function.function])
        case Aggregate() | WindowFunction("first_value" | "last_value" | "nth_value"):
            return _near_rows(frame)
        case _:
            return None


def _near_rows(frame: Frame) -> _EarlierRows | None:
    """For a frame of a fixed number of rows: a change is seen by the rows whose frame reaches it,
    and these see others before it."""
    start, end = frame.start, frame.end
    if frame.is_range or not isinstance(start, int) or not isinstance(end, int):
        return None
    return _EarlierRows(rows=max(0, -start) + max(0, end))


def _adds_up(aggregate: Aggregate) -> bool:
    if aggregate.is_distinct or aggregate.function not in _COMBINED_BY:
        return False
    type = aggregate.type
    return type.is_integer or type.name is TypeName.NUMERIC or type.is_moment


def _has_one_order(type: ScalarType) -> bool:
    """Whether equal values cannot be told apart, so that the reverse of an order is one."""
    return not (type.is_nested or type.has_order_key or type.has_intervals)


def _is_from_first(node: Window, engine: str) -> str:
    """Whether a row ``i`` comes with the first change ``f`` in the order, or after it; never
    NULL."""
    condition = "TRUE"
    for key in reversed(node.order):
        type = node.input.desc.types[key.index]
        row, first = (sort_key(engine, f"{side}.c{key.index}", type) for side in ("i", "f"))
        is_beyond = f"{row} {'<' if key.is_descending else '>'} {first}"
        is_after = (
            f"({row} IS NOT NULL AND ({first} IS NULL OR {is_beyond}))"
            if key.nulls_first
            else f"({first} IS NOT NULL AND ({row} IS NULL OR {is_beyond}))"
        )
        condition = f"({is_after} OR ({row} IS NOT DISTINCT FROM {first} AND {condition}))"
    return condition


def _reversed_order(node: Window, engine: str) -> str:
    """The reverse of ``order_by``."""
    types = node.input.desc.types
    keys: dict[int, Ordering] = {}
    for key in (*node.order, *map(Ordering, range(len(types)))):
        keys.setdefault(key.index, key)
    turned = [
        Ordering(key.index, not key.is_descending, not key.nulls_first) for key in keys.values()
    ]
    return order_by(turned, types, engine)
