"""Streaming: each micro-batch has the changes at the times from its start to its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from reclock.client.client import Client
from reclock.spark.options import SourceOptions
from reclock.spark.partitions import ScanPartition, plan_partitions, read_partition
from reclock.spark.queries import RelationQuery
from reclock.spark.relation_scan import (
    ScanTimes,
    check_relation,
    connect_client,
    newest_time,
    noted_errors,
    relation_id,
)

_Offset = dict[str, Any]
"""``time``: changes at earlier times were read. ``snapshot``: none was, and the rows at that time
come first. ``relation``: the id of the relation whose changes they are; missing in checkpoints that
an earlier release wrote."""


class ChangesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads each change once: Spark keeps the offsets, and a micro-batch that is repeated has the
    same changes. All changes are of one relation: raises ``RelationReplaced`` if its name is that
    of another one now."""

    def __init__(
        self, options: SourceOptions, schema: StructType, columns: tuple[str, ...], times: ScanTimes
    ) -> None:
        self._options, self._schema, self._columns, self._times = options, schema, columns, times
        self._last: int | None = None
        """The offset at which a stream ends that reads only what was available when it began."""
        self._client: Client | None = None
        """Asks for the newest time, and plans. Tasks open their own."""

    def initialOffset(self) -> _Offset:
        return {
            "time": self._times.lower,
            "snapshot": self._times.has_snapshot,
            "relation": relation_id(self._connected(), self._options.relation),
        }

    def latestOffset(self, start: _Offset, limit: ReadLimit) -> _Offset:
        """The end of the newest complete time, or ``start`` if nothing is complete after it."""
        end = self._last if self._last is not None else self._complete_below()
        relation = self._checked_relation(start)
        if end <= start["time"]:
            return start
        return {"time": end, "snapshot": False, "relation": relation}

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = self._complete_below()

    def partitions(self, start: _Offset, end: _Offset) -> list[InputPartition]:
        if start == end:
            return []
        times = ScanTimes(start["time"], end["time"], start["snapshot"])
        query = RelationQuery(self._options.relation, self._columns)
        with noted_errors():
            partitions = plan_partitions(self._connected(), self._options, times, query)
        # after the plan, so that it is of this relation
        relation = self._checked_relation(end)
        return [replace(partition, relation=relation) for partition in partitions]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ScanPartition)
        return read_partition(self._options, self._schema, partition)

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()

    def _complete_below(self) -> int:
        newest = newest_time(self._connected(), self._options.relation)
        assert newest is not None
        return newest + 1

    def _checked_relation(self, offset: _Offset) -> str:
        """The id of the stream's relation. Raises ``RelationReplaced``."""
        client, name = self._connected(), self._options.relation
        expected: str = offset.get("relation") or relation_id(client, name)
        with noted_errors():
            check_relation(client, name, expected)
        return expected

    def _connected(self) -> Client:
        if self._client is None:
            self._client = connect_client(self._options)
        return self._client
