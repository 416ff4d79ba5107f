"""From what a source says it reads to a connector that can: one line a source type."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

from reclock.sources.connector import Connector
from reclock.sources.description import ObjectsConnector, SourceSpec, Upstream
from reclock.sources.object_store import ObjectStore
from reclock.sources.objects import Objects


@dataclass(frozen=True, slots=True)
class Means:
    """What an environment has to reach upstreams with."""

    buckets: ObjectStore


def open_connector(source: SourceSpec, means: Means) -> Connector:
    """The source's connector. Nothing is reached yet."""
    return _open(source.connector, source, means)


@singledispatch
def _open(upstream: Upstream, source: SourceSpec, means: Means) -> Connector:
    raise NotImplementedError(type(upstream).__name__)


@_open.register
def _(upstream: ObjectsConnector, source: SourceSpec, means: Means) -> Connector:
    return Objects(means.buckets, upstream, source.format, source.desc)
