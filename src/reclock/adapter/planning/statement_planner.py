"""Plans the statements of a role, and checks that the role may execute them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from reclock.adapter.context.users import Users
from reclock.adapter.planning.authorization import authorize
from reclock.adapter.planning.lookup_plans import is_lookup
from reclock.adapter.planning.plan_cache import (
    CachedPlan,
    cache_key,
    store,
    template_key,
    watched,
)
from reclock.errors import ReclockError
from reclock.interruption import INTERRUPTIONS
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.names import SessionNames
from reclock.sql.parameters import NO_PARAMETERS, Parameters
from reclock.sql.planning.registry import PlannedStatement
from reclock.sql.planning.statement import plan_statement
from reclock.sql.statements.roles.plan import SetRole
from reclock.sql.statements.tables.insert_template import InsertTemplate
from reclock.sql.statements.tables.modify_plan import Modify
from reclock.sql.statements.tables.modify_syntax import InsertStatement
from reclock.sql.syntax.parse import ParsedStatement


@dataclass(slots=True, eq=False)
class StatementPlanner:
    """The roles of a session and what names mean in it. ``names`` come from the session's
    variables; each catalog adds the names of the roles."""

    users: Users
    names: SessionNames
    _named: tuple[object, SessionNames] | None = field(default=None, init=False)
    """What ``names_at`` returned last, and for which content of the catalog."""

    def names_at(self, catalog: PlannerCatalog) -> SessionNames:
        """What names mean at ``catalog``, with the schemas of the search path that exist there and
        the values of ``session_user`` and ``current_user``."""
        assert catalog.snapshot is not None
        if self._named is not None and self._named[0] is catalog.snapshot.content:
            return self._named[1]
        path = catalog.existing_schemas(self.names.search_path, self.names.database)
        names = self.users.named(self.names, catalog.snapshot, path)
        self._named = catalog.snapshot.content, names
        return names

    def plan(
        self,
        parsed: ParsedStatement,
        catalog: PlannerCatalog,
        parameters: Parameters = NO_PARAMETERS,
    ) -> PlannedStatement:
        """The planned statement, if the role may execute it. Raises ``PermissionDenied``,
        ``InvalidAuthorization``."""
        assert catalog.snapshot is not None
        statement = plan_statement(
            parsed, catalog, replace(self.names_at(catalog), parameters=parameters)
        )
        if not isinstance(statement, SetRole):
            self.users.check(catalog.snapshot)
        authorize(statement, catalog, self.users, self.names.cluster)
        return statement

    def plan_cached(
        self,
        parsed: ParsedStatement,
        catalog: PlannerCatalog,
        parameters: Parameters = NO_PARAMETERS,
    ) -> CachedPlan:
        """Like ``plan``, but repeated statements share one plan until the catalog changes.

        The cached plan is authorized too: privileges are part of the catalog, and roles part of the
        key.
        """
        names = self.names_at(catalog)
        if parameters.values and isinstance(parsed.node, InsertStatement):
            return self._plan_insert(parsed, catalog, parameters, names)
        lookup = self._lookup(parsed, catalog, parameters, names)
        if lookup is not None:
            return lookup
        key = cache_key(parsed, names, parameters, self.users)
        if key is None:
            return CachedPlan(self.plan(parsed, catalog, parameters))
        planned: CachedPlan | None = catalog.planned.get(key)
        if planned is None:
            planned, is_shared = self._plan_shared(parsed, catalog, parameters)
            if is_shared:
                store(catalog, key, planned)
        return planned

    def _plan_insert(
        self,
        parsed: ParsedStatement,
        catalog: PlannerCatalog,
        parameters: Parameters,
        names: SessionNames,
    ) -> CachedPlan:
        """The plan of an INSERT with parameters: from the template of an earlier execution, if
        that made one."""
        key = template_key(parsed, names, parameters.types, self.users)
        template: InsertTemplate | None = catalog.planned.get(key)
        if template is not None:
            modify = _modify_of(template, parameters, catalog, names)
            if modify is not None:
                return CachedPlan(modify, template=template)
        planned, is_shared = self._plan_shared(parsed, catalog, parameters)
        template = InsertTemplate.of(parsed.node, planned.statement, parameters.settled())
        if (
            template is not None
            and _modify_of(template, parameters, catalog, names) == planned.statement
        ):
            planned.template = template
            if is_shared and key is not None:
                store(catalog, key, template)
        return planned

    def _lookup(
        self,
        parsed: ParsedStatement,
        catalog: PlannerCatalog,
        parameters: Parameters,
        names: SessionNames,
    ) -> CachedPlan | None:
        """The plan of a query that looks rows up by its parameters, from its plan for any values.
        None for other queries."""
        values = parameters.values
        if not values or any(value is None for value in values):
            return None
        any_values = Parameters(list(parameters.types), is_open=False)
        key = cache_key(parsed, names, any_values, self.users)
        if key is None:
            return None
        unknown = object()
        planned = catalog.planned.get(key, unknown)
        if planned is unknown:
            planned = self._plan_lookup(parsed, catalog, any_values)
            store(catalog, key, planned)
        return planned.with_values(values, catalog) if planned is not None else None

    def _plan_lookup(
        self, parsed: ParsedStatement, catalog: PlannerCatalog, parameters: Parameters
    ) -> CachedPlan | None:
        """The plan for any values, if the query is a lookup by its parameters."""
        try:
            planned, is_shared = self._plan_shared(parsed, catalog, parameters)
        except INTERRUPTIONS:
            raise
        except ReclockError:  # planning it with its values raises what there is to raise
            return None
        return planned if is_shared and is_lookup(parsed.node, planned.statement) else None

    def _plan_shared(
        self, parsed: ParsedStatement, catalog: PlannerCatalog, parameters: Parameters
    ) -> tuple[CachedPlan, bool]:
        """The plan, and whether other sessions may share it."""
        names, has_read_session = watched(self.names)
        planned = CachedPlan(replace(self, names=names).plan(parsed, catalog, parameters))
        return planned, not has_read_session()


def _modify_of(
    template: InsertTemplate, parameters: Parameters, catalog: PlannerCatalog, names: SessionNames
) -> Modify | None:
    """The INSERT with the values of the parameters; None if it must be planned with them."""
    assert parameters.values is not None
    try:
        return template.with_values(parameters.values, catalog, names)
    except INTERRUPTIONS:
        raise
    except ReclockError:  # planning raises what there is to raise
        return None
