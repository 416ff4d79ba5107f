"""``reclock backfill``: the intervals of one source, oldest first, or a rebuild of what it has."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from reclock.algebra.timestamps import moment
from reclock.cli.loop import seconds
from reclock.cli.output import print_json
from reclock.errors import InvalidOption
from reclock.pipeline import backfill
from reclock.pipeline.counts import counted
from reclock.runtime.environment import Environment


def run_rebuild(home: Path | None, source: str, *, is_json: bool = False) -> None:
    """Print the number of rows after the rebuild."""
    with Environment.open(home) as environment:
        [name] = backfill.sources(environment, [source])
        rebuilt = backfill.rebuild(environment, name)
    if is_json:
        print_json(rebuilt)
        return
    before = (
        "as many as before"
        if rebuilt.rows == rebuilt.rows_before
        else f"in place of {rebuilt.rows_before}"
    )
    print(
        f"{name} below {backfill.format_time(rebuilt.upper)}: rebuilt, {rebuilt.rows} updates, {before}",
        flush=True,
    )


def run_backfill(
    home: Path | None, source: str, *, begin: str, end: str, every: str, is_json: bool = False
) -> None:
    """Print a line for each interval. Raises the error of the first that fails; earlier intervals
    stay done."""
    every_ms = round(seconds(every) * 1000)
    if every_ms < 1:
        raise InvalidOption("an interval cannot be empty", hint="for example --every 1d")
    with Environment.open(home) as environment:
        [name] = backfill.sources(environment, [source])
        lower = moment(begin) if begin else backfill.reached(environment, name)
        upper = moment(end) if end else environment.stores.clock()
        owner = f"backfill-{socket.gethostname()}-{os.getpid()}"
        count = 0
        for interval in backfill.intervals(lower, upper, every_ms):
            report = backfill.run(environment, name, interval, owner=owner)
            count += 1
            if is_json:
                print_json(report)
                continue
            suffix = "; ticks go on from here" if report.is_over else ""
            print(
                (
                    f"{name} at {backfill.format_time(interval.upper)}: {report.outcome}, "
                    f"{counted(report.rows, 'row')}{suffix}"
                ),
                flush=True,
            )
        if not count and not is_json:
            print(
                f"{name}: no whole interval between {backfill.format_time(lower)} "
                f"and {backfill.format_time(upper)}"
            )
