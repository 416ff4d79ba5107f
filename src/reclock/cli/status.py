"""``reclock status``: the environment at a glance, once or live, for a terminal or a program."""

from __future__ import annotations

import sys
import time
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from reclock.adapter.query.overview import overview_of
from reclock.cli.output import print_json
from reclock.introspection.overview import ObjectOverview, Overview
from reclock.introspection.page import duration, moment, size
from reclock.pipeline.counts import counted
from reclock.runtime.environment import Environment

_STYLES = {"running": "green", "online": "green", "late": "yellow", "offline": "yellow"}
_PROBLEM_STYLE = "bold red"
_WIDTH = 200
"""The columns of a screen that is no terminal's."""


def show_status(home: Path | None, *, every_s: float | None, is_json: bool = False) -> bool:
    """Print the state of the environment, every ``every_s`` seconds until SIGINT, or once. Returns
    whether an object had a problem the last time.

    On a terminal each screen replaces the one before.
    """
    with Environment.open(home) as environment:
        overview = overview_of(environment)
        if is_json or every_s is None or not sys.stdout.isatty():
            _print(overview, is_json=is_json)
            while every_s is not None:
                time.sleep(every_s)
                overview = overview_of(environment)
                _print(overview, is_json=is_json)
            return overview.problems > 0
        with Live(screen(overview), screen=True, auto_refresh=False) as live:
            while True:
                time.sleep(every_s)
                live.update(screen(overview_of(environment)), refresh=True)


def _print(overview: Overview, *, is_json: bool) -> None:
    if is_json:
        print_json(overview)
    else:
        width = None if sys.stdout.isatty() else _WIDTH
        Console(width=width).print(screen(overview))


def screen(overview: Overview) -> Group:
    """The overview as tables: what needs attention first."""
    count = len(overview.objects)
    parts: list[RenderableType] = [
        Text.assemble(
            f"{moment(overview.now)} UTC, {count} {'object' if count == 1 else 'objects'}, ",
            _problems(overview.problems),
        ),
        _objects(overview.objects),
    ]
    parts += [_problem(objects) for objects in _by_error(overview.objects)]
    parts += [
        _notice(object) for object in overview.objects if object.detail and not object.is_problem
    ]
    if overview.replicas:
        parts.append(_replicas(overview))
    return Group(*parts)


def _problems(count: int) -> Text:
    if not count:
        return Text("no problems", "green")
    return Text(f"{count} {'problem' if count == 1 else 'problems'}", _PROBLEM_STYLE)


def _objects(objects: tuple[ObjectOverview, ...]) -> Table:
    rows = []
    for entry in objects:
        style = _PROBLEM_STYLE if entry.is_problem else _STYLES.get(entry.status, "")
        phase = f" ({entry.claim_phase})" if entry.claim_phase else ""
        moved = (f"{entry.total.updates:,}", size(entry.total.bytes)) if entry.total else ("", "")
        rows.append(
            {
                "Object": Text(entry.name),
                "Type": Text(entry.type),
                "Status": Text.assemble((entry.status, style), phase),
                "Behind": Text("" if entry.lag_ms is None else duration(entry.lag_ms)),
                "Rows": Text(moved[0]),
                "Bytes": Text(moved[1]),
                "Last refresh or audit": Text(_last_work(entry)),
                "Held back by": Text(entry.culprit or ""),
            }
        )
    return _table(rows, numbers=("Behind", "Rows", "Bytes"))


def _last_work(object: ObjectOverview) -> str:
    if (refresh := object.refresh) is not None:
        return f"{refresh.how}, {counted(refresh.updates, 'update')} in {duration(refresh.duration_ms)}"
    return f"audit {object.audit.outcome}" if object.audit is not None else ""


def _by_error(objects: Sequence[ObjectOverview]) -> list[list[ObjectOverview]]:
    """The objects with a problem, those together that have the error of one of them. Those that have
    a way out come first among them."""
    groups: dict[tuple[str | None, ...], list[ObjectOverview]] = {}
    for object in objects:
        if object.is_problem:
            error = (object.error, object.detail) if object.error else (object.name,)
            groups.setdefault(error, []).append(object)
    return [sorted(group, key=lambda object: not object.ways_out) for group in groups.values()]


def _problem(objects: Sequence[ObjectOverview]) -> Text:
    """The error of the first of ``objects``, which all others have too, and the statements that end
    it."""
    object, *others = objects
    lines = [f"{object.name}: {object.error or object.status}"]
    if object.detail:
        first, *further = object.detail.split("\n")
        lines += [f"  detail: {first}", *(f"    {line}" for line in further)]
    if object.ways_out:  # which the hint would repeat, as one long sentence
        lines += [f"  {way.statement};  -- {way.follows}" for way in object.ways_out]
    elif object.hint:
        lines.append(f"  hint: {object.hint}")
    if others:
        lines.append(f"  same error: {', '.join(other.name for other in others)}")
    return Text("\n".join(lines), "red")


def _notice(object: ObjectOverview) -> Text:
    """What an object without a problem waits for, or goes on without."""
    lines = [f"{object.name}: {object.detail}"]
    lines += [f"  hint: {object.hint}"] if object.hint else []
    return Text("\n".join(lines), "yellow")


def _replicas(overview: Overview) -> Table:
    rows = [
        {
            "Cluster": Text(replica.cluster),
            "Replica": Text(replica.name or "virtual"),
            "Status": Text(replica.status, _STYLES.get(replica.status, _PROBLEM_STYLE)),
            "CPU": Text("" if replica.cpu_percent is None else f"{replica.cpu_percent} %"),
            "Memory": Text("" if replica.memory_bytes is None else size(replica.memory_bytes)),
        }
        for replica in overview.replicas
    ]
    return _table(rows, numbers=("CPU", "Memory"))


def _table(rows: Sequence[Mapping[str, Text]], *, numbers: Container[str]) -> Table:
    """The rows, without columns that are empty in all of them."""
    nonempty = list(dict.fromkeys(name for row in rows for name, cell in row.items() if cell.plain))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in rows[0] if rows else ():
        if name in nonempty:
            table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell for name, cell in row.items() if name in nonempty))
    return table
