"""SUBSCRIBE: the query whose changes are sent, and what is sent beside them."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from reclock.algebra.relations import BIGINT, BOOLEAN, DIFF_COLUMN, TIME_COLUMN, Column, RelationDesc
from reclock.compute.plan import Finishing, TopK
from reclock.errors import InvalidOption
from reclock.sql import nodes
from reclock.sql.catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.planner.as_of import plan_as_of
from reclock.sql.planner.build import project
from reclock.sql.planner.select_statement import plan_query_statement
from reclock.sql.statements import Select, Subscribe

PROGRESSED_COLUMN = "mz_progressed"


def plan_subscribe(node: nodes.SubscribeStatement, catalog: PlannerCatalog, session: SessionNames) -> Subscribe:
    query = node.args.get("query")
    if query is None:
        query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=node.this.copy()))
    select = _unfinished(plan_query_statement(nodes.QueryStatement(this=query, as_of=node.args.get("as_of")), catalog, session))
    up_to = plan_as_of(node.args["up_to"], session.parameters).at if node.args.get("up_to") is not None else None
    if up_to is not None and select.as_of is not None and up_to <= select.as_of.at:
        raise InvalidOption(f"UP TO {up_to} is not after AS OF {select.as_of.at}", detail="the end is exclusive")
    has_progress = _is_on(node, "progress", default=False)
    progressed = (Column(PROGRESSED_COLUMN, BOOLEAN, is_nullable=False),) if has_progress else ()
    columns = [Column(column.name, column.type, column.is_nullable or has_progress) for column in select.desc.columns]
    time, diff = Column(TIME_COLUMN, BIGINT, is_nullable=False), Column(DIFF_COLUMN, BIGINT, is_nullable=has_progress)
    desc = RelationDesc((time, *progressed, diff, *columns))
    return Subscribe(select, desc, _is_on(node, "snapshot", default=True), has_progress, up_to)


def _unfinished(select: Select) -> Select:
    """LIMIT as a part of the plan, since its rows change; without an order, which they do not have together."""
    plan, finishing = select.plan, select.finishing
    if finishing.limit is not None or finishing.offset:
        plan = TopK(plan, (), finishing.order, finishing.limit, finishing.offset)
    return replace(select, plan=project(plan, range(len(select.desc))), finishing=Finishing())


def _is_on(node: nodes.SubscribeStatement, name: str, *, default: bool) -> bool:
    given = node.args.get(name)
    return default if given is None else bool(given.this)
