"""Arguments that operators and sensors share: the default connection, and times as authors write
them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from reclock.errors import InvalidOption

DEFAULT_CONNECTION = "reclock_default"

Moment = int | str | datetime | None
"""Milliseconds, a moment with a time zone, either of them as text, or None."""


def to_milliseconds(moment: Moment) -> int | None:
    """The time in milliseconds since the Unix epoch, or None. Raises ``InvalidOption``."""
    if moment is None or isinstance(moment, int):
        return moment
    if isinstance(moment, str):
        if moment.strip().isdigit():
            return int(moment)
        try:
            moment = datetime.fromisoformat(moment.strip())
        except ValueError:
            hint = "write milliseconds, or a moment such as 2026-11-21T10:00:00+00:00"
            raise InvalidOption(f'"{moment}" is not a time', hint=hint) from None
    if moment.tzinfo is None:
        raise InvalidOption(f"the time {moment} has no time zone")
    return int(moment.timestamp() * 1000)


def time_of_run(context: Mapping[str, Any]) -> int:
    """The end of the run's data interval, or its logical date, or the time after which it runs."""
    moment = context.get("data_interval_end") or context.get("logical_date")
    time = to_milliseconds(moment or context["dag_run"].run_after)
    assert time is not None
    return time
