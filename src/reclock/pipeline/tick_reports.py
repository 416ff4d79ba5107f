"""What the steps of a tick report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from reclock.algebra.timestamps import Timestamp
from reclock.errors import AuditFailed, ReclockError
from reclock.ingest.report import IngestReport
from reclock.pipeline.counts import counted
from reclock.protocol.compute import Emitted, Refreshed


@dataclass(frozen=True, slots=True)
class TickFailure:
    """The failure of one source, index or sink. It does not delay anything else."""

    name: str
    sqlstate: str
    message: str
    detail: str | None
    hint: str | None

    @classmethod
    def of(cls, name: str, error: ReclockError) -> TickFailure:
        return cls(name, error.sqlstate, error.message, error.detail, error.hint)

    @property
    def error(self) -> tuple[str, str, str | None, str | None]:
        """The failure without the name of its object. Several objects have the error of one input."""
        return self.sqlstate, self.message, self.detail, self.hint

    def lines(self, *, is_known: bool, others: Sequence[str] = ()) -> Iterator[str]:
        """The failure, without detail and hint if it ``is_known``, and the names of the ``others``
        that have the same error."""
        yield f"  {self.name}: {self.message}"
        if not is_known and self.detail:
            first, *further = self.detail.split("\n")
            yield f"    detail: {first}"
            yield from (f"      {line}" for line in further)
        if not is_known and self.hint:
            yield f"    hint: {self.hint}"
        if others:
            yield f"    same error: {', '.join(others)}"


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The checks of one source's step. ``error`` says which of them block it. ``docs`` is the page
    of the data docs, relative to their root, if one was written."""

    source: str
    at: Timestamp
    error: AuditFailed | None
    waived: tuple[str, ...]
    docs: str | None


@dataclass(frozen=True, slots=True)
class PublishReport:
    """The sources that this publication made readable below ``upper``, with their numbers of rows;
    the failed ones; and those that wait for their audit."""

    at: Timestamp
    upper: Timestamp
    rows: dict[str, int]
    failed: tuple[TickFailure, ...]
    waiting: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """The indexes of one cluster."""

    cluster: str
    indexes: tuple[Refreshed, ...]
    failed: tuple[TickFailure, ...]


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """The work of one cluster's replicas in a tick."""

    indexes: tuple[Refreshed, ...]
    emitted: tuple[Emitted, ...]
    failed: tuple[TickFailure, ...]


@dataclass(frozen=True, slots=True)
class TickReport:
    """All steps of one tick over ``sources``."""

    at: Timestamp
    sources: tuple[str, ...]
    ingested: tuple[IngestReport, ...]
    audited: tuple[AuditReport, ...]
    published: PublishReport
    refreshed: tuple[RefreshReport, ...]
    emitted: tuple[Emitted, ...]
    failed: tuple[TickFailure, ...]

    def followed_by(self, later: TickReport) -> TickReport:
        """The combined report. If both have a failure of one name, the later one counts."""
        published = PublishReport(
            self.at,
            later.published.upper,
            self.published.rows | later.published.rows,
            _latest(self.published.failed, later.published.failed),
            tuple(
                {*self.published.waiting, *later.published.waiting} - later.published.rows.keys()
            ),
        )
        return TickReport(
            self.at,
            self.sources,
            self.ingested + later.ingested,
            self.audited + later.audited,
            published,
            self.refreshed + later.refreshed,
            self.emitted + later.emitted,
            _latest(self.failed, later.failed),
        )

    @property
    def succeeded(self) -> bool:
        """Whether nothing failed. Sources that are ``busy`` may be behind all the same."""
        return not self.failed

    @property
    def busy(self) -> dict[str, str]:
        """The sources that this tick left to another writer, with the owner of the claim and how
        long it lasts at most if that writer has died."""
        return {
            report.source: report.claimed_by
            for report in self.ingested
            if report.claimed_by is not None
        }

    @property
    def changed(self) -> dict[str, int]:
        """How many rows or changes each source, index and sink has that has any."""
        counts = dict(self.published.rows)
        counts |= {
            index.index: index.updates
            for refreshed in self.refreshed
            for index in refreshed.indexes
        }
        counts |= {sink.sink: sink.changes for sink in self.emitted}
        return {name: count for name, count in counts.items() if count}

    def has_news(self, reported: Collection[TickFailure]) -> bool:
        """Whether anything changed, waits for another process, fails otherwise than ``reported``,
        or fails no more."""
        return bool(
            self.changed
            or any(report.rejected for report in self.ingested)
            or self.busy
            or any(failure not in reported for failure in self.failed)
            or any(failure.name in self.succeeded_names for failure in reported)
        )

    @property
    def succeeded_names(self) -> set[str]:
        """The sources, indexes and sinks of which a step succeeded."""
        return {
            *(source.source for source in self.ingested),
            *(index.index for cluster in self.refreshed for index in cluster.indexes),
            *(sink.sink for sink in self.emitted),
        } - {failure.name for failure in self.failed}

    def summary(self, reported: Collection[TickFailure] = ()) -> str:
        """A line for the tick, one for each source that another writer claims, and one for each
        failure, followed by its detail and hint unless it is ``reported`` already."""
        published, rows = self.published.rows, sum(self.published.rows.values())
        updates = sum(index.updates for report in self.refreshed for index in report.indexes)
        first = (
            f"tick at {self.at}: new data in {len(published)} of {len(self.sources)} "
            f"sources, {counted(rows, 'row')}; {counted(updates, 'index update')}"
        )
        if self.emitted:
            first += f", {counted(sum(sink.changes for sink in self.emitted), 'change')} emitted"
        claimed = [
            f"  {name}: {holder}; a later tick goes on with its step"
            for name, holder in self.busy.items()
        ]
        rejected = [
            f"  {report.source}: gave up {counted(len(report.rejected), 'record')} that did not "
            f"decode, the first at {report.rejected[0].place}: {report.rejected[0].reason}"
            for report in self.ingested
            if report.rejected
        ]
        by_error: dict[object, list[TickFailure]] = {}
        for failure in self.failed:
            by_error.setdefault(failure.error, []).append(failure)
        failures = [
            line
            for same in by_error.values()
            for line in same[0].lines(
                is_known=all(failure in reported for failure in same),
                others=[failure.name for failure in same[1:]],
            )
        ]
        return "\n".join([first, *rejected, *claimed, *failures])

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """How notebooks display it."""
        return f"<pre>{escape(self.summary())}</pre>"


def _latest(
    earlier: Sequence[TickFailure], later: Sequence[TickFailure]
) -> tuple[TickFailure, ...]:
    return tuple({failure.name: failure for failure in (*earlier, *later)}.values())
