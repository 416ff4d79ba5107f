"""A plan as text: one line per node, inputs indented below it, columns by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from reclock.algebra.ids import CollectionType
from reclock.algebra.intervals import Interval
from reclock.plan.relational import (
    Arrangement,
    Constant,
    Distinct,
    Except,
    Filter,
    Finishing,
    FlatMap,
    Frame,
    FrameOffset,
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
    WindowFunction,
    WorkTable,
    inputs,
)
from reclock.plan.scalars import Aggregate, Call, Case, Cast, ColumnRef, Literal, Parameter, Scalar
from reclock.plan.traversal import parts_computed_once

_INFIX = {
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "#",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "and",
    "or",
    "like",
    "ilike",
}
_WORDS = {"concat": "||", "is_not_distinct": "is not distinct from"}
_POSTFIX = {"is_null": "is null", "is_true": "is true", "is_false": "is false"}


def explain(plan: Plan, finishing: Finishing | None = None) -> str:
    """The plan as an indented tree.

    A name that several columns of a row share is written with its position: ``day#3``. A part that
    is computed once for many readers is printed where it is read first.
    """
    lines = [f"{'  ' * depth}{line}" for depth, line in _lines(_described(plan), 0)]
    if finishing is not None and finishing != Finishing():
        lines = [
            f"Finish {_finishing(finishing, plan.desc.names)}",
            *(f"  {line}" for line in lines),
        ]
    return "\n".join(lines)


def explain_tree(plan: Plan, finishing: Finishing | None = None) -> dict[str, Any]:
    """The plan as nested nodes with PostgreSQL's keys: ``Node Type``, and the inputs in ``Plans``.
    What else `explain` prints of a node is its ``Detail``."""
    tree = _as_json(_described(plan))
    if finishing is not None and finishing != Finishing():
        detail = _finishing(finishing, plan.desc.names)
        return {"Node Type": "Finish", "Detail": detail, "Plans": [tree]}
    return tree


@dataclass(frozen=True, slots=True)
class _Described:
    """The line of a node, and what is below it."""

    line: str
    below: list[_Described]


def _described(plan: Plan) -> _Described:
    once, numbers = parts_computed_once(plan), dict[int, int]()

    def describe_below(node: Plan) -> _Described:
        if id(node) in numbers:
            return _Described(f"Part {numbers[id(node)]}, as above", [])
        line = describe(node)
        if id(node) in once and not isinstance(node, Get):
            numbers[id(node)] = len(numbers) + 1
            line += f" [part {numbers[id(node)]}]"
        return _Described(line, [describe_below(part) for part in inputs(node)])

    return describe_below(plan)


def _lines(node: _Described, depth: int) -> Iterator[tuple[int, str]]:
    yield depth, node.line
    for part in node.below:
        yield from _lines(part, depth + 1)


def _as_json(node: _Described) -> dict[str, Any]:
    type, _, detail = node.line.partition(" ")
    shown = {"Node Type": type, "Detail": detail, "Plans": [_as_json(part) for part in node.below]}
    return {key: value for key, value in shown.items() if value}


def describe(plan: Plan) -> str:
    """The operator's line of the tree."""
    match plan:
        case Get(collection=collection, name=name):
            part = (
                f", {collection.collection}"
                if collection.collection is not CollectionType.RECLOCKED
                else ""
            )
            return f"Get {name} ({collection.source_id}{part})"
        case Constant(rows=rows):
            return f"Constant {_rows(rows)}"
        case Map(input=input, scalars=scalars, desc=desc):
            names, width = _columns(input.desc.names), len(input.desc)
            added = zip(scalars, desc.names[width:], strict=True)
            return "Map " + ", ".join(
                f"{_scalar(scalar, names)} as {name}" for scalar, name in added
            )
        case Filter(input=input, predicates=predicates):
            return "Filter " + _all(predicates, _columns(input.desc.names))
        case Project(input=input, indexes=indexes, desc=desc):
            names = _columns(input.desc.names)
            return "Project " + ", ".join(
                _renamed(names[i], new) for i, new in zip(indexes, desc.names, strict=True)
            )
        case Join():
            return _join(plan)
        case Reduce(input=input, group_by=group_by, aggregates=aggregates):
            names = _columns(input.desc.names)
            values = ", ".join(_aggregate(aggregate, names) for aggregate in aggregates)
            return _words("Reduce", _by(group_by, names)) + (f": {values}" if values else "")
        case Distinct():
            return "Distinct"
        case Arrangement():
            return "Arrangement"
        case TopK(input=input, group_by=group_by, order=order, limit=limit, offset=offset):
            names = _columns(input.desc.names)
            keys = _by(group_by, names)
            return _words("TopK", keys, _order(order, names), _limit(limit, offset))
        case FlatMap(input=input, arrays=arrays, desc=desc):
            added = zip(arrays, desc.names[len(input.desc) :], strict=True)
            names = _columns(input.desc.names)
            return "FlatMap " + ", ".join(
                f"unnest {_scalar(array, names)} as {name}" for array, name in added
            )
        case Window(input=input, group_by=group_by, order=order, function=function, frame=frame):
            names = _columns(input.desc.names)
            call = (
                _aggregate(function, names)
                if isinstance(function, Aggregate)
                else _window_function(function, names)
            )
            frame_sql = "" if frame == Frame() else _frame(frame)
            return _words("Window", call, _by(group_by, names), _order(order, names), frame_sql)
        case Union():
            return "Union"
        case Except():
            return "Except"
        case Intersect():
            return "Intersect"
        case WorkTable(name=name):
            return f"WorkTable {name}"
        case RecursiveUnion(name=name, is_distinct=is_distinct, most_iterations=most_iterations):
            distinct = " distinct" if is_distinct else ""
            return f"RecursiveUnion {name}{distinct}, at most {most_iterations} iterations"
        case MutualRecursion(names=names, result=result, most_iterations=most_iterations):
            return (
                f"MutualRecursion {', '.join(names)}: {names[result]}, at most {most_iterations} "
                f"iterations{', then as it is' if plan.returns_at_limit else ''}"
            )


def _words(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _by(group_by: Sequence[int], names: Sequence[str]) -> str:
    return f"by {', '.join(names[i] for i in group_by)}" if group_by else ""


def _rows(rows: Sequence[Sequence[object]]) -> str:
    """The first five rows, and how many there are if they are more."""
    if not rows:
        return "(no rows)"
    shown = ", ".join(f"({', '.join(_value(value) for value in row)})" for row in rows[:5])
    return f"{shown}, … {len(rows)} rows" if len(rows) > 5 else shown


def _join(plan: Join) -> str:
    left, right = plan.left.desc.names, plan.right.desc.names
    names = _columns([*left, *right])
    keys = [f"{names[a]} = {names[len(left) + b]}" for a, b in plan.keys]
    residual = [_scalar(predicate, names) for predicate in plan.residual]
    if not keys and not residual:
        return "Join cross" if plan.kind is JoinKind.INNER else f"Join {plan.kind} on true"
    return f"Join {plan.kind} on {' and '.join(keys + residual)}"


def _columns(names: Sequence[str]) -> list[str]:
    return [
        name if list(names).count(name) == 1 else f"{name}#{i + 1}" for i, name in enumerate(names)
    ]


def _renamed(old: str, new: str) -> str:
    return new if old.split("#")[0] == new and "#" not in old else f"{old} as {new}"


def _all(predicates: Sequence[Scalar], names: Sequence[str]) -> str:
    return " and ".join(_scalar(predicate, names) for predicate in predicates)


def _window_function(function: WindowFunction, names: Sequence[str]) -> str:
    arguments = [] if function.value is None else [names[function.value]]
    if function.name in ("lag", "lead", "ntile", "nth_value"):
        arguments += [
            str(function.offset) if function.row_offset is None else names[function.row_offset],
            *([] if function.default is None else [names[function.default]]),
        ]
    return f"{function.name}({', '.join(arguments)})"


def _frame(frame: Frame) -> str:
    start, end = (
        "unbounded" if bound is None else _offset(bound) if bound else "current"
        for bound in (frame.start, frame.end)
    )
    excluded = f" without {frame.excludes.lower()}" if frame.excludes else ""
    return f"{'range' if frame.is_range else 'rows'} {start} to {end}{excluded}"


def _offset(bound: FrameOffset) -> str:
    return str(bound) if isinstance(bound, Interval) else f"{bound:+}"


def _aggregate(aggregate: Aggregate, names: Sequence[str]) -> str:
    arguments = ", ".join(_scalar(argument, names) for argument in aggregate.arguments) or "*"
    filter = f" filter ({_scalar(aggregate.filter, names)})" if aggregate.filter is not None else ""
    return (
        f"{aggregate.function}({'distinct ' if aggregate.is_distinct else ''}{arguments}){filter}"
    )


def _scalar(scalar: Scalar, names: Sequence[str]) -> str:
    def inner(part: Scalar) -> str:
        return _scalar(part, names)

    match scalar:
        case ColumnRef(index):
            return names[index]
        case Literal(value):
            return _value(value)
        case Parameter(number):
            return f"${number}"
        case Cast(operand, type):
            return f"{inner(operand)}::{type}"
        case Case(branches, otherwise):
            whens = " ".join(
                f"when {inner(condition)} then {inner(result)}" for condition, result in branches
            )
            return f"case {whens} else {inner(otherwise)} end"
        case Call("not", (operand,)):
            return f"not {inner(operand)}"
        case Call("negate", (operand,)):
            return f"-{inner(operand)}"
        case Call(function, (operand,)) if function in _POSTFIX:
            return f"({inner(operand)} {_POSTFIX[function]})"
        case Call(function, (left, right)) if function in _INFIX or function in _WORDS:
            return f"({inner(left)} {_WORDS.get(function, function)} {inner(right)})"
        case Call(function, arguments):
            return f"{function}({', '.join(inner(argument) for argument in arguments)})"


def _value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case datetime() | date() | Interval():
            return f"'{value}'"
        case tuple():
            return "{" + ", ".join(_value(element) for element in value) + "}"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"'\\x{value.hex()}'"
        case _:
            return str(value)


def _finishing(finishing: Finishing, names: Sequence[str]) -> str:
    output = (
        f"output {', '.join(names[: finishing.visible])}" if finishing.visible is not None else ""
    )
    return " ".join(
        part
        for part in (
            _order(finishing.order, _columns(names)),
            _limit(finishing.limit, finishing.offset),
            output,
        )
        if part
    )


def _order(order: Sequence[Ordering], names: Sequence[str]) -> str:
    return (
        "order by " + ", ".join(_ordering(ordering, names) for ordering in order) if order else ""
    )


def _ordering(ordering: Ordering, names: Sequence[str]) -> str:
    nulls = " nulls first" if ordering.nulls_first and not ordering.is_descending else ""
    nulls = " nulls last" if ordering.is_descending and not ordering.nulls_first else nulls
    return f"{names[ordering.index]}{' desc' if ordering.is_descending else ''}{nulls}"


def _limit(limit: int | None, offset: int) -> str:
    return " ".join(
        part
        for part in (
            f"limit {limit}" if limit is not None else "",
            f"offset {offset}" if offset else "",
        )
        if part
    )
