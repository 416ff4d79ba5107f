"""Domains, in the catalogs that PostgreSQL's clients read."""

from __future__ import annotations

from reclock.algebra.object_ids import (
    declared_type_modifier,
    declared_type_oid,
    object_oid,
)
from reclock.algebra.relations import BOOLEAN, INTEGER, OID, TEXT
from reclock.introspection.relation import Builtin, CatalogState, Rows, desc
from reclock.introspection.views import views


def _domains(state: CatalogState) -> Rows:
    for facts in state.domains():
        yield (
            object_oid(facts.id),
            declared_type_oid(facts.base),
            declared_type_modifier(facts.base),
            facts.is_not_null,
            facts.default,
        )


def _checks(state: CatalogState) -> Rows:
    for facts in state.domains():
        for check in facts.checks:
            unchecked = "" if check.is_valid else " NOT VALID"
            yield (
                check.oid,
                check.name,
                object_oid(facts.id),
                f"({check.condition})",
                f"CHECK (({check.condition})){unchecked}",
                check.is_valid,
            )


DOMAINS: tuple[Builtin, ...] = (
    Builtin(
        "mz_internal",
        "mz_domains",
        desc(
            "oid",
            oid=OID,
            base_oid=OID,
            base_modifier=INTEGER,
            not_null=BOOLEAN,
            default_sql=TEXT,
        ),
        catalog_rows=_domains,
    ),
    Builtin(
        "mz_internal",
        "mz_domain_constraints",
        desc(
            "oid",
            oid=OID,
            name=TEXT,
            domain_oid=OID,
            condition=TEXT,
            definition=TEXT,
            is_valid=BOOLEAN,
        ),
        catalog_rows=_checks,
    ),
    *views("information_schema", "domains", "domain_constraints", "column_domain_usage"),
)
