"""Transcripts: SQL, objects and ticks as a user would type them, with what was answered below each.

A line that starts with ``> `` begins SQL and goes on until a line ends with ``;``. ``$ `` begins a
command on the environment (``put``, ``append``, ``remove``: an object, its text in the lines after
``| ``; ``tick AT [SOURCE …]``; ``delta PATH``: the rows that another reader finds in a sink's
table). Lines starting with ``#`` and blank lines are kept. All else is output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Step:
    """What is typed (``lines``, with ``body`` for an object's text), and what is printed before it
    for people."""

    lines: list[str]
    remarks: list[str]
    body: list[str] = field(default_factory=list)

    @property
    def is_sql(self) -> bool:
        return self.lines[0].startswith("> ")

    @property
    def text(self) -> str:
        return "\n".join(line.removeprefix("> ").removeprefix("$ ") for line in self.lines)


def steps(text: str) -> tuple[list[Step], list[str]]:
    """The steps of a transcript without their output, and the remarks after the last one."""
    steps_found: list[Step] = []
    remarks: list[str] = []
    open_sql = False
    for line in text.splitlines():
        if open_sql:
            steps_found[-1].lines.append(line)
            open_sql = not line.rstrip().endswith(";")
        elif line.startswith(("> ", "$ ")):
            steps_found.append(Step([line], remarks))
            remarks = []
            open_sql = line.startswith("> ") and not line.rstrip().endswith(";")
        elif line.startswith("| ") and steps_found and not steps_found[-1].is_sql:
            steps_found[-1].body.append(line[2:])
        elif line.startswith("#"):
            remarks.append(line)
    return steps_found, remarks


def replay(path: Path, sql: Callable[[str], str], command: Callable[[list[str], str], str]) -> str:
    """The transcript with the output that ``sql`` and ``command`` give now."""
    found, last = steps(path.read_text())

    def lines() -> Iterator[str]:
        for step in found:
            yield from step.remarks
            yield from step.lines
            yield from (f"| {line}" for line in step.body)
            body = "".join(line + "\n" for line in step.body)
            output = sql(step.text) if step.is_sql else command(step.text.split(), body)
            yield from (line.rstrip() for line in output.splitlines())
            yield ""
        yield from last

    return "\n".join(lines()).rstrip() + "\n"
