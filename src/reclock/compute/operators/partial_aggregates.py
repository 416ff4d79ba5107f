"""Partial aggregates of groups: what is kept of each group of a Reduce or Distinct so that its row
follows from the group's changes alone, also when rows go; and of each row of an Arrangement.

Of each group there is the number of its rows and, for each aggregate, parts that add up: counts and
exact sums. A relation of them has the columns ``c0`` … (the group's keys), ``n`` (its rows) and
``p0`` … (the parts). A group may have several rows; their sum then counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from reclock.algebra.relations import ScalarType, TypeName
from reclock.compute.expressions.sql import aggregate_to_sql, to_sql
from reclock.compute.operators.get import not_negative, repeated
from reclock.compute.operators.rules import columns, select_list
from reclock.plan.functions import resolve_aggregate
from reclock.plan.functions.aggregates import average_operands, average_quotient
from reclock.plan.functions.casts import write_cast
from reclock.plan.functions.sql_names import type_sql
from reclock.plan.functions.sums import SAFE_DIGITS
from reclock.plan.relational import Arrangement, Distinct, Plan, Reduce
from reclock.plan.scalars import Aggregate, ColumnRef, Scalar

_ADDITIVE = ("count", "sum", "avg")


@dataclass(frozen=True, slots=True)
class PartialAggregates:
    """How the rows of ``node`` are made of parts. ``keys`` are the grouping columns of its
    input."""

    node: Reduce | Distinct | Arrangement
    keys: tuple[int, ...]
    parts: tuple[Aggregate, ...]

    def of_rows(self, engine: str, rows: str) -> str:
        """The SELECT of the partial aggregates of the relation ``rows``, which is like the
        input."""
        names = self._names()
        parts = [aggregate_to_sql(self._over_columns(part), engine, names) for part in self.parts]
        return self._grouped(engine, rows, ["count(*)", *parts])

    def of_changes(self, engine: str, changes: str, by: Sequence[str] = ()) -> str:
        """The SELECT of what ``changes`` of the input, with their ``n``, add to the partial
        aggregates.

        One row a group and each value of their columns ``by``; without either exactly one row. It
        fails where a partial sum has more than 38 digits, even if the sum has not: that is simpler
        than an exact sum of such values, and the step is then recomputed.
        """
        parts = [self._part_of_changes(part, engine, _multiplied) for part in self.parts]
        return self._grouped(engine, changes, [_ROWS_OF_CHANGES, *parts], by)

    def of_signed_rows(self, engine: str, rows: str) -> str:
        """The SELECT of the node's rows from ``rows`` of its input, each with ``n``, which is 1 or
        -1. Raises an error of the engine if there are more of -1 than of 1 in a group."""
        parts = [self._part_of_changes(part, engine, _signed) for part in self.parts]
        groups = self._grouped(engine, rows, [_ROWS_OF_CHANGES, *parts])
        is_there = (
            f"{not_negative(engine, 'n', 'n')} <> 0"
            if self.keys
            else f"{not_negative(engine, 'n', 'n')} >= 0"
        )
        return self.values(engine, f"SELECT * FROM ({groups}) AS s WHERE {is_there}")

    def _part_of_changes(self, part: Aggregate, engine: str, times: _Times) -> str:
        names, part = self._names(), self._over_columns(part)
        value = to_sql(part.arguments[0], engine, names) if part.arguments else ""
        if part.function != "count":
            total, type = times(value, part.arguments[0].type)
            part = replace(part, arguments=(ColumnRef(len(names), type),))
            return aggregate_to_sql(part, engine, [*names, total])
        is_counted = f"{value} IS NOT NULL" if value else "TRUE"
        if part.filter is not None:
            condition = to_sql(part.filter, engine, names)
            is_counted = f"CASE WHEN {condition} THEN {is_counted} ELSE FALSE END"
        return f"CAST(coalesce(sum(i.n) FILTER (WHERE {is_counted}), 0) AS BIGINT)"

    def _grouped(
        self, engine: str, relation: str, sums: Sequence[str], by: Sequence[str] = ()
    ) -> str:
        """The SELECT of ``sums``, the number of rows and the parts, for each group of a relation
        ``i``, which is like the input, and each value of its columns ``by``."""
        keys = [f"i.c{index} AS c{place}" for place, index in enumerate(self.keys)]
        named = [f"{total} AS {name}" for total, name in zip(sums, self._sums, strict=True)]
        groups = [
            *(f"i.c{index}" for index in dict.fromkeys(self.keys)),
            *(f"i.{name}" for name in by),
        ]
        grouped = f" GROUP BY {', '.join(groups)}" if groups else ""
        return (
            f"SELECT {', '.join([*keys, *(f'i.{name} AS {name}' for name in by), *named])} FROM "
            f"(SELECT *{self._computed(engine)} FROM {relation} AS i) AS i{grouped}"
        )

    def changed_values(self, engine: str, table: str, touched: str, before: int) -> str:
        """The SELECT of the rows of the groups that fulfil the condition ``touched`` on ``g``, from
        the partial aggregates in ``table`` with their times ``t``: those at the time ``before``
        with an ``n`` of -1, those of now with 1."""
        versions = f"unnest(CASE WHEN t <= {before:d} THEN [-1, 1] ELSE [1] END)"
        select = f"SELECT *, {versions} AS version FROM {table} AS g WHERE {touched}"
        return self.values(
            engine,
            self.summed(engine, select, by=("version",)),
            carried=", CAST(version AS BIGINT) AS n",
        )

    def changed_values_by_time(self, engine: str, table: str, changes: str) -> str:
        """As ``changed_values``, at each time ``t`` at which the relation ``changes``, which is in
        ``table`` already, changes a group."""
        keys = [f"c{place}" for place in range(len(self.keys))]
        equal = [f"k.{key} IS NOT DISTINCT FROM g.{key}" for key in keys]
        versions = "unnest(CASE WHEN g.t < k.t THEN [-1, 1] ELSE [1] END)"
        select = (
            f"SELECT g.* EXCLUDE (t), k.t AS t, {versions} AS version FROM {table} AS g JOIN "
            f"{changes} AS k ON {' AND '.join([*equal, 'g.t <= k.t'])}"
        )
        return self.values(
            engine,
            self.summed(engine, select, by=("version", "t")),
            carried=", CAST(version AS BIGINT) AS n, t",
        )

    def summed(self, engine: str, select: str, *, by: Sequence[str] = ()) -> str:
        """One row for each group in ``select``, and each value of its columns ``by``, with the sums
        of its partial aggregates.

        A group without rows is left out; without keys it never is.
        """
        keys = [*(f"c{place}" for place in range(len(self.keys))), *by]
        sums = [
            (
                "CAST(coalesce(sum(n), 0) AS "
                f"{type_sql(engine, resolve_aggregate('count', ()).result)}) AS n"
            )
        ]
        for name, part in zip(self._sums[1:], self.parts, strict=True):
            sums.append(f"CAST(sum({name}) AS {type_sql(engine, part.type)}) AS {name}")
        having = " HAVING sum(n) <> 0" if self.keys else ""
        groups = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join([*keys, *sums])} FROM ({select}) AS s{groups}{having}"

    def values(self, engine: str, select: str, *, carried: str = "") -> str:
        """The SELECT of the node's rows from their partial aggregates, one row a group, and of what
        is ``carried``."""
        keys = [f"c{place}" for place in range(len(self.keys))]
        if isinstance(self.node, Arrangement):
            return repeated(engine, select, keys)
        aggregates = () if isinstance(self.node, Distinct) else self.node.aggregates
        operands = []
        for place, aggregate in enumerate(aggregates):
            if aggregate.function == "avg":
                total, count = self._part(_sum_of(aggregate)), self._part(_count_of(aggregate))
                dividend, divisor = average_operands(
                    engine, total, count, aggregate.arguments[0].type
                )
                operands += [f"{dividend} AS dividend{place}", f"{divisor} AS divisor{place}"]
        values = [
            *keys,
            *(self._value(engine, aggregate, place) for place, aggregate in enumerate(aggregates)),
        ]
        source = (
            f"(SELECT {', '.join(['*', *operands])} FROM ({select}) AS s)"
            if operands
            else f"({select})"
        )
        return f"SELECT {select_list(values)}{carried} FROM {source} AS g"

    def _value(self, engine: str, aggregate: Aggregate, place: int) -> str:
        if _counts_rows(aggregate):
            return "n"
        if aggregate.function == "count":
            return f"coalesce({self._part(aggregate)}, 0)"
        if aggregate.function == "avg":
            return average_quotient(
                engine, f"dividend{place}", f"divisor{place}", aggregate.arguments[0].type
            )
        total = self._part(_sum_of(aggregate))
        value = write_cast(engine, total, _sum_of(aggregate).type, aggregate.type)
        return f"CASE WHEN {self._part(_count_of(aggregate))} <> 0 THEN {value} END"

    def _part(self, part: Aggregate) -> str:
        return f"p{self.parts.index(part)}"

    @property
    def _sums(self) -> list[str]:
        """The names of what adds up."""
        return ["n", *(f"p{index}" for index in range(len(self.parts)))]

    @property
    def _arguments(self) -> list[Scalar]:
        """What the parts are computed from, as far as that is no column: each is computed once for
        all of them.

        Arguments of a part with a filter are not among them, since they may raise an error for
        other rows.
        """
        computed = (part.arguments[0] for part in self.parts if part.filter is None)
        return list(
            dict.fromkeys(argument for argument in computed if not isinstance(argument, ColumnRef))
        )

    def _computed(self, engine: str) -> str:
        """The arguments as columns of a SELECT list, after those of the input ``i``."""
        names, width = columns(self.node.input, "i"), len(self.node.input.desc)
        arguments = [to_sql(argument, engine, names) for argument in self._arguments]
        return "".join(
            f", {argument} AS c{place}" for place, argument in enumerate(arguments, width)
        )

    def _names(self) -> list[str]:
        """Of the columns of the input, and of the arguments."""
        return [f"i.c{index}" for index in range(len(self.node.input.desc) + len(self._arguments))]

    def _over_columns(self, part: Aggregate) -> Aggregate:
        """The part with the column of its argument, if that is computed."""
        if part.filter is not None or part.arguments[0] not in self._arguments:
            return part
        [argument], width = part.arguments, len(self.node.input.desc)
        column = ColumnRef(width + self._arguments.index(argument), argument.type)
        return replace(part, arguments=(column,))


_ROWS_OF_CHANGES = "CAST(coalesce(sum(i.n), 0) AS BIGINT)"
_Times = Callable[[str, ScalarType], tuple[str, ScalarType]]
"""A value and its type, as many times as ``i.n`` says."""


def _multiplied(value: str, type: ScalarType) -> tuple[str, ScalarType]:
    if type.precision is not None:
        type = replace(type, precision=min(type.precision, SAFE_DIGITS))
    return f"({value} * i.n)", type


def _signed(value: str, type: ScalarType) -> tuple[str, ScalarType]:
    """The value or its opposite. That of the least integer is an integer of more bits."""
    wide = {TypeName.BIGINT: "HUGEINT", TypeName.INTEGER: "BIGINT", TypeName.SMALLINT: "INTEGER"}
    if type.name in wide:
        value = f"CAST({value} AS {wide[type.name]})"
    return f"(CASE WHEN i.n < 0 THEN -{value} ELSE {value} END)", type


def partial_aggregates(node: Plan) -> PartialAggregates | None:
    """The parts that the node's rows are made of; None if some value does not follow from parts
    that add up.

    The value of a sum of doubles depends on the order of addition. A least or largest value, and
    what counts only different values, need the group's other rows when one goes.
    """
    if isinstance(node, Distinct | Arrangement) and len(node.desc):
        return PartialAggregates(node, tuple(range(len(node.desc))), ())
    if not isinstance(node, Reduce) or not all(map(_is_additive, node.aggregates)):
        return None
    parts: list[Aggregate] = []
    for aggregate in node.aggregates:
        if not _counts_rows(aggregate):
            parts.append(_count_of(aggregate))
        if aggregate.function != "count":
            parts.append(_sum_of(aggregate))
    return PartialAggregates(node, node.group_by, tuple(dict.fromkeys(parts)))


def _is_additive(aggregate: Aggregate) -> bool:
    if aggregate.function not in _ADDITIVE or aggregate.is_distinct:
        return False
    return aggregate.function == "count" or _is_exact(aggregate)


def _counts_rows(aggregate: Aggregate) -> bool:
    return aggregate.function == "count" and not aggregate.arguments and aggregate.filter is None


def _is_exact(aggregate: Aggregate) -> bool:
    [argument] = aggregate.arguments
    return argument.type.is_integer or argument.type.name is TypeName.NUMERIC


def _count_of(aggregate: Aggregate) -> Aggregate:
    resolved = resolve_aggregate("count", [argument.type for argument in aggregate.arguments])
    return replace(aggregate, function="count", type=resolved.result)


def _sum_of(aggregate: Aggregate) -> Aggregate:
    resolved = resolve_aggregate("sum", [argument.type for argument in aggregate.arguments])
    return replace(aggregate, function="sum", type=resolved.result)
