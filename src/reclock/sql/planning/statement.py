"""The way from a parsed statement to a planned one."""

from __future__ import annotations

from sqlglot import exp

from reclock.errors import NestedTooDeeply
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import qualify_types, types_of
from reclock.sql.names import SessionNames
from reclock.sql.planning.registry import (
    PlannedStatement,
    Skipped,
    item_planner_of,
    planning_of,
    require_experimental_mode,
)
from reclock.sql.session_zone import planned_in
from reclock.sql.syntax.consumption import check_consumed
from reclock.sql.syntax.nodes import CreateTableAsStatement, QueryStatement, Statement
from reclock.sql.syntax.parse import ParsedStatement
from reclock.sql.syntax.places import places_in


def plan_statement(
    parsed: ParsedStatement, catalog: PlannerCatalog, session: SessionNames | None = None
) -> PlannedStatement:
    """The statement with every name resolved and every expression typed. A pure function; raises
    ``ReclockError``."""
    try:
        with places_in(parsed.node):
            planned = plan_node(parsed.node, catalog, session or SessionNames())
    except RecursionError as error:
        raise NestedTooDeeply from error
    if not isinstance(planned, Skipped):
        check_consumed(parsed.node)
    return planned


def plan_node(node: Statement, catalog: PlannerCatalog, session: SessionNames) -> PlannedStatement:
    """A statement, or one inside another."""
    planning = planning_of(type(node))
    if planning.experimental is not None:
        require_experimental_mode(planning.experimental, catalog)
    is_definition = planning.is_definition or item_planner_of(type(node)) is not None
    if not isinstance(node, QueryStatement):  # which others may plan too
        qualify_types(node, catalog, session)
    clock = planned_in(
        session.zone,
        session.now,
        is_definition=is_definition,
        has_iso_intervals=session.style.has_iso_intervals,
    )
    with clock, types_of(catalog, session, has_row_types=not is_definition):
        return planning.planner(node, catalog, session)


def returns_rows(node: Statement) -> bool:
    """Whether the statement returns rows or takes parameters, so that it is planned when it is
    prepared."""
    has_query_with_parameters = (
        isinstance(node, CreateTableAsStatement) and node.find(exp.Parameter) is not None
    )
    return planning_of(type(node)).returns_rows or has_query_with_parameters
