"""Values of domains: what a value must meet, and casts that check it."""

from __future__ import annotations

from collections.abc import Iterator

from reclock.algebra.relations import TEXT, Column, RelationDesc, ScalarType
from reclock.algebra.zones import UTC_NAME
from reclock.errors import DomainViolation
from reclock.plan.functions.domains import IN_DOMAIN
from reclock.plan.scalars import Call, Case, ColumnRef, Literal, Scalar
from reclock.sql.catalog.definitions import DomainCheck, DomainDefinition
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.named_types import domain_of
from reclock.sql.parameters import NO_PARAMETERS
from reclock.sql.queries.check_conditions import planned_condition
from reclock.sql.queries.coercion import with_type_name
from reclock.sql.queries.limits import NoSubqueries
from reclock.sql.queries.overloads import is_null, negated
from reclock.sql.queries.planned import TypedExpr, rewrite, scalar_of
from reclock.sql.queries.scope import Scope
from reclock.sql.session_zone import planned_in

Requirement = tuple[Scalar, DomainViolation]
"""A condition over a row, and the error of a row for which it is false."""


def in_domain(value: TypedExpr, domain: DomainDefinition) -> TypedExpr:
    """``value``, of the type of the domain's values, as one of the domain: a value that breaks a
    constraint is an error of the row that it is computed for."""
    checked = value
    for condition, violation in requirements(ColumnRef(0, value.type), domain):
        is_met = rewrite(condition, lambda part: value if isinstance(part, ColumnRef) else None)
        message: Case[TypedExpr] = Case(
            ((negated(is_met), Literal(violation.message, TEXT)),), Literal(None, TEXT), TEXT
        )
        sqlstate = Literal(violation.sqlstate, TEXT)
        checked = Call(IN_DOMAIN, (checked, message, sqlstate), domain.type)
    return with_type_name(value, domain.type) if checked is value else checked


def domain_requirements(desc: RelationDesc, catalog: PlannerCatalog) -> list[Requirement]:
    """What the columns of a table must meet that have domains."""
    required: list[Requirement] = []
    for i, column in enumerate(desc.columns):
        if (domain := domain_of(column.type, catalog)) is not None:
            required += requirements(ColumnRef(i, column.type), domain)
    return required


def requirements(column: ColumnRef, domain: DomainDefinition) -> Iterator[Requirement]:
    """What a column of the domain must meet, also by the domains that it is over."""
    assert domain.type.domain is not None
    name = domain.type.domain.name
    if any(part.is_not_null for part in domain.lineage):
        yield negated(is_null(column)), DomainViolation.of_null(name)
    for part in domain.lineage:
        for check in sorted(part.checks, key=lambda check: check.name):
            condition = rewrite(
                check_condition(check, domain.type),
                lambda scalar: column if isinstance(scalar, ColumnRef) else None,
            )
            yield scalar_of(condition), DomainViolation.of_check(name, check.name)


def check_condition(check: DomainCheck, type: ScalarType) -> Scalar:
    """The condition over the only column ``value``. Raises for one that cannot be."""
    scope = Scope.of(RelationDesc((Column("value", type.without_domain),)), None)
    subqueries = NoSubqueries(NO_PARAMETERS, "it may use VALUE")
    with planned_in(UTC_NAME, is_definition=True):
        return planned_condition(check.condition, scope, subqueries)
