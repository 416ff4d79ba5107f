"""The engines of one process. Each is created at its first use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reclock.compute.engines.engine import Engine
from reclock.config import Settings
from reclock.errors import SparkLost, extra_not_installed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reclock.compute.engines.duckdb import DuckDbEngine
    from reclock.compute.engines.spool import Spool

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The variable by which spark-submit tells a Python program where its Spark is."""


class EnginePool:
    """The engines, created with the ``settings`` of that moment. Thread-safe."""

    def __init__(self, settings: Callable[[], Settings], spark: SparkSession | None) -> None:
        """A given ``spark`` session is used and left running, as is one that was running before
        `spark` was called."""
        self._settings, self._spark, self._owns_spark = settings, spark, spark is None
        self._has_started_spark = False
        self._starting = threading.Lock()

    @property
    def is_spark_application(self) -> bool:
        """Whether this process was given a Spark session, or started by spark-submit: its user
        wants the work of sources done there."""
        return not self._owns_spark or _SUBMITTED in os.environ

    def spark(self, *, pool: str = "default") -> SparkSession:
        """The process's Spark session, started at the first call and after it has ended. The jobs
        of this thread share it fairly with those of other pools. Raises ``SparkLost`` if it ends
        now, and ``ExtraNotInstalled``."""
        try:
            from py4j.protocol import Py4JError

            from reclock.clusters.session import has_ended, is_ending, is_running_here, start
        except ModuleNotFoundError as missing:
            raise extra_not_installed(missing) or missing from missing
        try:
            with self._starting:
                if self._spark is None or (self._owns_spark and has_ended(self._spark)):
                    self._has_started_spark = (
                        bool(self._settings().spark_remote) or not is_running_here()
                    )
                    self._spark = start(self._settings(), ended=self._spark)
            if not self._settings().spark_remote:  # a server does that by itself
                self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
        except (Py4JError, ConnectionError) as error:
            if self._spark is not None and self._owns_spark and is_ending(self._spark):
                return self.spark(pool=pool)
            raise SparkLost(detail=str(error)) from error
        return self._spark

    @cached_property
    def small(self) -> DuckDbEngine:
        """The engine for queries that read few bytes, in this process."""
        from reclock.compute.engines.arranged_files import MappedFiles
        from reclock.compute.engines.duckdb import DuckDbEngine
        from reclock.compute.engines.group_states import GroupStates
        from reclock.compute.engines.key_lookups import KeyLookups

        settings = self._settings()
        return DuckDbEngine(
            [settings.lake_root],
            memory_limit=settings.query_memory,
            spill_limit=settings.query_spill,
            threads=settings.query_threads,
            spill=settings.spill_root,
            lookups=KeyLookups(
                settings.refresh_lookups_bytes, MappedFiles(Path(settings.spill_root))
            )
            if settings.refresh_lookups_bytes
            else None,
            group_states=GroupStates(settings.refresh_groups_bytes)
            if settings.refresh_groups_bytes
            else None,
        )

    def large(self, pool: str = "default") -> Engine:
        """The engine for other queries, on Spark."""
        from reclock.compute.engines.spark import SparkEngine

        return SparkEngine(
            self.spark(), None if self._settings().spark_remote else pool, lambda: self.spool
        )

    @cached_property
    def spool(self) -> Spool:
        """The folder in which results of Spark wait until they are fetched."""
        from reclock.clusters.spark_options import spool

        return spool(self._settings())

    def close(self) -> None:
        if "small" in self.__dict__:
            self.small.close()
        with self._starting:  # one that a replica warms up may be about to be there
            if self._spark is not None and self._has_started_spark:
                with suppress(ConnectionError):  # it has ended already
                    self._spark.stop()
            self._spark = None
