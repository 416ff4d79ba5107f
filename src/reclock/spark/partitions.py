"""The partitions of a relation, which tasks read apart from each other: by files where these have
the rows, and otherwise by hash."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from reclock.algebra.timestamps import Timestamp
from reclock.client.client import Client
from reclock.compute.reads.file_part import FilePart, UpdateRange
from reclock.errors import DroppedMeanwhile, VersionGone
from reclock.spark.options import SourceOptions
from reclock.spark.queries import RelationQuery
from reclock.spark.relation_scan import ScanTimes, check_relation, open_client


@dataclass(frozen=True)
class ScanPartition(InputPartition):
    """What one task reads: what ``part`` has, or what ``query`` answers. If it has both, they are
    the same rows. A task that sends the query fails unless ``relation`` is the id of its relation,
    or None."""

    times: ScanTimes
    query: RelationQuery | None
    part: FilePart | None = None
    relation: str | None = None


def plan_partitions(
    client: Client, options: SourceOptions, times: ScanTimes, query: RelationQuery
) -> list[ScanPartition]:
    """At least one partition. All together have each row of ``query`` once. Raises what reading
    the relation at these times raises."""
    parts = _file_parts(client, options, times, query)
    if parts is not None:
        same_rows = query if len(parts) == 1 else None
        return [ScanPartition(times, same_rows, part) for part in parts]
    count = options.partitions or 1
    return [
        ScanPartition(times, replace(query, partition=number, partitions=count))
        for number in range(count)
    ]


def _file_parts(
    client: Client, options: SourceOptions, times: ScanTimes, query: RelationQuery
) -> list[FilePart] | None:
    if times.lower is None or times.is_empty:
        return None
    lower, has_times = Timestamp(times.lower), times.upper is not None
    upper = Timestamp(lower + 1 if times.upper is None else times.upper)
    return client.file_parts(
        query.text(),
        query.params,
        UpdateRange(lower, upper, times.has_snapshot or not has_times),
        has_times=has_times,
        count=options.partitions,
    )


def read_partition(
    options: SourceOptions, schema: StructType, partition: ScanPartition
) -> Iterator[pa.RecordBatch]:
    """The partition's rows, with exactly the columns of ``schema``. Raises what
    ``read_part`` raises if the files are gone, unless the partition has a query."""
    expected = to_arrow_schema(schema, timezone="UTC")
    with open_client(options) as client:
        for batch in _batches(client, partition):
            columns = [batch.column(field.name).cast(field.type) for field in expected]
            yield pa.RecordBatch.from_arrays(columns, schema=expected)


def _batches(client: Client, partition: ScanPartition) -> Iterator[pa.RecordBatch]:
    part, query, times = partition.part, partition.query, partition.times
    if part is not None:
        batches = client.part(part)
        try:
            first = list(islice(batches, 1))
        except (VersionGone, DroppedMeanwhile) as gone:
            if query is None:
                gone.hint = "load the relation again"
                raise
        else:
            yield from chain(first, batches)
            return
    assert query is not None
    yield from _query_batches(client, times, query)
    if partition.relation is not None:
        check_relation(client, query.relation, partition.relation)


def _query_batches(
    client: Client, times: ScanTimes, query: RelationQuery
) -> Iterator[pa.RecordBatch]:
    if times.upper is None:
        return client.batches(query.text(), query.params, as_of=times.lower)
    assert times.lower is not None
    if times.is_empty:
        return iter(())
    as_of = times.lower if times.has_snapshot else times.lower - 1
    return client.changes(
        query.text(), query.params, as_of=as_of, up_to=times.upper, snapshot=times.has_snapshot
    )
