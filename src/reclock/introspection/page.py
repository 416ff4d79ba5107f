"""The overview as a self-contained page: no scripts, no requests to the network."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader

from reclock.algebra.timestamps import Timestamp
from reclock.introspection.overview import Overview, Stair

PLOT_WIDTH, PLOT_HEIGHT = 640, 150


def render(overview: Overview, *, docs_url: str) -> str:
    """The overview as HTML. ``docs_url`` is where the data docs are served, ending in a slash."""
    return (
        _templates()
        .get_template("overview.html")
        .render(overview=overview, docs_url=docs_url, width=PLOT_WIDTH, height=PLOT_HEIGHT)
    )


def stairs_path(stairs: Sequence[Stair], now: Timestamp, *, width: int = PLOT_WIDTH, height: int = PLOT_HEIGHT) -> str:
    """The stairs as the ``d`` attribute of an SVG path; empty without stairs.

    Time runs to the right, from the first stair to ``now``, and the total upward from 0. Between
    two stairs the line is level, because nothing is bound between their times.
    """
    if not stairs:
        return ""
    first_at, highest = stairs[0].at, stairs[-1].total
    span = max(1, now - first_at)

    def x(at: Timestamp) -> float:
        return round(width * min(1.0, (at - first_at) / span), 2)

    def y(total: int) -> float:
        return round(height * (1 - total / max(1, highest)), 2)

    return " ".join([f"M 0 {height}", *(f"H {x(stair.at):g} V {y(stair.total):g}" for stair in stairs), f"H {width}"])


def moment(at: Timestamp) -> str:
    """``at`` in UTC, as ``2024-01-31 12:00:00``."""
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def duration(milliseconds: int) -> str:
    """A span in its largest unit, rounded down: ``12 s``, ``5 min``, ``3 h``, ``2 d``."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if milliseconds >= size:
            return f"{milliseconds // size} {unit}"
    return f"{milliseconds} ms"


@cache
def _templates() -> Environment:
    environment = Environment(loader=PackageLoader("reclock.introspection", "templates"), autoescape=True)
    environment.filters |= {"moment": moment, "duration": duration}
    environment.globals["stairs_path"] = stairs_path
    return environment
