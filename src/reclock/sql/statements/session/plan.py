"""Variables of a session and their defaults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

from sqlglot import exp

from reclock.errors import UnsupportedSql
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames, fold
from reclock.sql.planning.registry import plans
from reclock.sql.statements.roles.plan import SetRole, set_role, user_role
from reclock.sql.statements.session.prepared_syntax import (
    CloseStatement,
    DeallocateStatement,
    DeclareStatement,
    DiscardStatement,
    ExecuteStatement,
    FetchStatement,
    MoveStatement,
    PrepareStatement,
    UnlistenStatement,
)
from reclock.sql.statements.session.syntax import (
    ResetVariableStatement,
    SetDefaultStatement,
    SetVariableStatement,
    ShowVariableStatement,
)
from reclock.sql.syntax import nodes
from reclock.sql.syntax.consumption import consume
from reclock.sql.syntax.dialect import to_sql


@dataclass(frozen=True, slots=True)
class ShowVariable:
    """SHOW of one variable, or of all if ``name`` is None. ``is_standard`` shows a level of
    isolation as the SQL standard names it."""

    name: str | None
    is_standard: bool = False
    tag: str = "SHOW"


@dataclass(frozen=True, slots=True)
class SetVariable:
    """SET of a variable. No values mean DEFAULT. ``is_local`` lasts until the end of the
    transaction."""

    name: str
    values: tuple[str, ...] | None
    is_local: bool = False
    tag: str = "SET"


@dataclass(frozen=True, slots=True)
class ResetVariable:
    """RESET of one variable, or of all if ``name`` is None."""

    name: str | None
    tag: str = "RESET"


@dataclass(frozen=True, slots=True)
class SetDefault:
    """The default of a variable in later sessions of a role, or of all sessions without one. No
    values mean RESET; no variable means all."""

    role_id: str | None
    variable: str | None
    values: tuple[str, ...] | None

    @property
    def tag(self) -> str:
        return "ALTER SYSTEM" if self.role_id is None else "ALTER ROLE"


ROLE = "role"
"""The variable that SET ROLE sets."""


@plans(SetVariableStatement)
def set_variable(
    node: SetVariableStatement, catalog: PlannerCatalog, session: SessionNames
) -> SetVariable | SetRole:
    name, values = fold(node.this), _settings(node)
    if name == ROLE:
        return set_role(",".join(values) if values is not None else "none", catalog)
    return SetVariable(name, values, node.args.get("scope") == "LOCAL")


@plans(ResetVariableStatement)
def reset_variable(
    node: ResetVariableStatement, catalog: PlannerCatalog, session: SessionNames
) -> ResetVariable | SetRole:
    name = _variable_name(node)
    return replace(set_role("none", catalog), tag="RESET") if name == ROLE else ResetVariable(name)


@plans(SetDefaultStatement)
def set_default(
    node: SetDefaultStatement, catalog: PlannerCatalog, session: SessionNames
) -> SetDefault:
    role = (
        user_role(node.args["role"], catalog, session)
        if node.args.get("role") is not None
        else None
    )
    return SetDefault(role.id if role is not None else None, _variable_name(node), _settings(node))


def _settings(node: nodes.Statement) -> tuple[str, ...] | None:
    values = node.args.get("values")
    return tuple(_setting(value) for value in values) if values else None


def _setting(node: exp.Expr) -> str:
    match node:
        case exp.Boolean():
            return "on" if node.this else "off"
        case exp.Literal():
            return node.name
        case _:
            return fold(node)


def _variable_name(node: nodes.Statement) -> str | None:
    return fold(node.this) if node.this is not None else None


@plans(
    PrepareStatement,
    ExecuteStatement,
    DeallocateStatement,
    DeclareStatement,
    FetchStatement,
    MoveStatement,
    CloseStatement,
    DiscardStatement,
    UnlistenStatement,
)
def _of_session(node: nodes.Statement, catalog: PlannerCatalog, session: SessionNames) -> NoReturn:
    """Statements about the session's state are executed by the session itself, without a plan."""
    raise UnsupportedSql(
        f"{to_sql(node).split()[0]} is only for sessions", hint="it cannot be prepared or explained"
    )


@plans(ShowVariableStatement, returns_rows=True)
def show_variable(
    node: ShowVariableStatement, catalog: PlannerCatalog, session: SessionNames
) -> ShowVariable:
    if isinstance(node.this, exp.Var):
        consume(node.this)
        return ShowVariable("transaction_isolation", is_standard=True)
    return ShowVariable(_variable_name(node))
