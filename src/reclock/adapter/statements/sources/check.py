"""Checks of a source: whether its upstream can be reached, with which credentials, and what is
missing, in bounded time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from queue import Empty, SimpleQueue

from reclock.adapter.statements.sources.specs import source_specs
from reclock.connectors.connector import (
    UNENDED_MS,
    CheckResult,
    Checks,
    HasUnendedRecords,
    ReadsOnce,
    SupportsRestart,
    restart_hint,
)
from reclock.connectors.factory import open_connector
from reclock.definitions.sources import SourceSpec
from reclock.errors import ReclockError, extra_not_installed, hint_about, quoted_name
from reclock.ingest.source_collections import SourceCollections
from reclock.runtime.environment import Environment

_END_OF_RECORD = "a newline, and in CSV the quote that closes a field"


def check_source(environment: Environment, name: str, *, timeout_s: float) -> Iterator[CheckResult]:
    """Results about the source's state, then about its upstream, as they arrive; the last within
    ``timeout_s``.

    Nothing is claimed, bound or acknowledged. Raises ``UnknownRelation``.
    """
    environment.control_plane.await_storage(environment.stores.planner_catalog())
    [spec] = source_specs(environment.stores, [name])
    yield from _check_state(environment, spec)
    results: SimpleQueue[CheckResult | None] = SimpleQueue()

    def check_upstream() -> None:
        try:
            for result in _check_upstream(environment, spec):
                results.put(result)
        except Exception as failure:  # the edge of a thread
            results.put(CheckResult("upstream", False, _described(failure)))
        results.put(None)

    threading.Thread(target=check_upstream, name="source-check", daemon=True).start()
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            result = results.get(timeout=max(deadline - time.monotonic(), 0.001))
        except Empty:
            yield CheckResult("upstream", False, f"no answer within {timeout_s:g} seconds")
            return
        if result is None:
            return
        yield replace(result, detail=hint_about(spec.name, result.detail))


def _check_state(environment: Environment, spec: SourceSpec) -> Iterator[CheckResult]:
    status = environment.stores.statuses.current([spec.id]).get(spec.id)
    if status is None:
        yield CheckResult("status", True, "no tick has processed it yet")
    else:
        yield CheckResult(
            "status",
            status.error is None,
            "; ".join(filter(None, (status.status, status.error, status.detail))),
        )
    frontier = environment.stores.frontiers.get(spec.id)
    behind = f"{max(environment.stores.clock() + 1 - frontier.upper, 0)} ms behind the clock"
    waits = (
        ", waits for its backfill" if spec.id in environment.stores.frontiers.backfilled() else ""
    )
    claim = (
        f", claimed at {frontier.claim.at} by {frontier.claim.owner}"
        if frontier.claim is not None
        else ""
    )
    yield CheckResult("frontier", True, f"complete below {frontier.upper}, {behind}{waits}{claim}")


def _check_upstream(environment: Environment, spec: SourceSpec) -> Iterator[CheckResult]:
    connector = open_connector(spec, environment.runtime.connection_context)
    _, bound = SourceCollections.open(environment.stores.lake, spec).read_bound()
    if isinstance(connector, Checks):
        yield from connector.check(bound)
    if isinstance(connector, SupportsRestart):
        for name in connector.abandoned_partitions(bound):
            yield CheckResult(
                "given up",
                False,
                f"nothing more is read of {quoted_name(name)}; {restart_hint(name)}",
            )
    if isinstance(connector, ReadsOnce) and connector.must_read_once(bound):
        yield CheckResult("probe", True, "the first tick reads it from the beginning")
        return
    new = [increment for increment in connector.probe(bound) if increment.size]
    yield CheckResult(
        "probe", True, f"{len(new)} partitions have something new, {len(bound)} are bound"
    )
    if isinstance(connector, HasUnendedRecords):
        now = environment.stores.clock()
        for record in connector.unended_records(bound, new):
            yield CheckResult(
                "last record",
                now - record.written_at < UNENDED_MS,
                f"the last {record.size} bytes of {quoted_name(record.partition)} wait for the "
                f"end of their record: {_END_OF_RECORD}",
            )


def _described(failure: Exception) -> str:
    error = failure if isinstance(failure, ReclockError) else extra_not_installed(failure)
    if error is None:
        return f"{type(failure).__name__}: {failure}"
    return "; ".join(filter(None, (error.message, error.detail, error.hint)))
