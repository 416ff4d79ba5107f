"""What was planned before: the same words, said by the same roles at the same moment of the catalog, are the same plan."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa

from reclock.adapter.context.results import Result
from reclock.adapter.context.users import Users
from reclock.plan.relational import collections
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.parameters import Parameters
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.show.syntax import ShowColumnsStatement, ShowCreateStatement, ShowObjectsStatement
from reclock.sql.syntax import nodes
from reclock.sql.syntax.parse import ParsedStatement

T = TypeVar("T")

MOST_PLANS = 256
"""At one moment of the catalog; when there are more, all are forgotten."""
LONGEST_TEXT = 10_000
"""Characters of a statement and of its parameters; what is longer is planned each time."""
LARGEST_ANSWER_BYTES = 1 << 16

_KINDS = (nodes.QueryStatement, ShowObjectsStatement, ShowColumnsStatement, ShowCreateStatement)
"""Statements that clients repeat, and whose plans follow from what the key holds and the catalog alone."""


@dataclass(slots=True, eq=False)
class Planned:
    """A planned statement, shared by all who say it. ``answer`` is what it answered, if it reads nothing and that was short."""

    statement: PlannedStatement
    answer: tuple[pa.RecordBatch, ...] | None = None

    def run(self, run: Callable[[], Result], limit_bytes: int) -> Result:
        """What ``run`` answers, or answered: a plan that reads nothing has one answer, for what the moment and the session say is
        in it as constants, and then it is not shared.
        """
        select = self.statement
        assert isinstance(select, Select)
        if self.answer is not None and not 0 < limit_bytes < LARGEST_ANSWER_BYTES:
            return Result(select.tag, select.desc, iter(self.answer))
        result = run()
        if collections(select.plan) or select.as_of is not None:
            return result
        return replace(result, batches=self._remembered(result))

    def _remembered(self, result: Result) -> Iterator[pa.RecordBatch]:
        kept: list[pa.RecordBatch] | None = []
        size = 0
        with closing(result):
            for batch in result.batches:
                size += batch.nbytes
                if kept is not None:
                    kept = [*kept, batch] if size <= LARGEST_ANSWER_BYTES else None
                yield batch
        if kept is not None:
            self.answer = tuple(kept)


def key_of(parsed: ParsedStatement, names: SessionNames, parameters: Parameters, users: Users) -> Hashable | None:
    """All that planning and authorizing the statement depend on beside the catalog; None of what is not to be remembered."""
    if not isinstance(parsed.node, _KINDS):
        return None
    values: tuple[str, ...] = ()
    if parameters.values is not None:
        if sum(len(value) for value in parameters.values if isinstance(value, str | bytes | list)) > LONGEST_TEXT:
            return None
        values = tuple(repr(value) for value in parameters.values)  # equal values can differ: 1.0 and 1.00, 0.0 and -0.0
    if len(parsed.text) + sum(map(len, values)) > LONGEST_TEXT:
        return None
    return type(parsed.node), parsed.text, names, users, tuple(parameters.types), values, parameters.is_open


def asked_of(names: SessionNames) -> tuple[SessionNames, Callable[[], bool]]:
    """``names``, and whether since then anything was asked of them that is another in every session or statement."""
    is_asked = False

    def noted(answer: Callable[[], T]) -> Callable[[], T]:
        def asked() -> T:
            nonlocal is_asked
            is_asked = True
            return answer()

        return asked

    own = replace(names, settings=noted(names.settings), process_id=noted(names.process_id), now=noted(names.now))
    return own, lambda: is_asked


def remember(catalog: PlannerCatalog, key: Hashable, planned: Planned) -> None:
    """Until the catalog changes, or there are too many."""
    if len(catalog.planned) >= MOST_PLANS:
        catalog.planned.clear()
    catalog.planned[key] = planned
