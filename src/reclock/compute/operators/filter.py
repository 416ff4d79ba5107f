"""Filter: the rows for which every predicate is true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reclock.algebra.relations import BIGINT
from reclock.algebra.timestamps import Timestamp
from reclock.compute.expressions.sql import all_references, condition_to_sql, to_sql
from reclock.compute.operators.rules import (
    DeltaStep,
    NoRuleByTime,
    Rendering,
    behind_barrier,
    columns,
    delta,
    demand,
    is_monotone,
    of_its_rows,
    origin,
    select_list,
    snapshot,
)
from reclock.plan.properties import conditions_of, joined_inputs
from reclock.plan.relational import Filter, Join, JoinKind
from reclock.plan.scalar_trees import columns_of, rewrite
from reclock.plan.scalars import Call, ColumnRef, Literal, Scalar
from reclock.plan.temporal import conditions_with, is_temporal, is_temporal_filter, moments_of
from reclock.plan.totality import could_error

_WITHOUT_PAIRS = (JoinKind.SEMI, JoinKind.ANTI)


@snapshot.register
def _(node: Filter, rendering: Rendering, inputs: Sequence[str]) -> str:
    engine = rendering.engine
    rows = of_its_rows(engine, inputs[0], node.predicates)
    if rows == inputs[0] and isinstance(node.input, Join) and node.input.kind in _WITHOUT_PAIRS:
        rows = guarded(node, engine, rows)
    return f"SELECT * FROM {rows} WHERE {_condition(node, engine, rendering.as_of)}"


@delta.register
def _(node: Filter, step: DeltaStep) -> str:
    """A changed row counts if it fulfils the conditions now. A row that was there comes or goes
    where these, with the time, have become true or false."""
    if step.by_time and is_temporal_filter(node):
        return _changes_by_time(node, step)
    engine, parts = step.rendering.engine, []
    now = _condition(node, engine, step.rendering.as_of)
    if changes := step.changes(node.input):
        parts.append(f"SELECT * FROM {guarded(node, engine, changes)} WHERE {now}")
    if is_temporal_filter(node):
        rows = guarded(node, engine, step.due_rows(node))
        was = _condition(node, engine, step.before)
        n = f"CAST(CASE WHEN {now} THEN 1 ELSE -1 END AS BIGINT)"
        parts.append(
            f"SELECT {select_list(columns(node))}, {n} AS n FROM {rows} WHERE "
            f"(({now}) IS TRUE) <> (({was}) IS TRUE)"
        )
    return " UNION ALL ".join(parts)


def _changes_by_time(node: Filter, step: DeltaStep) -> str:
    """The changes of a temporal filter in a step by time: a row may come or go at each of its
    moments, and does where its conditions had another truth a millisecond before."""
    if step.changes(node.input):
        raise NoRuleByTime
    engine, input_columns = step.rendering.engine, columns(node.input)
    names, until = [*input_columns, "t", "(t - 1)"], int(step.rendering.as_of)
    is_now, was = (
        " AND ".join(
            condition_to_sql(predicate, engine, names)
            for predicate in conditions_with(node.predicates, ColumnRef(place, BIGINT))
        )
        for place in (len(input_columns), len(input_columns) + 1)
    )
    moments = []
    for moment in moments_of(node.predicates):
        value = to_sql(moment.value, engine, input_columns)
        moments.append(f"CASE WHEN {value} <= {until} THEN {value} + {moment.delay_ms} END")
    rows = guarded(node, engine, step.due_rows(node))
    return (
        f"SELECT {select_list(input_columns)}, "
        f"CAST(CASE WHEN {is_now} THEN 1 ELSE -1 END AS BIGINT) AS n, t "
        f"FROM (SELECT *, unnest(list_distinct([{', '.join(moments)}])) AS t FROM {rows}) AS due "
        f"WHERE t > {step.before:d} AND t <= {until} AND (({is_now}) IS TRUE) <> (({was}) IS TRUE)"
    )


@is_monotone.register
def _(node: Filter) -> bool:
    """A row that passes is in the output as often as in the input; any other row never is. With the
    time, rows that passed may no longer do so."""
    return not is_temporal_filter(node)


@origin.register
def _(node: Filter, column: int) -> tuple[int | None, ...]:
    return (column,)


@demand.register
def _(node: Filter, required: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (required | all_references(node.predicates),)


def guarded(node: Filter, engine: str, relation: str) -> str:
    """``relation``, which has the rows of the input at one time or their changes, such that no
    predicate that could raise an error is evaluated on other rows: see ``behind_barrier``."""
    return behind_barrier(engine, relation) if any(map(could_error, node.predicates)) else relation


def _condition(node: Filter, engine: str, at: Timestamp) -> str:
    """The predicates in one condition. Those that could raise an error for a row are evaluated in
    their order, and only for rows that fulfil the others and the conditions of filters below.

    DuckDB moves comparisons with constants behind other predicates, and predicates below joins. It
    may, with one that could raise an error, down to the inputs that this reads: what guards it
    reads no others.
    """
    input_columns, inputs = columns(node.input), joined_inputs(node.input)

    def read(predicate: Scalar) -> frozenset[int]:
        return frozenset().union(*(inputs[index] for index in columns_of(predicate)))

    predicates = conditions_with(node.predicates, Literal(int(at), BIGINT))
    parts = [part for predicate in predicates for part in _conjuncts(predicate)]
    failing = list(filter(_could_error_by_row, parts))
    guards = [
        (read(part), condition_to_sql(part, engine, input_columns))
        for part in conditions_of(node.input)
        if failing and not could_error(part) and not is_temporal(part)
    ]
    written = []
    for part in sorted(parts, key=failing.__contains__):
        reads, sql = read(part), condition_to_sql(part, engine, input_columns)
        guard = " AND ".join(guard for inputs, guard in guards if inputs <= reads)
        if guard and part in failing:
            sql = f"(CASE WHEN {guard} THEN {sql} ELSE FALSE END)"
        guards.append((reads, sql))
        written.append(sql)
    return " AND ".join(written) or "TRUE"


def _conjuncts(predicate: Scalar) -> Iterator[Scalar]:
    if isinstance(predicate, Call) and predicate.function == "and":
        for part in predicate.arguments:
            yield from _conjuncts(part)
    else:
        yield predicate


def _could_error_by_row(predicate: Scalar) -> bool:
    """Whether it could raise an error for some rows, and not for others."""
    return could_error(
        rewrite(predicate, lambda part: None if columns_of(part) else Literal(None, part.type))
    )
