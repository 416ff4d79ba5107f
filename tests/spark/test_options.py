"""What a data source is asked for, and what its tasks ask Reclock."""

from __future__ import annotations

import pytest
from pyspark.sql import datasource as spark

from reclock.errors import ReclockError
from reclock.spark.options import ChangeRange, parse_options
from reclock.spark.queries import Condition, RelationQuery, condition_of


def test_options_have_no_case() -> None:
    options = parse_options(
        {"PATH": "public.orders", "URL": "postgresql://host", "asof": "7", "NumPartitions": "3"}
    )
    assert (options.relation, options.location, options.is_url) == (
        "public.orders",
        "postgresql://host",
        True,
    )
    assert (options.as_of, options.changes, options.partitions) == (7, None, 3)


@pytest.mark.parametrize(
    "text", ["1795263876818", "2026-11-21T12:24:36.818Z", "2026-11-21T13:24:36.818+01:00"]
)
def test_a_time_is_a_number_or_a_moment(text: str) -> None:
    assert parse_options({"path": "t", "home": "h", "asOf": text}).as_of == 1795263876818


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("5..7", ChangeRange(5, 7)),
        ("5..", ChangeRange(5, None)),
        (
            "2026-11-21T12:24:36.818Z..2026-11-21T12:24:37Z",
            ChangeRange(1795263876818, 1795263877000),
        ),
        ("True", ChangeRange(None, None)),
        ("false", None),
    ],
)
def test_changes_are_a_range_of_times(text: str, changes: ChangeRange | None) -> None:
    assert parse_options({"path": "t", "home": "h", "changes": text}).changes == changes


@pytest.mark.parametrize(
    "options",
    [
        {"path": "t"},
        {"path": "t", "home": "h", "url": "u"},
        {"home": "h"},
        {"path": "t", "url": "u", "user": "ada"},
        {"path": "t; DROP TABLE t", "home": "h"},
        {"path": "t", "home": "h", "as_of": "5"},
        {"path": "t", "home": "h", "asOf": "yesterday"},
        {"path": "t", "home": "h", "asOf": "2026-11-21T12:24:36"},
        {"path": "t", "home": "h", "changes": "7..5"},
        {"path": "t", "home": "h", "changes": "0..5"},
        {"path": "t", "home": "h", "changes": "5"},
        {"path": "t", "home": "h", "changes": "..5"},
        {"path": "t", "home": "file:///h"},
        {"path": "t", "home": "h", "changes": "5..7", "asOf": "5"},
        {"path": "t", "home": "h", "numPartitions": "0"},
        {"path": "t", "home": "h", "pushFilters": "yes"},
    ],
)
def test_wrong_options_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ReclockError):
        parse_options(options)


def test_names_and_values_are_no_sql() -> None:
    condition = condition_of(spark.EqualTo(('a"b',), "'; DROP TABLE t"), ['a"b'], ['a"b'])
    assert condition is not None
    query = RelationQuery("t", ('a"b',), (condition, Condition("c", "IN", (1, 2))))
    assert query.text() == 'SELECT "a""b" FROM t WHERE ("a""b" = ($1)) AND (c IN ($2, $3))'
    assert query.params == ["'; DROP TABLE t", 1, 2]


@pytest.mark.parametrize(
    "filter",
    [
        spark.EqualTo(("other",), 1),
        spark.EqualTo(("a", "b"), 1),
        spark.EqualTo(("a",), None),
        spark.In(("a",), (1, None)),
        spark.Not(spark.EqualTo(("a",), None)),
        spark.StringContains(("a",), "x"),
    ],
)
def test_a_filter_that_sql_could_answer_otherwise_stays_with_spark(filter: spark.Filter) -> None:
    assert condition_of(filter, ["a"], ["a"]) is None
