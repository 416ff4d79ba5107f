"""Who says a statement: the roles, and what names mean, at the moment it is said."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reclock.adapter.context.users import Users
from reclock.adapter.session.plan_cache import Planned, asked_of, key_of, remember
from reclock.adapter.statements.authorization import authorize
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.planning.statement import plan_statement
from reclock.sql.statements.roles.plan import SetRole
from reclock.sql.syntax.parse import ParsedStatement


@dataclass(frozen=True, slots=True)
class Author:
    """``names`` are of the session's variables; who the users are is added at each catalog."""

    users: Users
    names: SessionNames

    def named(self, catalog: PlannerCatalog) -> SessionNames:
        """What names mean at ``catalog``, with what ``session_user`` and ``current_user`` are there."""
        assert catalog.snapshot is not None
        return self.users.named(self.names, catalog.snapshot)

    def plan(self, parsed: ParsedStatement, catalog: PlannerCatalog, parameters: Parameters = NO_PARAMETERS) -> PlannedStatement:
        """The statement planned, if the author may execute it. Raises ``PermissionDenied``, ``InvalidAuthorization``."""
        assert catalog.snapshot is not None
        statement = plan_statement(parsed, catalog, replace(self.named(catalog), parameters=parameters))
        if not isinstance(statement, SetRole):
            self.users.check(catalog.snapshot)
        authorize(statement, catalog, self.users, self.names.cluster)
        return statement

    def planned(self, parsed: ParsedStatement, catalog: PlannerCatalog, parameters: Parameters = NO_PARAMETERS) -> Planned:
        """As ``plan``, once for all who say the same at the same moment of the catalog. That they may is remembered with it, since
        privileges are the catalog's too.
        """
        key = key_of(parsed, self.named(catalog), parameters, self.users)
        if key is None:
            return Planned(self.plan(parsed, catalog, parameters))
        found: Planned | None = catalog.planned.get(key)
        if found is None:
            names, was_asked = asked_of(self.names)
            found = Planned(replace(self, names=names).plan(parsed, catalog, parameters))
            if not was_asked():
                remember(catalog, key, found)
        return found
