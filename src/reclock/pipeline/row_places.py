"""Where in the upstream staged rows were read."""

from __future__ import annotations

import re
from collections.abc import Callable

from reclock.connectors.connector import LocatesRows, RowPlace
from reclock.connectors.factory import open_connector
from reclock.errors import FOUND_RECORDS, SourceError
from reclock.ingest.audit import AuditCase
from reclock.runtime.environment import Environment

_TASK_FILE = re.compile(r"part-(\d+)-0\.parquet")
"""The name of the file of a task, in which the rows are in the order of their reading."""

_MOST_FILES, _MOST_TASKS = 100, 8
"""How many staged files are searched, and how many tasks read again, at most: one of about 16 MB."""


def row_places(
    environment: Environment, case: AuditCase, find: Callable[[str, int], list[int]]
) -> list[RowPlace]:
    """The places of staged rows: ``find`` returns the numbers of rows of a file, at most so many.

    Of at most ``FOUND_RECORDS`` rows in few files, in order. Empty if the connector cannot locate
    rows, if rows replace each other by key, or if the upstream does not answer.
    """
    source, step = case.source, case.step
    connector = open_connector(source, environment.runtime.connection_context)
    if not isinstance(connector, LocatesRows) or source.desc.key:
        return []
    tasks = connector.tasks(step.increments, step.decisions.skip)
    places: list[RowPlace] = []
    read_tasks = 0
    for file in sorted(step.staged[""], key=lambda file: file.path)[:_MOST_FILES]:
        name = _TASK_FILE.fullmatch(file.path.rpartition("/")[2])
        if name is None:
            return []
        rows = find(file.path, FOUND_RECORDS - len(places))
        if not rows:
            continue
        try:
            places += connector.locate(tasks[int(name[1])], rows, file.rows)
        except SourceError:
            return places
        read_tasks += 1
        if len(places) >= FOUND_RECORDS or read_tasks == _MOST_TASKS:
            break
    return places
