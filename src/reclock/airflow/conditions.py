"""What sensors wait for. A condition is a value that goes from the worker to the triggerer.

Its ``check`` returns the result for the waiting task if the condition holds, otherwise None. It
raises a ``ReclockError`` if waiting is in vain. As text it says what is waited for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from reclock.client.client import Client
from reclock.client.statements import relation_name
from reclock.errors import AuditFailed, InputStalled, InvalidOption, quoted_name

_INPUT = re.compile(r"input (?P<name>.+) \((?P<id>\w+)/.*\):")
_UPPER = re.compile(r"  since: \d+, upper: (?P<upper>\d+),")


@dataclass(frozen=True, slots=True)
class RelationsPublished:
    """Each relation is complete at ``time``: it gets no more rows there. The result is the time."""

    relations: Sequence[str]
    time: int

    def __str__(self) -> str:
        return f"all rows of {', '.join(self.relations)} up to {_moment(self.time)}"

    def check(self, client: Client) -> int | None:
        """Raises ``InputStalled`` if a source that a relation still lacks is stalled."""
        for relation in self.relations:
            late = [input for input in inputs(client, relation) if input.upper <= self.time]
            for input in late:
                _raise_if_stalled(client, input, self.time)
            if late:
                return None
        return self.time


@dataclass(frozen=True, slots=True)
class QueryIsTrue:
    """The first value of the query's first row is true. The result is that row."""

    sql: str
    parameters: Sequence[Any] | None = None
    as_of: int | None = None

    def __str__(self) -> str:
        return f"a first value that is true of the query {self.sql.strip()}"

    def check(self, client: Client) -> list[Any] | None:
        rows = client.sql(self.sql, self.parameters, as_of=self.as_of).rows()
        return list(rows[0]) if rows and rows[0][0] is True else None


@dataclass(frozen=True, slots=True)
class SourcesCaughtUp:
    """Everything that the upstreams of the sources had at ``time`` is published.

    The result is the newest time for which this is known of all of them, in milliseconds: ``AS OF``
    it, every source has all of it.
    """

    sources: Sequence[str]
    time: int

    def __str__(self) -> str:
        sources = ", ".join(self.sources)
        return f"everything that the upstreams of {sources} had at {_moment(self.time)}"

    def check(self, client: Client) -> int | None:
        """Raises ``InputStalled`` if a source that is late is stalled, and ``InvalidOption`` if one
        is no source."""
        probed: list[int] = []
        for source in self.sources:
            input = _source(client, source)
            query = "SELECT probed_at FROM mz_internal.mz_source_probes WHERE id = $1"
            probes = client.sql(query, [input.id]).rows()
            probed_at = _milliseconds(probes[0][0]) if probes else 0
            if probed_at < self.time:
                _raise_if_stalled(client, input, self.time)
                return None
            probed.append(probed_at)
        return min(probed, default=self.time)


@dataclass(frozen=True, slots=True)
class ChecksPassed:
    """Each source is published beyond ``time``, and no audit of it from ``since`` to ``time`` was
    waived. The result has the audits: ``source``, ``at``, ``outcome``, ``rows`` and ``page``.

    If ``checks`` are given, only these count.
    """

    sources: Sequence[str]
    time: int
    since: int = 0
    checks: Sequence[str] | None = None

    def __str__(self) -> str:
        return f"audits of {', '.join(self.sources)} that passed, up to {_moment(self.time)}"

    def check(self, client: Client) -> list[dict[str, Any]] | None:
        """Raises ``AuditFailed`` if a check did not pass, and ``InputStalled`` if a late source is
        stalled, be it by an audit."""
        if RelationsPublished(self.sources, self.time).check(client) is None:
            return None
        passed: list[dict[str, Any]] = []
        for source in self.sources:
            query = """SELECT at, outcome, failed, waived, rows, page
                FROM mz_internal.mz_source_audits WHERE source_id = $1 ORDER BY at"""
            for at, outcome, failed, waived, rows, page in client.sql(
                query, [_source(client, source).id]
            ).rows():
                if not self.since < _milliseconds(at) <= self.time:
                    continue
                wrong = [
                    name
                    for name in [*failed, *waived]
                    if self.checks is None or name in self.checks
                ]
                if wrong:
                    detail = f"the audit of {at.isoformat()} is {outcome}; data docs: {page}"
                    raise AuditFailed(source, wrong, detail=detail)
                audit = {"source": source, "at": _milliseconds(at), "outcome": outcome}
                passed.append(audit | {"rows": rows, "page": page})
        return passed


Condition = RelationsPublished | SourcesCaughtUp | ChecksPassed | QueryIsTrue

CONDITIONS: dict[str, type[Condition]] = {
    condition.__name__: condition
    for condition in (RelationsPublished, SourcesCaughtUp, ChecksPassed, QueryIsTrue)
}


@dataclass(frozen=True, slots=True)
class PublishedInput:
    """A collection that a relation is computed from. It is complete below ``upper``."""

    name: str
    id: str
    upper: int


def inputs(client: Client, relation: str) -> list[PublishedInput]:
    """What a query over the relation reads, with frontiers that this does not move."""
    query = f"EXPLAIN TIMESTAMP SELECT * FROM {relation_name(relation)}"
    inputs_read: list[PublishedInput] = []
    name = id = ""
    for (line,) in client.sql(query).rows():
        if match := _INPUT.fullmatch(line):
            name, id = match["name"], match["id"]
        elif match := _UPPER.match(line):
            inputs_read.append(PublishedInput(name, id, int(match["upper"])))
    return inputs_read


def changes_since(
    client: Client, relations: Sequence[str], after: int | None
) -> tuple[int, dict[str, int]]:
    """The newest time at which all relations are complete, and how many updates each had
    later than ``after`` up to it; those without any are left out. With None, nothing has changed.

    Raises ``NotReadable`` if ``after`` cannot be read any more.
    """
    uppers = [input.upper for relation in relations for input in inputs(client, relation)]
    time = max(min(uppers, default=0) - 1, after or 0)
    counts: dict[str, int] = {}
    if after is not None and time > after:
        for relation in relations:
            with client.subscribe(relation, as_of=after, up_to=time + 1, snapshot=False) as changes:
                if count := sum(len(batch) for batch in changes):
                    counts[relation] = count
    return time, counts


def _source(client: Client, name: str) -> PublishedInput:
    """Raises ``InvalidOption`` if the relation is no source."""
    named = "SELECT id FROM mz_catalog.mz_sources WHERE oid = $1::regclass::oid"
    if not client.sql(named, [relation_name(name)]).rows():
        raise InvalidOption(f"{quoted_name(name)} is not a source")
    [source] = inputs(client, name)
    return source


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _moment(time: int) -> str:
    return datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="milliseconds")


def _raise_if_stalled(client: Client, input: PublishedInput, time: int) -> None:
    query = """SELECT error, detail, hint FROM mz_internal.mz_source_statuses
        WHERE id = $1 AND status = 'stalled'"""
    for error, detail, hint in client.sql(query, [input.id]).rows():
        behind = f"it is complete below {input.upper}, {time + 1 - input.upper} ms behind"
        raise InputStalled(input.name, error or "", detail=detail, hint=hint, behind=behind)
