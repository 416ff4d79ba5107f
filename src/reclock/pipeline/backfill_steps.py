"""The steps of the DAG ``reclock_backfill``, as ``reclock.pipeline.dag_steps`` has those of
``reclock_tick``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from reclock.algebra.timestamps import Timestamp
from reclock.pipeline import backfill
from reclock.pipeline.backfill import BackfillInterval
from reclock.pipeline.counts import counted
from reclock.runtime.environment import Environment

Tell = Callable[[str], None]


def list_sources(
    environment: Environment, *, sources: Sequence[str] | None, by: int, tell: Tell
) -> list[str]:
    """The full names of these sources, or of all in a backfill that begin at ``by`` at the latest.
    Raises ``UnknownRelation``."""
    names = backfill.sources(environment, sources, by=Timestamp(by))
    tell(f"{counted(len(names), 'source')}: {', '.join(names)}" if names else "no source waits")
    return names


def is_next(environment: Environment, *, source: str, lower: int, upper: int, tell: Tell) -> bool:
    """Whether the source has every interval before this one."""
    is_turn = backfill.is_next(environment, source, _interval(lower, upper))
    if not is_turn:
        begin = backfill.format_time(backfill.reached(environment, source))
        tell(f"{source} lacks an earlier interval: it is complete until {begin}")
    return is_turn


def fill(
    environment: Environment,
    *,
    source: str,
    lower: int,
    upper: int,
    owner: str,
    is_rebuild: bool,
    tell: Tell,
) -> dict[str, Any]:
    """Bind, audit and publish the interval of one source, or rebuild what the source has bound.
    Raises what ``backfill.run`` and ``backfill.rebuild`` raise."""
    if is_rebuild:
        rebuilt = backfill.rebuild(environment, source)
        tell(f"rebuilt {counted(rebuilt.rows, 'row')} of {source}")
        return {"outcome": "rebuilt", "rows": rebuilt.rows}
    report = backfill.run(environment, source, _interval(lower, upper), owner=owner)
    end = "; ticks go on from here" if report.is_over else ""
    time = backfill.format_time(Timestamp(upper))
    tell(f"{source} at {time}: {report.outcome}, {counted(report.rows, 'row')}{end}")
    return {"outcome": str(report.outcome), "rows": report.rows, "is_over": report.is_over}


def _interval(lower: int, upper: int) -> BackfillInterval:
    return BackfillInterval(Timestamp(lower), Timestamp(upper))
