"""Probes of many sources side by side: which of their upstreams have something new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from reclock.adapter.timestamps import readiness
from reclock.algebra.ids import GlobalId
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.sources import SourceSpec
from reclock.errors import ReclockError
from reclock.ingest.report import IngestReport
from reclock.pipeline import source_steps
from reclock.runtime.environment import Environment
from reclock.runtime.work_pool import WorkPool


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What a probe that began ``at`` this time has found, or why it failed."""

    outcome: IngestReport | ReclockError
    at: Timestamp


def probe_all(
    environment: Environment,
    specs: Sequence[SourceSpec],
    at: Timestamp,
    pool: WorkPool[GlobalId, ProbeAnswer],
) -> dict[GlobalId, ProbeAnswer]:
    """The answers of the sources that answer within ``tick_patience_ms``. An answer may be that of
    an earlier probe, which was late. Nothing is claimed; the statuses of the sources say if their
    upstreams cannot be asked."""

    def attempt(spec: SourceSpec) -> ProbeAnswer:
        try:
            return ProbeAnswer(source_steps.probe_spec(environment, spec, at), at)
        except ReclockError as error:  # one source's trouble is not the others'
            return ProbeAnswer(error, at)

    for spec in specs:
        pool.start(spec.id, partial(attempt, spec))
    patience_s = environment.stores.settings.tick_patience_ms / 1000
    return pool.take([spec.id for spec in specs], patience_s=patience_s)


def busy_sources(environment: Environment, specs: Sequence[SourceSpec]) -> dict[GlobalId, str]:
    """The sources whose claim belongs to a process that gives signs of life, with its name."""
    frontiers, now = environment.stores.frontiers.get_all(), environment.stores.clock()
    busy: dict[GlobalId, str] = {}
    for spec in specs:
        claim = frontiers[spec.id].claim if spec.id in frontiers else None
        if claim is not None and claim.lease_until > now:
            busy[spec.id] = claim.owner
    return busy


def upstream_news(
    environment: Environment, *, sources: Sequence[str] | None, tell: Callable[[str], None]
) -> dict[str, str]:
    """The sources among ``sources`` (all, if None) whose upstream has something that is not
    ingested, by full name with the fingerprint of that (see ``reclock.ingest.news``).

    Nothing is claimed and no time is taken. A source that another process works on is left out, as
    is one that does not answer in time; why an upstream cannot be asked is told. Raises
    ``UnknownRelation``.
    """
    readiness.retry_unready(environment)
    specs = source_steps.ticking_sources(environment, sources)
    at, pool = environment.stores.clock(), environment.runtime.news_probes
    answers = probe_all(environment, specs, at, pool)
    news: dict[str, str] = {}
    for spec in specs:
        outcome = answers[spec.id].outcome if spec.id in answers else None
        if isinstance(outcome, ReclockError):
            tell(f"{spec.name} cannot be asked for news: {outcome.message}")
        elif outcome is not None and outcome.news is not None:
            news[spec.name] = outcome.news
    return news
