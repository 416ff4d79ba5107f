"""The domains that users defined, as the relations of ``pg_catalog`` describe them."""

from __future__ import annotations

from collections.abc import Iterator

from reclock.algebra.ids import GlobalId
from reclock.algebra.object_ids import constraint_oid
from reclock.algebra.relations import Column
from reclock.introspection.relation import DomainCheckFacts, DomainFacts
from reclock.sql.catalog.definitions import DomainDefinition
from reclock.sql.catalog.entries import DomainEntry
from reclock.sql.catalog.planner_catalog import PlannerCatalog
from reclock.sql.syntax.dialect import to_sql


def domain_facts(catalog: PlannerCatalog) -> Iterator[DomainFacts]:
    for entry in catalog.entries():
        if isinstance(entry, DomainEntry):
            yield _facts(entry.id, entry.domain)


def _facts(id: GlobalId, domain: DomainDefinition) -> DomainFacts:
    name = domain.type.domain
    assert name is not None
    parent = None if domain.parent is None else domain.parent.type
    base = domain.type.without_domain if parent is None else parent
    return DomainFacts(
        id,
        name,
        Column(name.name, base, limit=domain.limit),
        domain.is_not_null,
        None if domain.default is None else to_sql(domain.default),
        tuple(
            DomainCheckFacts(
                constraint_oid(id, place),
                check.name,
                to_sql(check.condition),
                check.is_valid,
                check.comment,
            )
            for place, check in enumerate(domain.checks)
        ),
    )
