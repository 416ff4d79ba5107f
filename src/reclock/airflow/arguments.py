"""Arguments that operators and sensors share: the default connection, and times as authors write
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

DEFAULT_CONNECTION = "reclock_default"

Moment = int | str | datetime | None
"""Milliseconds, a moment with a time zone, either of them as text, or None."""


def to_milliseconds(moment: Moment) -> int | None:
    """The time in milliseconds since the Unix epoch, or None. Raises ``InvalidOption``."""
    if moment is None or isinstance(moment, int):
        return moment
    from reclock.client.statements import timestamp_ms

    return timestamp_ms(moment)


def names_of(names: str | Sequence[str]) -> list[str]:
    """The names, of which an author may write one as it is."""
    return [names] if isinstance(names, str) else list(names)


def time_of_run(context: Mapping[str, Any]) -> int:
    """The end of the run's data interval, or its logical date, or the time after which it runs."""
    moment = context.get("data_interval_end") or context.get("logical_date")
    time = to_milliseconds(moment or context["dag_run"].run_after)
    assert time is not None
    return time
