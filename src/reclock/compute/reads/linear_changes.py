"""The changes of plans that answer each update of one collection by itself: its filters and
projections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reclock.algebra.relations import BIGINT, DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.algebra.timestamps import Timestamp
from reclock.compute import rendering
from reclock.compute.engines.database import NAME
from reclock.compute.engines.engine import Answer, CollectionInput
from reclock.compute.narrowing import narrowed
from reclock.compute.operators.rules import EngineRelation, columns
from reclock.plan.relational import Filter, Finishing, Get, Plan, Project
from reclock.plan.temporal import is_temporal_filter

if TYPE_CHECKING:
    from reclock.compute.engines.duckdb import DuckDbEngine

_UPDATES = "updates"
_UPDATE_COLUMNS = (
    Column(TIME_COLUMN, BIGINT, is_nullable=False),
    Column(DIFF_COLUMN, BIGINT, is_nullable=False),
)


def linear_input(plan: Plan) -> Get | None:
    """The collection that the plan filters and projects, in which no row can have a negative
    multiplicity; None if the plan does more, or depends on the time."""
    while isinstance(plan, Filter | Project):
        if isinstance(plan, Filter) and is_temporal_filter(plan):
            return None
        plan = plan.input
    return plan if isinstance(plan, Get) and not plan.may_be_negative else None


def linear_changes(
    engine: DuckDbEngine,
    plan: Plan,
    input: CollectionInput,
    lower: Timestamp,
    upper: Timestamp,
    *,
    with_snapshot: bool,
) -> Answer:
    """The plan's columns, ``mz_timestamp`` and ``mz_diff``: the changes at times in
    ``[lower, upper)``, consolidated. ``with_snapshot`` adds all earlier ones, moved up to
    ``lower``. The plan has a ``linear_input``."""
    get = linear_input(plan)
    assert get is not None
    relations = {str(get.collection): EngineRelation(_UPDATES, is_counted=False)}
    over_updates = narrowed(_with_updates(plan), is_read=True)
    last = Timestamp(upper - 1)
    statement = rendering.select(over_updates, Finishing(), NAME, relations, last)
    *shown, time, diff = columns(over_updates)
    within = "" if with_snapshot else f" WHERE {time} >= {lower:d}"
    sql = (
        f"SELECT {''.join(f'{column}, ' for column in shown)}"
        f"greatest({time}, {lower:d}) AS {TIME_COLUMN}, CAST(sum({diff}) AS BIGINT) AS {DIFF_COLUMN} "
        f"FROM ({statement.sql}){within} GROUP BY ALL HAVING sum({diff}) <> 0"
    )
    return engine.query(sql, (*plan.desc.columns, _UPDATE_COLUMNS[0]), {_UPDATES: input}, last)


def _with_updates(plan: Plan) -> Plan:
    """The plan over updates as rows, whose times and diffs are its last columns."""
    match plan:
        case Get():
            return replace(plan, desc=_with_update_columns(plan.desc))
        case Filter():
            return replace(plan, input=_with_updates(plan.input))
        case Project():
            width = len(plan.input.desc)
            return Project(
                _with_updates(plan.input),
                (*plan.indexes, width, width + 1),
                _with_update_columns(plan.desc),
            )
    raise AssertionError(plan)


def _with_update_columns(desc: RelationDesc) -> RelationDesc:
    return RelationDesc((*desc.columns, *_UPDATE_COLUMNS))
