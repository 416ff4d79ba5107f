"""The CHECK constraints of a source: conditions that each of its rows meets or leaves unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from reclock.algebra.relations import RelationDesc
from reclock.errors import InvalidConstraint, UnsupportedSql
from reclock.plan.scalars import Scalar
from reclock.sql.catalog.constraints import Constraint
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import types_of
from reclock.sql.names import QualifiedName, SessionNames
from reclock.sql.parameters import NO_PARAMETERS
from reclock.sql.queries.check_conditions import planned_condition
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.scope import Scope
from reclock.sql.statements.sources.formats_syntax import KeyValueFormat
from reclock.sql.statements.sources.schema_formats import SCHEMA_CLAUSES
from reclock.sql.statements.sources.syntax import CreateSourceStatement
from reclock.sql.statements.sources.upstreams_syntax import (
    LoadGeneratorFrom,
    PostgresFrom,
    PubNubFrom,
)
from reclock.sql.statements.tables.declared_constraints import name_constraints, remove_qualifiers


def reject_checks_of_upstream(node: CreateSourceStatement) -> None:
    """Raises ``UnsupportedSql`` for constraints of a source whose columns are those of its upstream
    or of a schema."""
    if node.args.get("constraints") and _takes_columns_of_upstream(node):
        raise UnsupportedSql(
            "CHECK constraints of a source are over columns that it declares",
            detail="the columns of this source are those of its upstream",
        )


def _takes_columns_of_upstream(node: CreateSourceStatement) -> bool:
    connector, format = node.args["connector"], node.args.get("format")
    if isinstance(connector, LoadGeneratorFrom | PostgresFrom | PubNubFrom):
        return True
    value = format.args["value"] if isinstance(format, KeyValueFormat) else format
    return isinstance(value, SCHEMA_CLAUSES) or connector.args.get("transactions") is not None


def declare_checks(
    node: CreateSourceStatement,
    name: QualifiedName,
    desc: RelationDesc,
    catalog: PlannerCatalog,
    session: SessionNames,
) -> None:
    """Bring the constraints of ``node`` into the form that is kept: named as PostgreSQL names them,
    with conditions over columns alone. Raises for conditions that depend on more than the row."""
    constraints = node.args.get("constraints") or []
    name_constraints(constraints, name.item, ())
    for constraint in constraints:
        if constraint.args.get("deferrable"):
            raise UnsupportedSql("CHECK constraints cannot be marked DEFERRABLE")
        constraint.set("is_not_valid", None)  # a new source has no rows yet
        condition = constraint.args["check"]
        with types_of(catalog, session) as types:
            planned_condition(condition, Scope.of(desc, name.item, name), _ROW_ALONE)
            remove_qualifiers(condition)
            planned_condition(condition, Scope.of(desc, None), _ROW_ALONE)
        if types.used:
            raise UnsupportedSql(
                "CHECK constraints of a source cannot name types that users defined"
            )


def source_check(constraint: Constraint, desc: RelationDesc) -> Scalar:
    """The condition of a source's CHECK, as a scalar over its columns."""
    return planned_condition(constraint.condition, Scope.of(desc, None), _ROW_ALONE)


@dataclass(frozen=True, slots=True)
class _RowAlone(NoSubqueries):
    """The condition depends on its row alone, so that an audit has the same result whenever it is
    repeated."""

    def value(self, *_: object, **_named: object) -> NoReturn:
        raise UnsupportedSql("cannot use subquery in check constraint")

    exists = contains = any = compared = rows = array = value

    def about_session(self, *_: object) -> NoReturn:
        raise InvalidConstraint(
            "functions in check constraint must be marked IMMUTABLE", sqlstate="42P17"
        )

    def object_id(self, *_: object) -> NoReturn:
        self.about_session()


_ROW_ALONE = _RowAlone(NO_PARAMETERS)
