"""Reclock's own expectations. Importing this module imports Great Expectations, which takes
seconds, so only the audit imports it.

Each constructor returns an expectation whose ``meta["check"]`` is the check's stable name, and
whose description the data docs print. Expectations of Great Expectations are used unchanged.
Conditions over several rows or columns have metrics here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from great_expectations import expectations as gxe
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import Expectation, MulticolumnMapExpectation
from great_expectations.expectations.metrics.map_metric_provider import MulticolumnMapMetricProvider
from great_expectations.expectations.metrics.map_metric_provider.multicolumn_condition_partial import (
    multicolumn_condition_partial,
)

from reclock.quality.slice import AuditSlice

_DOMAIN_KEYS = (
    "batch_id",
    "table",
    "column_list",
    "row_condition",
    "condition_parser",
    "ignore_row_if",
)


class FrontierAdvances(MulticolumnMapMetricProvider):
    """Over ``[partition, time, previous, frontier]``: true for a row if its partition begins where
    its last row ended, and advances. Rows of other partitions do not matter."""

    condition_metric_name = "multicolumn_values.frontier_advances"
    condition_domain_keys = _DOMAIN_KEYS

    @multicolumn_condition_partial(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, column_list: pd.DataFrame, **_: Any) -> pd.Series:
        partition, time, previous, frontier = column_list.columns
        ordered = column_list.sort_values(time, kind="stable")
        ended = ordered.groupby(partition, sort=False)[frontier].shift()
        holds = (ordered[previous] >= 0) & (ordered[frontier] > ordered[previous])
        holds &= ended.isna() | (ended == ordered[previous])
        return holds.reindex(column_list.index)


class ExpectFrontiersToAdvance(MulticolumnMapExpectation):
    """Each partition's frontier only grows with time, without a gap."""

    map_metric = "multicolumn_values.frontier_advances"
    column_list: Sequence[str] = ("partition", "mz_timestamp", "previous", "frontier")  # type: ignore[assignment]
    ignore_row_if: str = "never"  # type: ignore[assignment]


class TimesAreBound(MulticolumnMapMetricProvider):
    """Over ``[at, rows, min_time, max_time]``: true if the least and the greatest time are ``at``,
    or there is no row and no time."""

    condition_metric_name = "multicolumn_values.times_are_bound"
    condition_domain_keys = _DOMAIN_KEYS

    @multicolumn_condition_partial(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, column_list: pd.DataFrame, **_: Any) -> pd.Series:
        at, rows, least, greatest = (column_list[name] for name in column_list.columns)
        empty = (rows == 0) & least.isna() & greatest.isna()
        return empty | ((rows > 0) & (least == at) & (greatest == at))


class ExpectTimesToBeBound(MulticolumnMapExpectation):
    """Every staged row has the time of its bindings."""

    map_metric = "multicolumn_values.times_are_bound"
    column_list: Sequence[str] = ("at", "rows", "min_time", "max_time")  # type: ignore[assignment]
    ignore_row_if: str = "never"  # type: ignore[assignment]


def binding_expectations(slice_: AuditSlice) -> list[Expectation]:
    """Expectations of the bindings, over ``frames.bindings_frame``."""
    return [
        gxe.ExpectColumnValuesToBeBetween(
            column="increment",
            min_value=0,
            strict_min=True,
            description="Every binding advances its partition: increments are greater than 0.",
            meta={"check": "remap_increments_positive"},
        ),
        ExpectFrontiersToAdvance(
            column_list=["partition", "mz_timestamp", "previous", "frontier"],
            description=(
                "Each partition's frontier begins where it ended before, and only grows with time."
            ),
            meta={"check": "frontiers_monotonic"},
        ),
        gxe.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A="mz_timestamp",
            column_B="upper",
            or_equal=True,
            description=(
                f"Bindings lie at the claim's time, {slice_.at}, and not below the published "
                f"upper, {slice_.upper}."
            ),
            meta={"check": "bindings_inside_claim"},
        ),
        gxe.ExpectCompoundColumnsToBeUnique(
            column_list=["partition", "mz_timestamp"],
            description="No partition is bound twice at one time.",
            meta={"check": "partitions_bound_once"},
        ),
    ]


def range_expectations() -> list[Expectation]:
    """Expectations that exactly the bound offsets were read, over ``frames.ranges_frame``."""
    return [
        gxe.ExpectColumnPairValuesToBeEqual(
            column_A="read_offsets",
            column_B="bound_offsets",
            description=(
                "The offsets read of each partition are the offsets bound: none missing, "
                "none twice, none unbound."
            ),
            meta={"check": "ranges_read_as_bound"},
        )
    ]


def staged_expectations() -> list[Expectation]:
    """Expectations of the staged files, over ``frames.staged_frame``."""
    return [
        ExpectTimesToBeBound(
            column_list=["at", "rows", "min_time", "max_time"],
            description=(
                "Every staged row has the time of the bindings it was read under, and none "
                "lacks one."
            ),
            meta={"check": "staged_times_bound"},
        ),
        gxe.ExpectColumnValuesToBeBetween(
            column="null_diffs",
            min_value=0,
            max_value=0,
            description="No staged row lacks its diff.",
            meta={"check": "staged_diffs_present"},
        ),
        gxe.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A="rows_limit",
            column_B="rows",
            or_equal=True,
            description="Rows come from bound offsets only, and none yields more than it may.",
            meta={"check": "rows_from_bound_offsets"},
        ),
    ]
