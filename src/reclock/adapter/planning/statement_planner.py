"""Plans the statements of a role, and checks that the role may execute them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reclock.adapter.context.users import Users
from reclock.adapter.planning.authorization import authorize
from reclock.adapter.planning.plan_cache import CachedPlan, cache_key, store, watched
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.planning.statement import plan_statement
from reclock.sql.statements.roles.plan import SetRole
from reclock.sql.syntax.parse import ParsedStatement


@dataclass(frozen=True, slots=True)
class StatementPlanner:
    """The roles of a session and what names mean in it, at the moment of a statement. ``names`` come from the session's
    variables; each catalog adds the names of the roles.
    """

    users: Users
    names: SessionNames

    def names_at(self, catalog: PlannerCatalog) -> SessionNames:
        """What names mean at ``catalog``, with the values of ``session_user`` and ``current_user`` there."""
        assert catalog.snapshot is not None
        return self.users.named(self.names, catalog.snapshot)

    def plan(self, parsed: ParsedStatement, catalog: PlannerCatalog, parameters: Parameters = NO_PARAMETERS) -> PlannedStatement:
        """The planned statement, if the role may execute it. Raises ``PermissionDenied``, ``InvalidAuthorization``."""
        assert catalog.snapshot is not None
        statement = plan_statement(parsed, catalog, replace(self.names_at(catalog), parameters=parameters))
        if not isinstance(statement, SetRole):
            self.users.check(catalog.snapshot)
        authorize(statement, catalog, self.users, self.names.cluster)
        return statement

    def plan_cached(self, parsed: ParsedStatement, catalog: PlannerCatalog, parameters: Parameters = NO_PARAMETERS) -> CachedPlan:
        """Like ``plan``, but repeated statements share one plan until the catalog changes.

        The cached plan is authorized too: privileges are part of the catalog, and roles part of the key.
        """
        key = cache_key(parsed, self.names_at(catalog), parameters, self.users)
        if key is None:
            return CachedPlan(self.plan(parsed, catalog, parameters))
        planned: CachedPlan | None = catalog.planned.get(key)
        if planned is None:
            names, has_read_session = watched(self.names)
            planned = CachedPlan(replace(self, names=names).plan(parsed, catalog, parameters))
            if not has_read_session():
                store(catalog, key, planned)
        return planned
