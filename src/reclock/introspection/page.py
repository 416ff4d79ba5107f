"""The overview as self-contained pages: no requests to the network, and one script, which follows the
theme that was chosen in Airflow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader

from reclock.algebra.timestamps import Timestamp, as_datetime
from reclock.errors import ReclockError
from reclock.introspection.overview import ObjectDetail, Overview, Stair, WayOut
from reclock.introspection.page_query import PROBLEM, RELOADS_S, PageQuery

PLOT_WIDTH, PLOT_HEIGHT = 640, 150
FOLLOW_THEME = (
    'const theme = localStorage.getItem("theme"); '
    'if (["light", "dark"].includes(theme)) document.documentElement.style.colorScheme = theme;'
)
"""A script that takes the theme that Airflow's menu stored for its own pages. Without a stored theme,
the browser's preference holds."""

_EVERYTHING = PageQuery()

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def render(overview: Overview, query: PageQuery = _EVERYTHING, *, root: str) -> str:
    """The overview as HTML, with the objects that ``query`` asks for. Pages are below ``root``,
    which ends in a slash: ``object/<id>``, ``data-docs/``."""
    return _render(
        "overview.html",
        root,
        overview=overview,
        query=query,
        objects=tuple(filter(query.shows, overview.objects)),
        types=sorted({object.type for object in overview.objects}),
        statuses=[PROBLEM, *sorted({object.status for object in overview.objects})],
        reloads_s=RELOADS_S,
    )


def render_object(detail: ObjectDetail, now: Timestamp, *, root: str) -> str:
    """One object as HTML; where its source is stalled, a button for each way out leads to
    ``object/<id>/<number>``."""
    return _render(
        "object.html",
        root,
        detail=detail,
        it=detail.object,
        now=now,
        width=PLOT_WIDTH,
        height=PLOT_HEIGHT,
    )


def render_confirmation(detail: ObjectDetail, way: WayOut, *, root: str, token: str) -> str:
    """Shows the statement of a way out, and posts ``statement`` and ``token`` to the page's own
    address when it is confirmed."""
    return _render("confirm.html", root, it=detail.object, way=way, token=token)


def render_unreadable(error: ReclockError) -> str:
    """Says why no page can be shown, in the answer to whichever address was asked for."""
    return _render_message("The environment cannot be read", error, "", "Try again")


def render_refusal(reason: ReclockError | str, *, back: str) -> str:
    """Says why a decision was not executed. ``back`` is the address of the object's page."""
    return _render_message("Not executed", reason, back, "Back to the object")


def render_missing(*, root: str) -> str:
    """Says that an address has no page, and leads to the overview."""
    return _render_message("There is no such page", "", f"{root}overview", "All objects")


def render_data_docs(html: str, *, root: str) -> str:
    """A page of the data docs as it is served: with a link to the overview, and in the theme of the
    other pages. The file itself, which can be opened without a server, has neither."""
    link = f'<a href="{root}overview">All objects</a>'
    return html.replace("</head>", f"<script>{FOLLOW_THEME}</script>\n</head>", 1).replace(
        '<header class="bar">', f'<header class="bar">{link}', 1
    )


def _render_message(title: str, reason: ReclockError | str, link: str, link_text: str) -> str:
    error = reason if isinstance(reason, ReclockError) else {"message": reason}
    values = {"title": title, "error": error, "link": link, "link_text": link_text}
    return _render("message.html", "/", **values)


def _render(template: str, root: str, **values: Any) -> str:
    return _templates().get_template(template).render(root=root, **values)


def stairs_path(
    stairs: Sequence[Stair], now: Timestamp, *, width: int = PLOT_WIDTH, height: int = PLOT_HEIGHT
) -> str:
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

    return " ".join(
        [
            f"M 0 {height}",
            *(f"H {x(stair.at):g} V {y(stair.total):g}" for stair in stairs),
            f"H {width}",
        ]
    )


def moment(at: Timestamp) -> str:
    """``at`` in UTC, as ``2024-01-31 12:00:00``."""
    return f"{as_datetime(at):%Y-%m-%d %H:%M:%S}"


def duration(milliseconds: float) -> str:
    """A span in its largest unit, rounded down: ``12 s``, ``5 min``, ``3 h``, ``2 d``."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if milliseconds >= size:
            return f"{int(milliseconds // size)} {unit}"
    return f"{int(milliseconds)} ms"


def size(count: int) -> str:
    """A number of bytes in a unit in which it is short: ``950 bytes``, ``1.2 MB``."""
    value, unit = float(count), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{count} {_UNITS[0]}"


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("reclock.introspection", "templates"),
        autoescape=True,
        trim_blocks=True,
    )
    environment.filters |= {"moment": moment, "duration": duration, "size": size}
    environment.globals |= {"stairs_path": stairs_path, "follow_theme": FOLLOW_THEME}
    return environment
