"""A query's rows or changes in parts, each of which several files of one collection hold. Processes
read them apart from each other, and none reads another's files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.query.queries import QueryExecution
from reclock.adapter.statement_context import StatementContext
from reclock.adapter.timestamps import read_time, readiness
from reclock.algebra.ids import CollectionType, StorageCollectionId
from reclock.algebra.relations import BIGINT, DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.collections.file_groups import group_files
from reclock.collections.version import Version
from reclock.compute.engines.engine import Answer, CollectionInput
from reclock.compute.reads.file_part import FilePart, UpdateRange
from reclock.compute.reads.linear_changes import linear_changes, linear_input
from reclock.errors import (
    DroppedMeanwhile,
    NotBegun,
    NotReadable,
    OutputFailed,
    UnknownCollection,
    VersionGone,
)
from reclock.plan.relational import Finishing
from reclock.protocol.compute import Changes
from reclock.runtime.environment import Environment
from reclock.sql.statements.query.values import AsOf, Select

if TYPE_CHECKING:
    from reclock.compute.engines.duckdb import DuckDbEngine


def file_parts(
    context: StatementContext, updates: UpdateRange, *, has_times: bool, count: int | None
) -> list[FilePart] | None:
    """The planned query in parts, at most ``count``: each update in one of them. Updates of equal
    rows at one time that are no deletions may be in different parts.

    None if files alone do not answer the query: it does more than filter and project one
    collection, whose files must be there and have every update of these times.
    """
    try:
        return _file_parts(context, updates, has_times=has_times, count=count)
    except (*readiness.Unavailable, NotReadable, NotBegun, OutputFailed):
        return None  # a query may do without an index, or raises the error with the right names


def _file_parts(
    context: StatementContext, updates: UpdateRange, *, has_times: bool, count: int | None
) -> list[FilePart] | None:
    select = context.planned.statement
    assert isinstance(select, Select)
    environment = context.environment
    at_last = replace(select, as_of=AsOf(updates.last))
    query = QueryExecution(context, at_last, changes=Changes(updates.first))
    ready = query.prepare()
    get = linear_input(ready.plan)
    if get is None or select.finishing != Finishing() or not _has_files(get.collection):
        return None
    holds = environment.stores.shared_holds
    with (
        read_time.held_readable(
            environment,
            updates.last,
            ready.groups,
            cancellation=context.cancellation,
            notice=context.notice,
            name_of=query.name_of,
        ),
        holds.held(ready.groups, updates.first),
    ):
        version = _complete_version(environment, get.collection, updates.last)
    if version is None or updates.first < version.since:
        return None
    files = version.files(lower=updates.lower, upper=updates.upper)
    if updates.has_snapshot:
        files = version.files(upper=updates.upper)
    return [
        FilePart(
            query.name_of(get.collection.group),
            ready.plan,
            select.desc,
            get.collection,
            version.number,
            tuple(group),
            updates,
            has_times,
        )
        for group in group_files(files, updates.lower, updates.upper, count) or [[]]
    ]


def _has_files(id: StorageCollectionId) -> bool:
    """Whether its files have its rows as a plan reads them."""
    return id.has_times and id.collection in (CollectionType.RECLOCKED, CollectionType.TABLE)


def _complete_version(
    environment: Environment, id: StorageCollectionId, at: Timestamp
) -> Version | None:
    """A version that has all updates up to ``at``, which are published; None if the table WAL has
    some that cannot be applied."""
    if id.collection is not CollectionType.TABLE:
        return environment.stores.lake.open(id).pin()
    tables = environment.stores.tables
    tables.apply(through=at)
    tables.forget(id.source_id)
    table = tables.pin([id.source_id], at)[id.source_id]
    return table.version if not table.tail.num_rows else None


def read_part(environment: Environment, part: FilePart) -> Result:
    """The rows of the part. Reads its files alone, which stay as they are whatever is compacted.

    While the rows are read, ``VersionGone`` is raised if the files were deleted after a compaction,
    and ``DroppedMeanwhile`` if the whole collection was.
    """
    desc = part.desc
    if part.has_times:
        columns = (Column(name, BIGINT, is_nullable=False) for name in (TIME_COLUMN, DIFF_COLUMN))
        desc = RelationDesc((*desc.columns, *columns))
    return Result("SELECT", desc, _batches(environment, part)).with_blanks()


def _batches(environment: Environment, part: FilePart) -> Iterator[pa.RecordBatch]:
    try:
        newest = environment.stores.lake.open(part.collection).pin()
        version = replace(newest, number=part.version, all_files=part.files)
        with version.reading():
            yield from _answer(environment.runtime.engines.small, part, version).batches
    except VersionGone as gone:
        raise VersionGone(part.relations, version=part.version) from gone
    except UnknownCollection as unknown:
        raise DroppedMeanwhile(part.relations) from unknown


def _answer(engine: DuckDbEngine, part: FilePart, version: Version) -> Answer:
    input, updates = CollectionInput(version), part.updates
    if not part.has_times:
        return engine.run(part.plan, Finishing(), {part.collection: input}, updates.last)
    return linear_changes(
        engine,
        part.plan,
        input,
        updates.lower,
        updates.upper,
        with_snapshot=updates.has_snapshot,
    )
