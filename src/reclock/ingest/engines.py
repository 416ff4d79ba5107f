"""What a step works with: this process for little work, Spark for more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reclock.compute.engines.duckdb import DuckDbEngine


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of a step. This process computes differences that read at most
    ``threshold_bytes`` of Parquet, and stages rows that are at most ``staging_threshold_bytes``
    upstream. Spark, which is started at its first use, does the rest."""

    spark: Callable[[], SparkSession]
    small: Callable[[], DuckDbEngine]
    threshold_bytes: int
    staging_threshold_bytes: int
