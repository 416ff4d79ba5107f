"""The data source that Spark creates for each ``load``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, MutableMapping

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.types import StructType

from reclock.algebra.relations import RESERVED_COLUMNS
from reclock.errors import InvalidOption, ReclockError
from reclock.spark.options import SourceOptions, parse_options
from reclock.spark.partitions import ScanPartition, plan_partitions, read_partition
from reclock.spark.queries import Condition, RelationQuery, condition_of
from reclock.spark.relation_scan import (
    ScanTimes,
    add_notes,
    comparable_columns,
    open_client,
    plan_scan,
)
from reclock.spark.stream_reader import ChangesReader


class ReclockDataSource(DataSource):
    """A relation at one time, or its changes, as ``spark.read.format("reclock")`` reads them.

    The time is chosen in ``load``, which fails if the relation cannot be read then. All tasks of
    the DataFrame, and all actions on it, read at that time.
    """

    @classmethod
    def name(cls) -> str:
        return "reclock"

    def __init__(self, options: MutableMapping[str, str]) -> None:
        """Raises ``InvalidOption`` and ``SqlSyntaxError``."""
        try:
            self._options = parse_options(options)
        except ReclockError as error:
            add_notes(error)
            raise
        self._planned: tuple[ScanTimes, StructType] | None = None

    def schema(self) -> StructType:
        return self._plan()[1]

    def reader(self, schema: StructType) -> DataSourceReader:
        times = self._plan()[0]
        if not self._options.pushes_filters:
            return RelationReader(self._options, schema, times)
        with open_client(self._options) as client:
            comparable = comparable_columns(client, self._options.relation, schema)
        return FilteringReader(self._options, schema, times, comparable)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Raises ``InvalidOption`` if the options do not ask for changes without an end."""
        changes = self._options.changes
        if changes is None or changes.upper is not None:
            hint = "set the option changes to true, or to the first time, as in 1795263876818.."
            raise InvalidOption(f"a stream reads changes that do not end (hint: {hint})")
        return ChangesReader(
            self._options, schema, relation_columns(self._options, schema), self._plan()[0]
        )

    def _plan(self) -> tuple[ScanTimes, StructType]:
        if self._planned is None:
            with open_client(self._options) as client:
                self._planned = plan_scan(client, self._options)
        return self._planned


def relation_columns(options: SourceOptions, schema: StructType) -> tuple[str, ...]:
    """The columns of ``schema`` that are the relation's, without those of an update."""
    return tuple(
        name for name in schema.names if options.changes is None or name not in RESERVED_COLUMNS
    )


class RelationReader(DataSourceReader):
    """Reads a relation, partition by partition."""

    def __init__(self, options: SourceOptions, schema: StructType, times: ScanTimes) -> None:
        self._options, self._schema, self._times = options, schema, times
        self._columns = relation_columns(options, schema)
        self._conditions: tuple[Condition, ...] = ()

    def partitions(self) -> list[InputPartition]:
        query = RelationQuery(self._options.relation, self._columns, self._conditions)
        with open_client(self._options) as client:
            return [*plan_partitions(client, self._options, self._times, query)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ScanPartition)
        return read_partition(self._options, self._schema, partition)


class FilteringReader(RelationReader):
    """Reads only the rows that pass the filters which SQL answers as Spark does."""

    def __init__(
        self,
        options: SourceOptions,
        schema: StructType,
        times: ScanTimes,
        comparable: Collection[str],
    ) -> None:
        super().__init__(options, schema, times)
        self._comparable = comparable

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Returns the filters that Spark applies itself."""
        remaining = []
        for filter in filters:
            condition = condition_of(filter, self._columns, self._comparable)
            if condition is None:
                remaining.append(filter)
            else:
                self._conditions = (*self._conditions, condition)
        return remaining
