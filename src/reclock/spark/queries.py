"""The queries that tasks send: some columns of a relation, the rows that pass filters, one
partition of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import datasource as spark

from reclock.sql.names import quote

_PREFIX_DIGITS = 4
"""How many hexadecimal digits of a row's hash choose its partition."""

MAXIMUM_PARTITIONS: int = 16**_PREFIX_DIGITS

_COMPARISONS: dict[type[spark.Filter], str] = {
    spark.EqualTo: "=",
    spark.GreaterThan: ">",
    spark.GreaterThanOrEqual: ">=",
    spark.LessThan: "<",
    spark.LessThanOrEqual: "<=",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate on one column that compares it with constants."""

    column: str
    operator: str
    values: tuple[Any, ...] = ()
    is_negated: bool = False

    def text(self, first: int) -> str:
        """The predicate in SQL. Its values are ``$first`` and those after it."""
        placeholders = ", ".join(f"${first + index}" for index in range(len(self.values)))
        operand = f" ({placeholders})" if placeholders else ""
        text = f"({quote(self.column)} {self.operator}{operand})"
        return f"(NOT {text})" if self.is_negated else text


@dataclass(frozen=True, slots=True)
class RelationQuery:
    """Rows of a relation. All ``partitions`` together have each row once, if they are read at one
    time."""

    relation: str
    columns: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    partition: int = 0
    partitions: int = 1

    def text(self) -> str:
        """The query, with ``$1``, ``$2``, … for ``params``."""
        predicates = self._partition_bounds()
        number = 1
        for condition in self.conditions:
            predicates.append(condition.text(number))
            number += len(condition.values)
        where = f" WHERE {' AND '.join(predicates)}" if predicates else ""
        return f"SELECT {', '.join(map(quote, self.columns))} FROM {self.relation}{where}"

    @property
    def params(self) -> list[Any]:
        """The values of the conditions."""
        return [value for condition in self.conditions for value in condition.values]

    def _partition_bounds(self) -> list[str]:
        columns = ", ".join(f"{quote(column)}::text" for column in self.columns)
        prefix = f"substr(md5(concat_ws(' ', {columns})), 1, {_PREFIX_DIGITS})"
        bounds = []
        if self.partition > 0:
            bounds.append(f"{prefix} >= '{self._first_prefix(self.partition)}'")
        if self.partition < self.partitions - 1:
            bounds.append(f"{prefix} < '{self._first_prefix(self.partition + 1)}'")
        return bounds

    def _first_prefix(self, partition: int) -> str:
        return f"{MAXIMUM_PARTITIONS * partition // self.partitions:0{_PREFIX_DIGITS}x}"


def condition_of(
    filter: spark.Filter, columns: Collection[str], comparable: Collection[str]
) -> Condition | None:
    """The filter as SQL; None if SQL could answer it differently, or if it is not about one of
    ``columns``.

    ``comparable`` are the columns whose values SQL compares as Spark does.
    """
    if isinstance(filter, spark.Not):
        condition = condition_of(filter.child, columns, comparable)
        return replace(condition, is_negated=not condition.is_negated) if condition else None
    path: tuple[str, ...] = getattr(filter, "attribute", ())
    if len(path) != 1 or path[0] not in columns:
        return None
    match filter:
        case spark.IsNull():
            return Condition(path[0], "IS NULL")
        case spark.IsNotNull():
            return Condition(path[0], "IS NOT NULL")
    if path[0] not in comparable:
        return None
    match filter:
        case spark.In(value=values):
            return (
                Condition(path[0], "IN", tuple(values)) if values and None not in values else None
            )
    operator, value = _COMPARISONS.get(type(filter)), getattr(filter, "value", None)
    return (
        Condition(path[0], operator, (value,))
        if operator is not None and value is not None
        else None
    )
