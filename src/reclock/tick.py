"""The steps of a tick. ``reclock tick`` runs them in one process, the DAG each in a task, a job one of them in spark-submit.

Every step is idempotent and durable before the next; any process may do any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reclock.adapter.indexes import index_specs
from reclock.adapter.realise import realise
from reclock.adapter.sources import source_specs
from reclock.algebra.timestamps import EPOCH_MS, Timestamp
from reclock.clusters.refresh import IndexReport, Refresher
from reclock.environment import Environment
from reclock.errors import ReclockError, TimestampNotAllowed


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with one source, index or sink. Nothing else is held up by it."""

    name: str
    sqlstate: str
    message: str
    detail: str | None
    hint: str | None

    @classmethod
    def of(cls, name: str, error: ReclockError) -> Failure:
        return cls(name, error.sqlstate, error.message, error.detail, error.hint)


def migrate(home: Path | str | None) -> int:
    """Initialise or upgrade the catalog if that is needed, else join it. Answers the epoch."""
    with Environment.initialise(home) as environment:
        return environment.leadership.epoch


def allocate(environment: Environment, *, at: int | None = None) -> Timestamp:
    """The tick's write timestamp. One given by hand must lie in ``(ReadTs, now]``: raises ``TimestampNotAllowed``."""
    realise(environment, environment.planner_catalog())
    if at is None:
        return environment.oracle.write_ts(EPOCH_MS)
    read_ts, now = environment.oracle.read_ts(EPOCH_MS), environment.clock()
    if not read_ts < at <= now:
        raise TimestampNotAllowed(at, read_ts=read_ts, now=now)
    return Timestamp(at)


def source_names(environment: Environment, only: Sequence[str] | None = None) -> list[str]:
    """The full names of all sources, or of those asked for. Raises ``UnknownRelation``."""
    return [source.name for source in source_specs(environment, only)]


def cluster_names(environment: Environment) -> list[str]:
    """The clusters of the catalog, by id."""
    clusters = environment.catalog.sync().clusters.values()
    return [cluster.name for cluster in sorted(clusters, key=lambda cluster: cluster.id)]
