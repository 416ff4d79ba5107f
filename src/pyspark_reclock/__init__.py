"""Found by Spark, which registers the ``DefaultSource`` of every installed module called
``pyspark_…``."""

from reclock.spark import ReclockDataSource as DefaultSource

__all__ = ["DefaultSource"]
