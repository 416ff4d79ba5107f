"""Reclock's relations as a data source of Spark: ``spark.read.format("reclock")`` and
``spark.readStream``."""

from reclock.spark.data_source import ReclockDataSource

__all__ = ["ReclockDataSource"]
