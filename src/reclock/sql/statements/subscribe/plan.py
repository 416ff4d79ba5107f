"""SUBSCRIBE: the query whose changes are sent, and the columns of its messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from reclock.algebra.relations import (
    BIGINT,
    BOOLEAN,
    DIFF_COLUMN,
    TEXT,
    TIME_COLUMN,
    Column,
    RelationDesc,
)
from reclock.algebra.timestamps import Timestamp
from reclock.definitions.sinks import Envelope
from reclock.errors import InvalidColumnReference, InvalidOption
from reclock.plan.build import project
from reclock.plan.relational import Finishing, Ordering, TopK
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold
from reclock.sql.planning.registry import plans
from reclock.sql.queries.index_keys import column_positions
from reclock.sql.queries.query import show_error
from reclock.sql.statements.query.as_of import plan_as_of
from reclock.sql.statements.query.plan import plan_query_statement
from reclock.sql.statements.query.values import Select
from reclock.sql.statements.subscribe.syntax import SubscribeStatement
from reclock.sql.syntax import nodes
from reclock.sql.syntax.consumption import tracked_copy

PROGRESSED_COLUMN = "mz_progressed"
STATE_COLUMN = "mz_state"


@plans(SubscribeStatement, returns_rows=True)
def plan_subscribe(
    node: SubscribeStatement, catalog: PlannerCatalog, session: SessionNames
) -> SubscribeQuery:
    query = node.args.get("query")
    if query is None:
        query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=tracked_copy(node.this)))
    elif query.find(nodes.Statement) is not None:
        raise show_error()
    select = _unfinished(
        plan_query_statement(
            nodes.QueryStatement(this=query, as_of=node.args.get("as_of")), catalog, session
        )
    )
    up_to = (
        plan_as_of(node.args["up_to"], session.parameters).at
        if node.args.get("up_to") is not None
        else None
    )
    if up_to is not None and select.as_of is not None and up_to <= select.as_of.at:
        raise InvalidOption(
            f"UP TO {up_to} is not after AS OF {select.as_of.at}", detail="the end is exclusive"
        )
    has_progress = _is_on(node, "progress", default=False)
    first = [Column(TIME_COLUMN, BIGINT, is_nullable=False)]
    if has_progress:
        first.append(Column(PROGRESSED_COLUMN, BOOLEAN, is_nullable=False))
    order = tuple(
        _ordering(ordering, select.desc)
        for ordering in (node.args["order"].expressions if node.args.get("order") else ())
    )
    envelope = Envelope(node.args["envelope"]) if node.args.get("envelope") else None
    key = column_positions([fold(column) for column in node.args.get("key") or ()], select.desc)
    change_columns = _sent(select.desc.columns, envelope, key)
    if has_progress:
        change_columns = [replace(column, is_nullable=True) for column in change_columns]
    is_with_snapshot = _is_on(node, "snapshot", default=True)
    return SubscribeQuery(
        select,
        RelationDesc((*first, *change_columns)),
        is_with_snapshot,
        has_progress,
        up_to,
        order,
        envelope,
        key,
    )


def _sent(columns: Sequence[Column], envelope: Envelope | None, key: Sequence[int]) -> list[Column]:
    """The columns of a change, after its time."""
    if envelope is None:
        return [Column(DIFF_COLUMN, BIGINT, is_nullable=False), *columns]
    values = [
        replace(column, is_nullable=True)
        for index, column in enumerate(columns)
        if index not in key
    ]
    state = [Column(STATE_COLUMN, TEXT, is_nullable=False), *(columns[index] for index in key)]
    if envelope is Envelope.UPSERT:
        return [*state, *values]
    return [
        *state,
        *(
            replace(column, name=f"{when}_{column.name}")
            for when in ("before", "after")
            for column in values
        ),
    ]


def _ordering(node: exp.Expr, desc: RelationDesc) -> Ordering:
    if not isinstance(node.this, exp.Column) or len(node.this.parts) != 1:
        raise InvalidColumnReference(
            "WITHIN TIMESTAMP ORDER BY takes names of columns", hint=f"or {DIFF_COLUMN}"
        )
    name = fold(node.this.this)
    index = len(desc) if name == DIFF_COLUMN else column_positions([name], desc)[0]
    return Ordering(index, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def _unfinished(select: Select) -> Select:
    """The query with LIMIT as a part of the plan, because its rows change, and without an order."""
    plan, finishing = select.plan, select.finishing
    if finishing.limit is not None or finishing.offset:
        plan = TopK(plan, (), finishing.order, finishing.limit, finishing.offset)
    return replace(select, plan=project(plan, range(len(select.desc))), finishing=Finishing())


def _is_on(node: SubscribeStatement, name: str, *, default: bool) -> bool:
    value = node.args.get(name)
    return default if value is None else bool(value.this)


@dataclass(frozen=True, slots=True)
class SubscribeQuery:
    """The changes of a query, as they come: first its rows, if ``has_snapshot``, at the time it
    would be read at; then what changes at each later time below ``up_to``. ``desc`` is time,
    whether it is progress (if ``has_progress``), diff, columns.

    What has one time is in ``order`` (the diff counts as a column after all others), then in that
    of the rows. With an ``envelope``, there is one row for each ``key`` that changes: its state in
    the place of the diff, the key's columns, then the values it has now (UPSERT), or those before
    and those after (DEBEZIUM).
    """

    select: Select
    desc: RelationDesc
    has_snapshot: bool = True
    has_progress: bool = False
    up_to: Timestamp | None = None
    order: tuple[Ordering, ...] = ()
    envelope: Envelope | None = None
    key: tuple[int, ...] = ()
    tag: str = "SUBSCRIBE"
